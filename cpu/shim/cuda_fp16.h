/* SPDX-License-Identifier: Apache-2.0
 * <cuda_fp16.h> for source built for the CPU device: half and pairs of halves. */
#ifndef GSHMEM_CUDA_FP16_H
#define GSHMEM_CUDA_FP16_H

#ifndef GSHMEM_OWN_WARNINGS
#pragma GCC system_header
#endif
#include "../cuda_half.h"

GSHMEM_HALF_PAIR(__half, __half2)
GSHMEM_HALF_CONVERT(__half, __half2, half, half2)
GSHMEM_HALF_COMPUTE(__half, __half2)

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

#endif
