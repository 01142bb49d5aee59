/* SPDX-License-Identifier: Apache-2.0
 * CUDA's names for source built with g++ or clang++ for the CPU device: qualifiers and indices
 * here, the rest in the headers it includes. May come before or after any standard header. */
#ifndef GSHMEM_CUDA_NAMES_H
#define GSHMEM_CUDA_NAMES_H

#if !defined(__CUDACC__)

#include <math.h>
#include <memory> /* libstdc++ spells an attribute __noinline__: include it before that is a macro */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "cpu.h"
#include "cuda_vector.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
/* A block is an OS thread. Dynamic shared memory: GSHMEM_DYNAMIC_SHARED in gshmem/launch.h. */
#define __shared__ static thread_local
#if defined(__OPTIMIZE__) || !defined(GSHMEM_CPU_PLAIN_INLINE)
#define __forceinline__ inline __attribute__((always_inline))
#else /* our sanitizer builds: a copy for each call would take four times as long to compile */
#define __forceinline__ inline
#endif
#define __align__(n) __attribute__((aligned(n)))
/* Empty: the C++ library's headers, included later, say __attribute__((__noinline__)). */
#define __noinline__
#define __launch_bounds__(...)
#define __cluster_dims__(...)

/* Valid in kernels and what they call; elsewhere a program may use the names for its own variables.
 * They are the executor's variables (cpu.h) with CUDA's types. const: a CUDA thread stays on its OS
 * thread and never sees them change, so the compiler may keep their values across any call. */
#define GSHMEM_CPU_BUILT_IN(TYPE, NAME, SYMBOL)      \
    extern __thread const TYPE NAME __asm__(#SYMBOL) \
        __attribute__((tls_model("initial-exec"), visibility("default")));
GSHMEM_CPU_BUILT_IN(uint3, threadIdx, gshmem_cpu_thread_idx)
GSHMEM_CPU_BUILT_IN(uint3, blockIdx, gshmem_cpu_block_idx)
GSHMEM_CPU_BUILT_IN(dim3, blockDim, gshmem_cpu_block_dim)
GSHMEM_CPU_BUILT_IN(dim3, gridDim, gshmem_cpu_grid_dim)
#undef GSHMEM_CPU_BUILT_IN
static_assert(sizeof(dim3) == sizeof(uint3), "the executor writes them as three numbers");
static constexpr int warpSize = 32;

#include "cuda_sync.h"
#include "cuda_atomic.h"
#include "cuda_math.h"
#include "cuda_host.h"
#include "cuda_memory.h"
#include "cuda_stream.h"
#include "cuda_launch.h"

#endif
#endif
