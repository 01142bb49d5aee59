/* SPDX-License-Identifier: Apache-2.0
 * See alias.h. PEs may have the memory in pieces of different sizes, and the first and last pieces
 * may hold more than was asked for: the area has room for every PE's. PEs that register with
 * different groups have different lists, so members agree, by proposals, on an offset that is free
 * on all of them. */
#include "heap/alias.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/fault.h"
#include "base/util.h"

static const struct gsh_memory_ops *ops_of(const struct gsh_aliases *a)
{
    return a->physical->memory->ops;
}

static uint64_t own_address(const struct gsh_aliases *a, uint64_t off)
{
    return gsh_peers_address(&a->physical->peers, a->physical->peers.my_slot, off);
}

void gsh_aliases_init(struct gsh_aliases *a, struct gsh_physical *physical, uint64_t stride,
                      pthread_rwlock_t *lock)
{
    *a = (struct gsh_aliases){.physical = physical, .stride = stride, .lock = lock};
}

uint64_t gsh_aliases_limit(const struct gsh_aliases *a)
{
    if (a->n == 0) {
        return a->stride;
    }
    /* a gap, so that the heap's part never touches them, and each is a region by itself */
    const struct gsh_alias *lowest = &a->list[0];
    return (a->stride - lowest->area - lowest->area_bytes - GSH_MEMORY_CHUNK) & -GSH_MEMORY_CHUNK;
}

const struct gsh_alias *gsh_aliases_find(const struct gsh_aliases *a, uint64_t off)
{
    for (int i = 0; i < a->n; i++) {
        if (off >= a->list[i].off && off - a->list[i].off < a->list[i].bytes) {
            return &a->list[i];
        }
    }
    return NULL;
}

/* ---- own pieces ---- */

static void detach(const struct gsh_aliases *a, const struct gsh_alias *it, int n)
{
    uint64_t addr = own_address(a, it->own_off);
    for (int i = 0; i < n; i++) {
        ops_of(a)->unmap(addr, it->registration.pieces[i].bytes);
        addr += it->registration.pieces[i].bytes;
    }
}

static enum gsh_result attach(const struct gsh_aliases *a, const struct gsh_alias *it)
{
    struct gsh_memory *memory = a->physical->memory;
    uint64_t addr = own_address(a, it->own_off);
    for (int i = 0; i < it->registration.n_pieces; i++) {
        enum gsh_result r = memory->ops->attach(memory, addr, &it->registration.pieces[i]);
        if (r != GSH_OK) {
            detach(a, it, i);
            return r;
        }
        addr += it->registration.pieces[i].bytes;
    }
    return GSH_OK;
}

/* ---- adding ---- */

/* What members tell each other until all proposals are equal. */
struct proposal {
    uint64_t lead, tail; /* bytes of the pieces before the program's first byte, and from it on */
    uint64_t n_pieces;
    uint64_t tag;  /* the highest tag used */
    uint64_t area; /* the first free area of that size */
};

static const uint64_t no_area = UINT64_MAX;

/* One call. */
struct adding {
    struct gsh_agreement *group;
    const char *call;
    struct gsh_alias it;
    uint64_t addr;
    struct proposal most, *all; /* all: [members] */
};

static enum gsh_result make_room(struct gsh_aliases *a)
{
    const size_t n = (size_t)a->n + 1;
    if (n <= a->room) {
        return GSH_OK;
    }
    pthread_rwlock_wrlock(a->lock);
    const bool has_room =
        !gsh_fault() && gsh_array_reserve(&a->list, &a->room, n, sizeof(*a->list));
    pthread_rwlock_unlock(a->lock);
    return has_room ? GSH_OK : gsh_note(GSH_ERR_NOMEM, "no host memory for %zu buffers", n);
}

static enum gsh_result find_memory(struct gsh_aliases *a, void *ptr, uint64_t bytes,
                                   struct gsh_alias *it)
{
    const uint64_t addr = (uint64_t)(uintptr_t)ptr;
    struct gsh_memory *memory = a->physical->memory;
    if (ptr == NULL || bytes == 0 || bytes > a->stride || addr + bytes < addr) {
        return gsh_note(GSH_ERR_ARG, "there is no memory of %" PRIu64 " bytes at %p", bytes, ptr);
    }
    if (addr - own_address(a, 0) < a->stride) {
        return gsh_note(GSH_ERR_ARG, "%p is symmetric already", ptr);
    }
    enum gsh_result r = make_room(a);
    if (r != GSH_OK) {
        return r;
    }
    it->bytes = bytes;
    return memory->ops->register_range(memory, addr, bytes, &it->registration);
}

/* All steps that can fail on this PE alone, before the others are involved. */
static enum gsh_result begin(struct gsh_aliases *a, struct adding *x, void *ptr, uint64_t bytes)
{
    struct gsh_bootstrap *b = x->group->bootstrap;
    const size_t n = (size_t)b->size;
    enum gsh_result r = find_memory(a, ptr, bytes, &x->it);
    if (r == GSH_OK) {
        r = gsh_peer_group_init(&a->physical->peers, b, x->group->pes, &x->it.group);
    }
    if (r != GSH_OK) {
        return r;
    }
    const bool is_part = x->group->pes != NULL;
    x->all = gsh_fault() ? NULL : calloc(n, sizeof(*x->all));
    x->it.pes = is_part && !gsh_fault() ? calloc(n, sizeof(*x->it.pes)) : NULL;
    if (x->all == NULL || (is_part && x->it.pes == NULL)) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for a buffer's %zu PEs", n);
    }
    if (is_part) {
        memcpy(x->it.pes, x->group->pes, n * sizeof(*x->it.pes));
        x->it.n_pes = b->size;
    }
    return GSH_OK;
}

/* The first area of that many bytes, at or after `least`, that this PE has free. */
static uint64_t propose(const struct gsh_aliases *a, uint64_t bytes, uint64_t least)
{
    uint64_t area = least;
    for (int i = a->n - 1; i >= 0 && area != no_area; i--) {
        const struct gsh_alias *other = &a->list[i];
        if (other->area < area + bytes && area < other->area + other->area_bytes) {
            area = other->area + other->area_bytes;
        }
    }
    const uint64_t taken = a->physical->committed + GSH_MEMORY_CHUNK;
    const bool fits = area != no_area && bytes <= a->stride && area <= a->stride - bytes &&
                      a->stride - bytes - area >= taken;
    return fits ? area : no_area;
}

/* The same on all members: the most that any of them needs, and the first place that all have free.
 * Proposals only grow, at most to the end of the range, so this terminates. */
static enum gsh_result agree_on_position(const struct gsh_aliases *a, struct adding *x)
{
    struct gsh_bootstrap *b = x->group->bootstrap;
    struct proposal *most = &x->most;
    for (bool is_same = false; !is_same;) {
        most->area = propose(a, most->lead + most->tail, most->area);
        const struct proposal mine = *most;
        enum gsh_result r = b->ops->allgather(b, &mine, sizeof(mine), x->all);
        if (r != GSH_OK) {
            return r;
        }
        is_same = true;
        for (int i = 0; i < b->size; i++) {
            const struct proposal *other = &x->all[i];
            is_same = is_same && other->lead == x->all[0].lead && other->tail == x->all[0].tail &&
                      other->area == x->all[0].area;
            most->lead = gsh_max_u64(most->lead, other->lead);
            most->tail = gsh_max_u64(most->tail, other->tail);
            most->n_pieces = gsh_max_u64(most->n_pieces, other->n_pieces);
            most->tag = gsh_max_u64(most->tag, other->tag);
            most->area = gsh_max_u64(most->area, other->area);
        }
    }
    return GSH_OK;
}

/* Sets this PE's place as all have agreed. */
static enum gsh_result set_position(const struct gsh_aliases *a, struct adding *x)
{
    const uint64_t bytes = x->most.lead + x->most.tail, lead = x->addr - x->it.registration.start;
    if (x->most.area == no_area) {
        return gsh_note(GSH_ERR_NOMEM,
                        "the range of %" PRIu64 " bytes has no room for %" PRIu64
                        " more; GSHMEM_HEAP_RANGE sets it",
                        a->stride, bytes);
    }
    x->it.area = x->most.area;
    x->it.area_bytes = bytes;
    x->it.off = a->stride - x->it.area - bytes + x->most.lead;
    x->it.own_off = x->it.off - lead;
    x->it.whole_off = x->it.off & -ops_of(a)->granule();
    return GSH_OK;
}

static struct gsh_vote step(enum gsh_result outcome, uint64_t number)
{
    return (struct gsh_vote){.call = GSH_VOTE_STEP, .outcome = (uint16_t)outcome, .args = {number}};
}

/* Maps each member's first piece, then each one's second, and so on, until none is left. */
static enum gsh_result map_foreign(struct gsh_aliases *a, struct adding *x)
{
    struct gsh_physical *p = a->physical;
    const struct gsh_registration *registration = &x->it.registration;
    enum gsh_result first = GSH_OK;
    uint64_t off = x->it.own_off;
    for (uint64_t i = 0; i < x->most.n_pieces; i++) {
        const struct gsh_piece *piece =
            i < (uint64_t)registration->n_pieces ? &registration->pieces[i] : NULL;
        enum gsh_result r = gsh_peers_map_piece(&p->peers, p->memory, &x->it.group, piece, off);
        if (gsh_is_loss(r)) {
            return r;
        }
        first = first == GSH_OK ? r : first; /* the others continue, so this PE does, too */
        off += piece != NULL ? piece->bytes : 0;
    }
    return first;
}

static uint64_t whole_bytes(const struct gsh_aliases *a, const struct gsh_alias *it)
{
    return gsh_align_up(it->off + it->bytes, ops_of(a)->granule()) - it->whole_off;
}

/* Maps it on all members and tells subscribers. */
static enum gsh_result map_all(struct gsh_aliases *a, struct adding *x)
{
    struct gsh_physical *p = a->physical;
    struct gsh_bootstrap *b = x->group->bootstrap;
    enum gsh_result r = set_position(a, x);
    if (r == GSH_OK) {
        r = attach(a, &x->it);
    }
    const bool is_attached = r == GSH_OK;
    if (r == GSH_OK) {
        r = gsh_peers_prepare_pieces(&x->it.group, (int)x->most.n_pieces);
    }
    r = gsh_agree(x->group, step(r, 1), x->call, NULL);
    if (r == GSH_OK) {
        const struct gsh_chunk whole = {x->it.whole_off, whole_bytes(a, &x->it)};
        r = gsh_physical_tell(p, x->group, whole, map_foreign(a, x), x->call);
        if (r != GSH_OK) {
            gsh_peers_unmap_pieces(&p->peers, &x->it.group);
            /* Another group may take the place at once, so wait until all have unmapped. */
            enum gsh_result rb = gsh_is_loss(r) ? r : b->ops->barrier(b);
            r = rb == GSH_OK ? r : rb;
        }
    }
    if (r != GSH_OK && is_attached) {
        detach(a, &x->it, x->it.registration.n_pieces);
    }
    return r;
}

static enum gsh_result add(struct gsh_aliases *a, struct adding *x)
{
    struct gsh_peers *peers = &a->physical->peers;
    const struct gsh_registration *registration = &x->it.registration;
    x->most = (struct proposal){.lead = x->addr - registration->start,
                                .tail = registration->start + registration->bytes - x->addr,
                                .n_pieces = (uint64_t)registration->n_pieces,
                                .tag = peers->group_tag};
    enum gsh_result r = agree_on_position(a, x);
    if (r != GSH_OK) {
        return r;
    }
    x->it.group.tag = x->most.tag;
    peers->group_tag = x->most.tag + x->most.n_pieces;
    return map_all(a, x);
}

static void insert(struct gsh_aliases *a, const struct gsh_alias *it)
{
    pthread_rwlock_wrlock(a->lock);
    int i = a->n++;
    for (; i > 0 && a->list[i - 1].off > it->off; i--) {
        a->list[i] = a->list[i - 1];
    }
    a->list[i] = *it;
    pthread_rwlock_unlock(a->lock);
}

enum gsh_result gsh_aliases_add(struct gsh_aliases *a, struct gsh_agreement *group, void *ptr,
                                uint64_t bytes, uint64_t *off)
{
    struct gsh_physical *p = a->physical;
    struct adding x = {.group = group,
                       .call = gsh_agree_name(group, GSH_VOTE_REGISTER),
                       .addr = (uint64_t)(uintptr_t)ptr};
    enum gsh_result r = begin(a, &x, ptr, bytes);
    const struct gsh_vote vote = {.call = GSH_VOTE_REGISTER,
                                  .outcome = (uint16_t)r,
                                  .args = {bytes, x.addr & (ops_of(a)->granule() - 1)}};
    r = gsh_agree(group, vote, x.call, NULL);
    if (r == GSH_OK) {
        r = add(a, &x);
    }
    free(x.all);
    x.it.group.bootstrap = NULL;
    if (r != GSH_OK) {
        gsh_peer_group_finish(&p->peers, &x.it.group);
        ops_of(a)->give_back(p->memory, &x.it.registration);
        free(x.it.pes);
        return r;
    }
    ops_of(a)->settle(&x.it.registration);
    insert(a, &x.it);
    *off = x.it.off;
    return GSH_OK;
}

/* ---- taking away ---- */

/* No PE may use this PE's part any more. */
static void let_go(struct gsh_aliases *a, struct gsh_alias *it)
{
    const struct gsh_heap_members members = {.pes = it->pes, .n = it->n_pes};
    gsh_physical_tell_goes(a->physical, it->whole_off, &members);
    gsh_peer_group_finish(&a->physical->peers, &it->group);
    detach(a, it, it->registration.n_pieces);
}

static void end(struct gsh_aliases *a, struct gsh_alias *it)
{
    ops_of(a)->give_back(a->physical->memory, &it->registration);
    free(it->pes);
}

void gsh_aliases_finish(struct gsh_aliases *a)
{
    for (int i = 0; i < a->n; i++) {
        let_go(a, &a->list[i]);
        end(a, &a->list[i]);
    }
    free(a->list);
    memset(a, 0, sizeof(*a));
}

static bool has(const int *pes, int n, int pe)
{
    int i = 0;
    while (i < n && pes[i] != pe) {
        i++;
    }
    return i < n;
}

/* Whether they are the same PEs, in whatever order. */
static bool is_of(const struct gsh_alias *it, const struct gsh_agreement *group)
{
    const int n = group->bootstrap->size;
    if (it->pes == NULL || group->pes == NULL) {
        return it->pes == group->pes;
    }
    bool is_same = it->n_pes == n;
    for (int i = 0; i < n && is_same; i++) {
        is_same = it->pes[i] == group->pes[i] || has(it->pes, n, group->pes[i]);
    }
    return is_same;
}

enum gsh_result gsh_aliases_remove(struct gsh_aliases *a, struct gsh_agreement *group, uint64_t off,
                                   uint64_t bytes)
{
    struct gsh_bootstrap *b = group->bootstrap;
    const struct gsh_alias *found = gsh_aliases_find(a, off);
    enum gsh_result r = GSH_OK;
    if (found == NULL || found->off != off || found->bytes != bytes || !is_of(found, group)) {
        r = gsh_note(GSH_ERR_ARG, "no buffer of %" PRIu64 " bytes is registered there", bytes);
    }
    const struct gsh_vote vote = {
        .call = GSH_VOTE_UNREGISTER, .outcome = (uint16_t)r, .args = {bytes, off}};
    r = gsh_agree(group, vote, gsh_agree_name(group, GSH_VOTE_UNREGISTER), NULL);
    if (r != GSH_OK) {
        return r;
    }
    /* From here on all members proceed alike without votes. */
    struct gsh_alias it = *found;
    pthread_rwlock_wrlock(a->lock);
    a->n--;
    for (int i = (int)(found - a->list); i < a->n; i++) {
        a->list[i] = a->list[i + 1];
    }
    pthread_rwlock_unlock(a->lock);
    let_go(a, &it);
    r = b->ops->barrier(b); /* no member has it mapped */
    end(a, &it);
    return r;
}
