/* SPDX-License-Identifier: Apache-2.0
 * How far the heap grows, and in what chunks. */
#include "heap/grow.h"

#include <inttypes.h>
#include <stdio.h>
#include "base/log.h"
#include "base/util.h"
#include "heap/memory.h"
#include "heap/offset_locked.h"

/* A growth takes at least 1/8 of the present size, or 64 MiB if that is less, and at least
 * room_bytes, so that many small allocations take few steps. */
#define GROWTH_SHARE 8
#define GROWTH_LIMIT ((uint64_t)64 << 20)
/* A growth that would take this many large chunks is not split into small ones, because each small
 * one takes time as well. */
#define SMALL_CHUNKS 8

struct gsh_heap_plan gsh_heap_first_plan(const struct gsh_heap *heap, uint64_t internal_bytes)
{
    struct gsh_heap_plan plan = {.exact = gsh_align_up(internal_bytes, GSH_MEMORY_CHUNK)};
    plan.generous = gsh_max_u64(plan.exact, gsh_align_up(heap->first_bytes, GSH_MEMORY_CHUNK));
    plan.generous = gsh_min_u64(plan.generous, heap->stride);
    return plan;
}

enum gsh_result gsh_heap_plan(const struct gsh_heap *heap, uint64_t bytes, uint64_t align,
                              struct gsh_heap_plan *plan, uint16_t *flags)
{
    uint64_t committed = heap->physical.committed;
    uint64_t need = gsh_offset_need(heap->offset, bytes, align);
    const uint64_t limit = gsh_aliases_limit(&heap->aliases);
    if (need > limit) {
        return gsh_note(GSH_ERR_NOMEM,
                        "the heap would outgrow its range of %" PRIu64
                        " bytes; GSHMEM_HEAP_RANGE sets that",
                        limit);
    }
    if (need <= committed) {
        return GSH_OK;
    }
    plan->exact = gsh_align_up(need, GSH_MEMORY_CHUNK) - committed;
    uint64_t share = gsh_min_u64(committed / GROWTH_SHARE, GROWTH_LIMIT);
    share = gsh_max_u64(share, heap->room_bytes);
    plan->generous = gsh_max_u64(plan->exact, gsh_align_up(share, GSH_MEMORY_CHUNK));
    plan->generous = gsh_min_u64(plan->generous, heap->stride - committed);
    if (plan->generous > limit - committed) {
        *flags = 0;
    }
    return GSH_OK;
}

/* The largest chunk that a growth by so many bytes should take. */
static uint64_t chunk_limit(const struct gsh_heap *heap, uint64_t bytes)
{
    const struct gsh_physical *p = &heap->physical;
    if (bytes < heap->large_bytes || bytes / SMALL_CHUNKS >= heap->large_bytes) {
        return bytes;
    }
    for (int c = 0; c < p->n_chunks; c++) {
        if (p->chunks[c].bytes >= heap->large_bytes) {
            return bytes;
        }
    }
    return heap->large_bytes - GSH_MEMORY_CHUNK;
}

/* Grows by all of the bytes or, as long as no PE is lost, by none. */
static enum gsh_result grow_by(struct gsh_heap *heap, uint64_t bytes, uint64_t zero_bytes,
                               enum gsh_result prior, const char *what)
{
    struct gsh_physical *p = &heap->physical;
    const uint64_t before = p->committed, end = before + bytes, limit = chunk_limit(heap, bytes);
    enum gsh_result r = GSH_OK;
    while (r == GSH_OK && p->committed < end) {
        uint64_t n = gsh_min_u64(end - p->committed, limit), done = p->committed - before;
        uint64_t zero = done < zero_bytes ? gsh_min_u64(zero_bytes - done, n) : 0;
        r = gsh_physical_grow(p, n, zero, done == 0 ? prior : GSH_OK, what);
    }
    if (r == GSH_OK || gsh_is_loss(r) || p->is_over || p->committed == before) {
        return r;
    }
    enum gsh_result undone = gsh_physical_shrink(p, before, 0);
    return undone == GSH_OK ? r : undone;
}

enum gsh_result gsh_heap_grow(struct gsh_heap *heap, const struct gsh_heap_plan *plan,
                              bool try_generous, uint64_t zero_bytes, enum gsh_result prior,
                              const char *what)
{
    enum gsh_result r = GSH_ERR_NOMEM;
    char why[256]; /* the first try has words of its own; a vote passes on no more */
    snprintf(why, sizeof(why), "%s", prior == GSH_OK ? "" : gsh_last_error());
    if (try_generous && plan->generous > plan->exact) {
        r = grow_by(heap, plan->generous, zero_bytes, prior, NULL);
        if (gsh_is_loss(r) || heap->physical.is_over) {
            return r;
        }
    }
    if (r != GSH_OK) {
        prior = prior == GSH_OK ? GSH_OK : gsh_note(prior, "%s", why);
        r = grow_by(heap, plan->exact, zero_bytes, prior, what);
    }
    if (r == GSH_OK) {
        r = gsh_heap_offset_grow(heap);
    }
    if (r == GSH_OK) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_HEAP, "the heap has grown to %" PRIu64 " bytes",
                heap->physical.committed);
    }
    return r;
}
