/* SPDX-License-Identifier: Apache-2.0
 * What programs ask for to get a barrier, an inbox or an outbox in a device communicator. */
#include "dialects/nccl/window/devcomm.h"

enum { MAX_BOX_LOG2 = 30 };

ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam_t team, int nBarriers,
                                             ncclLsaBarrierHandle *outHandle,
                                             ncclDevResourceRequirements *outReq)
{
    static const char call[] = "ncclLsaBarrierCreateRequirement";
    if (team.nRanks < 1 || !gsh_nccl_is_count(nBarriers) || outHandle == NULL || outReq == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: %d barriers of %d ranks: not valid", call,
                             nBarriers, team.nRanks);
    }
    *outHandle = (ncclLsaBarrierHandle){0, nBarriers};
    *outReq = (ncclDevResourceRequirements){
        .bufferSize = (size_t)nBarriers * (size_t)GSHMEM_NCCL_LSA_BARRIER_WORDS(team.nRanks) *
                      sizeof(uint32_t),
        .bufferAlign = GSHMEM_NCCL_RESOURCE_UNIT,
        .outBufferHandle = &outHandle->bufHandle};
    return ncclSuccess;
}

ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t comm, ncclTeam_t team, int nBarriers,
                                             ncclGinBarrierHandle *outHandle,
                                             ncclDevResourceRequirements *outReq)
{
    static const char call[] = "ncclGinBarrierCreateRequirement";
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r != ncclSuccess) {
        return r;
    }
    if (team.nRanks < 1 || team.nRanks > comm->n_ranks || !gsh_nccl_is_count(nBarriers) ||
        outHandle == NULL || outReq == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: %d barriers of %d ranks: not valid", call,
                             nBarriers, team.nRanks);
    }
    *outHandle = (ncclGinBarrierHandle){0, (uint32_t)nBarriers};
    *outReq = (ncclDevResourceRequirements){.ginSignalCount = nBarriers * comm->n_ranks,
                                            .outGinSignalStart = &outHandle->signal0};
    return ncclSuccess;
}

ncclResult_t ncclGinOutboxCreateRequirement(int nBlocks, int size_log2,
                                            ncclGinOutboxHandle *outHandle,
                                            ncclDevResourceRequirements *outReq)
{
    static const char call[] = "ncclGinOutboxCreateRequirement";
    enum { COUNTERS = 512 };
    if (!gsh_nccl_is_count(nBlocks) || nBlocks > GSH_NCCL_MAX_COUNT / COUNTERS || size_log2 < 0 ||
        size_log2 > MAX_BOX_LOG2 || outHandle == NULL || outReq == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: %d blocks of 2^%d bytes: not valid", call,
                             nBlocks, size_log2);
    }
    *outHandle = (ncclGinOutboxHandle){.size_log2 = (uint32_t)size_log2};
    *outReq = (ncclDevResourceRequirements){.bufferSize = (size_t)nBlocks << size_log2,
                                            .bufferAlign = GSHMEM_NCCL_RESOURCE_UNIT,
                                            .outBufferHandle = &outHandle->bufHandle,
                                            .ginCounterCount = nBlocks * COUNTERS,
                                            .outGinCounterStart = &outHandle->counter0};
    return ncclSuccess;
}

ncclResult_t ncclGinInboxA2ACreateRequirement(ncclTeam_t peers, int nBlocks, int size_log2,
                                              ncclGinInboxA2AHandle *outHandle,
                                              ncclDevResourceRequirements *outReq)
{
    static const char call[] = "ncclGinInboxA2ACreateRequirement";
    enum { SIGNALS = 4 };
    const int n_peers = peers.nRanks - 1;
    if (n_peers < 0 || !gsh_nccl_is_count(nBlocks) ||
        nBlocks > GSH_NCCL_MAX_COUNT / SIGNALS / (n_peers > 0 ? n_peers : 1) || size_log2 < 0 ||
        size_log2 > MAX_BOX_LOG2 || outHandle == NULL || outReq == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             "%s: %d blocks of 2^%d bytes for %d ranks: not valid", call, nBlocks,
                             size_log2, peers.nRanks);
    }
    *outHandle = (ncclGinInboxA2AHandle){
        .size_log2 = (uint32_t)size_log2,
        .nPeers_rcp32 =
            n_peers > 1 ? (uint32_t)(((uint64_t)1 << 32) / (uint32_t)n_peers) : UINT32_MAX};
    *outReq = (ncclDevResourceRequirements){.bufferSize = (size_t)nBlocks << size_log2,
                                            .bufferAlign = GSHMEM_NCCL_RESOURCE_UNIT,
                                            .outBufferHandle = &outHandle->bufHandle,
                                            .ginSignalCount = nBlocks * n_peers * SIGNALS,
                                            .outGinSignalStart = &outHandle->signals};
    return ncclSuccess;
}

int ncclLLA2ACalcSlots(int maxElts, int maxEltSize)
{
    return maxElts * ((maxEltSize + 7) / 8);
}

ncclResult_t ncclLLA2ACreateRequirement(int nBlocks, int nSlots, ncclLLA2AHandle *outHandle,
                                        ncclDevResourceRequirements *outReq)
{
    static const char call[] = "ncclLLA2ACreateRequirement";
    if (!gsh_nccl_is_count(nBlocks) || !gsh_nccl_is_count(nSlots) || outHandle == NULL ||
        outReq == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: %d blocks of %d slots: not valid", call,
                             nBlocks, nSlots);
    }
    *outHandle = (ncclLLA2AHandle){0, (uint32_t)nSlots};
    *outReq = (ncclDevResourceRequirements){.bufferSize = (size_t)nBlocks *
                                                          GSHMEM_NCCL_LLA2A_BLOCK_BYTES(nSlots),
                                            .bufferAlign = GSHMEM_NCCL_RESOURCE_UNIT,
                                            .outBufferHandle = &outHandle->bufHandle};
    return ncclSuccess;
}
