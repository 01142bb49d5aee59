/* SPDX-License-Identifier: Apache-2.0
 * Wire between a thread's large puts of GIN and the kernel that joins them
 * (../../kernels/copier.h): for ranks that loads and stores reach, where a single thread moves a
 * hundredth of what some blocks do. A host thread, the copier, launches that kernel. A put never
 * waits for the host, nor for a block that has not begun: CUDA may keep a launch back until the
 * put's own kernel has ended. Compiles as C and CUDA.
 *
 * - A put copies alone if is_over is not 0: the copier's thread has ended. It takes a slot by
 *   exchanging is_taken, of 0, with 1; if none of a few is free, it copies alone. It writes the
 *   slot's other words, fences, and sets left to the number of units, in which the copy is cut.
 *   Then it fences, adds 1 to n_asked, and stores the sum in the host's word asked.
 * - The kernel's blocks, n_here of them, look for units until busy_until_ns, which each that finds
 *   some moves on. A put that reads n_here above 0 waits some looks for them before it copies a
 *   unit itself; they may be gone, or busy. A block reads n_asked, fences, which pairs with the
 *   put's second fence, and looks once more before it leaves: no put up to that number has units
 *   left. The last one to leave stores the number in the host's word served, then adds 1 to
 *   n_ended. The copier's thread launches the kernel again if asked is above served, and no
 *   launch is without its end.
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

#define GSHMEM_NCCL_COPY_SLOTS 64
#define GSHMEM_NCCL_COPY_UNIT  4096 /* bytes; the last one of a copy has what remains */

struct gsh_nccl_copy_slot {
    uint64_t dest, source, bytes;
    uint32_t is_taken, helped;
};

/* In the device's memory. All zeros at first. */
struct gsh_nccl_copy_slots {
    uint32_t left[GSHMEM_NCCL_COPY_SLOTS]; /* by slot */
    struct gsh_nccl_copy_slot slots[GSHMEM_NCCL_COPY_SLOTS];
    uint64_t n_asked, busy_until_ns;
    uint32_t n_here, n_left; /* the kernel's blocks: those that look, and those that have left */
    uint32_t is_over, reserved;
};

/* In the host's memory, which kernels reach. All zeros at first. */
struct gsh_nccl_copy_words {
    uint64_t asked;           /* puts write it */
    uint64_t served, n_ended; /* the kernel writes them */
};

#endif
