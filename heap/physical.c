/* SPDX-License-Identifier: Apache-2.0
 * Two-phase growth and its undoing; shrinking. */
#include "heap/physical.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/fault.h"

static uint64_t own_address(const struct gsh_physical *p, uint64_t off)
{
    return gsh_peers_address(&p->peers, p->peers.my_slot, off);
}

static const struct gsh_heap_members everybody = {0};

/* Tells the first n subscribers, the latest first. */
static void tell_goes(struct gsh_physical *p, int n, uint64_t off,
                      const struct gsh_heap_members *members)
{
    for (int i = n - 1; i >= 0; i--) {
        p->subscribers[i].goes(p->subscribers[i].context, off, members);
    }
}

void gsh_physical_finish(struct gsh_physical *p)
{
    for (int c = p->n_chunks - 1; c >= 0; c--) {
        tell_goes(p, p->n_subscribers, p->chunks[c].off, &everybody);
        p->memory->ops->unmap(own_address(p, p->chunks[c].off), p->chunks[c].bytes);
    }
    if (p->memory != NULL) {
        p->memory->ops->destroy(&p->memory);
    }
    gsh_peers_finish(&p->peers);
    gsh_agreement_finish(&p->agreement);
    free(p->chunks);
    memset(p, 0, sizeof(*p));
}

/* Room for one more chunk, so that noting it later cannot fail. */
static enum gsh_result make_room(struct gsh_physical *p)
{
    const size_t n = (size_t)p->n_chunks + 1;
    if (n > p->chunks_room &&
        (gsh_fault() || !gsh_array_reserve(&p->chunks, &p->chunks_room, n, sizeof(*p->chunks)))) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for the list of %zu chunks", n);
    }
    return GSH_OK;
}

static void take_back(struct gsh_physical *p, struct gsh_chunk chunk)
{
    p->memory->ops->unmap(own_address(p, chunk.off), chunk.bytes);
    p->memory->ops->release(p->memory, chunk.off);
}

/* This PE's part of the first phase. */
static enum gsh_result commit(struct gsh_physical *p, struct gsh_chunk chunk, uint64_t zero_bytes)
{
    enum gsh_result r = make_room(p);
    if (r == GSH_OK) {
        r = p->memory->ops->commit(p->memory, own_address(p, chunk.off), chunk);
    }
    if (r != GSH_OK) {
        return r;
    }
    if (zero_bytes > 0 && !p->memory->ops->is_born_zero) {
        r = p->memory->ops->zero(p->memory, own_address(p, chunk.off), zero_bytes);
    }
    if (r == GSH_OK) {
        r = gsh_peers_share(&p->peers, p->memory, chunk);
    }
    if (r != GSH_OK) {
        take_back(p, chunk);
    }
    return r;
}

static struct gsh_vote step(enum gsh_result outcome, uint64_t off, uint64_t phase)
{
    return (struct gsh_vote){
        .call = GSH_VOTE_STEP, .outcome = (uint16_t)outcome, .args = {off, phase}};
}

/* A phase for each subscriber: its work may be collective, so all members must know whether to
 * continue with the next. The first one's has the outcome of what came before, too. */
enum gsh_result gsh_physical_tell(struct gsh_physical *p, struct gsh_agreement *group,
                                  struct gsh_chunk chunk, enum gsh_result prior, const char *what)
{
    void *memory = (void *)(uintptr_t)own_address(p, chunk.off);
    const struct gsh_heap_members members = {
        .bootstrap = group->bootstrap, .pes = group->pes, .n = group->bootstrap->size};
    if (p->n_subscribers == 0) {
        return gsh_agree(group, step(prior, chunk.off, 2), what, NULL);
    }
    for (int i = 0; i < p->n_subscribers; i++) {
        const struct gsh_heap_events *to = &p->subscribers[i];
        const enum gsh_result before = i == 0 ? prior : GSH_OK;
        enum gsh_result mine =
            to->came(to->context, memory, chunk.off, chunk.bytes, before, &members);
        enum gsh_result all = gsh_agree(group, step(mine, chunk.off, 3 + (uint64_t)i), what, NULL);
        if (all != GSH_OK) {
            tell_goes(p, mine == GSH_OK ? i + 1 : i, chunk.off, &members);
            return all;
        }
        if (to->settled != NULL) {
            to->settled(to->context, chunk.off, &members);
        }
    }
    return GSH_OK;
}

void gsh_physical_tell_goes(struct gsh_physical *p, uint64_t off,
                            const struct gsh_heap_members *members)
{
    tell_goes(p, p->n_subscribers, off, members);
}

enum gsh_result gsh_physical_grow(struct gsh_physical *p, uint64_t bytes, uint64_t zero_bytes,
                                  const char *what)
{
    struct gsh_chunk chunk = {.off = p->committed, .bytes = bytes};
    enum gsh_result mine = commit(p, chunk, zero_bytes);
    enum gsh_result all = gsh_agree(&p->agreement, step(mine, chunk.off, 1), what, NULL);
    if (all != GSH_OK) {
        gsh_peers_unshare(&p->peers);
        if (mine == GSH_OK) {
            take_back(p, chunk);
        }
        return all;
    }
    mine = gsh_peers_map(&p->peers, p->memory, chunk);
    all = gsh_physical_tell(p, &p->agreement, chunk, mine, what);
    if (all != GSH_OK) {
        if (mine == GSH_OK) {
            gsh_peers_unmap(&p->peers, chunk);
        }
        take_back(p, chunk);
        return all;
    }
    p->chunks[p->n_chunks++] = chunk;
    p->committed += bytes;
    return GSH_OK;
}

enum gsh_result gsh_physical_shrink(struct gsh_physical *p, uint64_t end, uint64_t keep_bytes)
{
    int kept = p->n_chunks;
    while (kept > 0 && p->chunks[kept - 1].off >= end &&
           p->chunks[kept - 1].off - end + p->chunks[kept - 1].bytes > keep_bytes) {
        kept--;
    }
    if (kept == p->n_chunks) {
        return GSH_OK;
    }
    for (int c = p->n_chunks - 1; c >= kept; c--) {
        tell_goes(p, p->n_subscribers, p->chunks[c].off, &everybody);
        gsh_peers_unmap(&p->peers, p->chunks[c]);
        p->memory->ops->unmap(own_address(p, p->chunks[c].off), p->chunks[c].bytes);
    }
    /* Pages are released only when no process has them mapped. */
    struct gsh_bootstrap *b = p->agreement.bootstrap;
    enum gsh_result r = b->ops->barrier(b);
    p->committed = p->chunks[kept].off;
    p->n_chunks = kept;
    p->memory->ops->release(p->memory, p->committed);
    return r;
}
