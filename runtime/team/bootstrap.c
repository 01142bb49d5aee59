/* SPDX-License-Identifier: Apache-2.0
 * See bootstrap.h. An allgather: each member puts its own bytes at its place in a ballot, and zeros
 * elsewhere. A combine: a ballot with the caller's way of combining. */
#include "runtime/team/bootstrap.h"

#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "runtime/instance/death.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"

static enum gsh_result vote(struct gsh_team_bootstrap *b, struct gsh_ballot *ballot)
{
    const struct gsh_team_agreement a = {
        .pe = b->pe, .call = b->call, .key = GSH_AGREE_TEAM(b->team->handle)};
    gsh_team_agree(&a, b->team->pes, b->team->n_pes, b->team->my_index, ballot);
    return gsh_is_death_among(b->pe, b->team->pes, b->team->n_pes) ? gsh_note_death(b->call)
                                                                   : GSH_OK;
}

/* Copies the part of mine (at mine_off of the whole) that lies in [off, off + bytes). */
static void put_part(uint8_t *window, size_t off, size_t bytes, const void *mine, size_t mine_off,
                     size_t mine_bytes)
{
    const size_t begin = gsh_max_u64(off, mine_off);
    const size_t end = gsh_min_u64(off + bytes, mine_off + mine_bytes);
    if (begin < end) {
        memcpy(window + (begin - off), (const uint8_t *)mine + (begin - mine_off), end - begin);
    }
}

static enum gsh_result team_allgather(struct gsh_bootstrap *base, const void *mine, size_t bytes,
                                      void *all_out)
{
    struct gsh_team_bootstrap *b = (struct gsh_team_bootstrap *)base;
    struct gsh_teams *teams = b->pe->teams;
    const size_t all_bytes = (size_t)base->size * bytes;
    const size_t room = teams->n_units / 64 * sizeof(uint64_t);
    uint64_t *words = calloc(1, room);
    if (words == NULL) { /* the others would wait */
        gsh_abort(b->pe, 1, "%s: no memory for %d members", b->call, base->size);
    }
    enum gsh_result r = GSH_OK;
    for (size_t off = 0; r == GSH_OK && off < all_bytes; off += room) {
        const size_t n = gsh_min_u64(all_bytes - off, room);
        struct gsh_ballot ballot = {.or_words = words, .n_or = (uint32_t)((n + 7) / 8)};
        memset(words, 0, room);
        put_part((uint8_t *)words, off, n, mine, (size_t)base->rank * bytes, bytes);
        r = vote(b, &ballot);
        memcpy((uint8_t *)all_out + off, words, n);
    }
    free(words);
    return r;
}

static enum gsh_result team_combine(struct gsh_bootstrap *base, void *mine, size_t bytes,
                                    void (*fold)(void *into, const void *from))
{
    struct gsh_ballot ballot = {.fold = fold};
    memcpy(ballot.max, mine, bytes);
    enum gsh_result r = vote((struct gsh_team_bootstrap *)base, &ballot);
    memcpy(mine, ballot.max, bytes);
    return r;
}
_Static_assert(GSH_COMBINE_MAX_BYTES <= GSH_BALLOT_MAX_WORDS * sizeof(uint64_t), "one ballot");

static enum gsh_result team_barrier(struct gsh_bootstrap *base)
{
    struct gsh_ballot ballot = {.or_words = NULL};
    return vote((struct gsh_team_bootstrap *)base, &ballot);
}

static void team_abort(struct gsh_bootstrap *base, int status, const char *message)
{
    gsh_abort(((struct gsh_team_bootstrap *)base)->pe, status, "%s", message);
}

static void team_destroy(struct gsh_bootstrap *base)
{
    (void)base;
}

static const struct gsh_bootstrap_ops team_ops = {
    .name = "team",
    .allgather = team_allgather,
    .barrier = team_barrier,
    .combine = team_combine,
    .abort = team_abort,
    .destroy = team_destroy,
};

void gsh_team_bootstrap_init(struct gsh_team_bootstrap *b, struct gsh_instance *pe,
                             const struct gsh_team *team, const char *call)
{
    *b = (struct gsh_team_bootstrap){
        .base = {.ops = &team_ops, .rank = team->my_index, .size = team->n_pes},
        .pe = pe,
        .team = team,
        .call = call,
    };
}
