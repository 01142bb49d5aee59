# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training: each PE has a share of the data, and the gradients are added up over all PEs in each step.

    gshmemrun -n 4 python -m gshmem.examples.training

With numpy, on the CPU device. All PEs end with the same weights, bit by bit; those of one PE with all data differ by
rounding."""
import numpy

import gshmem
from gshmem.examples import use_cpu_device

N_SAMPLES, N_FEATURES, N_STEPS, RATE = 240, 6, 20, 0.2


def data():
    random = numpy.random.default_rng(1)
    x = random.standard_normal((N_SAMPLES, N_FEATURES))
    return x, x @ numpy.arange(1.0, N_FEATURES + 1) + 0.5


def gradients(weights, x, y):
    """Of half the squared error, summed over the samples; the last weight is the bias."""
    error = x @ weights[:-1] + weights[-1] - y
    return numpy.append(error @ x, error.sum())


def main():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    x, y = data()
    mine = slice(me * N_SAMPLES // n, (me + 1) * N_SAMPLES // n)
    weights, gradient = gshmem.zeros(N_FEATURES + 1, 'float64'), gshmem.zeros(N_FEATURES + 1, 'float64')
    if me == 0:
        weights[:] = numpy.linspace(-1, 1, N_FEATURES + 1)
    gshmem.broadcast(weights, weights, 0)  # all begin with PE 0's weights
    alone = weights.copy()
    for _ in range(N_STEPS):
        gradient[:] = gradients(weights, x[mine], y[mine])
        gshmem.reduce(gradient, gradient, 'sum')
        weights -= RATE / N_SAMPLES * gradient
        alone -= RATE / N_SAMPLES * gradients(alone, x, y)
    every = gshmem.zeros((n, N_FEATURES + 1), 'float64')
    gshmem.fcollect(every, weights)
    assert (every == weights).all(), 'the PEs have different weights'
    assert numpy.allclose(weights, alone, rtol=0, atol=1e-12)
    loss = numpy.mean((x @ weights[:-1] + weights[-1] - y) ** 2)
    print(f'PE {me}: the loss is {loss:.3f} after {N_STEPS} steps')
    assert loss < 1


if __name__ == '__main__':
    use_cpu_device()
    with gshmem.init():
        main()
