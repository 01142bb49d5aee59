/* SPDX-License-Identifier: Apache-2.0
 * lines.cu for the CPU device, inside the library. */
#define GSHMEM_LIBRARY_KERNELS 1
#include "cpu/cuda_names.h"

#include "kernels/lines.cu"

#define ENTRY(NAME)                                              \
    void NAME##_on_cpu(void *args)                               \
    {                                                            \
        NAME(*static_cast<const gsh_kernel_lines_args *>(args)); \
    }
ENTRY(gsh_kernel_lines_move)
ENTRY(gsh_kernel_lines_sums_of_two)
ENTRY(gsh_kernel_lines_long_move)
ENTRY(gsh_kernel_lines_long_sums_of_two)
ENTRY(gsh_kernel_lines_of_two)
ENTRY(gsh_kernel_lines_of_more)
ENTRY(gsh_kernel_lines_read_move)
ENTRY(gsh_kernel_lines_read_sums_of_two)
ENTRY(gsh_kernel_lines_read_of_two)
ENTRY(gsh_kernel_pieces_move)
ENTRY(gsh_kernel_pieces_sums_of_two)
ENTRY(gsh_kernel_lines_short_move)
ENTRY(gsh_kernel_lines_short_sums)
ENTRY(gsh_kernel_lines_short_move_by_4)
ENTRY(gsh_kernel_lines_short_sums_by_4)
ENTRY(gsh_kernel_lines_steps_move)
ENTRY(gsh_kernel_lines_steps_sums)
#undef ENTRY
