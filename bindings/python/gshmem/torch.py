# SPDX-License-Identifier: Apache-2.0
"""Symmetric memory as PyTorch tensors, on GPUs and on machines without one; PyTorch's own symmetric memory and memory
pools on gshmem's heap."""
from __future__ import annotations

import ctypes as _ctypes
import os as _os

import torch as _torch

from . import _arrays
from ._errors import Error as _Error

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from ._types import Array, Shape


def tensor(array: Array) -> _torch.Tensor:
    """The torch tensor of a symmetric array, with the same memory. Calls of gshmem take either."""
    if isinstance(array, _torch.Tensor):
        return array
    if hasattr(array, '__cuda_array_interface__'):
        return _torch.as_tensor(array, device='cuda')
    if not hasattr(array, '__array_interface__'):
        raise TypeError(f'tensor: array: {type(array).__name__} is no array of numpy, torch or cupy')
    return _torch.from_numpy(array)


def _allocate(make, shape, dtype):
    shape = _arrays.check_shape(make.__name__, shape)
    dtype = _torch.float32 if dtype is None else dtype
    if not isinstance(dtype, _torch.dtype):
        raise TypeError(f'{make.__name__}: dtype: {dtype!r} is no dtype of torch')
    nbytes = dtype.itemsize
    for n in shape:
        nbytes *= n
    return tensor(make(nbytes, 'uint8')).view(dtype).reshape(shape)  # by bytes: numpy lacks some of torch's dtypes


def empty(shape: Shape, dtype: _torch.dtype | None = None) -> _torch.Tensor:
    """A symmetric tensor with undefined contents: on the PE's GPU, or of the CPU on the CPU device. Collective over all
    PEs, with the same shape and dtype (None: float32). Freed by gshmem.free."""
    return _allocate(_arrays.empty, shape, dtype)


def zeros(shape: Shape, dtype: _torch.dtype | None = None) -> _torch.Tensor:
    """As empty, with all elements 0."""
    return _allocate(_arrays.zeros, shape, dtype)


def on(array: Array, pe: int) -> _torch.Tensor:
    """The same array on PE pe, which must be near, as a tensor: see gshmem.on."""
    _arrays.describe('on', 'array', array, True)
    array = tensor(array)
    flat = array.reshape(-1).view(_torch.uint8)
    return tensor(_arrays.on(flat, pe)).view(array.dtype).reshape(array.shape)


# ---- PyTorch's symmetric memory ---------------------------------------------------------------

_unit = None


def _plug_in():
    """The C++ part, compiled against the installed PyTorch when it is first needed and kept in the cache."""
    global _unit
    if _unit is None:
        from ._kernels import _cuda_includes, _include_folders, load_compiled
        source = _os.path.join(_os.path.dirname(_os.path.abspath(__file__)), '_torch', 'symmetric_memory.cpp')
        folder = _os.path.dirname(_torch.__file__)
        options = ['-O1', '-fvisibility=hidden', f'-D_GLIBCXX_USE_CXX11_ABI={int(_torch._C._GLIBCXX_USE_CXX11_ABI)}',
                   f'-I{_include_folders()}', f'-I{folder}/include', f'-I{folder}/include/torch/csrc/api/include',
                   '-Wl,--no-as-needed', f'-L{folder}/lib', '-lc10', '-ltorch_cpu']  # loaded; libgshmem is as well
        if _arrays.is_on_gpu():
            options += ['-DGSHMEM_TORCH_CUDA', '-lc10_cuda', *[f'-I{f}' for f in _cuda_includes()]]
        with open(source, encoding='utf-8') as file:
            _unit, path = load_compiled('gshmem.torch', options, file.read(), _torch.__version__)
        _unit.path = path
        _tell_of_waits(_unit)
        _unit.gshmem_torch_register()
    return _unit


def _tell_of_waits(unit):
    """Waits of the C++ part are as those of this package: other threads run, and Ctrl-C ends them (_start.py)."""
    from . import _native
    python = [_ctypes.cast(getattr(_ctypes.pythonapi, name), _ctypes.c_void_p) for name in (
        'PyGILState_Ensure', 'PyGILState_Release', 'PyEval_SaveThread', 'PyEval_RestoreThread')]
    unit.gshmem_torch_tell_of_waits(*map(_ctypes.c_void_p, _native.wait_functions()), *python)


def use_symmetric_memory() -> None:
    """Makes gshmem the backend of torch.distributed._symmetric_memory, under the name GSHMEM: for the PE's GPU, or for
    tensors of the CPU on the CPU device. Call it after gshmem.init and before the first symmetric tensor. The first
    call on a machine compiles it, which takes some ten seconds and a C++ compiler.

    symm_mem.empty is then collective over all PEs: all make the same calls in the same order. Memory of tensors that
    all PEs have dropped is used again by later calls. rendezvous raises RuntimeError if a rank is a far PE. There are
    64 channels. A time limit holds on the CPU device; on GPUs the library's does, GSHMEM_WAIT_TIMEOUT."""
    from torch.distributed import _symmetric_memory
    _plug_in()
    _symmetric_memory.set_backend('GSHMEM')


def mem_pool() -> _torch.cuda.MemPool:
    """A torch.cuda.MemPool on the heap: tensors that are made within `with torch.cuda.use_mem_pool(pool)` are symmetric
    if all PEs make the same ones in the same order. Keep the pool as long as its tensors."""
    if not _arrays.is_on_gpu():
        raise _Error('mem_pool: the CPU device has no CUDA memory')
    path = _plug_in().path
    allocator = _torch.cuda.memory.CUDAPluggableAllocator(path, 'gshmem_torch_malloc', 'gshmem_torch_free')
    pool = _torch.cuda.MemPool(allocator.allocator())
    pool._gshmem_allocator = allocator
    return pool
