/* SPDX-License-Identifier: Apache-2.0
 * <cuda_bf16.h> for source built for the CPU device: bfloat16 and pairs of them. */
#ifndef GSHMEM_CUDA_BF16_H
#define GSHMEM_CUDA_BF16_H

#ifndef GSHMEM_OWN_WARNINGS
#pragma GCC system_header
#endif
#include "../cuda_half.h"

GSHMEM_HALF_PAIR(__nv_bfloat16, __nv_bfloat162)
GSHMEM_HALF_CONVERT(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)
GSHMEM_HALF_COMPUTE(__nv_bfloat16, __nv_bfloat162)

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#endif
