/* SPDX-License-Identifier: Apache-2.0
 * Launches kernels of either device from one source (C++17). Under nvcc these are CUDA's launches,
 * made in the caller's translation unit because libgshmem does not link the CUDA runtime; for the
 * CPU device they go to its executor. Arguments are copied at the call. Since 0.1. */
#ifndef GSHMEM_LAUNCH_H
#define GSHMEM_LAUNCH_H

#include "gshmemx.h"

#if defined(__CUDACC__)
#include "gshmem/detail/launch_cuda.h"
#elif !defined(GSHMEM_CUDA_NAMES_H)
#include "cpu/cuda_names.h"
#endif

/* In a kernel, declares `T *name` as the block's dynamic shared memory, aligned to at least 16
 * bytes. All such declarations of a kernel name the same bytes. */
#if defined(__CUDACC__)
extern __shared__ __align__(16) unsigned char gshmem_dynamic_shared[];
#define GSHMEM_DYNAMIC_SHARED(T, name) T *name = reinterpret_cast<T *>(gshmem_dynamic_shared)
#else
#define GSHMEM_DYNAMIC_SHARED(T, name) T *name = static_cast<T *>(gshmem_cpu_self->dynamic_shared)
#endif

/* gshmem_launch(kernel, grid, block, smem, stream, args...) is kernel<<<grid, block, smem,
 * stream>>>(args...): args are converted to the kernel's parameter types, and smem is the block's
 * dynamic shared memory in bytes. Returns cudaSuccess, or why the launch was refused. Any host
 * thread may call it; it prints how many registers the kernel has, and how many it may have, if
 * those are too many for the block. It is not collective, and it does not complete device set-up:
 * before a kernel that makes gshmem calls, complete set-up, for example by gshmem_malloc.
 *
 * gshmemx_collective_launch launches a kernel that synchronises across the grid or across PEs: all
 * its blocks run at the same time. Each PE that takes part calls it, with its own arguments. It
 * completes device set-up first. args[i] points to argument i, as for cudaLaunchCooperativeKernel.
 * Returns 0, GSHMEMX_ERROR_INVALID_VALUE, or GSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED when the grid
 * does not fit on the device; it then prints how many blocks do.
 *
 * gshmemx_collective_launch_query_gridsize: returns the most blocks that such a launch may have;
 * where PEs share a GPU, on this PE's part of it, once device set-up is complete.
 * The CPU device returns how many its cores run at once; it accepts more blocks, which take turns.
 *
 * Both take the kernel, or (const void *)kernel written in the call. Where kernels are compiled for
 * the CPU device both are macros that remove the cast, because the types of the kernel's parameters
 * say how many bytes each argument has. An address in a variable, or chosen from several by ?:,
 * works under nvcc only; elsewhere the compiler refuses it. Choose between the kernels themselves.
 */

namespace gshmem
{
namespace detail
{

/* A parameter type that takes no part in deduction. */
template <class Type> struct same {
    using type = Type;
};

#if !defined(__CUDACC__)
/* Like the one in launch_cuda.h. */
inline int setup_for_launch()
{
    return gshmemx_init_status() == GSHMEM_STATUS_NOT_INITIALIZED ? 0 : gshmemx_device_setup();
}
#endif

} // namespace detail
} // namespace gshmem

#if defined(__CUDACC__)

template <class... Parameters, class... Arguments>
inline cudaError_t gshmem_launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t smem,
                                 cudaStream_t stream, Arguments &&...args)
{
    static_assert(sizeof...(Parameters) == sizeof...(Arguments),
                  "the kernel takes another number of arguments");
    return [=](Parameters... values) {
        void *pointers[sizeof...(Parameters) + 1] = {
            const_cast<void *>(static_cast<const volatile void *>(&values))..., nullptr};
        if (!gshmem::detail::is_on_own_part(stream))
            return cudaErrorInvalidResourceHandle;
        const void *func = reinterpret_cast<const void *>(kernel);
        gshmemx_launch_begin("gshmem_launch");
        const cudaError_t error = cudaLaunchKernel(func, grid, block, pointers, smem, stream);
        gshmemx_launch_end();
        if (error == cudaErrorLaunchOutOfResources)
            gshmem::detail::explain_registers("gshmem_launch", func, block);
        return error;
    }(static_cast<Arguments &&>(args)...);
}

template <class... Parameters>
inline int gshmemx_collective_launch(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                     void **args, size_t smem, cudaStream_t stream)
{
    return gshmemx_collective_launch(reinterpret_cast<const void *>(kernel), grid, block, args,
                                     smem, stream);
}

template <class... Parameters>
inline int gshmemx_collective_launch_query_gridsize(void (*kernel)(Parameters...), dim3 block,
                                                    void **args, size_t smem, int *gridsize)
{
    return gshmemx_collective_launch_query_gridsize(reinterpret_cast<const void *>(kernel), block,
                                                    args, smem, gridsize);
}

#else

template <class... Parameters, class... Arguments>
inline cudaError_t gshmem_launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t smem,
                                 gshmemx_stream_t stream, Arguments &&...args)
{
    static_assert(sizeof...(Parameters) == sizeof...(Arguments),
                  "the kernel takes another number of arguments");
    return gshmem::cpu::packed<Parameters...>::launch_values(
        kernel, grid, block, smem, stream, false, static_cast<Arguments &&>(args)...);
}

template <class... Parameters>
inline int gshmemx_collective_launch(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                     void **args, size_t smem, gshmemx_stream_t stream)
{
    int r = gshmem::detail::setup_for_launch();
    if (r != 0) {
        return r;
    }
    r = gshmem::cpu::packed<Parameters...>::launch(kernel, grid, block, args, smem, stream, true);
    if (r == GSH_CPU_ERR_TOO_LARGE) {
        gshmemx_launch_refused(1ull * grid.x * grid.y * grid.z, (int)GSH_CPU_MAX_COOPERATIVE);
    }
    return r == GSH_CPU_OK ? GSHMEMX_SUCCESS
           : r == GSH_CPU_ERR_ARG || r == GSH_CPU_ERR_STREAM || r == GSH_CPU_ERR_KERNEL ||
                   r == GSH_CPU_ERR_ARGS
               ? GSHMEMX_ERROR_INVALID_VALUE
               : GSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
}

template <class... Parameters>
inline int gshmemx_collective_launch_query_gridsize(void (*)(Parameters...), dim3 block,
                                                    void **args, size_t smem, int *gridsize)
{
    int n_blocks;
    (void)args;
    if (gridsize == nullptr || cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                                   &n_blocks, (const void *)nullptr,
                                   (int)(block.x * block.y * block.z), smem) != cudaSuccess) {
        return GSHMEMX_ERROR_INVALID_VALUE;
    }
    *gridsize = n_blocks * gshmem::cpu::n_cores();
    return GSHMEMX_SUCCESS;
}

template <class Variable, class... Rest>
inline int gshmemx_collective_launch(const Variable *, Rest...)
{
    GSHMEM_CPU_REFUSE_ADDRESS(Variable);
    return GSHMEMX_ERROR_INVALID_VALUE;
}

template <class Variable, class... Rest>
inline int gshmemx_collective_launch_query_gridsize(const Variable *, Rest...)
{
    GSHMEM_CPU_REFUSE_ADDRESS(Variable);
    return GSHMEMX_ERROR_INVALID_VALUE;
}

#define gshmemx_collective_launch(...) gshmemx_collective_launch(GSHMEM_CPU_UNCAST(__VA_ARGS__))
#define gshmemx_collective_launch_query_gridsize(...) \
    gshmemx_collective_launch_query_gridsize(GSHMEM_CPU_UNCAST(__VA_ARGS__))

#endif

#endif
