# SPDX-License-Identifier: Apache-2.0
"""Four PEs as threads of one process, as in a notebook: no launcher.

    python -m gshmem.examples.threads"""
import gshmem
from gshmem.examples import use_cpu_device


def sum_of_ranks():
    x = gshmem.zeros(8, 'float32')
    x[:] = gshmem.my_pe()
    gshmem.reduce(x, x, 'sum')
    return x.tolist()


if __name__ == '__main__':
    use_cpu_device()
    results = gshmem.run_threads(4, sum_of_ranks)
    print(results[0])
    assert results == [[6.0] * 8] * 4
