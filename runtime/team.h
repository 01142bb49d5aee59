/* SPDX-License-Identifier: Apache-2.0
 * Teams on the host. Their device form is device/state.h's gsh_team_state. */
#ifndef GSH_TEAM_H
#define GSH_TEAM_H

#include "gshmem/types.h"
#include "runtime/instance.h"

GSH_CHECK_RESULT enum gsh_result gsh_teams_create(struct gsh_instance *pe);
void gsh_teams_destroy(struct gsh_instance *pe);
/* GSH_ERR_ARG when there is no such team or this PE is not in it. */
GSH_CHECK_RESULT enum gsh_result gsh_team_check(struct gsh_instance *pe, const char *call,
                                                gshmem_team_t team);

#endif
