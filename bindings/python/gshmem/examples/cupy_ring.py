# SPDX-License-Identifier: Apache-2.0
"""A kernel in a string that CuPy compiles: it writes a number into the array of the PE to the right. On GPUs.

    gshmemrun -n 2 python -m gshmem.examples.cupy_ring"""
import cupy
import numpy

import gshmem
import gshmem.device
from gshmem.examples import need_gpu

SOURCE = r'''
#include <gshmem_device.cuh>
extern "C" __global__ void greet(int *box, int value)
{
    gshmem_int_p(box, value, (gshmem_my_pe() + 1) % gshmem_n_pes());
}
'''


def main():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    box = cupy.asarray(gshmem.zeros(1, 'int32'))
    module = cupy.RawModule(code=SOURCE, options=tuple(gshmem.device.nvrtc_options()))
    greet = gshmem.device.prepare(module.get_function('greet'))
    greet((1,), (1,), (box, numpy.int32(100 + me)))
    gshmem.synchronize()
    gshmem.barrier()
    assert box.item() == 100 + (me - 1) % n
    print(f'PE {me} has {box.item()}')


if __name__ == '__main__':
    with gshmem.init():
        need_gpu()
        main()
