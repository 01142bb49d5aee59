/* SPDX-License-Identifier: Apache-2.0
 * Making a heap, together with all PEs, and its end. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/fault.h"
#include "base/util.h"
#include "heap/grow.h"
#include "heap/heap_impl.h"
#include "heap/memory.h"
#include "heap/offset_locked.h"

/* What each PE tells all others, once. */
struct gsh_heap_entry {
    uint64_t space; /* the leader's gsh_space: a pointer, for its process alone */
    uint64_t align; /* of the address range */
    uint64_t device;
};
_Static_assert(sizeof(struct gsh_heap_entry) == sizeof(struct gsh_vote),
               "entries travel in votes' room");

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

/* Collects the devices of the PEs of this process, each once. */
static void collect_devices(struct gsh_peers *peers, const struct gsh_heap_options *o,
                            const struct gsh_heap_entry *entries)
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

static bool has_space(const void *entries, int pe)
{
    return ((const struct gsh_heap_entry *)entries)[pe].space != 0;
}

static struct gsh_heap_entry entry_of(struct gsh_peers *peers, const struct gsh_heap_options *o,
                                      enum gsh_result outcome)
{
    if (outcome != GSH_OK) {
        return (struct gsh_heap_entry){0};
    }
    return (struct gsh_heap_entry){
        .space = gsh_peers_publish(peers),
        .align = peers->is_leader ? peers->space->range.align : UINT64_MAX,
        .device = (uint64_t)o->cuda_device,
    };
}

/* Votes on this PE's outcome so far, and gathers what all say of themselves. entries: [size of the
 * bootstrap]. */
static enum gsh_result exchange_entries(struct gsh_heap *heap, const struct gsh_heap_options *o,
                                        enum gsh_result outcome, const char *what,
                                        struct gsh_heap_entry *entries)
{
    struct gsh_peers *peers = &heap->physical.peers;
    const struct gsh_heap_entry mine = entry_of(peers, o, outcome);
    enum gsh_result r = gsh_agree_gather(&heap->physical.agreement, create_vote(o, outcome), what,
                                         &mine, sizeof(mine), entries);
    if (r != GSH_OK && outcome == GSH_OK) {
        gsh_peers_withdraw(peers);
    }
    return r;
}

/* What a PE tells those of its node. */
struct node_entry {
    int32_t pe;
    uint32_t outcome;
    struct gsh_heap_entry entry;
    uint64_t stride, internal;
};

/* Whether this PE can go on with those of its node; told: [n]. */
static enum gsh_result check_node(const struct node_entry *told, int n,
                                  const struct node_entry *mine, int n_pes)
{
    for (int i = 0; i < n; i++) {
        if (told[i].pe < 0 || told[i].pe >= n_pes) {
            return gsh_note(GSH_ERR_BUG, "an entry of PE %d", told[i].pe);
        }
        if (told[i].outcome != GSH_OK) {
            return gsh_note(GSH_ERR_PEER, "another PE of the node has failed");
        }
        if (told[i].stride != mine->stride || told[i].internal != mine->internal) {
            return gsh_note(GSH_ERR_SYMMETRY,
                            "a range of %" PRIu64 " bytes, %" PRIu64 " of them internal, and on PE "
                            "%d one of %" PRIu64 ", %" PRIu64 " internal",
                            mine->stride, mine->internal, told[i].pe, told[i].stride,
                            told[i].internal);
        }
    }
    return GSH_OK;
}

/* The same among the PEs of the node: the others use nothing of it. The result is this PE's own,
 * also of what it was before. Whatever that is, the PE takes part: others wait for it. *is_shared,
 * false before: PEs of one process share a range. */
static enum gsh_result exchange_on_node(struct gsh_heap *heap, const struct gsh_heap_options *o,
                                        enum gsh_result outcome, struct gsh_heap_entry *entries,
                                        bool *is_shared)
{
    struct gsh_peers *peers = &heap->physical.peers;
    const int n = o->node->size;
    struct node_entry *told = gsh_fault() ? NULL : calloc((size_t)n, sizeof(*told));
    if (told == NULL && outcome == GSH_OK) {
        outcome = gsh_note(GSH_ERR_NOMEM, "no host memory for the heap");
    }
    const struct node_entry mine = {.pe = o->bootstrap->rank,
                                    .outcome = (uint32_t)outcome,
                                    .entry = entry_of(peers, o, outcome),
                                    .stride = o->stride_bytes,
                                    .internal = o->internal_bytes};
    enum gsh_result r = o->node->ops->allgather(o->node, &mine, sizeof(mine), told);
    if (r == GSH_OK && outcome == GSH_OK) {
        r = check_node(told, n, &mine, o->bootstrap->size);
    }
    for (int i = 0; r == GSH_OK && outcome == GSH_OK && i < n; i++) {
        entries[told[i].pe] = told[i].entry;
        *is_shared = *is_shared || told[i].entry.space == 0;
    }
    free(told);
    if (r != GSH_OK && outcome == GSH_OK) {
        gsh_peers_withdraw(peers);
    }
    return outcome != GSH_OK ? outcome : r;
}

static enum gsh_result use_entries(struct gsh_heap *heap, const struct gsh_heap_options *o,
                                   const struct gsh_heap_entry *entries)
{
    struct gsh_peers *peers = &heap->physical.peers;
    heap->max_align = o->stride_bytes & -o->stride_bytes;
    for (int s = 0; s < o->n_slots; s++) {
        heap->max_align = gsh_min_u64(heap->max_align, entries[o->pe_of_slot[s]].align);
    }
    collect_devices(peers, o, entries);
    enum gsh_result r = gsh_peers_join(peers, entries[peers->leader_pe].space, o);
    return r == GSH_OK && peers->is_leader && peers->is_one_file
               ? gsh_peers_share_file(peers, has_space, entries)
               : r;
}

static enum gsh_result make_parts(struct gsh_heap *heap, const struct gsh_heap_options *o)
{
    struct gsh_physical *p = &heap->physical;
    struct gsh_memory_options options = {
        .n_slots = o->n_slots,
        .file = p->peers.is_one_file ? &p->peers.space->file : NULL,
        .file_off = p->peers.is_one_file ? (uint64_t)o->my_slot * o->stride_bytes : 0,
        .file_bytes = o->stride_bytes,
        .lazy_bytes = o->n_slots > GSH_HEAP_MANY_SLOTS ? o->internal_bytes : 0,
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
        r = gsh_heap_offset_prepare(heap, gsh_heap_first_plan(heap, o->internal_bytes).generous);
    }
    return r;
}

/* PEs of one process share a range, so what they do in it next waits for all of them. */
static bool is_range_shared(const struct gsh_heap_entry *entries, int n)
{
    int pe = 0;
    while (pe < n && has_space(entries, pe)) {
        pe++;
    }
    return pe < n;
}

/* prior: this PE's outcome, which only it knows; for all that follows it may wait until the first
 * vote of the growth. */
static enum gsh_result commit_internal(struct gsh_heap *heap, uint64_t bytes, enum gsh_result prior,
                                       const char *what)
{
    const struct gsh_heap_plan plan = gsh_heap_first_plan(heap, bytes);
    uint64_t off;
    heap->internal_bytes = gsh_align_up(bytes, GSH_OFFSET_GRANULE);
    enum gsh_result r = gsh_heap_grow(heap, &plan, true, heap->internal_bytes, prior, what);
    if (r == GSH_OK) {
        r = gsh_heap_offset_alloc(heap, heap->internal_bytes, 0, &off);
    }
    return r;
}

static enum gsh_result build(struct gsh_heap *heap, const struct gsh_heap_options *o)
{
    const char *what = "setting up the symmetric heap";
    struct gsh_heap_entry *entries = heap->entries;
    struct gsh_physical *p = &heap->physical;
    p->node = o->node;
    p->n_subscribers = o->n_subscribers;
    memcpy(p->subscribers, o->subscribers, sizeof(p->subscribers));
    enum gsh_result r = gsh_agreement_init(&p->agreement, o->bootstrap);
    if (r == GSH_OK && o->first != NULL) {
        r = gsh_agreement_init(&p->first, o->first);
    }
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
    heap->stride = o->stride_bytes;
    heap->keep_bytes = o->keep_bytes;
    heap->first_bytes = o->first_bytes;
    heap->room_bytes = o->room_bytes;
    heap->large_bytes = o->large_bytes;
    bool is_shared = false;
    if (o->node != NULL) {
        r = exchange_on_node(heap, o, r, entries, &is_shared);
    } else {
        r = exchange_entries(heap, o, r, what, entries);
        if (r != GSH_OK) {
            return r;
        }
        is_shared = is_range_shared(entries, o->bootstrap->size);
    }
    const bool is_known = r == GSH_OK; /* on the node, if that agrees by itself */
    if (r == GSH_OK) {
        r = use_entries(heap, o, entries);
    }
    if (r == GSH_OK) {
        heap->base = gsh_peers_address(&p->peers, o->my_slot, 0);
        r = make_parts(heap, o);
    }
    if (is_known && is_shared && o->node != NULL) {
        r = gsh_physical_agree_on_node(p, r);
    }
    if (o->internal_bytes == 0 || (is_shared && o->node == NULL)) {
        r = gsh_agree(&p->agreement, create_vote(o, r), what, NULL);
        if (r != GSH_OK || o->internal_bytes == 0) {
            return r;
        }
    }
    return commit_internal(heap, o->internal_bytes, r, what);
}

enum gsh_result gsh_heap_allocate(int n_pes, struct gsh_heap **out)
{
    struct gsh_heap *heap = calloc(1, sizeof(*heap));
    struct gsh_heap_entry *entries = calloc((size_t)n_pes, sizeof(*entries));
    if (heap == NULL || entries == NULL) {
        free(heap);
        free(entries);
        return gsh_note(GSH_ERR_NOMEM, "no host memory for the heap");
    }
    pthread_rwlock_init(&heap->offset_lock, NULL);
    heap->entries = entries;
    heap->physical.peers.mine.fd = -1;
    *out = heap;
    return GSH_OK;
}

enum gsh_result gsh_heap_create(const struct gsh_heap_options *options, struct gsh_heap **out)
{
    enum gsh_result r = *out != NULL ? GSH_OK : gsh_heap_allocate(options->bootstrap->size, out);
    if (r != GSH_OK) {
        return gsh_fail(r, "%s", gsh_last_error());
    }
    r = build(*out, options);
    free((*out)->entries);
    (*out)->entries = NULL;
    if (r != GSH_OK) {
        gsh_heap_destroy(out);
    }
    return r;
}

void gsh_heap_destroy(struct gsh_heap **heap)
{
    struct gsh_heap *h = *heap;
    *heap = NULL;
    if (h == NULL) {
        return;
    }
    free(h->entries);
    gsh_aliases_finish(&h->aliases);
    gsh_offset_destroy(&h->offset);
    gsh_physical_finish(&h->physical);
    pthread_rwlock_destroy(&h->offset_lock);
    free(h);
}
