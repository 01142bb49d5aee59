/* SPDX-License-Identifier: Apache-2.0
 * A bootstrap over the members of a team, for agreements among the members alone. Its collective
 * calls are ballots (agree.c), so a member that does not arrive in time, or dies, ends the job. */
#ifndef GSH_TEAM_BOOTSTRAP_H
#define GSH_TEAM_BOOTSTRAP_H

#include "bootstrap/bootstrap.h"
#include "runtime/team/team.h"

struct gsh_team_bootstrap {
    struct gsh_bootstrap base; /* ranks are indexes in the team */
    struct gsh_instance *pe;
    const struct gsh_team *team;
    const char *call; /* for the report */
};

/* It need not be ended; team and call must outlive its use. */
void gsh_team_bootstrap_init(struct gsh_team_bootstrap *b, struct gsh_instance *pe,
                             const struct gsh_team *team, const char *call);

#endif
