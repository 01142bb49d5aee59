/* SPDX-License-Identifier: Apache-2.0
 * Which lines of a collective go in which round, by which block, and where they lie in an inbox:
 * pure arithmetic, the same on all members, for the host and for kernels. Compiles as C17, C++17
 * and CUDA.
 *
 * An inbox has a channel for each block of a launch; a block exchanges lines with the block of its
 * number on other members alone. It begins with the channels' counts of rounds, of which each is
 * written by this member's block alone, 8 bytes each. Behind these a channel has
 * GSH_LINES_BUFFERS buffers, which rounds use in turn; a buffer has a slot for each other member; a
 * slot has room for slot_lines lines.
 *
 * A unit is another member and a line of its slot. In an item (one collective) every unit that is
 * used at all is used in every round, since the lines are divided equally among the rounds: at most
 * one line for each round and block is sent in vain. lines.cuh says what that is good for. */
#ifndef GSHMEM_ROUNDS_H
#define GSHMEM_ROUNDS_H

#include "lines.h"

#if defined(__CUDACC__)
#define GSH_ROUNDS_INLINE static __host__ __device__ __forceinline__
#else
#define GSH_ROUNDS_INLINE static inline
#endif

GSH_ROUNDS_INLINE uint64_t gsh_lines_divide_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* ---- the inbox ---- */

/* The index of `sender` among the slots of `receiver`. */
GSH_ROUNDS_INLINE uint32_t gsh_lines_slot(int sender, int receiver)
{
    return (uint32_t)(sender < receiver ? sender : sender - 1);
}

/* Its words: each channel's count of rounds, what a block tells its helper, and how often that has
 * listened (lines_pieces.cuh). */
GSH_ROUNDS_INLINE uint64_t gsh_lines_words_bytes(uint64_t n_channels)
{
    return (n_channels * 24 + 127) / 128 * 128;
}

/* From the inbox's beginning to a channel's first buffer. */
GSH_ROUNDS_INLINE uint64_t gsh_lines_channel_off(const struct gsh_lines_inbox *in, int n,
                                                 uint32_t channel)
{
    return gsh_lines_words_bytes(in->n_channels) + (uint64_t)channel * GSH_LINES_BUFFERS *
                                                       (uint32_t)(n - 1) * in->slot_lines *
                                                       in->line_room;
}

/* The lines of a slot, and how many channels there are, in that many bytes for n > 1 members;
 * false: there is too little room for any. Each channel gets room for at most `enough` lines of all
 * members together; with little memory there are fewer channels rather than tiny slots. */
GSH_ROUNDS_INLINE bool gsh_lines_divide(struct gsh_lines_inbox *in, int n, uint64_t bytes,
                                        uint32_t most_channels, uint32_t enough)
{
    const uint64_t others = (uint64_t)n - 1, least = 8;
    const uint64_t a_line = GSH_LINES_BUFFERS * others * in->line_room; /* of each slot */
    uint64_t channels = most_channels;
    uint64_t lines = 0;
    if (bytes > (uint64_t)1 << 40) {
        bytes = (uint64_t)1 << 40;
    }
    for (; channels > 0; channels = channels / 2) {
        const uint64_t counts = gsh_lines_words_bytes(channels);
        lines = bytes > counts ? (bytes - counts) / (channels * a_line) : 0;
        if (lines >= least || (channels == 1 && lines > 0)) {
            break;
        }
    }
    const uint64_t most = others >= enough ? 1 : enough / others;
    lines = lines < most ? lines : most;
    in->n_channels = (uint32_t)channels;
    in->slot_lines = (uint32_t)lines;
    return channels > 0;
}

/* ---- the slots for pieces ---- */

/* They lie at the same offset on both members: locks of the blocks, then what each warp has counted
 * itself, then the counts that it is told, then its slots. Up to the slots all is 0 at first. */
GSH_ROUNDS_INLINE uint64_t gsh_pieces_count_off(uint32_t n_blocks, uint32_t warp)
{
    return (uint64_t)n_blocks * GSH_PIECES_LOCK_ROOM + (uint64_t)warp * GSH_PIECES_COUNT_ROOM;
}
GSH_ROUNDS_INLINE uint64_t gsh_pieces_counted_off(uint32_t n_blocks, uint32_t n_warps,
                                                  uint32_t warp)
{
    return gsh_pieces_count_off(n_blocks, n_blocks * n_warps) + (uint64_t)warp * 8;
}
GSH_ROUNDS_INLINE uint64_t gsh_pieces_slot_off(uint32_t n_blocks, uint32_t n_warps, uint32_t warp)
{
    const uint64_t words = gsh_pieces_counted_off(n_blocks, n_warps, n_blocks * n_warps);
    return (words + 127) / 128 * 128 + (uint64_t)warp * GSH_PIECES_OF_WARP * GSH_PIECE_BYTES;
}

/* ---- an item ---- */

/* How an item's lines are divided: n_rounds rounds of `lines` lines, in each of n_blocks blocks. */
struct gsh_lines_rounds {
    uint32_t n_blocks, n_rounds, lines;
};

/* The blocks for an item. total: lines of a block of data, at least 1; per_block: how many lines of
 * each member a block is to handle before another one is taken along; both at least 1. */
GSH_ROUNDS_INLINE uint32_t gsh_lines_blocks(const struct gsh_lines_inbox *in, uint64_t total,
                                            uint32_t per_block)
{
    const uint64_t blocks = gsh_lines_divide_up(total, per_block);
    return blocks < in->n_channels ? (uint32_t)blocks : in->n_channels;
}

/* n_blocks: at least 1; more than there are lines, or channels, are not used. */
GSH_ROUNDS_INLINE struct gsh_lines_rounds gsh_lines_plan(const struct gsh_lines_inbox *in,
                                                         uint64_t total, uint32_t n_blocks)
{
    struct gsh_lines_rounds p;
    const uint32_t most_blocks = gsh_lines_blocks(in, total, 1);
    p.n_blocks = n_blocks < most_blocks ? n_blocks : most_blocks;
    const uint64_t each = gsh_lines_divide_up(total, p.n_blocks);
    const uint64_t rounds = gsh_lines_divide_up(each, in->slot_lines);
    p.n_rounds = (uint32_t)rounds;
    p.lines = (uint32_t)gsh_lines_divide_up(each, rounds);
    return p;
}

/* The first line that the block, counted from the item's first one, handles in a round. */
GSH_ROUNDS_INLINE uint64_t gsh_lines_first(uint32_t n_rounds, uint32_t lines, uint32_t block,
                                           uint32_t round)
{
    return ((uint64_t)block * n_rounds + round) * lines;
}

/* Whether members that give each other no data in an item exchange a line in its round: so that
 * every pair exchanges one in each item, and one in its last round, too, unless that has the first
 * round's buffer. lines.cuh says why. */
GSH_ROUNDS_INLINE int gsh_lines_both_call(uint32_t n_rounds, uint32_t round)
{
    return round == 0 || (round + 1 == n_rounds && round % GSH_LINES_BUFFERS != 0);
}

/* The bytes of block m of an item. */
GSH_ROUNDS_INLINE uint64_t gsh_lines_block_bytes(const struct gsh_lines_item *t, int m)
{
    const uint64_t before = (uint64_t)m * t->part_step;
    const uint64_t rest = before < t->total_bytes ? t->total_bytes - before : 0;
    return rest < t->block_bytes ? rest : t->block_bytes;
}

#endif
