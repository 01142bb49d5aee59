/* SPDX-License-Identifier: Apache-2.0
 * Launches of kernels that synchronise across PEs: parameters as in gshmem/launch.h. Also in C++
 * files without kernels, if CUDA's headers are there: for kernels of other files. nvshmem.h
 * includes it; programs include that, or nvshmemx_collective_launch_apis.h. */
#ifndef GSHMEM_NVSHMEM_LAUNCH_H
#define GSHMEM_NVSHMEM_LAUNCH_H

#if defined(__cplusplus) && defined(CUDART_VERSION) && \
    (defined(__CUDACC__) || !defined(GSHMEM_DEVICE_CODE))
#include "gshmem/detail/launch_cuda.h"

inline int nvshmemx_collective_launch(const void *func, dim3 gridDims, dim3 blockDims, void **args,
                                      size_t sharedMem, cudaStream_t stream)
{
    return gshmemx_collective_launch(func, gridDims, blockDims, args, sharedMem, stream);
}

inline int nvshmemx_collective_launch_query_gridsize(const void *func, dim3 blockDims, void **args,
                                                     size_t sharedMem, int *gridsize)
{
    return gshmemx_collective_launch_query_gridsize(func, blockDims, args, sharedMem, gridsize);
}
#elif defined(NVSHMEM_DEVICE_CODE)
/* These look at the kernel's parameters. */
#define nvshmemx_collective_launch(...) gshmemx_collective_launch(__VA_ARGS__)
#define nvshmemx_collective_launch_query_gridsize(...) \
    gshmemx_collective_launch_query_gridsize(__VA_ARGS__)
#endif

#endif
