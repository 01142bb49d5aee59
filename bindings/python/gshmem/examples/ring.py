# SPDX-License-Identifier: Apache-2.0
"""Each PE puts its number into the next one's array, with a signal; each waits for its own.

    gshmemrun -n 4 python -m gshmem.examples.ring"""
import numpy

import gshmem


def main():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    inbox = gshmem.zeros(4, 'int64')
    arrived = gshmem.zeros(1, 'uint64')
    gshmem.put_signal(inbox, numpy.full(4, me), arrived, 1, pe=(me + 1) % n)
    gshmem.signal_wait(arrived, '==', 1)
    print(f'PE {me} of {n} has got {inbox.tolist()}')
    assert inbox.tolist() == [(me - 1) % n] * 4


if __name__ == '__main__':
    with gshmem.init():
        main()
