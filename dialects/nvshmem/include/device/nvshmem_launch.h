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

typedef struct {
    cudaLaunchConfig_t cuda_config;
} nvshmemx_collective_launch_attr_t;

/* As nvshmemx_collective_launch, with CUDA's attributes; a cooperative launch unless they say
 * otherwise. */
inline int nvshmemx_collective_launch_attr(const nvshmemx_collective_launch_attr_t *attr,
                                           const void *func, void **args)
{
    constexpr unsigned most = 16;
    cudaLaunchAttribute all[most + 1];
    if (attr == nullptr || attr->cuda_config.numAttrs > most) {
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    cudaLaunchConfig_t config = attr->cuda_config;
    if (config.numAttrs == 0) {
        return gshmemx_collective_launch(func, config.gridDim, config.blockDim, args,
                                         config.dynamicSmemBytes, config.stream);
    }
    bool is_said = false;
    for (unsigned i = 0; i < config.numAttrs; i++) {
        all[i] = config.attrs[i];
        is_said = is_said || all[i].id == cudaLaunchAttributeCooperative;
    }
    if (!is_said) {
        all[config.numAttrs].id = cudaLaunchAttributeCooperative;
        all[config.numAttrs].val.cooperative = 1;
        config.numAttrs++;
    }
    config.attrs = all;
    const int error = gshmem::detail::setup_for_launch();
    if (error != 0) {
        return error;
    }
    if (!gshmem::detail::is_on_own_part(config.stream)) {
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    return cudaLaunchKernelExC(&config, func, args) == cudaSuccess
               ? NVSHMEMX_SUCCESS
               : NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
}
#elif defined(NVSHMEM_DEVICE_CODE)
/* These look at the kernel's parameters. */
#define nvshmemx_collective_launch(...) gshmemx_collective_launch(__VA_ARGS__)
#define nvshmemx_collective_launch_query_gridsize(...) \
    gshmemx_collective_launch_query_gridsize(__VA_ARGS__)

typedef struct {
    cudaLaunchConfig_t cuda_config;
} nvshmemx_collective_launch_attr_t;

/* The launch's attributes matter on GPUs alone. */
#define nvshmemx_collective_launch_attr(attr, func, args)                                      \
    gshmemx_collective_launch(func, (attr)->cuda_config.gridDim, (attr)->cuda_config.blockDim, \
                              args, (attr)->cuda_config.dynamicSmemBytes,                      \
                              (attr)->cuda_config.stream)
#endif

#endif
