/* SPDX-License-Identifier: Apache-2.0
 * A team in the making: its members find units of the pool that all of them have free, and agree
 * that their tables are written. Its maker first lets the same PEs, or more, agree on the
 * arguments. That ballot may also carry the first ballot on units:
 *
 *     m = gsh_making_begin(...);       each PE; me is -1 on one that is no member
 *     gsh_making_ask(&m);              adds the last words and or_words to m.ballot
 *     gsh_team_agree(..., &m.ballot)   with the caller's own words before those
 *     m.is_asked = true;
 *     gsh_making_finish(&m, &team);    the members
 *     gsh_making_forget(&m);           each PE
 */
#ifndef GSH_MAKING_H
#define GSH_MAKING_H

#include "gshmem.h"
#include "runtime/team/team.h"

/* What ballots hold. The words of units are the last. */
enum { BALLOT_RESULT, BALLOT_A, BALLOT_NOT_A };
enum {
    BALLOT_STATE = GSH_BALLOT_MAX_WORDS - 3, /* twice a result, and 1 more before device set-up */
    BALLOT_UNITS,
    BALLOT_NOT_UNITS
};

/* A team in the making. */
struct gsh_making {
    struct gsh_team_agreement a;
    const int *pes;
    int n, me; /* me: -1 for a PE that takes part in the agreement on the arguments alone */
    struct gsh_team *team; /* NULL: it could not be made, for the reason `made` */
    enum gsh_result made;
    struct gsh_ballot ballot; /* the latest on units, [n_units / 64] or_words */
    bool is_asked;            /* that on the arguments was one, too */
    int n_tries;              /* earlier tries: another team took the units on some member */
};

/* Makes what a member makes without the others. */
struct gsh_making gsh_making_begin(const struct gsh_team_agreement *a, const int *pes, int n,
                                   int me, const gshmem_team_config_t *config);
void gsh_making_ask(struct gsh_making *m);
/* Collective over the members; all of them get the same result. */
enum gsh_result gsh_making_finish(struct gsh_making *m, gshmem_team_t *out);
void gsh_making_forget(struct gsh_making *m);

/* An error of all PEs, which one prints. */
enum gsh_result gsh_making_say(bool is_speaker, enum gsh_result r, const char *call,
                               const char *text);

#endif
