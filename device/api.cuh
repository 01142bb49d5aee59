/* SPDX-License-Identifier: Apache-2.0
 * The C-named calls, for files with kernels. The [hd] calls, whose contracts are in gshmem.h and
 * gshmem/typed.h, are defined here for both sides: in kernels they use the templates of the other
 * device headers, on the host they call the library's functions. Then come the calls that exist
 * only in kernels, by warps, blocks and grids; gshmem_device.cuh lists them. All threads of the
 * group make the call with the same arguments. */
#ifndef GSHMEM_API_CUH
#define GSHMEM_API_CUH

#include "amo.cuh"
#include "coll/coll.cuh"
#include "ctx.cuh"
#include "default.cuh"
#include "lock.cuh"
#include "order.cuh"
#include "rma.cuh"
#include "signal.cuh"
#include "sync.cuh"
#include "wait.cuh"
#include "gshmem/types.h"
#include "gshmem/version.h"

/* Each unit has its own, because each unit has its own constant block. */
#define GSHMEM_HD static inline __host__ __device__
#define GSHMEM_D  static inline __device__
/* There are thousands of calls by type. They are templates with a parameter that no caller gives,
 * so a file compiles only those that it calls. With GSHMEM_PLAIN_CALLS they are functions. */
#if defined(GSHMEM_PLAIN_CALLS)
#define GSHMEM_LAZY
#define GSHMEM_PASS_LAZY
#else
#define GSHMEM_LAZY      template <int unused = 0>
#define GSHMEM_PASS_LAZY <unused>
#endif

#include "call_sites.cuh"

/* One call: kernels make the first, the host the second. */
#if defined(__CUDA_ARCH__)
#define GSHMEM_EITHER(DEVICE, HOST) gshmem::DEVICE
#elif defined(__CUDACC__)
#define GSHMEM_EITHER(DEVICE, HOST) (GSHMEM_ON_HOST gshmem_host::HOST)
#else
#define GSHMEM_EITHER(DEVICE, HOST) \
    (gsh_cpu_self ? gshmem::DEVICE : (GSHMEM_ON_HOST gshmem_host::HOST))
#endif

/* ---- query ----------------------------------------------------------------------------------- */

namespace gshmem
{
namespace detail
{

__device__ __forceinline__ void version(int *major, int *minor)
{
    *major = GSHMEM_MAJOR_VERSION;
    *minor = GSHMEM_MINOR_VERSION;
}

__device__ __forceinline__ void vendor_version(int *major, int *minor, int *patch)
{
    *major = GSHMEM_VENDOR_MAJOR_VERSION;
    *minor = GSHMEM_VENDOR_MINOR_VERSION;
    *patch = GSHMEM_VENDOR_PATCH_VERSION;
}

__device__ inline void vendor_name(char *name)
{
    const char text[] = GSHMEM_VENDOR_STRING;
    for (size_t i = 0; i < sizeof(text); i++)
        name[i] = text[i];
}

template <class Context> __device__ __forceinline__ bool is_pe(const Context &c, int pe)
{
    return pe >= 0 && pe < state_of(c).n_pes;
}

/* Where a fetched value goes. */
template <class Type> __device__ __forceinline__ void store_fetched(Type *fetch, Type value)
{
    *fetch = value;
}

/* NULL if there is no such team or member, or as for gshmem_ptr. */
template <class Context>
__device__ __forceinline__ void *team_pointer(const Context &c, gshmem_team_t team,
                                              const void *dest, int pe)
{
    const gsh_team_state *t = find_team(c, team);
    return t && pe >= 0 && pe < t->n_pes ? ptr(c, dest, team_pe(*t, pe)) : nullptr;
}

} // namespace detail
} // namespace gshmem

GSHMEM_HD int gshmem_my_pe(GSHMEM_ONLY_SITE)
{
    return GSHMEM_EITHER(my_pe(GSHMEM_HERE), gshmem_my_pe());
}
GSHMEM_HD int gshmem_n_pes(GSHMEM_ONLY_SITE)
{
    return GSHMEM_EITHER(n_pes(GSHMEM_HERE), gshmem_n_pes());
}
GSHMEM_LAZY GSHMEM_HD void gshmem_info_get_version(int *major, int *minor GSHMEM_SITE)
{
    GSHMEM_EITHER(detail::version(major, minor), gshmem_info_get_version(major, minor));
}
GSHMEM_LAZY GSHMEM_HD void gshmem_info_get_name(char *name GSHMEM_SITE)
{
    GSHMEM_EITHER(detail::vendor_name(name), gshmem_info_get_name(name));
}
GSHMEM_LAZY GSHMEM_HD void gshmemx_vendor_get_version_info(int *major, int *minor,
                                                           int *patch GSHMEM_SITE)
{
    GSHMEM_EITHER(detail::vendor_version(major, minor, patch),
                  gshmemx_vendor_get_version_info(major, minor, patch));
}
GSHMEM_LAZY GSHMEM_HD void gshmem_global_exit(int status GSHMEM_SITE)
{
    GSHMEM_EITHER(global_exit(GSHMEM_HERE, status), gshmem_global_exit(status));
}
GSHMEM_LAZY GSHMEM_HD void *gshmem_ptr(const void *dest, int pe GSHMEM_SITE)
{
    return GSHMEM_EITHER(ptr(GSHMEM_HERE, dest, pe), gshmem_ptr(dest, pe));
}
GSHMEM_LAZY GSHMEM_HD int gshmem_pe_accessible(int pe GSHMEM_SITE)
{
    return GSHMEM_EITHER(detail::is_pe(GSHMEM_HERE, pe), gshmem_pe_accessible(pe));
}
GSHMEM_LAZY GSHMEM_HD int gshmem_addr_accessible(const void *addr, int pe GSHMEM_SITE)
{
    return GSHMEM_EITHER(detail::is_pe(GSHMEM_HERE, pe) &&
                             gshmem::detail::is_symmetric(GSHMEM_HERE, addr),
                         gshmem_addr_accessible(addr, pe));
}
GSHMEM_LAZY GSHMEM_HD int gshmem_team_my_pe(gshmem_team_t team GSHMEM_SITE)
{
    return GSHMEM_EITHER(team_my_pe(GSHMEM_HERE, team), gshmem_team_my_pe(team));
}
GSHMEM_LAZY GSHMEM_HD int gshmem_team_n_pes(gshmem_team_t team GSHMEM_SITE)
{
    return GSHMEM_EITHER(team_n_pes(GSHMEM_HERE, team), gshmem_team_n_pes(team));
}
GSHMEM_LAZY GSHMEM_HD int gshmem_team_translate_pe(gshmem_team_t src_team, int src_pe,
                                                   gshmem_team_t dest_team GSHMEM_SITE)
{
    return GSHMEM_EITHER(team_translate_pe(GSHMEM_HERE, src_team, src_pe, dest_team),
                         gshmem_team_translate_pe(src_team, src_pe, dest_team));
}
GSHMEM_LAZY GSHMEM_HD void *gshmem_team_ptr(gshmem_team_t team, const void *dest,
                                            int pe GSHMEM_SITE)
{
    return GSHMEM_EITHER(detail::team_pointer(GSHMEM_HERE, team, dest, pe),
                         gshmem_team_ptr(team, dest, pe));
}

/* ---- order, signals, synchronisation --------------------------------------------------------- */

GSHMEM_HD void gshmem_fence(GSHMEM_ONLY_SITE)
{
    GSHMEM_EITHER(fence(GSHMEM_HERE), gshmem_fence());
}
GSHMEM_HD void gshmem_quiet(GSHMEM_ONLY_SITE)
{
    GSHMEM_EITHER(quiet(GSHMEM_HERE), gshmem_quiet());
}
GSHMEM_LAZY GSHMEM_HD void gshmem_pe_quiet(const int *target_pes, size_t npes GSHMEM_SITE)
{
    GSHMEM_EITHER(quiet(GSHMEM_HERE), gshmem_pe_quiet(target_pes, npes));
}
GSHMEM_LAZY GSHMEM_HD uint64_t gshmem_signal_fetch(const uint64_t *sig_addr GSHMEM_SITE)
{
    return GSHMEM_EITHER(signal_fetch(GSHMEM_HERE, sig_addr, "gshmem_signal_fetch"),
                         gshmem_signal_fetch(sig_addr));
}
GSHMEM_LAZY GSHMEM_HD uint64_t gshmem_signal_wait_until(uint64_t *sig_addr, int cmp,
                                                        uint64_t cmp_value GSHMEM_SITE)
{
    return GSHMEM_EITHER(
        signal_wait_until(GSHMEM_HERE, sig_addr, cmp, cmp_value, "gshmem_signal_wait_until"),
        gshmem_signal_wait_until(sig_addr, cmp, cmp_value));
}
GSHMEM_LAZY GSHMEM_HD void gshmemx_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op,
                                             int pe GSHMEM_SITE)
{
    GSHMEM_EITHER(signal_op(GSHMEM_HERE, sig_addr, signal, sig_op, pe, "gshmemx_signal_op"),
                  gshmemx_signal_op(sig_addr, signal, sig_op, pe));
}

GSHMEM_LAZY GSHMEM_HD void gshmemx_trace_begin(const char *name GSHMEM_SITE)
{
    GSHMEM_EITHER(trace_begin(GSHMEM_HERE, name), gshmemx_trace_begin(name));
}
GSHMEM_HD void gshmemx_trace_end(GSHMEM_ONLY_SITE)
{
    GSHMEM_EITHER(trace_end(GSHMEM_HERE), gshmemx_trace_end());
}

#define GSHMEM_FLOAT(NAME, T)                                                                     \
    GSHMEM_LAZY GSHMEM_HD T gshmemx_##NAME##_atomic_fetch_add(T *dest, T value,                   \
                                                              int pe GSHMEM_SITE)                 \
    {                                                                                             \
        return GSHMEM_EITHER(                                                                     \
            atomic_fetch_add(GSHMEM_HERE, dest, value, pe, "gshmemx_" #NAME "_atomic_fetch_add"), \
            gshmemx_##NAME##_atomic_fetch_add(dest, value, pe));                                  \
    }                                                                                             \
    GSHMEM_LAZY GSHMEM_HD void gshmemx_##NAME##_atomic_add(T *dest, T value, int pe GSHMEM_SITE)  \
    {                                                                                             \
        GSHMEM_EITHER(atomic_add(GSHMEM_HERE, dest, value, pe, "gshmemx_" #NAME "_atomic_add"),   \
                      gshmemx_##NAME##_atomic_add(dest, value, pe));                              \
    }
GSHMEM_TYPES_FLOAT(GSHMEM_FLOAT)
#undef GSHMEM_FLOAT
GSHMEM_LAZY GSHMEM_HD gshmem_half_t gshmemx_half_atomic_fetch(const gshmem_half_t *source,
                                                              int pe GSHMEM_SITE)
{
    return GSHMEM_EITHER(atomic_fetch(GSHMEM_HERE, source, pe, "gshmemx_half_atomic_fetch"),
                         gshmemx_half_atomic_fetch(source, pe));
}
GSHMEM_LAZY GSHMEM_HD void gshmemx_half_atomic_set(gshmem_half_t *dest, gshmem_half_t value,
                                                   int pe GSHMEM_SITE)
{
    GSHMEM_EITHER(atomic_set(GSHMEM_HERE, dest, value, pe, "gshmemx_half_atomic_set"),
                  gshmemx_half_atomic_set(dest, value, pe));
}
GSHMEM_LAZY GSHMEM_HD gshmem_half_t gshmemx_half_atomic_swap(gshmem_half_t *dest,
                                                             gshmem_half_t value,
                                                             int pe GSHMEM_SITE)
{
    return GSHMEM_EITHER(atomic_swap(GSHMEM_HERE, dest, value, pe, "gshmemx_half_atomic_swap"),
                         gshmemx_half_atomic_swap(dest, value, pe));
}

GSHMEM_LAZY GSHMEM_HD void gshmem_signal_add(uint64_t *sig_addr, uint64_t signal,
                                             int pe GSHMEM_SITE)
{
    GSHMEM_EITHER(
        signal_op(GSHMEM_HERE, sig_addr, signal, GSHMEM_SIGNAL_ADD, pe, "gshmem_signal_add"),
        gshmem_signal_add(sig_addr, signal, pe));
}
GSHMEM_LAZY GSHMEM_HD void gshmem_signal_set(uint64_t *sig_addr, uint64_t signal,
                                             int pe GSHMEM_SITE)
{
    GSHMEM_EITHER(
        signal_op(GSHMEM_HERE, sig_addr, signal, GSHMEM_SIGNAL_SET, pe, "gshmem_signal_set"),
        gshmem_signal_set(sig_addr, signal, pe));
}

GSHMEM_LAZY GSHMEM_HD void gshmem_set_lock(long *lock GSHMEM_SITE)
{
    GSHMEM_EITHER(set_lock(GSHMEM_HERE, lock, "gshmem_set_lock"), gshmem_set_lock(lock));
}
GSHMEM_LAZY GSHMEM_HD int gshmem_test_lock(long *lock GSHMEM_SITE)
{
    return GSHMEM_EITHER(test_lock(GSHMEM_HERE, lock, "gshmem_test_lock"), gshmem_test_lock(lock));
}
GSHMEM_LAZY GSHMEM_HD void gshmem_clear_lock(long *lock GSHMEM_SITE)
{
    GSHMEM_EITHER(clear_lock(GSHMEM_HERE, lock, "gshmem_clear_lock"), gshmem_clear_lock(lock));
}

GSHMEM_LAZY GSHMEM_HD int gshmem_barrier(gshmem_team_t team GSHMEM_SITE)
{
    return GSHMEM_EITHER(barrier(GSHMEM_HERE, gshmem::group_thread(), team, 0, "gshmem_barrier"),
                         gshmem_barrier(team));
}
GSHMEM_LAZY GSHMEM_HD int gshmem_team_sync(gshmem_team_t team GSHMEM_SITE)
{
    return GSHMEM_EITHER(sync(GSHMEM_HERE, gshmem::group_thread(), team, 0, "gshmem_team_sync"),
                         gshmem_team_sync(team));
}
GSHMEM_HD void gshmem_barrier_all(GSHMEM_ONLY_SITE)
{
    GSHMEM_EITHER(barrier_all(GSHMEM_HERE, gshmem::group_thread(), "gshmem_barrier_all"),
                  gshmem_barrier_all());
}
GSHMEM_HD void gshmem_sync_all(GSHMEM_ONLY_SITE)
{
    GSHMEM_EITHER(sync_all(GSHMEM_HERE, gshmem::group_thread(), "gshmem_sync_all"),
                  gshmem_sync_all());
}

GSHMEM_LAZY GSHMEM_D int gshmemx_barrier_channel(gshmem_team_t team, int channel GSHMEM_SITE)
{
    return gshmem::barrier(GSHMEM_HERE, gshmem::group_thread(), team, channel,
                           "gshmemx_barrier_channel");
}
GSHMEM_LAZY GSHMEM_D int gshmemx_team_sync_channel(gshmem_team_t team, int channel GSHMEM_SITE)
{
    return gshmem::sync(GSHMEM_HERE, gshmem::group_thread(), team, channel,
                        "gshmemx_team_sync_channel");
}

#define GSHMEM_GROUP(SUFFIX)                                                                  \
    GSHMEM_LAZY GSHMEM_D int gshmemx_barrier_##SUFFIX(gshmem_team_t team GSHMEM_SITE)         \
    {                                                                                         \
        return gshmem::barrier(GSHMEM_HERE, gshmem::group_##SUFFIX(), team, 0,                \
                               "gshmemx_barrier_" #SUFFIX);                                   \
    }                                                                                         \
    GSHMEM_LAZY GSHMEM_D int gshmemx_team_sync_##SUFFIX(gshmem_team_t team GSHMEM_SITE)       \
    {                                                                                         \
        return gshmem::sync(GSHMEM_HERE, gshmem::group_##SUFFIX(), team, 0,                   \
                            "gshmemx_team_sync_" #SUFFIX);                                    \
    }                                                                                         \
    GSHMEM_LAZY GSHMEM_D int gshmemx_barrier_channel_##SUFFIX(gshmem_team_t team,             \
                                                              int channel GSHMEM_SITE)        \
    {                                                                                         \
        return gshmem::barrier(GSHMEM_HERE, gshmem::group_##SUFFIX(), team, channel,          \
                               "gshmemx_barrier_channel_" #SUFFIX);                           \
    }                                                                                         \
    GSHMEM_LAZY GSHMEM_D int gshmemx_team_sync_channel_##SUFFIX(gshmem_team_t team,           \
                                                                int channel GSHMEM_SITE)      \
    {                                                                                         \
        return gshmem::sync(GSHMEM_HERE, gshmem::group_##SUFFIX(), team, channel,             \
                            "gshmemx_team_sync_channel_" #SUFFIX);                            \
    }                                                                                         \
    GSHMEM_D void gshmemx_barrier_all_##SUFFIX(GSHMEM_ONLY_SITE)                              \
    {                                                                                         \
        gshmem::barrier_all(GSHMEM_HERE, gshmem::group_##SUFFIX(),                            \
                            "gshmemx_barrier_all_" #SUFFIX);                                  \
    }                                                                                         \
    GSHMEM_D void gshmemx_sync_all_##SUFFIX(GSHMEM_ONLY_SITE)                                 \
    {                                                                                         \
        gshmem::sync_all(GSHMEM_HERE, gshmem::group_##SUFFIX(), "gshmemx_sync_all_" #SUFFIX); \
    }
GSHMEM_GROUP(warp)
GSHMEM_GROUP(block)
#undef GSHMEM_GROUP

/* ---- calls with and without a context -------------------------------------------------------- */

/* The names; the first parameter and argument; pe as the template wants it, and the call's name. */
#define GSHMEM_CALL(name)       gshmem_##name
#define GSHMEM_GROUP_CALL(name) gshmemx_##name
#define GSHMEM_CTX
#define GSHMEM_CTX_ARG
#define GSHMEM_TO(name)       pe, "gshmem_" #name
#define GSHMEM_GROUP_TO(name) pe, "gshmemx_" #name
#include "api_rma.cuh"
#include "api_amo.cuh"
#undef GSHMEM_CALL
#undef GSHMEM_GROUP_CALL
#undef GSHMEM_CTX
#undef GSHMEM_CTX_ARG
#undef GSHMEM_TO
#undef GSHMEM_GROUP_TO

#include "api_wait.cuh"
#include "api_coll.cuh"

#undef GSHMEM_HERE
#define GSHMEM_HERE             GSHMEM_HERE_IN(ctx)
#define GSHMEM_CALL(name)       gshmem_ctx_##name
#define GSHMEM_GROUP_CALL(name) gshmemx_ctx_##name
#define GSHMEM_CTX              gshmem_ctx_t ctx,
#define GSHMEM_CTX_ARG          ctx,
#define GSHMEM_TO(name)         gshmem::detail::pe_in_ctx(ctx, pe, "gshmem_ctx_" #name), "gshmem_ctx_" #name
#define GSHMEM_GROUP_TO(name) \
    gshmem::detail::pe_in_ctx(ctx, pe, "gshmemx_ctx_" #name), "gshmemx_ctx_" #name
#include "api_rma.cuh"
#include "api_amo.cuh"
#undef GSHMEM_CALL
#undef GSHMEM_GROUP_CALL
#undef GSHMEM_CTX
#undef GSHMEM_CTX_ARG
#undef GSHMEM_TO
#undef GSHMEM_GROUP_TO

GSHMEM_LAZY GSHMEM_HD void gshmem_ctx_fence(gshmem_ctx_t ctx GSHMEM_SITE)
{
    GSHMEM_EITHER(detail::ctx_fence(ctx, "gshmem_ctx_fence" GSHMEM_PASS_SITE),
                  gshmem_ctx_fence(ctx));
}
GSHMEM_LAZY GSHMEM_HD void gshmem_ctx_quiet(gshmem_ctx_t ctx GSHMEM_SITE)
{
    GSHMEM_EITHER(detail::ctx_quiet(ctx, "gshmem_ctx_quiet" GSHMEM_PASS_SITE),
                  gshmem_ctx_quiet(ctx));
}
GSHMEM_LAZY GSHMEM_HD void gshmem_ctx_pe_quiet(gshmem_ctx_t ctx, const int *target_pes,
                                               size_t npes GSHMEM_SITE)
{
    GSHMEM_EITHER(detail::ctx_quiet(ctx, "gshmem_ctx_pe_quiet" GSHMEM_PASS_SITE),
                  gshmem_ctx_pe_quiet(ctx, target_pes, npes));
}
GSHMEM_LAZY GSHMEM_HD int gshmem_ctx_get_team(gshmem_ctx_t ctx, gshmem_team_t *team GSHMEM_SITE)
{
    return GSHMEM_EITHER(detail::ctx_get_team(ctx, team, "gshmem_ctx_get_team"),
                         gshmem_ctx_get_team(ctx, team));
}

#undef GSHMEM_EITHER
#undef GSHMEM_HERE
#undef GSHMEM_HD
#undef GSHMEM_D

#endif
