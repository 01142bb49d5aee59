#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The host's calls of nccl4py 0.6 on two GPUs, a process each, on arrays of CuPy, or of PyTorch where there is no CuPy,
compared with numpy.

    LD_LIBRARY_PATH=FOLDER nccl4py_calls.py     FOLDER holds the libnccl.so.2; without it nccl4py finds one

Calls that a library may refuse (RuntimeError or its own error): suspend and resume, device communicators."""
import ctypes, multiprocessing, sys, traceback

N_RANKS, N = 2, 1000


def of(numpy, rank, n=N_RANKS * N):
    """Small whole numbers: exact in every type."""
    return ((numpy.arange(n) * 7 + 3 * rank) % 5 + 1).astype(numpy.float32)


class OfCupy:
    def __init__(self, rank):
        import cupy
        self.cupy = cupy
        cupy.cuda.Device(rank).use()
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.stream_ptr = self.stream.ptr

    def give(self, host):
        return self.cupy.asarray(host)

    def take(self, array):
        return self.cupy.asnumpy(array)

    def wait(self):
        self.stream.synchronize()
        self.cupy.cuda.Device().synchronize()

    def over(self, memory, numpy):
        return self.cupy.from_dlpack(memory).view(numpy.float32)


class OfTorch:
    def __init__(self, rank):
        import torch
        self.torch = torch
        torch.cuda.set_device(rank)
        self.stream = torch.cuda.Stream()
        self.stream_ptr = self.stream.cuda_stream

    def give(self, host):
        return self.torch.from_numpy(host.copy()).cuda()

    def take(self, array):
        return array.cpu().numpy()

    def wait(self):
        self.torch.cuda.synchronize()

    def over(self, memory, numpy):
        return self.torch.from_dlpack(memory).view(self.torch.float32)


def arrays_of(rank):
    try:
        return OfCupy(rank)
    except ImportError:
        return OfTorch(rank)


def run_cases(rank, ids, say):
    try:
        ctypes.CDLL('libnccl.so.2')  # nccl4py takes what is loaded under this name
    except OSError:
        pass
    import numpy
    import nccl.core as nccl
    from cuda.core import Device
    Device(rank).set_current()
    arrays = arrays_of(rank)

    def share(make):
        """What rank 0 makes, on both."""
        if rank == 0:
            made = bytes(make())
            ids.put(made)
        else:
            made = ids.get()
        return nccl.UniqueId.from_bytes(made)

    if rank == 0:
        found = nccl.get_version().libnccl
        print(f'{found.path}: {found.version}', flush=True)
    comm = nccl.Communicator.init(N_RANKS, rank, share(nccl.get_unique_id))
    everyone = [of(numpy, r) for r in range(N_RANKS)]
    both = everyone[0] + everyone[1]
    s = {'stream': arrays.stream_ptr}

    def case(name, f, wanted, n=N_RANKS * N):
        try:
            given, dest = arrays.give(everyone[rank]), arrays.give(numpy.zeros(n, numpy.float32))
            arrays.wait()
            f(given, dest)
            arrays.wait()
            say(name, wanted is None or numpy.array_equal(arrays.take(dest), wanted), 'wrong')
        except Exception as e:
            say(name, False, f'{type(e).__name__}: {e}')

    def fact(name, f, may_refuse=False):
        """f is true, or fails where it may."""
        try:
            say(name, f(), 'wrong')
        except Exception as e:
            say(name + (' (refused)' if may_refuse else ''), may_refuse, f'{type(e).__name__}: {e}')

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

    def simulate(a, b):
        nccl.group_start()
        comm.allreduce(a, b, nccl.SUM, **s)
        assert nccl.group_end(simulate=True).estimated_time >= 0
        comm.allreduce(a, b, nccl.SUM, **s)
    case('group_end, simulated', simulate, both)

    def within(make):
        """An all-reduce in the communicator that is made, which is destroyed."""
        def run(a, b):
            other = make()
            other.allreduce(a, b, nccl.SUM, **s)
            arrays.wait()
            other.finalize()
            other.destroy()
        return run

    def initialize():
        other = nccl.Communicator()
        other.initialize(N_RANKS, rank, [share(nccl.get_unique_id)], nccl.NCCLConfig(max_ctas=8))
        return other

    def grow():
        first = nccl.Communicator.init(1, 0, nccl.get_unique_id()) if rank == 0 else None
        unique_id = share(lambda: first.get_unique_id())
        if rank > 0:
            return nccl.Communicator().grow(N_RANKS, unique_id, rank=rank)
        grown = first.grow(N_RANKS, unique_id)
        return grown

    def shrink(a, b):
        if rank == 0:
            within(lambda: comm.shrink([1]))(a, b)
    case('split', within(lambda: comm.split(color=0, key=rank)), both)
    case('initialize with a config', within(initialize), both)
    case('get_unique_id, grow', within(grow), both)
    case('shrink', shrink, None if rank else everyone[0])

    def revoke(a, b):
        other = initialize()
        other.allreduce(a, b, nccl.SUM, **s)
        arrays.wait()
        other.revoke()
        other.destroy()
    case('revoke', revoke, both)

    def abort(a, b):
        other = initialize()
        other.allreduce(a, b, nccl.SUM, **s)
        arrays.wait()
        other.abort()
    case('abort', abort, both)

    memory, dest_memory = nccl.mem_alloc(N_RANKS * N * 4), nccl.mem_alloc(N_RANKS * N * 4)
    x, y = arrays.over(memory, numpy), arrays.over(dest_memory, numpy)
    windows = []

    def in_window(a, b):
        windows.append(comm.register_window(x, nccl.WindowFlag.COLL_SYMMETRIC))
        windows.append(comm.register_window(y, nccl.WindowFlag.COLL_SYMMETRIC))
        x[:] = a
        arrays.wait()
        comm.allreduce(x, b, nccl.SUM, **s)
    case('window on memory of mem_alloc', in_window, both)

    def put_signal(a, b):
        comm.put_signal(x, 1 - rank, windows[1], **s)
        comm.wait_signal(nccl.WaitSignalDesc(peer=1 - rank), **s)
        arrays.wait()
        b[:] = y
    case('put_signal, wait_signal', put_signal, everyone[1 - rank])

    def signal(a, b):
        comm.signal(1 - rank, **s)
        comm.wait_signal([nccl.WaitSignalDesc(peer=1 - rank)], **s)
        b[:] = a
    case('signal, wait_signal', signal, everyone[rank])
    fact('a window\'s pointers', lambda: windows[0].user_ptr != 0 and windows[0].size == N_RANKS * N * 4 and
         windows[0].get_lsa_device_pointer(rank) != 0 and windows[0].get_peer_device_pointer(1 - rank) != 0)
    for window in windows:
        fact('window, close', lambda: window.close() is None)

    def register(a, b):
        handle = comm.register_buffer(a)
        comm.allreduce(a, b, nccl.SUM, **s)
        arrays.wait()
        handle.close()
    case('register_buffer', register, both)

    def make_dev_comm():
        made = comm.create_dev_comm(nccl.NCCLDevCommRequirements(lsa_barrier_count=1, resources=(
            nccl.LsaBarrierRequirement(nccl.NCCLTeam(N_RANKS, rank, 1), 2),)))
        right = made.ptr != 0
        made.close()
        return right
    fact('create_dev_comm', make_dev_comm, may_refuse=True)
    fact('suspend, resume', lambda: comm.suspend() is None and comm.resume() is None, may_refuse=True)

    fact('nranks, rank', lambda: comm.nranks == N_RANKS and comm.rank == rank)
    fact('device, cuda_dev', lambda: comm.device.device_id == rank and comm.cuda_dev == rank)
    fact('nvml_dev', lambda: comm.nvml_dev >= 0)
    fact('properties', lambda: comm.properties is not None and comm.device_api_support in (True, False) and
         comm.multimem_support in (True, False) and comm.host_rma_support in (True, False) and
         comm.gin_type is not None and comm.railed_gin_type is not None)
    fact('teams', lambda: (comm.n_lsa_teams, comm.team_world.n_ranks, comm.team_world.rank, comm.team_lsa.n_ranks,
                           comm.team_rail.n_ranks) == (1, N_RANKS, rank, N_RANKS, 1))
    fact('team_rank_to_world', lambda: comm.team_rank_to_world(comm.team_lsa, 1 - rank) == 1 - rank)
    fact('team_rank_to_lsa', lambda: comm.team_rank_to_lsa(comm.team_world, rank) == rank)
    fact('team_cft', lambda: comm.team_cft().n_ranks >= 0, may_refuse=True)
    fact('team_cft_multimem', lambda: comm.team_cft_multimem.n_ranks >= 0, may_refuse=True)
    fact('get_async_error', lambda: int(comm.get_async_error()) == 0)
    fact('get_last_error', lambda: isinstance(comm.get_last_error(), str))
    fact('get_error_string', lambda: len(nccl.get_error_string(5)) > 0)
    fact('get_mem_stat', lambda: comm.get_mem_stat(list(nccl.NcclCommMemStat)[0]) >= 0)
    comm.close_all_resources()
    comm.finalize()
    comm.destroy()


def run_all_in_one(say):
    """A process that drives both GPUs."""
    import numpy
    import nccl.core as nccl
    from cuda.core import Device
    comms = nccl.Communicator.init_all(N_RANKS)
    arrays, given, dest = [], [], []
    for r in range(N_RANKS):
        Device(r).set_current()
        arrays.append(arrays_of(r))
        given.append(arrays[r].give(of(numpy, r)))
        dest.append(arrays[r].give(numpy.zeros(N_RANKS * N, numpy.float32)))
        arrays[r].wait()
    with nccl.group():
        for r in range(N_RANKS):
            Device(r).set_current()
            comms[r].allreduce(given[r], dest[r], nccl.SUM, stream=arrays[r].stream_ptr)
    right = True
    for r in range(N_RANKS):
        arrays_of(r)  # its device is the current one
        Device(r).set_current()
        arrays[r].wait()
        right = right and numpy.array_equal(arrays[r].take(dest[r]), of(numpy, 0) + of(numpy, 1))
    say('init_all', right, 'wrong')
    for comm in comms:
        comm.destroy()


def run_rank(rank, ids, failed):
    def say(name, right, why):
        if not right:
            failed.value += 1
        if rank == 0 or not right:
            print(f'rank {rank}: {name}: {"right" if right else why}', flush=True)
    try:
        if rank < N_RANKS:
            run_cases(rank, ids, say)
        else:
            rank = 0
            run_all_in_one(say)
    except Exception:
        traceback.print_exc()
        failed.value += 1


def main():
    context = multiprocessing.get_context('spawn')
    ids, failed = context.Queue(), context.Value('i', 0)
    ranks = [context.Process(target=run_rank, args=(r, ids, failed)) for r in range(N_RANKS + 1)]
    for process in ranks[:N_RANKS]:
        process.start()
    for process in ranks:
        if process is ranks[N_RANKS]: # after the others
            process.start()
        process.join(60)
        if process.exitcode != 0:
            process.kill()
            failed.value += 1
    print('failed' if failed.value else 'all right')
    sys.exit(failed.value > 0)


if __name__ == '__main__':
    main()
