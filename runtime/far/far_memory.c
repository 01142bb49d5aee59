/* SPDX-License-Identifier: Apache-2.0
 * Gives the proxy what it needs of this PE: access to its memory on behalf of far PEs, the regions
 * of its heap as the network knows them, and its kernels' rings. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "proxy/proxy.h"
#include "base/log.h"
#include "base/util.h"
#include "bootstrap/agree.h"
#include "bootstrap/uid_ask.h"
#include "runtime/far/far.h"
#include "runtime/instance/book.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/vote.h"
#include "runtime/far/affinity.h"

#define PAGE_BYTES 4096u

/* ---- memory ---- */

static enum gsh_result memory_amo(void *context, int amo_op, void *address, size_t word_bytes,
                                  uint64_t operand, uint64_t cond, uint64_t *old)
{
    struct gsh_instance *pe = context;
    return pe->device_ops->proxy_amo(pe, (enum gsh_amo_op)amo_op, address, word_bytes, operand,
                                     cond, old);
}

static enum gsh_result memory_copy_in(void *context, void *heap_dest, const void *source,
                                      size_t bytes)
{
    struct gsh_instance *pe = context;
    return pe->device_ops->proxy_copy(pe, heap_dest, source, bytes);
}

static enum gsh_result memory_copy_out(void *context, void *dest, const void *heap_source,
                                       size_t bytes)
{
    struct gsh_instance *pe = context;
    return pe->device_ops->proxy_copy(pe, dest, heap_source, bytes);
}

/* The CPU device has no copy streams; in tests the CPU stands in for a GPU's. */
static enum gsh_result choose_copy_streams(struct gsh_instance *pe, struct gsh_proxy_memory *memory)
{
    memory->copy_stream_ops = pe->device_ops->proxy_copy_streams;
    memory->copy_streams = pe;
    if (memory->copy_stream_ops != NULL || !gsh_far_stages_always(pe)) {
        return GSH_OK;
    }
    if (pe->far->late == NULL) {
        pe->far->late = gsh_late_copy_streams_create((uint64_t)pe->my_pe, memory_amo, pe);
    }
    memory->copy_stream_ops = &gsh_late_copy_stream_ops;
    memory->copy_streams = pe->far->late;
    return pe->far->late != NULL ? GSH_OK : gsh_fail(GSH_ERR_NOMEM, "init: no memory for staging");
}

static enum gsh_result give_memory(struct gsh_instance *pe, void *heap_base)
{
    struct gsh_proxy_memory memory = {
        .context = pe,
        .is_host = pe->device_ops->is_memory_host,
        .amo = memory_amo,
        .copy_in = memory_copy_in,
        .copy_out = memory_copy_out,
    };
    enum gsh_result r = choose_copy_streams(pe, &memory);
    return r == GSH_OK ? gsh_proxy_set_memory(pe->proxy, &memory, heap_base) : r;
}

/* ---- regions ---- */

/* What each PE tells the others of a region; a key that is longer follows. */
enum { HEAD_KEY_BYTES = 64 };
struct region_head {
    int16_t result;
    uint16_t had_failed; /* the PE has no heap, because something before it has failed */
    uint32_t key_bytes;
    uint8_t key[HEAD_KEY_BYTES];
};

/* Removes the region at the members with ranks below `end`. */
static void forget_peers(struct gsh_instance *pe, const struct gsh_heap_members *members,
                         uint64_t off, int end)
{
    for (int i = 0; i < end; i++) {
        if (gsh_is_far(pe, gsh_heap_member_pe(members, i))) {
            (void)!gsh_proxy_remove_peer_region(pe->proxy, gsh_heap_member_pe(members, i), off);
        }
    }
}

/* Whether the proxy finds the keys that it needs, by asking their PEs, or in the book: all PEs have
 * the region. */
static bool is_told(const struct gsh_instance *pe, const struct gsh_heap_members *members)
{
    return members->pes == NULL && gsh_proxy_learns_late(pe->proxy);
}

static bool is_looked_up(const struct gsh_instance *pe, const struct gsh_heap_members *members)
{
    return is_told(pe, members) && gsh_looks_up(pe);
}

/* Accepts a region that has none. */
static void withdraw_key(struct gsh_instance *pe, uint64_t off)
{
    if (gsh_looks_up(pe)) {
        (void)!gsh_uid_publish(pe->bootstrap->asking, off, NULL, 0);
    }
}

static void forget(struct gsh_instance *pe, const struct gsh_heap_members *members, uint64_t off)
{
    if (is_told(pe, members)) {
        gsh_proxy_remove_told_region(pe->proxy, off);
    }
    if (is_told(pe, members) && !gsh_looks_up(pe)) {
        gsh_book_remove(pe->book, off);
    } else if (!is_told(pe, members)) {
        forget_peers(pe, members, off, members->pes != NULL ? members->n : pe->n_pes);
    }
}

static enum gsh_result tell(struct gsh_instance *pe, const struct gsh_heap_members *members,
                            uint64_t off, uint64_t bytes, const struct gsh_book_source *keys)
{
    enum gsh_result r = gsh_book_add(pe->book, off, keys);
    if (r == GSH_OK) {
        r = gsh_proxy_add_told_region(pe->proxy, off, bytes);
    }
    if (r != GSH_OK) {
        forget(pe, members, off);
    }
    return r;
}

/* keys: with `stride` bytes between those of two members. */
static enum gsh_result learn_peers(struct gsh_instance *pe, const struct gsh_heap_members *members,
                                   uint64_t off, uint64_t bytes, const struct region_head *heads,
                                   const uint8_t *keys, size_t stride)
{
    if (is_told(pe, members)) {
        const struct gsh_book_source source = {.blobs = keys,
                                               .lengths = &heads[0].key_bytes,
                                               .blob_stride = stride,
                                               .length_stride = sizeof(heads[0])};
        return tell(pe, members, off, bytes, &source);
    }
    for (int i = 0; i < members->n; i++) {
        const int member = gsh_heap_member_pe(members, i);
        if (!gsh_is_far(pe, member)) {
            continue;
        }
        enum gsh_result r = gsh_proxy_add_peer_region(
            pe->proxy, member, off, bytes, keys + (size_t)i * stride, heads[i].key_bytes);
        if (r != GSH_OK) {
            forget_peers(pe, members, off, i);
            return r;
        }
    }
    return GSH_OK;
}

/* Gathers keys that heads do not hold, and adds the peers' regions. */
static enum gsh_result exchange_keys(struct gsh_instance *pe,
                                     const struct gsh_heap_members *members, uint64_t off,
                                     uint64_t bytes, const struct region_head *heads,
                                     const void *key)
{
    struct gsh_bootstrap *b = members->bootstrap;
    size_t max = 0;
    for (int i = 0; i < members->n; i++) {
        max = gsh_max_u64(max, heads[i].key_bytes);
    }
    if (max <= HEAD_KEY_BYTES) {
        return learn_peers(pe, members, off, bytes, heads, heads[0].key, sizeof(heads[0]));
    }
    uint8_t *mine = calloc(1, max), *keys = calloc((size_t)members->n, max);
    if (mine == NULL || keys == NULL) {
        /* the others wait in the same call: this PE cannot leave them there */
        gsh_abort(pe, 1, "no host memory for the keys of %d PEs", members->n);
    }
    if (heads[b->rank].key_bytes > 0) {
        memcpy(mine, key, heads[b->rank].key_bytes);
    }
    enum gsh_result r = b->ops->allgather(b, mine, max, keys);
    if (r == GSH_OK) {
        r = learn_peers(pe, members, off, bytes, heads, keys, max);
    }
    free(mine);
    free(keys);
    return r;
}

static void fold_most(void *into, const void *from)
{
    uint64_t a, b;
    memcpy(&a, into, sizeof(a));
    memcpy(&b, from, sizeof(b));
    a = gsh_max_u64(a, b);
    memcpy(into, &a, sizeof(a));
}

/* In init: first the PEs of each node. If one has failed before, and does not come, each other one
 * of the node says so, too. */
static enum gsh_result combine_by_nodes(struct gsh_instance *pe, uint64_t *most)
{
    struct gsh_bootstrap *b = pe->bootstrap, *node = pe->node_bootstrap;
    if (*most != GSH_HEAP_OVER &&
        node->ops->combine(node, most, sizeof(*most), fold_most) != GSH_OK) {
        *most = GSH_HEAP_OVER;
    }
    return b->ops->combine_groups(b, most, sizeof(*most), fold_most, pe->node_width);
}

static enum gsh_result combine_all(struct gsh_bootstrap *b, uint64_t *most)
{
    struct gsh_agreement a;
    enum gsh_result r = gsh_agreement_init(&a, b);
    if (r == GSH_OK) {
        r = gsh_agree_combine(&a, most, sizeof(*most), fold_most);
        gsh_agreement_finish(&a);
    }
    return r;
}

/* Collective; mine: what this PE has come to. *told: the worst of all PEs. */
static enum gsh_result combine_told(struct gsh_instance *pe, struct gsh_bootstrap *b,
                                    enum gsh_heap_told mine, enum gsh_heap_told *told)
{
    uint64_t most = (uint64_t)mine;
    const bool is_by_nodes =
        b == pe->bootstrap && b->ops->combine_groups != NULL && pe->node_width > 1;
    const enum gsh_result r = is_by_nodes ? combine_by_nodes(pe, &most) : combine_all(b, &most);
    *told = r != GSH_OK || most == GSH_HEAP_SOME_FAILED ? GSH_HEAP_SOME_FAILED
            : most == GSH_HEAP_ALL_WELL                 ? GSH_HEAP_ALL_WELL
                                                        : GSH_HEAP_OVER;
    return r;
}

/* Collective: whether all PEs have the region, whose keys can be looked up then. */
static enum gsh_result tell_outcome(struct gsh_instance *pe, struct gsh_bootstrap *b, uint64_t off,
                                    uint64_t bytes, enum gsh_result mine)
{
    const enum gsh_result r = combine_told(
        pe, b, mine == GSH_OK ? GSH_HEAP_ALL_WELL : GSH_HEAP_SOME_FAILED, &pe->far->told);
    return pe->far->told == GSH_HEAP_ALL_WELL ? gsh_proxy_add_told_region(pe->proxy, off, bytes)
                                              : r;
}

/* What all have told. */
static enum gsh_heap_told judge(const struct region_head *heads, int n)
{
    enum gsh_heap_told told = GSH_HEAP_ALL_WELL;
    for (int i = 0; i < n && told != GSH_HEAP_OVER; i++) {
        told = heads[i].had_failed != 0    ? GSH_HEAP_OVER
               : heads[i].result != GSH_OK ? GSH_HEAP_SOME_FAILED
                                           : told;
    }
    return told;
}

/* Collective: the same where all PEs tell all of their keys. */
static enum gsh_result tell_key(struct gsh_instance *pe, const struct gsh_heap_members *members,
                                uint64_t off, uint64_t bytes, enum gsh_result mine, const void *key,
                                size_t key_bytes)
{
    struct gsh_bootstrap *b = members->bootstrap;
    struct region_head *heads = calloc((size_t)members->n, sizeof(*heads));
    if (heads == NULL) {
        /* the others wait in the same call: this PE cannot leave them there */
        gsh_abort(pe, 1, "no host memory for the regions of %d PEs", members->n);
    }
    struct region_head head = {.result = (int16_t)mine, .key_bytes = (uint32_t)key_bytes};
    if (mine == GSH_OK && key_bytes > 0 && key_bytes <= sizeof(head.key)) {
        memcpy(head.key, key, key_bytes);
    }
    enum gsh_result r = b->ops->allgather(b, &head, sizeof(head), heads);
    pe->far->told = r == GSH_OK ? judge(heads, members->n) : GSH_HEAP_SOME_FAILED;
    if (pe->far->told == GSH_HEAP_ALL_WELL) {
        r = exchange_keys(pe, members, off, bytes, heads, key);
    }
    free(heads);
    return r;
}

/* Of a PE without a heap, in place of tell_key. */
static enum gsh_result tell_failure(struct gsh_instance *pe, struct gsh_bootstrap *b,
                                    enum gsh_result mine)
{
    const struct region_head head = {.result = (int16_t)mine, .had_failed = 1};
    struct region_head *heads = calloc((size_t)b->size, sizeof(*heads));
    if (heads == NULL) {
        gsh_abort(pe, 1, "no host memory for the regions of %d PEs", b->size); /* see tell_key() */
    }
    const enum gsh_result r = b->ops->allgather(b, &head, sizeof(head), heads);
    free(heads);
    return r;
}

enum gsh_result gsh_far_tell_failed(struct gsh_instance *pe, enum gsh_result prior)
{
    enum gsh_heap_told told;
    const enum gsh_result r = gsh_looks_up(pe)
                                  ? combine_told(pe, pe->bootstrap, GSH_HEAP_OVER, &told)
                                  : tell_failure(pe, pe->bootstrap, prior);
    return r == GSH_OK ? gsh_init_vote_failed(pe, GSH_STEP_READY, prior) : r;
}

/* The others rely on this PE from the exchange on, so what then fails ends the job. The result is
 * this PE's own, unless all have ended init; the heap's vote reports failures of others. */
static enum gsh_result came(void *context, void *memory, uint64_t off, uint64_t bytes,
                            enum gsh_result prior, const struct gsh_heap_members *members)
{
    struct gsh_instance *pe = context;
    const void *key = NULL;
    size_t key_bytes = 0;
    enum gsh_result mine = prior == GSH_OK && off == 0 ? give_memory(pe, memory) : prior;
    if (mine == GSH_OK) {
        mine = gsh_proxy_add_region(pe->proxy, off, bytes, &key, &key_bytes);
    }
    const bool is_added = mine == GSH_OK;
    if (is_added && is_looked_up(pe, members)) {
        mine = gsh_uid_publish(pe->bootstrap->asking, off, key, key_bytes);
    }
    enum gsh_result r = is_looked_up(pe, members)
                            ? tell_outcome(pe, members->bootstrap, off, bytes, mine)
                            : tell_key(pe, members, off, bytes, mine, key, key_bytes);
    const bool is_complete = pe->far->told == GSH_HEAP_ALL_WELL;
    pe->far->alone_off = is_complete ? UINT64_MAX : off;
    if (is_complete && r != GSH_OK && !gsh_is_loss(r)) {
        gsh_abort(pe, 1, "the keys of far PEs: %s", gsh_last_error());
    }
    if (pe->far->told == GSH_HEAP_OVER) {
        r = gsh_init_vote_failed(pe, GSH_STEP_READY, mine);
    } else {
        r = mine != GSH_OK ? mine : r;
    }
    if (is_added && r != GSH_OK) {
        withdraw_key(pe, off);
        (void)!gsh_proxy_remove_region(pe->proxy, off);
    }
    return r;
}

static void goes(void *context, uint64_t off, const struct gsh_heap_members *members)
{
    struct gsh_instance *pe = context;
    if (pe->proxy == NULL) {
        return; /* it has forgotten everything */
    }
    if (pe->far->alone_off != off) {
        forget(pe, members, off);
    }
    withdraw_key(pe, off);
    (void)!gsh_proxy_remove_region(pe->proxy, off);
}

static enum gsh_heap_told told(void *context)
{
    const struct gsh_instance *pe = context;
    return pe->far->told;
}

/* Once all PEs of the node have the keys, and one of them has written these for all. */
static void settled(void *context, uint64_t off, const struct gsh_heap_members *members)
{
    struct gsh_instance *pe = context;
    struct gsh_bootstrap *node = pe->node_bootstrap;
    if (is_told(pe, members) && !gsh_looks_up(pe) &&
        (node == NULL || node->ops->barrier(node) == GSH_OK)) {
        gsh_book_settle(pe->book, off);
    }
}

struct gsh_heap_events gsh_far_heap_events(struct gsh_instance *pe)
{
    return (struct gsh_heap_events){
        .came = came, .goes = goes, .told = told, .settled = settled, .context = pe};
}

/* ---- rings ---- */

static size_t ring_bytes(uint64_t n_slots)
{
    return gsh_align_up(n_slots * sizeof(struct gsh_ring_slot) + sizeof(struct gsh_ring_cpu),
                        PAGE_BYTES);
}

enum gsh_result gsh_far_check(const struct gsh_instance *pe)
{
    int rings = pe->env.proxy_rings, slots = pe->env.proxy_ring_slots;
    if (rings < 1 || rings > GSH_RING_MAX_RINGS || !gsh_is_pow2((uint64_t)rings)) {
        return gsh_note(GSH_ERR_ARG, "init: GSHMEM_PROXY_RINGS=%d is none of 1, 2, 4, 8 and 16",
                        rings);
    }
    if (slots < GSH_RING_MIN_SLOTS || !gsh_is_pow2((uint64_t)slots)) {
        return gsh_note(GSH_ERR_ARG,
                        "init: GSHMEM_PROXY_RING_SLOTS=%d is not a power of two from %d on", slots,
                        GSH_RING_MIN_SLOTS);
    }
    if (!gsh_affinity_is_setting(pe->env.proxy_cpus)) {
        return gsh_note(
            GSH_ERR_ARG,
            "init: GSHMEM_PROXY_CPUS=%s is not a list of CPUs like 0-3,8, nor none, nor "
            "auto",
            pe->env.proxy_cpus);
    }
    if (pe->env.stage_chunk_bytes % PAGE_BYTES != 0) {
        return gsh_note(GSH_ERR_ARG, "init: GSHMEM_STAGE_CHUNK=%llu is not a multiple of %u",
                        (unsigned long long)pe->env.stage_chunk_bytes, PAGE_BYTES);
    }
    if (pe->env.stage_buffers > GSH_PROXY_STAGE_BUFFERS_MAX) {
        return gsh_note(GSH_ERR_ARG, "init: GSHMEM_STAGE_BUFFERS=%d is more than %d",
                        pe->env.stage_buffers, GSH_PROXY_STAGE_BUFFERS_MAX);
    }
    if ((unsigned)pe->n_pes > GSH_RING_MAX_PES) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "init: %d PEs; the rings can name %u", pe->n_pes,
                        GSH_RING_MAX_PES);
    }
    int other = 0; /* the transport finds that only when it needs the PE's address */
    while (other < pe->n_pes && gsh_is_of_process(pe, other)) {
        other++;
    }
    if (other < pe->n_pes && strcmp(pe->env.transport, "loop") == 0) {
        return gsh_note(GSH_ERR_UNSUPPORTED,
                        "init: GSHMEM_TRANSPORT=loop joins threads of one process; PE %d is in "
                        "another",
                        other);
    }
    return GSH_OK;
}

static enum gsh_result make_rings(struct gsh_far *far)
{
    size_t bytes = ring_bytes(far->n_slots) * (size_t)far->n_all_rings;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return gsh_fail_errno(GSH_ERR_NOMEM, "init: no memory for %d rings of %llu slots",
                              far->n_all_rings, (unsigned long long)far->n_slots);
    }
    far->memory = p;
    far->memory_bytes = bytes;
    for (int i = 0; i < far->n_all_rings; i++) {
        uint8_t *ring = (uint8_t *)p + (size_t)i * ring_bytes(far->n_slots);
        far->rings[i].slots = (struct gsh_ring_slot *)ring;
        far->rings[i].cpu =
            (struct gsh_ring_cpu *)(ring + far->n_slots * sizeof(struct gsh_ring_slot));
    }
    return GSH_OK;
}

enum gsh_result gsh_far_create(struct gsh_instance *pe)
{
    enum gsh_result r = GSH_OK;
    if (pe->far == NULL) {
        pe->far = calloc(1, sizeof(*pe->far));
        if (pe->far == NULL) {
            return gsh_fail(GSH_ERR_NOMEM, "init: no memory for the rings");
        }
        pe->far->pe = pe;
        pe->far->alone_off = UINT64_MAX;
        pe->far->n_rings = pe->env.proxy_rings;
        pe->far->n_all_rings = pe->env.proxy_rings + pe->env.contexts;
        pe->far->n_slots = (uint64_t)pe->env.proxy_ring_slots;
        r = make_rings(pe->far);
    }
    if (r == GSH_OK) {
        r = pe->device_ops->map_host(pe, pe->far->memory, pe->far->memory_bytes,
                                     &pe->far->device_memory);
    }
    return r;
}

void gsh_far_destroy(struct gsh_instance *pe)
{
    struct gsh_far *far = pe->far;
    if (far == NULL) {
        return;
    }
    gsh_far_nic_destroy(pe);
    if (pe->proxy != NULL) {
        gsh_proxy_forget_copy_streams(pe->proxy);
    }
    gsh_late_copy_streams_destroy(far->late);
    far->late = NULL;
    if (pe->device_ops != NULL && far->memory != NULL) {
        pe->device_ops->unmap_host(pe, far->memory);
    }
    if (pe->proxy != NULL && far->is_read) {
        return;
    }
    if (far->memory != NULL) {
        munmap(far->memory, far->memory_bytes);
    }
    free(far);
    pe->far = NULL;
}

int gsh_far_n_rings(const struct gsh_instance *pe)
{
    return pe->far != NULL ? pe->far->n_rings : 0;
}

uint64_t gsh_far_rings_bytes(const struct gsh_instance *pe)
{
    return pe->far != NULL ? (uint64_t)pe->far->n_all_rings * sizeof(struct gsh_ring) : 0;
}

void gsh_far_rings_fill(const struct gsh_instance *pe, void *rings)
{
    const struct gsh_far *far = pe->far;
    bool can_wake = far != NULL && pe->device_ops->can_wake;
    for (int i = 0; far != NULL && i < far->n_all_rings; i++) {
        uint64_t slots = far->device_memory + (uint64_t)i * ring_bytes(far->n_slots);
        ((struct gsh_ring *)rings)[i] = (struct gsh_ring){
            .slots = slots,
            .cpu = slots + far->n_slots * sizeof(struct gsh_ring_slot),
            .wake = can_wake ? (uint64_t)(uintptr_t)gsh_proxy_ring_wake(pe->proxy) : 0,
            .n_slots = far->n_slots,
        };
    }
}

static enum gsh_result read_ring(struct gsh_instance *pe, gsh_context ctx,
                                 struct gsh_far_ring *ring)
{
    enum gsh_result r = GSH_OK;
    if (!ring->is_read) {
        r = gsh_proxy_add_ring(pe->proxy, ctx, ring->slots, pe->far->n_slots, ring->cpu);
        ring->is_read = r == GSH_OK;
    }
    return r;
}

enum gsh_result gsh_far_open(struct gsh_instance *pe, gsh_context ctx)
{
    struct gsh_far *far = pe->far;
    bool is_set_up = far != NULL && far->is_read;
    return is_set_up ? read_ring(pe, ctx, &far->rings[far->n_rings + (int)ctx - 1]) : GSH_OK;
}

enum gsh_result gsh_far_start(struct gsh_instance *pe)
{
    struct gsh_far *far = pe->far;
    enum gsh_result r = GSH_OK;
    for (int i = 0; far != NULL && r == GSH_OK && i < far->n_rings; i++) {
        r = read_ring(pe, GSH_CONTEXT_DEFAULT, &far->rings[i]);
    }
    if (far != NULL) {
        far->is_read = true;
    }
    return r;
}
