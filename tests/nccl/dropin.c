/* SPDX-License-Identifier: Apache-2.0
 * Proves that the library works for a program that opens libnccl.so.2: a communicator of one rank,
 * and an all-reduce on it; that it gets device communicators in the layout of the headers that it
 * was compiled with; and that C has the arithmetic of teams. */
#include <dlfcn.h>
#include <nccl.h>
#include <nccl_device.h>
#include <stdlib.h>
#include "tests/test.h"

typedef ncclResult_t get_version(int *version);
typedef ncclResult_t get_id(ncclUniqueId *id);
typedef ncclResult_t init_rank(ncclComm_t *comm, int n, ncclUniqueId id, int rank);
typedef ncclResult_t all_reduce(const void *source, void *dest, size_t count, ncclDataType_t type,
                                ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
typedef ncclResult_t end(ncclComm_t comm);
typedef ncclResult_t make(ncclComm_t comm, const void *reqs, void *dev);
typedef ncclResult_t destroy(ncclComm_t comm, const void *dev);
typedef ncclResult_t keys(const char ***table, int *n);

static void *nccl;

static void *need(const char *name)
{
    void *f = dlsym(nccl, name);
    if (f == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return f;
}

static void test_teams(void)
{
    ncclTeam_t world = {12, 7, 1}, inner = ncclTeamInnerFactor(world, 4);
    ncclTeam_t outer = ncclTeamOuterFactor(world, 4);
    CHECK(inner.nRanks == 4 && inner.rank == 3 && outer.nRanks == 3 && outer.stride == 4);
    CHECK(ncclTeamRankIsMember(outer, world, 11) && !ncclTeamRankIsMember(outer, world, 10));
    CHECK_EQ(ncclTeamRankToTeam(outer, world, 11), 2);
    CHECK_EQ(ncclTeamRankInDifference(world, inner, 4), 8);
}

int main(void)
{
    int version = 0, source[3] = {4, 5, 6}, dest[3] = {0};
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    nccl = dlopen("libnccl.so.2", RTLD_NOW);
    if (nccl == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    CHECK_EQ(((get_version *)need("ncclGetVersion"))(&version), ncclSuccess);
    CHECK(version >= 22809);
    CHECK_EQ(((get_id *)need("ncclGetUniqueId"))(&id), ncclSuccess);
    CHECK_EQ(((init_rank *)need("ncclCommInitRank"))(&comm, 1, id, 0), ncclSuccess);
    CHECK_EQ(((all_reduce *)need("ncclAllReduce"))(source, dest, 3, ncclInt, ncclSum, comm, NULL),
             ncclSuccess);
    char reqs[56] = {0}, layout[200] = {0};
    int rank_and_ranks[2];
    const char **table = NULL;
    int n = -1;
    CHECK_EQ(((make *)need("ncclDevCommCreate"))(comm, reqs, layout), ncclSuccess);
    memcpy(rank_and_ranks, layout, sizeof(rank_and_ranks));
    CHECK(rank_and_ranks[0] == 0 && rank_and_ranks[1] == 1);
    CHECK_EQ(((destroy *)need("pncclDevCommDestroy"))(comm, layout), ncclSuccess);
    CHECK_EQ(((keys *)need("ncclParamGetAllParameterKeys"))(&table, &n), ncclSuccess);
    CHECK_EQ(n, 0);
    CHECK(need("pncclAllReduce") == need("ncclAllReduce"));
    test_teams();
    CHECK_EQ(((end *)need("pncclCommFinalize"))(comm), ncclSuccess);
    CHECK(dest[0] == 4 && dest[2] == 6);
    CHECK_EQ(((end *)need("ncclCommDestroy"))(comm), ncclSuccess);
    return test_result();
}
