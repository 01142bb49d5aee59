/* SPDX-License-Identifier: Apache-2.0
 * Wire between a thread's large puts of GIN and the kernel that joins them
 * (../../kernels/copier.h): for ranks that loads and stores reach, where a single thread moves a
 * hundredth of what some blocks do. A host thread, the copier, launches that kernel. A put never
 * waits for the host, nor for a block that has not begun: CUDA may keep a launch back until the
 * put's own kernel has ended. Compiles as C and CUDA.
 *
 * - A put copies alone if is_over is not 0: the copier's thread has ended. It takes a slot by
 *   exchanging is_taken, of 0, with 1. If it is not 0, the put copies alone. It writes the slot's
 *   other words, fences, and sets left to the number of units, in which the copy is cut. Then it
 *   adds 1 to n_asked and stores the sum in the host's word.
 * - Who subtracts from left, and finds it above 0, owes the units that are gone now: the last ones
 *   of those that were left. The put takes one at a time, blocks of the kernel several. Below 0
 *   left says what 0 does. A block that has taken some fences, which pairs with the put's fence,
 *   copies them, fences, and adds their number to helped. So it reads the slot's words only while
 *   the put waits.
 * - Once none is left, the put waits until helped has the units that it has not copied itself, and
 *   acquires: their bytes are in the peer's memory then, and no signal overtakes them. It sets
 *   is_taken to 0 with release. */
#ifndef GSHMEM_NCCL_COPY_SLOTS_H
#define GSHMEM_NCCL_COPY_SLOTS_H

#include <stdint.h>

#define GSHMEM_NCCL_COPY_SLOTS 64   /* a power of 2 */
#define GSHMEM_NCCL_COPY_UNIT  4096 /* bytes; the last one of a copy has what remains */

struct gsh_nccl_copy_slot {
    uint64_t dest, source, bytes;
    uint32_t is_taken, helped;
};

/* In the device's memory. All zeros at first. */
struct gsh_nccl_copy_slots {
    uint32_t left[GSHMEM_NCCL_COPY_SLOTS]; /* by slot */
    struct gsh_nccl_copy_slot slots[GSHMEM_NCCL_COPY_SLOTS];
    uint64_t n_asked; /* the next put's slot, modulo the number of slots */
    uint32_t is_over, reserved;
};

#endif
