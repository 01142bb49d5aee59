# SPDX-License-Identifier: Apache-2.0
"""The shared library, and the C prototypes of what this package calls by ctypes.

Calls that programs make most often are made by _native, which finds its functions in the same library. Of the others
there is no logic here: each function is the library's, and tests compare this table with its headers."""
import ctypes
import os
from ctypes import (POINTER, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_long, c_size_t, c_uint, c_uint32,
                    c_uint64, c_void_p)

from . import _native

TEAM_WORLD, TEAM_SHARED, TEAM_INVALID = 0, 1, -1
COMPARISONS = {'==': 0, '!=': 1, '>': 2, '<=': 3, '<': 4, '>=': 5}
SIGNAL_OPS = {'set': 9, 'add': 10}

_team, _pe, _stream = c_int32, c_int, c_void_p

# name: (result, arguments)
PROTOTYPES = {
    'gshmem_my_pe': (c_int, []),
    'gshmem_n_pes': (c_int, []),
    'gshmem_finalize': (None, []),
    'gshmem_global_exit': (None, [c_int]),
    'gshmemx_vendor_get_version_info': (None, [POINTER(c_int), POINTER(c_int), POINTER(c_int)]),
    'gshmem_malloc': (c_void_p, [c_size_t]),
    'gshmem_calloc': (c_void_p, [c_size_t, c_size_t]),
    'gshmem_free': (None, [c_void_p]),
    'gshmem_ptr': (c_void_p, [c_void_p, _pe]),
    'gshmem_barrier_all': (None, []),
    'gshmem_team_my_pe': (c_int, [_team]),
    'gshmem_team_n_pes': (c_int, [_team]),
    'gshmem_team_translate_pe': (c_int, [_team, c_int, _team]),
    'gshmem_team_split_strided': (c_int, [_team, c_int, c_int, c_int, c_void_p, c_long, POINTER(c_int32)]),
    'gshmem_team_destroy': (None, [_team]),
    'gshmemx_init_attr': (c_int, [c_uint, c_void_p]),
    'gshmemx_get_uniqueid': (c_int, [c_void_p]),
    'gshmemx_set_attr_uniqueid_args': (c_int, [c_int, c_int, c_void_p, c_void_p]),
    'gshmemx_set_attr_thread_args': (c_int, [c_int, c_int, c_void_p, c_void_p]),
    'gshmemx_error_string': (c_char_p, [c_int]),
    'gshmemx_cpu_device_current': (c_void_p, []),
    'gshmemx_cpu_device_synchronize': (None, [c_void_p]),
    'gshmemx_cumodule_init': (c_int, [c_void_p]),
    'gshmemx_device_name': (c_char_p, []),
    'gshmemx_device_setup': (c_int, []),
}

# Types of atomics and waits, by the names of numpy and of the library's calls.
WORDS = {'int32': c_int32, 'int64': c_int64, 'uint32': c_uint32, 'uint64': c_uint64}
FLOATS = {'float32': ('float', c_float), 'float64': ('double', c_double)}
# Types of reductions.
REDUCED = {'int8': 'int8', 'int16': 'int16', 'int32': 'int32', 'int64': 'int64', 'uint8': 'uint8', 'uint16': 'uint16',
           'uint32': 'uint32', 'uint64': 'uint64', 'float16': 'half', 'bfloat16': 'bfloat16', 'float32': 'float',
           'float64': 'double', 'complex64': 'complexf', 'complex128': 'complexd'}
REDUCTIONS = ('sum', 'prod', 'min', 'max', 'and', 'or', 'xor')

_ATOMICS = {  # result is the type, arguments before the PE
    'fetch': (True, 0), 'set': (False, 1), 'swap': (True, 1), 'compare_swap': (True, 2), 'fetch_add': (True, 1),
    'add': (False, 1), 'fetch_and': (True, 1), 'and': (False, 1), 'fetch_or': (True, 1), 'or': (False, 1),
    'fetch_xor': (True, 1), 'xor': (False, 1),
}


def typed_prototypes():
    table = {}
    for name, c_type in WORDS.items():
        table[f'gshmem_{name}_wait_until'] = (None, [c_void_p, c_int, c_type])
        table[f'gshmem_{name}_test'] = (c_int, [c_void_p, c_int, c_type])
    for name, c_type in [*WORDS.items(), *FLOATS.values()]:
        for operation, (has_result, n) in _ATOMICS.items():
            if name in WORDS or operation in ('fetch', 'set', 'swap'):
                table[f'gshmem_{name}_atomic_{operation}'] = (c_type if has_result else None,
                                                             [c_void_p] + [c_type] * n + [_pe])
    for numpy_name, name in REDUCED.items():
        for operation in REDUCTIONS:
            if operation in ('and', 'or', 'xor') and 'int' not in numpy_name:
                continue
            if operation in ('min', 'max') and numpy_name.startswith('complex'):
                continue
            arguments = [_team, c_void_p, c_void_p, c_size_t]
            table[f'gshmem_{name}_{operation}_reduce'] = (c_int, arguments)
            table[f'gshmemx_{name}_{operation}_reduce_on_stream'] = (c_int, arguments + [_stream])
    return table


def package_folder():
    """Where the wheel keeps what `meson install` installs; None outside a wheel."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), '_prefix')
    return folder if os.path.isdir(folder) else None


def library_path():
    """Of the wheel's libgshmem; its name alone outside a wheel."""
    folder = package_folder()
    if not folder:
        return 'libgshmem.so.0'
    from glob import glob  # lib, or lib/x86_64-linux-gnu, as Meson was told
    return (glob(os.path.join(folder, 'lib', '**', 'libgshmem.so.0'), recursive=True) + ['libgshmem.so.0'])[0]


def _open():
    """The copy that the process has already, since it or an extension is linked with it, else the wheel's: two copies
    would each have a job of their own."""
    try:
        return ctypes.CDLL('libgshmem.so.0', mode=ctypes.RTLD_GLOBAL | os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return ctypes.CDLL(library_path(), mode=ctypes.RTLD_GLOBAL)


class Library:
    """library.gshmem_my_pe() and so on; a function gets its prototype when it is first used."""

    def __init__(self):
        self._handle = None
        self._is_bound = False
        self._typed = None

    def _load(self):
        if self._handle is None:
            self._handle = _open()
        return self._handle

    def __getattr__(self, name):
        if not self._is_bound:
            _native.bind_library(self._load()._handle)
            self._is_bound = True
        prototype = PROTOTYPES.get(name)
        if prototype is None:
            if self._typed is None:
                self._typed = typed_prototypes()
            prototype = self._typed.get(name)
        if prototype is None:
            raise AttributeError(name)
        function = self._handle[name]
        function.restype, function.argtypes = prototype
        setattr(self, name, function)
        return function

    def load_on_top(self, *paths):
        """Loads libraries that need libgshmem, one after the other, so that they use the copy that calls use. Each
        finds those before it, whatever LD_LIBRARY_PATH names."""
        self._load()
        for path in paths:
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)


library = Library()
