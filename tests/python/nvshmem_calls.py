# SPDX-License-Identifier: Apache-2.0
"""NVSHMEM's own Python bindings, unmodified, on gshmem's library: their host calls, by processes of a job on the CPU
device."""
import ctypes
import os
import time

import gshmem

gshmem.preload_nvshmem()
import nvshmem.bindings as nv  # noqa: E402: after the library
from gshmem._library import library  # noqa: E402


def unique_id(rank, path):
    uid = nv.uniqueid()
    size = uid._data.nbytes
    if rank == 0:
        nv.get_uniqueid(uid.ptr)
        with open(path + '.part', 'wb') as file:
            file.write(ctypes.string_at(uid.ptr, size))
        os.rename(path + '.part', path)
    while not os.path.exists(path):
        time.sleep(0.01)
    with open(path, 'rb') as file:
        ctypes.memmove(uid.ptr, file.read(), size)
    return uid


def synchronize():
    """What cudaDeviceSynchronize does on a GPU."""
    library.gshmemx_cpu_device_synchronize(library.gshmemx_cpu_device_current())


def words(address, n):
    return (ctypes.c_int64 * n).from_address(address)


def main(rank, n_ranks, path):
    uid, attr = unique_id(rank, path), nv.InitAttr()
    nv.set_attr_uniqueid_args(rank, n_ranks, uid.ptr, attr.ptr)
    nv.hostlib_init_attr(nv.Flags.INIT_WITH_UNIQUEID, attr.ptr)
    me, n = nv.my_pe(), nv.n_pes()
    assert (me, n) == (rank, n_ranks)
    right, left = (me + 1) % n, (me - 1) % n

    a = nv.calloc(8, 8)
    mine = (ctypes.c_int64 * 8)(*[me * 10 + i for i in range(8)])
    nv.putmem_on_stream(a, ctypes.addressof(mine), 64, right, 0)
    nv.barrier_all_on_stream(0)
    synchronize()
    assert list(words(a, 8)) == [left * 10 + i for i in range(8)]
    got = (ctypes.c_int64 * 8)()
    nv.getmem_on_stream(ctypes.addressof(got), a, 64, right, 0)
    nv.quiet_on_stream(0)
    synchronize()
    nv.barrier_all()
    assert list(got) == list(mine)

    signal = nv.calloc(1, 8)
    nv.putmem_signal_on_stream(a, ctypes.addressof(mine), 64, signal, 7, 9, right, 0)  # 9: set
    nv.signal_wait_until_on_stream(signal, 0, 7, 0)  # 0: equal
    nv.quiet_on_stream(0)
    synchronize()
    nv.barrier_all()
    assert nv.signal_fetch(signal) == 7

    x, y = nv.malloc(64), nv.malloc(64)
    for i in range(8):
        words(x, 8)[i] = me + i
    nv.barrier_all()
    nv.int64_sum_reduce_on_stream(0, y, x, 8, 0)
    nv.barrier_all_on_stream(0)
    synchronize()
    assert list(words(y, 8)) == [n * (n - 1) // 2 + n * i for i in range(8)]

    assert nv.ptr(a, me) == a and nv.team_n_pes(0) == n and nv.team_my_pe(0) == me
    for address in (y, x, signal, a):
        nv.free(address)
    nv.hostlib_finalize()
    print('right')


if __name__ == '__main__':
    main(int(os.environ['RANK']), 2, os.environ['UID_FILE'])
