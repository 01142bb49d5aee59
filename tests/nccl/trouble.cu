/* SPDX-License-Identifier: Apache-2.0
 * What trouble.py makes go wrong: PROGRAM WAIT HOW. The last rank stays away from a wait (absent),
 * or dies before it (dead). */
#include "tests/nccl/ranks.cuh"
#include <nccl_device.h>

static const char *wait_kind, *how;

__global__ void wait_kernel(ncclDevComm dev, int kind)
{
    ncclGin gin(dev, 0);
    const ncclCoopCta cta;
    if (kind == 0) {
        ncclLsaBarrierSession<ncclCoopCta> bar(cta, dev, ncclTeamTagLsa(), 0);
        bar.sync(cta, cuda::memory_order_acq_rel);
    } else if (kind == 1) {
        ncclGinBarrierSession<ncclCoopCta> bar(cta, gin, ncclTeamWorld(dev), dev.railGinBarrier, 0);
        bar.sync(cta, cuda::memory_order_acq_rel);
    } else {
        gin.waitSignal(cta, 0, 1);
    }
}

static int run_rank(const test_rank *r)
{
    ncclComm_t comm = NULL;
    ncclDevComm dev = {};
    ncclDevCommRequirements q = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    q.lsaBarrierCount = q.railGinBarrierCount = q.ginSignalCount = 1;
    OK(ncclCommInitRank(&comm, r->n, r->id, r->rank));
    OK(ncclDevCommCreate(comm, &q, &dev));
    const int kind = strcmp(wait_kind, "lsa") == 0 ? 0 : strcmp(wait_kind, "gin") == 0 ? 1 : 2;
    int *p = NULL;
    CUDA_OK(cudaMalloc(&p, sizeof *p));
    if (r->rank == r->n - 1) {
        if (strcmp(how, "dead") == 0)
            raise(SIGKILL);
        pause(); /* until the others' job ends this process, too */
    }
    if (strcmp(wait_kind, "allreduce") == 0)
        OK(ncclAllReduce(p, p, 1, ncclInt, ncclSum, comm, 0));
    else if (strcmp(wait_kind, "recv") == 0)
        OK(ncclRecv(p, 1, ncclInt, r->n - 1, comm, 0));
    else
        gshmem_launch(wait_kernel, dim3(1), dim3(32), 0, 0, dev, kind);
    CUDA_OK(cudaStreamSynchronize(0));
    return 0; /* trouble.py finds this wrong */
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    wait_kind = argv[1];
    how = argv[2];
    return test_ranks(1, argv, run_rank);
}
