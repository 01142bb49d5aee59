/* SPDX-License-Identifier: Apache-2.0
 * Comes first where clang compiles the device library for GPUs: what nvcc has and clang, or clang
 * of this age with CUDA of this age, has not. The empty headers beside it are textures of CUDA
 * before 12, which clang's wrapper of CUDA's headers includes. */
#ifndef GSHMEM_CLANG_PROLOGUE_H
#define GSHMEM_CLANG_PROLOGUE_H

#include <cuda_runtime.h>
#include <memory> /* it has the attribute __noinline__: before the macro */
#include <string.h>
#include <type_traits>

#ifndef __noinline__
#define __noinline__ __attribute__((noinline))
#endif

/* clang calls functions of libdevice for these two; this is what they do. */
extern "C" __device__ inline int __nv_popc(int bits)
{
    return __builtin_popcount((unsigned)bits);
}

extern "C" __device__ inline int __nv_ffs(int bits)
{
    return __builtin_ffs(bits);
}

/* For sm_80 and later, as the device library uses it. */
static __device__ inline unsigned __reduce_min_sync(unsigned mask, unsigned value)
{
    unsigned least;
    asm volatile("redux.sync.min.u32 %0, %1, %2;" : "=r"(least) : "r"(value), "r"(mask));
    return least;
}

#endif
