/* SPDX-License-Identifier: Apache-2.0
 * See alias.h. PEs may have the memory in pieces of different sizes, of which the first and the
 * last may hold more than was asked for: the area has room for each PE's. */
#include "heap/alias.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/base/fault.h"
#include "runtime/base/util.h"

static const char add_call[] = "gshmemx_buffer_register_symmetric";
static const char remove_call[] = "gshmemx_buffer_unregister_symmetric";

static const struct gsh_memory_ops *ops_of(const struct gsh_aliases *a)
{
    return a->physical->memory->ops;
}

static uint64_t own_address(const struct gsh_aliases *a, uint64_t off)
{
    return gsh_peers_address(&a->physical->peers, a->physical->peers.my_slot, off);
}

enum gsh_result gsh_aliases_init(struct gsh_aliases *a, struct gsh_physical *physical,
                                 uint64_t stride, pthread_rwlock_t *lock)
{
    *a = (struct gsh_aliases){.physical = physical, .stride = stride, .lock = lock};
    return gsh_offset_create(0, &a->offset);
}

uint64_t gsh_aliases_limit(const struct gsh_aliases *a)
{
    /* a gap, so that the heap's part never touches them: then each is a region by itself */
    const uint64_t limit = a->stride - gsh_offset_end(a->offset) - GSH_MEMORY_CHUNK;
    return a->n == 0 ? a->stride : limit & -GSH_MEMORY_CHUNK;
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
        ops_of(a)->unmap(addr, it->lent.pieces[i].bytes);
        addr += it->lent.pieces[i].bytes;
    }
}

static enum gsh_result attach(const struct gsh_aliases *a, const struct gsh_alias *it)
{
    struct gsh_memory *memory = a->physical->memory;
    uint64_t addr = own_address(a, it->own_off);
    for (int i = 0; i < it->lent.n_pieces; i++) {
        enum gsh_result r = memory->ops->attach(memory, addr, &it->lent.pieces[i]);
        if (r != GSH_OK) {
            detach(a, it, i);
            return r;
        }
        addr += it->lent.pieces[i].bytes;
    }
    return GSH_OK;
}

/* ---- adding ---- */

/* What PEs tell each other of the memory that they lend. */
struct extent {
    uint64_t lead, tail; /* bytes of the pieces before the program's first byte, and from it on */
    uint64_t n_pieces;
};
_Static_assert(sizeof(struct extent) == sizeof(struct gsh_vote), "extents travel in votes' room");

static enum gsh_result make_room(struct gsh_aliases *a)
{
    if (a->n < a->room) {
        return GSH_OK;
    }
    const int room = 2 * a->room + 8;
    pthread_rwlock_wrlock(a->lock);
    struct gsh_alias *list = gsh_fault() ? NULL : realloc(a->list, (size_t)room * sizeof(*list));
    if (list != NULL) {
        a->list = list;
        a->room = room;
    }
    pthread_rwlock_unlock(a->lock);
    return list != NULL ? GSH_OK : gsh_note(GSH_ERR_NOMEM, "no host memory for %d buffers", room);
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
    return memory->ops->lend(memory, addr, bytes, &it->lent);
}

/* The same on all PEs: the most that one of them needs. */
static enum gsh_result agree_on_extent(struct gsh_aliases *a, struct extent mine,
                                       struct extent *most)
{
    struct gsh_bootstrap *b = a->physical->agreement.bootstrap;
    struct extent *all = (struct extent *)a->physical->agreement.votes;
    enum gsh_result r = b->ops->allgather(b, &mine, sizeof(mine), all);
    *most = mine;
    for (int pe = 0; r == GSH_OK && pe < b->size; pe++) {
        most->lead = gsh_max_u64(most->lead, all[pe].lead);
        most->tail = gsh_max_u64(most->tail, all[pe].tail);
        most->n_pieces = gsh_max_u64(most->n_pieces, all[pe].n_pieces);
    }
    return r;
}

/* All PEs take the same place. It fails for want of host memory, or on all alike. */
static enum gsh_result place(struct gsh_aliases *a, const struct extent *most, uint64_t lead,
                             struct gsh_alias *it)
{
    const uint64_t granule = ops_of(a)->granule(), bytes = most->lead + most->tail;
    uint64_t need = gsh_offset_need(a->offset, bytes, granule);
    if (need > a->stride || a->stride - need < a->physical->committed + GSH_MEMORY_CHUNK) {
        return gsh_note(GSH_ERR_NOMEM,
                        "the range of %" PRIu64 " bytes has no room for %" PRIu64
                        " more; GSHMEM_HEAP_RANGE sets it",
                        a->stride, bytes);
    }
    enum gsh_result r = gsh_fault() ? gsh_note(GSH_ERR_NOMEM, "no host memory for a buffer")
                                    : gsh_offset_prepare(a->offset, need);
    struct gsh_offset_stats stats;
    gsh_offset_stats_get(a->offset, &stats);
    if (r == GSH_OK && need > stats.size) {
        r = gsh_offset_grow(a->offset, need);
    }
    if (r == GSH_OK) {
        r = gsh_offset_alloc(a->offset, bytes, granule, &it->area);
    }
    if (r == GSH_OK) {
        it->off = a->stride - it->area - bytes + most->lead;
        it->own_off = it->off - lead;
        it->whole_off = it->off & -granule;
    }
    return r;
}

static void unplace(struct gsh_aliases *a, const struct gsh_alias *it)
{
    (void)!gsh_offset_free(a->offset, it->area);
    gsh_offset_shrink(a->offset, gsh_offset_end(a->offset));
}

static struct gsh_vote step(enum gsh_result outcome, uint64_t number)
{
    return (struct gsh_vote){.call = GSH_VOTE_STEP, .outcome = (uint16_t)outcome, .args = {number}};
}

/* Each PE's first piece, each one's second, and so on, until nobody has any. */
static enum gsh_result map_foreign(struct gsh_aliases *a, const struct gsh_alias *it,
                                   uint64_t n_rounds)
{
    struct gsh_physical *p = a->physical;
    enum gsh_result first = GSH_OK;
    uint64_t off = it->own_off;
    for (uint64_t i = 0; i < n_rounds; i++) {
        const struct gsh_piece *piece =
            i < (uint64_t)it->lent.n_pieces ? &it->lent.pieces[i] : NULL;
        enum gsh_result r = gsh_peers_map_piece(&p->peers, p->memory, it->off, piece, off);
        if (gsh_is_loss(r)) {
            return r;
        }
        first = first == GSH_OK ? r : first; /* the others go on, so this PE does */
        off += piece != NULL ? piece->bytes : 0;
    }
    return first;
}

static uint64_t whole_bytes(const struct gsh_aliases *a, const struct gsh_alias *it)
{
    return gsh_align_up(it->off + it->bytes, ops_of(a)->granule()) - it->whole_off;
}

/* In place: maps it everywhere and tells of it. */
static enum gsh_result map_all(struct gsh_aliases *a, const struct gsh_alias *it, uint64_t n_rounds)
{
    struct gsh_physical *p = a->physical;
    enum gsh_result r = attach(a, it);
    const bool is_attached = r == GSH_OK;
    if (r == GSH_OK) {
        r = gsh_peers_prepare_pieces(&p->peers, (int)n_rounds * p->peers.n_foreign);
    }
    r = gsh_agree(&p->agreement, step(r, 2), add_call, NULL);
    if (r == GSH_OK) {
        r = gsh_agree(&p->agreement, step(map_foreign(a, it, n_rounds), 3), add_call, NULL);
        if (r == GSH_OK) {
            const struct gsh_chunk whole = {it->whole_off, whole_bytes(a, it)};
            r = gsh_physical_tell(p, whole, add_call);
        }
        if (r != GSH_OK) {
            gsh_peers_unmap_pieces(&p->peers, it->off);
        }
    }
    if (r != GSH_OK && is_attached) {
        detach(a, it, it->lent.n_pieces);
    }
    return r;
}

static enum gsh_result add(struct gsh_aliases *a, struct gsh_alias *it, uint64_t addr)
{
    const struct extent mine = {.lead = addr - it->lent.start,
                                .tail = it->lent.start + it->lent.bytes - addr,
                                .n_pieces = (uint64_t)it->lent.n_pieces};
    struct extent most;
    enum gsh_result r = agree_on_extent(a, mine, &most);
    if (r != GSH_OK) {
        return r;
    }
    enum gsh_result own = place(a, &most, mine.lead, it);
    r = gsh_agree(&a->physical->agreement, step(own, 1), add_call, NULL);
    if (r == GSH_OK) {
        r = map_all(a, it, most.n_pieces);
    }
    if (r != GSH_OK && own == GSH_OK) {
        unplace(a, it);
    }
    return r;
}

enum gsh_result gsh_aliases_add(struct gsh_aliases *a, void *ptr, uint64_t bytes, uint64_t *off)
{
    struct gsh_physical *p = a->physical;
    struct gsh_alias it = {0};
    const uint64_t addr = (uint64_t)(uintptr_t)ptr;
    enum gsh_result r = find_memory(a, ptr, bytes, &it);
    const struct gsh_vote vote = {.call = GSH_VOTE_REGISTER,
                                  .outcome = (uint16_t)r,
                                  .args = {bytes, addr & (ops_of(a)->granule() - 1)}};
    r = gsh_agree(&p->agreement, vote, add_call, NULL);
    if (r == GSH_OK) {
        r = add(a, &it, addr);
    }
    if (r != GSH_OK) {
        ops_of(a)->give_back(p->memory, &it.lent);
        return r;
    }
    ops_of(a)->settle(&it.lent);
    pthread_rwlock_wrlock(a->lock);
    int i = a->n++;
    for (; i > 0 && a->list[i - 1].off > it.off; i--) {
        a->list[i] = a->list[i - 1];
    }
    a->list[i] = it;
    pthread_rwlock_unlock(a->lock);
    *off = it.off;
    return GSH_OK;
}

/* ---- taking away ---- */

/* No PE uses this PE's part any more. */
static void let_go(struct gsh_aliases *a, struct gsh_alias *it)
{
    gsh_physical_tell_goes(a->physical, it->whole_off);
    gsh_peers_unmap_pieces(&a->physical->peers, it->off);
    detach(a, it, it->lent.n_pieces);
}

void gsh_aliases_finish(struct gsh_aliases *a)
{
    for (int i = 0; i < a->n; i++) {
        let_go(a, &a->list[i]);
        ops_of(a)->give_back(a->physical->memory, &a->list[i].lent);
    }
    gsh_offset_destroy(&a->offset);
    free(a->list);
    memset(a, 0, sizeof(*a));
}

enum gsh_result gsh_aliases_remove(struct gsh_aliases *a, uint64_t off, uint64_t bytes)
{
    struct gsh_physical *p = a->physical;
    struct gsh_bootstrap *b = p->agreement.bootstrap;
    const struct gsh_vote vote = {.call = GSH_VOTE_UNREGISTER, .args = {bytes, off}};
    enum gsh_result r = gsh_agree(&p->agreement, vote, remove_call, NULL);
    if (r != GSH_OK) {
        return r;
    }
    /* From here on all PEs do the same by themselves. */
    const struct gsh_alias *found = gsh_aliases_find(a, off);
    if (found == NULL || found->off != off || found->bytes != bytes) {
        return gsh_agree_fail(&p->agreement, GSH_ERR_ARG,
                              "%s: no buffer of %" PRIu64 " bytes is registered there", remove_call,
                              bytes);
    }
    struct gsh_alias it = *found;
    pthread_rwlock_wrlock(a->lock);
    a->n--;
    for (int i = (int)(found - a->list); i < a->n; i++) {
        a->list[i] = a->list[i + 1];
    }
    pthread_rwlock_unlock(a->lock);
    let_go(a, &it);
    r = b->ops->barrier(b); /* nobody has it mapped */
    ops_of(a)->give_back(p->memory, &it.lent);
    unplace(a, &it);
    return r;
}
