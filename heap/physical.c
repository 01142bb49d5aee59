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

/* Tells the subscribers from `first` on, before `end`, the latest first. */
static void tell_goes(struct gsh_physical *p, int first, int end, uint64_t off,
                      const struct gsh_heap_members *members)
{
    for (int i = end - 1; i >= first; i--) {
        p->subscribers[i].goes(p->subscribers[i].context, off, members);
    }
}

void gsh_physical_finish(struct gsh_physical *p)
{
    for (int c = p->n_chunks - 1; c >= 0; c--) {
        tell_goes(p, 0, p->n_subscribers, p->chunks[c].off, &everybody);
        p->memory->ops->unmap(own_address(p, p->chunks[c].off), p->chunks[c].bytes);
    }
    if (p->memory != NULL) {
        p->memory->ops->destroy(&p->memory);
    }
    gsh_peers_finish(&p->peers);
    gsh_agreement_finish(&p->agreement);
    gsh_agreement_finish(&p->first);
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

static struct gsh_heap_members members_of(const struct gsh_agreement *group)
{
    return (struct gsh_heap_members){
        .bootstrap = group->bootstrap, .pes = group->pes, .n = group->bootstrap->size};
}

static enum gsh_result tell_came(struct gsh_physical *p, int subscriber,
                                 struct gsh_agreement *group, struct gsh_chunk chunk,
                                 enum gsh_result prior)
{
    const struct gsh_heap_events *to = &p->subscribers[subscriber];
    const struct gsh_heap_members members = members_of(group);
    /* a PE that has failed may have no range */
    void *memory = prior == GSH_OK ? (void *)(uintptr_t)own_address(p, chunk.off) : NULL;
    return to->came(to->context, memory, chunk.off, chunk.bytes, prior, &members);
}

static void settle(struct gsh_physical *p, int subscriber, struct gsh_agreement *group,
                   struct gsh_chunk chunk)
{
    const struct gsh_heap_events *to = &p->subscribers[subscriber];
    const struct gsh_heap_members members = members_of(group);
    if (to->settled != NULL) {
        to->settled(to->context, chunk.off, &members);
    }
}

/* Whether this subscriber tells all PEs what each has come to, so that no vote need follow. */
static bool tells_all(const struct gsh_physical *p, int subscriber)
{
    return subscriber == 0 && p->n_subscribers > 0 && p->subscribers[0].told != NULL;
}

static enum gsh_result vote_on_told(struct gsh_physical *p, int subscriber,
                                    struct gsh_agreement *group, struct gsh_vote vote,
                                    const char *what)
{
    const struct gsh_heap_events *to = &p->subscribers[subscriber];
    const bool is_told = tells_all(p, subscriber);
    const enum gsh_heap_told told = is_told ? to->told(to->context) : GSH_HEAP_SOME_FAILED;
    p->is_over = told == GSH_HEAP_OVER;
    if (told == GSH_HEAP_ALL_WELL || told == GSH_HEAP_OVER) {
        return (enum gsh_result)vote.outcome;
    }
    enum gsh_result r = gsh_agree(group, vote, what, NULL);
    return r == GSH_OK && is_told ? gsh_note(GSH_ERR_PEER, "votes: a PE has changed its vote") : r;
}

/* A phase for each subscriber: its work may be collective, so all members must know whether to
 * continue with the next. The first one's has the outcome of what came before, too. */
enum gsh_result gsh_physical_tell(struct gsh_physical *p, struct gsh_agreement *group,
                                  struct gsh_chunk chunk, enum gsh_result prior, const char *what)
{
    const struct gsh_heap_members members = members_of(group);
    if (p->n_subscribers == 0) {
        return gsh_agree(group, step(prior, chunk.off, 2), what, NULL);
    }
    for (int i = 0; i < p->n_subscribers; i++) {
        enum gsh_result mine = tell_came(p, i, group, chunk, i == 0 ? prior : GSH_OK);
        enum gsh_result all =
            vote_on_told(p, i, group, step(mine, chunk.off, 3 + (uint64_t)i), what);
        if (all != GSH_OK) {
            tell_goes(p, 0, mine == GSH_OK ? i + 1 : i, chunk.off, &members);
            return all;
        }
        settle(p, i, group, chunk);
    }
    return GSH_OK;
}

void gsh_physical_tell_goes(struct gsh_physical *p, uint64_t off,
                            const struct gsh_heap_members *members)
{
    tell_goes(p, 0, p->n_subscribers, off, members);
}

static void fold_outcome(void *into, const void *from)
{
    *(uint64_t *)into |= *(const uint64_t *)from;
}

enum gsh_result gsh_physical_agree_on_node(struct gsh_physical *p, enum gsh_result mine)
{
    uint64_t outcomes = (uint64_t)mine;
    enum gsh_result r = p->node->ops->combine(p->node, &outcomes, sizeof(outcomes), fold_outcome);
    if (r == GSH_OK && mine == GSH_OK && outcomes != GSH_OK) {
        r = gsh_note(GSH_ERR_PEER, "another PE of the node has failed");
    }
    return mine != GSH_OK ? mine : r;
}

/* Ends the first phase, for this PE has committed its chunk or failed, and maps the peers' chunks.
 * *all: what the job has come to, if that is known; else the result is this PE's own. */
static enum gsh_result map(struct gsh_physical *p, struct gsh_chunk chunk,
                           enum gsh_result committed, const char *what, enum gsh_result *all)
{
    enum gsh_result r = GSH_OK;
    *all = GSH_OK;
    if (p->node != NULL) {
        r = gsh_physical_agree_on_node(p, committed);
    } else {
        r = *all = gsh_agree(&p->agreement, step(committed, chunk.off, 1), what, NULL);
    }
    if (r == GSH_OK) {
        return gsh_peers_map(&p->peers, p->memory, chunk);
    }
    gsh_peers_unshare(&p->peers);
    return r;
}

enum gsh_result gsh_physical_grow(struct gsh_physical *p, uint64_t bytes, uint64_t zero_bytes,
                                  enum gsh_result prior, const char *what)
{
    struct gsh_chunk chunk = {.off = p->committed, .bytes = bytes};
    const enum gsh_result committed = prior == GSH_OK ? commit(p, chunk, zero_bytes) : prior;
    enum gsh_result all;
    const enum gsh_result mapped = map(p, chunk, committed, what, &all);
    if (all == GSH_OK) {
        const bool is_first = p->n_chunks == 0 && p->first.bootstrap != NULL;
        all = gsh_physical_tell(p, is_first ? &p->first : &p->agreement, chunk, mapped, what);
    }
    if (all != GSH_OK) {
        if (mapped == GSH_OK) {
            gsh_peers_unmap(&p->peers, chunk);
        }
        if (committed == GSH_OK) {
            take_back(p, chunk);
        }
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
        tell_goes(p, 0, p->n_subscribers, p->chunks[c].off, &everybody);
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
