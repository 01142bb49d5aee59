/* SPDX-License-Identifier: Apache-2.0
 * What a window's handle points to, in memory of the device. Compiles as C17 and CUDA. */
#ifndef GSHMEM_NCCL_WINDOW_RECORD_H
#define GSHMEM_NCCL_WINDOW_RECORD_H

#include <stdint.h>

struct gsh_state;

/* The host writes it before the handle becomes known; constant from then on. The window on LSA rank
 * r begins at local + (r - lsa_rank) * lsa_stride. */
struct ncclWindow_vidmem {
    uint64_t local; /* this rank's buffer */
    uint64_t bytes;
    int64_t lsa_stride; /* bytes */
    int32_t lsa_rank, lsa_size;
    int32_t rank; /* in the communicator */
    uint32_t flags;
    uint64_t owner; /* its communicator's id, or GSHMEM_NCCL_WINDOW_GONE; 0: never used */
    const struct gsh_state *state; /* of this PE, in memory that kernels read */
    uint64_t reserved;
};
typedef struct ncclWindow_vidmem ncclWindow_vidmem_t;
#define GSHMEM_NCCL_WINDOW_GONE UINT64_MAX

#endif
