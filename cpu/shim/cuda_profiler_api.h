/* SPDX-License-Identifier: Apache-2.0
 * <cuda_profiler_api.h> for source built for the CPU device, which has no profiler. */
#ifndef GSHMEM_CUDA_PROFILER_API_H
#define GSHMEM_CUDA_PROFILER_API_H

#ifndef GSHMEM_OWN_WARNINGS
#pragma GCC system_header
#endif
#include "../cuda_names.h"

inline cudaError_t cudaProfilerStart()
{
    return cudaSuccess;
}
inline cudaError_t cudaProfilerStop()
{
    return cudaSuccess;
}

#endif
