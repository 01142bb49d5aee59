/* SPDX-License-Identifier: Apache-2.0
 * What the other headers ask of the compiler. Device code is compiled by nvcc, or by a C++ compiler
 * for the CPU device (pkg-config gshmem-cpu); in other files handles are plain data without
 * methods. */
#ifndef MSCCLPP_DEVICE_HPP_
#define MSCCLPP_DEVICE_HPP_

#if !defined(GSHMEM_OWN_WARNINGS)
#pragma GCC system_header /* programs that are strict about warnings get none from here */
#endif

#if defined(__CUDACC__) || defined(GSHMEM_DEVICE_CODE)

#if !defined(GSHMEM_ARENA_BYTES)
#define GSHMEM_ARENA_BYTES 0 /* the program may need all of the 48 KiB itself */
#endif
#include <gshmem_device.cuh>

/* The CPU device counts as CUDA: it has CUDA's names. */
#define MSCCLPP_DEVICE_COMPILE
#define MSCCLPP_DEVICE_CUDA
#define MSCCLPP_INLINE             __forceinline__
#define MSCCLPP_DEVICE_INLINE      __forceinline__ __device__
#define MSCCLPP_HOST_DEVICE_INLINE __forceinline__ __host__ __device__
#if defined(__CUDACC__)
#define LAUNCH_BOUNDS __launch_bounds__(1024, 1)
#else
#define LAUNCH_BOUNDS
#endif

#else

#define MSCCLPP_HOST_COMPILE
#define MSCCLPP_INLINE             inline
#define MSCCLPP_HOST_DEVICE_INLINE inline
#define LAUNCH_BOUNDS

#endif

#endif
