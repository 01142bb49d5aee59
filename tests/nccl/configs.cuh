/* SPDX-License-Identifier: Apache-2.0
 * Configs: of single collectives, whose event follows what was on the stream before and whose bad
 * values are refused by name; later fields of a communicator's; what no device here has. */
#ifndef GSH_TEST_NCCL_CONFIGS_CUH
#define GSH_TEST_NCCL_CONFIGS_CUH

#include <atomic>
#include <nccl_device.h>
#include "tests/nccl/ranks.cuh"

static inline void test_says(const char *text)
{
    CHECK(strstr(ncclGetLastError(NULL), text) != NULL);
}

static void test_hold(void *arg)
{
    while (!static_cast<std::atomic<bool> *>(arg)->load())
        usleep(100);
}

static inline uint64_t test_load(const uint64_t *p)
{
    uint64_t value = 0;
    CUDA_OK(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDefault));
    return value;
}

/* Each of the eight, with so many blocks and an event. */
static void test_eight(ncclComm_t comm, const test_rank *r, const ncclCollConfig_t *c)
{
    const uint64_t me = (uint64_t)r->rank, n = (uint64_t)r->n, sum = n * (n - 1) / 2;
    std::vector<uint64_t> numbers(n);
    uint64_t *in = NULL, *out = NULL;
    for (uint64_t i = 0; i < n; i++)
        numbers[i] = 100 * me + i;
    CUDA_OK(cudaMalloc((void **)&in, n * sizeof(uint64_t)));
    CUDA_OK(cudaMalloc((void **)&out, n * sizeof(uint64_t)));
    CUDA_OK(cudaMemcpy(in, numbers.data(), n * sizeof(uint64_t), cudaMemcpyDefault));
    OK(ncclAllReduceConfig(in, out, n, ncclUint64, ncclSum, comm, 0, c));
    CHECK_EQ(test_load(out + n - 1), 100 * sum + n * (n - 1));
    OK(ncclReduceConfig(in, out, n, ncclUint64, ncclMax, 0, comm, 0, c));
    CHECK(r->rank > 0 || test_load(out) == 100 * (n - 1));
    OK(ncclReduceScatterConfig(in, out, 1, ncclUint64, ncclSum, comm, 0, c));
    CHECK_EQ(test_load(out), 100 * sum + n * me);
    OK(ncclAllGatherConfig(in, out, 1, ncclUint64, comm, 0, c));
    CHECK_EQ(test_load(out + n - 1), 100 * (n - 1));
    OK(ncclBroadcastConfig(in, out, n, ncclUint64, r->n - 1, comm, 0, c));
    CHECK_EQ(test_load(out + n - 1), 101 * (n - 1));
    OK(ncclAlltoAllConfig(in, out, 1, ncclUint64, comm, 0, c));
    CHECK_EQ(test_load(out + n - 1), 100 * (n - 1) + me);
    OK(ncclGatherConfig(in, out, 1, ncclUint64, 0, comm, 0, c));
    CHECK(r->rank > 0 || test_load(out + n - 1) == 100 * (n - 1));
    OK(ncclScatterConfig(in, out, 1, ncclUint64, 0, comm, 0, c));
    CHECK_EQ(test_load(out), me);
    CUDA_OK(cudaFree(in));
    CUDA_OK(cudaFree(out));
}

static void test_event(ncclComm_t comm)
{
    ncclCollConfig_t c = NCCL_COLLCONFIG_INITIALIZER;
    std::atomic<bool> is_free{false};
    uint64_t *word = NULL;
    CUDA_OK(cudaMalloc((void **)&word, sizeof(uint64_t)));
    CUDA_OK(cudaEventCreateWithFlags(&c.launchCompletionEvent, cudaEventDisableTiming));
    CUDA_OK(cudaEventQuery(c.launchCompletionEvent)); /* nothing has been recorded */
    CUDA_OK(cudaLaunchHostFunc(0, test_hold, &is_free));
    OK(ncclAllReduceConfig(word, word, 1, ncclUint64, ncclSum, comm, 0, &c));
    const cudaError_t before = cudaEventQuery(c.launchCompletionEvent);
    is_free = true;
    CHECK_EQ(before, cudaErrorNotReady);
    CUDA_OK(cudaStreamSynchronize(0));
    CUDA_OK(cudaEventQuery(c.launchCompletionEvent));
    CUDA_OK(cudaEventDestroy(c.launchCompletionEvent));
    CUDA_OK(cudaFree(word));
}

static void test_refused(ncclComm_t comm, const ncclCollConfig_t &c, const char *field)
{
    uint64_t word = 0;
    CHECK_EQ(ncclAllGatherConfig(&word, &word, 0, ncclUint64, comm, 0, &c), ncclInvalidArgument);
    test_says(field);
    CHECK_EQ(ncclScatterConfig(&word, &word, 0, ncclUint64, 0, comm, 0, &c), ncclInvalidArgument);
    test_says("ncclScatterConfig");
}

/* Calls of no elements: what they say of the config is all that they do. */
static ncclResult_t with_selection(ncclComm_t comm, bool is_scatter, const char *names)
{
    ncclCollConfig_t c = NCCL_COLLCONFIG_INITIALIZER;
    c.algSelection = names;
    return is_scatter ? ncclScatterConfig(NULL, NULL, 0, ncclUint64, 0, comm, 0, &c)
                      : ncclAllGatherConfig(NULL, NULL, 0, ncclUint64, comm, 0, &c);
}

static void test_selections(ncclComm_t comm)
{
    static const char *const good[] = {"",      " , ",       "ring",  " Ring ,PAT",
                                       "^ring", "tree,nvls", "^tree,"};
    static const struct {
        const char *names, *says;
    } bad[] = {
        {"rin", "algorithm rin"},          {"ring;tree", "algorithm ring;tree"},
        {"ring,bogus", "algorithm bogus"}, {"^", "leaves nothing"},
        {"tree", "leaves nothing"},        {"^ring,pat,nvls,collnetdirect", "leaves nothing"},
    };
    for (const char *names : good)
        OK(with_selection(comm, false, names));
    for (const auto &b : bad) {
        CHECK_EQ(with_selection(comm, false, b.names), ncclInvalidArgument);
        test_says(b.says);
    }
    OK(with_selection(comm, true, " ")); /* NCCL has nothing to choose there */
    CHECK_EQ(with_selection(comm, true, "ring"), ncclInvalidArgument);
}

static void test_coll_values(ncclComm_t comm)
{
    using member_type = int ncclCollConfig_t::*; /* nvcc's own text of it would warn */
    static const struct {
        const char *field;
        member_type member;
        int bad, good;
    } values[] = {
        {"minCTAs", &ncclCollConfig_t::minCTAs, 0, 3},
        {"maxCTAs", &ncclCollConfig_t::maxCTAs, -1, 1},
        {"nvlsCTAs", &ncclCollConfig_t::nvlsCTAs, 0, 1},
        {"cgaClusterSize", &ncclCollConfig_t::cgaClusterSize, 9, 0},
        {"forceAlgSelection", &ncclCollConfig_t::forceAlgSelection, 2, 0},
        {"CTAPolicy", &ncclCollConfig_t::CTAPolicy, 4, NCCL_CTA_POLICY_ZERO},
    };
    const ncclCollConfig_t none = NCCL_COLLCONFIG_INITIALIZER;
    uint64_t word = 0;
    struct {
        ncclCollConfig_t c;
        int more[4];
    } later = {none, {0, NCCL_CONFIG_UNDEF_INT, 0, 0}};
    ncclCollConfig_t c = none;
    for (const auto &v : values) {
        c.*v.member = v.bad;
        test_refused(comm, c, v.field);
        c = none;
        c.*v.member = v.good;
        OK(ncclAllGatherConfig(&word, &word, 0, ncclUint64, comm, 0, &c));
    }
    c = none;
    c.minCTAs = 5;
    c.maxCTAs = 4;
    test_refused(comm, c, "maxCTAs 4");
    c = none;
    c.magic = 1;
    test_refused(comm, c, "NCCL_COLLCONFIG_INITIALIZER");
    c = none;
    c.size = 56; /* 2.31's has 64 */
    test_refused(comm, c, "NCCL_COLLCONFIG_INITIALIZER");
    later.c.size = sizeof(later);
    OK(ncclAllGatherConfig(&word, &word, 0, ncclUint64, comm, 0, &later.c));
    later.more[3] = 1;
    test_refused(comm, later.c, "newer than this library");
    OK(ncclGroupStart());
    test_refused(comm, later.c, "newer than this library");
    CHECK_EQ(ncclGroupEnd(), ncclInvalidArgument);
}

/* Of configs for communicators. */
static void test_comm_values(ncclComm_t comm)
{
    using member_type = int ncclConfig_t::*;
    static const struct {
        const char *field;
        member_type member;
        int bad, good;
        ncclResult_t result;
    } values[] = {
        {"launchOrderImplicit", &ncclConfig_t::launchOrderImplicit, 2, 1, ncclInvalidArgument},
        {"numRmaSig", &ncclConfig_t::numRmaSig, 0, 8, ncclInvalidArgument},
        {"rmaEagerInit", &ncclConfig_t::rmaEagerInit, -1, 1, ncclInvalidArgument},
        {"hostCftMode", &ncclConfig_t::hostCftMode, 4, ncclHostCftFallback, ncclInvalidArgument},
        {"hostCftMode", &ncclConfig_t::hostCftMode, ncclHostCftEnable, ncclHostCftDisable,
         ncclInvalidUsage},
        {"nvlsHostMode", &ncclConfig_t::nvlsHostMode, 4, ncclNvlsHostModeDisable,
         ncclInvalidArgument},
    };
    ncclConfig_t all = NCCL_CONFIG_INITIALIZER, old = NCCL_CONFIG_INITIALIZER;
    ncclComm_t part = NULL;
    for (const auto &v : values) {
        ncclConfig_t c = NCCL_CONFIG_INITIALIZER;
        c.*v.member = v.bad;
        CHECK_EQ(ncclCommSplit(comm, NCCL_SPLIT_NOCOLOR, 0, &part, &c), v.result);
        test_says(v.field);
        all.*v.member = v.good;
    }
    OK(ncclCommSplit(comm, NCCL_SPLIT_NOCOLOR, 0, &part, &all));
    for (size_t size : {80, 88, 96, 112}) { /* 2.28.9, 2.29, 2.30, 2.31 */
        old.size = size;
        old.nvlsHostMode = 4; /* not there */
        OK(ncclCommSplit(comm, NCCL_SPLIT_NOCOLOR, 0, &part, &old));
    }
}

static void test_nowhere(ncclComm_t comm, ncclWindow_t win, void *memory)
{
    ncclEncryptionConfig_t e = NCCL_ENCRYPTION_CONFIG_INITIALIZER;
    ncclDevResourceRequirements list = {};
    ncclCftBarrierHandle_t handle = {};
    ncclCftLeId id = 0;
    size_t offset = 0;
    ncclWindow_t none = NULL;
    OK(ncclSetEncryption(&e));
    e.mode = NCCL_ENCRYPTION_MODE_PSK;
    e.psk = "secret";
    CHECK_EQ(ncclSetEncryption(&e), ncclInvalidUsage);
    test_says("nothing is encrypted");
    e.mode = 2;
    CHECK_EQ(ncclSetEncryption(&e), ncclInvalidArgument);
    CHECK_EQ(ncclSetEncryption(NULL), ncclInvalidArgument);
    CHECK_EQ(ncclTeamCft(comm).nRanks, 0);
    CHECK_EQ(ncclTeamCftMultimem(comm).nRanks, 0);
    CHECK_EQ(ncclGetPeerDeviceLeInfo(win, 0, 0, &id, &offset), ncclInvalidUsage);
    CHECK_EQ(ncclGetMultimemDeviceLeInfo(win, 0, &id, &offset), ncclInvalidUsage);
    CHECK_EQ(ncclGetCftDeviceLeInfo(win, 0, 0, ncclTeamCft(comm), &id, &offset), ncclInvalidUsage);
    CHECK_EQ(ncclCftBarrierCreateRequirement(ncclTeamCft(comm), 1, &handle, &list),
             ncclInvalidUsage);
    test_says("no device here has logical endpoints");
    CHECK_EQ(ncclCommWindowRegister(comm, memory, 16, &none, NCCL_WIN_CFT_COUNTED),
             ncclInvalidUsage);
    CHECK(none == NULL);
}

/* win: on this memory. */
static inline void test_configs(ncclComm_t comm, const test_rank *r, ncclWindow_t win, void *memory)
{
    ncclCollConfig_t c = NCCL_COLLCONFIG_INITIALIZER;
    test_eight(comm, r, NULL);
    test_eight(comm, r, &c);
    c.minCTAs = 2;
    c.maxCTAs = 3;
    c.algSelection = "ring, no such thing"; /* may be ignored */
    c.forceAlgSelection = 0;
    CUDA_OK(cudaEventCreateWithFlags(&c.launchCompletionEvent, cudaEventDisableTiming));
    test_eight(comm, r, &c);
    CUDA_OK(cudaEventDestroy(c.launchCompletionEvent));
    test_event(comm);
    test_coll_values(comm);
    test_selections(comm);
    test_comm_values(comm);
    test_nowhere(comm, win, memory);
}

#endif
