/* SPDX-License-Identifier: Apache-2.0
 * The collective calls: each PE votes on call and arguments, then all do the same by themselves. */
#include <inttypes.h>
#include <stdio.h>
#include "base/fault.h"
#include "base/util.h"
#include "heap/grow.h"
#include "heap/heap_impl.h"
#include "heap/memory.h"
#include "heap/offset_locked.h"

/* ---- malloc ---- */

/* In checking builds, checks that the allocator is intact. */
static enum gsh_result check_walk(const struct gsh_heap *heap)
{
#ifdef GSHMEM_CHECKS
    if (gsh_offset_check(heap->offset) != GSH_OK) {
        return gsh_fail(GSH_ERR_BUG, "%s", gsh_last_error());
    }
#endif
    (void)heap;
    return GSH_OK;
}

/* Does everything that can fail on this PE alone, before physical memory is touched. */
static enum gsh_result prepare(struct gsh_heap *heap, uint64_t bytes, uint64_t align,
                               struct gsh_heap_plan *plan, uint16_t *flags)
{
    struct gsh_physical *p = &heap->physical;
    if (bytes == 0) {
        return GSH_OK;
    }
    if (!gsh_is_pow2(align)) {
        return gsh_note(GSH_ERR_ARG, "alignment %" PRIu64 " is not a power of two", align);
    }
    if (align > heap->max_align) {
        return gsh_note(GSH_ERR_ARG,
                        "alignment %" PRIu64 " is more than the %" PRIu64
                        " that the heap's range has",
                        align, heap->max_align);
    }
    enum gsh_result r = gsh_heap_plan(heap, bytes, align, plan, flags);
    if (r == GSH_OK) {
        r = gsh_heap_offset_prepare(heap, p->committed + plan->generous);
    }
    if (r != GSH_OK || plan->exact == 0 || p->memory->ops->admit == NULL) {
        return r;
    }
    if (plan->generous > plan->exact &&
        p->memory->ops->admit(p->memory, plan->generous) != GSH_OK) {
        *flags = 0;
    }
    return p->memory->ops->admit(p->memory, plan->exact);
}

enum gsh_result gsh_heap_alloc(struct gsh_heap *heap, enum gsh_heap_call call, uint64_t bytes,
                               uint64_t align, void **out)
{
    static const enum gsh_vote_call votes[] = {
        [GSH_HEAP_MALLOC] = GSH_VOTE_MALLOC,   [GSH_HEAP_CALLOC] = GSH_VOTE_CALLOC,
        [GSH_HEAP_ALIGN] = GSH_VOTE_ALIGN,     [GSH_HEAP_REALLOC] = GSH_VOTE_REALLOC,
        [GSH_HEAP_STATICS] = GSH_VOTE_STATICS,
    };
    struct gsh_heap_plan plan = {0};
    char what[64];
    uint16_t flags = GSH_HEAP_GENEROUS_ADMITTED;
    uint64_t off = 0;
    if (align == 0 && call != GSH_HEAP_ALIGN) {
        align = GSH_OFFSET_GRANULE;
    }
    snprintf(what, sizeof(what), "%s of %" PRIu64 " bytes", gsh_vote_name(votes[call]), bytes);

    enum gsh_result r = prepare(heap, bytes, align, &plan, &flags);
    struct gsh_vote vote = {
        .call = votes[call],
        .outcome = (uint16_t)r,
        .flags = flags,
        .args = {bytes, align},
    };
    r = gsh_agree(&heap->physical.agreement, vote, what, &flags);
    if (r == GSH_OK && plan.exact > 0) {
        r = gsh_heap_grow(heap, &plan, flags & GSH_HEAP_GENEROUS_ADMITTED, 0, GSH_OK, what);
    }
    if (r != GSH_OK || bytes == 0) {
        return r;
    }
    r = gsh_heap_offset_alloc(heap, bytes, align, &off); /* prepared: cannot fail */
    if (r == GSH_OK) {
        r = check_walk(heap);
    }
    if (r != GSH_OK) {
        return r;
    }
    *out = (void *)(uintptr_t)(heap->base + off);
    return GSH_OK;
}

/* ---- free ---- */

enum gsh_result gsh_heap_free(struct gsh_heap *heap, void *ptr)
{
    struct gsh_agreement *agreement = &heap->physical.agreement;
    uint64_t off = ptr == NULL                        ? GSH_VOTE_FREE_NULL
                   : !gsh_heap_contains(heap, ptr, 1) ? GSH_VOTE_FREE_FOREIGN
                                                      : (uint64_t)(uintptr_t)ptr - heap->base;
    struct gsh_vote vote = {.call = GSH_VOTE_FREE, .args = {off}};
    enum gsh_result r = gsh_agree(agreement, vote, "gshmem_free", NULL);
    if (r != GSH_OK || off == GSH_VOTE_FREE_NULL) {
        return r;
    }
    /* From here on all PEs do the same without asking: they have the same allocations. */
    if (off == GSH_VOTE_FREE_FOREIGN) {
        return gsh_agree_fail(agreement, GSH_ERR_ARG,
                              "gshmem_free: %p is not in the symmetric heap", ptr);
    }
    if (off < heap->internal_bytes || gsh_heap_offset_free(heap, off) != GSH_OK) {
        return gsh_agree_fail(agreement, GSH_ERR_ARG, "gshmem_free: no allocation starts at %p",
                              ptr);
    }
    r = gsh_physical_shrink(&heap->physical,
                            gsh_align_up(gsh_offset_end(heap->offset), GSH_MEMORY_CHUNK),
                            heap->keep_bytes);
    gsh_heap_offset_shrink(heap);
    return r == GSH_OK ? check_walk(heap) : r;
}

/* ---- memory of the program's ---- */

enum gsh_result gsh_heap_register_among(struct gsh_heap *heap, struct gsh_agreement *group,
                                        void *ptr, uint64_t bytes, void **out)
{
    uint64_t off;
    enum gsh_result r = gsh_aliases_add(&heap->aliases, group, ptr, bytes, &off);
    if (r == GSH_OK) {
        *out = (void *)(uintptr_t)(heap->base + off);
    }
    return r;
}

enum gsh_result gsh_heap_unregister_among(struct gsh_heap *heap, struct gsh_agreement *group,
                                          void *ptr, uint64_t bytes)
{
    const bool is_inside = gsh_heap_contains(heap, ptr, 1);
    const uint64_t off = is_inside ? (uint64_t)(uintptr_t)ptr - heap->base : UINT64_MAX;
    return gsh_aliases_remove(&heap->aliases, group, off, bytes);
}

enum gsh_result gsh_heap_register(struct gsh_heap *heap, void *ptr, uint64_t bytes, void **out)
{
    return gsh_heap_register_among(heap, &heap->physical.agreement, ptr, bytes, out);
}

enum gsh_result gsh_heap_unregister(struct gsh_heap *heap, void *ptr, uint64_t bytes)
{
    return gsh_heap_unregister_among(heap, &heap->physical.agreement, ptr, bytes);
}

/* ---- the end ---- */

enum gsh_result gsh_heap_leave(struct gsh_heap *heap)
{
    struct gsh_vote vote = {.call = GSH_VOTE_FINALIZE};
    return gsh_agree(&heap->physical.agreement, vote, "gshmem_finalize", NULL);
}
