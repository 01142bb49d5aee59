/* SPDX-License-Identifier: Apache-2.0
 * Votes: gathering, comparing, and wording what the PEs disagree on. */
#include "bootstrap/agree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct gsh_vote) == 24, "gsh_vote is exchanged between processes");

#define REASON_BYTES (10 * sizeof(struct gsh_vote))

enum gsh_result gsh_agreement_init(struct gsh_agreement *a, struct gsh_bootstrap *bootstrap)
{
    *a = (struct gsh_agreement){.bootstrap = bootstrap};
    a->votes = calloc((size_t)bootstrap->size, sizeof(*a->votes));
    if (a->votes == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "votes: no host memory for the votes of %d PEs",
                        bootstrap->size);
    }
    return GSH_OK;
}

void gsh_agreement_finish(struct gsh_agreement *a)
{
    free(a->votes);
    a->votes = NULL;
}

const char *gsh_vote_name(enum gsh_vote_call call)
{
    static const char *const names[] = {
        [GSH_VOTE_CREATE] = "the set-up of the heap",
        [GSH_VOTE_MALLOC] = "gshmem_malloc",
        [GSH_VOTE_CALLOC] = "gshmem_calloc",
        [GSH_VOTE_ALIGN] = "gshmem_align",
        [GSH_VOTE_REALLOC] = "gshmem_realloc",
        [GSH_VOTE_STATICS] = "init with symmetric globals",
        [GSH_VOTE_FREE] = "gshmem_free",
        [GSH_VOTE_REGISTER] = "gshmemx_buffer_register_symmetric",
        [GSH_VOTE_UNREGISTER] = "gshmemx_buffer_unregister_symmetric",
        [GSH_VOTE_FINALIZE] = "gshmem_finalize",
        [GSH_VOTE_STEP] = "a step of an allocation",
    };
    return call <= GSH_VOTE_STEP ? names[call] : "another call";
}

const char *gsh_agree_name(const struct gsh_agreement *a, enum gsh_vote_call call)
{
    return a->call != NULL ? a->call : gsh_vote_name(call);
}

static int pe_of(const struct gsh_agreement *a, int rank)
{
    return a->pes != NULL ? a->pes[rank] : rank;
}

enum gsh_result gsh_agree_fail(struct gsh_agreement *a, enum gsh_result r, const char *format, ...)
{
    char text[768];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    r = a->bootstrap->rank == 0 ? gsh_fail(r, "%s", text) : gsh_note(r, "%s", text);
    /* Any PE may end the job because of it, but not before it is printed. */
    enum gsh_result rb = a->bootstrap->ops->barrier(a->bootstrap);
    return rb == GSH_OK ? r : rb;
}

static void describe(const struct gsh_vote *v, char *text, size_t size)
{
    unsigned long long a = v->args[0], b = v->args[1];
    if (v->call == GSH_VOTE_CREATE) {
        snprintf(text, size, "has a range of %llu bytes, %llu of them internal", a, b);
    } else if (v->call == GSH_VOTE_STEP) {
        snprintf(text, size, "is at step %llu", a);
    } else if (v->call == GSH_VOTE_REGISTER) {
        snprintf(text, size, "registers %llu bytes from %llu bytes behind the start of a page on",
                 a, b);
    } else if (v->call == GSH_VOTE_UNREGISTER) {
        snprintf(text, size, "unregisters %llu bytes at heap offset %llu", a, b);
    } else if (v->call != GSH_VOTE_FREE) {
        snprintf(text, size, "asks for %llu bytes aligned to %llu", a, b);
    } else if (v->args[0] == GSH_VOTE_FREE_NULL) {
        snprintf(text, size, "frees NULL");
    } else if (v->args[0] == GSH_VOTE_FREE_FOREIGN) {
        snprintf(text, size, "frees a pointer outside the heap");
    } else {
        snprintf(text, size, "frees what is at heap offset %llu", a);
    }
}

static enum gsh_result differ(struct gsh_agreement *a, int rank)
{
    struct gsh_vote first = a->votes[0], other = a->votes[rank];
    const int pe = pe_of(a, rank), pe0 = pe_of(a, 0);
    char ours[128], theirs[128];
    if (first.call != other.call) {
        return gsh_agree_fail(a, GSH_ERR_SYMMETRY,
                              "PE %d called %s while PE %d called %s: all PEs must make the same "
                              "collective calls in the same order",
                              pe, gsh_vote_name(other.call), pe0, gsh_vote_name(first.call));
    }
    describe(&first, ours, sizeof(ours));
    describe(&other, theirs, sizeof(theirs));
    return gsh_agree_fail(a, GSH_ERR_SYMMETRY, "%s: PE %d %s, PE %d %s",
                          gsh_agree_name(a, first.call), pe0, ours, pe, theirs);
}

/* Carries the failing rank's words to all, in pieces as large as a vote. */
static enum gsh_result fail_everywhere(struct gsh_agreement *a, const char *mine, int rank,
                                       enum gsh_result outcome, const char *what)
{
    char reason[REASON_BYTES] = "";
    for (size_t at = 0; at < sizeof(reason); at += sizeof(*a->votes)) {
        enum gsh_result r =
            a->bootstrap->ops->allgather(a->bootstrap, mine + at, sizeof(*a->votes), a->votes);
        if (r != GSH_OK) {
            return r;
        }
        memcpy(reason + at, &a->votes[rank], sizeof(*a->votes));
    }
    reason[sizeof(reason) - 1] = '\0';
    return gsh_agree_fail(a, outcome, "%s failed on PE %d: %s", what, pe_of(a, rank), reason);
}

/* What some PEs' votes have in common. */
struct common {
    struct gsh_vote vote; /* its outcome is GSH_OK if all are */
    uint64_t is_mixed;    /* they differ */
};
_Static_assert(sizeof(struct common) <= GSH_COMBINE_MAX_BYTES, "one combine");

/* Whether the PEs vote alike, and all have succeeded, shows before anybody looks at all votes. */
static void fold(void *into, const void *from)
{
    struct common *mine = into;
    const struct common *theirs = from;
    mine->is_mixed |=
        theirs->is_mixed | (uint64_t)(mine->vote.call != theirs->vote.call) |
        (uint64_t)(memcmp(mine->vote.args, theirs->vote.args, sizeof(mine->vote.args)) != 0);
    mine->vote.flags &= theirs->vote.flags;
    mine->vote.outcome |= theirs->vote.outcome;
}

enum gsh_result gsh_agree(struct gsh_agreement *a, struct gsh_vote mine, const char *what,
                          uint16_t *flags)
{
    char words[REASON_BYTES] = "";
    if (mine.outcome != GSH_OK) {
        snprintf(words, sizeof(words), "%s", gsh_last_error());
    }
    if (a->bootstrap->ops->combine != NULL) {
        struct common all = {.vote = mine};
        enum gsh_result rc = a->bootstrap->ops->combine(a->bootstrap, &all, sizeof(all), fold);
        if (rc != GSH_OK) {
            return rc;
        }
        if (!all.is_mixed && all.vote.outcome == GSH_OK) {
            if (flags != NULL) {
                *flags = all.vote.flags;
            }
            return GSH_OK;
        }
    }
    enum gsh_result r = a->bootstrap->ops->allgather(a->bootstrap, &mine, sizeof(mine), a->votes);
    if (r != GSH_OK) {
        return r;
    }

    const struct gsh_vote *first = &a->votes[0];
    uint16_t common = first->flags;
    int failed = -1;
    for (int rank = 0; rank < a->bootstrap->size; rank++) {
        const struct gsh_vote *v = &a->votes[rank];
        if (v->call != first->call || memcmp(v->args, first->args, sizeof(v->args)) != 0) {
            return differ(a, rank);
        }
        /* who has only lost another PE does not know why */
        if (v->outcome != GSH_OK && (failed < 0 || (v->outcome != GSH_ERR_PEER &&
                                                    a->votes[failed].outcome == GSH_ERR_PEER))) {
            failed = rank;
        }
        common &= v->flags;
    }
    if (failed >= 0) {
        enum gsh_result outcome = (enum gsh_result)a->votes[failed].outcome;
        if (what == NULL) {
            return gsh_note(outcome, "votes: a step failed on PE %d", pe_of(a, failed));
        }
        return fail_everywhere(a, words, failed, outcome, what);
    }
    if (flags != NULL) {
        *flags = common;
    }
    return GSH_OK;
}
