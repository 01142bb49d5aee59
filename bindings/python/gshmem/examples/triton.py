# SPDX-License-Identifier: Apache-2.0
"""An all-reduce as a kernel of Triton: each program adds up a block of all PEs' sources.

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
    program = tl.program_id(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    gs.barrier(world, program)  # all PEs have filled their sources
    total = tl.zeros((BLOCK,), tl.float32)
    for pe in range(gs.n_pes(world)):
        total += tl.load(gs.translate(source, pe, world) + at, mask=at < n, other=0)
    tl.store(dest + at, total, mask=at < n)
    gs.barrier(world, program)  # all have read: the sources may change


def main(n=5000, block=2048):
    n_programs = triton.cdiv(n, block)
    source, dest = gshmem.torch.zeros(n), torch.empty(n)
    if source.is_cuda:
        dest = dest.to(source.device)
    world = gs.world(n_channels=n_programs)
    for i in range(3):
        source[:] = torch.arange(n) + gshmem.my_pe() * i
        all_reduce[(n_programs,)](dest, source, n, world, BLOCK=block)
        n_pes = gshmem.n_pes()
        assert torch.equal(dest.cpu(), torch.arange(n) * float(n_pes) + n_pes * (n_pes - 1) // 2 * i)
    print(f'PE {gshmem.my_pe()}: the sum of {n} numbers of {n_pes} PEs is right')


if __name__ == '__main__':
    with gshmem.init():
        if gshmem.is_on_gpu():
            torch.cuda.set_device(gshmem.my_pe() % torch.cuda.device_count())
        main()
