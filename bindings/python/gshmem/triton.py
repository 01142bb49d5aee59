# SPDX-License-Identifier: Apache-2.0
"""Calls for kernels of Triton: put, get, signals, waits, atomics and a barrier, written in Triton alone.

    import gshmem.triton as gs
    world = gs.world(n_channels=8)    # on the host, collective: a tensor, which kernels take as an argument

    @triton.jit
    def kernel(inbox, mine, arrived, n, world):
        gs.put_signal(inbox, mine, n, arrived, 1, (gs.my_pe(world) + 1) % gs.n_pes(world), world)
        gs.wait(arrived, '>=', 1)

A program calls them as a whole: its threads do the work together. There is no library to link and no hook, so that they
run in Triton's interpreter (TRITON_INTERPRET=1) on the CPU device as well, whose PEs then are processes. They reach
near PEs only: world raises ValueError if some PE is far. Waits have no time limit.

Order: signal, put_signal and barrier come after all loads and stores that the program made before; what the program
does after wait or barrier comes after what the other PE's program did before its signal or barrier. So puts are
complete where their signal is seen, or after a barrier.

`pe` is a number, not a block of numbers. Pointers are of symmetric tensors of this PE, at their start or with offsets
added. Signals are elements of int64 or uint64, which are compared as int64."""
import triton as _triton
import triton.language as tl

from . import _arrays, _calls
from ._library import library
from ._start import whole_number

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    import torch

# The words of a world, int64, which is itself symmetric: my_pe, n_pes, n_channels, 0; for each PE what to add to a
# symmetric address of this PE in order to have it there; then for each channel of barrier its epoch and for each PE a
# flag. Invariants: epoch counts this PE's arrivals, and only this PE writes it; flag[i] is i's epoch at its latest
# arrival, written by PE i alone with release at system scope, the partner of the acquire in barrier. Neither decreases.
_TABLE = tl.constexpr(4)
_ALL, _RELAXED = tl.constexpr(None), tl.constexpr('relaxed')  # compilers of Triton 3.6 take no other defaults
_AT_ONCE = tl.constexpr(32)  # of the PEs, barrier visits so many at a time


def world(n_channels: int = 1) -> 'torch.Tensor':
    """What the calls in kernels need to know: a symmetric int64 tensor. Collective over all PEs, with the same
    n_channels: how many barriers may go on independently, as those of a kernel's programs do. gshmem.free frees it."""
    from .torch import zeros
    import torch
    me, n = _calls.my_pe(), _calls.n_pes()
    n_channels = whole_number('world', 'n_channels', n_channels, 1)
    words = zeros(_TABLE.value + n + n_channels * (1 + n), torch.int64)
    address = words.data_ptr()
    there = [library.gshmem_ptr(address, pe) for pe in range(n)]
    for pe in range(n):
        if not there[pe]:
            _arrays.free(words)
            raise ValueError(f'world: PE {pe} is not near: kernels of Triton do not reach it')
    first = [me, n, n_channels, 0] + [at - address for at in there]
    words[:len(first)] = torch.tensor(first, dtype=torch.int64)
    if words.is_cuda:
        torch.cuda.current_stream().synchronize()
    _calls.barrier()
    return words


# ---- in kernels: where things are -------------------------------------------------------------


@_triton.jit
def my_pe(world):
    """The number of this PE."""
    return tl.load(world).to(tl.int32)


@_triton.jit
def n_pes(world):
    """How many PEs the job has."""
    return tl.load(world + 1).to(tl.int32)


@_triton.jit
def translate(pointer, pe, world):
    """The same place on PE pe, to be loaded and stored. pointer: one or a block of them; translating the start of a
    tensor and then adding offsets costs least."""
    distance = tl.multiple_of(tl.load(world + _TABLE + pe), 4096)
    return (pointer.to(tl.pointer_type(tl.int8)) + distance).to(pointer.dtype)


# ---- in kernels: copies -----------------------------------------------------------------------


@_triton.jit
def put(dest, source, n, pe, world, BLOCK: tl.constexpr = 1024):
    """Copies n elements of source to dest on PE pe, BLOCK at a time. source may be any memory."""
    there = translate(dest, pe, world)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(there + at, tl.load(source + at, mask=at < n), mask=at < n)


@_triton.jit
def get(dest, source, n, pe, world, BLOCK: tl.constexpr = 1024):
    """Copies n elements of source on PE pe to dest, BLOCK at a time. dest may be any memory."""
    there = translate(source, pe, world)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(dest + at, tl.load(there + at, mask=at < n), mask=at < n)


@_triton.jit
def put_signal(dest, source, n, signal_word, value, pe, world, ADD: tl.constexpr = False, BLOCK: tl.constexpr = 1024):
    """put, then signal."""
    put(dest, source, n, pe, world, BLOCK)
    signal(signal_word, value, pe, world, ADD)


# ---- in kernels: signals and barriers ---------------------------------------------------------


@_triton.jit
def signal(word, value, pe, world, ADD: tl.constexpr = False):
    """Sets the signal of PE pe to value, or adds value to it. Comes after all that the program did before."""
    there = translate(word.to(tl.pointer_type(tl.int64)), pe, world)
    tl.debug_barrier()  # the other threads' accesses come before this thread's release
    if ADD:
        tl.atomic_add(there, value, sem='release', scope='sys')
    else:
        tl.atomic_xchg(there, value, sem='release', scope='sys')


@_triton.jit
def _compares(seen, COMPARISON: tl.constexpr, value):
    if COMPARISON == '==':
        return seen == value
    elif COMPARISON == '!=':
        return seen != value
    elif COMPARISON == '>':
        return seen > value
    elif COMPARISON == '>=':
        return seen >= value
    elif COMPARISON == '<':
        return seen < value
    else:
        tl.static_assert(COMPARISON == '<=', 'wait: the comparison is none of ==, !=, >, >=, <, <=')
        return seen <= value


@_triton.jit
def wait(word, COMPARISON: tl.constexpr, value):
    """Waits until this PE's signal compares so with value: '==', '!=', '>', '>=', '<', '<='. Returns what it is."""
    own = word.to(tl.pointer_type(tl.int64))
    # By an atomic, since all threads must see the same value; a load would be each thread's own.
    seen = tl.atomic_add(own, 0, sem='acquire', scope='sys')
    while not _compares(seen, COMPARISON, value):
        seen = tl.atomic_add(own, 0, sem='acquire', scope='sys')
    tl.debug_barrier()
    return seen


@_triton.jit
def barrier(world, channel=0):
    """Waits for one program of each PE that calls it with the same channel, below world's n_channels. Programs that run
    at the same time use different channels."""
    n = n_pes(world)
    own = world + _TABLE + n + channel * (1 + n)
    epoch = tl.atomic_add(own, 1, sem='relaxed') + 1
    flags = own + 1
    mine = (flags + my_pe(world)).to(tl.pointer_type(tl.int8))
    tl.debug_barrier()  # the other threads' accesses come before the releases
    for first in range(0, n, _AT_ONCE):
        pes = first + tl.arange(0, _AT_ONCE)
        there = mine + tl.load(world + _TABLE + pes, mask=pes < n, other=0)
        tl.atomic_xchg(there.to(tl.pointer_type(tl.int64)), epoch, mask=pes < n, sem='release', scope='sys')
    for first in range(0, n, _AT_ONCE):
        pes = first + tl.arange(0, _AT_ONCE)
        behind = 1
        while behind > 0:
            seen = tl.atomic_add(flags + pes, 0, mask=pes < n, sem='acquire', scope='sys')
            behind = tl.sum(((seen < epoch) & (pes < n)).to(tl.int32))
    tl.debug_barrier()


# ---- in kernels: atomics ----------------------------------------------------------------------


@_triton.jit
def atomic_add(pointer, value, pe, world, mask=_ALL, SEM: tl.constexpr = _RELAXED):
    """Adds value to what pointer, one or a block of them, has on PE pe; returns what was there. This and the calls
    below are atomic beside those of all PEs. SEM: 'relaxed', 'acquire', 'release' or 'acq_rel', for the thread that has
    the element; signal and wait order whole programs."""
    return tl.atomic_add(translate(pointer, pe, world), value, mask=mask, sem=SEM, scope='sys')


@_triton.jit
def atomic_max(pointer, value, pe, world, mask=_ALL, SEM: tl.constexpr = _RELAXED):
    """As atomic_add: what is there becomes the larger one."""
    return tl.atomic_max(translate(pointer, pe, world), value, mask=mask, sem=SEM, scope='sys')


@_triton.jit
def atomic_min(pointer, value, pe, world, mask=_ALL, SEM: tl.constexpr = _RELAXED):
    """As atomic_add: what is there becomes the smaller one."""
    return tl.atomic_min(translate(pointer, pe, world), value, mask=mask, sem=SEM, scope='sys')


@_triton.jit
def atomic_and(pointer, value, pe, world, mask=_ALL, SEM: tl.constexpr = _RELAXED):
    """As atomic_add, for integers: a bitwise and."""
    return tl.atomic_and(translate(pointer, pe, world), value, mask=mask, sem=SEM, scope='sys')


@_triton.jit
def atomic_or(pointer, value, pe, world, mask=_ALL, SEM: tl.constexpr = _RELAXED):
    """As atomic_add, for integers: a bitwise or."""
    return tl.atomic_or(translate(pointer, pe, world), value, mask=mask, sem=SEM, scope='sys')


@_triton.jit
def atomic_xor(pointer, value, pe, world, mask=_ALL, SEM: tl.constexpr = _RELAXED):
    """As atomic_add, for integers: a bitwise exclusive or."""
    return tl.atomic_xor(translate(pointer, pe, world), value, mask=mask, sem=SEM, scope='sys')


@_triton.jit
def atomic_swap(pointer, value, pe, world, mask=_ALL, SEM: tl.constexpr = _RELAXED):
    """As atomic_add: what is there becomes value."""
    return tl.atomic_xchg(translate(pointer, pe, world), value, mask=mask, sem=SEM, scope='sys')


@_triton.jit
def atomic_compare_swap(pointer, expected, value, pe, world, SEM: tl.constexpr = _RELAXED):
    """As atomic_add: what is there becomes value if it is `expected`."""
    return tl.atomic_cas(translate(pointer, pe, world), expected, value, sem=SEM, scope='sys')
