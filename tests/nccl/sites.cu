/* SPDX-License-Identifier: Apache-2.0
 * NCCL's calls that wait for ever, for tests/multi/sites.py. Compiled with GSHMEM_CALL_SITES.
 *
 *     sites CASE */
#include "tests/nccl/ranks.cuh"
#include <nccl_device.h>
#include <stdlib.h>

enum { COUNT = 1000, MANY = 8 << 20 };

static ncclComm_t comm;
static cudaStream_t stream;
static char *window, *other; /* the other is in no window */
static struct setup {
    ncclWindow_t win;
    ncclDevComm dev;
    ncclLLA2AHandle a2a;
} own;

__global__ void wait_kernel(int number, setup s)
{
    const ncclDevComm &dev = s.dev;
    const ncclWindow_t win = s.win;
    const ncclCoopThread me;
    const ncclGin gin(dev, 0);
    const ncclTeam world = ncclTeamWorld(dev);
    switch (number) {
        /* clang-format off */
    case 1: {
        ncclLsaBarrierSession<ncclCoopThread> bar(me, dev, ncclTeamTagLsa(), 0);
        /* 1 waits in ncclLsaBarrierSession */
        bar.sync(me, cuda::memory_order_acq_rel);
        break;
    }
    case 2: {
        ncclLsaBarrierSession<ncclCoopThread> bar(me, dev, ncclTeamTagLsa(), 0);
        /* 2 waits in ncclLsaBarrierSession */
        bar.sync(me, cuda::memory_order_acq_rel, (uint64_t)1 << 60);
        break;
    }
    case 3: {
        ncclLLA2ASession<ncclCoopThread> session(me, dev, ncclTeamLsa(dev), s.a2a, 0, 2);
        /* 3 waits in ncclLLA2ASession */
        (void)session.template recv<uint32_t>(1);
        break;
    }
    case 4:
        /* 4 waits in ncclGin::waitSignal */
        gin.waitSignal(me, 0, 1);
        break;
    case 5:
        /* 5 waits in ncclGin::waitSignal */
        (void)gin.waitSignal(me, win, 8, 1, 64, cuda::memory_order_acquire, (uint64_t)1 << 60);
        break;
    case 6:
        /* 6 waits in ncclGin::waitCounter */
        gin.waitCounter(me, 0, 1);
        break;
    case 7:
        /* 7 waits in ncclGinBarrierSession */
        ncclGinBarrier(me, gin, ncclTeamTagWorld(), 0);
        break;
    case 8:
        /* 8 waits in ncclLsaBarrierSession */
        ncclBarrier(me, ncclTeamTagWorld(), gin, 0);
        break;
    case 9: {
        ncclGin_C net(dev, NCCL_GIN_BACKEND_MASK_ALL, 0);
        /* 9 waits in ncclGin::waitSignal */
        ncclGinWaitSignalVA(&net, me, win, 8, 1, 64, cuda::memory_order_acquire);
        break;
    }
    case 10:
        for (;;) {
            gin.put(world, 1, win, 0, win, 64, 64);
            /* 10 waits for the network in gshmem_quiet */
            gin.flush(me);
        }
        /* clang-format on */
    }
}

static void wait_on_host(int number)
{
    int *const words = (int *)other;
    switch (number) {
        /* clang-format off */
    case 11:
        /* 11 waits in ncclAllReduce */
        ncclAllReduce(words, words + COUNT, COUNT, ncclInt, ncclSum, comm, stream);
        break;
    case 12:
        ncclGroupStart();
        ncclAllReduce(words, words, COUNT, ncclInt, ncclSum, comm, stream); /* the other makes it */
        /* 12 waits in ncclAllReduce */
        ncclAllReduce(words + COUNT, words + COUNT, COUNT, ncclInt, ncclSum, comm, stream);
        ncclGroupEnd();
        break;
    case 13:
        /* 13 waits in ncclAllReduce */
        ncclAllReduce(window, window, COUNT, ncclInt, ncclSum, comm, stream);
        break;
    case 14:
        ncclGroupStart();
        ncclBroadcast(words, words, COUNT, ncclInt, 1, comm, stream); /* the other makes it */
        /* 14 waits in ncclGather */
        ncclGather(words, words + COUNT, COUNT, ncclInt, 0, comm, stream);
        ncclGroupEnd();
        break;
    case 15:
        ncclGroupStart();
        ncclSend(words, COUNT, ncclInt, 1, comm, stream);
        /* 15 waits in ncclSend or ncclRecv */
        ncclRecv(words, COUNT, ncclInt, 1, comm, stream);
        ncclGroupEnd();
        break;
    case 16:
        ncclGroupStart();
        ncclRecv(words, MANY, ncclUint8, 1, comm, stream);
        /* 16 waits in ncclSend or ncclRecv */
        ncclSend(other + MANY, MANY, ncclUint8, 1, comm, stream);
        ncclGroupEnd();
        break;
    case 17: {
        ncclWaitSignalDesc_t from = {1, 1, 0, 0};
        ncclGroupStart();
        /* 17 waits in ncclWaitSignal */
        ncclWaitSignal(1, &from, comm, stream);
        ncclGroupEnd();
        break;
    }
    case 18: {
        ncclComm_t part;
        ncclGroupStart();
        /* 18 waits in ncclCommSplit */
        ncclCommSplit(comm, 0, 0, &part, NULL);
        ncclGroupEnd();
        break;
    }
    case 19:
        /* 19 waits in ncclCommWindowDeregister */
        ncclCommWindowDeregister(comm, own.win);
        break;
    case 20:
        /* 20 waits in ncclCommDestroy */
        ncclCommDestroy(comm);
        break;
        /* clang-format on */
    }
}

/* Of the groups in which each call of PE 0 is to be told from the others, the first one. */
static void begin_as_other(int number)
{
    int *const words = (int *)other;
    if (number == 12)
        OK(ncclAllReduce(words, words, COUNT, ncclInt, ncclSum, comm, stream));
    if (number == 14)
        OK(ncclBroadcast(words, words, COUNT, ncclInt, 1, comm, stream));
}

static void set_up(const test_rank *r)
{
    ncclDevCommRequirements req = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    ncclDevResourceRequirements list = {};
    OK(ncclCommInitRank(&comm, r->n, r->id, r->rank));
    CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(ncclMemAlloc((void **)&window, COUNT * sizeof(int)));
    OK(ncclCommWindowRegister(comm, window, COUNT * sizeof(int), &own.win,
                              NCCL_WIN_COLL_SYMMETRIC));
    CUDA_OK(cudaMalloc((void **)&other, 2 * MANY));
    CUDA_OK(cudaMemset(other, 0, 2 * MANY));
    OK(ncclLLA2ACreateRequirement(1, ncclLLA2ACalcSlots(2, 4), &own.a2a, &list));
    req.resourceRequirementsList = &list;
    req.lsaBarrierCount = req.barrierCount = req.worldGinBarrierCount = 1;
    req.ginSignalCount = req.ginCounterCount = 1;
    req.ginForceEnable = true;
    OK(ncclDevCommCreate(comm, &req, &own.dev));
}

static int run_rank(const test_rank *r)
{
    const char *number = getenv("TEST_SITE");
    set_up(r);
    gshmem_barrier_all();
    if (r->rank == 1 && getenv("GSHMEM_NODE_PES") != NULL)
        raise(SIGSTOP);
    if (r->rank == 1 && number != NULL)
        begin_as_other(atoi(number));
    if (r->rank == 0 && number != NULL) {
        CUDA_OK(gshmem_launch(wait_kernel, 1, 1, 0, stream, atoi(number), own));
        wait_on_host(atoi(number));
    }
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    /* ranks.cuh has another meaning for arguments */
    if (argc > 1)
        setenv("TEST_SITE", argv[1], 1);
    return test_ranks(1, argv, run_rank);
}
