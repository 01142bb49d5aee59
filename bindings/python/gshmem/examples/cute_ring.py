# SPDX-License-Identifier: Apache-2.0
"""A kernel of CuTe DSL that sends a tensor to the right, with a signal, and waits for its own. On GPUs, with PyTorch,
nvidia-cutlass-dsl and a wheel that was built with nvcc and clang.

    gshmemrun -n 2 python -m gshmem.examples.cute_ring"""
import cutlass
from cutlass import cute

import gshmem
import gshmem.cute as gs
from gshmem.examples import need_gpu

SET, EQUAL = 9, 0  # GSHMEM_SIGNAL_SET, GSHMEM_CMP_EQ


@cute.kernel
def ring(inbox: cute.Tensor, mine: cute.Tensor, arrived: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    me, n = gs.gshmem_my_pe(), gs.gshmem_n_pes()
    mine[thread] = me * 1000 + thread
    cute.arch.sync_threads()
    gs.gshmemx_int32_put_signal_block(inbox, mine, cute.size(mine), arrived, 1, SET, (me + 1) % n)
    if thread == 0:
        gs.gshmem_signal_wait_until(arrived, EQUAL, 1)


@cute.jit
def launch(inbox: cute.Tensor, mine: cute.Tensor, arrived: cute.Tensor):
    ring(inbox, mine, arrived).launch(grid=[1, 1, 1], block=[64, 1, 1])


def main():
    import torch
    from cutlass.cute.runtime import from_dlpack
    import gshmem.torch
    me, n = gshmem.my_pe(), gshmem.n_pes()
    inbox, mine = gshmem.torch.zeros(64, torch.int32), gshmem.torch.zeros(64, torch.int32)
    arrived = gshmem.torch.zeros(1, torch.uint64)
    tensors = [from_dlpack(t) for t in (inbox, mine, arrived)]
    run = gs.prepare(cute.compile(launch, *tensors))
    gshmem.barrier()
    run(*tensors)
    torch.cuda.synchronize()
    gshmem.barrier()
    assert inbox.tolist() == [(me - 1) % n * 1000 + i for i in range(64)]
    print(f'PE {me} has {inbox[:3].tolist()}')


if __name__ == '__main__':
    with gshmem.init():
        need_gpu()
        main()
