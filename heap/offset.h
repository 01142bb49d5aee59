/* SPDX-License-Identifier: Apache-2.0
 * An allocator of offsets: pure arithmetic on [0, size), without pointers into the managed memory,
 * locks or CUDA. Two instances given the same calls give the same offsets; that makes a heap
 * symmetric. Bookkeeping is in ordinary host memory. Not thread-safe.
 *
 * Two-level segregated fit: a free block is found, split, and joined with its neighbours in a
 * bounded number of steps. There is one exception: before the heap would have to grow, the classes
 * whose blocks may be too small are searched block by block. */
#ifndef GSH_OFFSET_H
#define GSH_OFFSET_H

#include <stdbool.h>
#include <stdint.h>
#include "base/result.h"

#define GSH_OFFSET_GRANULE   512u                /* sizes are rounded up, offsets are multiples */
#define GSH_OFFSET_MAX_BYTES ((uint64_t)1 << 62) /* of managed size, of a block, of alignment */

struct gsh_offset;

/* A live allocation; bytes as asked for, before rounding. */
struct gsh_offset_block {
    uint64_t off, bytes;
};

struct gsh_offset_stats {
    uint64_t size;         /* managed bytes */
    uint64_t used;         /* in live blocks, rounded up to granules */
    uint64_t high_water;   /* the most that used has been */
    uint64_t largest_free; /* alloc of this many bytes (alignment one granule) works now */
    uint64_t tail_free;    /* free bytes at the end of the managed range */
    uint64_t n_blocks;     /* live */
};

/* Manages [0, size), all of it free; size is a multiple of the granule. */
GSH_CHECK_RESULT enum gsh_result gsh_offset_create(uint64_t size, struct gsh_offset **out);
void gsh_offset_destroy(struct gsh_offset **offset);

/* Makes room in the bookkeeping, so that the next alloc, and a grow up to `size`, cannot fail for
 * lack of it. GSH_ERR_NOMEM if there is none; allocations are the same either way. */
GSH_CHECK_RESULT enum gsh_result gsh_offset_prepare(struct gsh_offset *o, uint64_t size);

/* align: a power of two, 0 is one granule. GSH_ERR_NOMEM, noted and changing nothing, when no free
 * block fits (gsh_offset_need says what would help). */
GSH_CHECK_RESULT enum gsh_result gsh_offset_alloc(struct gsh_offset *o, uint64_t bytes,
                                                  uint64_t align, uint64_t *off);
/* GSH_ERR_ARG, noted, when off is not the start of a live block. */
GSH_CHECK_RESULT enum gsh_result gsh_offset_free(struct gsh_offset *o, uint64_t off);

/* The smallest managed size, at least the present one, with which alloc would succeed; UINT64_MAX
 * if there is none. */
uint64_t gsh_offset_need(const struct gsh_offset *o, uint64_t bytes, uint64_t align);
/* The end of the last live block: the smallest size that shrink accepts. */
uint64_t gsh_offset_end(const struct gsh_offset *o);

/* New bytes at the end are free. size: a multiple of the granule, not below the present one. */
GSH_CHECK_RESULT enum gsh_result gsh_offset_grow(struct gsh_offset *o, uint64_t size);
/* size: a multiple of the granule between gsh_offset_end and the present size. Cannot fail. */
void gsh_offset_shrink(struct gsh_offset *o, uint64_t size);

/* The live block that starts at off, or that holds the byte at off (rounded-up bytes count as
 * the block's). At most 512 steps when it starts less than 256 KiB below off; else one more for
 * each 16 MiB in between. */
bool gsh_offset_find(const struct gsh_offset *o, uint64_t off, struct gsh_offset_block *out);
bool gsh_offset_containing(const struct gsh_offset *o, uint64_t off, struct gsh_offset_block *out);

/* Live blocks from offset `from` on, in order, as pairs (offset, bytes): writes at most max,
 * returns how many there are. */
uint64_t gsh_offset_list(const struct gsh_offset *o, uint64_t from, uint64_t (*pairs)[2],
                         uint64_t max);

void gsh_offset_stats_get(const struct gsh_offset *o, struct gsh_offset_stats *out);

/* Walks everything and compares it with the invariants stated in offset_impl.h: GSH_ERR_BUG, noted,
 * naming the first that does not hold. */
GSH_CHECK_RESULT enum gsh_result gsh_offset_check(const struct gsh_offset *o);

#endif
