/* SPDX-License-Identifier: Apache-2.0
 * A call for bindings: whether the members of a team are about to make the same call. Over all PEs
 * it is a vote on the way of the heap's calls, so that it also meets those. */
#include "runtime/layer.h"

#include "bootstrap/agree.h"
#include "runtime/init/setup.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"
#include "runtime/team/bootstrap.h"
#include "runtime/team/team.h"

static enum gsh_result compare(struct gsh_bootstrap *bootstrap, const int *pes, const char *text)
{
    struct gsh_agreement group;
    enum gsh_result r = gsh_agreement_init(&group, bootstrap);
    if (r != GSH_OK) {
        return r;
    }
    group.pes = pes;
    r = gsh_agree_text(&group, text);
    gsh_agreement_finish(&group);
    return r;
}

int gshmemx_layer_compare(const char *call, gshmem_team_t handle, const char *text)
{
    struct gsh_instance *pe = gsh_instance_set_up(call);
    struct gsh_team_bootstrap of_team;
    struct gsh_team *team;
    enum gsh_result r = gsh_team_need(pe, call, handle, &team);
    if (r != GSH_OK || team->n_pes == 1) {
        return gsh_public_error(r);
    }
    gsh_waits_name_call(call);
    if (handle == GSHMEM_TEAM_WORLD) {
        r = compare(pe->job_bootstrap, NULL, text);
    } else {
        gsh_team_bootstrap_init(&of_team, pe, team, call);
        r = compare(&of_team.base, team->pes, text);
    }
    if (r != GSH_ERR_SYMMETRY) {
        gsh_require(pe, call, r); /* the others would wait */
    }
    return gsh_public_error(r);
}
