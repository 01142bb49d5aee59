/* SPDX-License-Identifier: Apache-2.0
 * Collective malloc and free: agreement on call and arguments, the offset allocator, which every PE
 * runs for itself with the same outcome, and growth of the physical memory below it. */
#include "heap/heap.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bootstrap/agree.h"
#include "device/state.h"
#include "heap/alias.h"
#include "heap/memory.h"
#include "heap/offset.h"
#include "heap/physical.h"
#include "runtime/base/fault.h"
#include "runtime/base/log.h"
#include "runtime/base/util.h"

/* Growth takes at least 1/8 of what is there, and the options' room_bytes, so that many small
 * allocations take few steps, but otherwise not more than 64 MiB beyond the need. */
#define GROWTH_SHARE 8
#define GROWTH_LIMIT ((uint64_t)64 << 20)
/* This many large chunks are not split into small ones, because each small one takes time as well.
 */
#define SMALL_CHUNKS 8

struct gsh_heap {
    struct gsh_physical physical;
    struct gsh_offset *offset; /* manages [0, physical.committed) */
    struct gsh_aliases aliases;
    /* Queries may come from any thread, beside the one in a collective call: they hold it shared,
     * and that one holds it alone while it changes `offset` or the list of aliases. Partner of each
     * other; nothing else is under it. */
    pthread_rwlock_t offset_lock;
    uint64_t base, stride;
    uint64_t max_align;      /* that every PE's base has */
    uint64_t internal_bytes; /* one allocation at offset 0 */
    uint64_t keep_bytes, room_bytes, large_bytes;
};

/* How far to grow for one allocation: 0 is not at all. */
struct plan {
    uint64_t exact, generous;
};

/* ---- the offset allocator, for the one thread in a collective call ---- */

static enum gsh_result offset_prepare(struct gsh_heap *heap, uint64_t size)
{
    pthread_rwlock_wrlock(&heap->offset_lock);
    enum gsh_result r = gsh_offset_prepare(heap->offset, size);
    pthread_rwlock_unlock(&heap->offset_lock);
    return r;
}

static enum gsh_result offset_grow(struct gsh_heap *heap)
{
    pthread_rwlock_wrlock(&heap->offset_lock);
    enum gsh_result r = gsh_offset_grow(heap->offset, heap->physical.committed);
    pthread_rwlock_unlock(&heap->offset_lock);
    return r;
}

static enum gsh_result offset_alloc(struct gsh_heap *heap, uint64_t bytes, uint64_t align,
                                    uint64_t *off)
{
    pthread_rwlock_wrlock(&heap->offset_lock);
    enum gsh_result r = gsh_offset_alloc(heap->offset, bytes, align, off);
    pthread_rwlock_unlock(&heap->offset_lock);
    return r;
}

static enum gsh_result offset_free(struct gsh_heap *heap, uint64_t off)
{
    pthread_rwlock_wrlock(&heap->offset_lock);
    enum gsh_result r = gsh_offset_free(heap->offset, off);
    pthread_rwlock_unlock(&heap->offset_lock);
    return r;
}

static void offset_shrink(struct gsh_heap *heap)
{
    pthread_rwlock_wrlock(&heap->offset_lock);
    gsh_offset_shrink(heap->offset, heap->physical.committed);
    pthread_rwlock_unlock(&heap->offset_lock);
}

/* ---- create and destroy ---- */

/* What PEs tell each other once. */
struct entry {
    uint64_t space; /* the leader's gsh_space; a pointer, of use in its process only */
    uint64_t align; /* of the address range */
    uint64_t device;
};
_Static_assert(sizeof(struct entry) == sizeof(struct gsh_vote), "entries travel in votes' room");

static const struct gsh_memory_ops *ops_of(const struct gsh_heap_options *options)
{
    return options->kind == GSH_MEMORY_CUDA ? gsh_memory_cuda : &gsh_memory_host;
}

static enum gsh_result check_options(const struct gsh_heap_options *o)
{
    if (ops_of(o) == NULL) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "this library was built without CUDA");
    }
    if (o->n_subscribers < 0 || o->n_subscribers > GSH_HEAP_SUBSCRIBERS_MAX) {
        return gsh_note(GSH_ERR_ARG, "%d subscribers", o->n_subscribers);
    }
    if (o->n_slots < 1 || o->my_slot < 0 || o->my_slot >= o->n_slots) {
        return gsh_note(GSH_ERR_ARG, "slot %d of %d", o->my_slot, o->n_slots);
    }
    if (o->stride_bytes == 0 || o->stride_bytes % GSH_MEMORY_CHUNK ||
        o->stride_bytes > GSH_OFFSET_MAX_BYTES / (uint64_t)o->n_slots) {
        return gsh_note(GSH_ERR_ARG,
                        "a heap range of %" PRIu64 " bytes (GSHMEM_HEAP_RANGE) is not a multiple "
                        "of 2 MiB or too large for %d slots",
                        o->stride_bytes, o->n_slots);
    }
    if (o->large_bytes % GSH_MEMORY_CHUNK || o->large_bytes == GSH_MEMORY_CHUNK) {
        return gsh_note(GSH_ERR_ARG,
                        "chunks called large from %" PRIu64 " bytes on, not from several times "
                        "2 MiB",
                        o->large_bytes);
    }
    if (o->internal_bytes > o->stride_bytes) {
        return gsh_note(GSH_ERR_NOMEM,
                        "a heap range of %" PRIu64 " bytes (GSHMEM_HEAP_RANGE) does not hold the "
                        "library's own %" PRIu64,
                        o->stride_bytes, o->internal_bytes);
    }
    return GSH_OK;
}

static struct gsh_vote create_vote(const struct gsh_heap_options *o, enum gsh_result outcome)
{
    return (struct gsh_vote){
        .call = GSH_VOTE_CREATE,
        .outcome = (uint16_t)outcome,
        .args = {o->stride_bytes, o->internal_bytes},
    };
}

/* Devices of the members of this process, each once. */
static void collect_devices(struct gsh_peers *peers, const struct gsh_heap_options *o,
                            const struct entry *entries)
{
    for (int s = 0; s < o->n_slots; s++) {
        if (s != o->my_slot && !o->is_same_process[s]) {
            continue;
        }
        CUdevice device = (CUdevice)entries[o->pe_of_slot[s]].device;
        int i = 0;
        while (i < peers->n_devices && peers->devices[i] != device) {
            i++;
        }
        if (i == peers->n_devices) {
            peers->devices[peers->n_devices++] = device;
        }
    }
}

static enum gsh_result exchange_entries(struct gsh_heap *heap, const struct gsh_heap_options *o)
{
    struct gsh_peers *peers = &heap->physical.peers;
    struct gsh_bootstrap *b = o->bootstrap;
    struct entry mine = {
        .space = gsh_peers_publish(peers),
        .align = peers->is_leader ? peers->space->range.align : UINT64_MAX,
        .device = (uint64_t)o->cuda_device,
    };
    struct entry *entries = (struct entry *)heap->physical.agreement.votes;
    enum gsh_result r = b->ops->allgather(b, &mine, sizeof(mine), entries);
    if (r != GSH_OK) {
        return r;
    }
    heap->max_align = o->stride_bytes & -o->stride_bytes;
    for (int pe = 0; pe < b->size; pe++) {
        heap->max_align = gsh_min_u64(heap->max_align, entries[pe].align);
    }
    collect_devices(peers, o, entries);
    return gsh_peers_join(peers, entries[peers->leader_pe].space, o);
}

/* The largest chunk that a growth by that many bytes should take. */
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

/* All of the bytes or none, as far as no PE is lost. */
static enum gsh_result grow_by(struct gsh_heap *heap, uint64_t bytes, uint64_t zero_bytes,
                               const char *what)
{
    struct gsh_physical *p = &heap->physical;
    const uint64_t before = p->committed, end = before + bytes, limit = chunk_limit(heap, bytes);
    enum gsh_result r = GSH_OK;
    while (r == GSH_OK && p->committed < end) {
        uint64_t n = gsh_min_u64(end - p->committed, limit), done = p->committed - before;
        uint64_t zero = done < zero_bytes ? gsh_min_u64(zero_bytes - done, n) : 0;
        r = gsh_physical_grow(p, n, zero, what);
    }
    if (r == GSH_OK || gsh_is_loss(r) || p->committed == before) {
        return r;
    }
    enum gsh_result undone = gsh_physical_shrink(p, before, 0);
    return undone == GSH_OK ? r : undone;
}

/* Takes the generous amount when it can be had, else what is needed. */
static enum gsh_result grow(struct gsh_heap *heap, const struct plan *plan, bool try_generous,
                            uint64_t zero_bytes, const char *what)
{
    enum gsh_result r = GSH_ERR_NOMEM;
    if (try_generous && plan->generous > plan->exact) {
        r = grow_by(heap, plan->generous, zero_bytes, NULL);
        if (gsh_is_loss(r)) {
            return r;
        }
    }
    if (r != GSH_OK) {
        r = grow_by(heap, plan->exact, zero_bytes, what);
    }
    if (r == GSH_OK) {
        r = offset_grow(heap);
    }
    if (r == GSH_OK) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_HEAP, "the heap has grown to %" PRIu64 " bytes",
                heap->physical.committed);
    }
    return r;
}

/* For the library's own part, at the start. */
static struct plan first_plan(const struct gsh_heap *heap, uint64_t internal_bytes)
{
    struct plan plan = {.exact = gsh_align_up(internal_bytes, GSH_MEMORY_CHUNK)};
    plan.generous = gsh_align_up(internal_bytes + heap->room_bytes, GSH_MEMORY_CHUNK);
    plan.generous = gsh_min_u64(plan.generous, heap->stride);
    return plan;
}

static enum gsh_result make_parts(struct gsh_heap *heap, const struct gsh_heap_options *o)
{
    struct gsh_physical *p = &heap->physical;
    struct gsh_memory_options options = {
        .n_slots = o->n_slots,
        .is_shared = p->peers.n_foreign > 0,
        .fabric = o->fabric,
        .cuda_device = o->cuda_device,
        .cuda_devices = p->peers.devices,
        .n_cuda_devices = p->peers.n_devices,
    };
    enum gsh_result r = ops_of(o)->create(&options, &p->memory);
    if (r == GSH_OK) {
        r = gsh_offset_create(0, &heap->offset);
    }
    gsh_aliases_init(&heap->aliases, p, o->stride_bytes, &heap->offset_lock);
    if (r == GSH_OK) {
        r = offset_prepare(heap, first_plan(heap, o->internal_bytes).generous);
    }
    return r;
}

static enum gsh_result place_internal(struct gsh_heap *heap, uint64_t bytes, const char *what)
{
    const struct plan plan = first_plan(heap, bytes);
    uint64_t off;
    if (bytes == 0) {
        return GSH_OK;
    }
    heap->internal_bytes = gsh_align_up(bytes, GSH_OFFSET_GRANULE);
    enum gsh_result r = grow(heap, &plan, true, heap->internal_bytes, what);
    if (r == GSH_OK) {
        r = offset_alloc(heap, heap->internal_bytes, 0, &off);
    }
    return r;
}

static enum gsh_result build(struct gsh_heap *heap, const struct gsh_heap_options *o)
{
    const char *what = "setting up the symmetric heap";
    struct gsh_physical *p = &heap->physical;
    p->n_subscribers = o->n_subscribers;
    memcpy(p->subscribers, o->subscribers, sizeof(p->subscribers));
    enum gsh_result r = gsh_agreement_init(&p->agreement, o->bootstrap);
    if (r != GSH_OK) {
        return r;
    }
    r = check_options(o);
    if (r == GSH_OK) {
        r = gsh_peers_init(&p->peers, o);
    }
    if (r == GSH_OK) {
        r = gsh_peers_reserve(&p->peers, ops_of(o), o);
    }
    r = gsh_agree(&p->agreement, create_vote(o, r), what, NULL);
    if (r != GSH_OK) {
        return r;
    }

    heap->stride = o->stride_bytes;
    heap->keep_bytes = o->keep_bytes;
    heap->room_bytes = o->room_bytes;
    heap->large_bytes = o->large_bytes;
    r = exchange_entries(heap, o);
    if (r == GSH_OK) {
        heap->base = gsh_peers_address(&p->peers, o->my_slot, 0);
        r = make_parts(heap, o);
    }
    r = gsh_agree(&p->agreement, create_vote(o, r), what, NULL);
    return r == GSH_OK ? place_internal(heap, o->internal_bytes, what) : r;
}

enum gsh_result gsh_heap_create(const struct gsh_heap_options *options, struct gsh_heap **out)
{
    struct gsh_heap *heap = calloc(1, sizeof(*heap));
    if (heap == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no host memory for the heap");
    }
    pthread_rwlock_init(&heap->offset_lock, NULL);
    enum gsh_result r = build(heap, options);
    if (r != GSH_OK) {
        gsh_heap_destroy(&heap);
        return r;
    }
    *out = heap;
    return GSH_OK;
}

void gsh_heap_destroy(struct gsh_heap **heap)
{
    struct gsh_heap *h = *heap;
    *heap = NULL;
    if (h == NULL) {
        return;
    }
    gsh_aliases_finish(&h->aliases);
    gsh_offset_destroy(&h->offset);
    gsh_physical_finish(&h->physical);
    pthread_rwlock_destroy(&h->offset_lock);
    free(h);
}

/* ---- queries ---- */

uint64_t gsh_heap_base(const struct gsh_heap *heap)
{
    return heap->base;
}

uint64_t gsh_heap_stride(const struct gsh_heap *heap)
{
    return heap->stride;
}

bool gsh_heap_contains(const struct gsh_heap *heap, const void *ptr, uint64_t bytes)
{
    uint64_t address = (uint64_t)(uintptr_t)ptr;
    return address >= heap->base && gsh_range_fits(address - heap->base, bytes, heap->stride);
}

/* The live block, or the lent memory, that holds offset off; has_all: all PEs have it. */
static bool find_block(struct gsh_heap *heap, uint64_t off, struct gsh_offset_block *block,
                       bool *has_all)
{
    pthread_rwlock_rdlock(&heap->offset_lock);
    bool found = gsh_offset_containing(heap->offset, off, block);
    const struct gsh_alias *alias = found ? NULL : gsh_aliases_find(&heap->aliases, off);
    *has_all = alias == NULL || alias->pes == NULL;
    if (alias != NULL) {
        *block = (struct gsh_offset_block){.off = alias->off, .bytes = alias->bytes};
        found = true;
    }
    pthread_rwlock_unlock(&heap->offset_lock);
    return found;
}

static bool is_allocated(struct gsh_heap *heap, const void *ptr, uint64_t bytes, bool *has_all)
{
    struct gsh_offset_block block;
    *has_all = true;
    if (!gsh_heap_contains(heap, ptr, bytes)) {
        return false;
    }
    uint64_t off = (uint64_t)(uintptr_t)ptr - heap->base;
    return bytes == 0 || (find_block(heap, off, &block, has_all) &&
                          gsh_range_fits(off - block.off, bytes, block.bytes));
}

bool gsh_heap_is_allocated(struct gsh_heap *heap, const void *ptr, uint64_t bytes)
{
    bool has_all;
    return is_allocated(heap, ptr, bytes, &has_all);
}

bool gsh_heap_is_symmetric(struct gsh_heap *heap, const void *ptr, uint64_t bytes)
{
    bool has_all;
    return is_allocated(heap, ptr, bytes, &has_all) && has_all;
}

uint64_t gsh_heap_size_of(struct gsh_heap *heap, const void *ptr)
{
    struct gsh_offset_block block;
    bool has_all;
    uint64_t off = (uint64_t)(uintptr_t)ptr - heap->base;
    bool starts_here = gsh_heap_contains(heap, ptr, 1) && off >= heap->internal_bytes &&
                       off < heap->physical.committed && find_block(heap, off, &block, &has_all) &&
                       block.off == off;
    return starts_here ? block.bytes : 0;
}

uint64_t gsh_heap_next_data(const struct gsh_heap *heap, uint64_t off)
{
    const struct gsh_memory *memory = heap->physical.memory;
    return memory->ops->next_data == NULL ? off : memory->ops->next_data(memory, off);
}

enum gsh_result gsh_heap_zero(struct gsh_heap *heap, void *ptr, uint64_t bytes)
{
    struct gsh_memory *memory = heap->physical.memory;
    enum gsh_result r = memory->ops->zero(memory, (uint64_t)(uintptr_t)ptr, bytes);
    return r == GSH_OK ? r : gsh_fail(r, "%s", gsh_last_error());
}

void gsh_heap_stats_get(struct gsh_heap *heap, struct gsh_heap_stats *out)
{
    struct gsh_offset_stats s;
    pthread_rwlock_rdlock(&heap->offset_lock);
    gsh_offset_stats_get(heap->offset, &s);
    const uint64_t limit = gsh_aliases_limit(&heap->aliases);
    pthread_rwlock_unlock(&heap->offset_lock);
    uint64_t committed = s.size;
    *out = (struct gsh_heap_stats){
        .range = heap->stride,
        .committed = committed,
        .used = s.used - heap->internal_bytes,
        .largest_free = gsh_max_u64(s.largest_free, s.tail_free + limit - committed),
        .high_water = s.high_water - heap->internal_bytes,
        .overhead = heap->internal_bytes,
    };
}

uint64_t gsh_heap_allocations(struct gsh_heap *heap, struct gsh_alloc_range *out, uint64_t max)
{
    pthread_rwlock_rdlock(&heap->offset_lock);
    /* gsh_alloc_range is two uint64_t, offset and bytes. */
    uint64_t n = gsh_offset_list(heap->offset, heap->internal_bytes, (uint64_t(*)[2])out, max);
    for (int i = 0; i < heap->aliases.n; i++, n++) {
        if (n < max) {
            out[n] = (struct gsh_alloc_range){.off = heap->aliases.list[i].off,
                                              .bytes = heap->aliases.list[i].bytes};
        }
    }
    pthread_rwlock_unlock(&heap->offset_lock);
    return n;
}

/* ---- malloc ---- */

/* In checking builds: the allocator is intact. */
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

enum { GENEROUS_ADMITTED = 1 };

/* The plan is the same on all PEs, whatever each of them has lent; what does not fit beside that is
 * voted against. */
static enum gsh_result make_plan(const struct gsh_heap *heap, uint64_t bytes, uint64_t align,
                                 struct plan *plan, uint16_t *flags)
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

/* All that can go wrong on this PE alone before physical memory is touched. */
static enum gsh_result prepare(struct gsh_heap *heap, uint64_t bytes, uint64_t align,
                               struct plan *plan, uint16_t *flags)
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
    enum gsh_result r = make_plan(heap, bytes, align, plan, flags);
    if (r == GSH_OK) {
        r = offset_prepare(heap, p->committed + plan->generous);
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
    struct plan plan = {0};
    char what[64];
    uint16_t flags = GENEROUS_ADMITTED;
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
        r = grow(heap, &plan, flags & GENEROUS_ADMITTED, 0, what);
    }
    if (r != GSH_OK || bytes == 0) {
        return r;
    }
    r = offset_alloc(heap, bytes, align, &off); /* prepared: cannot fail */
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
    /* From here on all PEs do the same by themselves: they have the same allocations. */
    if (off == GSH_VOTE_FREE_FOREIGN) {
        return gsh_agree_fail(agreement, GSH_ERR_ARG,
                              "gshmem_free: %p is not in the symmetric heap", ptr);
    }
    if (off < heap->internal_bytes || offset_free(heap, off) != GSH_OK) {
        return gsh_agree_fail(agreement, GSH_ERR_ARG, "gshmem_free: no allocation starts at %p",
                              ptr);
    }
    r = gsh_physical_shrink(&heap->physical,
                            gsh_align_up(gsh_offset_end(heap->offset), GSH_MEMORY_CHUNK),
                            heap->keep_bytes);
    offset_shrink(heap);
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

enum gsh_result gsh_heap_leave(struct gsh_heap *heap)
{
    struct gsh_vote vote = {.call = GSH_VOTE_FINALIZE};
    return gsh_agree(&heap->physical.agreement, vote, "gshmem_finalize", NULL);
}
