/* SPDX-License-Identifier: Apache-2.0
 * Host fence, quiet, barrier and sync. What the flags of a host sync look like is job/page.h's. */
#include "gshmem.h"
#include "runtime/api/host_calls.h"
#include "runtime/team/team.h"
#include "runtime/far/far.h"
#include "runtime/job/binding.h"
#include "runtime/job/end.h"
#include "runtime/job/instance.h"
#include "runtime/setup/setup.h"

/* Before device set-up nothing can be outstanding, and set-up is collective: do not start it. */
static void quiet(struct gsh_instance *pe, gsh_context ctx, const char *call)
{
    if (pe->is_device_ready) {
        gsh_require(pe, call, pe->device_ops->quiet(pe));
        gsh_far_quiet(pe, ctx, call);
    }
}

static void fence(struct gsh_instance *pe, gsh_context ctx, const char *call)
{
    if (pe->is_device_ready) {
        gsh_require(pe, call, pe->device_ops->quiet(pe));
        gsh_far_fence(pe, ctx, call);
    }
}

void gshmem_fence(void)
{
    fence(gsh_instance_need("gshmem_fence"), GSH_CONTEXT_DEFAULT, "gshmem_fence");
}

void gshmem_quiet(void)
{
    quiet(gsh_instance_need("gshmem_quiet"), GSH_CONTEXT_DEFAULT, "gshmem_quiet");
}

int gshmem_barrier(gshmem_team_t team)
{
    static const char call[] = "gshmem_barrier";
    struct gsh_instance *pe = gsh_instance_need(call);
    struct gsh_team *t;
    enum gsh_result r = gsh_team_need(pe, call, team, &t);
    if (r == GSH_OK) {
        quiet(pe, GSH_CONTEXT_DEFAULT, call);
        gsh_host_sync(pe, t, call);
    }
    return gsh_public_error(r);
}

int gshmem_team_sync(gshmem_team_t team)
{
    static const char call[] = "gshmem_team_sync";
    struct gsh_instance *pe = gsh_instance_need(call);
    struct gsh_team *t;
    enum gsh_result r = gsh_team_need(pe, call, team, &t);
    if (r == GSH_OK) {
        gsh_host_sync(pe, t, call);
    }
    return gsh_public_error(r);
}

void gshmem_barrier_all(void)
{
    static const char call[] = "gshmem_barrier_all";
    struct gsh_instance *pe = gsh_instance_set_up(call);
    quiet(pe, GSH_CONTEXT_DEFAULT, call);
    gsh_host_sync(pe, gsh_team_find(pe, GSHMEM_TEAM_WORLD), call);
}

void gshmem_sync_all(void)
{
    static const char call[] = "gshmem_sync_all";
    struct gsh_instance *pe = gsh_instance_set_up(call);
    gsh_host_sync(pe, gsh_team_find(pe, GSHMEM_TEAM_WORLD), call);
}
