# SPDX-License-Identifier: Apache-2.0
"""Calls of gshmem.libgshmem_device whose sizes are numbers of elements, and its pointers, compared with what they are
to do. A job of any number of PEs on GPUs. Ends with status 1 if something is wrong."""
import torch
import triton
import triton.language as tl

import gshmem
import gshmem.torch
from gshmem import libgshmem_device as lib
from gshmem.examples import need_gpu


@triton.jit
def calls(sent, got, parts, mine, greeting, is_null, n, root):
    lib.broadcast_block(lib.TEAM_WORLD, got, sent, n, root)
    lib.fcollect_block(lib.TEAM_WORLD, parts, mine, n)
    me = lib.my_pe()
    tl.store(lib.remote_ptr(greeting, (me + 1) % lib.n_pes()), me)
    tl.store(is_null, (lib.remote_mc_ptr(lib.TEAM_WORLD, got).to(tl.int64) == 0).to(tl.int32))
    tl.debug_barrier()
    lib.barrier_all_block()


def main():
    me, n_pes, n = gshmem.my_pe(), gshmem.n_pes(), 1000
    for dtype in (torch.float16, torch.int64, torch.uint8):
        sent, got, mine = (gshmem.torch.zeros(n + 1, dtype) for _ in range(3))
        parts = gshmem.torch.zeros((n_pes, n), dtype)
        greeting, is_null = gshmem.torch.zeros(1, torch.int32), gshmem.torch.zeros(1, torch.int32)
        greeting[0] = -1
        sent[:], mine[:] = me + 1, me + 10
        gshmem.synchronize()
        gshmem.barrier()
        root = n_pes - 1
        calls[(1,)](sent, got, parts, mine, greeting, is_null, n, root, extern_libs=lib.extern_libs())
        gshmem.synchronize()
        gshmem.barrier()
        assert (got[:n] == root + 1).all() and got[n] == 0, got  # no more than n elements
        assert (parts.cpu() == torch.arange(10, 10 + n_pes).to(dtype)[:, None]).all(), parts
        assert greeting.item() == (me - 1) % n_pes and is_null.item() == 1
        for array in (sent, got, mine, parts, greeting, is_null):
            gshmem.free(array)
    print('right')


if __name__ == '__main__':
    with gshmem.init():
        need_gpu()
        main()
