/* SPDX-License-Identifier: Apache-2.0
 * Teams and their arithmetic, for host code and kernels. */
#ifndef GSHMEM_NCCL_TEAM_H
#define GSHMEM_NCCL_TEAM_H

#include "types.h"

#if defined(__CUDACC__)
#define GSHMEM_NCCL_BOTH __host__ __device__ __forceinline__
#elif defined(__cplusplus)
#define GSHMEM_NCCL_BOTH inline
#else
#define GSHMEM_NCCL_BOTH static inline
#endif

GSHMEM_NCCL_BOTH ncclTeam gshmem_nccl_team(int nRanks, int rank, int stride)
{
    ncclTeam t;
    t.nRanks = nRanks;
    t.rank = rank;
    t.stride = stride;
    return t;
}

/* The distance from this rank to b's rank, in ranks of the communicator. */
GSHMEM_NCCL_BOTH int gshmem_nccl_distance(ncclTeam b, int bPeer)
{
    return (bPeer - b.rank) * b.stride;
}

/* Whether b's rank is in team a. */
GSHMEM_NCCL_BOTH bool ncclTeamRankIsMember(ncclTeam a, ncclTeam b, int bPeer)
{
    const int d = gshmem_nccl_distance(b, bPeer);
    const int r = a.rank + d / a.stride;
    return d % a.stride == 0 && r >= 0 && r < a.nRanks;
}

/* b's rank number in a, which contains it. */
GSHMEM_NCCL_BOTH int ncclTeamRankToTeam(ncclTeam a, ncclTeam b, int bPeer)
{
    return a.rank + gshmem_nccl_distance(b, bPeer) / a.stride;
}

/* Cuts the team into runs of n ranks: this rank's run, and this rank's place in each run. */
GSHMEM_NCCL_BOTH ncclTeam ncclTeamInnerFactor(ncclTeam parent, int n)
{
    return gshmem_nccl_team(n, parent.rank % n, parent.stride);
}

GSHMEM_NCCL_BOTH ncclTeam ncclTeamOuterFactor(ncclTeam parent, int n)
{
    return gshmem_nccl_team(parent.nRanks / n, parent.rank / n, parent.stride * n);
}

/* The index-th of the parent's ranks outside the subset. */
GSHMEM_NCCL_BOTH int ncclTeamRankInDifference(ncclTeam parent, ncclTeam subset, int index)
{
    const int step = subset.stride / parent.stride;
    const int first = parent.rank - subset.rank * step;
    if (index < first)
        return index;
    const int behind = index - first; /* step - 1 of them lie between two of the subset */
    const int between = (subset.nRanks - 1) * (step - 1);
    return behind >= between ? index + subset.nRanks : index + 1 + behind / (step - 1);
}

#ifdef __cplusplus

struct ncclTeamTagWorld {
};
struct ncclTeamTagLsa {
};
struct ncclTeamTagRail {
};

GSHMEM_NCCL_BOTH ncclTeam ncclTeamWorld(const ncclDevComm &comm)
{
    return gshmem_nccl_team(comm.nRanks, comm.rank, 1);
}

GSHMEM_NCCL_BOTH ncclTeam ncclTeamLsa(const ncclDevComm &comm)
{
    return gshmem_nccl_team(comm.lsaSize, comm.lsaRank, 1);
}

GSHMEM_NCCL_BOTH ncclTeam ncclTeamRail(const ncclDevComm &comm)
{
    return gshmem_nccl_team(comm.nRanks / comm.lsaSize, comm.rank / comm.lsaSize, comm.lsaSize);
}

GSHMEM_NCCL_BOTH int ncclTeamRankToWorld(const ncclDevComm &comm, ncclTeam team, int rank)
{
    return comm.rank + gshmem_nccl_distance(team, rank);
}

GSHMEM_NCCL_BOTH int ncclTeamRankToLsa(const ncclDevComm &comm, ncclTeam team, int rank)
{
    return comm.lsaRank + gshmem_nccl_distance(team, rank);
}

#endif

#endif
