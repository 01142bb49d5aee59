/* SPDX-License-Identifier: Apache-2.0
 * Queries about a communicator as kernels see it: properties, teams, pointers into windows. */
#include <string.h>
#include "dialects/nccl/include/nccl_device/types.h"
#include "dialects/nccl/include/nccl_device/window_record.h"
#include "dialects/nccl/window/layout.h"
#include "dialects/nccl/window/window.h"
#include "runtime/layer.h"

/* FNV-1a over the members, and the offset of the communicator's memory, which is the same on
 * all ranks and no other communicator's. */
static uint64_t hash_of(const struct ncclComm *comm)
{
    uint64_t hash = 0xcbf29ce484222325;
    const uint64_t off = (uint64_t)((const char *)comm->range.base - comm->job->segment);
    for (int i = -1; i < comm->n_ranks; i++) {
        hash = (hash ^ (i < 0 ? off : (uint64_t)comm->pe_of[i])) * 0x100000001b3;
    }
    return hash;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

ncclResult_t ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t *props)
{
    static const char call[] = "ncclCommQueryProperties";
    int device = -1;
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r != ncclSuccess) {
        return r;
    }
    /* Those of 2.29.2 end there. */
    if (props == NULL || props->magic != NCCL_API_MAGIC ||
        props->size < offsetof(ncclCommProperties_t, nLsaTeams)) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             "%s: props were not begun as NCCL_COMM_PROPERTIES_INITIALIZER", call);
    }
    r = ncclCommCuDevice(comm, &device);
    const ncclGinType_t gin = comm->job->posts ? NCCL_GIN_TYPE_GDAKI : NCCL_GIN_TYPE_PROXY;
    ncclCommProperties_t all = {
        .size = props->size,
        .magic = props->magic,
        .version = props->version,
        .rank = comm->rank,
        .nRanks = comm->n_ranks,
        .cudaDev = device,
        .nvmlDev = device,
        .deviceApiSupport = true,
        .multimemSupport = false,
        .ginType = gin,
        .nLsaTeams = comm->n_ranks / comm->lsa_size,
        .hostRmaSupport = true,
        .railedGinType = gin,
        .commHash = hash_of(comm),
        .ginMinStride = 1,
        .ginConnectionType = NCCL_GIN_CONNECTION_FULL,
        .devCommRuntimeVersionSize = larger(sizeof(ncclDevComm), gsh_nccl_layout_newest()->bytes),
    };
    all.ginSupport[gin] = true;
    memcpy(props, &all, props->size < sizeof(all) ? props->size : sizeof(all));
    return r;
}

ncclTeam_t ncclTeamWorld(ncclComm_t comm)
{
    return gsh_nccl_need("ncclTeamWorld", comm) != ncclSuccess
               ? (ncclTeam_t){0, 0, 1}
               : (ncclTeam_t){comm->n_ranks, comm->rank, 1};
}

ncclTeam_t ncclTeamLsa(ncclComm_t comm)
{
    return gsh_nccl_need("ncclTeamLsa", comm) != ncclSuccess
               ? (ncclTeam_t){0, 0, 1}
               : (ncclTeam_t){comm->lsa_size, comm->lsa_rank, 1};
}

ncclTeam_t ncclTeamRail(ncclComm_t comm)
{
    return gsh_nccl_need("ncclTeamRail", comm) != ncclSuccess
               ? (ncclTeam_t){0, 0, 1}
               : (ncclTeam_t){comm->n_ranks / comm->lsa_size, comm->rank / comm->lsa_size,
                              comm->lsa_size};
}

int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank)
{
    return gsh_nccl_need("ncclTeamRankToWorld", comm) != ncclSuccess
               ? -1
               : comm->rank + (rank - team.rank) * team.stride;
}

int ncclTeamRankToLsa(ncclComm_t comm, ncclTeam_t team, int rank)
{
    return gsh_nccl_need("ncclTeamRankToLsa", comm) != ncclSuccess
               ? -1
               : comm->lsa_rank + (rank - team.rank) * team.stride;
}

static ncclResult_t lsa_pointer(const char *call, ncclWindow_t window, size_t offset, int rank,
                                bool is_world, void **out)
{
    struct ncclWindow_vidmem w;
    struct gshmemx_layer_scope scope;
    const struct gsh_nccl_job *job = gsh_nccl_job_of_window(window);
    if (job == NULL || out == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: window %p, result %p: not valid", call,
                             (void *)window, (void *)out);
    }
    gsh_nccl_enter(job, &scope);
    gsh_nccl_read(&w, window, sizeof(w));
    gsh_nccl_leave(&scope);
    if (offset >= w.bytes) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: the window has %zu bytes, not %zu", call,
                             (size_t)w.bytes, offset);
    }
    int i = is_world ? rank - (w.rank - w.lsa_rank) : rank;
    *out =
        i < 0 || i >= w.lsa_size
            ? NULL
            : (void *)(uintptr_t)(w.local + offset + (uint64_t)((i - w.lsa_rank) * w.lsa_stride));
    return ncclSuccess;
}

ncclResult_t ncclGetLsaDevicePointer(ncclWindow_t window, size_t offset, int lsaRank, void **outPtr)
{
    return lsa_pointer("ncclGetLsaDevicePointer", window, offset, lsaRank, false, outPtr);
}

ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t window, size_t offset, int peer, void **outPtr)
{
    return lsa_pointer("ncclGetPeerDevicePointer", window, offset, peer, true, outPtr);
}

ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t window, size_t offset, void **outPtr)
{
    void *unused;
    ncclResult_t r =
        lsa_pointer("ncclGetLsaMultimemDevicePointer", window, offset, 0, false, &unused);
    if (r == ncclSuccess && outPtr != NULL) {
        *outPtr = NULL;
    }
    return r;
}

ncclResult_t ncclGetMultimemDevicePointer(ncclWindow_t window, size_t offset,
                                          ncclMultimemHandle multimem, void **outPtr)
{
    (void)multimem;
    return ncclGetLsaMultimemDevicePointer(window, offset, outPtr);
}
