/* SPDX-License-Identifier: Apache-2.0
 * The contents of a lock's long, for host and device. Compiles as C17 and CUDA.
 *
 * A lock is a queue of PEs. Each PE's copy of the long has two halves:
 *
 *   tail   used at the lock's home alone: the last PE of the queue, by its number + 1; 0: free
 *   node   this PE's entry in the queue. GSH_LOCK_TAKEN: a thread of this PE holds the lock or is
 *          in the queue for it; only that thread touches the queue. The low bits: the PE behind,
 *          number + 1, written by that PE. GSH_LOCK_GRANTED: set by the PE in front.
 *
 * To set: swap this PE into the tail. If a PE was there, write this PE's number into that PE's
 * node, and wait for the grant in this PE's own node. To clear: unless a PE has already written its
 * number here, compare and swap the tail from this PE to 0. If that fails, another PE is behind, or
 * about to write its number. Grant the PE behind the lock. Only atomics change these words. */
#ifndef GSH_LOCK_WORDS_H
#define GSH_LOCK_WORDS_H

#include <stdint.h>

enum { GSH_LOCK_TAIL = 0, GSH_LOCK_NODE = 1 };

#define GSH_LOCK_GRANTED 0x80000000u
#define GSH_LOCK_TAKEN   0x40000000u
#define GSH_LOCK_BEHIND  0x3fffffffu

#if defined(__CUDACC__)
#define GSH_LOCK_FUNCTION static inline __host__ __device__
#else
#define GSH_LOCK_FUNCTION static inline
#endif

/* The PE whose tail counts. Locks are spread over the PEs, even if each lies in an allocation of
 * its own: the multiplier is 2^64 divided by the golden ratio. */
GSH_LOCK_FUNCTION int gsh_lock_home(uint64_t heap_off, int n_pes)
{
    uint64_t hash = (heap_off / 8) * 0x9e3779b97f4a7c15u;
    return (int)((hash >> 32) * (uint64_t)n_pes >> 32);
}

#undef GSH_LOCK_FUNCTION

#endif
