# SPDX-License-Identifier: Apache-2.0
"""gshmem: symmetric arrays of the PEs of a job, and calls that move data between them.

    import gshmem
    with gshmem.init():
        a = gshmem.zeros(4, 'int64')
        gshmem.put(a, source, pe=(gshmem.my_pe() + 1) % gshmem.n_pes())
        gshmem.barrier()

Started by gshmemrun, mpirun, srun or torchrun, or alone. docs/guide/python.md is the first hour."""
from __future__ import annotations

import os as _os

from ._arrays import empty, free, is_on_gpu, on, zeros
from ._calls import (Team, alltoall, alltoall_on_stream, atomic_add, atomic_and, atomic_compare_swap, atomic_fetch,
                     atomic_fetch_add, atomic_or, atomic_set, atomic_swap, atomic_xor, barrier, barrier_on_stream,
                     broadcast, broadcast_on_stream, check_streams, fcollect, fcollect_on_stream, fence, get, get_nbi,
                     get_on_stream, my_pe, n_pes, put, put_nbi, put_on_stream, put_signal, put_signal_on_stream, quiet,
                     quiet_on_stream, reduce, reduce_on_stream, signal, signal_on_stream, signal_wait,
                     signal_wait_on_stream, sync, sync_on_stream, test, wait)
from ._errors import Error, Mismatch, NotInitialized
from ._library import package_folder as _package_folder
from ._start import Session, finalize, get_unique_id, init, is_initialized, run_threads, watch_interrupts

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from ._kernels import Kernel, Module, compile, synchronize
    from ._types import Array
    __version__: str

_LATER = ('Kernel', 'Module', 'compile', 'synchronize')
_IMPORTED_BY_NAME = ('cute', 'libgshmem_device', 'mscclpp', 'numba', 'torch', 'triton')  # they need other packages
__all__ = [
    'Error', 'Kernel', 'Mismatch', 'Module', 'NotInitialized', 'Session', 'Team', 'alltoall', 'alltoall_on_stream',
    'atomic_add', 'atomic_and', 'atomic_compare_swap', 'atomic_fetch', 'atomic_fetch_add', 'atomic_or',
    'atomic_set', 'atomic_swap', 'atomic_xor', 'barrier', 'barrier_on_stream', 'broadcast', 'broadcast_on_stream',
    'check_streams', 'compile', 'empty', 'fcollect', 'fcollect_on_stream', 'fence', 'finalize', 'free', 'get',
    'get_include', 'get_nbi', 'get_on_stream', 'get_prefix', 'get_unique_id', 'init', 'is_initialized', 'is_on_gpu',
    'my_pe', 'n_pes', 'on', 'preload_nccl', 'preload_nvshmem', 'put', 'put_nbi', 'put_on_stream', 'put_signal',
    'put_signal_on_stream', 'quiet', 'quiet_on_stream', 'reduce', 'reduce_on_stream', 'run_threads', 'signal',
    'signal_on_stream', 'signal_wait', 'signal_wait_on_stream', 'sync', 'sync_on_stream', 'synchronize', 'test',
    'wait', 'zeros']

watch_interrupts()


def _get_later(name: str) -> object:
    if name == '__version__':
        import ctypes

        from ._library import library
        major, minor, patch = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        library.gshmemx_vendor_get_version_info(ctypes.byref(major), ctypes.byref(minor), ctypes.byref(patch))
        return f'{major.value}.{minor.value}.{patch.value}'
    if name in _LATER:  # what only some programs need: import stays short
        import importlib
        return getattr(importlib.import_module('gshmem._kernels'), name)
    if name == 'Array':
        from ._arrays import _array_class
        return _array_class()
    if name == 'device':
        import importlib
        return importlib.import_module('gshmem.device')
    hint = f': import gshmem.{name} first' if name in _IMPORTED_BY_NAME else ''
    raise AttributeError(f"module 'gshmem' has no attribute '{name}'{hint}")


if not TYPE_CHECKING:  # to which all names are known
    __getattr__ = _get_later


def get_include() -> str:
    """The folder of the C and CUDA headers, for compilers' -I."""
    folder = _package_folder()
    if folder is None:
        raise Error('get_include: this gshmem is not installed from a wheel')
    return _os.path.join(folder, 'include')


def get_prefix() -> str:
    """The folder that holds lib, include, bin and share, as `meson install` would fill it."""
    folder = _package_folder()
    if folder is None:
        raise Error('get_prefix: this gshmem is not installed from a wheel')
    return folder


def _preload(call: str, *places: tuple[str, ...]) -> str:
    """Loads the libraries at these places in the folder of libraries, and returns the path of the last."""
    import glob

    from ._library import library
    paths = []
    for place in places:
        found = glob.glob(_os.path.join(get_prefix(), 'lib', '**', *place), recursive=True)
        if not found:
            raise Error(f'{call}: this gshmem was built without {place[-1]}')
        paths.append(found[0])
    library.load_on_top(*paths)
    return paths[-1]


def preload_nccl() -> str:
    """Loads gshmem's NCCL library, so that packages that are imported later use it instead of their own: PyTorch's
    process group nccl, CuPy. Raises Error if torch is imported already. Returns the library's path, for variables such
    as VLLM_NCCL_SO_PATH."""
    import sys
    if 'torch' in sys.modules:
        raise Error('preload_nccl: torch is imported already, with its own NCCL')
    return _preload('preload_nccl', ('libgshmem_nccl.so.0',), ('gshmem-nccl', 'libnccl.so.2'))


def preload_nvshmem() -> str:
    """Loads gshmem's NVSHMEM library under the name libnvshmem_host.so.3, so that NVSHMEM's Python bindings, imported
    later, use it. Raises Error if another library of that name is loaded. Returns the library's path. The program does
    not call gshmem.init: the bindings do."""
    import ctypes
    try:
        ctypes.CDLL('libnvshmem_host.so.3', mode=_os.RTLD_NOLOAD | _os.RTLD_NOW)
    except OSError:
        return _preload('preload_nvshmem', ('libgshmem_nvshmem.so.0',), ('gshmem-nvshmem', 'libnvshmem_host.so.3'))
    with open('/proc/self/maps', encoding='utf-8') as maps:
        loaded = {line.split()[-1] for line in maps if 'libnvshmem_host' in line}
    if not any('gshmem-nvshmem' in path for path in loaded):
        raise Error(f'preload_nvshmem: {" ".join(loaded) or "another libnvshmem_host.so.3"} is loaded already')
    return loaded.pop()
