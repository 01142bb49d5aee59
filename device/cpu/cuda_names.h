/* SPDX-License-Identifier: Apache-2.0
 * CUDA's names for source built with g++ or clang++ for the CPU device: qualifiers and indices
 * here, the rest in the headers it includes. May come before or after any standard header. */
#ifndef GSHMEM_CUDA_NAMES_H
#define GSHMEM_CUDA_NAMES_H

#if !defined(__CUDACC__)

#include <math.h>
#include <memory> /* libstdc++ spells an attribute __noinline__: read it before that is a macro */
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
#define __shared__      static thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n)    __attribute__((aligned(n)))
/* Nothing: the C++ library's headers, included later, say __attribute__((__noinline__)). */
#define __noinline__
#define __launch_bounds__(...)
#define __cluster_dims__(...)

/* Valid in kernels and what they call. */
#define threadIdx (gshmem_cpu_self->thread_idx)
#define blockIdx  (gshmem_cpu_self->block_idx)
#define blockDim  (dim3(gshmem_cpu_self->block_dim))
#define gridDim   (dim3(gshmem_cpu_self->grid_dim))
static constexpr int warpSize = 32;

#include "cuda_sync.h"
#include "cuda_atomic.h"
#include "cuda_math.h"
#include "cuda_host.h"
#include "cuda_memory.h"
#include "cuda_stream.h"

#endif
#endif
