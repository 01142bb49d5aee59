/* SPDX-License-Identifier: Apache-2.0
 * The two-stage barrier: within LSA teams, then along rails. */
#ifndef GSHMEM_NCCL_BARRIER_H
#define GSHMEM_NCCL_BARRIER_H

#include "gin_barrier.h"
#include "lsa_barrier.h"

/* Barrier `index` of the communicator's barrierCount, or of two handles: among all ranks of the
 * inner and outer teams together. */
template <class Coop> class ncclBarrierSession
{
    ncclLsaBarrierSession<Coop> inner;
    ncclGinBarrierSession<Coop> outer;

    /* A team of this rank alone: that stage is skipped. */
    __device__ __forceinline__ static ncclTeam alone() { return {1, 0, 1}; }

  public:
    __device__ __forceinline__ ncclBarrierSession(Coop coop, ncclTeam innerTeam, ncclTeam outerTeam,
                                                  ncclGin gin, ncclLsaBarrierHandle innerHandle,
                                                  ncclGinBarrierHandle outerHandle, uint32_t index,
                                                  bool multimem = false,
                                                  ncclMultimemHandle mmHandle = {})
        : inner(coop, gin.comm, innerTeam, innerHandle, index, multimem, mmHandle),
          outer(coop, gin, outerTeam, outerHandle, index)
    {
    }

    __device__ __forceinline__ ncclBarrierSession(Coop coop, ncclTeamTagWorld, ncclGin gin,
                                                  uint32_t index, bool multimem = false)
        : ncclBarrierSession(coop, ncclTeamLsa(gin.comm), ncclTeamRail(gin.comm), gin,
                             gin.comm.hybridLsaBarrier, gin.comm.hybridRailGinBarrier, index,
                             multimem)
    {
    }

    __device__ __forceinline__ ncclBarrierSession(Coop coop, ncclTeamTagLsa,
                                                  const ncclDevComm &comm, uint32_t index,
                                                  bool multimem = false)
        : ncclBarrierSession(coop, ncclTeamLsa(comm), alone(), ncclGin(comm, 0),
                             comm.hybridLsaBarrier, comm.hybridRailGinBarrier, index, multimem)
    {
    }

    __device__ __forceinline__ ncclBarrierSession(Coop coop, ncclTeamTagRail, ncclGin gin,
                                                  uint32_t index)
        : ncclBarrierSession(coop, alone(), ncclTeamRail(gin.comm), gin, gin.comm.hybridLsaBarrier,
                             gin.comm.hybridRailGinBarrier, index)
    {
    }

    /* Fences of all GIN contexts: every fence covers all of them in any case. */
    __device__ __forceinline__ ncclBarrierSession(Coop coop, ncclTeam innerTeam, ncclTeam outerTeam,
                                                  ncclGinAllContexts all,
                                                  ncclLsaBarrierHandle innerHandle,
                                                  ncclGinBarrierHandle outerHandle, uint32_t index,
                                                  bool multimem = false,
                                                  ncclMultimemHandle mmHandle = {})
        : ncclBarrierSession(coop, innerTeam, outerTeam, ncclGin(all.comm, 0), innerHandle,
                             outerHandle, index, multimem, mmHandle)
    {
    }

    __device__ __forceinline__ ncclBarrierSession(Coop coop, ncclTeamTagWorld tag,
                                                  ncclGinAllContexts all, uint32_t index,
                                                  bool multimem = false)
        : ncclBarrierSession(coop, tag, ncclGin(all.comm, 0), index, multimem)
    {
    }

    __device__ __forceinline__ ncclBarrierSession(Coop coop, ncclTeamTagRail tag,
                                                  ncclGinAllContexts all, uint32_t index)
        : ncclBarrierSession(coop, tag, ncclGin(all.comm, 0), index)
    {
    }

    ncclBarrierSession(const ncclBarrierSession &) = delete;

    __device__ __forceinline__ ncclLsaBarrierSession<Coop> &lsaBarrier() { return inner; }
    __device__ __forceinline__ ncclGinBarrierSession<Coop> &ginBarrier() { return outer; }

    /* Ranks of other LSA teams get the first stage's order through the ranks of the rail, so both
     * stages have it. */
    __device__ __forceinline__ void sync(Coop coop, cuda::memory_order order,
                                         ncclGinFenceLevel fence = (ncclGinFenceLevel)3 GSHMEM_SITE)
    {
        const bool is_ordered = order != cuda::memory_order_relaxed;
        if (((uint32_t)fence & 1) != 0)
            outer.settle(coop GSHMEM_PASS_SITE);
        inner.sync(coop, (is_ordered ? cuda::memory_order_acq_rel : order)GSHMEM_PASS_SITE);
        outer.sync(coop, is_ordered ? cuda::memory_order_acq_rel : order, fence GSHMEM_PASS_SITE);
    }

    /* Returns ncclTimeout on the threads whose wait failed in a stage; the barrier is unusable from
     * then on. Each stage gets the full time. */
    __device__ __forceinline__ ncclResult_t sync(Coop coop, cuda::memory_order order,
                                                 ncclGinFenceLevel fence,
                                                 uint64_t timeoutCycles GSHMEM_SITE)
    {
        const bool is_ordered = order != cuda::memory_order_relaxed;
        if (((uint32_t)fence & 1) != 0)
            outer.settle(coop GSHMEM_PASS_SITE);
        const ncclResult_t first = inner.sync(coop, is_ordered ? cuda::memory_order_acq_rel : order,
                                              timeoutCycles GSHMEM_PASS_SITE);
        const ncclResult_t second =
            outer.sync(coop, is_ordered ? cuda::memory_order_acq_rel : order, fence,
                       timeoutCycles GSHMEM_PASS_SITE);
        return first != ncclSuccess ? first : second;
    }
};

/* A session for one sync. Gin is an ncclGin, or ncclGinAllContexts. */
template <class Coop, class Gin>
__device__ __forceinline__ void
ncclBarrier(Coop coop, ncclTeamTagWorld tag, Gin gin, uint32_t index,
            cuda::memory_order order = cuda::memory_order_acq_rel,
            ncclGinFenceLevel fence = (ncclGinFenceLevel)3, bool multimem = false GSHMEM_SITE)
{
    ncclBarrierSession<Coop>(coop, tag, gin, index, multimem)
        .sync(coop, order, fence GSHMEM_PASS_SITE);
}

template <class Coop, class Gin>
__device__ __forceinline__ void
ncclBarrier(Coop coop, ncclTeamTagRail tag, Gin gin, uint32_t index,
            cuda::memory_order order = cuda::memory_order_acq_rel,
            ncclGinFenceLevel fence = (ncclGinFenceLevel)3 GSHMEM_SITE)
{
    ncclBarrierSession<Coop>(coop, tag, gin, index).sync(coop, order, fence GSHMEM_PASS_SITE);
}

#endif
