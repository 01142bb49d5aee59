/* SPDX-License-Identifier: Apache-2.0
 * One set of variables for each OS thread. block.c writes them at each switch between the threads
 * of its block; here.c, once. */
#include "cpu/thread.h"

#include <stdio.h>
#include "cpu/fatal.h"
#include "cpu/sanitizer.h"

__thread struct gsh_cpu_thread *gshmem_cpu_self;
__thread struct gsh_cpu_uint3 gshmem_cpu_thread_idx, gshmem_cpu_block_idx, gshmem_cpu_block_dim,
    gshmem_cpu_grid_dim;

GSH_NO_TSAN struct gsh_cpu_thread *gsh_need_thread(const char *what)
{
    static const struct gsh_cpu_config none = {.fatal = NULL};
    if (!gshmem_cpu_self) {
        char text[120];
        snprintf(text, sizeof(text), "%s was called in host code", what);
        gsh_device_fatal(&none, text);
    }
    return gshmem_cpu_self;
}
