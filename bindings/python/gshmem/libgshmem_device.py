# SPDX-License-Identifier: Apache-2.0
"""The device calls as functions for @triton.jit kernels, from the bitcode of the device library, under the names that
Triton-distributed's libshmem_device has: NVSHMEM's without nvshmem_ or nvshmemx_.

    from gshmem import libgshmem_device as libshmem_device

    @triton.jit
    def to_the_right(inbox, mine, n, arrived):
        right = (libshmem_device.my_pe() + 1) % libshmem_device.n_pes()
        libshmem_device.putmem_signal_block(inbox, mine, n * 4, arrived, 1, 9, right)
        libshmem_device.signal_wait_until(arrived, 0, 1)

    to_the_right[(1,)](inbox, mine, n, arrived, extern_libs=libshmem_device.extern_libs())

A program of Triton is a block to the calls that end with _block. Calls reach far PEs, and their waits have a time
limit, which gshmem.triton's have not; they do not run in Triton's interpreter. gshmem.init comes before the first
launch.
Every function of gshmem.device.functions() is here. So is what Triton-distributed names in its own way: remote_ptr is
gshmem_ptr, sync is team_sync, and broadcast and fcollect (also _warp, _block) take the number of elements of the
pointers' type, where broadcastmem and fcollectmem take bytes. remote_mc_ptr gives a null pointer: gshmem uses no
multicast memory. Left out are the names of other vendors (_wave, _wg, quiet_pe) and putmem_rma, which is made of
NVSHMEM's internals."""
from __future__ import annotations

import ctypes as _ctypes
import hashlib as _hashlib

import triton as _triton
import triton.language as _tl
from triton.language import core as _core

from . import device as _device

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from typing import Any

    def __getattr__(name: str) -> Any: ...

_NUMBERS = {'int': _tl.int32, 'long': _tl.int64, 'size_t': _tl.uint64, 'gshmem_team_t': _tl.int32,
            'float': _tl.float32, 'double': _tl.float64,
            **{f'{name}_t': getattr(_tl, name) for name in ('int8', 'int16', 'int32', 'int64', 'uint8', 'uint16',
                                                            'uint32', 'uint64')}}
_SYNONYMS = {'remote_ptr': 'ptr', 'sync': 'team_sync', 'ulong_put_signal': 'uint64_put_signal'}
_BY_ELEMENTS = ('broadcast', 'fcollect')
SIGNAL_SET, SIGNAL_ADD = _tl.constexpr(9), _tl.constexpr(10)
NVSHMEM_SIGNAL_SET, NVSHMEM_SIGNAL_ADD = SIGNAL_SET, SIGNAL_ADD
for _i, _name in enumerate(('EQ', 'NE', 'GT', 'LE', 'LT', 'GE')):
    globals()[f'CMP_{_name}'] = globals()[f'NVSHMEM_CMP_{_name}'] = _tl.constexpr(_i)
TEAM_WORLD = NVSHMEM_TEAM_WORLD = _tl.constexpr(0)
TEAM_SHARED = NVSHMEM_TEAM_SHARED = _tl.constexpr(1)
TEAM_NODE = NVSHMEMX_TEAM_NODE = _tl.constexpr(2)
TEAM_SAME_MYPE_NODE = NVSHMEMX_TEAM_SAME_MYPE_NODE = _tl.constexpr(3)
TEAM_INVALID = NVSHMEM_TEAM_INVALID = _tl.constexpr(-1)


_library_name = None


def extern_libs() -> dict[str, str]:
    """For a launch: extern_libs=extern_libs(). Triton keeps compiled kernels by the names and contents of these files,
    but not by what the functions here make of a call: so the name stands for it."""
    global _library_name
    if _library_name is None:
        with open(__file__, 'rb') as file:
            text = file.read() + repr(_device.functions()).encode()
        _library_name = f'libgshmem_device_{_hashlib.sha256(text).hexdigest()[:16]}'
    _prepare_modules()
    return {_library_name: _device.bitcode()}


def _prepare(module, *unused):
    """A module that has been loaded and has the calls in it gets what they need to know; others are left alone."""
    cuda, address, size = _ctypes.CDLL('libcuda.so.1'), _ctypes.c_void_p(), _ctypes.c_size_t()
    if cuda.cuModuleGetGlobal_v2(_ctypes.byref(address), _ctypes.byref(size), _ctypes.c_void_p(module),
                                 b'gshmem_state_block') == 0:
        _device.init_module(module)


_is_preparing = False


def _prepare_modules():
    global _is_preparing
    if not _is_preparing:
        _triton.knobs.runtime.kernel_load_end_hook.add(_prepare)
        _is_preparing = True


def _function(name, row, by_elements=False):
    """by_elements: what is a number of bytes in C is one of elements of dest's type here, under the name nelems."""
    arguments = [dict(a, name='nelems') if by_elements and a['name'] == 'bytes' else a for a in row['arguments']]
    symbol = row['name'] + ('_with_result' if row['result'] == 'void' else '')
    types = tuple(_NUMBERS.get(a['type'], _tl.uint64) for a in arguments)  # an address is a number: LLVM takes either
    result = _NUMBERS.get(row['result'], _tl.int32 if row['result'] == 'void' else _tl.uint64)
    at = {a['name']: i for i, a in enumerate(arguments)}

    def call(given, _semantic):
        if len(given) != len(types):
            raise TypeError(f'{name}: {len(given)} arguments for {len(types)} parameters')
        given = [_semantic.to_tensor(value) for value in given]
        cast = [_core.cast(value, t, _semantic=_semantic) for value, t in zip(given, types)]
        if by_elements:
            size = _size_of_element(name, given[at['dest']].dtype)
            cast[at['nelems']] = cast[at['nelems']].__mul__(size, _semantic=_semantic)
        value = _core.extern_elementwise('libgshmem_device', '', cast, {types: (symbol, result)}, is_pure=False,
                                         _semantic=_semantic)
        is_address = row['result'].endswith('*')  # of the type of the pointer that was given
        return _core.cast(value, given[0].dtype, _semantic=_semantic) if is_address else value

    names = ', '.join(a['name'] for a in arguments)
    made = {'call': call}
    exec(f'def {name}({names}{", " if names else ""}_semantic=None):\n    return call([{names}], _semantic)\n', made)
    made[name].__doc__ = f'{row["result"]} {row["name"]}({", ".join(a["type"] + " " + a["name"] for a in arguments)})'
    return _core.extern(made[name])


def _size_of_element(name, pointer):
    if not pointer.is_ptr():
        raise TypeError(f'{name}: dest is of {pointer}, not a pointer')
    return max(1, pointer.element_ty.primitive_bitwidth // 8)


for _row in _device.functions():
    for _name in (_row['name'], *_row['aliases']):
        _short = _name.removeprefix('nv').removeprefix('g').partition('_')[2]  # of shmem_ or shmemx_
        globals()[_short] = _function(_short, _row)
        _call, _, _group = _short.partition('mem')
        if _call in _BY_ELEMENTS:
            globals()[_call + _group] = _function(_call + _group, _row, True)
for _name, _of in _SYNONYMS.items():
    globals()[_name] = globals()[_of]


@_core.extern
def remote_mc_ptr(team, ptr, _semantic=None):
    """A null pointer of ptr's type."""
    zero = _core.cast(_semantic.to_tensor(0), _tl.uint64, _semantic=_semantic)
    return _core.cast(zero, ptr.dtype, _semantic=_semantic)
