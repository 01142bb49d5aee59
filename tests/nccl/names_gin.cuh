/* SPDX-License-Identifier: Apache-2.0
 * GIN's functions for any kind of signal, gets, and waits with limits. */
#ifndef GSH_TEST_NCCL_NAMES_GIN_CUH
#define GSH_TEST_NCCL_NAMES_GIN_CUH

#include "tests/nccl/names_setup.cuh"

/* Each rank's value is 100 more than its number. */
__global__ void gin_any_kernel(setup s, faults *f)
{
    const cuda::memory_order acquire = cuda::memory_order_acquire;
    const cuda::thread_scope given = cuda::thread_scope_thread,
                             required = cuda::thread_scope_device;
    const ncclTeam world = ncclTeamWorld(s.dev);
    const int next = (world.rank + 1) % world.nRanks;
    const int last = (world.rank + world.nRanks - 1) % world.nRanks;
    const uint64_t long_time = (uint64_t)1 << 60, short_time = 1000;
    const layout *own = (const layout *)ncclGetLocalPointer(s.win, 0);
    const ncclCoopAny block = ncclCoopCta();
    ncclGin_C net(s.dev, NCCL_GIN_BACKEND_MASK_ALL, 0);
    ncclGinRequest_t request = {};
    uint64_t before = 7, delta = 7;
    if (threadIdx.x == 0)
        ncclGinResetSignalVA(&net, s.win, OFF(signal));
    ncclGinBarrier(ncclCoopCta(), net, ncclTeamTagWorld(), 1);

    /* by window and offset: strong with a put, weak with a value, and alone */
    ncclGinPut_v3(&net, world, next, s.win, OFF(got), s.win, OFF(value), 8, NCCL_GIN_SIGNAL_TYPE_VA,
                  s.win, OFF(signal), 0, true, ncclGinSignalInc, 0, true, 1, block, false, nullptr,
                  given, required, 0, ncclGinSegmentTypeDevice);
    ncclGinPutValue_v3(&net, world, next, s.win, OFF(small), 50 + (uint64_t)world.rank, 4,
                       NCCL_GIN_SIGNAL_TYPE_VA, s.win, OFF(signal), 0, false, ncclGinSignalAdd, 10,
                       block, false, nullptr, given, required, 0);
    ncclGinSignal_v3(&net, world, next, NCCL_GIN_SIGNAL_TYPE_VA, s.win, OFF(signal), 0, true,
                     ncclGinSignalAdd, 100, block, false, nullptr, given, required, 0);
    ncclGinWaitSignalVA(&net, block, s.win, OFF(signal), 111, 64, acquire);
    EXPECT(own->got == 100 + (uint64_t)last && own->small == 50 + (uint32_t)last);
    EXPECT(ncclGinReadSignalVA(&net, s.win, OFF(signal), 64, acquire) == 111);
    EXPECT(ncclGinWaitSignalTimeoutVA(&net, block, s.win, OFF(signal), 111, 64, acquire,
                                      short_time) == ncclSuccess);
    EXPECT(
        ncclGinWaitSignalTimeoutVA(&net, block, s.win, OFF(signal), 112, 64, acquire, short_time) ==
        (threadIdx.x == 0 ? ncclTimeout : ncclSuccess));
    ncclGinBarrier(ncclCoopCta(), net, ncclTeamTagWorld(), 1);

    /* by number */
    ncclGinPut_v3(&net, world, next, s.win, OFF(got), s.win, OFF(value), 8,
                  NCCL_GIN_SIGNAL_TYPE_INDEXED, s.win, 0, 2, false, ncclGinSignalInc, 0, false, 0,
                  block, false, nullptr, given, required, 0, ncclGinSegmentTypeMixed);
    ncclGinPutValue_v3(&net, world, next, s.win, OFF(small), 50, 4, NCCL_GIN_SIGNAL_TYPE_INDEXED,
                       s.win, 0, 2, true, ncclGinSignalAdd, 3, block, false, nullptr, given,
                       required, 0);
    ncclGinSignal_v3(&net, world, next, NCCL_GIN_SIGNAL_TYPE_INDEXED, s.win, 0, 2, false,
                     ncclGinSignalInc, 0, block, false, nullptr, given, required, 0);
    ncclGinSignal_v3(&net, world, next, NCCL_GIN_SIGNAL_TYPE_NONE, s.win, 0, 2, false,
                     ncclGinSignalAdd, 1000, block, false, nullptr, given, required, 0);
    EXPECT(ncclGinWaitSignalTimeout(&net, block, 2, 5, 64, acquire, long_time) == ncclSuccess);
    EXPECT(ncclGinWaitSignalTimeout(&net, block, 2, 6, 64, acquire, short_time) ==
           (threadIdx.x == 0 ? ncclTimeout : ncclSuccess));
    EXPECT(ncclGinWaitCounterTimeout(&net, block, 1, 1, 56, acquire, long_time) == ncclSuccess);
    EXPECT(ncclGinWaitCounterTimeout(&net, block, 1, 2, 56, acquire, short_time) ==
           (threadIdx.x == 0 ? ncclTimeout : ncclSuccess));
    __syncthreads();
    if (threadIdx.x == 0)
        ncclGinIncreaseSignalShadow(&net, 2, 4);
    __syncthreads();
    ncclGinWaitSignalMeetShadow(&net, block, 2, 64, acquire);
    ncclGinWaitSignalFollowShadow(&net, block, 2, 1, &before, &delta, 64, acquire);
    EXPECT(before == 4 && delta == 1);

    /* gets, and flushes */
    ncclGinBarrier(ncclCoopCta(), net, ncclTeamTagWorld(), 1);
    ncclGinGet(&net, world, next, s.win, OFF(value), s.win, OFF(got), 8, block, false, nullptr, 0);
    ncclGinFlushAsync(&net, world, (uint32_t)next, &request, block, 0, false, nullptr);
    ncclGinWait(&net, &request, block, false, nullptr, acquire);
    EXPECT(own->got == 100 + (uint64_t)next);
    __syncthreads();
    ncclGinGet_v2(&net, world, last, s.win, OFF(value), s.win, OFF(got), 8, block, false, nullptr,
                  0, ncclGinSegmentTypeHostNuma);
    ncclGinFlushAsync(&net, world, (uint32_t)last, &request, block, 0, false, nullptr);
    EXPECT(ncclGinWaitTimeout(&net, &request, block, false, nullptr, acquire, long_time) ==
           ncclSuccess);
    EXPECT(own->got == 100 + (uint64_t)last);
    EXPECT(ncclGinFlushTimeout(&net, block, acquire, false, nullptr, long_time) == ncclSuccess);
    ncclGinFlush_v2(&net, block, acquire, false, nullptr);
    ncclGinBarrier(ncclCoopCta(), net, ncclTeamTagWorld(), 1);
    if (threadIdx.x == 0) {
        ncclGinResetSignal(&net, 2);
        ncclGinResetCounter(&net, 1);
    }
    ncclGinBarrier(ncclCoopCta(), net, ncclTeamTagWorld(), 1);
}

/* What compiles: no device here has logical endpoints. */
__global__ void endpoints_kernel(setup s, faults *f)
{
    ncclCftLeId id = 0;
    size_t offset = 1;
    EXPECT(ncclTeamCft(s.dev).nRanks == 0 && ncclTeamCftMultimem(s.dev).nRanks == 0);
    ncclGetPeerLeInfo(s.win, 0, 0, s.dev, &id, &offset);
    EXPECT(id == NCCL_LE_ID_INVALID && offset == 0);
    if (s.dev.nRanks < 0) {
        __shared__ ncclCftSmem shared;
        ncclCft<ncclCoopCta> cft(ncclCoopCta(), shared);
        cft.put(ncclCoopCta(), id, 0, nullptr, 16);
        cft.red(ncclCoopThread(), id, 0, ncclCftOpSum<float>(), nullptr, 16);
        cft.submit(ncclCoopCta());
        cft.flush(ncclCoopCta());
        ncclCftBarrierSession<ncclCoopCta> bar(ncclCoopCta(), s.dev, 0);
        bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclMemProxyType::Generic,
                 ncclMemProxyType::Fabric);
        ncclMemFence(ncclCoopCta(), cuda::memory_order_acquire, ncclMemProxyType::Fabric,
                     ncclMemProxyType::Generic, ncclMemFenceScope::Sys);
    }
}

#endif
