/* SPDX-License-Identifier: Apache-2.0
 * Teams on the host. Their device form is device/state.h's gsh_team_state. */
#ifndef GSH_TEAM_H
#define GSH_TEAM_H

#include "gshmem/types.h"
#include "runtime/job/instance.h"

GSH_CHECK_RESULT enum gsh_result gsh_teams_create(struct gsh_instance *pe);
void gsh_teams_destroy(struct gsh_instance *pe);

/* Divides a team of which this PE is a member; group_of is a number from 0 to n_pes - 1. A group's
 * leader is its first member. finish accepts zeroes. */
GSH_CHECK_RESULT enum gsh_result
gsh_team_split_make(const struct gsh_instance *pe, const struct gsh_team *team,
                    int (*group_of)(const struct gsh_instance *pe, int member_pe),
                    struct gsh_team_split *out);
void gsh_team_split_finish(struct gsh_team_split *split);

/* GSH_ERR_ARG when there is no such team or this PE is not in it. */
GSH_CHECK_RESULT enum gsh_result gsh_team_check(struct gsh_instance *pe, const char *call,
                                                gshmem_team_t team);

#endif
