#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Microseconds of an all-reduce of floats on a stream, from a graph of many calls, on GPUs: kernels of Triton and C++,
gshmem's call, and PyTorch's symmetric-memory operations on its own memory or on gshmem's. Whoever needs its input in
symmetric memory has it there; nobody copies it.

    gshmemrun -n 2 python3 perftest/all_reduce.py gshmem
    STORE_FILE=/tmp/new-name gshmemrun -n 2 python3 perftest/all_reduce.py CUDA|GSHMEM

Needs the wheel of a build with CUDA, PyTorch and Triton. The first result of each is compared with the right one, and
the last one, too, where the input stays as it was: two_shot changes its input, and is timed with zeros."""
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem

import gshmem
import gshmem.examples.triton as example
import gshmem.torch
import gshmem.triton as gs

SOURCE = r"""
__global__ void by_block(float *dest, const float *source, size_t n)
{ gshmemx_float_sum_reduce_block(GSHMEM_TEAM_WORLD, dest, source, n); }
__global__ void by_grid(float *dest, const float *source, size_t n)
{ gshmemx_float_sum_reduce_grid(GSHMEM_TEAM_WORLD, dest, source, n); }
"""
CALLS, ROUNDS = 50, 8
MOST_PROGRAMS = 128  # they wait for each other's partners, so all run at once: fewer than a GPU's multiprocessors


def measure(name, out, right, call, fill=None):
    """fill(is_first) fills the input of a call that changes it."""
    for _ in range(3):
        if fill is not None:
            fill(True)
        call()
    torch.cuda.synchronize()
    assert torch.equal(out, right), f'{name}: wrong sums'
    if fill is not None:
        fill(False)
    graph, times = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
        for _ in range(CALLS):
            call()
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        gshmem.barrier()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / CALLS)
    assert fill is not None or torch.equal(out, right), f'{name}: wrong sums'
    if gshmem.my_pe() == 0:
        print(f'{name:34} {out.nbytes:8} B  least {min(times):7.2f}  median {sorted(times)[ROUNDS // 2]:7.2f} us',
              flush=True)
    gshmem.barrier()


def of_gshmem(n, source, out, right, world, module):
    slots = gshmem.torch.zeros(2 * gshmem.n_pes() * n, torch.int64)
    calls = gshmem.torch.zeros(MOST_PROGRAMS, torch.int64)
    for block, warps in ((4096, 16), (2048, 16), (2048, 8), (1024, 4), (512, 4)):
        programs = -(-n // block)
        if programs <= MOST_PROGRAMS:
            measure(f'Triton, flags, {programs} x {warps} warps', out, right,
                    lambda: example.all_reduce_small[(programs,)](out, source, n, slots, calls, world, BLOCK=block,
                                                                  num_warps=warps))
    for programs, block, warps in ((1, 2048, 16), (8, 2048, 16), (16, 1024, 8), (64, 2048, 8), (64, 4096, 16),
                                   (128, 1024, 8), (128, 2048, 8), (128, 2048, 16)):
        if programs == 1 or programs * block <= 2 * n:
            measure(f'Triton, barriers, {programs} x {warps} warps', out, right,
                    lambda: example.all_reduce[(programs,)](out, source, n, world, BLOCK=block, num_warps=warps))
    measure('C++, a block of 512', out, right, lambda: module.by_block(1, 512, out, source, n))
    for blocks in (16, 32, 64):
        measure(f'C++, a grid of {blocks}', out, right,
                lambda: module.by_grid(blocks, 512, out, source, n, collective=True))
    measure('gshmem.reduce on a stream', out, right, lambda: gshmem.reduce_on_stream(out, source))
    gshmem.free(slots)
    gshmem.free(calls)


def of_torch(name, n, source, out, right):
    group = dist.group.WORLD.group_name
    t = symm_mem.empty(n, device=source.device)
    handle = symm_mem.rendezvous(t, group)
    t.copy_(source)
    handle.barrier()

    def fill(is_first):
        handle.barrier()  # nobody reads it any more
        if is_first:
            t.copy_(source)
        else:
            t.zero_()
        handle.barrier()

    ops = torch.ops.symm_mem
    measure(f'{name}: one_shot', out, right, lambda: ops.one_shot_all_reduce_out(t, 'sum', group, out))
    measure(f'{name}: two_shot', out, right, lambda: ops.two_shot_all_reduce_out(t, 'sum', group, out), fill)
    measure(f'{name}: two_shot, in place', t, right, lambda: ops.two_shot_all_reduce_(t, 'sum', group), fill)


def main(name):
    me, n_pes = gshmem.my_pe(), gshmem.n_pes()
    world, module = gs.world(n_channels=MOST_PROGRAMS), gshmem.compile(SOURCE)
    if name != 'gshmem':
        dist.init_process_group('gloo', rank=me, world_size=n_pes, init_method='file://' + os.environ['STORE_FILE'])
        if name == 'GSHMEM':
            gshmem.torch.use_symmetric_memory()
    for n in (2048, 16384, 262144):
        source, out = gshmem.torch.zeros(n), gshmem.torch.zeros(n)
        count = torch.arange(n, device=source.device) % 100
        source[:] = count + me
        right = count * float(n_pes) + n_pes * (n_pes - 1) // 2
        torch.cuda.synchronize()
        gshmem.barrier()
        if name == 'gshmem':
            of_gshmem(n, source, out, right, world, module)
        else:
            of_torch(name, n, source, out, right)


if __name__ == '__main__':
    if len(sys.argv) != 2 or sys.argv[1] not in ('gshmem', 'CUDA', 'GSHMEM'):
        sys.exit(__doc__)
    with gshmem.init():
        main(sys.argv[1])
