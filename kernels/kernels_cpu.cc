/* SPDX-License-Identifier: Apache-2.0
 * The library's own kernels for the CPU device, inside the library; kernels.cu has those for
 * GPUs. */
#define GSHMEM_LIBRARY_KERNELS 1 /* not a unit of a program: the library does not register it */
#include "cpu/cuda_names.h"

#include "kernels/kernels.cu"

#define ENTRY(NAME)                                           \
    void NAME##_on_cpu(void *args)                            \
    {                                                         \
        NAME(*static_cast<const struct NAME##_args *>(args)); \
    }
ENTRY(gsh_kernel_sync)
ENTRY(gsh_kernel_trace)
#undef ENTRY
