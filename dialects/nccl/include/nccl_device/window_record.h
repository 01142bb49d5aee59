/* SPDX-License-Identifier: Apache-2.0
 * What a window's handle points to, in memory of the device. Compiles as C17 and CUDA.
 *
 * Kernels compiled with NCCL's own headers find there what they know of a window: the members from
 * lsa_base to flags lie where all of NCCL's versions have them. */
#ifndef GSHMEM_NCCL_WINDOW_RECORD_H
#define GSHMEM_NCCL_WINDOW_RECORD_H

#include <stddef.h>
#include <stdint.h>

struct gsh_state;

/* The host writes it before the handle becomes known; constant from then on. The window on LSA rank
 * r begins at lsa_base + r * lsa_stride. */
struct ncclWindow_vidmem {
    uint64_t local;    /* this rank's buffer */
    uint64_t lsa_base; /* that of LSA rank 0 */
    int32_t lsa_rank;
    int32_t rank;                  /* in the communicator */
    uint32_t stride_4g;            /* the high half of lsa_stride; the low half is 0 */
    uint32_t multicast_4k, gin_4k; /* 0: neither is there */
    uint32_t flags;
    int64_t lsa_stride; /* bytes; on the CPU device its low half need not be 0 */
    uint64_t bytes;
    uint64_t owner; /* its communicator's id, or GSHMEM_NCCL_WINDOW_GONE; 0: never used */
    const struct gsh_state *state; /* of this PE, in memory that kernels read */
    uint64_t segments;             /* NULL */
    int32_t n_segments;            /* 1 */
    int32_t lsa_size;
    uint64_t reserved;
};
typedef struct ncclWindow_vidmem ncclWindow_vidmem_t;
#define GSHMEM_NCCL_WINDOW_GONE UINT64_MAX

#if defined(__cplusplus)
#define GSHMEM_NCCL_AT(MEMBER, OFFSET) \
    static_assert(offsetof(ncclWindow_vidmem, MEMBER) == OFFSET, "as NCCL's kernels expect")
#else
#define GSHMEM_NCCL_AT(MEMBER, OFFSET)                                                        \
    _Static_assert(offsetof(struct ncclWindow_vidmem, MEMBER) == OFFSET, "as NCCL's kernels " \
                                                                         "expect")
#endif
GSHMEM_NCCL_AT(lsa_base, 8);
GSHMEM_NCCL_AT(lsa_rank, 16);
GSHMEM_NCCL_AT(rank, 20);
GSHMEM_NCCL_AT(stride_4g, 24);
GSHMEM_NCCL_AT(multicast_4k, 28);
GSHMEM_NCCL_AT(gin_4k, 32);
GSHMEM_NCCL_AT(flags, 36);
GSHMEM_NCCL_AT(n_segments, 80);
#undef GSHMEM_NCCL_AT

#endif
