/* SPDX-License-Identifier: Apache-2.0
 * The kernels that carry out collectives on any memory, one or several in one launch
 * (device/coll/lines.cuh): those that move data alone, and the usual sums of a team of two, each
 * also for many rounds; and all of a team of two, or of more; and for teams of two again those in
 * which one may read the other's source, those whose data go in pieces, the shortest calls, and
 * those in steps. */
#define GSHMEM_LIBRARY_KERNELS 1
#include "device/coll/lines.cuh"
#include "device/default.cuh"
#include "wire/lines.h"

namespace
{

template <gshmem::detail::line_ways ways>
__device__ __forceinline__ void run(const gsh_kernel_lines_args &a)
{
#if !defined(__CUDACC__)
    if (gshmem::detail::is_given_up(gshmem::default_context()))
        return;
#endif
    gshmem::detail::run_lines<ways>(gshmem::default_context(), a);
}

template <bool is_add> __device__ __forceinline__ void run_in_pieces(const gsh_kernel_lines_args &a)
{
#if !defined(__CUDACC__)
    if (gshmem::detail::is_given_up(gshmem::default_context()))
        return;
#endif
    gshmem::detail::run_in_pieces<is_add>(gshmem::default_context(), a);
}

template <bool is_add, uint32_t aligned_to>
__device__ __forceinline__ void run_short(const gsh_kernel_lines_args &a)
{
#if !defined(__CUDACC__)
    if (gshmem::detail::is_given_up(gshmem::default_context()))
        return;
#endif
    gshmem::detail::run_short<is_add, aligned_to>(gshmem::default_context(), a);
}

template <bool is_add> __device__ __forceinline__ void run_in_steps(const gsh_kernel_lines_args &a)
{
#if !defined(__CUDACC__)
    if (gshmem::detail::is_given_up(gshmem::default_context()))
        return;
#endif
    gshmem::detail::run_in_steps<is_add>(gshmem::default_context(), a);
}

} // namespace

extern "C" {

__global__ void __launch_bounds__(GSH_LINES_THREADS_MAX)
    gsh_kernel_lines_move(const __grid_constant__ gsh_kernel_lines_args a)
{
    run<gshmem::detail::line_ways::move>(a);
}

__global__ void __launch_bounds__(GSH_LINES_THREADS_MAX)
    gsh_kernel_lines_sums_of_two(const __grid_constant__ gsh_kernel_lines_args a)
{
    run<gshmem::detail::line_ways::sums_of_two>(a);
}

__global__ void __launch_bounds__(GSH_LINES_THREADS_MAX)
    gsh_kernel_lines_long_move(const __grid_constant__ gsh_kernel_lines_args a)
{
    run<gshmem::detail::line_ways::long_move>(a);
}

__global__ void __launch_bounds__(GSH_LINES_THREADS_MAX)
    gsh_kernel_lines_long_sums_of_two(const __grid_constant__ gsh_kernel_lines_args a)
{
    run<gshmem::detail::line_ways::long_sums_of_two>(a);
}

__global__ void __launch_bounds__(GSH_LINES_THREADS_MAX)
    gsh_kernel_lines_of_two(const __grid_constant__ gsh_kernel_lines_args a)
{
    run<gshmem::detail::line_ways::of_two>(a);
}

__global__ void __launch_bounds__(GSH_LINES_THREADS_MAX)
    gsh_kernel_lines_of_more(const __grid_constant__ gsh_kernel_lines_args a)
{
    run<gshmem::detail::line_ways::of_more>(a);
}

__global__ void __launch_bounds__(GSH_LINES_THREADS_MAX)
    gsh_kernel_lines_read_move(const __grid_constant__ gsh_kernel_lines_args a)
{
    run<gshmem::detail::line_ways::read_move>(a);
}

__global__ void __launch_bounds__(GSH_LINES_THREADS_MAX)
    gsh_kernel_lines_read_sums_of_two(const __grid_constant__ gsh_kernel_lines_args a)
{
    run<gshmem::detail::line_ways::read_sums_of_two>(a);
}

__global__ void __launch_bounds__(GSH_LINES_THREADS_MAX)
    gsh_kernel_lines_read_of_two(const __grid_constant__ gsh_kernel_lines_args a)
{
    run<gshmem::detail::line_ways::read_of_two>(a);
}

/* Two blocks have room on a multiprocessor: the blocks of two calls and their helpers. */
__global__ void __launch_bounds__(GSH_PIECES_THREADS, 2)
    gsh_kernel_pieces_move(const __grid_constant__ gsh_kernel_lines_args a)
{
    run_in_pieces<false>(a);
}

__global__ void __launch_bounds__(GSH_PIECES_THREADS, 2)
    gsh_kernel_pieces_sums_of_two(const __grid_constant__ gsh_kernel_lines_args a)
{
    run_in_pieces<true>(a);
}

__global__ void __launch_bounds__(GSH_LINES_SHORT_THREADS)
    gsh_kernel_lines_short_move(const __grid_constant__ gsh_kernel_lines_args a)
{
    run_short<false, 8>(a);
}

__global__ void __launch_bounds__(GSH_LINES_SHORT_THREADS)
    gsh_kernel_lines_short_sums(const __grid_constant__ gsh_kernel_lines_args a)
{
    run_short<true, 8>(a);
}

__global__ void __launch_bounds__(GSH_LINES_SHORT_THREADS)
    gsh_kernel_lines_short_move_by_4(const __grid_constant__ gsh_kernel_lines_args a)
{
    run_short<false, 4>(a);
}

__global__ void __launch_bounds__(GSH_LINES_SHORT_THREADS)
    gsh_kernel_lines_short_sums_by_4(const __grid_constant__ gsh_kernel_lines_args a)
{
    run_short<true, 4>(a);
}

__global__ void __launch_bounds__(GSH_LINES_SHORT_THREADS)
    gsh_kernel_lines_steps_move(const __grid_constant__ gsh_kernel_lines_args a)
{
    run_in_steps<false>(a);
}

__global__ void __launch_bounds__(GSH_LINES_SHORT_THREADS)
    gsh_kernel_lines_steps_sums(const __grid_constant__ gsh_kernel_lines_args a)
{
    run_in_steps<true>(a);
}
}
