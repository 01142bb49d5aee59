/* SPDX-License-Identifier: Apache-2.0
 * Proves the NCCL layer's device API: teams, pointers, LSA barriers, LL all-to-all, reductions and
 * copies, GIN with signals, counters and shadows on every rank, near and far, and its barriers;
 * that device communicators and windows come and go, also while kernels wait; and that wrong
 * requirements fail. */
#define GSHMEM_NCCL_GIN_HELP_BYTES 16384
#include "tests/nccl/faults.cuh"
#include <nccl_device.h>

constexpr int n_blocks = 2, n_threads = 64, n_contexts = 3;
enum { USER_SIGNALS = 4, VALUES = 96, LARGE_BYTES = 40 << 20 };
/* Puts that blocks of another kernel may join: more than there are slots for. */
enum { JOINT_ROUNDS = 24, JOINT_BYTES = 70000, JOINT_RANKS = 8 };

/* The window, in parts. */
struct layout {
    uint64_t in[VALUES], out[VALUES];
    uint64_t from[64][8]; /* [rank][...], of puts */
    uint64_t va_signal[2];
    float summands[1000], sums[1000];
    __half halves[100], half_sums[100];
    __nv_fp8_e4m3 eighths[112], eighth_sums[112];
    __nv_fp8_e5m2 coarse[112], coarse_sums[112];
    alignas(16) uint8_t given[JOINT_BYTES], taken[JOINT_RANKS][JOINT_BYTES];
};
#define OFF(member) offsetof(layout, member)

struct setup {
    ncclDevComm dev;
    ncclWindow_t win;
    ncclLsaBarrierHandle own_lsa;
    ncclGinBarrierHandle own_gin;
    ncclLLA2AHandle a2a;
    ncclGinSignal_t listed_signal;
    ncclDevResourceHandle buffer;
    int round;
};

__global__ void teams_kernel(setup s, faults *f)
{
    const ncclTeam world = ncclTeamWorld(s.dev), lsa = ncclTeamLsa(s.dev),
                   rail = ncclTeamRail(s.dev);
    EXPECT(world.nRanks == lsa.nRanks * rail.nRanks);
    EXPECT(world.rank == rail.rank * lsa.nRanks + lsa.rank);
    for (int i = 0; i < world.nRanks; i++) {
        const bool is_lsa = i / lsa.nRanks == rail.rank;
        const bool is_rail = i % lsa.nRanks == lsa.rank;
        EXPECT(ncclTeamRankIsMember(lsa, world, i) == is_lsa);
        EXPECT(ncclTeamRankIsMember(rail, world, i) == is_rail);
        EXPECT((ncclGetPeerPointer(s.win, 8, i) != nullptr) == is_lsa);
        if (is_lsa) {
            EXPECT(ncclTeamRankToTeam(lsa, world, i) == i % lsa.nRanks);
            EXPECT(ncclGetPeerPointer(s.win, 8, i) == ncclGetLsaPointer(s.win, 8, i % lsa.nRanks));
        }
    }
    for (int i = 0; i < rail.nRanks; i++)
        EXPECT(ncclTeamRankToWorld(s.dev, rail, i) == i * lsa.nRanks + lsa.rank);
    const ncclTeam inner = ncclTeamInnerFactor(world, lsa.nRanks);
    const ncclTeam outer = ncclTeamOuterFactor(world, lsa.nRanks);
    EXPECT(inner.nRanks == lsa.nRanks && inner.rank == lsa.rank && inner.stride == 1);
    EXPECT(outer.nRanks == rail.nRanks && outer.rank == rail.rank && outer.stride == rail.stride);
    for (int i = 0; i < world.nRanks - rail.nRanks; i++) {
        const int r = ncclTeamRankInDifference(world, rail, i);
        EXPECT(r >= 0 && r < world.nRanks && r % lsa.nRanks != lsa.rank);
    }
    ncclSymPtr<uint64_t> p(s.win, OFF(in));
    EXPECT((p + 3).localPtr() == p.localPtr() + 3 && (p + 3) - p == 3 && p + 1 - 1 == p);
    EXPECT(ncclGetLocalPointer(s.win, OFF(in)) == p.lsaPtr(s.dev.lsaRank));
    EXPECT(ncclGetLsaMultimemPointer(s.win, 0, s.dev) == nullptr);
    EXPECT(ncclCoopTile<8>().size() == 8 &&
           ncclCoopTile<8>().thread_rank() == (int)threadIdx.x % 8);
    EXPECT(ncclCoopLanes(5).size() == 2);
}

/* Each block of each rank writes into its peers between two barriers, the communicator's or those
 * of a list's handle. */
__global__ void lsa_kernel(setup s, faults *f)
{
    const int n = s.dev.lsaSize, me = s.dev.lsaRank;
    for (int turn = 0; turn < 2; turn++) {
        ncclLsaBarrierSession<ncclCoopCta> bar(ncclCoopCta(), s.dev, ncclTeamLsa(s.dev),
                                               turn == 0 ? s.dev.lsaBarrier : s.own_lsa,
                                               blockIdx.x);
        bar.sync(ncclCoopCta(), cuda::memory_order_relaxed);
        for (int i = 0; i < 5; i++) {
            for (int peer = threadIdx.x; peer < n; peer += blockDim.x) {
                uint64_t *to = (uint64_t *)ncclGetLsaPointer(s.win, OFF(out), peer);
                to[blockIdx.x * 32 + me] = 100 * s.round + 10 * i + me;
            }
            if (i % 2 == 0) {
                bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
            } else {
                bar.arrive(ncclCoopCta(), cuda::memory_order_release);
                bar.wait(ncclCoopCta(), cuda::memory_order_acquire);
            }
            const uint64_t *own = (const uint64_t *)ncclGetLocalPointer(s.win, OFF(out));
            for (int peer = threadIdx.x; peer < n; peer += blockDim.x)
                EXPECT(own[blockIdx.x * 32 + peer] == (uint64_t)(100 * s.round + 10 * i + peer));
            EXPECT(bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel, (uint64_t)1 << 60) ==
                   ncclSuccess);
        }
    }
}

struct pair {
    uint64_t a;
    uint32_t b;
};

__global__ void a2a_kernel(setup s, faults *f)
{
    const ncclTeam team = ncclTeamLsa(s.dev);
    ncclLLA2ASession<ncclCoopCta> session(ncclCoopCta(), s.dev, team, s.a2a, blockIdx.x,
                                          team.nRanks);
    for (int i = 0; i < 6; i++) {
        if ((int)threadIdx.x < team.nRanks) {
            session.send(
                threadIdx.x, team.rank,
                pair{(uint64_t)i << 40 | (uint64_t)team.rank << 8 | threadIdx.x, (uint32_t)i});
            const pair p = session.template recv<pair>(threadIdx.x);
            EXPECT(p.a == ((uint64_t)i << 40 | (uint64_t)threadIdx.x << 8 | (uint64_t)team.rank));
            EXPECT(p.b == (uint32_t)i);
        }
        session.endEpoch(ncclCoopCta());
        if (threadIdx.x == 0) {
            session.bcast(team.rank, (uint32_t)(team.rank + i));
            const uint32_t sum = session.template recvReduce<4, uint32_t>(
                0, team.nRanks, 1, [](uint32_t x) { return x; },
                [](uint32_t x, uint32_t y) { return x + y; });
            EXPECT(sum == (uint32_t)(team.nRanks * (team.nRanks - 1) / 2 + i * team.nRanks));
        }
        session.endEpoch(ncclCoopCta());
    }
}

__global__ void reduce_kernel(setup s, faults *f)
{
    const ncclTeam team = ncclTeamLsa(s.dev);
    ncclLsaBarrierSession<ncclCoopCta> bar(ncclCoopCta(), s.dev, ncclTeamTagLsa(), 0);
    float *own = (float *)ncclGetLocalPointer(s.win, OFF(summands));
    float *sums = (float *)ncclGetLocalPointer(s.win, OFF(sums));
    __half *halves = (__half *)ncclGetLocalPointer(s.win, OFF(halves));
    for (int i = threadIdx.x; i < 1000; i += blockDim.x)
        own[i] = (float)(i + team.rank);
    for (int i = threadIdx.x; i < 100; i += blockDim.x)
        halves[i] = __float2half((float)(i + team.rank));
    __nv_fp8_e4m3 *eighths = (__nv_fp8_e4m3 *)ncclGetLocalPointer(s.win, OFF(eighths));
    __nv_fp8_e5m2 *coarse = (__nv_fp8_e5m2 *)ncclGetLocalPointer(s.win, OFF(coarse));
    for (int i = threadIdx.x; i < 112; i += blockDim.x) {
        eighths[i] = __nv_fp8_e4m3((float)(i % 3 + team.rank));
        coarse[i] = __nv_fp8_e5m2(7.0f);
    }
    bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
    const int n = team.nRanks;
    const float ranks = (float)(n * (n - 1) / 2);
    /* at an offset that fits no vector, then whole */
    ncclLsaReduceSum<float>(ncclCoopCta(), s.win, OFF(summands) + 4, sums, 99, s.dev);
    ncclCoopCta().sync();
    for (int i = threadIdx.x; i < 99; i += blockDim.x)
        EXPECT(sums[i] == (float)((i + 1) * n) + ranks);
    bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
    /* each rank stores its part of the sums to all */
    const size_t part = 1000 / n;
    ncclLsaReduceSumCopy<float>(ncclCoopCta(),
                                ncclSymPtr<float>(s.win, OFF(summands)) + team.rank * part,
                                ncclSymPtr<float>(s.win, OFF(sums)) + team.rank * part, part, team);
    if (team.rank == 0) {
        ncclLsaReduceSumCopy<__half>(ncclCoopCta(), s.win, OFF(halves), s.win, OFF(half_sums),
                                     (size_t)100, s.dev);
        ncclLsaReduceSumCopy<__nv_fp8_e4m3>(ncclCoopCta(), s.win, OFF(eighths), s.win,
                                            OFF(eighth_sums), (size_t)112, s.dev);
        ncclLsaReduceSumCopy<__nv_fp8_e5m2>(ncclCoopCta(), s.win, OFF(coarse) + 1, s.win,
                                            OFF(coarse_sums) + 1, (size_t)111, s.dev);
    }
    bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
    const __half *half_sums = (const __half *)ncclGetLocalPointer(s.win, OFF(half_sums));
    for (size_t i = threadIdx.x; i < part * n; i += blockDim.x)
        EXPECT(sums[i] == (float)(i * n) + ranks);
    for (int i = threadIdx.x; i < 100; i += blockDim.x)
        EXPECT(__half2float(half_sums[i]) == (float)(i * n) + ranks);
    const __nv_fp8_e4m3 *eighth_sums =
        (const __nv_fp8_e4m3 *)ncclGetLocalPointer(s.win, OFF(eighth_sums));
    const __nv_fp8_e5m2 *coarse_sums =
        (const __nv_fp8_e5m2 *)ncclGetLocalPointer(s.win, OFF(coarse_sums));
    for (int i = threadIdx.x; i < 112; i += blockDim.x)
        EXPECT(static_cast<float>(eighth_sums[i]) == (float)(i % 3 * n) + ranks);
    /* 7, 14, 21 and 28 rounded once: 20, and 28 exists */
    for (int i = threadIdx.x; i < 112; i += blockDim.x)
        EXPECT(i == 0 || static_cast<float>(coarse_sums[i]) == (n == 3 ? 20.0f : 7.0f * (float)n));
    bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
    if (team.rank == n - 1)
        ncclLsaCopy<float>(ncclCoopCta(), own, s.win, OFF(sums), (size_t)1000, s.dev);
    bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
    for (int i = threadIdx.x; i < 1000; i += blockDim.x)
        EXPECT(sums[i] == (float)(i + n - 1));
    bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
    ncclLsaReduceLsaCopy<float>(
        ncclCoopCta(), [=](int i) { return (float *)ncclGetLsaPointer(s.win, OFF(summands), i); },
        n, [=](int) { return sums; }, 1, [](float a, float b) { return a > b ? a : b; }, 1000);
    ncclCoopCta().sync();
    for (int i = threadIdx.x; i < 1000; i += blockDim.x)
        EXPECT(sums[i] == (float)(i + n - 1));
    bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

template <class Barrier>
__device__ void check_world_barrier(const setup &s, faults *f, Barrier &bar)
{
    /* What each rank put before the barrier is there after it, whichever rank it came from. */
    const ncclTeam world = ncclTeamWorld(s.dev);
    ncclGin gin(s.dev, 0);
    uint64_t *own = (uint64_t *)ncclGetLocalPointer(s.win, OFF(from));
    for (int i = 0; i < 3; i++) {
        for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x)
            gin.putValue(world, peer, s.win, OFF(from) + sizeof(uint64_t) * (8 * world.rank + 7),
                         (uint64_t)(1000 * s.round + 10 * i + world.rank));
        bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel, (ncclGinFenceLevel)1);
        for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x)
            EXPECT(own[8 * peer + 7] == (uint64_t)(1000 * s.round + 10 * i + peer));
        bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel, (ncclGinFenceLevel)1);
    }
}

__global__ void barriers_kernel(setup s, faults *f)
{
    {
        ncclGinBarrierSession<ncclCoopCta> bar(ncclCoopCta(), ncclGin(s.dev, 1),
                                               ncclTeamWorld(s.dev), s.dev.railGinBarrier, 1);
        check_world_barrier(s, f, bar);
    }
    {
        ncclGinBarrierSession<ncclCoopCta> bar(ncclCoopCta(), ncclGin(s.dev, 1),
                                               ncclTeamWorld(s.dev), s.own_gin, 1);
        check_world_barrier(s, f, bar);
    }
    {
        ncclGinBarrierSession<ncclCoopCta> bar(ncclCoopCta(), ncclGin(s.dev, 2), ncclTeamTagRail(),
                                               0);
        bar.sync(ncclCoopCta(), cuda::memory_order_relaxed, (ncclGinFenceLevel)0);
        EXPECT(bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel, (ncclGinFenceLevel)0,
                        (uint64_t)1 << 60) == ncclSuccess);
    }
    {
        ncclBarrierSession<ncclCoopCta> bar(ncclCoopCta(), ncclTeamTagWorld(), ncclGin(s.dev, 0),
                                            1);
        check_world_barrier(s, f, bar);
    }
}

/* All-to-all by puts with a signal of every kind, by one thread per peer, by a warp, by a block. */
template <class Coop, class Action>
__device__ void exchange(const setup &s, faults *f, Coop coop, int context, int column,
                         Action action, ncclGinSignal_t signal)
{
    const ncclTeam world = ncclTeamWorld(s.dev);
    ncclGin gin(s.dev, context);
    const uint64_t before = gin.readSignal(signal);
    const uint64_t counted = gin.readCounter(1);
    ncclGinBarrierSession<ncclCoopCta> bar(ncclCoopCta(), gin, world, s.dev.railGinBarrier, 0);
    uint64_t *in = (uint64_t *)ncclGetLocalPointer(s.win, OFF(in));
    if (threadIdx.x < 64)
        in[threadIdx.x] = 7000 * s.round + 100 * world.rank + threadIdx.x + column;
    __syncthreads();
    bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel, (ncclGinFenceLevel)0);
    const int n_groups = (int)blockDim.x / coop.size();
    int mine = 0;
    for (int peer = (int)threadIdx.x / coop.size(); peer < world.nRanks; peer += n_groups, mine++)
        gin.put(world, peer, s.win, OFF(from) + sizeof(uint64_t) * (8 * world.rank + column), s.win,
                OFF(in) + sizeof(uint64_t) * peer, sizeof(uint64_t), action, ncclGin_CounterInc{1},
                coop);
    gin.waitSignal(ncclCoopCta(), signal, before + world.nRanks);
    gin.waitCounter(ncclCoopCta(), 1, counted + world.nRanks);
    gin.flush(ncclCoopCta());
    const uint64_t *own = (const uint64_t *)ncclGetLocalPointer(s.win, OFF(from));
    for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x)
        EXPECT(own[8 * peer + column] ==
               (uint64_t)(7000 * s.round + 100 * peer + world.rank + column));
    bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel, (ncclGinFenceLevel)0);
}

__global__ void gin_kernel(setup s, faults *f)
{
    exchange(s, f, ncclCoopThread(), 0, 0, ncclGin_SignalInc{1}, 1);
    exchange(s, f, ncclCoopWarp(), 1, 1, ncclGin_SignalAdd{1, 1}, 1);
    exchange(s, f, ncclCoopCta(), 2, 2, ncclGin_StrongSignalInc{s.listed_signal}, s.listed_signal);
    exchange(s, f, ncclCoopTile<16>(), 0, 3, ncclGin_WeakSignalAdd{2, 1}, 2);
}

__device__ uint8_t joint_byte(int rank, int round, size_t i)
{
    return (uint8_t)(rank * 41 + round * 7 + i * 3 + i / 250);
}

/* All-to-all by one thread for each peer, of so much that others may join it. The signals come
 * after the data. */
__global__ void joint_kernel(setup s, faults *f)
{
    const ncclTeam world = ncclTeamWorld(s.dev);
    const ncclCoopCta cta;
    ncclGin gin(s.dev, 0);
    const uint64_t before = gin.readSignal(1);
    ncclGinBarrierSession<ncclCoopCta> bar(cta, gin, world, s.dev.railGinBarrier, 0);
    uint8_t *given = (uint8_t *)ncclGetLocalPointer(s.win, OFF(given));
    const uint8_t *taken = (const uint8_t *)ncclGetLocalPointer(s.win, OFF(taken));
    for (int round = 0; round < JOINT_ROUNDS; round++) {
        const size_t n = JOINT_BYTES - 13 * round;
        for (size_t i = threadIdx.x; i < n; i += blockDim.x)
            given[i] = joint_byte(world.rank, round, i);
        bar.sync(cta, cuda::memory_order_acq_rel, (ncclGinFenceLevel)0);
        for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x)
            gin.put(world, peer, s.win, OFF(taken) + (size_t)JOINT_BYTES * world.rank, s.win,
                    OFF(given), n, ncclGin_SignalInc{1});
        gin.waitSignal(cta, 1, before + (uint64_t)(world.nRanks * (round + 1)));
        for (int peer = 0; peer < world.nRanks; peer++)
            for (size_t i = n - 1 - threadIdx.x; i < n; i -= 11 * blockDim.x)
                EXPECT(taken[(size_t)JOINT_BYTES * peer + i] == joint_byte(peer, round, i));
        gin.flush(cta);
    }
    bar.sync(cta, cuda::memory_order_acq_rel, (ncclGinFenceLevel)0);
}

/* A copy that the helpers make alone: its thread only asks and waits. */
__global__ void help_kernel(setup s, faults *f)
{
    uint8_t *given = (uint8_t *)ncclGetLocalPointer(s.win, OFF(given));
    uint8_t *taken = (uint8_t *)ncclGetLocalPointer(s.win, OFF(taken));
    const size_t n = JOINT_BYTES / 16 * 16;
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) {
        given[i] = joint_byte(s.dev.rank, s.round, i);
        taken[i] = 0;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        using namespace gshmem;
        const nccl::joint_copy copy = {(char *)taken, (const char *)given, n};
        const uint32_t i = nccl::ask_for_help(s.dev.copies, s.dev.copies_asked, &copy),
                       all = nccl::units_of(n);
        EXPECT(i < GSHMEM_NCCL_COPY_SLOTS);
        gsh_nccl_copy_slot *const slot = &s.dev.copies->slots[i % GSHMEM_NCCL_COPY_SLOTS];
        (void)nccl::await_word(
            s.dev, &slot->helped, [=](uint32_t seen) { return seen == all; }, all,
            GSH_REPORT_WAIT_TIMEOUT, "help_kernel", -1, 0);
        detail::acquire_awaited();
        detail::store_release(&slot->is_taken, 0u);
    }
    __syncthreads();
    for (size_t i = threadIdx.x; i < n; i += blockDim.x)
        EXPECT(taken[i] == joint_byte(s.dev.rank, s.round, i));
}

/* How many puts have asked so far; none keeps a slot. */
static uint64_t number_asked(const setup &s)
{
    CHECK(s.dev.copies != NULL);
    gsh_nccl_copy_slots seen;
    CUDA_OK(cudaMemcpy(&seen, s.dev.copies, sizeof seen, cudaMemcpyDefault));
    for (const gsh_nccl_copy_slot &slot : seen.slots)
        CHECK_EQ(slot.is_taken, 0);
    return seen.n_asked;
}

static void set_over(const setup &s, uint32_t is_over)
{
    CUDA_OK(cudaMemcpy(&s.dev.copies->is_over, &is_over, sizeof is_over, cudaMemcpyDefault));
}

/* Signals alone: rolling comparison, shadows, in windows, values, gets. */
__global__ void signals_kernel(setup s, faults *f)
{
    const ncclTeam world = ncclTeamWorld(s.dev);
    const int next = (world.rank + 1) % world.nRanks;
    const int last = (world.rank + world.nRanks - 1) % world.nRanks;
    ncclGin gin(s.dev, 1);
    ncclGinBarrierSession<ncclCoopCta> bar(ncclCoopCta(), gin, world, s.dev.railGinBarrier, 0);
    const ncclCoopCta cta;
    /* rolls over at 8 bits */
    if (threadIdx.x == 0)
        gin.resetSignal(3);
    bar.sync(cta, cuda::memory_order_acq_rel, (ncclGinFenceLevel)0);
    for (uint64_t sum = 65; sum <= 260; sum += 65) {
        if (threadIdx.x == 0)
            gin.signal(world, next, ncclGin_SignalAdd{3, 65});
        gin.waitSignal(cta, 3, sum % 256, 8);
        EXPECT(gin.readSignal(3, 8) == sum % 256 && gin.readSignal(3) == sum);
        bar.sync(cta, cuda::memory_order_acq_rel, (ncclGinFenceLevel)0);
    }
    uint64_t before = 1, delta = 0;
    gin.waitSignalFollowShadow(cta, 3, 260, &before, &delta);
    EXPECT(before == 0 && delta == 260 && *gin.getSignalShadowPtr(3) == 260);
    bar.sync(cta, cuda::memory_order_acq_rel, (ncclGinFenceLevel)0);
    if (threadIdx.x == 0) {
        gin.increaseSignalShadow(3, 2);
        gin.signal(world, next, ncclGin_SignalAdd{3, 2});
    }
    __syncthreads();
    gin.waitSignalMeetShadow(cta, 3);
    /* in a window; the value comes first */
    uint64_t *va = (uint64_t *)ncclGetLocalPointer(s.win, OFF(va_signal));
    if (threadIdx.x == 0)
        gin.resetSignal(s.win, OFF(va_signal));
    bar.sync(cta, cuda::memory_order_acq_rel, (ncclGinFenceLevel)0);
    if (threadIdx.x == 0)
        gin.putValue(world, next, s.win, OFF(va_signal) + 8, (uint64_t)(40 + world.rank + s.round),
                     ncclGin_VASignalInc{s.win, OFF(va_signal)});
    gin.waitSignal(cta, s.win, OFF(va_signal), 1);
    EXPECT(va[1] == (uint64_t)(40 + last + s.round) && gin.readSignal(s.win, OFF(va_signal)) == 1);
    bar.sync(cta, cuda::memory_order_acq_rel, (ncclGinFenceLevel)0);
    gin.get(world, next, s.win, OFF(va_signal) + 8, s.win, OFF(out), 8, cta);
    gin.flush(cta);
    const uint64_t *out = (const uint64_t *)ncclGetLocalPointer(s.win, OFF(out));
    EXPECT(out[0] == (uint64_t)(40 + world.rank + s.round));
    bar.sync(cta, cuda::memory_order_acq_rel, (ncclGinFenceLevel)0);
}

static void run(void (*kernel)(setup, faults *), int blocks, const setup &s, const char *name)
{
    run_kernel(kernel, blocks, n_threads, s, name);
}

static void expect_refusal(ncclComm_t comm, const ncclDevCommRequirements &q, ncclResult_t result,
                           const char *field)
{
    ncclDevComm dev = {};
    CHECK_EQ(ncclDevCommCreate(comm, &q, &dev), result);
    CHECK(strstr(ncclGetLastError(NULL), field) != NULL);
}

static void test_kinds_of_gin(ncclComm_t comm)
{
    const ncclDevCommRequirements none = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    ncclDevCommRequirements q = none;
    ncclDevComm dev = {};
    q.ginConnectionType = (ncclGinConnectionType_t)4;
    expect_refusal(comm, q, ncclInvalidArgument, "ginConnectionType");
    q.ginConnectionType = NCCL_GIN_CONNECTION_CUSTOM_STRIDE;
    q.ginCustomStride = 0;
    expect_refusal(comm, q, ncclInvalidArgument, "ginCustomStride");
    q.ginCustomStride = 2;
    q.ginType = NCCL_GIN_MAX_TYPES;
    expect_refusal(comm, q, ncclInvalidArgument, "ginType");
    q.ginType = NCCL_GIN_TYPE_GDAKI;
    q.useRuntimeVersion = true;
    OK(ncclDevCommCreate(comm, &q, &dev));
    OK(ncclDevCommDestroy(comm, &dev));
    q = none;
    q.cftCaps = NCCL_CFT;
    expect_refusal(comm, q, ncclInvalidUsage, "cftCaps");
    q = none;
    q.cftBarrierCount = 1;
    expect_refusal(comm, q, ncclInvalidUsage, "cftBarrierCount");
}

static void test_errors(ncclComm_t comm, const test_rank *r)
{
    ncclDevComm dev = {};
    ncclDevCommRequirements q = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    CHECK_EQ(ncclDevCommCreate(comm, NULL, &dev), ncclInvalidArgument);
    CHECK_EQ(ncclDevCommCreate(comm, &q, NULL), ncclInvalidArgument);
    q.magic = 1;
    CHECK_EQ(ncclDevCommCreate(comm, &q, &dev), ncclInvalidUsage);
    q = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    q.lsaMultimem = true;
    CHECK_EQ(ncclDevCommCreate(comm, &q, &dev), ncclInvalidUsage);
    q.lsaMultimem = false;
    q.ginSignalCount = -1;
    CHECK_EQ(ncclDevCommCreate(comm, &q, &dev), ncclInvalidArgument);
    q.ginSignalCount = 0;
    test_kinds_of_gin(comm);
    /* more than a machine has, and than there may be */
    ncclDevResourceRequirements large = {}, more = {};
    large.bufferSize = (size_t)255 << 30;
    more.bufferSize = (size_t)2 << 30;
    q.resourceRequirementsList = &large;
    CHECK_EQ(ncclDevCommCreate(comm, &q, &dev), ncclSystemError);
    large.next = &more;
    CHECK_EQ(ncclDevCommCreate(comm, &q, &dev), ncclInvalidArgument);
    q.resourceRequirementsList = NULL;
    q.ginSignalCount = r->rank == 0 ? 1 : 2; /* ranks differ: all get the error */
    CHECK_EQ(ncclDevCommCreate(comm, &q, &dev), r->n > 1 ? ncclInvalidArgument : ncclSuccess);
    if (r->n == 1)
        OK(ncclDevCommDestroy(comm, &dev));
    dev = {};
    CHECK_EQ(ncclDevCommDestroy(comm, &dev), ncclInvalidArgument);
}

/* The memory was cleared; each rank fills in its own. */
__global__ void large_kernel(setup s, faults *f)
{
    const size_t n = LARGE_BYTES / sizeof(int);
    int *own = (int *)ncclGetResourceBufferLocalPointer(s.dev, s.buffer);
    EXPECT(own[0] == 0 && own[n / 2] == 0 && own[n - 1] == 0);
    own[0] = own[n / 2] = own[n - 1] = 1 + s.dev.rank;
    ncclLsaBarrierSession<ncclCoopThread> bar(ncclCoopThread(), s.dev, ncclTeamTagLsa(), 0);
    bar.sync(ncclCoopThread(), cuda::memory_order_acq_rel);
    for (int i = 0; i < s.dev.lsaSize; i++) {
        const int *its = (const int *)ncclGetResourceBufferLsaPointer(s.dev, s.buffer, i);
        const int expected = 1 + s.dev.rank - s.dev.lsaRank + i;
        EXPECT(its[0] == expected && its[n / 2] == expected && its[n - 1] == expected);
    }
    bar.sync(ncclCoopThread(), cuda::memory_order_acq_rel);
}

/* Together more than the first memory of all communicators; the next ones take what these leave. */
static void test_large(ncclComm_t comm)
{
    setup s[3] = {};
    ncclDevCommRequirements q = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    ncclDevResourceRequirements large = {};
    large.bufferSize = LARGE_BYTES;
    q.resourceRequirementsList = &large;
    q.lsaBarrierCount = 1;
    for (int round = 0; round < 2; round++) {
        for (setup &each : s) {
            large.outBufferHandle = &each.buffer;
            OK(ncclDevCommCreate(comm, &q, &each.dev));
        }
        for (setup &each : s)
            run_kernel(large_kernel, 1, 1, each, "large");
        for (setup &each : s)
            OK(ncclDevCommDestroy(comm, &each.dev));
    }
}

static void test_properties(ncclComm_t comm, const test_rank *r)
{
    ncclCommProperties_t props = NCCL_COMM_PROPERTIES_INITIALIZER;
    OK(ncclCommQueryProperties(comm, &props));
    CHECK_EQ(props.rank, r->rank);
    CHECK_EQ(props.nRanks, r->n);
    CHECK(props.deviceApiSupport && !props.multimemSupport);
    CHECK_EQ(ncclTeamWorld(comm).nRanks, r->n);
    CHECK_EQ(ncclTeamLsa(comm).nRanks * props.nLsaTeams, r->n);
    CHECK_EQ(ncclTeamRail(comm).nRanks, props.nLsaTeams);
    const char *remote = getenv("GSHMEM_REMOTE"), *device = getenv("GSHMEM_DEVICE");
    const bool posts = remote && !strcmp(remote, "nic") && device && !strcmp(device, "cpu");
    const ncclGinType_t gin = posts ? NCCL_GIN_TYPE_GDAKI : NCCL_GIN_TYPE_PROXY;
    CHECK(props.ginType == gin && props.railedGinType == gin);
    for (int i = 0; i < NCCL_GIN_MAX_TYPES; i++)
        CHECK(props.ginSupport[i] == (i == gin));
    CHECK(props.ginMinStride == 1 && props.ginConnectionType == NCCL_GIN_CONNECTION_FULL);
    CHECK(props.devCommRuntimeVersionSize >= sizeof(ncclDevComm));
    CHECK(!props.cftSupport && !props.cftMulticastSupport && !props.cftCountedSupport);
    uint64_t *hashes = NULL, largest = 0;
    CUDA_OK(cudaMalloc((void **)&hashes, 2 * sizeof(uint64_t)));
    CUDA_OK(cudaMemcpy(hashes, &props.commHash, sizeof(uint64_t), cudaMemcpyDefault));
    OK(ncclAllReduce(hashes, hashes + 1, 1, ncclUint64, ncclMax, comm, 0));
    CUDA_OK(
        cudaStreamSynchronize(0)); /* a copy to pageable memory would keep CUDA's lock meanwhile */
    CUDA_OK(cudaMemcpy(&largest, hashes + 1, sizeof(uint64_t), cudaMemcpyDefault));
    CHECK_EQ(props.commHash, largest);
    CUDA_OK(cudaFree(hashes));
    props.magic = 0;
    CHECK_EQ(ncclCommQueryProperties(comm, &props), ncclInvalidArgument);
}

/* No kernel of the library goes on once puts no longer ask. */
static void await_leaving(const setup &s)
{
    uint32_t n_here = 1;
    while (n_here > 0)
        CUDA_OK(cudaMemcpy(&n_here, &s.dev.copies->n_here, sizeof n_here, cudaMemcpyDefault));
}

/* Puts ask for help; once nothing helps any more they do not, and move their bytes all the same. */
static void test_joint(const setup &s)
{
    const uint64_t before = number_asked(s);
    run(joint_kernel, 1, s, "joint copies");
    run_kernel(help_kernel, 1, n_threads, s, "help", true);
#if defined(GSHMEM_CHECKS) /* whose puts go another way */
    const uint64_t n_joint = 0;
#else
    const uint64_t n_joint = (uint64_t)s.dev.lsaSize * JOINT_ROUNDS;
#endif
    CHECK_EQ(number_asked(s), before + n_joint + 1);
    await_leaving(s);
    set_over(s, 1);
    run(joint_kernel, 1, s, "copies that nobody joins");
    CHECK_EQ(number_asked(s), before + n_joint + 1);
    set_over(s, 0);
}

__global__ void meet_kernel(setup s)
{
    ncclGin gin(s.dev, 0);
    ncclGinBarrierSession<ncclCoopCta> bar(ncclCoopCta(), gin, ncclTeamWorld(s.dev),
                                           s.dev.railGinBarrier, 0);
    bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel, (ncclGinFenceLevel)0);
}

/* Device communicators come and go while kernels wait for a rank that has yet to launch its own. */
static void test_beside_kernels(ncclComm_t comm, const test_rank *r)
{
    setup s = {};
    ncclDevCommRequirements q = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    cudaStream_t stream = NULL;
    q.railGinBarrierCount = 1;
    q.ginSignalCount = 1;
    OK(ncclDevCommCreate(comm, &q, &s.dev));
    CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    gshmem_launch(meet_kernel, dim3(1), dim3(n_threads), 0, stream, s);
    CUDA_OK(cudaStreamSynchronize(stream)); /* now its code is loaded */
    for (int last = 0; last < r->n; last++) {
        ncclDevComm others[2] = {};
        if (r->rank != last)
            gshmem_launch(meet_kernel, dim3(1), dim3(n_threads), 0, stream, s);
        for (ncclDevComm &dev : others)
            OK(ncclDevCommCreate(comm, &q, &dev));
        for (ncclDevComm &dev : others)
            OK(ncclDevCommDestroy(comm, &dev));
        if (r->rank == last)
            gshmem_launch(meet_kernel, dim3(1), dim3(n_threads), 0, stream, s);
        CUDA_OK(cudaStreamSynchronize(stream));
    }
    CUDA_OK(cudaStreamDestroy(stream));
    OK(ncclDevCommDestroy(comm, &s.dev));
}

static void test_kernels(ncclComm_t comm, ncclWindow_t win, const test_rank *r, int round)
{
    setup s = {};
    ncclDevCommRequirements q;
    memset(&q, 0, sizeof q); /* as programs for 2.28 do */
    if (round > 0)
        q = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    ncclDevResourceRequirements list[5] = {};
    s.win = win;
    s.round = round;
    OK(ncclLsaBarrierCreateRequirement(ncclTeamLsa(comm), n_blocks, &s.own_lsa, &list[0]));
    OK(ncclGinBarrierCreateRequirement(comm, ncclTeamWorld(comm), 2, &s.own_gin, &list[1]));
    const int slots = ncclLLA2ACalcSlots(ncclTeamLsa(comm).nRanks, sizeof(pair));
    OK(ncclLLA2ACreateRequirement(n_blocks, slots, &s.a2a, &list[2]));
    list[3].ginSignalCount = 1;
    list[3].outGinSignalStart = &s.listed_signal;
    list[4].bufferSize = 1000;
    list[4].outBufferHandle = &s.buffer;
    for (int i = 0; i < 4; i++)
        list[i].next = &list[i + 1];
    q.resourceRequirementsList = list;
    q.lsaBarrierCount = n_blocks;
    q.barrierCount = 2;
    q.railGinBarrierCount = 2;
    q.ginSignalCount = USER_SIGNALS;
    q.ginCounterCount = 2;
    q.ginContextCount = n_contexts;
    OK(ncclDevCommCreate(comm, &q, &s.dev));
    CHECK_EQ(s.dev.rank, r->rank);
    CHECK_EQ(s.dev.nRanks, r->n);
    CHECK_EQ(s.dev.ginContextCount, n_contexts);
    CHECK(s.listed_signal >= USER_SIGNALS);
    run(teams_kernel, 1, s, "teams");
    run(lsa_kernel, n_blocks, s, "LSA barriers");
    run(a2a_kernel, n_blocks, s, "LL all-to-all");
    run(reduce_kernel, 1, s, "reduce and copy");
    run(barriers_kernel, 1, s, "barriers");
    run(gin_kernel, 1, s, "GIN");
    run(signals_kernel, 1, s, "signals");
    if (r->n <= JOINT_RANKS)
        test_joint(s);
    OK(ncclDevCommDestroy(comm, &s.dev));
    CHECK_EQ(ncclDevCommDestroy(comm, &s.dev), ncclInvalidArgument);
}

static int run_rank(const test_rank *r)
{
    ncclComm_t comm = NULL, reversed = NULL;
    OK(ncclCommInitRank(&comm, r->n, r->id, r->rank));
    void *p = NULL;
    ncclWindow_t win = NULL, other = NULL;
    OK(ncclMemAlloc(&p, sizeof(layout)));
    CUDA_OK(cudaMemset(p, 0, sizeof(layout)));
    OK(ncclCommWindowRegister(comm, p, sizeof(layout), &win, NCCL_WIN_COLL_SYMMETRIC));
    test_errors(comm, r);
    test_properties(comm, r);
    test_large(comm);
    test_beside_kernels(comm, r);
    for (int round = 0; round < 2; round++)
        test_kernels(comm, win, r, round);
    /* Another communicator, numbered in reverse, alongside a device communicator. */
    ncclDevCommRequirements q = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    ncclDevComm left = {};
    q.lsaBarrierCount = 1;
    OK(ncclGroupStart());
    OK(ncclDevCommCreate(comm, &q, &left));
    CHECK_EQ(left.nRanks, 0);
    OK(ncclGroupEnd());
    CHECK_EQ(left.nRanks, r->n);
    OK(ncclCommSplit(comm, 0, -r->rank, &reversed, NULL));
    const test_rank turned = {r->n - 1 - r->rank, r->n, r->is_launched, r->id};
    OK(ncclCommWindowRegister(reversed, p, sizeof(layout), &other, NCCL_WIN_DEFAULT));
    test_kernels(reversed, other, &turned, 2);
    OK(ncclCommDestroy(reversed));
    for (int i = 0; i < 200; i++) {
        ncclDevComm dev = {};
        OK(ncclDevCommCreate(comm, &q, &dev));
        CHECK(dev.copies == NULL); /* without GIN no thread waits for puts */
        OK(ncclDevCommDestroy(comm, &dev));
    }
    OK(ncclCommWindowDeregister(comm, win));
    OK(ncclMemFree(p));
    OK(ncclCommDestroy(comm));
    return 0;
}

int main(int argc, char **argv)
{
    return test_ranks(argc, argv, run_rank);
}
