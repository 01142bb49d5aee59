/* SPDX-License-Identifier: Apache-2.0
 * Not for users' programs. Defines the types that gshmem/types.h names gshmem_half_t and
 * gshmem_bfloat16_t, where these are CUDA's own or the CPU device's. */
#ifndef GSHMEM_HALF_TYPES_H
#define GSHMEM_HALF_TYPES_H

#if defined(GSHMEM_DEVICE_CODE) && !defined(__CUDACC__)
#include "gshmem/detail/half.h"
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#endif
