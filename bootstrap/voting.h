/* SPDX-License-Identifier: Apache-2.0
 * A vote as steps. In each step the ranks combine a value of a few bytes; whoever drives the vote
 * makes the combine: agree.c over a bootstrap, the simulation in virtual time (perftest/sim). All
 * ranks have the same steps. If all vote the same and have succeeded, one step is all. Otherwise a
 * few more find the rank to name, and its words: no rank needs the votes of all.
 *
 *     gsh_voting_begin(&v, rank, n, mine, words);
 *     while (gsh_voting_next(&v)) {
 *         combine v.value, v.bytes of it, by v.fold
 *     }
 */
#ifndef GSH_VOTING_H
#define GSH_VOTING_H

#include <stdbool.h>
#include <stdint.h>
#include "bootstrap/bootstrap.h"
#include "bootstrap/vote.h"

/* What some ranks' votes have in common. */
struct gsh_voting_common {
    struct gsh_vote vote; /* its outcome is GSH_OK if all are */
    uint64_t is_mixed;    /* they differ */
};

/* What the rank with the smallest key says. */
struct gsh_voting_pick {
    uint32_t key;
    uint8_t data[GSH_COMBINE_MAX_BYTES - sizeof(uint32_t)];
};

enum gsh_voting_stage {
    GSH_VOTING_COMMON, /* whether all vote alike, and have succeeded */
    GSH_VOTING_FIRST,  /* they do not: rank 0's vote */
    GSH_VOTING_OTHER,  /* and that of the first rank that differs */
    GSH_VOTING_FAILED, /* they do: the rank that failed */
    GSH_VOTING_WORDS,  /* in its words, a piece in each step */
    GSH_VOTING_OVER,
};

#define GSH_VOTING_WORD_STEPS 7
#define GSH_VOTING_TEXT_BYTES (GSH_VOTING_WORD_STEPS * sizeof(((struct gsh_voting_pick *)0)->data))

struct gsh_voting {
    /* the step under way */
    union {
        struct gsh_voting_common common;
        struct gsh_voting_pick pick;
    } value;
    uint32_t bytes;
    void (*fold)(void *into, const void *from);
    /* the result, once the vote is over */
    enum gsh_result outcome;
    uint16_t flags;               /* GSH_OK: those that all gave; a part failed: the culprit's */
    bool is_mixed;                /* the ranks vote differently */
    int culprit;                  /* not GSH_OK: the first rank that differs, or that failed */
    struct gsh_vote first, other; /* is_mixed: rank 0's vote and the culprit's */
    char text[GSH_VOTING_TEXT_BYTES]; /* else: the culprit's words */
    /* private */
    enum gsh_voting_stage stage;
    int rank, n, n_words;
    bool has_begun, has_words;
    struct gsh_vote mine;
};
_Static_assert(sizeof(struct gsh_voting_common) <= GSH_COMBINE_MAX_BYTES, "one combine");
_Static_assert(sizeof(struct gsh_voting_pick) <= GSH_COMBINE_MAX_BYTES, "one combine");
_Static_assert(sizeof(struct gsh_vote) <= sizeof(((struct gsh_voting_pick *)0)->data), "a pick");

/* Whether two votes are of the same call with the same arguments. */
bool gsh_vote_is_same(const struct gsh_vote *a, const struct gsh_vote *b);

/* words: why mine has failed, or "", cut to GSH_VOTING_TEXT_BYTES; NULL, on all ranks: nobody wants
 * to read them. */
void gsh_voting_begin(struct gsh_voting *v, int rank, int n, struct gsh_vote mine,
                      const char *words);
/* After the value has been combined goes to the next step; false: there is none. */
bool gsh_voting_next(struct gsh_voting *v);

#endif
