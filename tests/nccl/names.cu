/* SPDX-License-Identifier: Apache-2.0
 * Proves that what device.cu leaves out of the device API does what it says: groups and their
 * broadcasts, spans of warps, GIN's less used calls and its functions, combined and free barriers,
 * windows found by address, every form of reduction and copy, symmetric pointers that the host
 * made; configs of calls and communicators; and that a call for multicast memory ends the job
 * (NAMES multimem). Builds for each version that a program may say it is for. */
#include <cooperative_groups.h>
#include "tests/nccl/configs.cuh"
#include "tests/nccl/names_gin.cuh"
#include "tests/nccl/names_reduce.cuh"
#include "tests/nccl/names_setup.cuh"

/* ---- what compiles --------------------------------------------------------------------------- */

static_assert(ncclCoopWithinWarp(ncclCoopTile<8>()) && !ncclCoopWithinWarp(ncclCoopCta()), "");
static_assert(ncclCoopIsThread(ncclCoopThread()) && !ncclCoopIsThread(ncclCoopWarp()), "");
static_assert(ncclCoopTile<8>().size() == 8 && ncclCoopWarp().num_threads() == 32, "");
/* What nccl.h brings along; and a stream's flag that is also a stream. */
__device__ void uses(bool is_there)
{
    assert(is_there);
}
static_assert(sizeof(__nv_bfloat16) == 2 && sizeof(__nv_fp8_e4m3) == 1, "");
static const cudaStream_t default_stream = cudaStreamDefault;
constexpr ncclGinFenceLevel both = ncclGinFenceLevel::Put | ncclGinFenceLevel::Get;
static_assert((both & ncclGinFenceLevel::Get) == ncclGinFenceLevel::Get && (uint32_t)both == 3, "");
static_assert(sizeof(ncclSymPtr<char>::ElementType) == 1, "");

/* Actions are separate types. */
__device__ int of(ncclGin_SignalInc)
{
    return 0;
}
__device__ int of(ncclGin_StrongSignalInc)
{
    return 1;
}
__device__ int of(ncclGin_WeakSignalInc)
{
    return 2;
}
__device__ int of(ncclGin_WeakVASignalAdd)
{
    return 3;
}

template <unsigned mask> __device__ unsigned mask_of(const ncclGin_BackendMask<mask> &)
{
    return mask;
}

/* ---- groups ---------------------------------------------------------------------------------- */

struct wide {
    uint32_t words[4];
};
__device__ bool is_right(wide w, uint32_t x)
{
    return w.words[0] == x && w.words[1] == x + 1 && w.words[2] == x + 2 && w.words[3] == x + 3;
}

template <class Coop> __device__ void bcasts(Coop coop, faults *f)
{
    for (int root = 0; root < coop.size(); root += 3) {
        const uint32_t x = 100 * threadIdx.x;
        const uint32_t from = 100 * (threadIdx.x - (uint32_t)coop.thread_rank() + (uint32_t)root);
        EXPECT(is_right(ncclCoopBcast(coop, wide{{x, x + 1, x + 2, x + 3}}, root), from));
        EXPECT(ncclCoopBcast(coop, (uint8_t)root, root) == (uint8_t)root);
    }
}

/* Each thread of a group tells the next one; no thread outside takes part. */
template <class Coop> __device__ void pass_on(Coop coop, int turns, faults *f)
{
    __shared__ uint32_t cells[n_threads];
    const int first = (int)threadIdx.x - coop.thread_rank();
    const int next = first + (coop.thread_rank() + 1) % coop.size();
    const int last = first + (coop.thread_rank() + coop.size() - 1) % coop.size();
    for (int i = 0; i < turns; i++) {
        cells[next] = 1000 * (uint32_t)i + threadIdx.x;
        coop.sync();
        EXPECT(cells[threadIdx.x] == 1000 * (uint32_t)i + (uint32_t)last);
        coop.sync();
    }
}

__global__ void groups_kernel(setup s, faults *f)
{
    (void)s;
    const int warp = (int)threadIdx.x / 32;
    bcasts(ncclCoopThread(), f);
    bcasts(ncclCoopTile<8>(), f);
    bcasts(ncclCoopWarp(), f);
    bcasts(ncclCoopCta(), f);
    bcasts(ncclCoopLanes(0xffu << (threadIdx.x % 32 / 8 * 8)), f);
    /* two spans of one warp and of three, which do not wait for each other */
    const ncclCoopWarpSpan span(warp == 0 ? 0 : 1, warp == 0 ? 1 : 3, warp == 0 ? 3 : 7);
    EXPECT(span.size() == (warp == 0 ? 32 : 96));
    EXPECT(span.thread_rank() == (int)threadIdx.x - (warp == 0 ? 0 : 32));
    pass_on(span, warp == 0 ? 40 : 3, f);
    bcasts(span, f);
    __syncthreads();
    pass_on(ncclCoopAny(span), 3, f);
    __syncthreads();
    pass_on(ncclCoopAny(ncclCoopCta()), 3, f);
    __syncthreads();
    pass_on(ncclCoopAny(ncclCoopWarp()), 3, f);
    pass_on(ncclCoopAny(ncclCoopTile<4>()), 3, f);
    pass_on(ncclCoopAny(ncclCoopLanes(0xffffu << (threadIdx.x % 32 / 16 * 16))), 3, f);
    pass_on(ncclCoopAny(ncclCoopThread()), 3, f);
    EXPECT(ncclCoopGetLaneMask(ncclCoopWarp()) == ~0u && ncclCoopGetLaneMask(span) == ~0u);
    EXPECT(ncclCoopGetLaneMask(ncclCoopLanes(5)) == 5 && ncclCoopLanes(5).lmask == 5);
    EXPECT(ncclCoopGetLaneMask(ncclCoopTile<4>()) == 15u << (threadIdx.x % 32 / 4 * 4));
    const ncclCoopTile<8> same = ncclCoopCoalesced(ncclCoopTile<8>());
    const ncclCoopWarp own = ncclCoopCoalesced(ncclCoopCta());
    EXPECT(same.size() == 8 && own.size() == 32);
}

/* ---- GIN ------------------------------------------------------------------------------------- */

struct three {
    char c[3];
};

__global__ void gin_kernel(setup s, faults *f)
{
    const ncclCoopCta cta;
    const ncclTeam world = ncclTeamWorld(s.dev);
    const int next = (world.rank + 1) % world.nRanks;
    const int last = (world.rank + world.nRanks - 1) % world.nRanks;
    const layout *own = (const layout *)ncclGetLocalPointer(s.win, 0);
    ncclGin gin(s.dev, 1);
    EXPECT(of(ncclGin_SignalInc{0}) == 0 && of(ncclGin_StrongSignalInc{0}) == 1);
    EXPECT(of(ncclGin_WeakSignalInc{0}) == 2 && of(ncclGin_WeakVASignalAdd{s.win, 0, 1}) == 3);
    EXPECT(mask_of(gin) == NCCL_GIN_BACKEND_MASK_ALL);
    EXPECT(mask_of(ncclGin_BackendOne<NCCL_NET_DEVICE_GIN_PROXY>(s.dev, 0)) == 4);
    ncclGinBarrierSession<ncclCoopCta> bar(cta, gin, ncclTeamTagWorld(), 0);
    bar.sync(cta, cuda::memory_order_acq_rel, both);
    /* a put with a signal in a window, with a separate wait for its flush */
    if (threadIdx.x == 0) {
        layout *w = (layout *)ncclGetLocalPointer(s.win, 0);
        w->value = 100 + (uint64_t)world.rank;
        ncclGinRequest_t request;
        gin.put(world, next, s.win, OFF(got), s.win, OFF(value), 8,
                ncclGin_VASignalAdd{s.win, OFF(signal), 7}, ncclGin_WeakCounterInc{0});
        gin.flushAsync(world, next, &request);
        gin.wait(request);
    }
    gin.waitSignal(cta, s.win, OFF(signal), 7);
    EXPECT(own->got == 100 + (uint64_t)last && gin.readSignal(s.win, OFF(signal)) == 7);
    gin.waitCounter(cta, 0, 1);
    EXPECT(gin.readCounter(0) == 1);
    bar.sync(cta, cuda::memory_order_acq_rel, both);
    if (threadIdx.x == 0) {
        gin.resetCounter(0);
        gin.resetSignal(s.win, OFF(signal));
        EXPECT(gin.readCounter(0) == 0);
    }
    bar.sync(cta, cuda::memory_order_acq_rel, both);
    /* values of any size; a shadow of 32 bits */
    if (threadIdx.x == 0) {
        gin.putValue(world, next, s.win, OFF(three), three{{'a', 'b', (char)('c' + world.rank)}});
        gin.putValue(world, next, ncclSymPtr<uint32_t>(s.win, OFF(small)), 5u + world.rank,
                     ncclGin_StrongSignalInc{1}, ncclCoopThread{}, ncclGin_None{},
                     cuda::thread_scope_thread, cuda::thread_scope_device, 0);
    }
    uint32_t before = 9, delta = 9;
    gin.waitSignalFollowShadow(cta, 1, 1u, &before, &delta, 32);
    EXPECT(before == 0 && delta == 1);
    EXPECT(own->small == 5u + last && own->three[2] == (char)('c' + last) && own->three[0] == 'a');
    bar.sync(cta, cuda::memory_order_acq_rel, both);
    /* all actions of one kind */
    if (threadIdx.x == 0) {
        gin.signal(world, next, ncclGin_WeakVASignalInc{s.win, OFF(signal)});
        gin.signal(world, next, ncclGin_StrongVASignalAdd{s.win, OFF(signal), 4});
        gin.signal(world, next, ncclGin_VASignalInc{s.win, OFF(signal)});
        gin.signal(world, next, ncclGin_StrongVASignalInc{s.win, OFF(signal)});
        gin.signal(world, next, ncclGin_WeakVASignalAdd{s.win, OFF(signal), 2});
    }
    gin.waitSignal(cta, s.win, OFF(signal), 9);
    bar.sync(cta, cuda::memory_order_acq_rel, both);
    if (threadIdx.x == 0) {
        gin.resetSignal(s.win, OFF(signal));
        gin.resetSignal(1);
    }
    bar.sync(cta, cuda::memory_order_acq_rel, both);
}

/* The same through functions. */
__global__ void gin_c_kernel(setup s, faults *f)
{
    const cuda::memory_order acquire = cuda::memory_order_acquire;
    const ncclTeam world = ncclTeamWorld(s.dev);
    const int next = (world.rank + 1) % world.nRanks;
    const int last = (world.rank + world.nRanks - 1) % world.nRanks;
    const layout *own = (const layout *)ncclGetLocalPointer(s.win, 0);
    alignas(ncclGin_C) char place[sizeof(ncclGin_C)];
    ncclGin_C *net = (ncclGin_C *)place;
    ncclGin_C_init(net, NCCL_GIN_BACKEND_MASK_ALL, s.dev, 0);
    const cuda::thread_scope given = cuda::thread_scope_thread,
                             required = cuda::thread_scope_device;
    const ncclCoopAny block = ncclCoopCta();
    ncclGinBarrier(ncclCoopCta(), *net, ncclTeamTagWorld(), 1);
    ncclGinPut(net, world, next, s.win, OFF(got), s.win, OFF(value), 8, true, 2, ncclGinSignalInc,
               0, true, 1, block, false, nullptr, given, required);
    ncclGinPutValue(net, world, next, s.win, OFF(small), 70 + (uint64_t)world.rank, 4, true, 2,
                    ncclGinSignalAdd, 3, block, false, nullptr, given, required);
    ncclGinSignal(net, world, next, true, 2, ncclGinSignalAdd, 5, block, false, nullptr, given,
                  required);
    ncclGinFlush(net, block, acquire);
    ncclGinWaitSignal(net, block, 2, 9, 64, acquire);
    ncclGinWaitCounter(net, block, 1, 1, 56, acquire);
    EXPECT(own->got == 100 + (uint64_t)last && own->small == 70 + (uint32_t)last);
    EXPECT(ncclGinReadSignal(net, 2, 64, acquire) == 9);
    EXPECT(ncclGinReadCounter(net, 1, 56, acquire) == 1);
    EXPECT(*ncclGinGetSignalShadowPtr(net, 2) == 0);
    ncclGinBarrier(ncclCoopCta(), *net, ncclTeamTagWorld(), 1);
    if (threadIdx.x == 0) {
        ncclGinResetSignal(net, 2);
        ncclGinResetCounter(net, 1);
    }
    ncclGinBarrier(ncclCoopCta(), *net, ncclTeamTagWorld(), 1);
}

/* ---- barriers -------------------------------------------------------------------------------- */

/* What each rank put before a barrier is there after it. */
template <class Sync> __device__ void check_barrier(const setup &s, faults *f, int turn, Sync sync)
{
    const ncclTeam world = ncclTeamWorld(s.dev);
    const uint64_t *own = s.seen.localPtr();
    ncclGin gin(s.dev, 2);
    for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x)
        gin.putValue(world, peer, s.seen + world.rank, (uint64_t)(1000 * turn + world.rank));
    sync();
    for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x)
        EXPECT(own[peer] == (uint64_t)(1000 * turn + peer));
    sync();
}

__global__ void barriers_kernel(setup s, faults *f)
{
    const ncclCoopCta cta;
    const ncclTeam world = ncclTeamWorld(s.dev);
    const ncclGin gin(s.dev, 0);
    const ncclGinAllContexts all(s.dev);
    const cuda::memory_order order = cuda::memory_order_acq_rel;
    check_barrier(s, f, 1, [&] { ncclGinBarrier(cta, gin, ncclTeamTagWorld(), 0); });
    check_barrier(s, f, 2, [&] { ncclGinBarrier(cta, all, ncclTeamTagWorld(), 0, order, both); });
    check_barrier(s, f, 3, [&] { ncclGinBarrier(cta, gin, world, s.own_gin, 0); });
    check_barrier(s, f, 4, [&] { ncclGinBarrier(cta, all, world, s.own_gin, 0, order); });
    ncclGinBarrier(cta, gin, ncclTeamTagRail(), 0);
    ncclGinBarrier(cta, all, ncclTeamTagRail(), 0);
    check_barrier(s, f, 5, [&] { ncclBarrier(cta, ncclTeamTagWorld(), gin, 0); });
    check_barrier(s, f, 6, [&] { ncclBarrier(cta, ncclTeamTagWorld(), all, 0, order, both); });
    ncclBarrier(cta, ncclTeamTagRail(), gin, 0);
    ncclBarrier(cta, ncclTeamTagRail(), all, 0);
    {
        ncclBarrierSession<ncclCoopCta> bar(cta, ncclTeamTagWorld(), all, 0);
        check_barrier(
            s, f, 7, [&] { EXPECT(bar.sync(cta, order, both, (uint64_t)1 << 60) == ncclSuccess); });
    }
    {
        ncclGinBarrierSession<ncclCoopCta> bar(cta, all, ncclTeamTagWorld(), 0);
        check_barrier(s, f, 8, [&] { bar.sync(cta, order, both); });
    }
}

/* The others arrive when rank 0 no longer waits. */
__global__ void timeout_kernel(setup s, faults *f)
{
    if (s.dev.nRanks > 1 && s.dev.rank == 0) {
        ncclBarrierSession<ncclCoopThread> bar(ncclCoopThread(), ncclTeamTagWorld(),
                                               ncclGin(s.dev, 1), 1);
        EXPECT(bar.sync(ncclCoopThread(), cuda::memory_order_acq_rel, both, 1000) == ncclTimeout);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

__global__ void memory_kernel(setup s, faults *f)
{
    const ncclCoopCta cta;
    const ncclTeam world = ncclTeamWorld(s.dev), lsa = ncclTeamLsa(s.dev);
    char *own = (char *)ncclGetLocalPointer(s.win, 0);
    EXPECT(ncclFindWindow(cta, s.dev, own) == s.win);
    EXPECT(ncclFindWindow(cta, s.dev, own + sizeof(layout) - 1) == s.win);
    EXPECT(ncclFindWindow(cta, s.dev, own + sizeof(layout)) != s.win);
    EXPECT(ncclFindWindow(cta, s.dev, nullptr) == nullptr);
    EXPECT(s.seen.peerPtr(s.dev.rank) == (uint64_t *)(own + OFF(seen)));
    EXPECT(s.seen.peerPtr(world, s.dev.rank) == (uint64_t *)(own + OFF(seen)));
    EXPECT(ncclTeamRankToLsa(s.dev, world, s.dev.rank) == s.dev.lsaRank);
    const auto block = cooperative_groups::this_thread_block();
    const ncclSymPtr<char> p = ncclGetResourceBuffer(s.dev, s.buffer);
    int *mine = (int *)ncclGetResourceBufferLocalPointer(s.dev, s.buffer);
    EXPECT(p.localPtr() == (char *)mine);
    EXPECT(ncclFindWindow(cta, s.dev, mine) == s.dev.resourceWindow);
    EXPECT(ncclGetResourceBufferMultimemPointer(s.dev, s.buffer, s.dev.lsaMultimem) == nullptr);
    ncclLsaBarrierSession<cooperative_groups::thread_block> bar(block, s.dev, ncclTeamTagLsa(), 0);
    if (threadIdx.x == 0)
        mine[25] = 5 + lsa.rank;
    bar.sync(block, cuda::memory_order_acq_rel);
    if (threadIdx.x == 0)
        for (int i = 0; i < lsa.nRanks; i++) {
            EXPECT(((int *)ncclGetResourceBufferLsaPointer(s.dev, s.buffer, i))[25] == 5 + i);
            EXPECT(((int *)ncclGetResourceBufferPeerPointer(s.dev, s.buffer, lsa, i))[25] == 5 + i);
        }
    bar.sync(block, cuda::memory_order_acq_rel);
    ncclLLA2ASession<ncclCoopCta> session(cta, s.dev, lsa, s.a2a, 0, 8);
    for (int epoch = 0; epoch < 5; epoch++) {
        if (threadIdx.x == 0) {
            for (int i = 0; i < lsa.nRanks; i++)
                session.send(i, lsa.rank, (uint64_t)(lsa.rank * 10 + i + epoch * 1000));
            uint64_t v[8] = {};
            session.template recvUnrolled<1, 8>(0, lsa.nRanks, 1, v);
            for (int i = 0; i < lsa.nRanks; i++)
                EXPECT(v[i] == (uint64_t)(i * 10 + lsa.rank + epoch * 1000));
        }
        session.endEpoch(cta);
    }
}

/* ---- the host -------------------------------------------------------------------------------- */

static bool is_for_multimem;

static void run(void (*kernel)(setup, faults *), const setup &s, const char *name)
{
    run_kernel(kernel, 1, n_threads, s, name);
}

/* By another address or by the same. */
static void check_is_buffer(char *p, char *buffer)
{
    const char first = 'a', second = 'b';
    char old = 0, seen = 0;
    CUDA_OK(cudaMemcpy(&old, buffer, 1, cudaMemcpyDefault));
    for (char value : {first, second}) {
        CUDA_OK(cudaMemcpy(p, &value, 1, cudaMemcpyDefault));
        CUDA_OK(cudaMemcpy(&seen, buffer, 1, cudaMemcpyDefault));
        CHECK_EQ(seen, value);
    }
    CUDA_OK(cudaMemcpy(buffer, &old, 1, cudaMemcpyDefault));
}

static void test_pointers(ncclComm_t comm, const setup &s, char *buffer)
{
    void *p = NULL;
    OK(ncclGetPeerDevicePointer(s.win, 8, s.dev.rank, &p));
    check_is_buffer((char *)p - 8, buffer);
    OK(ncclGetLsaDevicePointer(s.win, 8, s.dev.lsaRank, &p));
    check_is_buffer((char *)p - 8, buffer);
    OK(ncclGetLsaMultimemDevicePointer(s.win, 0, &p));
    CHECK(p == NULL);
    CHECK_EQ(ncclTeamRankToWorld(comm, ncclTeamLsa(comm), s.dev.lsaRank), s.dev.rank);
    CHECK_EQ(ncclTeamRankToLsa(comm, ncclTeamWorld(comm), s.dev.rank), s.dev.lsaRank);
    CHECK_EQ(ncclTeamRankToWorld(comm, ncclTeamWorld(comm), 0), 0);
    CHECK(s.seen + 2 - 1 != s.seen && (s.seen + 2) - s.seen == 2);
    CHECK_EQ(ncclGetResourceBufferOffset(3), 384);
}

static void test_sizes(ncclComm_t comm)
{
    /* For 2.29.2 the properties end before nLsaTeams, and the requirements before
     * ginConnectionType; memory beyond that stays unchanged. */
    ncclCommProperties_t props = NCCL_COMM_PROPERTIES_INITIALIZER;
    props.size = 40;
    props.nLsaTeams = -7;
    OK(ncclCommQueryProperties(comm, &props));
    CHECK(props.nLsaTeams == -7 && props.size == 40 && props.ginType == NCCL_GIN_TYPE_PROXY);
    props.size = 36;
    CHECK_EQ(ncclCommQueryProperties(comm, &props), ncclInvalidArgument);
    const size_t sizes[] = {72, 88, 96, sizeof(ncclDevCommRequirements)};
    for (size_t size : sizes) {
        ncclDevCommRequirements q = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
        ncclDevComm d = {};
        q.size = size;
        if (size < 96)
            q.worldGinBarrierCount = -1; /* does not exist */
        OK(ncclDevCommCreate(comm, &q, &d));
        OK(ncclDevCommDestroy(comm, &d));
        q.size = size - 8;
        CHECK(size > 72 || ncclDevCommCreate(comm, &q, &d) == ncclInvalidUsage);
    }
}

static void test_stats(ncclComm_t comm)
{
    uint64_t persist = 0, total = 0, other = 1;
    OK(ncclCommMemStats(comm, ncclStatGpuMemPersist, &persist));
    OK(ncclCommMemStats(comm, ncclStatGpuMemTotal, &total));
    OK(ncclCommMemStats(comm, ncclStatGpuMemSuspend, &other));
    CHECK(persist > 0 && persist == total && other == 0);
    CHECK_EQ(ncclCommMemStats(comm, (ncclCommMemStat_t)4, &total), ncclInvalidArgument);
    CHECK_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclInvalidUsage);
    CHECK_EQ(ncclCommResume(comm), ncclInvalidUsage);
}

static int run_rank(const test_rank *r)
{
    ncclComm_t comm = NULL;
    void *m = NULL;
    setup s = {};
    OK(ncclCommInitRank(&comm, r->n, r->id, r->rank));
    OK(ncclMemAlloc(&m, 16384));
    CUDA_OK(cudaMemset(m, 0, 16384));
    OK(ncclCommWindowRegister(comm, m, sizeof(layout), &s.win,
                              NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_GIN_ONLY));
    s.seen = ncclSymPtr<uint64_t>(s.win, OFF(seen));
    s.is_for_multimem = is_for_multimem;
    ncclMultimemHandle multimem = {m};
    ncclDevCommRequirements q = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    ncclDevResourceRequirements list[5] = {};
    ncclGinOutboxHandle outbox = {};
    ncclGinInboxA2AHandle inbox = {};
    ncclTeamRequirements team = {NULL, ncclTeamLsa(comm), false, &multimem};
    OK(ncclLLA2ACreateRequirement(1, 16, &s.a2a, &list[0]));
    OK(ncclGinBarrierCreateRequirement(comm, ncclTeamWorld(comm), 1, &s.own_gin, &list[1]));
    list[2].bufferSize = 2000;
    list[2].outBufferHandle = &s.buffer;
    OK(ncclGinOutboxCreateRequirement(2, 10, &outbox, &list[3]));
    OK(ncclGinInboxA2ACreateRequirement(ncclTeamWorld(comm), 2, 10, &inbox, &list[4]));
    CHECK_EQ(ncclGinOutboxCreateRequirement(1, 31, &outbox, &list[3]), ncclInvalidArgument);
    CHECK_EQ(ncclGinInboxA2ACreateRequirement(ncclTeamWorld(comm), -1, 10, &inbox, &list[4]),
             ncclInvalidArgument);
    for (int i = 0; i < 4; i++)
        list[i].next = &list[i + 1];
    q.resourceRequirementsList = list;
    q.teamRequirementsList = &team;
    q.worldGinBarrierCount = 2;
    q.railGinBarrierCount = q.lsaBarrierCount = 1;
    q.barrierCount = 2;
    q.ginSignalCount = 3;
    q.ginCounterCount = 2;
    OK(ncclDevCommCreate(comm, &q, &s.dev));
    CHECK(multimem.mcBasePtr == NULL);
    CHECK_EQ(s.dev.ginCounterCount, 2 + 2 * 512);
    CHECK(inbox.bufHandle >= outbox.bufHandle + 2 * 1024 / 128 && inbox.signals >= 3);
    CHECK_EQ(s.dev.ginSignalCount - (int)inbox.signals, 2 * 4 * (r->n - 1));
    CHECK(default_stream == NULL);
    test_pointers(comm, s, (char *)m);
    test_sizes(comm);
    test_stats(comm);
    test_configs(comm, r, s.win, m);
    run(multimem_kernel, s, "multimem");
    run(groups_kernel, s, "groups");
    run(gin_kernel, s, "GIN");
    run(gin_c_kernel, s, "GIN by functions");
    run(gin_any_kernel, s, "GIN by functions, any signal");
    run(endpoints_kernel, s, "logical endpoints");
    run(barriers_kernel, s, "barriers");
    run(memory_kernel, s, "memory");
    run(reduce_kernel, s, "reduce and copy");
    run(reduce_small_kernel, s, "reduce and copy small numbers");
    run(timeout_kernel, s, "time limits");
    OK(ncclDevCommDestroy(comm, &s.dev));
    OK(ncclCommWindowDeregister(comm, s.win));
    OK(ncclMemFree(m));
    OK(ncclCommDestroy(comm));
    return 0;
}

int main(int argc, char **argv)
{
    is_for_multimem = argc > 1 && strcmp(argv[1], "multimem") == 0;
    return test_ranks(argc, argv, run_rank);
}
