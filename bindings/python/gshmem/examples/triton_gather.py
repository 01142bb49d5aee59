# SPDX-License-Identifier: Apache-2.0
"""An all-gather in a kernel of Triton that makes the device library's own calls, as kernels of Triton-distributed do: a
program for each PE sends this PE's numbers there, with a signal, and waits for those from there. PEs may be far. On
GPUs, with a wheel that was built with nvcc and clang.

    gshmemrun -n 2 python -m gshmem.examples.triton_gather"""
import torch
import triton
import triton.language as tl

import gshmem
from gshmem import libgshmem_device as libshmem_device
from gshmem.examples import need_gpu


@triton.jit
def all_gather(out, mine, arrived, times, ROUND: tl.constexpr, N: tl.constexpr):
    me, pe = libshmem_device.my_pe(), tl.program_id(0)
    libshmem_device.putmem_signal_block(out + me * N, mine, N * 4, arrived + me, ROUND, libshmem_device.SIGNAL_SET, pe)
    libshmem_device.signal_wait_until(arrived + pe, libshmem_device.CMP_GE, ROUND)
    at = pe * N + tl.arange(0, N)
    tl.store(times + at, 2 * tl.load(out + at))


def main():
    me, n, count = gshmem.my_pe(), gshmem.n_pes(), 1024
    out, arrived = gshmem.zeros((n, count)), gshmem.zeros(n, 'int64')
    times = torch.zeros(n, count, device=out.device)
    mine = torch.arange(count, device=out.device) + 1000.0 * me
    gshmem.synchronize()
    gshmem.barrier()
    all_gather[(n,)](out, mine, arrived, times, ROUND=1, N=count, extern_libs=libshmem_device.extern_libs())
    gshmem.synchronize()
    gshmem.barrier()
    right = torch.arange(count, device=out.device) + 1000.0 * torch.arange(n, device=out.device)[:, None]
    assert (out == right).all() and (times == 2 * right).all()
    print(f'PE {me} has what {n} PEs have sent')


if __name__ == '__main__':
    with gshmem.init():
        need_gpu()
        main()
