#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JAX's collectives under shard_map on two GPUs of one process, and a data-parallel step, compared with numpy.

    jax_shard_map.py [--times | --beside LIBRARY]

--times: prints microseconds of a call, the least of eight batches of 20, instead. --beside: the times with LIBRARY, a
libnccl.so.2, which is preloaded, beside those with JAX's own NCCL, in turn, twice; status 1 if a ratio is over 1.05."""
import os
import subprocess
import sys
import time


def run_times(library):
    """The row of each call and size; it says which library answered."""
    env = dict(os.environ, **({'LD_PRELOAD': library} if library else {}))
    done = subprocess.run([sys.executable, os.path.abspath(__file__), '--times'], env=env, stdout=subprocess.PIPE,
                          text=True)
    if done.returncode != 0:
        sys.exit(f'with {library or "the NCCL of JAX"}: status {done.returncode}')
    rows = [line.split(',') for line in done.stdout.splitlines() if line.count(',') == 2]
    return {(name, int(size)): float(us) for name, size, us in rows}


def compare(library):
    best = {'': {}, library: {}}
    for _ in range(2):
        for which, least in best.items():
            for row, us in run_times(which).items():
                least[row] = min(us, least.get(row, us))
    worst = 0.0
    print('call, bytes of each GPU: us with JAX\'s own NCCL, with the library, ratio')
    for row, us in best[library].items():
        ratio = us / best[''][row]
        worst = max(worst, ratio)
        print(f'{row[0]:14} {row[1]:10} {best[""][row]:10.1f} {us:10.1f} {ratio:6.2f}')
    print(f'the highest ratio is {worst:.2f}')
    sys.exit(worst > 1.05)


if '--beside' in sys.argv:
    compare(os.path.abspath(sys.argv[sys.argv.index('--beside') + 1]))

import jax
import jax.numpy as jnp
import numpy
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

N = 2
failed = 0


def check(name, got, wanted, exact=True):
    global failed
    got = numpy.asarray(got)
    right = got.shape == wanted.shape and (numpy.array_equal(got, wanted) if exact
                                           else numpy.allclose(got, wanted, rtol=1e-5))
    failed += not right
    print(f'{name}: {"right" if right else "wrong"}', flush=True)


def measure(over, mesh):
    for size in (1 << 10, 1 << 16, 1 << 20, 64 << 20):
        x = jnp.zeros((N * N, size // 4 // N), jnp.float32)  # each GPU has `size` bytes
        turn = [(i, (i + 1) % N) for i in range(N)]
        for name, f, out in (
                ('psum', lambda a: lax.psum(a, 'x'), PartitionSpec()),
                ('all_gather', lambda a: lax.all_gather(a, 'x', tiled=True), PartitionSpec()),
                ('psum_scatter', lambda a: lax.psum_scatter(a, 'x', tiled=True), PartitionSpec('x')),
                ('ppermute', lambda a: lax.ppermute(a, 'x', turn), PartitionSpec('x')),
                ('all_to_all', lambda a: lax.all_to_all(a, 'x', 0, 0, tiled=True), PartitionSpec('x'))):
            call = over(f, out)
            given = jax.device_put(x, NamedSharding(mesh, PartitionSpec('x')))
            call(given).block_until_ready()
            best = float('inf')
            for _ in range(8):
                begin = time.perf_counter()
                for _ in range(20):
                    got = call(given)
                got.block_until_ready()
                best = min(best, (time.perf_counter() - begin) / 20)
            print(f'{name},{size},{best * 1e6:.1f}', flush=True)


def main():
    if len(jax.devices()) < N:
        sys.exit(f'{N} GPUs are needed')
    mesh = Mesh(numpy.array(jax.devices()[:N]), 'x')
    rows = PartitionSpec('x')

    def over(f, out=rows):
        return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=rows, out_specs=out, check_vma=False))

    if '--times' in sys.argv:
        return measure(over, mesh)
    for dtype in (numpy.float32, numpy.int32, jnp.bfloat16):
        host = (numpy.arange(N * N * 300).reshape(N * N, 300) % 7).astype(dtype)
        halves, name = numpy.split(host, N), numpy.dtype(dtype).name
        both = halves[0] + halves[1]
        check(f'psum {name}', over(lambda a: lax.psum(a, 'x'), PartitionSpec())(host), both)
        check(f'pmax {name}', over(lambda a: lax.pmax(a, 'x'), PartitionSpec())(host), numpy.maximum(*halves))
        check(f'all_gather {name}', over(lambda a: lax.all_gather(a, 'x', tiled=True), PartitionSpec())(host), host)
        check(f'psum_scatter {name}', over(lambda a: lax.psum_scatter(a, 'x', tiled=True))(host), both)
        turn = [(i, (i + 1) % N) for i in range(N)]
        check(f'ppermute {name}', over(lambda a: lax.ppermute(a, 'x', turn))(host),
              numpy.concatenate([halves[1], halves[0]]))
        exchanged = numpy.concatenate([numpy.concatenate([h[r:r + 1] for h in halves]) for r in range(N)])
        check(f'all_to_all {name}', over(lambda a: lax.all_to_all(a, 'x', 0, 0, tiled=True))(host), exchanged)

    def gradient(weights, inputs, targets):
        return jax.grad(lambda w: jnp.mean((inputs @ w - targets) ** 2))(weights)

    jax.config.update('jax_default_matmul_precision', 'highest')  # not tf32
    key = numpy.random.default_rng(1)
    weights = key.normal(size=(16, 4)).astype(numpy.float32)
    inputs = key.normal(size=(N * 32, 16)).astype(numpy.float32)
    targets = key.normal(size=(N * 32, 4)).astype(numpy.float32)
    step = jax.jit(jax.shard_map(lambda w, a, b: w - 0.1 * lax.pmean(gradient(w, a, b), 'x'), mesh=mesh,
                                 in_specs=(PartitionSpec(), rows, rows), out_specs=PartitionSpec(),
                                 check_vma=False))
    wanted = weights - 0.1 * 2 * inputs.T @ (inputs @ weights - targets) / targets.size
    check('a data-parallel step', step(weights, inputs, targets), wanted, exact=False)
    sys.exit(failed > 0)


main()
