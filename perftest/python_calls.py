#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs beside the same call in a loop of C, in this process, in us.

    gshmemrun -n 2 python3 perftest/python_calls.py

The fastest of five runs of 200 calls; the stream is empty before each. Needs the wheel and a C compiler."""
import ctypes
import os
import subprocess
import tempfile
import time

import numpy

import gshmem

N, RUNS = 200, 5
SOURCE = r'''
#include <gshmem.h>
#include <gshmemx.h>
void put(long n, void *d, void *s, int pe, gshmemx_stream_t t)
{ while (n--) gshmemx_putmem_on_stream(d, s, 1024, pe, t); }
void put_signal(long n, void *d, void *s, uint64_t *w, int pe, gshmemx_stream_t t)
{ while (n--) gshmemx_putmem_signal_on_stream(d, s, 1024, w, 1, GSHMEM_SIGNAL_ADD, pe, t); }
void barrier(long n, gshmemx_stream_t t) { while (n--) gshmemx_barrier_on_stream(GSHMEM_TEAM_WORLD, t); }
void reduce(long n, void *d, void *s, gshmemx_stream_t t)
{ while (n--) gshmemx_float_sum_reduce_on_stream(GSHMEM_TEAM_WORLD, d, s, 256, t); }
void put_host(long n, void *d, void *s, int pe) { while (n--) gshmem_putmem(d, s, 1024, pe); }
'''


def loops():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'loops.so')
        subprocess.run(['cc', '-O2', '-shared', '-fPIC', f'-I{gshmem.get_include()}/gshmem', '-x', 'c', '-', '-o',
                        path], input=SOURCE, text=True, check=True)
        return ctypes.CDLL(path)


def best(run, settle):
    times = []
    for _ in range(RUNS + 1):
        settle()
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    settle()
    return 1e6 * min(times[1:]) / N


def main():
    c, me = loops(), gshmem.my_pe()
    pe = (me + 1) % gshmem.n_pes()
    dest, source, word = gshmem.zeros(256), gshmem.zeros(256), gshmem.zeros(1, 'uint64')
    stream = gshmem._native.stream_of('current', None)
    d, s, w = (ctypes.c_void_p(gshmem._native.address_of('', '', a)) for a in (dest, source, word))
    n, t = ctypes.c_long(N), ctypes.c_void_p(stream)
    rows = {
        'put_on_stream': (lambda: gshmem.put_on_stream(dest, source, pe), lambda: c.put(n, d, s, pe, t)),
        'put_signal_on_stream': (lambda: gshmem.put_signal_on_stream(dest, source, word, 1, pe, 'add'),
                                 lambda: c.put_signal(n, d, s, w, pe, t)),
        'barrier_on_stream': (lambda: gshmem.barrier_on_stream(), lambda: c.barrier(n, t)),
        'reduce_on_stream': (lambda: gshmem.reduce_on_stream(dest, source), lambda: c.reduce(n, d, s, t)),
        'put': (lambda: gshmem.put(dest, source, pe), lambda: c.put_host(n, d, s, pe)),
    }

    def settle():
        gshmem.synchronize()
        gshmem.barrier()

    for name, (call, loop) in rows.items():
        def calls(call=call):
            for _ in range(N):
                call()
        python, in_c = best(calls, settle), best(loop, settle)
        if me == 0:
            print(f'{name:30} C {in_c:6.2f}, Python {python:6.2f}, beyond C {python - in_c:5.2f}', flush=True)


if __name__ == '__main__':
    with gshmem.init():
        main()
