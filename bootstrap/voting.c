/* SPDX-License-Identifier: Apache-2.0
 * See voting.h. Values come from other processes: a rank or a result among them is bounded. */
#include "bootstrap/voting.h"

#include <stdio.h>
#include <string.h>

#define NO_KEY UINT32_MAX /* what a rank with nothing to say gives */

/* A rank that has only lost another PE does not know why, so the failures of other ranks come
 * first. */
#define LOSS_KEYS (UINT32_C(1) << 30)

bool gsh_vote_is_same(const struct gsh_vote *a, const struct gsh_vote *b)
{
    return a->call == b->call && memcmp(a->args, b->args, sizeof(a->args)) == 0;
}

static void fold_common(void *into, const void *from)
{
    struct gsh_voting_common *mine = into;
    const struct gsh_voting_common *theirs = from;
    mine->is_mixed |= theirs->is_mixed | (uint64_t)!gsh_vote_is_same(&mine->vote, &theirs->vote);
    mine->vote.flags &= theirs->vote.flags;
    mine->vote.outcome |= theirs->vote.outcome;
}

static void fold_pick(void *into, const void *from)
{
    struct gsh_voting_pick *mine = into;
    const struct gsh_voting_pick *theirs = from;
    if (theirs->key < mine->key) {
        *mine = *theirs;
    }
}

static void pick(struct gsh_voting *v, enum gsh_voting_stage stage, uint32_t key, const void *data,
                 size_t bytes)
{
    v->stage = stage;
    v->bytes = sizeof(v->value.pick);
    v->fold = fold_pick;
    memset(&v->value, 0, sizeof(v->value));
    v->value.pick.key = key;
    memcpy(v->value.pick.data, data, bytes);
}

static void pick_vote(struct gsh_voting *v, enum gsh_voting_stage stage, bool is_mine,
                      uint32_t more)
{
    pick(v, stage, is_mine ? (uint32_t)v->rank + more : NO_KEY, &v->mine, sizeof(v->mine));
}

static void pick_words(struct gsh_voting *v)
{
    pick(v, GSH_VOTING_WORDS, v->rank == v->culprit ? 0 : NO_KEY,
         v->text + (size_t)v->n_words * sizeof(v->value.pick.data), sizeof(v->value.pick.data));
}

void gsh_voting_begin(struct gsh_voting *v, int rank, int n, struct gsh_vote mine,
                      const char *words)
{
    memset(v, 0, sizeof(*v));
    v->rank = rank;
    v->n = n;
    v->mine = mine;
    v->has_words = words != NULL;
    v->bytes = sizeof(v->value.common);
    v->fold = fold_common;
    v->value.common.vote = mine;
    snprintf(v->text, sizeof(v->text), "%s", words == NULL ? "" : words);
}

static bool end(struct gsh_voting *v, enum gsh_result outcome)
{
    v->outcome = outcome;
    v->stage = GSH_VOTING_OVER;
    return false;
}

static bool end_common(struct gsh_voting *v)
{
    const struct gsh_voting_common *all = &v->value.common;
    if (all->is_mixed != 0) {
        pick_vote(v, GSH_VOTING_FIRST, true, 0);
        return true;
    }
    if (all->vote.outcome == GSH_OK) {
        v->flags = all->vote.flags;
        return end(v, GSH_OK);
    }
    pick_vote(v, GSH_VOTING_FAILED, v->mine.outcome != GSH_OK,
              v->mine.outcome == GSH_ERR_PEER ? LOSS_KEYS : 0);
    return true;
}

/* The rank that was picked, and its vote. */
static void take_pick(struct gsh_voting *v, struct gsh_vote *vote)
{
    const uint32_t rank = v->value.pick.key & (LOSS_KEYS - 1);
    v->culprit = rank < (uint32_t)v->n ? (int)rank : 0;
    memcpy(vote, v->value.pick.data, sizeof(*vote));
}

static bool end_failed(struct gsh_voting *v)
{
    struct gsh_vote its;
    take_pick(v, &its);
    v->outcome = its.outcome > GSH_OK && its.outcome < GSH_RESULT_COUNT
                     ? (enum gsh_result)its.outcome
                     : GSH_ERR_PEER;
    v->flags = its.flags;
    if (!v->has_words) {
        return end(v, v->outcome);
    }
    pick_words(v);
    return true;
}

static bool end_words(struct gsh_voting *v)
{
    const size_t piece = sizeof(v->value.pick.data);
    memcpy(v->text + (size_t)v->n_words++ * piece, v->value.pick.data, piece);
    if (v->n_words < GSH_VOTING_WORD_STEPS) {
        pick_words(v);
        return true;
    }
    v->text[sizeof(v->text) - 1] = '\0';
    return end(v, v->outcome);
}

bool gsh_voting_next(struct gsh_voting *v)
{
    if (!v->has_begun) {
        v->has_begun = true;
        return true;
    }
    switch (v->stage) {
    case GSH_VOTING_COMMON:
        return end_common(v);
    case GSH_VOTING_FIRST:
        take_pick(v, &v->first);
        pick_vote(v, GSH_VOTING_OTHER, !gsh_vote_is_same(&v->mine, &v->first), 0);
        return true;
    case GSH_VOTING_OTHER:
        take_pick(v, &v->other);
        v->is_mixed = true;
        return end(v, GSH_ERR_SYMMETRY);
    case GSH_VOTING_FAILED:
        return end_failed(v);
    case GSH_VOTING_WORDS:
        return end_words(v);
    default:
        return false;
    }
}
