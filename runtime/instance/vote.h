/* SPDX-License-Identifier: Apache-2.0
 * Votes of init, over the launcher's bootstrap: a failure on one PE is known to all PEs before they
 * wait for that PE. */
#ifndef GSH_VOTE_H
#define GSH_VOTE_H

#include "base/result.h"

struct gsh_instance;

/* In the order of init. */
enum gsh_init_step {
    GSH_STEP_BELLS, /* only after a failure: the exchange of identities tells */
    GSH_STEP_LISTENERS,
    GSH_STEP_PAGES,
    GSH_STEP_MONITOR,
    GSH_STEP_ADDRESSES, /* only after a failure: the exchange of addresses tells */
    GSH_STEP_READY,     /* the first phase is over; only after a failure, if the second phase, whose
                           first exchange tells, is part of init */
    GSH_STEP_PIPES,
    GSH_STEP_DEATHS,
    GSH_STEP_NET, /* addresses, if one node needs a network */
};

/* Collective over the job. mine: the outcome of this PE's part. Returns the same on all PEs: GSH_OK
 * if none failed, otherwise the failure of the first PE that has not merely lost another one. If
 * that PE has only noted it, rank 0 prints it in that PE's words. */
GSH_CHECK_RESULT enum gsh_result gsh_init_vote(struct gsh_instance *pe, enum gsh_init_step step,
                                               enum gsh_result mine);
/* The same where all know that one has failed, and are to learn which, and why: never GSH_OK. */
GSH_CHECK_RESULT enum gsh_result
gsh_init_vote_failed(struct gsh_instance *pe, enum gsh_init_step step, enum gsh_result mine);

#endif
