# SPDX-License-Identifier: Apache-2.0
"""Symmetric arrays: numpy arrays on the CPU device, torch tensors (or cupy arrays) on GPUs.

A symmetric array is a view of an allocation of the heap. The allocation lives until free, which is collective, or
finalize: an array that is only forgotten does not return its memory. What is not symmetric is refused by name before
the library sees its address."""
from __future__ import annotations

import ctypes
import math
import operator
import sys
import threading
import weakref

from . import _native
from ._errors import Error
from ._library import TEAM_WORLD, library
from ._start import _after_use, need, thread, waiting

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from ._types import Array, DType, Shape


class _User:
    """Held by all arrays of one allocation or of one view: when it is gone, nobody looks at the memory."""

    def __init__(self, address, nbytes):
        self.address, self.nbytes = address, nbytes


class _Allocation:
    def __init__(self, address, nbytes, user, number):
        self.address, self.nbytes, self.user, self.number = address, nbytes, weakref.ref(user), number


class _Heap:
    """What a PE has of the heap: allocations by address, and the users of views of other PEs' memory."""

    def __init__(self):
        self.lock = threading.Lock()  # threads of a PE allocate and free one after the other
        self.forget()

    def forget(self):
        self.allocations = {}
        self.views, self.freed = weakref.WeakSet(), weakref.WeakSet()  # users of other PEs' memory; of what is free
        self.n_made = 0  # in this job, the same on all PEs


_heap_of_process = _Heap()


def _heap():
    """This PE's: the process's, whichever thread calls, unless the thread is a PE by itself."""
    if not hasattr(thread, 'kept'):
        return _heap_of_process
    if not hasattr(thread, 'heap'):
        thread.heap = _Heap()
    return thread.heap


def is_on_gpu() -> bool:
    need()
    return library.gshmemx_device_name() != b'cpu'


def _numpy():
    import numpy
    return numpy


def _array_class():
    """A numpy array that remembers its allocation; made when numpy is first needed."""
    global Array, _array_class
    numpy = _numpy()

    class Array(numpy.ndarray):
        """A symmetric numpy array. Views of it are symmetric, too."""

        def on(self, pe: int) -> Array:
            """A view of the same array of PE pe, which must be near: see gshmem.on."""
            return on(self, pe)

    Array.__module__ = 'gshmem'
    _array_class = lambda: Array
    return Array


def _dtype(dtype):
    """numpy's dtype of a numpy or torch dtype, or of a name; bfloat16 stays a name."""
    text = str(dtype).removeprefix('torch.')
    if text == 'bfloat16':
        return None, 'bfloat16', 2
    try:
        d = _numpy().dtype(dtype if not text.startswith(('float', 'int', 'uint', 'complex', 'bool')) else text)
    except TypeError:
        raise TypeError(f'dtype: {dtype!r} is no dtype of numpy or torch') from None
    if d.hasobject:
        raise TypeError(f'dtype: {d} holds Python objects, which mean nothing to other PEs')
    if d.itemsize == 0:
        raise TypeError(f'dtype: {d} has elements of no bytes; give their length, such as S8')
    if d.subdtype is not None:
        raise TypeError(f'dtype: {d} is an array itself; its dimensions belong to shape')
    return d, d.name, d.itemsize


_MOST_DIMENSIONS = 64  # of numpy and of torch
_MOST_BYTES = 1 << 62  # that the library is asked for: it refuses them


def check_shape(call, shape):
    """shape as a tuple of ints from 0."""
    try:
        numbers = tuple(map(operator.index, shape if isinstance(shape, (tuple, list)) else (shape,)))
    except TypeError:
        raise TypeError(f'{call}: shape is {shape!r}, not a number or a tuple of numbers') from None
    if any(n < 0 for n in numbers):
        raise ValueError(f'{call}: shape {numbers} has a negative dimension')
    if len(numbers) > _MOST_DIMENSIONS:
        raise ValueError(f'{call}: shape has {len(numbers)} dimensions; arrays have at most {_MOST_DIMENSIONS}')
    if 0 in numbers and math.prod(n for n in numbers if n) >= _MOST_BYTES // 16:
        raise ValueError(f'{call}: shape {numbers} has no elements, but is too big for an array')
    return numbers


def _check_device_has(d, name):
    """That the arrays of this device can be of the dtype."""
    if not is_on_gpu():
        if d is None:
            raise TypeError(f'dtype: numpy has no {name}; on the CPU device use uint16 for its bits')
        return
    try:
        import torch
    except ImportError:
        return
    if not isinstance(getattr(torch, name, None), torch.dtype):
        raise TypeError(f'dtype: torch has no {name}')


_WAITS = {'zeros': 'gshmem.zeros', 'empty': 'gshmem.empty'}  # texts that stay


def _allocate(call, shape, dtype, is_zero):
    need()
    shape = check_shape(call, shape)
    d, name, itemsize = _dtype(dtype)
    _check_device_has(d, name)
    nbytes = math.prod(shape) * itemsize
    asked = min(max(nbytes, 1), _MOST_BYTES)
    heap = _heap()
    with heap.lock:
        _native.compare(_WAITS[call], TEAM_WORLD, f' with shape {shape}, dtype {name}')
        with waiting(_WAITS[call]):
            address = library.gshmem_calloc(asked, 1) if is_zero else library.gshmem_malloc(asked)
        if not address:
            raise MemoryError(f'{call}: no {nbytes} bytes of symmetric memory on all PEs; PE 0 has printed why')
        user = _User(address, nbytes)
        heap.n_made += 1
        heap.allocations[address] = _Allocation(address, nbytes, user, heap.n_made)
    return _wrap(address, shape, d, name, user)


def _wrap(address, shape, d, name, user):
    _check_device_has(d, name)
    if is_on_gpu():
        return _wrap_gpu(address, shape, name, user)
    numpy = _numpy()
    count = math.prod(shape) * d.itemsize
    buffer = (ctypes.c_char * count).from_address(address)
    buffer._gshmem_user = user  # arrays keep the buffer
    return numpy.frombuffer(buffer, dtype=d).reshape(shape).view(_array_class())


class _CudaMemory:
    """What torch and cupy make arrays of; see numba's definition of __cuda_array_interface__."""

    def __init__(self, address, nbytes, user):
        self.user = user
        self.__cuda_array_interface__ = {'shape': (nbytes,), 'typestr': '|u1', 'data': (address, False), 'version': 3,
                                         'strides': None}


def _wrap_gpu(address, shape, name, user):
    memory = _CudaMemory(address, max(1, math.prod(shape) * itemsize(name)), user)
    try:
        import torch
    except ImportError:
        import cupy
        described = memory.__cuda_array_interface__
        own = cupy.cuda.UnownedMemory(described['data'][0], described['shape'][0], user, cupy.cuda.Device().id)
        whole = cupy.ndarray(described['shape'], 'uint8', cupy.cuda.MemoryPointer(own, 0))
        return whole.view(name).reshape(shape)
    whole = _tensor(torch, memory) if user is None else torch.as_tensor(memory, device='cuda')
    return whole.view(getattr(torch, name)).reshape(shape) if math.prod(shape) else \
        torch.empty(shape, dtype=getattr(torch, name), device='cuda')


class _DLTensor(ctypes.Structure):
    _fields_ = [('data', ctypes.c_void_p), ('device_type', ctypes.c_int32), ('device_id', ctypes.c_int32),
                ('ndim', ctypes.c_int32), ('code', ctypes.c_uint8), ('bits', ctypes.c_uint8),
                ('width', ctypes.c_uint16), ('shape', ctypes.c_void_p), ('strides', ctypes.c_void_p),
                ('byte_offset', ctypes.c_uint64)]


class _DLManagedTensor(ctypes.Structure):
    _fields_ = [('tensor', _DLTensor), ('context', ctypes.c_void_p), ('deleter', ctypes.c_void_p),
                ('one_dimension', ctypes.c_int64)]  # the last is ours, and shape points to it


def _tensor(torch, memory):
    """Bytes that belong to another PE's GPU, as this one's: what torch asks CUDA about them would be the other's.
    By DLPack (dlpack.h), whose structure is the C library's memory and ends with the tensor."""
    c = ctypes.CDLL(None)
    c.malloc.restype, c.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    place = c.malloc(ctypes.sizeof(_DLManagedTensor))
    if not place:
        raise MemoryError('no host memory for a tensor')
    described = memory.__cuda_array_interface__
    managed = _DLManagedTensor.from_address(place)
    managed.one_dimension = described['shape'][0]
    managed.context, managed.deleter = None, ctypes.cast(c.free, ctypes.c_void_p).value
    managed.tensor = _DLTensor(described['data'][0], 2, torch.cuda.current_device(), 1, 1, 8, 1,
                               place + _DLManagedTensor.one_dimension.offset, None, 0)  # CUDA; 8 bits, unsigned
    return torch.utils.dlpack.from_dlpack(make(place, b'dltensor', None))


def itemsize(name) -> int:
    """The bytes of an element of the dtype of that name."""
    return 2 if name == 'bfloat16' else _numpy().dtype(name).itemsize


def empty(shape: Shape, dtype: DType = 'float32') -> Array:
    """A symmetric array with undefined contents. Collective over all PEs, with the same shape and dtype.

    On the CPU device a numpy array with a method `on`; on GPUs a torch tensor, or a cupy array where there is no
    torch. On all PEs, raises Mismatch if they ask for different shapes or dtypes, MemoryError if memory runs out."""
    return _allocate('empty', shape, dtype, False)


def zeros(shape: Shape, dtype: DType = 'float32') -> Array:
    """As empty, with all elements 0."""
    return _allocate('zeros', shape, dtype, True)


# (call, argument, array, is_symmetric): (address, bytes, dtype's name) of a contiguous array of numpy, torch or cupy,
# which is symmetric if is_symmetric. Errors name the call and the argument.
describe = _native.describe


def check_pe(call, pe, n=None):
    """pe as an int from 0 to n - 1. n: None for the PEs of the job."""
    return _native.check_pe(call, pe, n)


def name_of_dtype(dtype):
    """Such as 'float32'; with the order of the bytes if it is not this machine's, such as '>f4'."""
    if getattr(dtype, 'isnative', True) is False:
        return sys.intern(dtype.str)
    return sys.intern(getattr(dtype, 'name', None) or str(dtype).removeprefix('torch.'))


def describe_other(call, argument, array):
    """(address, bytes, is_contiguous, dtype's name, is_read_only) of arrays that _native does not know: those of cupy,
    and those of numpy whose dtypes have no format."""
    interface = getattr(array, '__array_interface__', None) or getattr(array, '__cuda_array_interface__', None)
    try:
        address, is_read_only = interface['data']
        return address, array.nbytes, bool(array.flags.c_contiguous), name_of_dtype(array.dtype), is_read_only
    except (AttributeError, KeyError, TypeError, ValueError):
        raise TypeError(f'{call}: {argument}: {type(array).__name__} is no array of numpy, torch or cupy') from None


def current_stream(array=None):
    """The number of the current stream for a call with this array, None: without one, as _calls.py says."""
    if not is_on_gpu():
        return 0
    is_cupys = hasattr(array, '__cuda_array_interface__') and not hasattr(array, 'data_ptr')
    torch, cupy = sys.modules.get('torch'), sys.modules.get('cupy')
    if torch is not None and not is_cupys and torch.cuda.is_available():
        stream = torch.cuda.current_stream().cuda_stream
        try:
            _native.use_torch_streams(torch._C._cuda_getDevice, torch._C._cuda_getCurrentRawStream)
        except AttributeError:
            pass  # a torch without these: slower
        return stream
    if cupy is None:
        return 0
    _native.use_cupy_streams(cupy.cuda.get_current_stream)
    return cupy.cuda.get_current_stream().ptr


def on(array: Array, pe: int) -> Array:
    """The same array on PE pe, as memory that this PE may load and store: for near PEs, those whose memory is mapped.
    Nothing orders such accesses but barriers, signals and waits. Raises ValueError if PE pe is not near."""
    need()
    address, nbytes, name = describe('on', 'array', array, True)
    pe = check_pe('on', pe)
    there = library.gshmem_ptr(address, pe)
    if not there:
        raise ValueError(f'on: PE {pe} is not near: its memory is not mapped here')
    user = None
    if not is_on_gpu():
        user = _User(there, nbytes)
        _heap().views.add(user)
    return _wrap(there, tuple(array.shape), _dtype(array.dtype)[0], name, user)


def free(array: Array) -> None:
    """Returns the array's memory to the heap. Collective over all PEs, for the same array: the arrays whose first byte
    the allocation has. What it and other arrays of the same memory hold afterwards is undefined: other arrays may have
    the memory. Raises Mismatch on all PEs, and frees nothing, if PEs free different arrays or make another collective
    call meanwhile, finalize among them; it calls the arrays by the order in which they were made, from 1."""
    need()
    address, _, _ = describe('free', 'array', array, False)
    heap = _heap()
    allocation = heap.allocations.get(address)
    if allocation is None or _user_of(array) not in (None, allocation.user()):
        raise ValueError('free: this is not an array that gshmem.zeros or gshmem.empty returned, or it is free already')
    with heap.lock:
        _native.compare('gshmem.free', TEAM_WORLD, f' of array {allocation.number}, {allocation.nbytes} bytes')
        del heap.allocations[address]
        with waiting('gshmem.free'):
            library.gshmem_free(address)
        if not is_on_gpu():
            if (user := allocation.user()) is not None:
                heap.freed.add(user)
            for user in [*heap.freed, *heap.views]:
                _map_if_gone(user.address, user.nbytes)


def _user_of(array):
    """Of an array that _wrap has made for the CPU device, or a view of it; else None."""
    while isinstance(base := getattr(array, 'base', None), _numpy().ndarray):
        array = base
    return getattr(base.obj if isinstance(base, memoryview) else base, '_gshmem_user', None)


def _libc():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    libc.write.restype, libc.write.argtypes = ctypes.c_ssize_t, [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
    return libc


_FIXED, _FIXED_NOREPLACE, _NORESERVE = 0x10, 0x100000, 0x4000  # of mmap


def _map_if_gone(address, nbytes):
    """The heap shrinks at its end, on free: an array that still looks there sees zeros, for which the process would
    end otherwise. The addresses stay the heap's, which maps its memory over these pages when it grows again."""
    if nbytes == 0:
        return
    import mmap
    import os
    page, libc = mmap.PAGESIZE, _libc()
    first, last = address // page, (address + nbytes - 1) // page
    reader, writer = os.pipe2(os.O_CLOEXEC)

    def is_there(n):
        is_readable = libc.write(writer, n * page, 1) == 1  # else EFAULT
        if is_readable:
            os.read(reader, 1)
        return is_readable

    try:
        if is_there(last):
            return
        while first < last:  # the pages before first are there, last is not
            middle = (first + last) // 2
            first, last = (middle + 1, last) if is_there(middle) else (first, middle)
    finally:
        os.close(reader)
        os.close(writer)
    end = (address + nbytes - 1) // page + 1
    libc.mmap(first * page, (end - first) * page, mmap.PROT_READ | mmap.PROT_WRITE,
              mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE | _FIXED, -1, 0)


def _keep_contents():
    """Before finalize: what arrays that still exist hold, to be put at the same addresses as private memory."""
    heap = _heap()
    used = {(u.address, u.nbytes) for u in [*(a.user() for a in heap.allocations.values()), *heap.views]
            if u is not None and u.nbytes}
    freed = [(u.address, u.nbytes) for u in heap.freed if u.nbytes]
    heap.forget()
    if library.gshmemx_device_name() != b'cpu':
        return lambda: None
    kept = [(*place, ctypes.string_at(*place)) for place in used] + [(*place, b'') for place in freed]
    done = set()  # pages

    def restore():
        """Of what is not mapped any more; called again, the rest."""
        for address, nbytes, contents in kept.copy():
            if _map_private(address, nbytes, done):
                ctypes.memmove(address, contents, len(contents))
                kept.remove((address, nbytes, contents))

    return restore


def _map_private(address, nbytes, done):
    """Whether pages of this process alone are at the address; adds to done, the pages of which that is known."""
    import mmap
    page, libc = mmap.PAGESIZE, _libc()
    all_pages = range(address // page, -(-(address + nbytes) // page))

    def is_mapped(pages):
        start = pages[0] * page
        return libc.mmap(start, len(pages) * page, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE |
                         mmap.MAP_ANONYMOUS | _NORESERVE | _FIXED_NOREPLACE, -1, 0) == start

    if done.isdisjoint(all_pages) and is_mapped(all_pages):
        done.update(all_pages)
    done.update(n for n in all_pages if n not in done and is_mapped([n]))
    return done.issuperset(all_pages)


_after_use.append(_keep_contents)
