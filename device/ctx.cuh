/* SPDX-License-Identifier: Apache-2.0
 * Contexts by handle (state.h): how a kernel's gshmem_ctx_ calls find the context and the PE before
 * they call the templates. With a context of all PEs this costs nothing if the peer is near. */
#ifndef GSHMEM_CTX_CUH
#define GSHMEM_CTX_CUH

#include "call_sites.cuh"
#include "context.cuh"
#include "order.cuh"
#include "sync.cuh"
#include "gshmem/types.h"

namespace gshmem
{
namespace detail
{

__device__ __forceinline__ uint64_t handle_of(gshmem_ctx_t ctx)
{
    return reinterpret_cast<uint64_t>(ctx);
}

__device__ __forceinline__ numbered_context in_ctx(gshmem_ctx_t ctx)
{
    return numbered(GSH_CTX_NUMBER(handle_of(ctx)));
}

template <class Context>
__device__ __forceinline__ void report_ctx(const Context &c, uint64_t handle, const char *call)
{
    report(c, GSH_REPORT_BAD_CTX, call, -1, 0, 0, 0, handle, 0);
}

#if defined(GSHMEM_CHECKS)
/* Whether the context exists. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void check_handle(const Context &c, uint64_t handle,
                                                  const char *call)
{
    const gsh_ctx_record *table =
        reinterpret_cast<const gsh_ctx_record *>(control_of(c)->ctx_table);
    if (table && load_relaxed(&table[GSH_CTX_ENTRY(handle)].handle) != handle)
        report_ctx(c, handle, call);
}

__device__ __forceinline__ void check_ctx(gshmem_ctx_t ctx, const char *call)
{
    if (handle_of(ctx) != 0)
        call_noinline<check_handle<unit_context>>(default_context(), handle_of(ctx), call);
}
#else
__device__ __forceinline__ void check_ctx(gshmem_ctx_t, const char *) {}
#endif

/* The PE that is member pe of the context's team, which is not the team of all PEs. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY int member_of_team(const Context &c, uint64_t handle, int pe,
                                                   const char *call)
{
    const gsh_team_state *t =
        handle == GSH_CTX_INVALID ? nullptr : find_team(c, GSH_CTX_TEAM(handle));
    if (!t)
        report_ctx(c, handle, call);
    else if ((uint32_t)pe >= (uint32_t)t->n_pes)
        report(c, GSH_REPORT_BAD_MEMBER, call, pe, 0, 0, (uint64_t)t->n_pes, 0, 0);
    else
        return team_pe(*t, pe);
    return -1;
}

/* The PE number in the job of PE pe of the context. */
__device__ __forceinline__ int pe_in_ctx(gshmem_ctx_t ctx, int pe, const char *call)
{
    check_ctx(ctx, call);
    if (GSH_CTX_TEAM(handle_of(ctx)) == GSHMEM_TEAM_WORLD)
        return pe;
    return call_noinline<member_of_team<unit_context>>(default_context(), handle_of(ctx), pe, call);
}

/* Nothing is ever outstanding on GSHMEM_CTX_INVALID. */
__device__ __forceinline__ void ctx_fence(gshmem_ctx_t ctx, const char *call GSHMEM_SITE)
{
    if (handle_of(ctx) == GSH_CTX_INVALID)
        return;
    check_ctx(ctx, call);
    fence(GSHMEM_HERE_IN(ctx));
}

__device__ __forceinline__ void ctx_quiet(gshmem_ctx_t ctx, const char *call GSHMEM_SITE)
{
    if (handle_of(ctx) == GSH_CTX_INVALID)
        return;
    check_ctx(ctx, call);
    quiet(GSHMEM_HERE_IN(ctx));
}

/* In all contexts, regardless of their handles. */
__device__ inline void fence_all()
{
    const auto c = default_context();
    GSHMEM_NO_UNROLL
    for (uint32_t i = 1; has_far(c) && i <= state_of(c).n_context_rings; i++)
        far_fence(numbered(i));
    fence(c);
}

__device__ inline void quiet_all()
{
    const auto c = default_context();
    GSHMEM_NO_UNROLL
    for (uint32_t i = 1; has_far(c) && i <= state_of(c).n_context_rings; i++)
        far_quiet(numbered(i));
    quiet(c);
}

__device__ __forceinline__ int ctx_get_team(gshmem_ctx_t ctx, gshmem_team_t *team, const char *call)
{
    uint64_t handle = handle_of(ctx);
    *team = GSHMEM_TEAM_INVALID;
    if (handle == GSH_CTX_INVALID)
        return GSHMEMX_ERROR_INVALID_VALUE;
    check_ctx(ctx, call);
    *team = GSH_CTX_TEAM(handle);
    return GSHMEMX_SUCCESS;
}

} // namespace detail
} // namespace gshmem

#endif
