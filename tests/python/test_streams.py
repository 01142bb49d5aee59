# SPDX-License-Identifier: Apache-2.0
"""Calls on streams take the current stream of the package that has made their array. Modules that stand for torch and
cupy have streams of the CPU device here: what a call has done tells on which it was."""
import os
import subprocess
import sys

PROGRAM = r'''
import ctypes
import sys
from types import SimpleNamespace

import numpy
import gshmem
from gshmem import _arrays
from gshmem._library import library

gshmem.init()
memory = [gshmem.zeros(4, 'int64') for _ in range(4)]
word, there = gshmem.zeros(1, 'uint64'), gshmem.zeros(1, 'uint64')
library.gshmem_my_pe()
create, is_done = library._handle['gshmemx_cpu_stream_create'], library._handle['gshmemx_cpu_stream_is_done']
create.restype, is_done.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_void_p]
blocked, second, of_cupy = (create(1) for _ in range(3))


def is_empty(stream):
    answer = ctypes.c_bool()
    assert is_done(stream, ctypes.byref(answer)) == 0
    return answer.value


def finish(stream):
    assert library._handle['gshmemx_cpu_stream_synchronize'](ctypes.c_void_p(stream)) == 0


class Tensor:
    def __init__(self, array):
        self.array, self.nbytes, self.dtype = array, array.nbytes, 'torch.' + array.dtype.name

    def data_ptr(self):
        return self.array.ctypes.data

    def is_contiguous(self):
        return True


class CupyArray:
    def __init__(self, array):
        self.array, self.nbytes, self.dtype, self.flags = array, array.nbytes, array.dtype, array.flags
        self.__cuda_array_interface__ = {'data': (array.ctypes.data, False)}


current, asked = blocked, []


def raw_stream(device):
    asked.append('raw')
    return current


def current_stream():
    asked.append('stream')
    return SimpleNamespace(cuda_stream=current)


def install_torch():
    sys.modules['torch'] = SimpleNamespace(
        cuda=SimpleNamespace(is_available=lambda: True, current_stream=current_stream),
        _C=SimpleNamespace(_cuda_getDevice=lambda: 0, _cuda_getCurrentRawStream=raw_stream))


sys.modules['cupy'] = SimpleNamespace(cuda=SimpleNamespace(
    get_current_stream=lambda: asked.append('cupy') or SimpleNamespace(ptr=of_cupy)))
on_cpu, _arrays.is_on_gpu = _arrays.is_on_gpu, lambda: True
tensors, cupys = [Tensor(a) for a in memory[:2]], [CupyArray(a) for a in memory[2:]]
numbers = numpy.arange(4)

# Without torch, calls without an array are cupy's.
gshmem.barrier_on_stream()
assert asked == ['cupy'], asked
asked.clear()

install_torch()
gshmem.signal_wait_on_stream(Tensor(word), '==', 1)  # found slowly once, then by the fast functions
gshmem.put_on_stream(tensors[0], tensors[1], 0)
gshmem.put_on_stream(tensors[0], numbers, 0)
gshmem.get_on_stream(numbers, tensors[0], 0)
gshmem.put_signal_on_stream(tensors[0], numbers, Tensor(there), 1, 0)
gshmem.signal_on_stream(Tensor(there), 1, 0, 'add')
gshmem.reduce_on_stream(tensors[1], tensors[0])
gshmem.broadcast_on_stream(tensors[1], tensors[0], 0)
gshmem.fcollect_on_stream(tensors[1], tensors[0])
gshmem.alltoall_on_stream(tensors[1], tensors[0])
gshmem.quiet_on_stream()
gshmem.sync_on_stream()
gshmem.barrier_on_stream()
assert asked == ['stream'] + 12 * ['raw'], asked
asked.clear()

# cupy's arrays have a stream of their own, which goes on.
memory[2][:] = 5
gshmem.put_on_stream(cupys[1], cupys[0], 0)
gshmem.put(cupys[1], cupys[0], 0, 'current')
assert asked == 2 * ['cupy'], asked
finish(of_cupy)
assert (memory[3] == 5).all() and not is_empty(blocked) and there[0] == 0

# The program has changed torch's current stream, or names one.
current = second
gshmem.signal_on_stream(Tensor(there), 7, 0)
finish(second)
assert there[0] == 7 and not is_empty(blocked)
asked.clear()
gshmem.put_on_stream(tensors[1], numbers, 0, SimpleNamespace(cuda_stream=second))
gshmem.put_on_stream(tensors[1], numbers, 0, stream=second)
gshmem.put(tensors[1], numbers, 0)  # of the host: no stream
assert not asked and not is_empty(blocked)

gshmem.signal(Tensor(word), 1, 0)
finish(blocked)
assert there[0] == 2 and memory[0].tolist() == memory[1].tolist() == numbers.tolist() == [0, 1, 2, 3]
_arrays.is_on_gpu = on_cpu
gshmem.finalize()

# The next job is on the CPU device again, whose default stream alone is current.
with gshmem.init():
    asked.clear()
    a = gshmem.zeros(4, 'int64')
    gshmem.put_on_stream(Tensor(a), numpy.full(4, 3), 0)
    gshmem.synchronize()
    assert (a == 3).all() and not asked
print('right')
'''


def test_current_streams():
    process = subprocess.run([sys.executable, '-c', PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, timeout=300, env=os.environ)
    assert process.stdout == 'right\n', process.stdout
