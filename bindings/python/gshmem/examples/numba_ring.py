# SPDX-License-Identifier: Apache-2.0
"""A kernel of numba-cuda that sends an array to the right, with a signal, and waits for its own; then a sum over all
PEs by a block. On GPUs, with numba-cuda and a wheel that was built with nvcc.

    gshmemrun -n 2 python -m gshmem.examples.numba_ring"""
from numba import cuda

import gshmem
import gshmem.numba as gs
from gshmem.examples import need_gpu

SET, EQUAL, WORLD = 9, 0, 0  # GSHMEM_SIGNAL_SET, GSHMEM_CMP_EQ, GSHMEM_TEAM_WORLD


@cuda.jit
def ring(inbox, mine, arrived, total):
    me, n = gs.gshmem_my_pe(), gs.gshmem_n_pes()
    i = cuda.threadIdx.x
    mine[i] = me * 1000 + i
    cuda.syncthreads()
    gs.gshmemx_putmem_signal_block(inbox, mine, mine.size * 4, arrived, 1, SET, (me + 1) % n)
    if i == 0:
        gs.gshmem_signal_wait_until(arrived, EQUAL, 1)
        gs.gshmem_int_atomic_add(total[1:], me, 0)
    cuda.syncthreads()
    gs.gshmemx_int32_sum_reduce_block(WORLD, total, total, 1)


def main():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    inbox, mine = gshmem.zeros(64, 'int32'), gshmem.zeros(64, 'int32')
    arrived, total = gshmem.zeros(1, 'uint64'), gshmem.zeros(2, 'int32')
    total[0] = me + 1
    gshmem.synchronize()
    gshmem.barrier()
    ring[1, 64](*(cuda.as_cuda_array(a) for a in (inbox, mine, arrived, total)))
    cuda.synchronize()
    gshmem.barrier()
    assert inbox.tolist() == [(me - 1) % n * 1000 + i for i in range(64)]
    assert total.tolist() == [n * (n + 1) // 2, n * (n - 1) // 2 if me == 0 else 0], total.tolist()
    print(f'PE {me} has {inbox[:3].tolist()}, the sum is {total[0].item()}')


if __name__ == '__main__':
    with gshmem.init():
        need_gpu()
        main()
