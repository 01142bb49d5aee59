/* SPDX-License-Identifier: Apache-2.0
 * The public calls on contexts, and the checks that every call in a context makes. */
#include "runtime/api/context.h"

#include "base/log.h"
#include "gshmem.h"
#include "runtime/context/context.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/team/team.h"

static enum gsh_result create(struct gsh_instance *pe, const char *call, gshmem_team_t team,
                              long options, gshmem_ctx_t *ctx)
{
    const long known = GSHMEM_CTX_SERIALIZED | GSHMEM_CTX_PRIVATE | GSHMEM_CTX_NOSTORE;
    struct gsh_team *of;
    if (ctx == NULL) {
        return gsh_fail(GSH_ERR_ARG, "%s: ctx is NULL", call);
    }
    *ctx = GSHMEM_CTX_INVALID;
    if ((options & ~known) != 0) {
        return gsh_fail(GSH_ERR_ARG, "%s: unknown options: %#lx", call,
                        (unsigned long)(options & ~known));
    }
    enum gsh_result r = gsh_team_ask(pe, call, team, &of);
    if (r != GSH_OK) {
        return r;
    }
    uint64_t handle = gsh_context_make(pe, team, (options & GSHMEM_CTX_PRIVATE) != 0);
    if (handle == 0) {
        return gsh_fail(GSH_ERR_NOMEM, "%s: no room for more than %u contexts, or no memory", call,
                        GSH_CTX_ENTRIES - 1);
    }
    *ctx = (gshmem_ctx_t)(uintptr_t)handle;
    return GSH_OK;
}

int gshmem_ctx_create(long options, gshmem_ctx_t *ctx)
{
    static const char call[] = "gshmem_ctx_create";
    struct gsh_instance *pe = gsh_instance_need(call);
    return gsh_public_error(create(pe, call, GSHMEM_TEAM_WORLD, options, ctx));
}

int gshmem_team_create_ctx(gshmem_team_t team, long options, gshmem_ctx_t *ctx)
{
    static const char call[] = "gshmem_team_create_ctx";
    struct gsh_instance *pe = gsh_instance_need(call);
    return gsh_public_error(create(pe, call, team, options, ctx));
}

void gshmem_ctx_destroy(gshmem_ctx_t ctx)
{
    static const char call[] = "gshmem_ctx_destroy";
    struct gsh_instance *pe = gsh_instance_need(call);
    uint64_t handle = gsh_context_handle(ctx);
    if (ctx == GSHMEM_CTX_INVALID) {
        return;
    }
    if (ctx == GSHMEM_CTX_DEFAULT) {
        gsh_fail(GSH_ERR_ARG, "%s: the default context stays", call);
        return;
    }
    gsh_context_check(handle, call);
    gsh_context_quiet(pe, GSH_CTX_NUMBER(handle), call);
    if (!gsh_context_end(pe, handle)) {
        gsh_abort(pe, 1, "%s: two threads end the same context", call);
    }
}

/* ---- what calls ask ---- */

void gsh_context_check(uint64_t handle, const char *call)
{
    struct gsh_instance *pe = gsh_instance_need(call);
    if (!gsh_context_exists(pe, handle)) {
        gsh_abort(pe, 1, "%s: %s", call,
                  handle == GSH_CTX_INVALID ? "the context is GSHMEM_CTX_INVALID"
                                            : "the context does not exist, or has been destroyed");
    }
    if (!gsh_context_is_ours(pe, handle)) {
        gsh_log_set_pe(pe->my_pe); /* this thread may never have made a call before */
        gsh_abort(
            pe, 1,
            "%s: the context is private (GSHMEM_CTX_PRIVATE) to another thread, which made it",
            call);
    }
}

int gsh_context_member(uint64_t handle, const char *call, int target)
{
    struct gsh_instance *pe = gsh_instance_need(call);
    const struct gsh_team *team =
        handle == GSH_CTX_INVALID ? NULL : gsh_team_find(pe, GSH_CTX_TEAM(handle));
    if (team == NULL) {
        gsh_abort(pe, 1, "%s: %s", call,
                  handle == GSH_CTX_INVALID ? "the context is GSHMEM_CTX_INVALID"
                                            : "the context's team has been destroyed");
    }
    if (target < 0 || target >= team->n_pes) {
        gsh_abort(pe, 1, "%s: PE %d is out of range: the context's team has PEs 0 to %d", call,
                  target, team->n_pes - 1);
    }
    return gsh_team_pe(team, target);
}

int gshmem_ctx_get_team(gshmem_ctx_t ctx, gshmem_team_t *team)
{
    static const char call[] = "gshmem_ctx_get_team";
    uint64_t handle = gsh_context_handle(ctx);
    (void)gsh_instance_need(call);
    if (team == NULL) {
        return gsh_public_error(gsh_fail(GSH_ERR_ARG, "%s: team is NULL", call));
    }
    *team = GSHMEM_TEAM_INVALID;
    if (ctx == GSHMEM_CTX_INVALID) {
        return gsh_public_error(gsh_note(GSH_ERR_ARG, "%s: ctx is GSHMEM_CTX_INVALID", call));
    }
    if (handle != 0 && GSH_CHECKS) {
        gsh_context_check(handle, call);
    }
    *team = GSH_CTX_TEAM(handle);
    return 0;
}
