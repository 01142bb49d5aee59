#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The calls of nccl4py's communicator on two GPUs, a process each, on arrays of CuPy, compared with numpy.

    LD_LIBRARY_PATH=FOLDER nccl4py_calls.py     FOLDER holds the libnccl.so.2; without it nccl4py finds one"""
import ctypes, multiprocessing, sys, traceback

N_RANKS, N = 2, 1000


def of(numpy, rank, n=N_RANKS * N):
    """Small whole numbers: exact in every type."""
    return ((numpy.arange(n) * 7 + 3 * rank) % 5 + 1).astype(numpy.float32)


def run_cases(rank, unique_id, say):
    try:
        ctypes.CDLL('libnccl.so.2')  # nccl4py takes what is loaded under this name
    except OSError:
        pass
    import cupy
    import numpy
    import nccl.core as nccl
    from cuda.core import Device
    Device(rank).set_current()
    cupy.cuda.Device(rank).use()
    if rank == 0:
        found = nccl.get_version().libnccl
        print(f'{found.path}: {found.version}', flush=True)
        made = bytes(nccl.get_unique_id())
        unique_id.put(made)
    else:
        made = unique_id.get()
    comm = nccl.Communicator.init(N_RANKS, rank, nccl.UniqueId.from_bytes(made))
    stream = cupy.cuda.Stream(non_blocking=True)
    everyone = [of(numpy, r) for r in range(N_RANKS)]
    both = everyone[0] + everyone[1]
    s = {'stream': stream.ptr}

    def case(name, f, wanted, n=N_RANKS * N, source=None):
        try:
            given = cupy.asarray(everyone[rank]) if source is None else source
            dest = cupy.zeros(n, numpy.float32)
            cupy.cuda.Device().synchronize()
            f(given, dest)
            stream.synchronize()
            right = wanted is None or numpy.array_equal(cupy.asnumpy(dest), wanted)
            say(name, right, 'wrong')
        except Exception as e:
            say(name, False, f'{type(e).__name__}: {e}')

    part = slice(rank * N, (rank + 1) * N)
    firsts = numpy.concatenate([x[:N] for x in everyone])
    case('allreduce', lambda a, b: comm.allreduce(a, b, nccl.SUM, **s), both)
    case('allreduce of max', lambda a, b: comm.allreduce(a, b, nccl.MAX, **s), numpy.maximum(*everyone))
    case('allreduce with a config',
         lambda a, b: comm.allreduce(a, b, nccl.SUM, config=nccl.NCCLCollConfig(max_ctas=4), **s), both)
    case('broadcast', lambda a, b: comm.broadcast(a, b, 1, **s), everyone[1])
    case('reduce', lambda a, b: comm.reduce(a, b, nccl.SUM, 0, **s), None if rank else both)
    case('allgather', lambda a, b: comm.allgather(a[:N], b, **s), firsts)
    case('reduce_scatter', lambda a, b: comm.reduce_scatter(a, b, nccl.SUM, **s), both[part], N)
    case('alltoall', lambda a, b: comm.alltoall(a, b, **s), numpy.concatenate([x[part] for x in everyone]))
    case('gather', lambda a, b: comm.gather(a[:N], b, 0, **s), None if rank else firsts)
    case('scatter', lambda a, b: comm.scatter(a, b, 0, **s), everyone[0][part], N)
    multiplied = comm.create_pre_mul_sum(2.0, nccl.FLOAT32)
    case('allreduce of a multiple', lambda a, b: comm.allreduce(a, b, multiplied, **s), 2 * both)

    def exchange(a, b):
        with nccl.group():
            comm.send(a, 1 - rank, **s)
            comm.recv(b, 1 - rank, **s)
    case('send, recv in a group', exchange, everyone[1 - rank])

    def in_split(a, b):
        half = comm.split(color=0, key=rank)
        half.allreduce(a, b, nccl.SUM, **s)
        stream.synchronize()
        half.destroy()
    case('split', in_split, both)

    def in_window(a, b):
        memory = nccl.mem_alloc(N_RANKS * N * 4)
        x = cupy.from_dlpack(memory).view(numpy.float32)
        window = comm.register_window(x, nccl.WindowFlag.COLL_SYMMETRIC)
        x[:] = a
        cupy.cuda.Device().synchronize()
        comm.allreduce(x, b, nccl.SUM, **s)
        stream.synchronize()
        window.close()
    case('window on memory of mem_alloc', in_window, both)
    say('nranks, rank', comm.nranks == N_RANKS and comm.rank == rank, 'wrong')
    properties = comm.properties
    say('properties', properties is not None, 'none')
    comm.finalize()
    comm.destroy()


def run_rank(rank, unique_id, failed):
    def say(name, right, why):
        if not right:
            failed.value += 1
        if rank == 0 or not right:
            print(f'rank {rank}: {name}: {"right" if right else why}', flush=True)
    try:
        run_cases(rank, unique_id, say)
    except Exception:
        traceback.print_exc()
        failed.value += 1


def main():
    context = multiprocessing.get_context('spawn')
    unique_id, failed = context.Queue(), context.Value('i', 0)
    ranks = [context.Process(target=run_rank, args=(r, unique_id, failed)) for r in range(N_RANKS)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(60)
        if process.exitcode != 0:
            process.kill()
            failed.value += 1
    print('failed' if failed.value else 'all right')
    sys.exit(failed.value > 0)


if __name__ == '__main__':
    main()
