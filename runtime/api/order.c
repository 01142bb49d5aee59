/* SPDX-License-Identifier: Apache-2.0
 * Host fence, quiet, barrier and sync. team/host_sync.c synchronises the host threads. */
#include "gshmem.h"
#include "runtime/api/check.h"
#include "runtime/api/context.h"
#include "runtime/api/host_calls.h"
#include "runtime/context/context.h"
#include "runtime/team/team.h"
#include "runtime/far/far.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/init/setup.h"
#include "runtime/trace/call.h"

/* Nothing can be outstanding before device set-up, which is collective: do not start it here. */
static void fence(struct gsh_instance *pe, gsh_context ctx, const char *call)
{
    GSH_TRACE_CALL(pe, call);
    if (pe->is_device_ready) {
        gsh_require(pe, call, pe->device_ops->quiet(pe, ctx));
        gsh_far_fence(pe, ctx, call);
    }
}

void gshmem_fence(void)
{
    fence(gsh_instance_need("gshmem_fence"), GSH_CONTEXT_DEFAULT, "gshmem_fence");
}

void gshmem_quiet(void)
{
    static const char call[] = "gshmem_quiet";
    struct gsh_instance *pe = gsh_instance_need(call);
    GSH_TRACE_CALL(pe, call);
    gsh_context_quiet(pe, GSH_CONTEXT_DEFAULT, call);
}

/* Gets the context's number. False: ctx is GSHMEM_CTX_INVALID, and there is nothing to do. */
static bool find_number(gshmem_ctx_t ctx, const char *call, gsh_context *number)
{
    if (ctx == GSHMEM_CTX_INVALID) {
        return false;
    }
    if (GSH_CHECKS && ctx != GSHMEM_CTX_DEFAULT) {
        gsh_context_check(gsh_context_handle(ctx), call);
    }
    *number = GSH_CTX_NUMBER(gsh_context_handle(ctx));
    return true;
}

void gshmem_ctx_fence(gshmem_ctx_t ctx)
{
    static const char call[] = "gshmem_ctx_fence";
    struct gsh_instance *pe = gsh_instance_need(call);
    gsh_context number;
    if (find_number(ctx, call, &number)) {
        fence(pe, number, call);
    }
}

void gshmem_ctx_quiet(gshmem_ctx_t ctx)
{
    static const char call[] = "gshmem_ctx_quiet";
    struct gsh_instance *pe = gsh_instance_need(call);
    gsh_context number;
    GSH_TRACE_CALL(pe, call);
    if (find_number(ctx, call, &number)) {
        gsh_context_quiet(pe, number, call);
    }
}

static void check_list(struct gsh_instance *pe, const char *call, const int *pes, size_t n)
{
    if (pes == NULL && n > 0) {
        gsh_abort(pe, 1, "%s: the list of PEs is NULL", call);
    }
}

/* Operations outstanding to a single PE are not counted. */
void gshmem_pe_quiet(const int *target_pes, size_t npes)
{
    static const char call[] = "gshmem_pe_quiet";
    struct gsh_instance *pe = gsh_instance_need(call);
    check_list(pe, call, target_pes, npes);
    GSH_TRACE_CALL(pe, call);
    for (size_t i = 0; i < npes; i++) {
        gsh_check_pe(pe, call, target_pes[i]);
    }
    gsh_context_quiet(pe, GSH_CONTEXT_DEFAULT, call);
}

void gshmem_ctx_pe_quiet(gshmem_ctx_t ctx, const int *target_pes, size_t npes)
{
    static const char call[] = "gshmem_ctx_pe_quiet";
    struct gsh_instance *pe = gsh_instance_need(call);
    gsh_context number;
    if (!find_number(ctx, call, &number)) {
        return;
    }
    check_list(pe, call, target_pes, npes);
    GSH_TRACE_CALL(pe, call);
    for (size_t i = 0; i < npes; i++) {
        int target = target_pes[i];
        gsh_context_use(ctx, call, &target);
        gsh_check_pe(pe, call, target);
    }
    gsh_context_quiet(pe, number, call);
}

int gshmem_barrier(gshmem_team_t team)
{
    static const char call[] = "gshmem_barrier";
    struct gsh_instance *pe = gsh_instance_need(call);
    struct gsh_team *t;
    GSH_TRACE_TEAM(pe, call, team, NULL, 0);
    enum gsh_result r = gsh_team_need(pe, call, team, &t);
    if (r == GSH_OK) {
        gsh_context_quiet(pe, GSH_CONTEXT_DEFAULT, call);
        r = gsh_host_sync(pe, t, call);
    }
    return gsh_public_error(r);
}

int gshmem_team_sync(gshmem_team_t team)
{
    static const char call[] = "gshmem_team_sync";
    struct gsh_instance *pe = gsh_instance_need(call);
    struct gsh_team *t;
    GSH_TRACE_TEAM(pe, call, team, NULL, 0);
    enum gsh_result r = gsh_team_need(pe, call, team, &t);
    if (r == GSH_OK) {
        r = gsh_host_sync(pe, t, call);
    }
    return gsh_public_error(r);
}

void gshmem_barrier_all(void)
{
    static const char call[] = "gshmem_barrier_all";
    struct gsh_instance *pe = gsh_instance_set_up(call);
    GSH_TRACE_TEAM(pe, call, GSHMEM_TEAM_WORLD, NULL, 0);
    gsh_context_quiet(pe, GSH_CONTEXT_DEFAULT, call);
    (void)gsh_host_sync(pe, gsh_team_find(pe, GSHMEM_TEAM_WORLD), call);
}

void gshmem_sync_all(void)
{
    static const char call[] = "gshmem_sync_all";
    struct gsh_instance *pe = gsh_instance_set_up(call);
    GSH_TRACE_TEAM(pe, call, GSHMEM_TEAM_WORLD, NULL, 0);
    (void)gsh_host_sync(pe, gsh_team_find(pe, GSHMEM_TEAM_WORLD), call);
}
