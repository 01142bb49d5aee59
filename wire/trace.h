/* SPDX-License-Identifier: Apache-2.0
 * Events of kernels on their way to the timeline. Kernels compiled with GSHMEM_TRACE_KERNELS write
 * them into rings in their device's memory; a thread of the host takes them out while kernels run.
 *
 * An event is two words. The slot of event number i of a ring is i mod the ring's size, and both
 * words carry i's lap. Writers take numbers by an atomic of this PE's device alone and never wait:
 * if the host is late they overwrite what it has not read. Invariants:
 * - Words of lap l are followed in their slot only by those of later laps, except if a writer is a
 *   whole lap late; the reader passes over such a slot when later slots are ahead of it.
 * - An END may have a number that was taken with its BEGIN's, which says so: its slot is empty
 * while later ones are written. The thread writes nothing else before it.
 * - Each word is stored whole, in no order. A reader that finds its lap in both has read one event;
 *   one that finds a later lap has lost events, and knows how many.
 *
 * A call is BEGIN, any of TO, AT, WORD, VALUE and TEAM by the same thread, and END. Calls on
 * streams are in one more ring, which the library's own kernel writes, in the streams' order.
 * Compiles as C17, C++17 and CUDA. */
#ifndef GSHMEM_TRACE_H
#define GSHMEM_TRACE_H

#include <stdint.h>
#include "state.h"

#define GSH_TRACE_RINGS       256u /* block b writes to ring b mod this */
#define GSH_TRACE_STREAM_RING 256u /* of streams: `who` is the stream's number */
#define GSH_TRACE_ALL_RINGS   257u

/* First word: lap 8 bits, kind 4, block / GSH_TRACE_RINGS mod 64 6, thread of the block 10, time in
 * ns of the device's clock 36. Second word: lap 8 bits, payload 56. */
#define GSH_TRACE_EVENT_TIME_BITS 36
#define GSH_TRACE_EVENT_WHO_BITS  16 /* thread + 1024 * (block / GSH_TRACE_RINGS mod 64) */
#define GSH_TRACE_EVENT_TIME(w)   ((w) & (((uint64_t)1 << GSH_TRACE_EVENT_TIME_BITS) - 1))
#define GSH_TRACE_EVENT_WHO(w)    ((uint32_t)((w) >> GSH_TRACE_EVENT_TIME_BITS & 0xffff))
#define GSH_TRACE_EVENT_KIND(w)   ((uint32_t)((w) >> 52 & 15))
#define GSH_TRACE_EVENT_LAP(w)    ((uint8_t)((w) >> 56))
#define GSH_TRACE_PAYLOAD(w)      ((w) & (((uint64_t)1 << 56) - 1))

enum gsh_trace_event_kind {
    GSH_TRACE_EVENT_NONE,
    /* Address of the call's name, 48 bits, on streams its number in the part; enum
     * gsh_trace_event_call << 48; GSH_TRACE_RESERVED_SHIFT. */
    GSH_TRACE_EVENT_BEGIN,
    GSH_TRACE_EVENT_TO,    /* the PE, 20 bits, all ones: none; bytes << 20 */
    GSH_TRACE_EVENT_AT,    /* the data's offset from the heap's base */
    GSH_TRACE_EVENT_WORD,  /* the word's offset, 48 bits; enum gsh_trace_op << 48 */
    GSH_TRACE_EVENT_VALUE, /* the signal, or what is awaited: 56 bits of it */
    GSH_TRACE_EVENT_END,   /* the value that a wait has seen: 56 bits of it */
    GSH_TRACE_EVENT_TEAM,  /* the handle, of a collective */
    GSH_TRACE_EVENT_CLOCK  /* on a stream: a number; by how many ns the clock moves << 8 */
};
enum gsh_trace_event_call {
    GSH_TRACE_EVENT_CALL,
    GSH_TRACE_EVENT_WAIT,
    GSH_TRACE_EVENT_SPAN,
    GSH_TRACE_EVENT_GET, /* a call whose data come from the PE */
    /* An entry of a NIC's queue. WORD: the queue's number; VALUE: the position after the entry's
     * reservation (wq.h). */
    GSH_TRACE_EVENT_POST,
    GSH_TRACE_EVENT_DONE /* the same of a completion: all before VALUE is complete */
};
/* In the op of a wait's WORD, beside GSH_TRACE_OP_AWAIT + cmp: how long the word is; neither: 8. */
#define GSH_TRACE_EVENT_WORD_4 8u
#define GSH_TRACE_EVENT_WORD_2 32u

#define GSH_TRACE_NO_PE         0xfffffu
#define GSH_TRACE_PE_BY_ADDRESS 0xffffeu /* whose memory is at WORD or AT */

/* From this bit of BEGIN's payload on, 4 bits: how many numbers, from this one on, are the call's;
 * 0: not said. The last one is its END's, which may be written long after later numbers. */
#define GSH_TRACE_RESERVED_SHIFT 52

/* What a word becomes: enum gsh_trace_op of trace/part.h, whose numbers these are. */
#define GSH_TRACE_EVENT_SET    1
#define GSH_TRACE_EVENT_ADD    2
#define GSH_TRACE_EVENT_CHANGE 3
#define GSH_TRACE_EVENT_AWAIT  16 /* + GSHMEM_CMP_* */

/* Of each ring, in the device's memory; they only grow, modulo 2^32. */
struct gsh_trace_counts {
    uint32_t taken[GSH_TRACE_ALL_RINGS]; /* numbers */
    /* ENDs with a number of their BEGIN; on GPUs alone, some time before or after they are seen */
    uint32_t ends[GSH_TRACE_ALL_RINGS];
};

/* gsh_state.trace_rings: the address of the rings, uint64_t[GSH_TRACE_ALL_RINGS][n_events][2] in
 * the device's memory, and the logarithm of n_events. Both are there without a load: what a wait
 * has acquired makes a GPU forget what it had loaded before. */
#define GSH_TRACE_RINGS_ALIGN             64u
#define GSH_TRACE_RINGS_AT(events, shift) ((events) | (shift))
#define GSH_TRACE_EVENTS_OF(rings)        ((rings) & ~(uint64_t)(GSH_TRACE_RINGS_ALIGN - 1))
#define GSH_TRACE_SHIFT_OF(rings)         ((uint32_t)(rings) & (GSH_TRACE_RINGS_ALIGN - 1))

/* Of event i: never 0 in the first lap, as in memory nobody has written. */
#define GSH_TRACE_LAP(i, shift) ((uint8_t)(((i) >> (shift)) + 1))

#endif
