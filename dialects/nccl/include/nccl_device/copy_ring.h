/* SPDX-License-Identifier: Apache-2.0
 * Wire between large puts of GIN and the host thread that gives them to the copy engines
 * (../../window/copier.h): for ranks that loads and stores reach, where a single thread of a kernel
 * moves a hundredth of what an engine does. Compiles as C and CUDA.
 *
 * - A put takes a ticket t by adding 1 to *head, in the device's memory, and waits until done +
 *   GSHMEM_NCCL_COPY_SLOTS > t. It fences, so that the engine reads what the put's threads have
 *   written or seen of the source; writes slot t % GSHMEM_NCCL_COPY_SLOTS; then the slot's ticket,
 *   t + 1, with release, which pairs with the host thread's acquire.
 * - The host thread takes slots in the order of their tickets. Copies go to one stream, and end in
 *   that order. When copy t has ended, so that its bytes are in the peer's memory, the thread sets
 *   done to t + 1 with release, which pairs with the put's acquire. The put returns, or sends its
 *   signal, only after that: so no signal overtakes the data.
 * - is_broken: an engine has refused a copy, set before done. From then on done moves without
 *   copies, and puts that find it set copy by themselves. */
#ifndef GSHMEM_NCCL_COPY_RING_H
#define GSHMEM_NCCL_COPY_RING_H

#include <stdint.h>

#define GSHMEM_NCCL_COPY_SLOTS 64 /* a power of 2 */

struct gsh_nccl_copy_slot {
    uint64_t dest, source, bytes;
    uint64_t ticket;
};

/* In host memory that kernels read and write. All zeros at first. */
struct gsh_nccl_copy_ring {
    struct gsh_nccl_copy_slot slots[GSHMEM_NCCL_COPY_SLOTS];
    uint64_t done;
    uint64_t is_broken;
    uint64_t reserved[14];
};

#endif
