/* SPDX-License-Identifier: Apache-2.0
 * CUDA's names: of the toolkit, or for the CPU device of gshmem's headers in its place. */
#ifndef MSCCLPP_GPU_HPP_
#define MSCCLPP_GPU_HPP_

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#if defined(__NVCC__) || !defined(GSHMEM_DEVICE_CODE)
#include <cuda.h>
#define MSCCLPP_USE_CUDA 1
#else
#define MSCCLPP_ON_CPU_DEVICE 1
typedef unsigned long long CUdeviceptr; /* there is no driver, and no cuda.h */
#endif

/* Multicast is not used, whatever the toolkit has. */
#define CUDA_NVLS_API_AVAILABLE 0

#endif
