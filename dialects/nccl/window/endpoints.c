/* SPDX-License-Identifier: Apache-2.0
 * NCCL's calls for logical endpoints ("CFT"): no device here has them. */
#include "dialects/nccl/base/error.h"
#include "dialects/nccl/include/nccl_device/types.h"

static ncclResult_t refuse_endpoint(const char *call)
{
    return gsh_nccl_fail(ncclInvalidUsage, "%s: no device here has logical endpoints", call);
}

ncclTeam_t ncclTeamCft(ncclComm_t comm, ncclCftTeamMode_t mode)
{
    (void)comm, (void)mode;
    (void)refuse_endpoint("ncclTeamCft");
    return (ncclTeam_t){0, 0, 1};
}

ncclTeam_t ncclTeamCftMultimem(ncclComm_t comm)
{
    (void)comm;
    (void)refuse_endpoint("ncclTeamCftMultimem");
    return (ncclTeam_t){0, 0, 1};
}

ncclResult_t ncclGetMultimemDeviceLeInfo(ncclWindow_t window, size_t offset, ncclCftLeId *leId,
                                         size_t *leOffset)
{
    (void)window, (void)offset, (void)leId, (void)leOffset;
    return refuse_endpoint("ncclGetMultimemDeviceLeInfo");
}

ncclResult_t ncclGetCftDeviceLeInfo(ncclWindow_t window, size_t offset, int peerCft,
                                    ncclTeam_t cftTeam, ncclCftLeId *leId, size_t *leOffset)
{
    (void)window, (void)offset, (void)peerCft, (void)cftTeam, (void)leId, (void)leOffset;
    return refuse_endpoint("ncclGetCftDeviceLeInfo");
}

ncclResult_t ncclGetPeerDeviceLeInfo(ncclWindow_t window, size_t offset, int peerWorld,
                                     ncclCftLeId *leId, size_t *leOffset)
{
    (void)window, (void)offset, (void)peerWorld, (void)leId, (void)leOffset;
    return refuse_endpoint("ncclGetPeerDeviceLeInfo");
}

ncclResult_t ncclCftBarrierCreateRequirement(ncclTeam_t team, int nBarriers,
                                             ncclCftBarrierHandle *outHandle,
                                             ncclDevResourceRequirements *outReq)
{
    (void)team, (void)nBarriers, (void)outHandle, (void)outReq;
    return refuse_endpoint("ncclCftBarrierCreateRequirement");
}
