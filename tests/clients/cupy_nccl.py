#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CuPy's module of NCCL on two GPUs, a process each: every call, in several types, compared with numpy.

    cupy_nccl.py"""
import multiprocessing, sys

N_RANKS, N = 2, 1000


def run_rank(rank, id_of, failed):
    import cupy
    import numpy
    from cupy.cuda import nccl
    cupy.cuda.Device(rank).use()
    if rank == 0:
        unique_id = nccl.get_unique_id()
        id_of.put(unique_id)
    else:
        unique_id = id_of.get()
    comm = nccl.NcclCommunicator(N_RANKS, unique_id, rank)
    stream = cupy.cuda.Stream(non_blocking=True)
    types = {
        numpy.int8: nccl.NCCL_INT8, numpy.uint8: nccl.NCCL_UINT8, numpy.int32: nccl.NCCL_INT32,
        numpy.uint32: nccl.NCCL_UINT32, numpy.int64: nccl.NCCL_INT64, numpy.uint64: nccl.NCCL_UINT64,
        numpy.float16: nccl.NCCL_FLOAT16, numpy.float32: nccl.NCCL_FLOAT32, numpy.float64: nccl.NCCL_FLOAT64,
    }

    def of(r, dtype, n):
        """Small whole numbers: exact in every type."""
        return ((numpy.arange(n) * 7 + 3 * r) % 5 + 1).astype(dtype)

    def check(name, dtype, got, wanted):
        stream.synchronize()
        if not numpy.array_equal(cupy.asnumpy(got), wanted):
            print(f'rank {rank}: {name}, {dtype.__name__}: wrong', flush=True)
            failed.value = 1

    for dtype, kind in types.items():
        everyone = [of(r, dtype, N_RANKS * N) for r in range(N_RANKS)]
        source = cupy.asarray(everyone[rank])
        small, large = cupy.zeros(N, dtype), cupy.zeros(N_RANKS * N, dtype)
        cupy.cuda.Device().synchronize()
        a, b, c, s = source.data.ptr, small.data.ptr, large.data.ptr, stream.ptr
        comm.allReduce(a, c, N_RANKS * N, kind, nccl.NCCL_SUM, s)
        check('allReduce', dtype, large, everyone[0] + everyone[1])
        comm.allReduce(a, c, N_RANKS * N, kind, nccl.NCCL_MAX, s)
        check('allReduce of max', dtype, large, numpy.maximum(*everyone))
        comm.reduce(a, c, N_RANKS * N, kind, nccl.NCCL_PROD, 1, s)
        if rank == 1:
            check('reduce', dtype, large, everyone[0] * everyone[1])
        comm.broadcast(a, c, N_RANKS * N, kind, 1, s)
        check('broadcast', dtype, large, everyone[1])
        comm.allGather(a, c, N, kind, s)
        check('allGather', dtype, large, numpy.concatenate([x[:N] for x in everyone]))
        comm.reduceScatter(a, b, N, kind, nccl.NCCL_SUM, s)
        check('reduceScatter', dtype, small, (everyone[0] + everyone[1])[rank * N:(rank + 1) * N])
        nccl.groupStart()
        comm.send(a, N, kind, 1 - rank, s)
        comm.recv(b, N, kind, 1 - rank, s)
        nccl.groupEnd()
        check('send, recv', dtype, small, everyone[1 - rank][:N])
    if comm.size() != N_RANKS or comm.rank_id() != rank:
        failed.value = 1
    comm.destroy()
    if rank == 0:
        print(f'NCCL {nccl.get_version()}: {len(types)} types', 'failed' if failed.value else 'right', flush=True)


def main():
    context = multiprocessing.get_context('spawn')
    id_of, failed = context.Queue(), context.Value('i', 0)
    ranks = [context.Process(target=run_rank, args=(r, id_of, failed)) for r in range(N_RANKS)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(120)
        if process.exitcode != 0:
            process.kill()
            failed.value = 1
    sys.exit(failed.value)


if __name__ == '__main__':
    main()
