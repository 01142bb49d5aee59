#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What serving frameworks do beside PyTorch's process group: a communicator of their own by ctypes on a library that
they know by a path, on PyTorch's tensors, on its streams, in its graphs, and on a memory pool whose allocator is
ncclMemAlloc and whose segments become symmetric windows. Two GPUs, a process each; results are compared.

    VLLM_NCCL_SO_PATH=LIBRARY ctypes_torch.py     needs PyTorch, and cc for the allocator"""
import ctypes, multiprocessing, os, subprocess, sys, tempfile, traceback
from ctypes import POINTER, byref, c_char, c_char_p, c_int, c_size_t, c_void_p

N_RANKS = 2
SUM, COLL_SYMMETRIC = 0, 1
ALLOCATOR = r'''
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
static void *find(const char *name)
{
    void *lib = dlopen(getenv("VLLM_NCCL_SO_PATH"), RTLD_NOW);
    return lib ? dlsym(lib, name) : NULL;
}
void *nccl_alloc_plug(size_t size, int device, void *stream)
{
    void *memory = NULL;
    int (*alloc)(void **, size_t) = (int (*)(void **, size_t))find("ncclMemAlloc");
    (void)device, (void)stream;
    return alloc && alloc(&memory, size) == 0 ? memory : NULL;
}
void nccl_free_plug(void *memory, size_t size, int device, void *stream)
{
    int (*release)(void *) = (int (*)(void *))find("ncclMemFree");
    (void)size, (void)device, (void)stream;
    if (release)
        release(memory);
}
'''


class UniqueId(ctypes.Structure):
    _fields_ = [('internal', c_char * 128)]


CALLS = {
    'ncclGetErrorString': [c_int],
    'ncclGetVersion': [POINTER(c_int)],
    'ncclGetUniqueId': [POINTER(UniqueId)],
    'ncclCommInitRank': [POINTER(c_void_p), c_int, UniqueId, c_int],
    'ncclAllReduce': [c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p],
    'ncclReduce': [c_void_p, c_void_p, c_size_t, c_int, c_int, c_int, c_void_p, c_void_p],
    'ncclAllGather': [c_void_p, c_void_p, c_size_t, c_int, c_void_p, c_void_p],
    'ncclReduceScatter': [c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p],
    'ncclSend': [c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p],
    'ncclRecv': [c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p],
    'ncclBroadcast': [c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p],
    'ncclGroupStart': [],
    'ncclGroupEnd': [],
    'ncclCommWindowRegister': [c_void_p, c_void_p, c_size_t, POINTER(c_void_p), c_int],
    'ncclCommWindowDeregister': [c_void_p, c_void_p],
    'ncclCommDestroy': [c_void_p],
}


class Library:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        for name, arguments in CALLS.items():
            f = getattr(self.library, name)
            f.argtypes, f.restype = arguments, c_char_p if name == 'ncclGetErrorString' else c_int

    def __getattr__(self, name):
        f, text = getattr(self.library, 'nccl' + name), self.library.ncclGetErrorString

        def call(*arguments):
            result = f(*arguments)
            if result != 0:
                raise RuntimeError(f'nccl{name}: {text(result).decode()}')
        return call


def run_cases(rank, id_of, allocator):
    import torch
    device = torch.device('cuda', rank)
    torch.cuda.set_device(device)
    nccl = Library(os.environ['VLLM_NCCL_SO_PATH'])
    kinds = {torch.float32: 7, torch.float16: 6, torch.bfloat16: 9, torch.int32: 2, torch.int64: 4, torch.uint8: 1}
    version, unique_id, comm = c_int(), UniqueId(), c_void_p()
    nccl.GetVersion(byref(version))
    if rank == 0:
        print(f'{os.environ["VLLM_NCCL_SO_PATH"]}: {version.value}', flush=True)
        nccl.GetUniqueId(byref(unique_id))
        id_of.put(bytes(unique_id))
    else:
        ctypes.memmove(byref(unique_id), id_of.get(), 128)
    nccl.CommInitRank(byref(comm), N_RANKS, unique_id, rank)
    other = 1 - rank

    def data(n, of_rank, dtype):
        return ((torch.arange(n, device=device) * 7 + of_rank * 3) % 5 + 1).to(dtype)

    def stream():
        return torch.cuda.current_stream().cuda_stream

    def all_reduce(x, y):
        nccl.AllReduce(x.data_ptr(), y.data_ptr(), x.numel(), kinds[x.dtype], SUM, comm, stream())

    def expect(what, got, wanted):
        torch.cuda.synchronize()
        if not torch.equal(got, wanted):
            raise AssertionError(f'{what}: wrong')

    def collectives(empty, what):
        for dtype, kind in kinds.items():
            for n in (8, 1000, 1 << 20):
                x, y, part = empty(2 * n, dtype), empty(2 * n, dtype), empty(n, dtype)
                x.copy_(data(2 * n, rank, dtype))
                both = data(2 * n, 0, dtype) + data(2 * n, 1, dtype)
                all_reduce(x, y)
                expect(f'{what}: all_reduce', y, both)
                nccl.AllGather(x.data_ptr(), y.data_ptr(), n, kind, comm, stream())
                expect(f'{what}: all_gather', y, torch.cat([data(2 * n, r, dtype)[:n] for r in range(2)]))
                nccl.ReduceScatter(x.data_ptr(), part.data_ptr(), n, kind, SUM, comm, stream())
                expect(f'{what}: reduce_scatter', part, both[rank * n:(rank + 1) * n])
                nccl.Broadcast(x.data_ptr(), y.data_ptr(), 2 * n, kind, 1, comm, stream())
                expect(f'{what}: broadcast', y, data(2 * n, 1, dtype))
                nccl.Reduce(x.data_ptr(), y.data_ptr(), 2 * n, kind, SUM, 0, comm, stream())
                if rank == 0:
                    expect(f'{what}: reduce', y, both)
                nccl.GroupStart()
                nccl.Send(x.data_ptr(), 2 * n, kind, other, comm, stream())
                nccl.Recv(y.data_ptr(), 2 * n, kind, other, comm, stream())
                nccl.GroupEnd()
                expect(f'{what}: send, recv', y, data(2 * n, other, dtype))
        if rank == 0:
            print(f'{what}: right', flush=True)

    def ordinary(n, dtype):
        return torch.empty(n, device=device, dtype=dtype)

    collectives(ordinary, 'tensors')
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        collectives(ordinary, 'tensors on a stream')

    def in_graph(x, y, what):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(side):
            all_reduce(x, y)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=side):
            for _ in range(3):
                all_reduce(x, y)
        for i in range(1, 4):
            x.copy_(data(x.numel(), rank + i, x.dtype))
            torch.cuda.synchronize()
            graph.replay()
            expect(what, y, data(x.numel(), i, x.dtype) + data(x.numel(), 1 + i, x.dtype))
        if rank == 0:
            print(f'{what}: right', flush=True)

    in_graph(ordinary(4096, torch.bfloat16), ordinary(4096, torch.bfloat16), 'a graph')

    pool = torch.cuda.MemPool(torch.cuda.memory.CUDAPluggableAllocator(
        allocator, 'nccl_alloc_plug', 'nccl_free_plug').allocator())
    windows, made = {}, []

    def symmetric(n, dtype):
        with torch.cuda.use_mem_pool(pool):
            made.append(torch.empty(n, device=device, dtype=dtype))
        for segment in pool.snapshot():
            if segment['address'] not in windows:
                windows[segment['address']] = window = c_void_p()
                nccl.CommWindowRegister(comm, segment['address'], segment['total_size'], byref(window), COLL_SYMMETRIC)
        return made[-1]

    collectives(symmetric, 'a pool')
    in_graph(symmetric(4096, torch.bfloat16), symmetric(4096, torch.bfloat16), 'a graph on a pool')
    torch.cuda.synchronize()
    for window in windows.values():
        nccl.CommWindowDeregister(comm, window)
    nccl.CommDestroy(comm)


def run_rank(rank, id_of, allocator, failed):
    try:
        run_cases(rank, id_of, allocator)
    except Exception:
        traceback.print_exc()
        failed.value = 1
    sys.stdout.flush()
    os._exit(failed.value)  # the pool's memory goes with the process


def main():
    context = multiprocessing.get_context('spawn')
    id_of, failed = context.Queue(), context.Value('i', 0)
    with tempfile.TemporaryDirectory() as folder:
        allocator = os.path.join(folder, 'allocator.so')
        subprocess.run(['cc', '-shared', '-fPIC', '-x', 'c', '-', '-o', allocator], input=ALLOCATOR.encode(),
                       check=True)
        ranks = [context.Process(target=run_rank, args=(r, id_of, allocator, failed)) for r in range(N_RANKS)]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join(100)
            if process.exitcode != 0:
                process.kill()
                failed.value = 1
    sys.exit(failed.value)


if __name__ == '__main__':
    main()
