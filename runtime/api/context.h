/* SPDX-License-Identifier: Apache-2.0
 * The first step of a host call in a context. The handle holds all that the call needs
 * (wire/state.h). */
#ifndef GSH_API_CONTEXT_H
#define GSH_API_CONTEXT_H

#include "gshmem/types.h"
#include "proxy/request.h"
#include "runtime/init/setup.h"
#include "wire/state.h"

/* The rare parts of gsh_context_use. */
void gsh_context_check(uint64_t handle, const char *call);
int gsh_context_member(uint64_t handle, const char *call, int target);

static inline uint64_t gsh_context_handle(gshmem_ctx_t ctx)
{
    return (uint64_t)(uintptr_t)ctx;
}

/* What a call in ctx does first: *target becomes the number of that PE in the job. Returns the
 * context's number. Ends the job when target is not in the team; in checking builds also when the
 * context does not exist or belongs to another thread. */
static inline gsh_context gsh_context_use(gshmem_ctx_t ctx, const char *call, int *target)
{
    uint64_t handle = gsh_context_handle(ctx);
    if (GSH_CHECKS && handle != 0) {
        gsh_context_check(handle, call);
    }
    if (GSH_CTX_TEAM(handle) != GSHMEM_TEAM_WORLD) {
        *target = gsh_context_member(handle, call, *target);
    }
    return GSH_CTX_NUMBER(handle);
}

#endif
