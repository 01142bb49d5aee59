/* SPDX-License-Identifier: Apache-2.0
 * The kernel that joins GIN's large puts (../include/nccl_device/copy_slots.h). Compiled for the
 * CPU device and, where there is nvcc, for CUDA. Compiles as C17 and CUDA. */
#ifndef GSH_NCCL_COPIER_OPS_H
#define GSH_NCCL_COPIER_OPS_H

#include <stddef.h>
#include <stdint.h>
#include "dialects/nccl/include/nccl_device/copy_slots.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The slots, the host's words, and the kernel's stream. */
struct gsh_nccl_copies {
    struct gsh_nccl_copy_slots *slots;
    struct gsh_nccl_copy_words *words;
    void *stream;
};

/* For one thread at a time, with the device current. Those with a result return 0 or a CUDA error.
 */
struct gsh_nccl_copier_ops {
    /* From all zeros. Also loads the kernel, for which CUDA may wait until none runs. */
    int (*create)(struct gsh_nccl_copies *copies);
    void (*destroy)(struct gsh_nccl_copies *copies); /* also one half made; waits for its kernels */
    void (*begin_thread)(void);                      /* first, on the thread that calls help */
    /* Launches the kernel, which joins all puts that have asked before, and for a while those that
     * ask later. The one before has ended. May wait for any kernel of the program. */
    int (*help)(struct gsh_nccl_copies *copies);
    /* Nothing helps any more: soon no put asks. */
    void (*refuse)(struct gsh_nccl_copies *copies);
};
extern const struct gsh_nccl_copier_ops gsh_nccl_copier_ops_cpu;
extern const struct gsh_nccl_copier_ops gsh_nccl_copier_ops_cuda;

#ifdef __cplusplus
}
#endif

#endif
