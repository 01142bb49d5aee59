/* SPDX-License-Identifier: Apache-2.0
 * The calls on teams that need more than teams: contexts, and addresses of other PEs. The other
 * calls are in runtime/team/. */
#include "gshmem.h"
#include "runtime/context/context.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"
#include "runtime/team/team.h"

void *gshmem_team_ptr(gshmem_team_t team, const void *dest, int pe_in_team)
{
    struct gsh_instance *pe = gsh_instance_need("gshmem_team_ptr");
    const struct gsh_team *t = gsh_team_find(pe, team);
    bool is_member = t != NULL && pe_in_team >= 0 && pe_in_team < t->n_pes;
    return is_member ? gshmem_ptr(dest, gsh_team_pe(t, pe_in_team)) : NULL;
}

void gshmem_team_destroy(gshmem_team_t team)
{
    static const char call[] = "gshmem_team_destroy";
    struct gsh_instance *pe = gsh_instance_need(call);
    struct gsh_team *t;
    if (team == GSHMEM_TEAM_INVALID || gsh_team_need(pe, call, team, &t) != GSH_OK) {
        return;
    }
    if (team < GSH_TEAM_PREDEFINED) {
        gsh_fail(GSH_ERR_ARG, "%s: team %d is predefined and stays", call, (int)team);
        return;
    }
    gsh_contexts_end(pe, team, call);
    gsh_team_end(pe, call, t);
}
