/* SPDX-License-Identifier: Apache-2.0
 * The first file of near_only.cu. On the CPU device the header precedes it, which tells the
 * compiler. */
#if !defined(GSHMEM_NEAR_ONLY)
#define GSHMEM_NEAR_ONLY 1
#endif
#include <gshmem_device.cuh>
#include <gshmemx.h>
#include "tests/multi/near_only.h"

static __global__ void near_kernel(sides s, int pe)
{
    gshmemx_long_put_block(s.in, s.out, near_only_nelems, pe);
    gshmemx_long_get_block(s.back, s.in, near_only_nelems, pe);
    gshmemx_long_put_signal_block(s.in, s.out, near_only_nelems, s.signal, 1, GSHMEM_SIGNAL_ADD,
                                  pe);
}

void near_only_launch(sides s, int pe, cudaStream_t stream)
{
    gshmem_launch(near_kernel, dim3(1), dim3(64), 0, stream, s, pe);
}
