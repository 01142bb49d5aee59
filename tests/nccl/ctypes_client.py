#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client of the kind that serving frameworks are: it knows the library only by a path, loads NCCL's calls by name
through ctypes, carries the unique id itself, and takes memory for windows from an allocator over ncclMemAlloc. Two
processes; each result is compared with what the host computes.

    VLLM_NCCL_SO_PATH=LIBRARY ctypes_client.py LIBGSHMEM      LIBGSHMEM: for the wait for a stream, without CUDA"""
import ctypes, os, sys
from ctypes import POINTER, byref, c_char, c_char_p, c_float, c_int, c_size_t, c_void_p

N_RANKS, N = 2, 1000
FLOAT, SUM, MAX, COLL_SYMMETRIC = 7, 0, 2, 1


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
    'ncclMemAlloc': [POINTER(c_void_p), c_size_t],
    'ncclMemFree': [c_void_p],
    'ncclCommWindowRegister': [c_void_p, c_void_p, c_size_t, POINTER(c_void_p), c_int],
    'ncclCommWindowDeregister': [c_void_p, c_void_p],
    'ncclCommDestroy': [c_void_p],
}


class Library:
    def __init__(self):
        self.library = ctypes.CDLL(os.environ['VLLM_NCCL_SO_PATH'])
        self.functions = {}
        for name, arguments in CALLS.items():
            f = getattr(self.library, name)
            f.argtypes, f.restype = arguments, c_char_p if name == 'ncclGetErrorString' else c_int
            self.functions[name] = f

    def __getattr__(self, name):
        def call(*arguments):
            result = self.functions['nccl' + name](*arguments)
            if result != 0:
                sys.exit(f'nccl{name}: {self.functions["ncclGetErrorString"](result).decode()}')
        return call


class Pool:
    """An allocator as a framework plugs it in: all memory of a pool is registered when it is taken."""
    def __init__(self, nccl, comm):
        self.nccl, self.comm, self.taken = nccl, comm, {}

    def alloc(self, n):
        memory, window = c_void_p(), c_void_p()
        self.nccl.MemAlloc(byref(memory), n * 4)
        self.nccl.CommWindowRegister(self.comm, memory, n * 4, byref(window), COLL_SYMMETRIC)
        if not window.value:
            sys.exit('a window is NULL')
        self.taken[memory.value] = window
        return (c_float * n).from_address(memory.value)

    def free(self, array):
        memory = ctypes.addressof(array)
        self.nccl.CommWindowDeregister(self.comm, self.taken.pop(memory))
        self.nccl.MemFree(memory)


def expect(what, got, wanted):
    wrong = [i for i in range(len(wanted)) if got[i] != wanted[i]]
    if wrong:
        sys.exit(f'{what}: element {wrong[0]} is {got[wrong[0]]}, not {wanted[wrong[0]]}')


def value(rank, i):
    return float((rank + 1) * 1000 + i)


def collectives(nccl, comm, rank, source, dest, finish):
    """source and dest: of N_RANKS * N elements."""
    other = 1 - rank
    for i in range(N_RANKS * N):
        source[i] = value(rank, i)
        dest[i] = -1.0
    both = [value(0, i) + value(1, i) for i in range(N_RANKS * N)]
    nccl.AllReduce(source, dest, N, FLOAT, SUM, comm, None)
    finish()
    expect('AllReduce', dest, both[:N])
    nccl.Reduce(source, dest, N, FLOAT, MAX, 1, comm, None)
    finish()
    if rank == 1:
        expect('Reduce', dest, [value(1, i) for i in range(N)])
    nccl.AllGather(source, dest, N, FLOAT, comm, None)
    finish()
    expect('AllGather', dest, [value(r, i) for r in range(N_RANKS) for i in range(N)])
    nccl.ReduceScatter(source, dest, N, FLOAT, SUM, comm, None)
    finish()
    expect('ReduceScatter', dest, both[rank * N:(rank + 1) * N])
    nccl.Broadcast(source, dest, N, FLOAT, 0, comm, None)
    finish()
    expect('Broadcast', dest, [value(0, i) for i in range(N)])
    nccl.GroupStart()
    nccl.Send(source, N, FLOAT, other, comm, None)
    nccl.Recv(dest, N, FLOAT, other, comm, None)
    nccl.GroupEnd()
    finish()
    expect('Send, Recv', dest, [value(other, i) for i in range(N)])


def run_rank(rank, gshmem, receive, send):
    nccl = Library()
    synchronize = ctypes.CDLL(gshmem).gshmemx_cpu_stream_synchronize
    synchronize.argtypes, synchronize.restype = [c_void_p], None
    version, unique_id, comm = c_int(), UniqueId(), c_void_p()
    nccl.GetVersion(byref(version))
    if version.value < 22703:
        sys.exit(f'version {version.value} has no windows')
    if rank == 0:
        nccl.GetUniqueId(byref(unique_id))
        os.write(send, bytes(unique_id))
    os.close(send)
    if rank != 0:
        data = os.read(receive, 128)
        if len(data) != 128:
            sys.exit('rank 0 has ended')
        ctypes.memmove(byref(unique_id), data, 128)
    nccl.CommInitRank(byref(comm), N_RANKS, unique_id, rank)
    finish = lambda: synchronize(None)
    array = c_float * (N_RANKS * N)
    collectives(nccl, comm, rank, array(), array(), finish)
    pool = Pool(nccl, comm)
    source, dest = pool.alloc(N_RANKS * N), pool.alloc(N_RANKS * N)
    collectives(nccl, comm, rank, source, dest, finish)
    collectives(nccl, comm, rank, array(), dest, finish)
    pool.free(source)
    pool.free(dest)
    nccl.CommDestroy(comm)


def main():
    receive, send = os.pipe()
    children = []
    for rank in range(N_RANKS):
        child = os.fork()
        if child == 0:
            run_rank(rank, sys.argv[1], receive, send)
            sys.exit(0)
        children.append(child)
    os.close(send)
    failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    sys.exit(failed > 0)


main()
