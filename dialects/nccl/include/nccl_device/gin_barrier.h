/* SPDX-License-Identifier: Apache-2.0
 * Barriers among any ranks, by signals. */
#ifndef GSHMEM_NCCL_GIN_BARRIER_H
#define GSHMEM_NCCL_GIN_BARRIER_H

#include "gin.h"

/* Before the ranks go on: Put: earlier puts of all of them have settled; Get: this rank's gets are
 * complete. */
#if NCCL_VERSION_CODE >= 23007
enum ncclGinFenceLevel : uint32_t { None = 0, Relaxed = 0, Put = 1, Get = 2 };
#else
enum class ncclGinFenceLevel : uint32_t { None = 0, Relaxed = 0, Put = 1, Get = 2 };
#endif
GSHMEM_NCCL_BOTH constexpr ncclGinFenceLevel operator|(ncclGinFenceLevel a, ncclGinFenceLevel b)
{
    return (ncclGinFenceLevel)((uint32_t)a | (uint32_t)b);
}
GSHMEM_NCCL_BOTH constexpr ncclGinFenceLevel operator&(ncclGinFenceLevel a, ncclGinFenceLevel b)
{
    return (ncclGinFenceLevel)((uint32_t)a & (uint32_t)b);
}

/* Replaces a barrier's ncclGin: its fence covers all contexts' puts and gets. */
struct ncclGinAllContexts {
    const ncclDevComm &comm;
    GSHMEM_NCCL_BOTH constexpr explicit ncclGinAllContexts(const ncclDevComm &of) : comm(of) {}
};

/* Barrier `index` of a handle, among the team's ranks. Each signal is one rank's on another, so
 * every team of the communicator fits into a handle; two teams must not share an index. */
template <class Coop> class ncclGinBarrierSession
{
    ncclGin gin;
    ncclTeam team;
    ncclGinSignal_t first;

    __device__ __forceinline__ int other(int i) const
    {
        const int r = team.rank + i;
        return r < team.nRanks ? r : r - team.nRanks;
    }

    __device__ __forceinline__ bool sync_all(Coop group, cuda::memory_order order,
                                             ncclGinFenceLevel fence, uint64_t cycles GSHMEM_SITE)
    {
        using namespace gshmem;
        const ncclDevComm &comm = gin.comm;
        const context c = GSHMEM_HERE_OF(*comm.state);
        const bool is_ordered = nccl::is_release(order) || ((uint32_t)fence & 1) != 0;
        uint64_t *words = comm.signals + (size_t)gin.contextId * (uint32_t)comm.ginSignalCount;
        bool is_complete = true;
        if (((uint32_t)fence & 2) != 0)
            gin.flush(group, cuda::memory_order_acquire, ncclGin_None() GSHMEM_PASS_SITE);
        group.sync();
        const int begin = 1 + (int)group.thread_rank();
        if (begin < team.nRanks && is_ordered)
            gshmem::fence(c);
        for (int i = begin; i < team.nRanks; i += (int)group.size())
            gin.signal_at(team, other(i), &words[first + (uint32_t)team.rank], 1,
                          "ncclGinBarrierSession" GSHMEM_PASS_SITE);
        for (int i = begin; i < team.nRanks; i += (int)group.size()) {
            const ncclGinSignal_t s = first + (uint32_t)other(i);
            uint64_t *shadow = gin.getSignalShadowPtr(s);
            const uint64_t next = *shadow + 1;
            const bool has_come = nccl::await_word(
                comm, &words[s], [=](uint64_t seen) { return nccl::has_reached(seen, next, 32); },
                next, GSH_REPORT_SYNC_TIMEOUT, "ncclGinBarrierSession",
                comm.pe_of[ncclTeamRankToWorld(comm, team, other(i))], cycles GSHMEM_PASS_SITE);
            is_complete &= has_come;
            if (has_come)
                *shadow = next;
        }
        /* Threads that have seen signals acquire for the group, whose synchronisation follows. */
        if (begin < team.nRanks && (detail::is_cpu_device || is_ordered || nccl::is_acquire(order)))
            detail::acquire_awaited();
        group.sync();
        return is_complete;
    }

  public:
    __device__ __forceinline__ ncclGinBarrierSession(Coop group, ncclGin of, ncclTeam barrier_team,
                                                     ncclGinBarrierHandle handle, uint32_t index)
        : gin(of), team(barrier_team), first(handle.signal0 + index * (uint32_t)of.comm.nRanks)
    {
        (void)group;
        gshmem::nccl::check_below(gin.comm.state, "ncclGinBarrierSession, index", index,
                                  handle.nBarriers);
        gshmem::nccl::publish_earlier();
    }

    __device__ __forceinline__ ncclGinBarrierSession(Coop group, ncclGin of, ncclTeamTagRail,
                                                     uint32_t index)
        : ncclGinBarrierSession(group, of, ncclTeamRail(of.comm), of.comm.railGinBarrier, index)
    {
    }

    __device__ __forceinline__ ncclGinBarrierSession(Coop group, ncclGin of, ncclTeamTagWorld,
                                                     uint32_t index)
        : ncclGinBarrierSession(group, of, ncclTeamWorld(of.comm), of.comm.worldGinBarrier, index)
    {
    }

    /* Uses the signals of context 0; one fence covers all contexts in any case. */
    __device__ __forceinline__ ncclGinBarrierSession(Coop group, ncclGinAllContexts all,
                                                     ncclTeam barrier_team,
                                                     ncclGinBarrierHandle handle, uint32_t index)
        : ncclGinBarrierSession(group, ncclGin(all.comm, 0), barrier_team, handle, index)
    {
    }

    template <class Tag>
    __device__ __forceinline__ ncclGinBarrierSession(Coop group, ncclGinAllContexts all, Tag tag,
                                                     uint32_t index)
        : ncclGinBarrierSession(group, ncclGin(all.comm, 0), tag, index)
    {
    }

    ncclGinBarrierSession(const ncclGinBarrierSession &) = delete;

    /* On return the group's earlier puts have settled, on every rank. */
    __device__ __forceinline__ void settle(Coop group GSHMEM_SITE)
    {
        group.sync();
        if (group.thread_rank() == 0)
            gshmem::quiet(GSHMEM_HERE_OF(*gin.comm.state));
        group.sync();
    }

    __device__ __forceinline__ void sync(Coop group, cuda::memory_order order,
                                         ncclGinFenceLevel fence = (ncclGinFenceLevel)3 GSHMEM_SITE)
    {
        (void)sync_all(group, order, fence, 0 GSHMEM_PASS_SITE);
    }

    /* Returns ncclTimeout on threads whose wait failed; the barrier is unusable from then on. */
    __device__ __forceinline__ ncclResult_t sync(Coop group, cuda::memory_order order,
                                                 ncclGinFenceLevel fence,
                                                 uint64_t timeoutCycles GSHMEM_SITE)
    {
        return sync_all(group, order, fence,
                        (timeoutCycles > 0 ? timeoutCycles : 1) GSHMEM_PASS_SITE)
                   ? ncclSuccess
                   : ncclTimeout;
    }
};

/* A session for one sync. Gin: an ncclGin, or ncclGinAllContexts; Tag: the rail or world tag. */
template <class Coop, class Gin>
__device__ __forceinline__ void
ncclGinBarrier(Coop coop, Gin gin, ncclTeam team, ncclGinBarrierHandle handle, uint32_t index,
               cuda::memory_order order = cuda::memory_order_acq_rel,
               ncclGinFenceLevel fence = (ncclGinFenceLevel)3 GSHMEM_SITE)
{
    ncclGinBarrierSession<Coop>(coop, gin, team, handle, index)
        .sync(coop, order, fence GSHMEM_PASS_SITE);
}

template <class Coop, class Gin, class Tag>
__device__ __forceinline__ void
ncclGinBarrier(Coop coop, Gin gin, Tag tag, uint32_t index,
               cuda::memory_order order = cuda::memory_order_acq_rel,
               ncclGinFenceLevel fence = (ncclGinFenceLevel)3 GSHMEM_SITE)
{
    ncclGinBarrierSession<Coop>(coop, gin, tag, index).sync(coop, order, fence GSHMEM_PASS_SITE);
}

#endif
