/* SPDX-License-Identifier: Apache-2.0
 * The allocator's internals, shared by offset.c, which changes them, and offset_check.c, which
 * walks them. No other file includes this. */
#ifndef GSH_OFFSET_IMPL_H
#define GSH_OFFSET_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#define GSH_OFFSET_SUBBINS 32u /* classes per octave: a class is at most 1/32 too wide */
#define GSH_OFFSET_ROWS    51u /* octaves: a block and alignment of 2^62 bytes: 2^54 granules */
#define GSH_OFFSET_BINS    (GSH_OFFSET_ROWS * GSH_OFFSET_SUBBINS)
#define GSH_OFFSET_WINDOW  512u /* granules: 256 KiB */

/* A block. Links are indices into nodes; 0, which is never a block, is none. */
struct node {
    uint64_t off, n;               /* granules */
    uint32_t prev, next;           /* by address */
    uint32_t free_prev, free_next; /* free block: in its class; spare node: free_next only */
    uint16_t slack;                /* bytes that rounding added */
    bool is_used;
};

/* Invariants, where blocks are the nodes reached from `first` by `next`, in that order:
 *
 *   block[0].off = 0,  block[i].off + block[i].n = block[i+1].off,  the last one ends at size;
 *   sum of n over live blocks = used <= high_water,  sum of n over all blocks = size;
 *   block[i].n > 0, and of two neighbours at least one is live;
 *   a block is in the list bins[gsh_offset_bin(n)] exactly once if it is free, else in none;
 *   bins[b] != 0  <=>  bit b % 32 of subs[b / 32];   subs[r] != 0  <=>  bit r of rows;
 *   windows[w] = the first block with off in [w, w + 1) * WINDOW, or 0;  != 0  <=>  its window_bit;
 *   1 + number of blocks + n_spare = n_nodes.
 */
struct gsh_offset {
    uint64_t size, used, high_water, n_used;
    struct node *nodes;
    uint32_t n_nodes, n_spare, spare;
    uint32_t first, last;
    uint64_t rows;
    uint32_t subs[GSH_OFFSET_ROWS];
    uint32_t bins[GSH_OFFSET_BINS];
    uint64_t n_windows; /* a multiple of 64 */
    uint32_t *windows;
    uint64_t *window_bits;
};

unsigned gsh_offset_bin(uint64_t n);

#endif
