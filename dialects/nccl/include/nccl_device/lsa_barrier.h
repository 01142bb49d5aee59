/* SPDX-License-Identifier: Apache-2.0
 * Barriers among ranks that reach each other by loads and stores. */
#ifndef GSHMEM_NCCL_LSA_BARRIER_H
#define GSHMEM_NCCL_LSA_BARRIER_H

#include "coop.h"
#include "ptr.h"

namespace gshmem
{
namespace nccl
{

/* Polls a word until is_enough, as gshmem's waits do: ends with the job, or when the kernel is to
 * be left. With a limit returns false after that many clock cycles. */
template <class Type, class Test>
__device__ __forceinline__ bool
await_word(const ncclDevComm &comm, const Type *word, Test is_enough, Type expected, uint32_t kind,
           const char *call, int pe, uint64_t timeout_cycles GSHMEM_SITE)
{
    if (timeout_cycles == 0) {
        detail::spin_on(
            GSHMEM_HERE_OF(*comm.state), word,
            [](const Type *p) { return detail::load_awaited(p); }, is_enough, kind, call, pe,
            GSHMEM_CMP_GE, expected);
        return true;
    }
    const context c = GSHMEM_HERE_OF(*comm.state);
    const uint64_t start = (uint64_t)clock64();
    detail::spin s;
    for (Type seen; !is_enough(seen = detail::load_awaited(word));) {
        if ((uint64_t)clock64() - start >= timeout_cycles)
            return false;
        s.keep_polling(c, kind, call, pe, GSHMEM_CMP_GE, word, expected, seen);
    }
    s.done();
    return true;
}

} // namespace nccl
} // namespace gshmem

/* Barrier `index` of a handle. A rank uses it in one session at a time, and the same group makes
 * all its calls. arrive and wait come in pairs. With an order that releases, the team sees
 * afterwards what the group's threads did before; with one that acquires, they see what the others
 * released. multimem has no effect. Pairs of all ranks' sessions are counted, so a pair skipped on
 * any rank blocks the others. */
template <class Coop> class ncclLsaBarrierSession
{
    Coop coop;
    const ncclDevComm &comm;
    ncclTeam team;
    uint32_t *words, epoch;
    bool has_met = false; /* the group has synchronised since its threads read the epoch */
    /* This rank's flag on the first member that this thread signals: computed early, since each
     * instruction between a fence and its flag counts. */
    uint32_t *first_there;

    /* Other ranks of the team, i from 1, the next one first: ranks begin with different ones. */
    __device__ __forceinline__ int other(int i) const
    {
        const int r = team.rank + i;
        return r < team.nRanks ? r : r - team.nRanks;
    }

    /* Where this rank's flag on member i is mapped here. */
    __device__ __forceinline__ uint32_t *flag_on(int i) const
    {
        const int64_t away = (int64_t)(other(i) - team.rank) * team.stride * comm.lsa_stride;
        return gshmem::detail::as_global(
            reinterpret_cast<uint32_t *>(reinterpret_cast<char *>(&words[1 + team.rank]) + away));
    }

    __device__ __forceinline__ bool await_all(Coop group, cuda::memory_order order,
                                              uint64_t cycles GSHMEM_SITE)
    {
        using namespace gshmem;
        bool is_complete = true;
        const uint32_t next = epoch + 1;
        const int first = 1 + (int)group.thread_rank();
        GSHMEM_NO_UNROLL
        for (int i = first; i < team.nRanks; i += (int)group.size()) {
            const int r = other(i);
            is_complete &= nccl::await_word(
                comm, &words[1 + r], [=](uint32_t seen) { return (int32_t)(seen - next) >= 0; },
                next, GSH_REPORT_SYNC_TIMEOUT, "ncclLsaBarrierSession",
                comm.pe_of[ncclTeamRankToWorld(comm, team, r)], cycles GSHMEM_PASS_SITE);
        }
        if (is_complete)
            epoch = next;
        /* Threads that have seen flags acquire for the group, whose synchronisation follows. */
        if (first < team.nRanks && (detail::is_cpu_device || nccl::is_acquire(order)))
            detail::acquire_awaited();
        group.sync();
        has_met = true;
        return is_complete;
    }

  public:
    __device__ __forceinline__ ncclLsaBarrierSession(Coop group, const ncclDevComm &devComm,
                                                     ncclTeam barrier_team,
                                                     ncclLsaBarrierHandle handle, uint32_t index,
                                                     bool multimem = false,
                                                     ncclMultimemHandle mmHandle = {})
        : coop(group), comm(devComm), team(barrier_team)
    {
        (void)multimem, (void)mmHandle;
        gshmem::nccl::check_below(comm.state, "ncclLsaBarrierSession, index", index,
                                  (uint64_t)handle.nBarriers);
        gshmem::nccl::publish_earlier();
        words = static_cast<uint32_t *>(ncclGetResourceBufferLocalPointer(comm, handle.bufHandle)) +
                (size_t)index * GSHMEM_NCCL_LSA_BARRIER_WORDS(team.nRanks);
        epoch = words[0];
        first_there = flag_on(1 + (int)group.thread_rank());
    }

    __device__ __forceinline__ ncclLsaBarrierSession(Coop group, const ncclDevComm &devComm,
                                                     ncclTeamTagLsa, uint32_t index,
                                                     bool multimem = false)
        : ncclLsaBarrierSession(group, devComm, ncclTeamLsa(devComm), devComm.lsaBarrier, index,
                                multimem)
    {
    }

    ncclLsaBarrierSession(const ncclLsaBarrierSession &) = delete;

    __device__ __forceinline__ ~ncclLsaBarrierSession()
    {
        if (!has_met)
            coop.sync(); /* all have read it */
        if (coop.thread_rank() == 0)
            words[0] = epoch;
        coop.sync();
    }

    __device__ __forceinline__ void arrive(Coop group, cuda::memory_order order)
    {
        using namespace gshmem;
        group.sync();
        int i = 1 + (int)group.thread_rank();
        if (i >= team.nRanks)
            return;
        if (nccl::is_release(order))
            detail::fence_release();
        detail::store_relaxed(first_there, epoch + 1); /* pairs with the wait of await_all there */
        GSHMEM_NO_UNROLL
        for (i += (int)group.size(); i < team.nRanks; i += (int)group.size())
            detail::store_relaxed(flag_on(i), epoch + 1);
    }

    __device__ __forceinline__ void wait(Coop group, cuda::memory_order order GSHMEM_SITE)
    {
        (void)await_all(group, order, 0 GSHMEM_PASS_SITE);
    }

    __device__ __forceinline__ void sync(Coop group, cuda::memory_order order GSHMEM_SITE)
    {
        arrive(group, order);
        wait(group, order GSHMEM_PASS_SITE);
    }

    /* Returns ncclTimeout, on the threads whose wait failed, after that many cycles of clock64; the
     * session is unusable from then on. */
    __device__ __forceinline__ ncclResult_t wait(Coop group, cuda::memory_order order,
                                                 uint64_t timeoutCycles GSHMEM_SITE)
    {
        return await_all(group, order, (timeoutCycles > 0 ? timeoutCycles : 1) GSHMEM_PASS_SITE)
                   ? ncclSuccess
                   : ncclTimeout;
    }

    __device__ __forceinline__ ncclResult_t sync(Coop group, cuda::memory_order order,
                                                 uint64_t timeoutCycles GSHMEM_SITE)
    {
        arrive(group, order);
        return wait(group, order, timeoutCycles GSHMEM_PASS_SITE);
    }
};

#endif
