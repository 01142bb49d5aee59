/* SPDX-License-Identifier: Apache-2.0
 * What the ranks of trouble.cu wait in, and what they share: kernels that wait, kernels that name
 * what is not there, and calls by the host. */
#ifndef NCCL_TROUBLE_WAITS_CUH
#define NCCL_TROUBLE_WAITS_CUH

#include "tests/nccl/ranks.cuh"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <nccl_device.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

/* Shared by all processes. */
struct shared_words {
    ncclUniqueId id;
    int n_given_up; /* atomic */
    int n_ended;    /* atomic: processes */
    int n_met;      /* atomic: how often ranks have come to meet_among */
    int result;     /* few: rank 0's */
    double since;   /* when the trouble began */
};
static shared_words *words;
static pthread_barrier_t *ready; /* of all ranks */
constexpr int MAX_QUEUED = 256;  /* calls on a stream that nobody has waited for */
static int n_ranks, my_rank;
static const char *wait_kind, *how;
static size_t count;

static double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static void await_count(int *word, int n)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < n)
        usleep(2000);
}

/* Of ranks 0 to n - 1, each of which calls it as often. A rank that ends afterwards is lost to none
 * of them in a call before. */
static void meet_among(int n)
{
    static int n_wanted;
    n_wanted += n;
    __atomic_add_fetch(&words->n_met, 1, __ATOMIC_RELEASE);
    await_count(&words->n_met, n_wanted);
}

static void give_up_together()
{
    __atomic_add_fetch(&words->n_given_up, 1, __ATOMIC_RELEASE);
    await_count(&words->n_given_up, n_ranks);
    words->since = now();
}

enum kind { LSA, GIN, HYBRID, SIGNAL, COUNTER, FLUSH, LL, N_KINDS };
static const char *const kinds[N_KINDS] = {"lsa",     "gin",   "hybrid", "signal",
                                           "counter", "flush", "ll"};

/* Call number `round` of a wait, counted from 1: all ranks must make it. */
__global__ void wait_kernel(ncclDevComm dev, ncclLLA2AHandle a2a, ncclWindow_t win, int kind,
                            uint64_t round)
{
    ncclGin gin(dev, 0);
    const ncclCoopCta cta;
    const ncclTeam world = ncclTeamWorld(dev);
    const int next = (dev.rank + 1) % dev.nRanks;
    if (kind == LSA) {
        ncclLsaBarrierSession<ncclCoopCta> bar(cta, dev, ncclTeamTagLsa(), 1);
        bar.sync(cta, cuda::memory_order_acq_rel);
    } else if (kind == GIN) {
        ncclGinBarrierSession<ncclCoopCta> bar(cta, gin, world, dev.railGinBarrier, 1);
        bar.sync(cta, cuda::memory_order_acq_rel);
    } else if (kind == HYBRID) {
        ncclBarrierSession<ncclCoopCta> bar(cta, ncclTeamTagWorld(), gin, 1);
        bar.sync(cta, cuda::memory_order_acq_rel);
    } else if (kind == SIGNAL) {
        gin.signal(world, next, ncclGin_SignalInc{2}, cta);
        gin.waitSignal(cta, 2, round);
    } else if (kind == COUNTER) { /* this rank's own, which nothing counts up */
        gin.waitCounter(cta, 1, 1);
    } else if (kind == FLUSH) {
        gin.put(world, dev.nRanks - 1, win, 0, win, 0, 4096, ncclGin_None(), ncclGin_None(), cta);
        gin.flush(cta);
    } else {
        ncclLLA2ASession<ncclCoopCta> session(cta, dev, ncclTeamLsa(dev), a2a, 0, 8);
        if (threadIdx.x == 0)
            session.bcast(dev.lsaRank, (int)round);
        if ((int)threadIdx.x < dev.lsaSize)
            (void)session.recv<int>((int)threadIdx.x);
        session.endEpoch(cta);
    }
}

/* What a kernel gets wrong: each of these numbers is the first one that is not there. */
enum bound {
    PEER,
    OFFSET,
    LSA_INDEX,
    GIN_INDEX,
    GIN_SIGNAL,
    GIN_COUNTER,
    GIN_PEER,
    GIN_RANGE,
    N_BOUNDS
};
static const char *const bounds[N_BOUNDS] = {"lsapeer",   "lsaoffset",  "lsaindex", "ginindex",
                                             "ginsignal", "gincounter", "ginpeer",  "ginrange"};

__global__ void cross_kernel(ncclDevComm dev, ncclWindow_t win, size_t bytes, int bound)
{
    ncclGin gin(dev, 0);
    const ncclCoopThread one;
    const ncclTeam world = ncclTeamWorld(dev);
    const uint32_t n_signals = (uint32_t)dev.ginSignalCount;
    if (bound == PEER)
        *(volatile int *)ncclGetLsaPointer(win, 0, dev.lsaSize) = 1;
    else if (bound == OFFSET)
        *(volatile int *)ncclGetLsaPointer(win, bytes + 1, 0) = 1;
    else if (bound == LSA_INDEX)
        ncclLsaBarrierSession<ncclCoopThread>(one, dev, ncclTeamTagLsa(), 2)
            .sync(one, cuda::memory_order_relaxed);
    else if (bound == GIN_INDEX)
        ncclGinBarrierSession<ncclCoopThread>(one, gin, world, dev.railGinBarrier, 2)
            .sync(one, cuda::memory_order_relaxed);
    else if (bound == GIN_SIGNAL)
        gin.signal(world, 0, ncclGin_SignalInc{n_signals});
    else if (bound == GIN_COUNTER)
        gin.waitCounter(one, (ncclGinCounter_t)dev.ginCounterCount, 1);
    else if (bound == GIN_PEER)
        gin.signal(world, dev.nRanks, ncclGin_SignalInc{0});
    else
        gin.put(world, 0, win, bytes - 4, win, 0, 8);
}

/* ---- the waits ---- */

static ncclComm_t comm;
static bool is_lost; /* a call has said that another rank's process has ended */

/* In calls that may find that. */
#define DONE(call) done((call), #call, __FILE__, __LINE__)
static void done(ncclResult_t r, const char *what, const char *file, int line)
{
    is_lost = is_lost || r == ncclRemoteError;
    test_nccl(r == ncclRemoteError ? ncclSuccess : r, what, file, line);
}

static ncclDevComm dev;
static ncclLLA2AHandle a2a;
static ncclWindow_t win;
static int *source, *dest;

static void make_comm()
{
    test_rank r = {my_rank, n_ranks, false, words->id};
    OK(ncclCommInitRank(&comm, r.n, r.id, r.rank));
    OK(ncclMemAlloc((void **)&source, count * n_ranks * sizeof(int) + 4096));
    OK(ncclMemAlloc((void **)&dest, count * n_ranks * sizeof(int) + 4096));
    OK(ncclCommWindowRegister(comm, source, count * n_ranks * sizeof(int) + 4096, &win,
                              NCCL_WIN_DEFAULT));
    ncclDevCommRequirements q = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    ncclDevResourceRequirements list = {};
    q.lsaBarrierCount = q.railGinBarrierCount = q.barrierCount = 2;
    q.ginSignalCount = 3;
    q.ginCounterCount = 2;
    OK(ncclLLA2ACreateRequirement(1, ncclLLA2ACalcSlots(8, sizeof(int)), &a2a, &list));
    q.resourceRequirementsList = &list;
    OK(ncclDevCommCreate(comm, &q, &dev));
}

static void exchange(size_t count_out)
{
    const int next = (my_rank + 1) % n_ranks, before = (my_rank + n_ranks - 1) % n_ranks;
    OK(ncclGroupStart());
    DONE(ncclSend(source, count_out, ncclInt, next, comm, 0));
    DONE(ncclRecv(dest, count, ncclInt, before, comm, 0));
    DONE(ncclGroupEnd());
}

static void signal_next()
{
    const int next = (my_rank + 1) % n_ranks, before = (my_rank + n_ranks - 1) % n_ranks;
    ncclWaitSignalDesc_t from = {};
    from.peer = before;
    from.opCnt = 1;
    DONE(ncclPutSignal(source + count, count, ncclInt, next, win, 0, 0, 0, 0, comm, 0));
    DONE(ncclWaitSignal(1, &from, comm, 0));
}

/* On the default stream. Roots are chosen so that all ranks or the first one wait for the last. */
static void call(uint64_t round)
{
    const char *w = wait_kind;
    const int last = n_ranks - 1;
    for (int k = 0; k < N_KINDS; k++)
        if (is(w, kinds[k]))
            gshmem_launch(wait_kernel, dim3(1), dim3(32), 0, 0, dev, a2a, win, k, round);
    if (is(w, "allreduce"))
        DONE(ncclAllReduce(source, dest, count, ncclInt, ncclSum, comm, 0));
    else if (is(w, "reducescatter"))
        DONE(ncclReduceScatter(source, dest, count, ncclInt, ncclSum, comm, 0));
    else if (is(w, "allgather"))
        DONE(ncclAllGather(source, dest, count, ncclInt, comm, 0));
    else if (is(w, "reduce"))
        DONE(ncclReduce(source, dest, count, ncclInt, ncclSum, 0, comm, 0));
    else if (is(w, "reducetolast"))
        DONE(ncclReduce(source, dest, count, ncclInt, ncclSum, last, comm, 0));
    else if (is(w, "broadcast") || is(w, "pieces"))
        DONE(ncclBroadcast(source, dest, count, ncclInt, last, comm, 0));
    else if (is(w, "alltoall"))
        DONE(ncclAlltoAll(source, dest, count, ncclInt, comm, 0));
    else if (is(w, "gather"))
        DONE(ncclGather(source, dest, count, ncclInt, 0, comm, 0));
    else if (is(w, "scatter"))
        DONE(ncclScatter(source, dest, count, ncclInt, last, comm, 0));
    else if (is(w, "sendrecv"))
        exchange(count);
    else if (is(w, "putsignal"))
        signal_next();
}

#endif
