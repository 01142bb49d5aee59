# SPDX-License-Identifier: Apache-2.0
"""Symmetric memory as PyTorch tensors, on GPUs and on machines without one."""
import torch as _torch

from . import _arrays


def tensor(array):
    """The torch tensor of a symmetric array, with the same memory. Calls of gshmem take either."""
    if isinstance(array, _torch.Tensor):
        return array
    if hasattr(array, '__cuda_array_interface__'):
        return _torch.as_tensor(array, device='cuda')
    return _torch.from_numpy(array)


def _allocate(make, shape, dtype):
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    dtype = _torch.float32 if dtype is None else dtype
    if not isinstance(dtype, _torch.dtype):
        raise TypeError(f'dtype: {dtype!r} is no dtype of torch')
    nbytes = dtype.itemsize
    for n in shape:
        nbytes *= n
    return tensor(make(nbytes, 'uint8')).view(dtype).reshape(shape)  # by bytes: numpy lacks some of torch's dtypes


def empty(shape, dtype=None):
    """A symmetric tensor with undefined contents: on the PE's GPU, or of the CPU on the CPU device. Collective over all
    PEs, with the same shape and dtype (None: float32). Freed by gshmem.free."""
    return _allocate(_arrays.empty, shape, dtype)


def zeros(shape, dtype=None):
    """As empty, with all elements 0."""
    return _allocate(_arrays.zeros, shape, dtype)


def on(array, pe):
    """The same tensor on PE pe, which must be near: see gshmem.on."""
    _arrays.describe('on', 'array', array, True)
    flat = array.reshape(-1).view(_torch.uint8)
    return tensor(_arrays.on(flat, pe)).view(array.dtype).reshape(array.shape)
