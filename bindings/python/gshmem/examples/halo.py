# SPDX-License-Identifier: Apache-2.0
"""Heat along a rod: each PE has a part, and puts its ends into the halo cells of its neighbours at each step.

    gshmemrun -n 4 python -m gshmem.examples.halo

Compares the result with the same steps on the whole rod."""
import numpy

import gshmem
from gshmem.examples import use_cpu_device

WIDTH, STEPS = 100, 200


def step(u):
    u[1:-1] += 0.4 * (u[:-2] - 2 * u[1:-1] + u[2:])


def main():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    whole = numpy.zeros(n * WIDTH + 2)
    whole[1] = 100
    u = gshmem.zeros(WIDTH + 2, 'float64')
    arrived = gshmem.zeros(2, 'uint64')  # how many steps' halos have come from the left and from the right
    u[:] = whole[me * WIDTH:(me + 1) * WIDTH + 2]
    gshmem.barrier()
    for i in range(1, STEPS + 1):
        if me > 0:
            gshmem.put_signal(u[-1:], u[1:2].copy(), arrived[1:], i, me - 1)
        if me < n - 1:
            gshmem.put_signal(u[:1], u[-2:-1].copy(), arrived[:1], i, me + 1)
        if me > 0:
            gshmem.signal_wait(arrived[:1], '>=', i)
        if me < n - 1:
            gshmem.signal_wait(arrived[1:], '>=', i)
        step(u)
        gshmem.barrier()  # nobody's halo is overwritten before it was used
        step(whole)
    error = abs(u[1:-1] - whole[me * WIDTH + 1:(me + 1) * WIDTH + 1]).max()
    print(f'PE {me}: largest difference from the whole rod {error:g}')
    assert error == 0


if __name__ == '__main__':
    use_cpu_device()
    with gshmem.init():
        main()
