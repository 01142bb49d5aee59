#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What many communicators, each of a unique id of its own, take on two GPUs: memory, and time of a large all-reduce.

    many_ids.py LIBRARY... [--ids 100] [--sizes 64M,256M]

LIBRARY is a libnccl.so.2. Two processes make that many communicators of two ranks, one after the other. Prints the
seconds that took, the GPU memory that is gone afterwards, and microseconds of an all-reduce in place on the first,
the middle and the last one: the least of eight batches."""
import argparse, ctypes, multiprocessing, time

FLOAT, SUM = 7, 0


class UniqueId(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_byte * 128)]


def call(function, *arguments):
    result = function(*arguments)
    if result != 0:
        raise SystemExit(f'{function.__name__}: error {result}')


def rank_main(library, rank, ids, sizes, peer, results):
    import torch
    torch.cuda.set_device(rank)
    x = torch.ones(max(sizes) // 4, device='cuda')
    nccl = ctypes.CDLL(library)
    nccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, UniqueId, ctypes.c_int]
    nccl.ncclAllReduce.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                                   ctypes.c_void_p, ctypes.c_void_p]
    torch.cuda.synchronize()
    before, begin = torch.cuda.mem_get_info()[0], time.time()
    comms = []
    for _ in range(ids):
        unique = UniqueId()
        if rank == 0:
            call(nccl.ncclGetUniqueId, ctypes.byref(unique))
            peer.send(bytes(unique))
        else:
            unique = UniqueId.from_buffer_copy(peer.recv())
        comms.append(ctypes.c_void_p())
        call(nccl.ncclCommInitRank, ctypes.byref(comms[-1]), 2, unique, rank)
    took, gone = time.time() - begin, before - torch.cuda.mem_get_info()[0]
    rows = [f'{ids} communicators: {took:.2f} s, {gone / 2**20:.0f} MiB']
    stream = torch.cuda.current_stream().cuda_stream
    for size in sizes:
        times = []
        for which in (0, ids // 2, ids - 1):
            batches = []
            for i in range(9):
                torch.cuda.synchronize()
                start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                start.record()
                for _ in range(5):
                    call(nccl.ncclAllReduce, x.data_ptr(), x.data_ptr(), size // 4, FLOAT, SUM, comms[which], stream)
                end.record()
                torch.cuda.synchronize()
                batches += [start.elapsed_time(end) * 200] if i > 0 else []
            times.append(f'{min(batches):.1f}')
        rows.append(f'all_reduce of {size >> 20} MiB on the first, middle and last, us: ' + ', '.join(times))
    if rank == 0:
        results.put(rows)


def parse_size(text):
    return int(text.rstrip('KMG')) << {'K': 10, 'M': 20, 'G': 30}.get(text[-1], 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('libraries', nargs='+')
    parser.add_argument('--ids', type=int, default=100)
    parser.add_argument('--sizes', default='64M,256M')
    a = parser.parse_args()
    context = multiprocessing.get_context('spawn')
    for library in a.libraries:
        ends, results = context.Pipe(), context.Queue()
        ranks = [context.Process(target=rank_main, args=(library, r, a.ids, [parse_size(s) for s in a.sizes.split(',')],
                                                         ends[r], results)) for r in range(2)]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join()
        print(library, *(results.get() if ranks[0].exitcode == 0 else ['failed']), sep='\n  ')


if __name__ == '__main__':
    main()
