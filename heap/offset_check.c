/* SPDX-License-Identifier: Apache-2.0
 * The walker: compares an allocator with the invariants stated in offset_impl.h. Used by tests at
 * each step and by checking builds after each change. */
#include "heap/offset.h"
#include "heap/offset_impl.h"

static enum gsh_result broken(const char *what, uint64_t where)
{
    return gsh_note(GSH_ERR_BUG, "heap: the allocator's invariant '%s' is broken at %llu", what,
                    (unsigned long long)where);
}

/* Blocks in order of address. */
static enum gsh_result check_blocks(const struct gsh_offset *o, uint64_t *n_blocks,
                                    uint64_t *n_free)
{
    uint64_t end = 0, used = 0, n_used = 0, count = 0;
    uint32_t prev = 0;
    for (uint32_t i = o->first; i; prev = i, i = o->nodes[i].next) {
        const struct node *node = &o->nodes[i];
        if (++count >= o->n_nodes) {
            return broken("the list of blocks ends", count);
        }
        if (node->off != end || node->n == 0) {
            return broken("blocks adjoin", end);
        }
        if (node->prev != prev) {
            return broken("prev mirrors next", end);
        }
        if (prev && !node->is_used && !o->nodes[prev].is_used) {
            return broken("of two neighbours at least one is live", end);
        }
        if (node->slack >= GSH_OFFSET_GRANULE || (!node->is_used && node->slack)) {
            return broken("slack is below a granule", end);
        }
        end += node->n;
        used += node->is_used ? node->n : 0;
        n_used += node->is_used;
    }
    if (end != o->size || prev != o->last) {
        return broken("the last block ends at size", end);
    }
    if (used != o->used || n_used != o->n_used || used > o->high_water) {
        return broken("live blocks sum up to used", used);
    }
    *n_blocks = count;
    *n_free = count - n_used;
    return GSH_OK;
}

static enum gsh_result check_bins(const struct gsh_offset *o, uint64_t n_free)
{
    uint64_t seen = 0;
    for (unsigned b = 0; b < GSH_OFFSET_BINS; b++) {
        uint32_t prev = 0;
        bool bit = (o->subs[b / GSH_OFFSET_SUBBINS] >> (b % GSH_OFFSET_SUBBINS)) & 1;
        if (bit != (o->bins[b] != 0)) {
            return broken("a class's bit says whether it has blocks", b);
        }
        for (uint32_t i = o->bins[b]; i; prev = i, i = o->nodes[i].free_next) {
            if (++seen > n_free) {
                return broken("free blocks are listed once", b);
            }
            if (o->nodes[i].is_used || gsh_offset_bin(o->nodes[i].n) != b) {
                return broken("a class lists free blocks of its size", b);
            }
            if (o->nodes[i].free_prev != prev) {
                return broken("free_prev mirrors free_next", b);
            }
        }
    }
    for (unsigned r = 0; r < GSH_OFFSET_ROWS; r++) {
        if (((o->rows >> r) & 1) != (o->subs[r] != 0)) {
            return broken("a row's bit says whether it has classes", r);
        }
    }
    return seen == n_free ? GSH_OK : broken("every free block is listed", seen);
}

static enum gsh_result check_windows(const struct gsh_offset *o)
{
    uint32_t i = o->first;
    for (uint64_t w = 0; w < o->n_windows; w++) {
        bool has = i && o->nodes[i].off / GSH_OFFSET_WINDOW == w;
        if (o->windows[w] != (has ? i : 0)) {
            return broken("a window knows its first block", w);
        }
        if (((o->window_bits[w / 64] >> (w % 64)) & 1) != has) {
            return broken("a window's bit says whether a block starts there", w);
        }
        while (i && o->nodes[i].off / GSH_OFFSET_WINDOW == w) {
            i = o->nodes[i].next;
        }
    }
    return i == 0 ? GSH_OK : broken("windows cover the managed range", o->n_windows);
}

enum gsh_result gsh_offset_check(const struct gsh_offset *o)
{
    uint64_t n_blocks = 0, n_free = 0, spare = 0;
    enum gsh_result r = check_blocks(o, &n_blocks, &n_free);
    if (r == GSH_OK) {
        r = check_bins(o, n_free);
    }
    if (r == GSH_OK) {
        r = check_windows(o);
    }
    if (r != GSH_OK) {
        return r;
    }
    for (uint32_t i = o->spare; i && spare <= o->n_nodes; i = o->nodes[i].free_next) {
        spare++;
    }
    if (spare != o->n_spare || 1 + n_blocks + spare != o->n_nodes) {
        return broken("every node is a block or spare", spare);
    }
    return GSH_OK;
}
