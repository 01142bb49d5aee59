/* SPDX-License-Identifier: Apache-2.0
 * Wire between kernels and the proxy: a ring of slots in host memory that kernels write and the
 * proxy's thread reads. Compiles as C17, C++17 and CUDA; C standard headers only. Pointers are
 * uint64_t so that every compiler agrees on the layout.
 *
 * Invariants
 * - Positions are 64-bit, count slots and never wrap; slot i is at slots[i % n_slots], n_slots a
 *   power of two, at least GSH_RING_MIN_SLOTS. A request takes 1 to GSH_RING_MAX_SLOTS consecutive
 *   positions.
 * - Producers reserve by one atomic add on gpu_head (a warp once for all its threads). They write
 *   position i only when i < cpu_tail + n_slots, by the cached gpu_tail when that is enough.
 *   Between reserving and writing, a producer waits only for this room.
 * - Every 8-byte word validates itself: its bit 63 is GSH_RING_LAP_BIT(i). Slots start zeroed and
 *   are never cleared; the reader takes a request when all its words carry the lap's bit. So
 *   nothing depends on how the bus combines or orders the stores.
 * - Publication is relaxed on GPUs. If the proxy must see data with a request (a put's source), the
 *   producer fences first: its system-scope fence pairs with the proxy's acquire loads of the
 *   words. What the producer only learned from others needs no fence: a GPU does not let a store
 *   pass an earlier acquire. C++ does not promise that, so the CPU device publishes with release.
 * - cpu_tail: slots before it may be written again. cpu_done: requests before it are complete in
 *   their own sense (put: the source may be reused; get: the data are there; quiet: everything
 *   before it in this ring is seen at its PE). Both are written by the proxy with release, never
 *   decrease; kernels read them with acquire.
 * - All requests of one PE's kernels to one target, in one context, go through one ring, so that a
 *   fence or quiet entry of each ring with traffic orders all of it: ring target % n_rings in the
 *   default context, ring n_rings - 1 + i in context i.
 * - A returned value (g, fetching AMOs) goes to a reply cell. A thread takes ticket t and waits
 *   until cell t % GSH_RING_REPLIES serves t / GSH_RING_REPLIES. It writes its request and waits
 *   until both words of the cell carry GSH_RING_REPLY_MARK(t). Then it lets the cell serve the next
 *   ticket: +1. Only the holder of the ticket that a cell serves has a request under way for the
 *   cell, and neighbouring tickets of a cell have different marks. */
#ifndef GSHMEM_RING_H
#define GSHMEM_RING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define GSH_RING_ASSERT(c, text) static_assert(c, text)
#else
#define GSH_RING_ASSERT(c, text) _Static_assert(c, text)
#endif

#define GSH_RING_MAX_SLOTS  8   /* a header and 7 slots of payload */
#define GSH_RING_MAX_VALUES 14  /* payload words of 64 bits */
#define GSH_RING_INLINE_MAX 104 /* bytes of an inline put: one value is the offset */
#define GSH_RING_SIGNAL_MAX 88  /* bytes of an inline put with signal: three values come first */
#define GSH_RING_MIN_SLOTS  256 /* a warp's largest requests at once */
#define GSH_RING_REPLIES    256
#define GSH_RING_MAX_RINGS  16 /* of the default context; the others have one each */
#define GSH_RING_LAP        (1ull << 63)

/* Kernels move both words at once. */
#define GSH_RING_ALIGNED __attribute__((aligned(16)))

struct gsh_ring_slot {
    uint64_t word[2];
} GSH_RING_ALIGNED;
GSH_RING_ASSERT(sizeof(struct gsh_ring_slot) == 16, "gsh_ring_slot is wire");

/* Header, word 0: bits 0-4 operation, 5-7 payload slots, 8-27 PE, 28-62 by operation, 63 lap.
 *
 * Compact PUT and GET (1 slot): both sides in the heaps, below 1 TiB, less than 256 KiB:
 *   word 0: bits 28-62 the upper 35 bits of the local offset
 *   word 1: bits 0-39 remote offset, 40-57 bytes, 58-62 the lower 5 bits of the local offset
 * All others: word 0: bits 28-33 arg, 34-47 bit 63 of each value; word 1: bits 0-62 `immediate`.
 *   Values follow, two per payload slot, their bit 63 in the header. */
#define GSH_RING_AT_PAYLOAD    5
#define GSH_RING_AT_PE         8
#define GSH_RING_AT_ARG        28
#define GSH_RING_AT_TOPS       34
#define GSH_RING_AT_LOCAL_HIGH 28 /* compact: word 0 */
#define GSH_RING_AT_BYTES      40 /* compact: word 1 */
#define GSH_RING_AT_LOCAL_LOW  58 /* compact: word 1 */
#define GSH_RING_MAX_PES       (1u << 20)
#define GSH_RING_COMPACT_OFF   (1ull << 40) /* compact: offsets are below */
#define GSH_RING_COMPACT_BYTES (1ull << 18) /* compact: bytes are below */
#define GSH_RING_AMO_IS_8      8u           /* in arg */
#define GSH_RING_AMO_FETCHES   16u
#define GSH_RING_AMO_OTHER     32u /* the lower 3 bits are one of the next five, no gsh_amo_op */
#define GSH_RING_AMO_HALF_ADD  3u  /* 0 to 2: FETCH, SET, SWAP of a half */
#define GSH_RING_AMO_FLOAT_ADD 4u  /* of a double with GSH_RING_AMO_IS_8, else of a float */
#define GSH_RING_ANSWER_VALUES 3   /* of every request with a ticket */

enum gsh_ring_op {
    GSH_RING_NONE,
    GSH_RING_PUT,        /* compact */
    GSH_RING_GET,        /* compact */
    GSH_RING_PUT_LARGE,  /* values: remote offset, local address, bytes */
    GSH_RING_GET_LARGE,  /* values: remote offset, local address, bytes */
    GSH_RING_PUT_INLINE, /* immediate: bytes (1 to 104); values: remote offset, the bytes */
    GSH_RING_G,    /* arg: bytes (1, 2, 4, 8); immediate: ticket; values: remote offset, 0, 0 */
    GSH_RING_AMO,  /* arg: GSH_RING_AMO_ARG; values: remote offset, operand; when it fetches
                    * (immediate: ticket) also cond */
    GSH_RING_IPUT, /* immediate: element bytes; values: remote offset, local address, remote
                    * stride, local stride (in elements), nelems */
    GSH_RING_IGET, /* the same */
    GSH_RING_PUT_SIGNAL, /* arg: sig_op, perhaps strong; values: remote offset, local address,
                          * bytes, remote offset of the signal, signal */
    GSH_RING_PUT_SIGNAL_INLINE, /* arg: the same; immediate: bytes (1 to 88); values: remote offset,
                                 * remote offset of the signal, signal, the bytes */
    GSH_RING_FENCE, /* earlier requests of this ring are seen before later ones, per PE */
    GSH_RING_QUIET, /* done when all earlier requests of this ring are seen at their PEs */
    GSH_RING_OPS
};

/* The arg of an AMO, of an enum gsh_amo_op up to XOR, or FLOAT_ADD, on a word of so many bytes. */
#define GSH_RING_AMO_CODE(op, bytes)                                                         \
    ((bytes) == 2 ? GSH_RING_AMO_OTHER |                                                     \
                        ((op) == GSH_AMO_FLOAT_ADD ? GSH_RING_AMO_HALF_ADD : (uint32_t)(op)) \
     : (op) == GSH_AMO_FLOAT_ADD ? GSH_RING_AMO_OTHER | GSH_RING_AMO_FLOAT_ADD               \
                                 : (uint32_t)(op))
#define GSH_RING_AMO_ARG(op, bytes, is_fetch)                                 \
    (GSH_RING_AMO_CODE(op, bytes) | ((bytes) == 8 ? GSH_RING_AMO_IS_8 : 0u) | \
     ((is_fetch) ? GSH_RING_AMO_FETCHES : 0u))

/* Written by the proxy, read by kernels; in host memory mapped for the device. Each word validates
 * itself, so one read returns the answer: bits 0-31 are a half of the value, the lower half first;
 * bits 32-63 are the mark, which is never that of the cell's previous ticket nor the 0 of fresh
 * memory. */
struct gsh_ring_reply {
    uint64_t word[2];
} GSH_RING_ALIGNED;
#define GSH_RING_REPLY_MARK(ticket) (((uint64_t)(ticket) / GSH_RING_REPLIES + 1) << 32)

struct gsh_ring_cpu {
    uint64_t cpu_tail;
    uint64_t reserved0[15];
    uint64_t cpu_done;
    uint64_t reserved1[15];
    struct gsh_ring_reply reply[GSH_RING_REPLIES];
};
GSH_RING_ASSERT(sizeof(struct gsh_ring_cpu) == 256 + 16 * GSH_RING_REPLIES, "wire");

/* One ring as kernels see it, in their PE's own device memory. The host writes the first line
 * before the first kernel; only kernels write the words after it. */
struct gsh_ring {
    uint64_t slots;   /* struct gsh_ring_slot[n_slots], host memory, device-writable */
    uint64_t cpu;     /* struct gsh_ring_cpu, host memory, device-readable */
    uint64_t wake;    /* CPU device: const struct gsh_ring_wake; else 0 */
    uint64_t n_slots; /* a power of two */
    uint64_t reserved0[12];
    uint64_t gpu_head; /* the next position to reserve */
    uint64_t reserved1[15];
    uint64_t gpu_tail; /* some cpu_tail that was read, usually the newest */
    /* Positions after a FENCE or an awaited QUIET (one under way holds back nothing), after a
     * QUIET, and after an awaited QUIET: usually the newest. Equal to gpu_head: nothing has come
     * since. */
    uint64_t gpu_fenced;
    uint64_t gpu_quieting;
    uint64_t gpu_quieted;
    uint64_t reserved2[12];
    uint64_t gpu_ticket; /* of the next reply */
    uint64_t reserved3[15];
    uint64_t gpu_serving[GSH_RING_REPLIES];
};
GSH_RING_ASSERT(sizeof(struct gsh_ring) == 512 + 8 * GSH_RING_REPLIES, "gsh_ring is wire");

/* The CPU device's kernels can wake a sleeping proxy; a GPU's cannot, and it naps instead.
 * call(context) is cheap when the proxy is awake. */
struct gsh_ring_wake {
    void (*call)(void *context);
    void *context;
};

/* Bit 63 of every word at this position once the slot holds this position's request. */
#define GSH_RING_LAP_BIT(position, n_slots) (((position) & (n_slots)) ? (uint64_t)0 : GSH_RING_LAP)

#endif
