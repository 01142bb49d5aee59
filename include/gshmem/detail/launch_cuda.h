/* SPDX-License-Identifier: Apache-2.0
 * Not for users' programs. Part of launch.h for CUDA: collective launches of a kernel by its
 * address. Nothing here needs nvcc, so C++ files without kernels can launch those of others; they
 * are compiled with CUDA's headers and link its runtime. C++14. */
#ifndef GSHMEM_LAUNCH_CUDA_H
#define GSHMEM_LAUNCH_CUDA_H

#include <cuda_runtime.h>
#include "gshmemx.h"

namespace gshmem
{
namespace detail
{

/* Completes device set-up if there is a PE; a program may launch kernels before it becomes one. */
inline int setup_for_launch()
{
    return gshmemx_init_status() == GSHMEM_STATUS_NOT_INITIALIZED ? 0 : gshmemx_device_setup();
}

/* A kernel finds its PE by the multiprocessor on which it runs. */
inline bool is_on_own_part(cudaStream_t stream)
{
#if defined(GSHMEM_SHARED_DEVICE)
    return gshmemx_init_status() == GSHMEM_STATUS_NOT_INITIALIZED ||
           gshmemx_stream_check(stream) == 0;
#else
    (void)stream;
    return true;
#endif
}

/* The multiprocessors on which a launch may run; 0: all of the device's. */
inline int part_multiprocessors()
{
#if defined(GSHMEM_SHARED_DEVICE)
    return gshmemx_part_multiprocessors();
#else
    return 0;
#endif
}

/* After a launch that failed: says so if the kernel has too many registers for that block. */
inline void explain_registers(const char *call, const void *func, dim3 block)
{
    const unsigned long long n_threads = 1ull * block.x * block.y * block.z;
    int device = 0, n_registers = 0, most_threads = 0;
    cudaFuncAttributes of;
    if (cudaGetDevice(&device) != cudaSuccess || n_threads == 0 ||
        cudaFuncGetAttributes(&of, func) != cudaSuccess ||
        cudaDeviceGetAttribute(&n_registers, cudaDevAttrMaxRegistersPerBlock, device) !=
            cudaSuccess ||
        cudaDeviceGetAttribute(&most_threads, cudaDevAttrMaxThreadsPerBlock, device) !=
            cudaSuccess ||
        n_threads > (unsigned long long)most_threads) {
        return;
    }
    /* A warp gets whole units of 256. */
    const int n_warps = (int)((n_threads + 31) / 32), most = n_registers / n_warps / 256 * 8;
    if (of.numRegs > most) {
        gshmemx_launch_lacks_registers(call, of.numRegs, (int)n_threads, most);
    }
}

} // namespace detail
} // namespace gshmem

inline int gshmemx_collective_launch_query_gridsize(const void *func, dim3 block, void **args,
                                                    size_t smem, int *gridsize)
{
    int device, n_multiprocessors, n_blocks;
    (void)args;
    if (gridsize == nullptr || cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&n_multiprocessors, cudaDevAttrMultiProcessorCount, device) !=
            cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &n_blocks, func, (int)(block.x * block.y * block.z), smem) != cudaSuccess) {
        return GSHMEMX_ERROR_INVALID_VALUE;
    }
    const int n_own = gshmem::detail::part_multiprocessors();
    *gridsize = n_blocks * (n_own > 0 ? n_own : n_multiprocessors);
    return GSHMEMX_SUCCESS;
}

inline int gshmemx_collective_launch(const void *func, dim3 grid, dim3 block, void **args,
                                     size_t smem, cudaStream_t stream)
{
    int r = gshmem::detail::setup_for_launch();
    if (r != 0) {
        return r;
    }
    if (!gshmem::detail::is_on_own_part(stream)) {
        return GSHMEMX_ERROR_INVALID_VALUE;
    }
    gshmemx_launch_begin("gshmemx_collective_launch");
    const cudaError_t error = cudaLaunchCooperativeKernel(func, grid, block, args, smem, stream);
    gshmemx_launch_end();
    if (error == cudaSuccess) {
        return GSHMEMX_SUCCESS;
    }
    int most = 0;
    if (error == cudaErrorLaunchOutOfResources || error == cudaErrorCooperativeLaunchTooLarge ||
        error == cudaErrorInvalidConfiguration || error == cudaErrorInvalidValue) {
        gshmem::detail::explain_registers("gshmemx_collective_launch", func, block);
    }
    if (error == cudaErrorCooperativeLaunchTooLarge &&
        gshmemx_collective_launch_query_gridsize(func, block, args, smem, &most) == 0 && most > 0) {
        gshmemx_launch_refused(1ull * grid.x * grid.y * grid.z, most);
    }
    return error == cudaErrorInvalidValue || error == cudaErrorInvalidConfiguration ||
                   error == cudaErrorInvalidDeviceFunction
               ? GSHMEMX_ERROR_INVALID_VALUE
               : GSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
}

#endif
