#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Microseconds of an all-reduce of floats on a stream, from a graph of many calls, on GPUs: kernels of Triton and C++,
gshmem's call, and PyTorch's symmetric-memory operations on its own memory or on gshmem's.

    gshmemrun -n 2 python3 perftest/all_reduce.py gshmem
    STORE_FILE=/tmp/new-name gshmemrun -n 2 python3 perftest/all_reduce.py CUDA|GSHMEM

Needs the wheel of a build with CUDA, PyTorch and Triton. Every result is compared with the right one."""
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


def measure(name, out, right, call):
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    assert torch.equal(out, right), f'{name}: wrong sums'
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
    assert torch.equal(out, right), f'{name}: wrong sums'
    if gshmem.my_pe() == 0:
        print(f'{name:34} {out.nbytes:8} B  least {min(times):7.2f}  median {sorted(times)[ROUNDS // 2]:7.2f} us',
              flush=True)
    gshmem.barrier()


def of_gshmem(n, source, out, right, world, module):
    slots = gshmem.torch.zeros(2 * gshmem.n_pes() * n, torch.int64)
    calls = gshmem.torch.zeros(128, torch.int64)
    for block, warps in ((2048, 16), (1024, 4), (512, 4)):
        programs = -(-n // block)
        if programs <= 64:
            measure(f'Triton, flags, {programs} x {warps} warps', out, right,
                    lambda: example.all_reduce_small[(programs,)](out, source, n, slots, calls, world, BLOCK=block,
                                                                  num_warps=warps))
    for programs, block, warps in ((1, 2048, 16), (32, 2048, 8), (64, 2048, 8), (64, 4096, 16)):
        if programs == 1 or programs * block <= 2 * n:
            measure(f'Triton, barriers, {programs} x {warps} warps', out, right,
                    lambda: example.all_reduce[(programs,)](out, source, n, world, BLOCK=block, num_warps=warps))
    measure('C++, a block of 512', out, right, lambda: module.by_block(1, 512, out, source, n))
    for blocks in (16, 32, 64):
        measure(f'C++, a grid of {blocks}', out, right,
                lambda: module.by_grid(blocks, 512, out, source, n, collective=True))
    measure('gshmem.reduce on a stream', out, right, lambda: gshmem.reduce(out, source, stream='current'))
    gshmem.free(slots)
    gshmem.free(calls)


def of_torch(name, n, source, out, right):
    group = dist.group.WORLD.group_name
    t = symm_mem.empty(n, device=source.device)
    handle = symm_mem.rendezvous(t, group)
    t.copy_(source)
    handle.barrier()

    def one_shot():
        out.copy_(torch.ops.symm_mem.one_shot_all_reduce(t, 'sum', group))

    def two_shot():
        t.copy_(source)
        torch.ops.symm_mem.two_shot_all_reduce_(t, 'sum', group)
        out.copy_(t)

    measure(f'{name}: a copy alone', out, right, lambda: out.copy_(right))
    measure(f'{name}: one_shot and a copy', out, right, one_shot)
    measure(f'{name}: two_shot and two copies', out, right, two_shot)


def main(name):
    me, n_pes = gshmem.my_pe(), gshmem.n_pes()
    world, module = gs.world(n_channels=64), gshmem.compile(SOURCE)
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
