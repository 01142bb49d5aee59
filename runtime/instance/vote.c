/* SPDX-License-Identifier: Apache-2.0
 * See vote.h. */
#include "runtime/instance/vote.h"

#include "bootstrap/agree.h"
#include "runtime/instance/instance.h"

enum gsh_result gsh_init_vote(struct gsh_instance *pe, enum gsh_init_step step,
                              enum gsh_result mine)
{
    struct gsh_agreement a;
    const bool is_said = mine != GSH_OK && gsh_last_error_is_printed();
    struct gsh_vote vote = {.call = GSH_VOTE_STEP,
                            .outcome = (uint16_t)mine,
                            .flags = is_said ? GSH_VOTE_IS_SAID : 0,
                            .args = {(uint64_t)step}};
    enum gsh_result r = gsh_agreement_init(&a, pe->bootstrap);
    if (r == GSH_OK) {
        r = gsh_agree(&a, vote, "init", NULL);
        gsh_agreement_finish(&a);
    }
    return r;
}

enum gsh_result gsh_init_vote_failed(struct gsh_instance *pe, enum gsh_init_step step,
                                     enum gsh_result mine)
{
    const enum gsh_result r = gsh_init_vote(pe, step, mine);
    return r != GSH_OK ? r : gsh_note(GSH_ERR_PEER, "votes: a PE has changed its vote");
}
