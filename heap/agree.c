/* SPDX-License-Identifier: Apache-2.0
 * Votes: gathering, comparing, and wording what the PEs disagree on. */
#include "heap/agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct gsh_vote) == 24, "gsh_vote is exchanged between processes");

#define REASON_BYTES (10 * sizeof(struct gsh_vote))

enum gsh_result gsh_agreement_init(struct gsh_agreement *a, struct gsh_bootstrap *bootstrap)
{
    a->bootstrap = bootstrap;
    a->votes = calloc((size_t)bootstrap->size, sizeof *a->votes);
    if (!a->votes)
        return gsh_fail(GSH_ERR_NOMEM, "heap: no host memory for the votes of %d PEs",
                        bootstrap->size);
    return GSH_OK;
}

void gsh_agreement_finish(struct gsh_agreement *a)
{
    free(a->votes);
    a->votes = NULL;
}

static void describe(const struct gsh_vote *v, char *text, size_t size)
{
    unsigned long long a = v->args[0], b = v->args[1];
    if (v->call == GSH_VOTE_CREATE)
        snprintf(text, size, "sets up a heap with a range of %llu bytes, %llu of them internal", a,
                 b);
    else if (v->call == GSH_VOTE_MALLOC)
        snprintf(text, size, "asks for %llu bytes aligned to %llu", a, b);
    else if (v->call == GSH_VOTE_FREE && v->args[0] == GSH_VOTE_FREE_NULL)
        snprintf(text, size, "frees NULL");
    else if (v->call == GSH_VOTE_FREE && v->args[0] == GSH_VOTE_FREE_FOREIGN)
        snprintf(text, size, "frees a pointer outside the heap");
    else if (v->call == GSH_VOTE_FREE)
        snprintf(text, size, "frees what is at heap offset %llu", a);
    else
        snprintf(text, size, "is at step %llu inside another call", a);
}

static enum gsh_result differ(const struct gsh_agreement *a, int pe)
{
    char first[128], other[128];
    describe(&a->votes[0], first, sizeof first);
    describe(&a->votes[pe], other, sizeof other);
    return gsh_fail(GSH_ERR_SYMMETRY, "PEs disagree in a collective call: PE 0 %s, PE %d %s", first,
                    pe, other);
}

/* Carries the failing PE's words to all, in pieces as large as a vote. */
static enum gsh_result fail_everywhere(struct gsh_agreement *a, const char *mine, int pe,
                                       enum gsh_result outcome, const char *what)
{
    char reason[REASON_BYTES] = "";
    for (size_t at = 0; at < sizeof reason; at += sizeof *a->votes) {
        enum gsh_result r =
            a->bootstrap->ops->allgather(a->bootstrap, mine + at, sizeof *a->votes, a->votes);
        if (r != GSH_OK)
            return r;
        memcpy(reason + at, &a->votes[pe], sizeof *a->votes);
    }
    reason[sizeof reason - 1] = '\0';
    return gsh_fail(outcome, "%s failed on PE %d: %s", what, pe, reason);
}

enum gsh_result gsh_agree(struct gsh_agreement *a, struct gsh_vote mine, const char *what,
                          uint16_t *flags)
{
    char words[REASON_BYTES] = "";
    if (mine.outcome != GSH_OK)
        snprintf(words, sizeof words, "%s", gsh_last_error());
    enum gsh_result r = a->bootstrap->ops->allgather(a->bootstrap, &mine, sizeof mine, a->votes);
    if (r != GSH_OK)
        return r;

    const struct gsh_vote *first = &a->votes[0];
    uint16_t common = first->flags;
    int failed = -1;
    for (int pe = 0; pe < a->bootstrap->size; pe++) {
        const struct gsh_vote *v = &a->votes[pe];
        if (v->call != first->call || memcmp(v->args, first->args, sizeof v->args) != 0)
            return differ(a, pe);
        if (v->outcome != GSH_OK && failed < 0)
            failed = pe;
        common &= v->flags;
    }
    if (failed >= 0) {
        enum gsh_result outcome = (enum gsh_result)a->votes[failed].outcome;
        if (!what)
            return gsh_note(outcome, "heap: a step failed on PE %d", failed);
        return fail_everywhere(a, words, failed, outcome, what);
    }
    if (flags)
        *flags = common;
    return GSH_OK;
}
