/* SPDX-License-Identifier: Apache-2.0
 * Teams as kernels see them, and barrier and sync of a team by one flight of flags (state.h has the
 * invariants). Epoch e of a PE: it stores e into its flag on every other member, then waits until
 * every flag of its own has reached e; a fast member may already be one epoch ahead.
 *
 * Only the first warp of a block sends and waits: so the barrier has one fence instruction, and the
 * epoch is read and written with no more than a warp's synchronisation between. */
#ifndef GSHMEM_SYNC_CUH
#define GSHMEM_SYNC_CUH

#include "device/group.cuh"
#include "device/wait.cuh"
#include "gshmem/types.h"

namespace gshmem
{

namespace detail
{

/* NULL: no such team, or this PE is not a member. */
__device__ __forceinline__ const gsh_team_state *find_team(gshmem_team_t team)
{
    if (team < 0 || team >= GSH_TEAM_SLOTS)
        return nullptr;
    const gsh_team_state *t = reinterpret_cast<const gsh_team_state *>(state().teams) + team;
    return t->n_pes > 0 && t->my_index >= 0 ? t : nullptr;
}

/* Member i's PE. */
__device__ __forceinline__ int team_pe(const gsh_team_state &t, int i)
{
    return t.pes ? reinterpret_cast<const int32_t *>(t.pes)[i] : t.first_pe + i * t.pe_stride;
}

/* The member that is this PE, -1: none. */
__device__ inline int team_index(const gsh_team_state &t, int pe)
{
    if (t.pes) {
        for (int i = 0; i < t.n_pes; i++)
            if (team_pe(t, i) == pe)
                return i;
        return -1;
    }
    int distance = pe - t.first_pe;
    int i = t.pe_stride == 0 ? 0 : distance / t.pe_stride;
    return i >= 0 && i < t.n_pes && i * t.pe_stride == distance ? i : -1;
}

/* All PEs, from the state block alone: no read of device memory before the flags can leave. */
__device__ __forceinline__ gsh_team_state world_team()
{
    gsh_team_state t = {};
    t.n_pes = state().n_pes;
    t.my_index = state().my_pe;
    t.pe_stride = 1;
    t.sync_off = GSH_WORLD_SYNC_OFF;
    return t;
}

/* Those threads of a group that send and wait. */
template <class G> struct flag_group {
    typedef group_warp type;
    static __device__ __forceinline__ bool has(G g) { return g.rank() < 32; }
};
template <> struct flag_group<group_thread> {
    typedef group_thread type;
    static __device__ __forceinline__ bool has(group_thread) { return true; }
};

/* One flight of flags. w: one thread or one warp. */
template <bool is_barrier, class W>
__device__ __forceinline__ void fly_flags(W w, const gsh_team_state &t, const char *call)
{
    gsh_sync_area *area = reinterpret_cast<gsh_sync_area *>(state().base + t.sync_off);
    uint32_t rank = w.rank(), size = w.size();
    uint64_t epoch = area->epoch + 1;
    /* Serves barrier's "quiet, then everybody arrived": the puts and stores of every thread of the
     * group (its synchronisation came first) are seen by whoever sees the flags below. One
     * instruction for the warp. */
    if (is_barrier)
        fence_acq_rel();
    for (int i = (int)rank; i < t.n_pes; i += (int)size) {
        if (i != t.my_index) /* pairs with the load below, on member i */
            store_relaxed(peer_address(&area->flag[t.my_index], team_pe(t, i)), epoch);
    }
    for (int i = (int)rank; i < t.n_pes; i += (int)size) {
        if (i == t.my_index)
            continue;
        const uint64_t *flag = &area->flag[i];
        spin s;
        uint64_t seen = is_barrier ? load_acquire(flag) : load_relaxed(flag);
        while (seen < epoch) {
            s.turn(GSH_REPORT_SYNC_TIMEOUT, call, team_pe(t, i), GSHMEM_CMP_GE, flag, epoch, seen);
            seen = is_barrier ? load_acquire(flag) : load_relaxed(flag);
        }
        s.done();
    }
    w.sync(); /* all have read the epoch, and what each has seen the others have seen */
    if (rank == 0)
        area->epoch = epoch;
}

template <bool is_barrier, class G>
__device__ __forceinline__ void sync_team(G g, const gsh_team_state &t, const char *call)
{
    g.sync();
    if (flag_group<G>::has(g))
        fly_flags<is_barrier>(typename flag_group<G>::type(), t, call);
    g.sync();
}

template <bool is_barrier, class G>
__device__ __forceinline__ int sync_by_name(G g, gshmem_team_t team, const char *call)
{
    if (team == GSHMEM_TEAM_WORLD) {
        sync_team<is_barrier>(g, world_team(), call);
        return GSHMEMX_SUCCESS;
    }
    const gsh_team_state *t = find_team(team);
    if (!t)
        return GSHMEMX_ERROR_INVALID_VALUE;
    sync_team<is_barrier>(g, *t, call);
    return GSHMEMX_SUCCESS;
}

} // namespace detail

/* quiet, then all PEs of the team have arrived; what any thread of any of them wrote before is
 * visible to every thread of the group after. 0, or an error when the team is not one of this PE.
 */
template <class G>
__device__ __forceinline__ int barrier(G g, gshmem_team_t team,
                                       const char *call = "gshmem::barrier")
{
    return detail::sync_by_name<true>(g, team, call);
}

/* All PEs of the team have arrived; nothing about data. */
template <class G>
__device__ __forceinline__ int sync(G g, gshmem_team_t team, const char *call = "gshmem::sync")
{
    return detail::sync_by_name<false>(g, team, call);
}

template <class G>
__device__ __forceinline__ void barrier_all(G g, const char *call = "gshmem::barrier_all")
{
    detail::sync_team<true>(g, detail::world_team(), call);
}

template <class G>
__device__ __forceinline__ void sync_all(G g, const char *call = "gshmem::sync_all")
{
    detail::sync_team<false>(g, detail::world_team(), call);
}

/* -1: no such team, or not a member. */
__device__ __forceinline__ int team_my_pe(gshmem_team_t team)
{
    const gsh_team_state *t = detail::find_team(team);
    return t ? t->my_index : -1;
}

__device__ __forceinline__ int team_n_pes(gshmem_team_t team)
{
    const gsh_team_state *t = detail::find_team(team);
    return t ? t->n_pes : -1;
}

__device__ inline int team_translate_pe(gshmem_team_t src_team, int src_pe, gshmem_team_t dest_team)
{
    const gsh_team_state *from = detail::find_team(src_team), *to = detail::find_team(dest_team);
    if (!from || !to || src_pe < 0 || src_pe >= from->n_pes)
        return -1;
    return detail::team_index(*to, detail::team_pe(*from, src_pe));
}

} // namespace gshmem

#endif
