/* SPDX-License-Identifier: Apache-2.0
 * Proves the NCCL layer's communicators: made in every way, several at a time, split, in groups, by
 * two threads of a rank; memory and windows; and that wrong calls fail with a result and a reason,
 * and change nothing. */
#include "tests/nccl/ranks.cuh"
#include <nccl_device.h>
#if !defined(TEST_OTHER_NCCL)
#include "dialects/nccl/comm/comm.h"
#endif

static void check_comm(ncclComm_t comm, int n, int rank)
{
    int value = -1;
    ncclResult_t async = ncclInternalError;
    OK(ncclCommCount(comm, &value));
    CHECK_EQ(value, n);
    OK(ncclCommUserRank(comm, &value));
    CHECK_EQ(value, rank);
    OK(ncclCommCuDevice(comm, &value));
    OK(ncclCommGetAsyncError(comm, &async));
    CHECK_EQ(async, ncclSuccess);
}

/* The sum of all ranks' numbers shows that the communicator's ranks are these. */
static void check_sum(ncclComm_t comm, int mine, int expected)
{
    int *p = NULL, result = 0;
    CUDA_OK(cudaMalloc(&p, sizeof *p));
    CUDA_OK(cudaMemcpy(p, &mine, sizeof mine, cudaMemcpyDefault));
    OK(ncclAllReduce(p, p, 1, ncclInt, ncclSum, comm, 0));
    CUDA_OK(cudaMemcpy(&result, p, sizeof result, cudaMemcpyDefault));
    CHECK_EQ(result, expected);
    CUDA_OK(cudaFree(p));
}

static void test_errors(ncclComm_t comm, const test_rank *r)
{
    ncclComm_t other = NULL;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclWindow_t win = NULL;
    int value = 0;
    CHECK_EQ(ncclCommCount(NULL, &value), ncclInvalidArgument);
    CHECK(strstr(ncclGetLastError(NULL), "ncclCommCount") != NULL);
    CHECK_EQ(ncclCommCount(comm, NULL), ncclInvalidArgument);
    CHECK_EQ(ncclCommInitRank(&other, 0, r->id, 0), ncclInvalidArgument);
    CHECK_EQ(ncclCommInitRank(&other, r->n, r->id, r->n), ncclInvalidArgument);
    CHECK_EQ(ncclCommInitRank(&other, r->n + 1, r->id, r->rank), ncclInvalidUsage);
    config.magic = 0;
    CHECK_EQ(ncclCommInitRankConfig(&other, r->n, r->id, r->rank, &config), ncclInvalidArgument);
    /* A later version's, which ends with a field that the program sets. */
    struct {
        ncclConfig_t known = NCCL_CONFIG_INITIALIZER;
        const char *name = NULL;
        int hints[2] = {NCCL_CONFIG_UNDEF_INT, 4};
    } later;
    later.known.size = sizeof later;
    CHECK_EQ(ncclCommSplit(comm, 0, 0, &other, &later.known), ncclInvalidArgument);
    later.known.size = sizeof later + 8192;
    CHECK_EQ(ncclCommSplit(comm, 0, 0, &other, &later.known), ncclInvalidArgument);
    CHECK_EQ(ncclCommSplit(comm, -7, 0, &other, NULL), ncclInvalidArgument);
    CHECK_EQ(ncclGroupEnd(), ncclInvalidUsage);
    CHECK_EQ(ncclMemAlloc(NULL, 8), ncclInvalidArgument);
    CHECK_EQ(ncclCommWindowRegister(comm, &value, 0, &win, NCCL_WIN_DEFAULT), ncclInvalidArgument);
    CHECK_EQ(ncclCommWindowRegister(comm, NULL, 8, &win, NCCL_WIN_DEFAULT), ncclInvalidArgument);
    CHECK_EQ(ncclCommWindowRegister(comm, &value, 8, NULL, NCCL_WIN_DEFAULT), ncclInvalidArgument);
    CHECK_EQ(ncclCommWindowRegister(comm, &value, 8, &win, 64), ncclInvalidArgument);
    CHECK_EQ(ncclCommWindowDeregister(comm, (ncclWindow_t)&value), ncclInvalidArgument);
    CHECK_EQ(ncclCommDeregister(comm, &value), ncclInvalidArgument);
    CHECK_EQ(ncclAllReduce(&value, &value, 1, (ncclDataType_t)99, ncclSum, comm, 0),
             ncclInvalidArgument);
    CHECK_EQ(ncclAllReduce(&value, &value, 1, ncclInt, (ncclRedOp_t)77, comm, 0),
             ncclInvalidArgument);
    CHECK_EQ(ncclAllReduce(NULL, &value, 1, ncclInt, ncclSum, comm, 0), ncclInvalidArgument);
    CHECK_EQ(ncclBroadcast(&value, &value, 1, ncclInt, r->n, comm, 0), ncclInvalidArgument);
    CHECK_EQ(ncclSend(&value, 1, ncclInt, -1, comm, 0), ncclInvalidArgument);
    CHECK(other == NULL && win == NULL);
}

/* Fails where the program called, before anything is launched. CUDA need not notice it. */
static void test_destroyed_stream(ncclComm_t comm)
{
#if !defined(__CUDACC__)
    const size_t bytes = 4096;
    cudaStream_t stream;
    ncclWindow_t win = NULL;
    void *p = NULL;
    int value[2] = {};
    CUDA_OK(cudaStreamCreate(&stream));
    CUDA_OK(cudaStreamDestroy(stream));
    OK(ncclMemAlloc(&p, bytes));
    OK(ncclCommWindowRegister(comm, p, bytes, &win, NCCL_WIN_COLL_SYMMETRIC));
    for (int *at : {value, (int *)p}) {
        CHECK_EQ(ncclAllReduce(at, at, 1, ncclInt, ncclSum, comm, stream), ncclInvalidArgument);
        CHECK(strstr(ncclGetLastError(NULL), "ncclAllReduce: the stream does not exist") != NULL);
        CHECK_EQ(ncclBcast(at, 1, ncclInt, 0, comm, stream), ncclInvalidArgument);
        CHECK(strstr(ncclGetLastError(NULL), "ncclBroadcast: the stream does not exist") != NULL);
    }
    CHECK_EQ(ncclSignal(0, 0, 0, 0, comm, stream), ncclInvalidArgument);
    CHECK(strstr(ncclGetLastError(NULL), "ncclSignal: the stream does not exist") != NULL);
    OK(ncclCommWindowDeregister(comm, win));
    OK(ncclMemFree(p));
#else
    (void)comm;
#endif
}

static void test_finalized(ncclComm_t comm)
{
    int value[2] = {};
    ncclRedOp_t op;
    ncclComm_t part = NULL;
    CHECK_EQ(ncclAllReduce(value, value, 1, ncclInt, ncclSum, comm, 0), ncclInvalidUsage);
    CHECK(strstr(ncclGetLastError(NULL), "ncclAllReduce: ncclCommFinalize") != NULL);
    CHECK_EQ(ncclSend(value, 1, ncclInt, 0, comm, 0), ncclInvalidUsage);
    CHECK_EQ(ncclCommSplit(comm, 0, 0, &part, NULL), ncclInvalidUsage);
    CHECK_EQ(ncclRedOpCreatePreMulSum(&op, value, ncclInt, ncclScalarHostImmediate, comm),
             ncclInvalidUsage);
    CHECK(part == NULL);
}

static void test_memory(ncclComm_t comm)
{
    const size_t bytes = 100000;
    void *p = NULL, *user = NULL, *handle = NULL;
    ncclWindow_t win[3] = {};
    OK(ncclMemAlloc(&p, bytes));
    CHECK_EQ((uintptr_t)p % NCCL_WIN_REQUIRED_ALIGNMENT, 0);
    OK(ncclCommRegister(comm, p, bytes, &handle));
    OK(ncclCommDeregister(comm, handle));
    OK(ncclCommWindowRegister(comm, p, bytes, &win[0], NCCL_WIN_COLL_SYMMETRIC));
    OK(ncclGroupStart());
    OK(ncclCommWindowRegister(comm, (char *)p + 512, 1024, &win[1], NCCL_WIN_DEFAULT));
    OK(ncclCommWindowRegister(comm, p, bytes, &win[2], NCCL_WIN_DEFAULT));
    CHECK(win[1] == NULL);
    OK(ncclGroupEnd());
    CHECK(win[0] != NULL && win[1] != NULL && win[2] != NULL && win[0] != win[2]);
    OK(ncclWinGetUserPtr(comm, win[1], &user));
    CHECK(user == (char *)p + 512);
    OK(ncclCommWindowDeregister(comm, win[1]));
    CHECK_EQ(ncclCommWindowDeregister(comm, win[1]), ncclInvalidArgument);
    OK(ncclCommWindowDeregister(comm, win[0])); /* win[2] is left for the communicator's end */
    for (int i = 0; i < 100; i++) {
        OK(ncclCommWindowRegister(comm, p, bytes, &win[0], NCCL_WIN_DEFAULT));
        OK(ncclCommWindowDeregister(comm, win[0]));
    }
    OK(ncclMemFree(p));
}

static void test_split(ncclComm_t comm, const test_rank *r)
{
    ncclComm_t own_half = NULL, reversed = NULL, none = comm;
    const int color = r->rank % 2, n = (r->n + 1 - color) / 2;
    int sum = 0;
    OK(ncclCommSplit(comm, color, r->rank, &own_half, NULL));
    check_comm(own_half, n, r->rank / 2);
    for (int i = color; i < r->n; i += 2)
        sum += i;
    check_sum(own_half, r->rank, sum);
    OK(ncclCommSplit(comm, 3, -r->rank, &reversed, NULL));
    check_comm(reversed, r->n, r->n - 1 - r->rank);
    /* Of some ranks only; and of one of them again, on its own. */
    OK(ncclCommSplit(comm, r->rank == 0 ? NCCL_SPLIT_NOCOLOR : 5, 0, &none, NULL));
    CHECK((none == NULL) == (r->rank == 0));
    ncclComm_t quarter = NULL;
    OK(ncclCommSplit(own_half, r->rank, 0, &quarter, NULL));
    check_comm(quarter, 1, 0);
    check_sum(quarter, r->rank, r->rank);
    check_sum(comm, 1, r->n);
    OK(ncclCommDestroy(quarter));
    OK(ncclCommDestroy(none));
    OK(ncclCommDestroy(reversed));
    check_sum(own_half, r->rank, sum);
    OK(ncclCommDestroy(own_half));
    CHECK_EQ(ncclCommDestroy(own_half), ncclInvalidArgument);
    /* By a program for a later version, which leaves what is new alone. */
    struct {
        ncclConfig_t known = NCCL_CONFIG_INITIALIZER;
        const char *name = NULL;
        int hints[2] = {NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT};
    } later;
    later.known.size = sizeof later;
    later.known.version = 23203;
    later.known.blocking = 1;
    OK(ncclCommSplit(comm, 0, r->rank, &own_half, &later.known));
    check_comm(own_half, r->n, r->rank);
    OK(ncclCommDestroy(own_half));
}

/* Without the last rank, which makes no call. */
static void test_shrink(ncclComm_t comm, const test_rank *r)
{
    ncclComm_t fewer = NULL;
    int last = r->n - 1, none = r->n, own = r->rank;
    CHECK_EQ(ncclCommShrink(comm, &none, 1, &fewer, NULL, NCCL_SHRINK_DEFAULT),
             ncclInvalidArgument);
    CHECK_EQ(ncclCommShrink(comm, &own, 1, &fewer, NULL, NCCL_SHRINK_DEFAULT), ncclInvalidArgument);
    CHECK_EQ(ncclCommShrink(comm, &last, r->n, &fewer, NULL, NCCL_SHRINK_DEFAULT),
             ncclInvalidArgument);
    CHECK(fewer == NULL);
    if (r->rank == last || r->n < 2)
        return;
    OK(ncclCommShrink(comm, &last, 1, &fewer, NULL, NCCL_SHRINK_DEFAULT));
    check_comm(fewer, r->n - 1, r->rank);
    check_sum(fewer, 1, r->n - 1);
    OK(ncclCommDestroy(fewer));
}

/* Passes one rank's id to all. */
static ncclUniqueId share_id(ncclComm_t comm, const test_rank *r, int root)
{
    ncclUniqueId id = {}, *p = NULL;
    if (r->rank == root)
        OK(ncclGetUniqueId(&id));
    CUDA_OK(cudaMalloc((void **)&p, sizeof id));
    CUDA_OK(cudaMemcpy(p, &id, sizeof id, cudaMemcpyDefault));
    OK(ncclBroadcast(p, p, sizeof id, ncclChar, root, comm, 0));
    CUDA_OK(cudaMemcpy(&id, p, sizeof id, cudaMemcpyDefault));
    CUDA_OK(cudaFree(p));
    return id;
}

/* Of some ranks, by an id of their own; alongside it the existing ones, and one that does not
 * block; grown to all ranks again. */
static void test_more_ids(ncclComm_t comm, const test_rank *r)
{
    const ncclUniqueId some_id = share_id(comm, r, 1), later_id = share_id(comm, r, 0);
    ncclComm_t some = NULL, grown = NULL, later = NULL;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclResult_t result = ncclInProgress;
    config.blocking = 0;
    result = ncclCommInitRankConfig(&later, r->n, later_id, r->n - 1 - r->rank, &config);
    CHECK(result == ncclSuccess || result == ncclInProgress);
    CHECK(later != NULL);
    if (r->rank > 0) { /* not the first */
        OK(ncclCommInitRank(&some, r->n - 1, some_id, r->rank - 1));
        check_comm(some, r->n - 1, r->rank - 1);
        check_sum(some, 1, r->n - 1);
    }
    for (result = ncclInProgress; result == ncclInProgress;)
        OK(ncclCommGetAsyncError(later, &result));
    OK(result);
    check_comm(later, r->n, r->n - 1 - r->rank);
    check_sum(later, r->rank, r->n * (r->n - 1) / 2);
#if !defined(TEST_OTHER_NCCL)
    if (!r->is_launched) /* so a hundred ids fit, too */
        CHECK(later->job->fixed_part_bytes <= (size_t)3 << 20);
#endif
    const ncclUniqueId grow_id = share_id(comm, r, 1);
    const bool has_id = r->rank <= 1;
    OK(ncclCommGrow(some, r->n, has_id ? &grow_id : NULL, some == NULL ? r->n - 1 : -1, &grown,
                    NULL));
    check_comm(grown, r->n, some == NULL ? r->n - 1 : r->rank - 1);
    check_sum(grown, 1, r->n);
    OK(ncclCommDestroy(later));
    OK(ncclCommDestroy(grown));
    check_sum(comm, 1, r->n);
    if (some != NULL)
        OK(ncclCommDestroy(some));
}

#if !defined(TEST_OTHER_NCCL)
/* What the communicator's job has of memory in this process: its heap. */
static uint64_t heap_bytes(ncclComm_t comm)
{
    gshmemx_layer_scope scope;
    gshmemx_heap_info_t info = {};
    gshmemx_layer_enter(comm->job->pe, -1, &scope);
    CHECK_EQ(gshmemx_heap_info(&info), 0);
    gshmemx_layer_leave(&scope);
    return info.committed;
}
#endif

#if !defined(TEST_OTHER_NCCL)
/* What a communicator's ranks have made symmetric, those of another one with the same ranks in
 * another order give up, as they do if it outlives the first. */
static void test_ranks_in_another_order(ncclComm_t comm, const test_rank *r)
{
    const size_t bytes = 2 << 20;
    ncclComm_t other = NULL;
    gshmemx_layer_scope scope;
    void *memory = NULL, *symmetric = NULL;
    OK(ncclCommSplit(comm, 0, -r->rank, &other, NULL));
    gshmemx_layer_enter(comm->job->pe, comm->job->device, &scope);
    CHECK_EQ(gshmemx_layer_alloc("test", bytes, &memory), 0);
    CHECK_EQ(gshmemx_layer_register("test", comm->control_team, memory, bytes, &symmetric), 0);
    CHECK_EQ(gshmemx_layer_unregister("test", other->control_team, symmetric, bytes), 0);
    CHECK_EQ(gshmemx_layer_free("test", memory), 0);
    gshmemx_layer_leave(&scope);
    OK(ncclCommDestroy(other));
}
#endif

static void stream_together(const ncclComm_t (&comms)[3], const test_rank *r);
static void give_up_streaming(ncclComm_t comm, const test_rank *r);

/* Ranks 0 and 1 have many communicators of ids of their own. Their heaps take 6 MiB each, but for
 * the first. The last have memory for streaming as the first have, but share it. Three of them
 * stream at once. */
static void test_many_ids(ncclComm_t comm, const test_rank *r)
{
#if defined(__SANITIZE_THREAD__) /* leaves fewer addresses */
    const int n_ids = 12;
#else
    const int n_ids = 100;
#endif
    ncclComm_t comms[n_ids] = {};
    for (ncclComm_t &c : comms) {
        const ncclUniqueId id = share_id(comm, r, 0);
        if (r->rank > 1)
            continue;
        OK(ncclCommInitRank(&c, 2, id, r->rank));
#if !defined(TEST_OTHER_NCCL)
        CHECK(c->pieces.memory != NULL);
        CHECK(&c < comms + 2 || c->pieces.is_shared);
        CHECK(&c < comms + 2 || heap_bytes(c) <= (uint64_t)6 << 20);
        CHECK(&c >= comms + 2 || c->range.bytes == 16 << 20);
        CHECK(&c < comms + 2 || c->range.bytes <= 4 << 20);
#endif
    }
    if (r->rank > 1)
        return;
    for (ncclComm_t c : comms)
        check_sum(c, r->rank + 1, 3);
    stream_together({comms[1], comms[n_ids / 2], comms[n_ids - 1]}, r);
    give_up_streaming(comms[n_ids - 1], r);
    stream_together({comms[1], comms[n_ids / 2], comms[n_ids - 2]}, r);
    for (ncclComm_t &c : comms)
        if (&c != &comms[n_ids - 1])
            OK(ncclCommDestroy(c));
}

/* Ranks may differ in the order of calls of different communicators, and of sends among others. */
static void test_group_order(ncclComm_t comm, const test_rank *r)
{
    ncclComm_t other = NULL;
    ncclResult_t async = ncclInternalError;
    const int next = (r->rank + 1) % r->n, before = (r->rank + r->n - 1) % r->n;
    int *p = NULL, result[4] = {1, 10, r->rank, -1};
    cudaStream_t streams[2];
    for (cudaStream_t &s : streams)
        CUDA_OK(cudaStreamCreate(&s));
    OK(ncclCommSplit(comm, 0, r->rank, &other, NULL));
    CUDA_OK(cudaMalloc(&p, sizeof result));
    CUDA_OK(cudaMemcpy(p, result, sizeof result, cudaMemcpyDefault));
    OK(ncclGroupStart());
    for (int i = 0; i < 3; i++) {
        const int what = (i + r->rank) % 3;
        if (what == 0) {
            OK(ncclAllReduce(p, p, 1, ncclInt, ncclSum, comm, streams[0]));
        } else if (what == 1) {
            OK(ncclBroadcast(p + 1, p + 1, 1, ncclInt, 0, other, streams[1]));
            OK(ncclAllReduce(p + 1, p + 1, 1, ncclInt, ncclMax, other, streams[1]));
        } else {
            OK(ncclSend(p + 2, 1, ncclInt, next, comm, streams[0]));
            OK(ncclRecv(p + 3, 1, ncclInt, before, comm, streams[0]));
        }
    }
    OK(ncclGroupEnd());
    for (cudaStream_t &s : streams)
        CUDA_OK(cudaStreamSynchronize(s));
    CUDA_OK(cudaMemcpy(result, p, sizeof result, cudaMemcpyDefault));
    CHECK_EQ(result[0], r->n);
    CHECK_EQ(result[1], 10);
    CHECK_EQ(result[3], before);
    for (ncclComm_t c : {comm, other}) {
        OK(ncclCommGetAsyncError(c, &async));
        CHECK_EQ(async, ncclSuccess);
    }
    OK(ncclCommDestroy(other));
    for (cudaStream_t &s : streams)
        CUDA_OK(cudaStreamDestroy(s));
    CUDA_OK(cudaFree(p));
}

/* A group with a call that is refused fails, and nothing of it is carried out. */
static void test_refused(ncclComm_t comm, const test_rank *r)
{
    ncclComm_t part = NULL;
    ncclWindow_t win = NULL, other = NULL;
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    const int mine = r->rank + 5;
    void *memory = NULL, *user = NULL;
    int *p = NULL, result = 0;
    OK(ncclMemAlloc(&memory, 4096));
    OK(ncclCommWindowRegister(comm, memory, 4096, &win, NCCL_WIN_DEFAULT));
    CUDA_OK(cudaMalloc(&p, sizeof *p));
    CUDA_OK(cudaMemcpy(p, &mine, sizeof mine, cudaMemcpyDefault));
    for (int round = 0; round < 2; round++) {
        OK(ncclGroupStart());
        OK(ncclGroupStart());
        OK(ncclAllReduce(p, p, 1, ncclInt, ncclSum, comm, 0));
        OK(ncclSend(p, 1, ncclInt, r->rank, comm, 0));
        CHECK_EQ(ncclRecv(p, 1, ncclInt, r->n, comm, 0), ncclInvalidArgument);
        CHECK_EQ(ncclCommSplit(comm, -7, 0, &part, NULL), ncclInvalidArgument);
        OK(ncclGroupEnd());
        OK(ncclCommSplit(comm, 0, 0, &part, NULL));
        OK(ncclCommWindowRegister(comm, memory, 512, &other, NCCL_WIN_DEFAULT));
        OK(ncclCommWindowDeregister(comm, win));
        CHECK_EQ(ncclWinGetUserPtr(comm, win, &user), ncclInvalidArgument);
        CHECK_EQ(round == 0 ? ncclGroupEnd() : ncclGroupSimulateEnd(&info), ncclInvalidArgument);
        CHECK(strstr(ncclGetLastError(NULL), "ncclRecv") != NULL); /* the first one */
        CHECK(info.estimatedTime == NCCL_UNDEF_FLOAT);
        CUDA_OK(cudaStreamSynchronize(0));
        CUDA_OK(cudaMemcpy(&result, p, sizeof result, cudaMemcpyDefault));
        CHECK_EQ(result, mine);
        CHECK(part == NULL && other == NULL);
        OK(ncclWinGetUserPtr(comm, win, &user));
        CHECK(user == memory);
    }
    OK(ncclGroupStart());
    CHECK_EQ(ncclCommCount(comm, NULL), ncclInvalidArgument); /* not in the group */
    OK(ncclAllReduce(p, p, 1, ncclInt, ncclSum, comm, 0));
    OK(ncclGroupEnd());
    CUDA_OK(cudaMemcpy(&result, p, sizeof result, cudaMemcpyDefault));
    OK(ncclGroupStart());
    OK(ncclCommWindowDeregister(comm, win));
    OK(ncclGroupEnd());
    CHECK_EQ(ncclWinGetUserPtr(comm, win, &user), ncclInvalidArgument);
    CHECK_EQ(result, r->n * (r->n - 1) / 2 + 5 * r->n);
    CUDA_OK(cudaFree(p));
    OK(ncclMemFree(memory));
}

/* A few more than there is room for at once; they come and go. */
static void test_many(ncclComm_t comm, const test_rank *r)
{
    const int n_rounds = 6, n_comms = 12;
    for (int round = 0; round < n_rounds; round++) {
        ncclComm_t comms[n_comms] = {};
        for (int i = 0; i < n_comms; i++)
            OK(ncclCommSplit(comm, 0, (r->rank + i) % r->n, &comms[i], NULL));
        for (int i = 0; i < n_comms; i++) {
            check_comm(comms[i], r->n, (r->rank + i) % r->n);
            check_sum(comms[i], 1, r->n);
        }
        for (int i = 0; i < n_comms; i++)
            OK(ncclCommDestroy(comms[i]));
    }
}

/* Mappings of shared memory, on the CPU device. */
static int count_mappings(void)
{
    char line[512];
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        n += strstr(line, "/memfd:") != NULL;
    if (maps != NULL)
        fclose(maps);
    return n;
}

/* Several pieces of any communicator's scratch. */
static void check_alltoall(ncclComm_t comm, const test_rank *r)
{
    const int n = 100000, n_all = n * r->n;
    int *p = NULL;
    std::vector<int> host(n_all), expected(n_all);
    for (int i = 0; i < n_all; i++) {
        host[i] = r->rank * n_all + i;
        expected[i] = i / n * n_all + r->rank * n + i % n;
    }
    CUDA_OK(cudaMalloc((void **)&p, 2 * host.size() * sizeof *p));
    CUDA_OK(cudaMemcpy(p, host.data(), host.size() * sizeof *p, cudaMemcpyDefault));
    OK(ncclAlltoAll(p, p + n_all, n, ncclInt, comm, 0));
    CUDA_OK(cudaMemcpy(host.data(), p + n_all, host.size() * sizeof *p, cudaMemcpyDefault));
    CHECK(host == expected);
    CUDA_OK(cudaFree(p));
}

/* More at once than the first memory of all communicators suffices for. Each has as much room for
 * its collectives as a full speed takes, so a large one passes in as few pieces on the last as on
 * the first; together they take less than 1 GiB, and what they took is free afterwards. */
static void test_many_at_once(ncclComm_t comm, const test_rank *r)
{
    const int n_comms = 100;
    ncclComm_t comms[n_comms] = {};
    check_sum(comm, 1, r->n); /* no rank counts while others still map memory, or map it again */
    const int n_before = count_mappings();
    check_sum(comm, 1, r->n);
    uint64_t bytes = 0, all_bytes = 0;
    for (int i = 0; i < n_comms; i++) {
        OK(ncclCommSplit(comm, 0, 0, &comms[i], NULL));
        check_sum(comms[i], r->rank + i, r->n * (r->n - 1) / 2 + r->n * i);
        OK(ncclCommMemStats(comms[i], ncclStatGpuMemTotal, &bytes));
        all_bytes += bytes;
#if !defined(TEST_OTHER_NCCL)
        CHECK(comms[i]->inbox.bytes == 2 << 20 || !comms[i]->has_inbox);
        CHECK(comms[i]->scratch_bytes >= (size_t)2 << 20);
        const bool has_own = comms[i]->pieces.memory != NULL && !comms[i]->pieces.is_shared;
        CHECK(has_own ? bytes > comms[i]->range.bytes : bytes == comms[i]->range.bytes);
#endif
    }
    CHECK(bytes <= (uint64_t)4 << 20);
    CHECK(all_bytes <= (uint64_t)1 << 30);
    for (int i : {0, 47, n_comms - 1})
        check_alltoall(comms[i], r);
    for (int i = 0; i < n_comms; i++) {
        check_sum(comms[i], i, r->n * i);
        OK(ncclCommDestroy(comms[i]));
    }
    check_sum(comm, 1, r->n);
    CHECK_EQ(count_mappings(), n_before);
    check_sum(comm, 1, r->n);
}

struct lane {
    ncclComm_t comm;
    cudaStream_t stream;
    int *p;
};

/* All calls in which the communicator's ranks agree, again and again. */
static void agree_often(const lane &of, const test_rank *r)
{
    const size_t bytes = 4096;
    test_choose_gpu(r->rank);
    for (int round = 0; round < 6; round++) {
        ncclComm_t part = NULL;
        ncclWindow_t win = NULL;
        ncclDevComm dev = {};
        ncclDevCommRequirements q = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
        void *memory = NULL;
        int value = r->rank + round;
        OK(ncclCommSplit(of.comm, 0, r->n - r->rank, &part, NULL));
        check_comm(part, r->n, r->n - 1 - r->rank);
        OK(ncclMemAlloc(&memory, bytes));
        OK(ncclCommWindowRegister(part, memory, bytes, &win, NCCL_WIN_DEFAULT));
        q.lsaBarrierCount = 1 + round;
        OK(ncclDevCommCreate(part, &q, &dev));
#if !defined(__SANITIZE_THREAD__) /* a checking build's kernels read a list that is being renewed \
                                   */
        CUDA_OK(cudaMemcpyAsync(of.p, &value, sizeof value, cudaMemcpyDefault, of.stream));
        OK(ncclAllReduce(of.p, of.p, 1, ncclInt, ncclSum, part, of.stream));
        CUDA_OK(cudaStreamSynchronize(of.stream)); /* a copy to pageable memory would keep CUDA */
        CUDA_OK(cudaMemcpyAsync(&value, of.p, sizeof value, cudaMemcpyDefault, of.stream));
        CUDA_OK(cudaStreamSynchronize(of.stream));
        CHECK_EQ(value, r->n * (r->n - 1) / 2 + r->n * round);
#else
        (void)value;
#endif
        OK(ncclDevCommDestroy(part, &dev));
        OK(ncclCommWindowDeregister(part, win));
        OK(ncclMemFree(memory));
        OK(ncclCommDestroy(part));
    }
}

/* Two threads of each rank with a communicator each, so that ranks come in any order. The streams
 * are the rank's own, whose device other threads do not know on the CPU device. */
static void test_two_threads(ncclComm_t comm, const test_rank *r)
{
    lane lanes[2] = {{comm, NULL, NULL}, {NULL, NULL, NULL}};
    OK(ncclCommSplit(comm, 0, r->rank, &lanes[1].comm, NULL));
    for (lane &l : lanes) {
        CUDA_OK(cudaStreamCreate(&l.stream));
        CUDA_OK(cudaMalloc((void **)&l.p, sizeof *l.p));
    }
    std::thread thread([&] { agree_often(lanes[1], r); });
    agree_often(lanes[0], r);
    thread.join();
    for (lane &l : lanes) {
        CUDA_OK(cudaFree(l.p));
        CUDA_OK(cudaStreamDestroy(l.stream));
    }
    OK(ncclCommDestroy(lanes[1].comm));
}

/* Two communicators whose ranks make their next calls in different orders, each on a stream that
 * the communicator has not used: nothing may wait for the other communicator's work, neither a call
 * nor the end of a communicator. is_legacy: their calls before were on the legacy stream, else on
 * one that has been destroyed. */
static void test_orders(ncclComm_t comm, const test_rank *r, bool is_legacy)
{
    ncclComm_t comms[2] = {};
    cudaStream_t streams[2] = {}, before = NULL;
    int *p = NULL, result[2] = {1, 1};
    for (ncclComm_t &c : comms)
        OK(ncclCommSplit(comm, 0, r->rank, &c, NULL));
    for (cudaStream_t &s : streams)
        CUDA_OK(cudaStreamCreate(&s));
    CUDA_OK(cudaMalloc((void **)&p, sizeof result));
    CUDA_OK(cudaMemcpy(p, result, sizeof result, cudaMemcpyDefault));
    if (!is_legacy)
        CUDA_OK(cudaStreamCreate(&before));
    for (int i = 0; i < 2; i++)
        OK(ncclAllReduce(p + i, p + i, 1, ncclInt, ncclSum, comms[i], before));
    CUDA_OK(cudaStreamSynchronize(before));
    if (!is_legacy)
        CUDA_OK(cudaStreamDestroy(before));
    for (int i = 0; i < 2; i++) {
        const int of = r->rank == 0 ? 1 - i : i;
        OK(ncclAllReduce(p + of, p + of, 1, ncclInt, ncclSum, comms[of], streams[of]));
    }
    CUDA_OK(cudaStreamSynchronize(streams[0]));
    if (r->rank != 0)
        OK(ncclCommDestroy(comms[0]));
    OK(ncclAllReduce(p + 1, p + 1, 1, ncclInt, ncclSum, comms[1], streams[1]));
    if (r->rank == 0)
        OK(ncclCommDestroy(comms[0]));
    CUDA_OK(cudaStreamSynchronize(streams[1]));
    CUDA_OK(cudaMemcpy(result, p, sizeof result, cudaMemcpyDefault));
    CHECK_EQ(result[0], r->n * r->n);
    CHECK_EQ(result[1], r->n * r->n * r->n);
    OK(ncclCommDestroy(comms[1]));
    for (cudaStream_t &s : streams)
        CUDA_OK(cudaStreamDestroy(s));
    CUDA_OK(cudaFree(p));
}

constexpr size_t streamed = 50000; /* floats: more than the CPU device sends in lines */
constexpr int n_streamings = 16, n_lanes = 3;

static float streamed_value(int lane, int rank, int round, size_t i)
{
    return (float)(rank * 5000 + round * 100 + (int)(i % 97) + lane);
}

/* Sums, and values of one rank, by turns: what a rank gets does not depend on which way they go.
 * Copies come before and after: they may wait for the others' kernels. */
static void stream_often(const lane &of, const test_rank *r, int number)
{
    const size_t n = streamed;
    float *p = (float *)of.p, *got = p + n_streamings * n;
    test_choose_gpu(r->rank);
    for (int round = 0; round < n_streamings; round++, p += n, got += n) {
        const int kind = (round + number) % 3;
        if (kind == 0)
            OK(ncclAllReduce(p, got, n, ncclFloat, ncclSum, of.comm, of.stream));
        else if (kind == 1)
            OK(ncclBroadcast(p, got, n, ncclFloat, round % 2, of.comm, of.stream));
        else
            OK(ncclReduce(p, got, n, ncclFloat, ncclSum, round % 2, of.comm, of.stream));
        CUDA_OK(cudaStreamSynchronize(of.stream));
    }
}

static std::vector<float> values_to_stream(int number, int rank)
{
    std::vector<float> values;
    for (int round = 0; round < n_streamings; round++)
        for (size_t i = 0; i < streamed; i++)
            values.push_back(streamed_value(number, rank, round, i));
    return values;
}

static void check_streamed(const std::vector<float> &got, int number, int rank)
{
    size_t n_wrong = 0;
    for (int round = 0; round < n_streamings; round++) {
        const int kind = (round + number) % 3, root = round % 2;
        for (size_t i = 0; (kind != 2 || rank == root) && i < streamed; i++) {
            const float sum =
                streamed_value(number, 0, round, i) + streamed_value(number, 1, round, i);
            n_wrong += got[(size_t)round * streamed + i] !=
                       (kind == 1 ? streamed_value(number, root, round, i) : sum);
        }
    }
    CHECK_EQ(n_wrong, 0);
}

/* Three threads of each of two ranks, each through a communicator of its own. */
static void stream_together(const ncclComm_t (&comms)[n_lanes], const test_rank *r)
{
    const size_t bytes = n_streamings * streamed * sizeof(float);
    lane lanes[n_lanes] = {};
    for (int k = 0; k < n_lanes; k++) {
        const std::vector<float> values = values_to_stream(k, r->rank);
        lanes[k].comm = comms[k];
        CUDA_OK(cudaStreamCreate(&lanes[k].stream));
        CUDA_OK(cudaMalloc((void **)&lanes[k].p, 2 * bytes));
        CUDA_OK(cudaMemcpy(lanes[k].p, values.data(), bytes, cudaMemcpyDefault));
    }
    std::thread first([&] { stream_often(lanes[1], r, 1); });
    std::thread second([&] { stream_often(lanes[2], r, 2); });
    stream_often(lanes[0], r, 0);
    first.join();
    second.join();
    for (int k = 0; k < n_lanes; k++) {
        std::vector<float> got(n_streamings * streamed);
        CUDA_OK(cudaMemcpy(got.data(), (char *)lanes[k].p + bytes, bytes, cudaMemcpyDefault));
        check_streamed(got, k, r->rank);
        CUDA_OK(cudaFree(lanes[k].p));
        CUDA_OK(cudaStreamDestroy(lanes[k].stream));
    }
}

/* Rank 0 begins to stream, the other does not, and both abort. */
static void give_up_streaming(ncclComm_t comm, const test_rank *r)
{
    float *p = NULL;
    cudaStream_t stream;
    CUDA_OK(cudaStreamCreate(&stream));
    CUDA_OK(cudaMalloc((void **)&p, streamed * sizeof *p));
    if (r->rank == 0)
        OK(ncclAllReduce(p, p, streamed, ncclFloat, ncclSum, comm, stream));
    OK(ncclCommAbort(comm));
    CUDA_OK(cudaStreamSynchronize(stream));
    CUDA_OK(cudaFree(p));
    CUDA_OK(cudaStreamDestroy(stream));
}

/* Three communicators of two ranks stream at once. The pair has memory for two communicators; later
 * ones share some, so that two of the three want the same, and not always in the same order. */
static void test_streaming(ncclComm_t comm, const test_rank *r)
{
    lane lanes[3] = {};
    for (lane &l : lanes) /* comm has the first memory of its own, and the first lane the second */
        OK(ncclCommSplit(comm, 0, r->rank, &l.comm, NULL));
#if !defined(TEST_OTHER_NCCL)
    CHECK(!lanes[0].comm->pieces.is_shared);
    CHECK(lanes[1].comm->pieces.memory == lanes[2].comm->pieces.memory);
    CHECK(lanes[1].comm->pieces.is_shared || lanes[1].comm->pieces.memory == NULL);
#endif
    stream_together({lanes[0].comm, lanes[1].comm, lanes[2].comm}, r);
    for (lane &l : lanes)
        OK(ncclCommDestroy(l.comm));
}

static int run_rank(const test_rank *r)
{
    ncclComm_t comm = NULL, second = NULL;
    int version = 0;
    OK(ncclGetVersion(&version));
    CHECK(version >= NCCL_VERSION_CODE);
    CHECK_EQ(NCCL_VERSION(2, 28, 9), 22809);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 1;
    OK(ncclGroupStart());
    OK(ncclGroupStart());
    OK(ncclCommInitRankConfig(&comm, r->n, r->id, r->rank, &config));
    OK(ncclGroupEnd());
    CHECK(comm == NULL);
    OK(ncclGroupEnd());
    check_comm(comm, r->n, r->rank);
    check_sum(comm, r->rank, r->n * (r->n - 1) / 2);
    test_errors(comm, r);
    test_memory(comm);
    test_destroyed_stream(comm);
    test_split(comm, r);
    test_shrink(comm, r);
    test_group_order(comm, r);
    test_refused(comm, r);
    test_many(comm, r);
    test_many_at_once(comm, r);
    test_two_threads(comm, r);
    for (bool is_legacy : {false, true})
        test_orders(comm, r, is_legacy);
#if !defined(TEST_OTHER_NCCL)
    test_ranks_in_another_order(comm, r);
#endif
    if (r->n == 2)
        test_streaming(comm, r);
    if (r->n > 2)
        test_more_ids(comm, r);
    if (!r->is_launched)
        test_many_ids(comm, r);
    /* A second one over the same ranks, numbered differently; it outlives the first. */
    const int rank = (r->rank + 1) % r->n;
    OK(ncclCommInitRank(&second, r->n, r->id, rank));
    OK(ncclCommFinalize(comm));
    test_finalized(comm);
    OK(ncclCommDestroy(comm));
    check_comm(second, r->n, rank);
    check_sum(second, rank, r->n * (r->n - 1) / 2);
    /* Streams, events and memory outlive the last communicator. */
    cudaStream_t stream;
    cudaEvent_t event;
    int *p = NULL, mine = 1;
    CUDA_OK(cudaStreamCreate(&stream));
    CUDA_OK(cudaEventCreate(&event));
    CUDA_OK(cudaMalloc((void **)&p, sizeof *p));
    CUDA_OK(cudaMemcpy(p, &mine, sizeof mine, cudaMemcpyDefault));
    OK(ncclAllReduce(p, p, 1, ncclInt, ncclSum, second, stream));
    CUDA_OK(cudaEventRecord(event, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    OK(ncclCommDestroy(second));
    CUDA_OK(cudaEventSynchronize(event));
    CUDA_OK(cudaMemcpyAsync(&mine, p, sizeof mine, cudaMemcpyDefault, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    CHECK_EQ(mine, r->n);
    CUDA_OK(cudaFree(p));
    CUDA_OK(cudaEventDestroy(event));
    CUDA_OK(cudaStreamDestroy(stream));
    CHECK_EQ(ncclCommCount(second, &version), ncclInvalidArgument);
    return 0;
}

int main(int argc, char **argv)
{
    return test_ranks(argc, argv, run_rank);
}
