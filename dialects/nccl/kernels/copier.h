/* SPDX-License-Identifier: Apache-2.0
 * Copies that a device's engines make for GIN (../include/nccl_device/copy_ring.h). Compiled for
 * the CPU device and, where there is nvcc, for CUDA. Compiles as C17 and CUDA. */
#ifndef GSH_NCCL_COPIER_OPS_H
#define GSH_NCCL_COPIER_OPS_H

#include <stddef.h>
#include <stdint.h>
#include "dialects/nccl/include/nccl_device/copy_ring.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A ring with its word for tickets, and the stream of its copies. */
struct gsh_nccl_copies {
    struct gsh_nccl_copy_ring *ring;
    uint64_t *head;
    void *stream, *events[GSHMEM_NCCL_COPY_SLOTS]; /* CUDA's; one for each slot */
};

/* For one thread at a time, with the device current. Those with a result return 0 or a CUDA error.
 */
struct gsh_nccl_copier_ops {
    int (*create)(struct gsh_nccl_copies *copies);   /* from all zeros */
    void (*destroy)(struct gsh_nccl_copies *copies); /* also one half made; waits for its copies */
    void (*begin_thread)(void);                      /* first, on the thread that calls the rest */
    int (*copy)(struct gsh_nccl_copies *copies, uint32_t slot); /* starts that slot's */
    /* *has_ended: the slot's copy, the earliest under way, and its bytes are at their place. */
    int (*poll)(struct gsh_nccl_copies *copies, uint32_t slot, int *has_ended);
};
extern const struct gsh_nccl_copier_ops gsh_nccl_copier_ops_cpu;
extern const struct gsh_nccl_copier_ops gsh_nccl_copier_ops_cuda;

#ifdef __cplusplus
}
#endif

#endif
