/* SPDX-License-Identifier: Apache-2.0
 * The allocator of offsets. Blocks are nodes of one array, linked twice: all of them in order of
 * address, the free ones also in the list of their size class. offset_check.c checks that. Internal
 * units are granules. */
#include "heap/offset.h"

#include <stdlib.h>
#include <string.h>
#include "base/fault.h"
#include "base/util.h"
#include "heap/offset_impl.h"

static unsigned log2_floor(uint64_t v)
{
    return 63u - (unsigned)__builtin_clzll(v);
}

/* The class that a block of n granules is listed in: exact below 32, then 32 classes per octave. */
unsigned gsh_offset_bin(uint64_t n)
{
    if (n < GSH_OFFSET_SUBBINS) {
        return (unsigned)n;
    }
    unsigned octave = log2_floor(n);
    unsigned sub = (unsigned)(n >> (octave - 5)) & (GSH_OFFSET_SUBBINS - 1);
    return (octave - 4) * GSH_OFFSET_SUBBINS + sub;
}

/* The first class whose blocks all have at least n granules. */
static unsigned bin_at_least(uint64_t n)
{
    if (n < GSH_OFFSET_SUBBINS) {
        return (unsigned)n;
    }
    return gsh_offset_bin(n + ((uint64_t)1 << (log2_floor(n) - 5)) - 1);
}

/* The first class from `bin` on that has a block; GSH_OFFSET_BINS when none has. */
static unsigned next_bin(const struct gsh_offset *o, unsigned bin)
{
    if (bin >= GSH_OFFSET_BINS) {
        return GSH_OFFSET_BINS;
    }
    unsigned row = bin / GSH_OFFSET_SUBBINS;
    uint32_t subs = o->subs[row] & (UINT32_MAX << (bin % GSH_OFFSET_SUBBINS));
    if (subs == 0) {
        uint64_t rows = o->rows & ~(((uint64_t)2 << row) - 1);
        if (rows == 0) {
            return GSH_OFFSET_BINS;
        }
        row = (unsigned)__builtin_ctzll(rows);
        subs = o->subs[row];
    }
    return row * GSH_OFFSET_SUBBINS + (unsigned)__builtin_ctz(subs);
}

static void list_insert(struct gsh_offset *o, uint32_t i)
{
    struct node *node = &o->nodes[i];
    unsigned bin = gsh_offset_bin(node->n);
    node->is_used = false;
    node->slack = 0;
    node->free_prev = 0;
    node->free_next = o->bins[bin];
    if (node->free_next) {
        o->nodes[node->free_next].free_prev = i;
    }
    o->bins[bin] = i;
    o->subs[bin / GSH_OFFSET_SUBBINS] |= (uint32_t)1 << (bin % GSH_OFFSET_SUBBINS);
    o->rows |= (uint64_t)1 << (bin / GSH_OFFSET_SUBBINS);
}

static void list_remove(struct gsh_offset *o, uint32_t i)
{
    const struct node *node = &o->nodes[i];
    unsigned bin = gsh_offset_bin(node->n), row = bin / GSH_OFFSET_SUBBINS;
    if (node->free_next) {
        o->nodes[node->free_next].free_prev = node->free_prev;
    }
    if (node->free_prev) {
        o->nodes[node->free_prev].free_next = node->free_next;
        return;
    }
    o->bins[bin] = node->free_next;
    if (o->bins[bin] == 0) {
        o->subs[row] &= ~((uint32_t)1 << (bin % GSH_OFFSET_SUBBINS));
        if (o->subs[row] == 0) {
            o->rows &= ~((uint64_t)1 << row);
        }
    }
}

/* A node for [off, off + n) after block `after` (0: in front); the caller has prepared room. */
static uint32_t block_insert(struct gsh_offset *o, uint32_t after, uint64_t off, uint64_t n)
{
    uint32_t i = o->spare;
    struct node *node = &o->nodes[i];
    o->spare = node->free_next;
    o->n_spare--;

    uint32_t next = after ? o->nodes[after].next : o->first;
    *node = (struct node){.off = off, .n = n, .prev = after, .next = next};
    *(after ? &o->nodes[after].next : &o->first) = i;
    *(next ? &o->nodes[next].prev : &o->last) = i;

    uint64_t w = off / GSH_OFFSET_WINDOW;
    if (o->windows[w] == 0 || o->nodes[o->windows[w]].off > off) {
        o->windows[w] = i;
    }
    o->window_bits[w / 64] |= (uint64_t)1 << (w % 64);
    return i;
}

static void block_remove(struct gsh_offset *o, uint32_t i)
{
    struct node *node = &o->nodes[i];
    uint64_t w = node->off / GSH_OFFSET_WINDOW;
    if (o->windows[w] == i) {
        bool stays = node->next && o->nodes[node->next].off / GSH_OFFSET_WINDOW == w;
        o->windows[w] = stays ? node->next : 0;
        if (!stays) {
            o->window_bits[w / 64] &= ~((uint64_t)1 << (w % 64));
        }
    }
    *(node->prev ? &o->nodes[node->prev].next : &o->first) = node->next;
    *(node->next ? &o->nodes[node->next].prev : &o->last) = node->prev;
    node->free_next = o->spare;
    o->spare = i;
    o->n_spare++;
}

/* The block, live or free, that holds granule g; 0 when g is not managed. */
static uint32_t block_at(const struct gsh_offset *o, uint64_t g)
{
    if (g >= o->size) {
        return 0;
    }
    uint64_t w = g / GSH_OFFSET_WINDOW;
    uint32_t i = o->windows[w];
    if (i == 0 || o->nodes[i].off > g) {
        /* It starts in an earlier window: the last one where any block starts. */
        uint64_t word = w / 64;
        uint64_t bits = o->window_bits[word] & (((uint64_t)1 << (w % 64)) - 1);
        while (bits == 0) {
            bits = o->window_bits[--word]; /* terminates: a block starts at 0 */
        }
        i = o->windows[word * 64 + log2_floor(bits)];
    }
    while (o->nodes[i].next && o->nodes[o->nodes[i].next].off <= g) {
        i = o->nodes[i].next;
    }
    return i;
}

static bool fits(const struct node *node, uint64_t n, uint64_t align)
{
    uint64_t end = node->off + node->n, start = gsh_align_up(node->off, align);
    return start <= end && n <= end - start;
}

/* A free block with n granules at a multiple of align, 0 when there is none. */
static uint32_t find_fit(const struct gsh_offset *o, uint64_t n, uint64_t align)
{
    if (n > o->size) {
        return 0;
    }
    uint64_t padded = n + align - 1; /* any block of this length fits */
    unsigned sure = bin_at_least(padded);
    unsigned bin = next_bin(o, sure);
    if (bin < GSH_OFFSET_BINS) {
        return o->bins[bin];
    }
    /* Shorter blocks may fit, depending on their size within the class or their alignment. */
    for (bin = next_bin(o, gsh_offset_bin(n)); bin < sure && bin < GSH_OFFSET_BINS;
         bin = next_bin(o, bin + 1)) {
        for (uint32_t i = o->bins[bin]; i; i = o->nodes[i].free_next) {
            if (fits(&o->nodes[i], n, align)) {
                return i;
            }
        }
    }
    return 0;
}

/* Converts to granules; false if beyond what can be managed. */
static bool to_granules(uint64_t bytes, uint64_t align, uint64_t *n, uint64_t *align_n)
{
    if (bytes == 0 || bytes > GSH_OFFSET_MAX_BYTES || align > GSH_OFFSET_MAX_BYTES) {
        return false;
    }
    *n = (bytes + GSH_OFFSET_GRANULE - 1) / GSH_OFFSET_GRANULE;
    *align_n = align > GSH_OFFSET_GRANULE ? align / GSH_OFFSET_GRANULE : 1;
    return true;
}

static enum gsh_result nodes_prepare(struct gsh_offset *o)
{
    const uint32_t spares_needed = 3; /* one for grow; alloc splits off at most two */
    if (o->n_spare >= spares_needed) {
        return GSH_OK;
    }
    uint32_t n = o->n_nodes < 32 ? 64 : o->n_nodes * 2;
    if (n <= o->n_nodes) {
        return gsh_note(GSH_ERR_NOMEM, "heap: 2^31 blocks are the most that can be kept");
    }
    struct node *nodes = gsh_fault() ? NULL : realloc(o->nodes, n * sizeof(*nodes));
    if (nodes == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "heap: no host memory for the list of %u blocks", n);
    }
    o->nodes = nodes;
    if (o->n_nodes == 0) {
        nodes[o->n_nodes++] = (struct node){0};
    }
    for (uint32_t i = n - 1; i >= o->n_nodes; i--) {
        nodes[i].free_next = o->spare;
        o->spare = i;
    }
    o->n_spare += n - o->n_nodes;
    o->n_nodes = n;
    return GSH_OK;
}

static enum gsh_result windows_prepare(struct gsh_offset *o, uint64_t size)
{
    uint64_t needed = size / GSH_OFFSET_WINDOW + 1;
    if (needed <= o->n_windows) {
        return GSH_OK;
    }
    uint64_t n = gsh_align_up(gsh_max_u64(needed, o->n_windows + o->n_windows / 2), 64);
    uint32_t *windows = gsh_fault() ? NULL : realloc(o->windows, n * sizeof(*windows));
    if (windows != NULL) {
        o->windows = windows;
    }
    uint64_t *bits = windows == NULL || gsh_fault() ? NULL : realloc(o->window_bits, n / 8);
    if (bits == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "heap: no host memory for an index of %llu MiB",
                        (unsigned long long)(size * GSH_OFFSET_GRANULE >> 20));
    }
    memset(windows + o->n_windows, 0, (n - o->n_windows) * sizeof(*windows));
    memset(bits + o->n_windows / 64, 0, (n - o->n_windows) / 8);
    o->window_bits = bits;
    o->n_windows = n;
    return GSH_OK;
}

enum gsh_result gsh_offset_prepare(struct gsh_offset *o, uint64_t size)
{
    if (size > GSH_OFFSET_MAX_BYTES) {
        return gsh_note(GSH_ERR_NOMEM, "heap: more than 2^62 bytes cannot be managed");
    }
    enum gsh_result r = nodes_prepare(o);
    return r != GSH_OK ? r : windows_prepare(o, size / GSH_OFFSET_GRANULE);
}

enum gsh_result gsh_offset_create(uint64_t size, struct gsh_offset **out)
{
    struct gsh_offset *o = gsh_fault() ? NULL : calloc(1, sizeof(*o));
    if (o == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "heap: no host memory for the allocator");
    }
    enum gsh_result r = gsh_offset_grow(o, size);
    if (r != GSH_OK) {
        gsh_offset_destroy(&o);
        return r;
    }
    *out = o;
    return GSH_OK;
}

void gsh_offset_destroy(struct gsh_offset **offset)
{
    struct gsh_offset *o = *offset;
    *offset = NULL;
    if (o == NULL) {
        return;
    }
    free(o->nodes);
    free(o->windows);
    free(o->window_bits);
    free(o);
}

enum gsh_result gsh_offset_alloc(struct gsh_offset *o, uint64_t bytes, uint64_t align,
                                 uint64_t *off)
{
    uint64_t n, align_n;
    if (align & (align - 1)) {
        return gsh_note(GSH_ERR_ARG, "heap: alignment %llu is not a power of two",
                        (unsigned long long)align);
    }
    uint32_t i = to_granules(bytes, align, &n, &align_n) ? find_fit(o, n, align_n) : 0;
    if (i == 0) {
        return gsh_note(GSH_ERR_NOMEM, "heap: no free block of %llu bytes",
                        (unsigned long long)bytes);
    }
    enum gsh_result r = nodes_prepare(o);
    if (r != GSH_OK) {
        return r;
    }

    list_remove(o, i);
    uint64_t front = gsh_align_up(o->nodes[i].off, align_n) - o->nodes[i].off;
    if (front > 0) {
        uint64_t rest = o->nodes[i].n - front;
        o->nodes[i].n = front;
        list_insert(o, i);
        i = block_insert(o, i, o->nodes[i].off + front, rest);
    }
    if (o->nodes[i].n > n) {
        uint64_t rest = o->nodes[i].n - n;
        o->nodes[i].n = n;
        list_insert(o, block_insert(o, i, o->nodes[i].off + n, rest));
    }
    o->nodes[i].is_used = true;
    o->nodes[i].slack = (uint16_t)(n * GSH_OFFSET_GRANULE - bytes);
    o->used += n;
    o->high_water = gsh_max_u64(o->high_water, o->used);
    o->n_used++;
    *off = o->nodes[i].off * GSH_OFFSET_GRANULE;
    return GSH_OK;
}

static uint32_t find_used(const struct gsh_offset *o, uint64_t off)
{
    uint32_t i = block_at(o, off / GSH_OFFSET_GRANULE);
    return i && o->nodes[i].is_used ? i : 0;
}

enum gsh_result gsh_offset_free(struct gsh_offset *o, uint64_t off)
{
    uint32_t i = find_used(o, off);
    if (i == 0 || o->nodes[i].off * GSH_OFFSET_GRANULE != off) {
        return gsh_note(GSH_ERR_ARG, "heap: no allocation starts at offset %llu",
                        (unsigned long long)off);
    }
    o->used -= o->nodes[i].n;
    o->n_used--;
    uint32_t prev = o->nodes[i].prev, next = o->nodes[i].next;
    if (next && !o->nodes[next].is_used) {
        list_remove(o, next);
        o->nodes[i].n += o->nodes[next].n;
        block_remove(o, next);
    }
    if (prev && !o->nodes[prev].is_used) {
        list_remove(o, prev);
        o->nodes[prev].n += o->nodes[i].n;
        block_remove(o, i);
        i = prev;
    }
    list_insert(o, i);
    return GSH_OK;
}

/* The last block if it is free, else 0. */
static uint32_t free_tail(const struct gsh_offset *o)
{
    return o->last && !o->nodes[o->last].is_used ? o->last : 0;
}

uint64_t gsh_offset_end(const struct gsh_offset *o)
{
    uint32_t tail = free_tail(o);
    return (tail ? o->nodes[tail].off : o->size) * GSH_OFFSET_GRANULE;
}

uint64_t gsh_offset_need(const struct gsh_offset *o, uint64_t bytes, uint64_t align)
{
    uint64_t n, align_n;
    if (!to_granules(bytes, align, &n, &align_n)) {
        return UINT64_MAX;
    }
    if (find_fit(o, n, align_n)) {
        return o->size * GSH_OFFSET_GRANULE;
    }
    /* In granules nothing here exceeds 2^55. */
    uint64_t end = gsh_align_up(gsh_offset_end(o) / GSH_OFFSET_GRANULE, align_n) + n;
    return end > GSH_OFFSET_MAX_BYTES / GSH_OFFSET_GRANULE ? UINT64_MAX : end * GSH_OFFSET_GRANULE;
}

enum gsh_result gsh_offset_grow(struct gsh_offset *o, uint64_t size)
{
    uint64_t n = size / GSH_OFFSET_GRANULE;
    if (size % GSH_OFFSET_GRANULE || n < o->size) {
        return gsh_note(GSH_ERR_ARG, "heap: cannot grow to %llu bytes", (unsigned long long)size);
    }
    enum gsh_result r = gsh_offset_prepare(o, size);
    if (r != GSH_OK || n == o->size) {
        return r;
    }
    uint32_t tail = free_tail(o);
    if (tail) {
        list_remove(o, tail);
        o->nodes[tail].n += n - o->size;
    } else {
        tail = block_insert(o, o->last, o->size, n - o->size);
    }
    list_insert(o, tail);
    o->size = n;
    return GSH_OK;
}

void gsh_offset_shrink(struct gsh_offset *o, uint64_t size)
{
    uint64_t n = size / GSH_OFFSET_GRANULE;
    uint32_t tail = free_tail(o);
    if (!tail || n >= o->size || n < o->nodes[tail].off) {
        return;
    }
    list_remove(o, tail);
    o->nodes[tail].n = n - o->nodes[tail].off;
    if (o->nodes[tail].n > 0) {
        list_insert(o, tail);
    } else {
        block_remove(o, tail);
    }
    o->size = n;
}

static struct gsh_offset_block block_of(const struct node *node)
{
    return (struct gsh_offset_block){
        .off = node->off * GSH_OFFSET_GRANULE,
        .bytes = node->n * GSH_OFFSET_GRANULE - node->slack,
    };
}

bool gsh_offset_containing(const struct gsh_offset *o, uint64_t off, struct gsh_offset_block *out)
{
    uint32_t i = find_used(o, off);
    if (i) {
        *out = block_of(&o->nodes[i]);
    }
    return i != 0;
}

bool gsh_offset_find(const struct gsh_offset *o, uint64_t off, struct gsh_offset_block *out)
{
    struct gsh_offset_block block;
    if (!gsh_offset_containing(o, off, &block) || block.off != off) {
        return false;
    }
    *out = block;
    return true;
}

uint64_t gsh_offset_list(const struct gsh_offset *o, uint64_t from, uint64_t (*pairs)[2],
                         uint64_t max)
{
    uint64_t count = 0;
    uint32_t i = block_at(o, from / GSH_OFFSET_GRANULE);
    for (; i; i = o->nodes[i].next) {
        struct gsh_offset_block block = block_of(&o->nodes[i]);
        if (!o->nodes[i].is_used || block.off < from) {
            continue;
        }
        if (count < max) {
            pairs[count][0] = block.off;
            pairs[count][1] = block.bytes;
        }
        count++;
    }
    return count;
}

void gsh_offset_stats_get(const struct gsh_offset *o, struct gsh_offset_stats *out)
{
    uint64_t largest = 0;
    if (o->rows) {
        unsigned row = log2_floor(o->rows);
        unsigned bin = row * GSH_OFFSET_SUBBINS + log2_floor(o->subs[row]);
        for (uint32_t i = o->bins[bin]; i; i = o->nodes[i].free_next) {
            largest = gsh_max_u64(largest, o->nodes[i].n);
        }
    }
    *out = (struct gsh_offset_stats){
        .size = o->size * GSH_OFFSET_GRANULE,
        .used = o->used * GSH_OFFSET_GRANULE,
        .high_water = o->high_water * GSH_OFFSET_GRANULE,
        .largest_free = largest * GSH_OFFSET_GRANULE,
        .tail_free = o->size * GSH_OFFSET_GRANULE - gsh_offset_end(o),
        .n_blocks = o->n_used,
    };
}
