/* SPDX-License-Identifier: Apache-2.0
 * Proves that one thread can drive several ranks, as programs with one process for several GPUs do:
 * communicators made by InitAll and in groups, split, grown; collectives, sends and receives and
 * kernels on all of them; ended one after another. And communicators that do not block.
 *
 *     PROGRAM N    N ranks; on GPUs at most as many as there are */
#include <cuda_runtime.h>
#include <gshmem_device.cuh>
#include <nccl.h>
#include <nccl_device.h>
#include <dirent.h>
#include <sched.h>
#include <time.h>
#include <vector>
#include "tests/test.h"

#define OK(call) ok((call), #call, __LINE__)
static void ok(ncclResult_t r, const char *what, int line)
{
    if (r == ncclSuccess)
        return;
    fprintf(stderr, "line %d: %s: %s: %s\n", line, what, ncclGetErrorString(r),
            ncclGetLastError(NULL));
    exit(1);
}
#define CUDA_OK(call) OK((call) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError)

constexpr int count = 5000;

struct rank {
    ncclComm_t comm;
    cudaStream_t stream;
    int *data;
};
typedef std::vector<rank> ranks;

template <class F> static void for_each(ranks &all, F f)
{
    for (size_t i = 0; i < all.size(); i++) {
        CUDA_OK(cudaSetDevice((int)i));
        f((int)i, all[i]);
    }
}

static ranks make_ranks(int n)
{
    ranks all(n);
    for_each(all, [](int, rank &r) {
        CUDA_OK(cudaStreamCreate(&r.stream));
        CUDA_OK(cudaMalloc((void **)&r.data, 2 * count * sizeof(int)));
    });
    return all;
}

static void free_ranks(ranks &all)
{
    for_each(all, [](int, rank &r) {
        CUDA_OK(cudaFree(r.data));
        CUDA_OK(cudaStreamDestroy(r.stream));
    });
}

static void fill(ranks &all)
{
    for_each(all, [](int i, rank &r) {
        std::vector<int> host(count, i + 1);
        CUDA_OK(cudaMemcpy(r.data, host.data(), count * sizeof(int), cudaMemcpyDefault));
    });
}

static void expect(ranks &all, int from, int (*value)(int rank, int n))
{
    for_each(all, [&](int i, rank &r) {
        std::vector<int> host(count);
        CUDA_OK(cudaStreamSynchronize(r.stream));
        CUDA_OK(cudaMemcpy(host.data(), r.data + from, count * sizeof(int), cudaMemcpyDefault));
        for (int k = 0; k < count; k++)
            CHECK_EQ(host[k], value(i, (int)all.size()));
    });
}

static int sum(int, int n)
{
    return n * (n + 1) / 2;
}

static int left_one(int rank, int n)
{
    return (rank + n - 1) % n + 1;
}

/* Sums, then a ring of sends and receives, each a group over all ranks. */
static void use(ranks &all)
{
    fill(all);
    OK(ncclGroupStart());
    for (rank &r : all)
        OK(ncclAllReduce(r.data, r.data + count, count, ncclInt, ncclSum, r.comm, r.stream));
    OK(ncclGroupEnd());
    expect(all, count, sum);
    const int n = (int)all.size();
    OK(ncclGroupStart());
    for (int i = 0; i < n; i++) {
        OK(ncclSend(all[i].data, count, ncclInt, (i + 1) % n, all[i].comm, all[i].stream));
        OK(ncclRecv(all[i].data + count, count, ncclInt, (i + n - 1) % n, all[i].comm,
                    all[i].stream));
    }
    OK(ncclGroupEnd());
    expect(all, count, left_one);
}

static void check_numbers(ranks &all)
{
    for_each(all, [&](int i, rank &r) {
        int value = -1;
        OK(ncclCommUserRank(r.comm, &value));
        CHECK_EQ(value, i);
        OK(ncclCommCount(r.comm, &value));
        CHECK_EQ(value, (int)all.size());
        OK(ncclCommCuDevice(r.comm, &value));
        CHECK(value == i || value == -1);
    });
}

/* ---- kernels --------------------------------------------------------------------------------- */

__global__ void add_up(ncclDevComm dev, ncclWindow_t win, int *out)
{
    ncclLsaBarrierSession<ncclCoopCta> bar{ncclCoopCta(), dev, ncclTeamTagLsa(), 0};
    bar.sync(ncclCoopCta(), cuda::memory_order_relaxed);
    if (threadIdx.x == 0) {
        *out = 0;
        for (int peer = 0; peer < dev.lsaSize; peer++)
            *out += *(int *)ncclGetLsaPointer(win, 0, peer);
    }
    bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

static void use_kernels(ranks &all)
{
    const size_t n = all.size();
    std::vector<ncclWindow_t> win(n);
    std::vector<ncclDevComm> dev(n);
    std::vector<void *> memory(n);
    ncclDevCommRequirements q = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    q.lsaBarrierCount = 1;
    q.ginSignalCount = 1;
    OK(ncclGroupStart());
    for_each(all, [&](int i, rank &r) {
        OK(ncclMemAlloc(&memory[i], 4096));
        OK(ncclCommWindowRegister(r.comm, memory[i], 4096, &win[i], NCCL_WIN_COLL_SYMMETRIC));
        OK(ncclDevCommCreate(r.comm, &q, &dev[i]));
    });
    OK(ncclGroupEnd());
    for_each(all, [&](int i, rank &) {
        const int value = i + 1;
        CUDA_OK(cudaMemcpy(memory[i], &value, sizeof value, cudaMemcpyDefault));
    });
    for_each(all, [&](int i, rank &r) {
        CUDA_OK(gshmem_launch(add_up, 1, 32, 0, r.stream, dev[i], win[i], r.data));
    });
    for_each(all, [&](int, rank &r) {
        int value = 0;
        CUDA_OK(cudaStreamSynchronize(r.stream));
        CUDA_OK(cudaMemcpy(&value, r.data, sizeof value, cudaMemcpyDefault));
        CHECK_EQ(value, sum(0, (int)n));
    });
    OK(ncclGroupStart());
    for_each(all, [&](int i, rank &r) {
        OK(ncclDevCommDestroy(r.comm, &dev[i]));
        OK(ncclCommWindowDeregister(r.comm, win[i]));
    });
    OK(ncclGroupEnd());
    for_each(all, [&](int i, rank &) { OK(ncclMemFree(memory[i])); });
}

/* ---- ways of making communicators ------------------------------------------------------------ */

static void destroy_all(ranks &all)
{
    for_each(all, [](int, rank &r) { OK(ncclCommDestroy(r.comm)); });
}

static void test_init_all(int n)
{
    ranks all = make_ranks(n);
    std::vector<ncclComm_t> comms(n);
    const int twice[] = {0, 0};
    CHECK_EQ(ncclCommInitAll(comms.data(), 2, twice), ncclInvalidUsage);
    CHECK_EQ(ncclCommInitAll(comms.data(), 0, NULL), ncclInvalidArgument);
    CHECK_EQ(ncclCommInitAll(NULL, n, NULL), ncclInvalidArgument);
    OK(ncclCommInitAll(comms.data(), n, NULL));
    for (int i = 0; i < n; i++)
        all[i].comm = comms[i];
    check_numbers(all);
    use(all);
    use_kernels(all);
    for_each(all, [](int, rank &r) { OK(ncclCommFinalize(r.comm)); });
    destroy_all(all);
    free_ranks(all);
}

/* On default streams, which belong to the devices. */
static void test_default_streams(int n)
{
    ranks all(n);
    ncclUniqueId id;
    OK(ncclGetUniqueId(&id));
    OK(ncclGroupStart());
    for_each(all, [&](int i, rank &r) {
        CUDA_OK(cudaMalloc((void **)&r.data, 2 * count * sizeof(int)));
        OK(ncclCommInitRank(&r.comm, n, id, i));
        CHECK(r.comm == NULL);
    });
    OK(ncclGroupEnd());
    check_numbers(all);
    use(all);
    destroy_all(all);
    for_each(all, [](int, rank &r) { CUDA_OK(cudaFree(r.data)); });
}

static void test_split_and_grow(int n)
{
    ranks all = make_ranks(n), more = all, reversed = all;
    ncclUniqueId id, grow_id;
    OK(ncclGetUniqueId(&id));
    OK(ncclGroupStart());
    for (int i = 0; i < n - 1; i++) {
        CUDA_OK(cudaSetDevice(i));
        OK(ncclCommInitRank(&all[i].comm, n - 1, id, i));
    }
    OK(ncclGroupEnd());
    ranks few(all.begin(), all.end() - 1);
    use(few);
    /* Adds a rank. */
    OK(ncclCommGetUniqueId(few[0].comm, &grow_id));
    OK(ncclGroupStart());
    for_each(more, [&](int i, rank &r) {
        r.comm = NULL;
        OK(ncclCommGrow(i < n - 1 ? few[i].comm : NULL, n, i == 0 || i == n - 1 ? &grow_id : NULL,
                        i < n - 1 ? -1 : i, &r.comm, NULL));
    });
    OK(ncclGroupEnd());
    check_numbers(more);
    use(more);
    destroy_all(few);
    /* The same ranks in reverse order. */
    OK(ncclGroupStart());
    for (int i = 0; i < n; i++)
        OK(ncclCommSplit(more[i].comm, 1, -i, &reversed[n - 1 - i].comm, NULL));
    OK(ncclGroupEnd());
    destroy_all(more);
    for (int i = 0; i < n; i++) {
        reversed[i].stream = all[n - 1 - i].stream;
        reversed[i].data = all[n - 1 - i].data;
    }
    int value = -1;
    OK(ncclCommUserRank(reversed[0].comm, &value));
    CHECK_EQ(value, 0);
    OK(ncclGroupStart());
    for (rank &r : reversed)
        OK(ncclBroadcast(r.data, r.data, count, ncclInt, 0, r.comm, r.stream));
    OK(ncclGroupEnd());
    destroy_all(reversed);
    free_ranks(all);
}

/* ---- without blocking ------------------------------------------------------------------------ */

static void await(ncclComm_t comm)
{
    ncclResult_t r = ncclInProgress;
    while (r == ncclInProgress)
        OK(ncclCommGetAsyncError(comm, &r));
    OK(r);
}

static void begun(ncclResult_t r)
{
    CHECK(r == ncclSuccess || r == ncclInProgress);
}

/* No group holds together the calls of one thread: none waits for the others. */
static void test_nonblocking(int n)
{
    ranks all = make_ranks(n), part = all;
    ncclUniqueId id;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    int value = 0;
    config.blocking = 0;
    OK(ncclGetUniqueId(&id));
    for_each(all, [&](int i, rank &r) {
        begun(ncclCommInitRankConfig(&r.comm, n, id, i, &config));
        CHECK(r.comm != NULL);
        if (i == 0 && n > 1) /* its ranks do not exist yet */
            CHECK_EQ(ncclCommCount(r.comm, &value), ncclInvalidArgument);
    });
    for (rank &r : all)
        await(r.comm);
    check_numbers(all);
    use(all);
    for_each(all, [&](int i, rank &r) {
        part[i].comm = NULL;
        begun(ncclCommSplit(r.comm, i % 2, i, &part[i].comm, NULL));
    });
    for_each(all, [&](int i, rank &r) {
        await(r.comm);
        await(part[i].comm);
        OK(ncclCommCount(part[i].comm, &value));
        CHECK_EQ(value, (n + 1 - i % 2) / 2);
    });
    for (rank &r : part)
        begun(ncclCommFinalize(r.comm));
    for (rank &r : part)
        await(r.comm);
    destroy_all(part);
    use(all);
    destroy_all(all);
    free_ranks(all);
    /* Failures are reported later: an id that is no longer served. */
    ncclComm_t lost = NULL;
    memset(&id, 0, sizeof id);
    begun(ncclCommInitRankConfig(&lost, 2, id, 0, &config));
    ncclResult_t r = ncclInProgress;
    while (r == ncclInProgress)
        OK(ncclCommGetAsyncError(lost, &r));
    CHECK(r != ncclSuccess);
    CHECK(ncclGetLastError(lost)[0] != '\0');
    CHECK_EQ(ncclCommCount(lost, &value), ncclInvalidArgument);
    OK(ncclCommDestroy(lost));
}

static int count_descriptors()
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d != NULL && readdir(d) != NULL)
        n++;
    if (d != NULL)
        closedir(d);
    return n;
}

/* Ids that InitRankScalable does not need are dropped long before the start-up limit. */
static void test_several_ids()
{
    ncclComm_t comm = NULL;
    ncclUniqueId ids[4];
    /* CUDA keeps descriptors from its first use on. */
    OK(ncclGetUniqueId(&ids[0]));
    OK(ncclCommInitRank(&comm, 1, ids[0], 0));
    OK(ncclCommDestroy(comm));
    const int before = count_descriptors();
    for (ncclUniqueId &id : ids)
        OK(ncclGetUniqueId(&id));
    OK(ncclCommInitRankScalable(&comm, 1, 0, 4, ids, NULL));
    OK(ncclCommDestroy(comm));
    for (time_t end = time(NULL) + 20; count_descriptors() > before && time(NULL) < end;)
        sched_yield();
    CHECK(count_descriptors() <= before);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 2;
#ifdef __CUDACC__
    int n_gpus = 0;
    CUDA_OK(cudaGetDeviceCount(&n_gpus));
    n = n_gpus < n ? n_gpus : n;
#endif
    test_several_ids();
    test_init_all(n);
    test_default_streams(n);
    if (n > 1)
        test_split_and_grow(n);
    test_nonblocking(n);
    return test_result();
}
