# SPDX-License-Identifier: Apache-2.0
"""A kernel in a string that PyTorch's load_inline compiles: it writes a number into the tensor of the PE to the right.
On GPUs, with PyTorch, nvcc and ninja.

    gshmemrun -n 2 python -m gshmem.examples.inline_ring"""
import os

import torch
from torch.utils.cpp_extension import load_inline

import gshmem
import gshmem.torch
from gshmem.examples import need_gpu

SOURCE = r'''
#include <gshmem_device.cuh>
#include <gshmem/launch.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

__global__ void greet(int *box, int value) { gshmem_int_p(box, value, (gshmem_my_pe() + 1) % gshmem_n_pes()); }

void to_the_right(torch::Tensor box, int64_t value)
{
    C10_CUDA_CHECK(gshmem_launch(greet, 1, 1, 0, at::cuda::getCurrentCUDAStream(), box.data_ptr<int>(), (int)value));
}
'''


def compiled():
    return load_inline(f'inline_ring_of_pe_{gshmem.my_pe()}',  # a folder of its own: PEs compile at the same time
                       'void to_the_right(torch::Tensor box, int64_t value);', SOURCE, functions=['to_the_right'],
                       extra_include_paths=[os.path.join(gshmem.get_include(), 'gshmem')])


def main():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    module = compiled()
    box = gshmem.torch.zeros(1, torch.int32)  # a call of gshmem: it prepares what has been loaded since the last one
    module.to_the_right(box, 100 + me)
    torch.cuda.synchronize()
    gshmem.barrier()
    assert box.item() == 100 + (me - 1) % n
    print(f'PE {me} has {box.item()}')


if __name__ == '__main__':
    with gshmem.init():
        need_gpu()
        main()
