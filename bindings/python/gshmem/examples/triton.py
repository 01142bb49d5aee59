# SPDX-License-Identifier: Apache-2.0
"""Two all-reduces as kernels of Triton. Programs of the same number on all PEs add up the same blocks.

    gshmemrun -n 2 python -m gshmem.examples.triton                      on GPUs
    TRITON_INTERPRET=1 gshmemrun -n 2 python -m gshmem.examples.triton   anywhere, in Triton's interpreter"""
import torch
import triton
import triton.language as tl

import gshmem
import gshmem.torch
import gshmem.triton as gs


@triton.jit
def all_reduce(dest, source, n, world, BLOCK: tl.constexpr):
    """dest becomes the sum of the symmetric source of all PEs. world has a channel for each program."""
    program = tl.program_id(0)
    gs.barrier(world, program)  # all PEs have filled their sources
    for start in range(program * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), tl.float32)
        for pe in range(gs.n_pes(world)):
            total += tl.load(gs.translate(source, pe, world) + at, mask=at < n, other=0)
        tl.store(dest + at, total, mask=at < n)
    gs.barrier(world, program)  # all have read: the sources may change


@triton.jit
def all_reduce_small(dest, source, n, slots, calls, world, BLOCK: tl.constexpr):
    """The same for a few elements, at most a block for each program, without barriers: each number travels in one word
    with the number of the call, so who sees that has the data. Hardware writes an aligned word of 8 bytes at once.
    source is any memory. Symmetric and zero at first: slots, int64, two halves with n words for each PE; calls, int64,
    a word for each program. A PE begins a call when it has everybody's data of the one before, so nobody reads the half
    any more that was written two calls ago."""
    program, me, n_pes = tl.program_id(0), gs.my_pe(world), gs.n_pes(world)
    call = tl.atomic_add(calls + program, 1, sem='relaxed') + 1
    half = slots + call % 2 * n_pes * n
    at = program * BLOCK + tl.arange(0, BLOCK)
    own = tl.load(source + at, mask=at < n, other=0).to(tl.int32, bitcast=True)
    words = own.to(tl.int64) & 0xffffffff | call << 32
    for i in range(n_pes):
        tl.store(gs.translate(half, (me + i) % n_pes, world) + me * n + at, words, mask=at < n)
    total = tl.zeros((BLOCK,), tl.float32)
    for pe in range(n_pes):
        n_missing = 1
        words = tl.zeros((BLOCK,), tl.int64)
        while n_missing > 0:
            words = tl.load(half + pe * n + at, mask=at < n, other=0, volatile=True)
            n_missing = tl.sum(((words >> 32 != call) & (at < n)).to(tl.int32))
        total += words.to(tl.int32).to(tl.float32, bitcast=True)
    tl.store(dest + at, total, mask=at < n)


def main(n=5000, block=1024):
    n_programs = triton.cdiv(n, block)
    me, n_pes = gshmem.my_pe(), gshmem.n_pes()
    source = gshmem.torch.zeros(n)
    dest, small = torch.empty_like(source), torch.empty_like(source)
    world = gs.world(n_channels=3)
    slots = gshmem.torch.zeros(2 * n_pes * n, torch.int64)
    calls = gshmem.torch.zeros(n_programs, torch.int64)
    for i in range(4):
        source[:] = torch.arange(n) + me * i
        all_reduce[(3,)](dest, source, n, world, BLOCK=block)
        all_reduce_small[(n_programs,)](small, source, n, slots, calls, world, BLOCK=block)
        right = torch.arange(n) * float(n_pes) + n_pes * (n_pes - 1) // 2 * i
        assert torch.equal(dest.cpu(), right) and torch.equal(small.cpu(), right)
    print(f'PE {me}: the sum of {n} numbers of {n_pes} PEs is right')


if __name__ == '__main__':
    with gshmem.init():
        main()
