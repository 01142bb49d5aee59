/* SPDX-License-Identifier: Apache-2.0
 * The kernel that carries out collectives on any memory, one or several in one launch
 * (device/coll/lines.cuh). */
#define GSHMEM_LIBRARY_KERNELS 1
#include "device/coll/lines.cuh"
#include "device/default.cuh"
#include "wire/lines.h"

extern "C" {

__global__ void __launch_bounds__(GSH_LINES_THREADS_MAX)
    gsh_kernel_lines(const __grid_constant__ gsh_kernel_lines_args a)
{
#if !defined(__CUDACC__)
    if (gshmem::detail::is_given_up(gshmem::default_context()))
        return;
#endif
    gshmem::detail::run_lines(gshmem::default_context(), a);
}
}
