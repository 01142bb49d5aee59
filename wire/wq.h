/* SPDX-License-Identifier: Apache-2.0
 * Wire between kernels and a network adapter: the work-queue entries, doorbells and completions of
 * mlx5 adapters, and how gshmem uses them. Compiles as C17, C++17 and CUDA; C standard headers
 * only. tests/unit/nic_wire.c compares the layouts with the system's header of mlx5.
 *
 * Numbers on this wire are big-endian. A block has 64 bytes, eight words of the host's; an entry
 * takes one block or two, of which it fills `ds` segments of 16 bytes:
 *   control | remote address | one of:
 *     data segments {bytes, local key, local address}
 *     inline: {bytes | bit 31} and the bytes
 *     atomic {swap or add, compare}, then a data segment for the former value
 *     masked atomic, see the encoders, then the same
 *
 * Invariants of a queue
 * - Positions are 64-bit, count blocks and never wrap; position p lies in block p % depth, and its
 *   index on the wire is p mod 65536. depth is a power of two, at most GSH_WQ_DEPTH_MAX.
 * - Producers reserve by one atomic add on gpu_head, a warp once for its threads. They write
 *   position p only when p < done + depth. Between reserving and publishing a producer waits only
 *   for this room, and for those with lower positions.
 * - A reservation ends with an entry of one block that asks for a completion. So the position after
 *   the newest completed entry is that after its reservation, and no block is in doubt.
 * - gpu_ready: all entries before it are reserved by threads that have written them. It moves in
 *   order. The thread that moves it while nobody rings gets the right to ring by the same swap. It
 *   fences after its entries before it rings; the others, which leave theirs to a thread that
 *   rings later, before they move it.
 * - The doorbell record holds the 16 low bits of a position that gpu_ready has had; then, after a
 *   fence, the doorbell gets that index and the queue's number. A queue may have no record: then
 *   the adapter takes the index from the doorbell. gpu_rung is what a thread has rung for.
 * - The completion queue is collapsed: one completion, which the adapter overwrites, names the
 *   index of the newest completed entry. gpu_done is a position after a completed entry that some
 *   thread has seen; it never decreases, and is at most `depth` behind, so the 16 bits are enough.
 * - An adapter carries out the entries of a queue in order, but a WRITE may come before earlier
 *   READs and atomics, unless an entry with the fence bit stands between them. */
#ifndef GSHMEM_WQ_H
#define GSHMEM_WQ_H

#include <stdint.h>

#ifdef __cplusplus
#define GSH_WQ_ASSERT(c, text) static_assert(c, text)
#else
#define GSH_WQ_ASSERT(c, text) _Static_assert(c, text)
#endif
#ifdef __CUDACC__
#define GSH_WQ_FUNCTION __host__ __device__ __forceinline__
#else
#define GSH_WQ_FUNCTION static inline
#endif

#define GSH_WQ_BLOCK       64u
#define GSH_WQ_WORDS       8u /* of a block */
#define GSH_WQ_DEPTH_MIN   256u
#define GSH_WQ_DEPTH_MAX   32768u
#define GSH_WQ_INLINE_MAX  28u                 /* bytes in an entry of one block */
#define GSH_WQ_INLINE2_MAX 92u                 /* of two */
#define GSH_WQ_BYTES_MAX   ((uint64_t)1 << 30) /* that one entry moves */

enum gsh_wq_opcode {
    GSH_WQ_NOP = 0x00,
    GSH_WQ_WRITE = 0x08,
    GSH_WQ_WRITE_IMM = 0x09,
    GSH_WQ_READ = 0x10,
    GSH_WQ_CS = 0x11,
    GSH_WQ_FA = 0x12,
    GSH_WQ_MASKED_CS = 0x14,
    GSH_WQ_MASKED_FA = 0x15,
};

/* Which word a masked atomic changes: bits 24-31 of the control segment's first number. */
#define GSH_WQ_MASKED_4 0x08u
#define GSH_WQ_MASKED_8 0x09u

/* The byte fm_ce_se of a control segment. */
#define GSH_WQ_FENCE    0x80u /* earlier READs and atomics of the queue are over */
#define GSH_WQ_COMPLETE 0x08u /* ask for a completion */

#define GSH_WQ_INLINE_BIT 0x80000000u

/* One block. Byte i of the wire is byte i in memory. */
struct gsh_wq_block {
    uint64_t word[GSH_WQ_WORDS];
} __attribute__((aligned(64)));
GSH_WQ_ASSERT(sizeof(struct gsh_wq_block) == GSH_WQ_BLOCK, "gsh_wq_block is wire");

/* The segments, for readers. */
struct gsh_wq_control {
    uint32_t opmod_index_opcode, number_ds;
    uint8_t signature, stream[2], flags;
    uint32_t immediate;
};
struct gsh_wq_remote {
    uint64_t address;
    uint32_t key, reserved;
};
struct gsh_wq_data {
    uint32_t bytes, key;
    uint64_t address;
};
struct gsh_wq_atomic {
    uint64_t swap_add, compare;
};
GSH_WQ_ASSERT(sizeof(struct gsh_wq_control) == 16, "gsh_wq_control is wire");
GSH_WQ_ASSERT(sizeof(struct gsh_wq_remote) == 16, "gsh_wq_remote is wire");
GSH_WQ_ASSERT(sizeof(struct gsh_wq_data) == 16, "gsh_wq_data is wire");
GSH_WQ_ASSERT(sizeof(struct gsh_wq_atomic) == 16, "gsh_wq_atomic is wire");

/* A completion. op_own: the opcode in the upper half; bit 0 is the owner, which changes with each
 * lap of a queue of several. One of error has the two syndromes. */
struct gsh_wq_completion {
    uint8_t reserved0[36];
    uint32_t immediate;
    uint8_t reserved1[4];
    uint32_t bytes;
    uint8_t reserved2[6];
    uint8_t vendor_syndrome, syndrome;
    uint32_t opcode_number;
    uint16_t index;
    uint8_t signature, op_own;
};
GSH_WQ_ASSERT(sizeof(struct gsh_wq_completion) == 64, "gsh_wq_completion is wire");

enum gsh_wq_completion_opcode {
    GSH_WQ_DONE = 0,
    GSH_WQ_GOT_WRITE_IMM = 1,
    GSH_WQ_ERROR = 13,
    GSH_WQ_INVALID = 15, /* as the host leaves it before the first */
};

enum gsh_wq_syndrome {
    GSH_WQ_LOCAL_LENGTH = 0x01,
    GSH_WQ_LOCAL_OPERATION = 0x02,
    GSH_WQ_LOCAL_PROTECTION = 0x04,
    GSH_WQ_FLUSHED = 0x05,
    GSH_WQ_REMOTE_INVALID = 0x12,
    GSH_WQ_REMOTE_ACCESS = 0x13,
    GSH_WQ_REMOTE_OPERATION = 0x14,
    GSH_WQ_RETRY_EXCEEDED = 0x15,
};

/* ---- numbers --------------------------------------------------------------------------------- */

GSH_WQ_FUNCTION uint32_t gsh_wq_be32(uint32_t v)
{
#if defined(__CUDA_ARCH__)
    return __byte_perm(v, 0, 0x0123);
#else
    return __builtin_bswap32(v);
#endif
}

GSH_WQ_FUNCTION uint64_t gsh_wq_be64(uint64_t v)
{
#if defined(__CUDA_ARCH__)
    return (uint64_t)gsh_wq_be32((uint32_t)v) << 32 | gsh_wq_be32((uint32_t)(v >> 32));
#else
    return __builtin_bswap64(v);
#endif
}

GSH_WQ_FUNCTION uint16_t gsh_wq_be16(uint16_t v)
{
    return (uint16_t)(v << 8 | v >> 8);
}

/* Two numbers of the wire, the first at the lower address, as a word of the host's. */
GSH_WQ_FUNCTION uint64_t gsh_wq_pair(uint32_t first, uint32_t second)
{
    return (uint64_t)gsh_wq_be32(first) | (uint64_t)gsh_wq_be32(second) << 32;
}

/* ---- the encoder ----------------------------------------------------------------------------- */

/* An entry's control segment but for its index, which gsh_wq_at_position adds when it is known. */
GSH_WQ_FUNCTION void gsh_wq_fill_control(uint64_t *word, uint32_t opcode, uint32_t opmod,
                                         uint32_t number, uint32_t ds, uint32_t flags)
{
    word[0] = gsh_wq_pair(opmod << 24 | opcode, number << 8 | ds);
    word[1] = (uint64_t)flags << 24;
}

GSH_WQ_FUNCTION uint64_t gsh_wq_at_position(uint64_t first_word, uint64_t position)
{
    return first_word | (uint64_t)(gsh_wq_be32((uint32_t)(position & 0xffff) << 8));
}

GSH_WQ_FUNCTION void gsh_wq_fill_remote(uint64_t *word, uint64_t address, uint32_t key)
{
    word[2] = gsh_wq_be64(address);
    word[3] = gsh_wq_be32(key);
}

/* A data segment, at its two words. */
GSH_WQ_FUNCTION void gsh_wq_fill_data(uint64_t *word, uint64_t address, uint32_t bytes,
                                      uint32_t key)
{
    word[0] = gsh_wq_pair(bytes, key);
    word[1] = gsh_wq_be64(address);
}

/* Bytes that travel in the entry: the segment's number, in the low half of a word of the host's. */
GSH_WQ_FUNCTION uint32_t gsh_wq_inline_bytes(uint32_t bytes)
{
    return gsh_wq_be32(bytes | GSH_WQ_INLINE_BIT);
}

/* Segments of 16 bytes in an entry with so many bytes inline. */
GSH_WQ_FUNCTION uint32_t gsh_wq_inline_ds(uint32_t bytes)
{
    return 2 + (4 + bytes + 15) / 16;
}

/* ---- doorbells and completions --------------------------------------------------------------- */

/* What the doorbell record's send word becomes, for a queue whose entries before `end` are ready.
 */
GSH_WQ_FUNCTION uint32_t gsh_wq_record(uint64_t end)
{
    return gsh_wq_be32((uint32_t)(end & 0xffff));
}

GSH_WQ_FUNCTION uint64_t gsh_wq_doorbell(uint64_t end, uint32_t number)
{
    return gsh_wq_pair((uint32_t)(end & 0xffff) << 8, number << 8);
}

/* The index that a doorbell has. */
GSH_WQ_FUNCTION uint32_t gsh_wq_rung_index(uint64_t doorbell)
{
    return (uint32_t)(gsh_wq_be64(doorbell) >> 40) & 0xffff;
}

/* The last four bytes of a completion, as a number of the host's: index, signature, op_own. */
#define GSH_WQ_COMPLETION_LAST 60u

GSH_WQ_FUNCTION uint32_t gsh_wq_completed_opcode(uint32_t last)
{
    return last >> 28;
}

/* The position after the completed entry. The entries before `known` are complete, and fewer than
 * 65536 have been completed since. */
GSH_WQ_FUNCTION uint64_t gsh_wq_completed_end(uint32_t last, uint64_t known)
{
    uint32_t index = gsh_wq_be16((uint16_t)last);
    return known + ((index + 1 - (uint32_t)known) & 0xffff);
}

#endif
