/* SPDX-License-Identifier: Apache-2.0
 * GIN as functions, whose choices are arguments: for generated code. */
#ifndef GSHMEM_NCCL_GIN_C_H
#define GSHMEM_NCCL_GIN_C_H

#include <new>
#include "gin.h"

struct ncclGin_C : ncclGin {
    unsigned backendMask;
    __device__ __forceinline__
    ncclGin_C(const ncclDevComm &comm_, unsigned mask, int contextIndex,
              ncclGinResourceSharingMode mode = NCCL_GIN_RESOURCE_SHARING_GPU)
        : ncclGin(comm_, contextIndex, mode), backendMask(mask)
    {
    }
};

__device__ __forceinline__ void
ncclGin_C_initWithResourceSharingMode(ncclGin_C *net, unsigned backendMask, const ncclDevComm &comm,
                                      int contextIndex,
                                      ncclGinResourceSharingMode resourceSharingMode)
{
    ::new (static_cast<void *>(net))
        ncclGin_C(comm, backendMask, contextIndex, resourceSharingMode);
}

__device__ __forceinline__ void ncclGin_C_init(ncclGin_C *net, unsigned backendMask,
                                               const ncclDevComm &comm, int contextIndex)
{
    ncclGin_C_initWithResourceSharingMode(net, backendMask, comm, contextIndex,
                                          NCCL_GIN_RESOURCE_SHARING_GPU);
}

namespace gshmem
{
namespace nccl
{

/* Calls f with the remote action that these arguments describe. */
template <class Function>
__device__ __forceinline__ void with_signal(bool is_signal, ncclGinSignal_t signal,
                                            ncclGinSignalOp_t op, uint64_t value, Function f)
{
    if (!is_signal)
        f(ncclGin_None{});
    else
        f(ncclGin_SignalAdd{signal, op == ncclGinSignalInc ? 1 : value});
}

/* The same for any signal, strong or weak. */
template <class Function>
__device__ __forceinline__ void
with_any_signal(ncclGinSignalType type, ncclWindow_t window, size_t offset, ncclGinSignal_t signal,
                bool isStrong, ncclGinSignalOp_t op, uint64_t value, Function f)
{
    const uint64_t n = op == ncclGinSignalInc ? 1 : value;
    if (type == NCCL_GIN_SIGNAL_TYPE_NONE)
        f(ncclGin_None{});
    else if (type == NCCL_GIN_SIGNAL_TYPE_VA && isStrong)
        f(ncclGin_StrongVASignalAdd{window, offset, n});
    else if (type == NCCL_GIN_SIGNAL_TYPE_VA)
        f(ncclGin_WeakVASignalAdd{window, offset, n});
    else if (isStrong)
        f(ncclGin_StrongSignalAdd{signal, n});
    else
        f(ncclGin_WeakSignalAdd{signal, n});
}

template <class Type, class Action>
__device__ __forceinline__ void put_one(ncclGin_C *net, ncclTeam team, int peer,
                                        ncclWindow_t window, size_t offset, Type value,
                                        Action action, ncclCoopAny coop GSHMEM_SITE)
{
    net->putValue(team, peer, window, offset, value, action, coop, ncclGin_None{},
                  cuda::thread_scope_thread, cuda::thread_scope_device,
                  ncclGinOptFlagsDefault GSHMEM_PASS_SITE);
}

/* The low `size` bytes of value: 1, 2, 4 or 8 of them. */
template <class Action>
__device__ __forceinline__ void put_bytes(ncclGin_C *net, ncclTeam team, int peer,
                                          ncclWindow_t window, size_t offset, uint64_t value,
                                          size_t size, Action action, ncclCoopAny coop GSHMEM_SITE)
{
    if (size == 1)
        put_one(net, team, peer, window, offset, (uint8_t)value, action, coop GSHMEM_PASS_SITE);
    else if (size == 2)
        put_one(net, team, peer, window, offset, (uint16_t)value, action, coop GSHMEM_PASS_SITE);
    else if (size == 4)
        put_one(net, team, peer, window, offset, (uint32_t)value, action, coop GSHMEM_PASS_SITE);
    else
        put_one(net, team, peer, window, offset, value, action, coop GSHMEM_PASS_SITE);
}

} // namespace nccl
} // namespace gshmem

/* ---- transfers: isSignal and isCounter say whether there is an action at all ----------------- */

__device__ __forceinline__ void
ncclGinPut_v2(ncclGin_C *net, ncclTeam team, int peer, ncclWindow_t dstWin, size_t dstOffset,
              ncclWindow_t srcWin, size_t srcOffset, size_t bytes, bool isSignal,
              ncclGinSignal_t signalId, ncclGinSignalOp_t signalOp, uint64_t signalOpArg,
              bool isCounter, ncclGinCounter_t counterId, ncclCoopAny coop, bool isDescriptor,
              ncclGinDescriptorSmem *descriptor, cuda::thread_scope givenRelease,
              cuda::thread_scope requiredRelease, uint32_t optFlags GSHMEM_SITE)
{
    (void)isDescriptor, (void)descriptor;
    gshmem::nccl::with_signal(isSignal, signalId, signalOp, signalOpArg, [&](auto action) {
        if (isCounter)
            net->put(team, peer, dstWin, dstOffset, srcWin, srcOffset, bytes, action,
                     ncclGin_CounterInc{counterId}, coop, ncclGin_None{}, givenRelease,
                     requiredRelease, optFlags, ncclGin_None() GSHMEM_PASS_SITE);
        else
            net->put(team, peer, dstWin, dstOffset, srcWin, srcOffset, bytes, action,
                     ncclGin_None{}, coop, ncclGin_None{}, givenRelease, requiredRelease, optFlags,
                     ncclGin_None() GSHMEM_PASS_SITE);
    });
}

__device__ __forceinline__ void
ncclGinPut(ncclGin_C *net, ncclTeam team, int peer, ncclWindow_t dstWin, size_t dstOffset,
           ncclWindow_t srcWin, size_t srcOffset, size_t bytes, bool isSignal,
           ncclGinSignal_t signalId, ncclGinSignalOp_t signalOp, uint64_t signalOpArg,
           bool isCounter, ncclGinCounter_t counterId, ncclCoopAny coop, bool isDescriptor,
           ncclGinDescriptorSmem *descriptor, cuda::thread_scope givenRelease,
           cuda::thread_scope requiredRelease GSHMEM_SITE)
{
    ncclGinPut_v2(net, team, peer, dstWin, dstOffset, srcWin, srcOffset, bytes, isSignal, signalId,
                  signalOp, signalOpArg, isCounter, counterId, coop, isDescriptor, descriptor,
                  givenRelease, requiredRelease, ncclGinOptFlagsDefault GSHMEM_PASS_SITE);
}

/* The low `size` bytes of value: 1, 2, 4 or 8 of them. */
__device__ __forceinline__ void
ncclGinPutValue_v2(ncclGin_C *net, ncclTeam team, int peer, ncclWindow_t dstWin, size_t dstOffset,
                   uint64_t value, size_t size, bool isSignal, ncclGinSignal_t signalId,
                   ncclGinSignalOp_t signalOp, uint64_t signalOpArg, ncclCoopAny coop,
                   bool isDescriptor, ncclGinDescriptorSmem *descriptor,
                   cuda::thread_scope givenRelease, cuda::thread_scope requiredRelease,
                   uint32_t optFlags GSHMEM_SITE)
{
    (void)isDescriptor, (void)descriptor, (void)givenRelease, (void)requiredRelease, (void)optFlags;
    gshmem::nccl::with_signal(isSignal, signalId, signalOp, signalOpArg, [&](auto action) {
        gshmem::nccl::put_bytes(net, team, peer, dstWin, dstOffset, value, size, action,
                                coop GSHMEM_PASS_SITE);
    });
}

__device__ __forceinline__ void
ncclGinPutValue(ncclGin_C *net, ncclTeam team, int peer, ncclWindow_t dstWin, size_t dstOffset,
                uint64_t value, size_t size, bool isSignal, ncclGinSignal_t signalId,
                ncclGinSignalOp_t signalOp, uint64_t signalOpArg, ncclCoopAny coop,
                bool isDescriptor, ncclGinDescriptorSmem *descriptor,
                cuda::thread_scope givenRelease, cuda::thread_scope requiredRelease GSHMEM_SITE)
{
    ncclGinPutValue_v2(net, team, peer, dstWin, dstOffset, value, size, isSignal, signalId,
                       signalOp, signalOpArg, coop, isDescriptor, descriptor, givenRelease,
                       requiredRelease, ncclGinOptFlagsDefault GSHMEM_PASS_SITE);
}

__device__ __forceinline__ void
ncclGinSignal_v2(ncclGin_C *net, ncclTeam team, int peer, bool isSignal, ncclGinSignal_t signalId,
                 ncclGinSignalOp_t signalOp, uint64_t signalOpArg, ncclCoopAny coop,
                 bool isDescriptor, ncclGinDescriptorSmem *descriptor,
                 cuda::thread_scope givenRelease, cuda::thread_scope requiredRelease,
                 uint32_t optFlags GSHMEM_SITE)
{
    (void)isDescriptor, (void)descriptor, (void)givenRelease, (void)requiredRelease, (void)optFlags;
    if (isSignal)
        net->signal(team, peer,
                    ncclGin_SignalAdd{signalId, signalOp == ncclGinSignalInc ? 1 : signalOpArg},
                    coop, ncclGin_None{}, cuda::thread_scope_thread, cuda::thread_scope_device,
                    ncclGinOptFlagsDefault GSHMEM_PASS_SITE);
}

__device__ __forceinline__ void
ncclGinSignal(ncclGin_C *net, ncclTeam team, int peer, bool isSignal, ncclGinSignal_t signalId,
              ncclGinSignalOp_t signalOp, uint64_t signalOpArg, ncclCoopAny coop, bool isDescriptor,
              ncclGinDescriptorSmem *descriptor, cuda::thread_scope givenRelease,
              cuda::thread_scope requiredRelease GSHMEM_SITE)
{
    ncclGinSignal_v2(net, team, peer, isSignal, signalId, signalOp, signalOpArg, coop, isDescriptor,
                     descriptor, givenRelease, requiredRelease,
                     ncclGinOptFlagsDefault GSHMEM_PASS_SITE);
}

/* With any kind of signal. */
__device__ __forceinline__ void
ncclGinPut_v3(ncclGin_C *net, ncclTeam team, int peer, ncclWindow_t dstWin, size_t dstOffset,
              ncclWindow_t srcWin, size_t srcOffset, size_t bytes, ncclGinSignalType signalType,
              ncclWindow_t signalWin, size_t signalOffset, ncclGinSignal_t signalId, bool isStrong,
              ncclGinSignalOp_t signalOp, uint64_t signalOpArg, bool isCounter,
              ncclGinCounter_t counterId, ncclCoopAny coop, bool isDescriptor,
              ncclGinDescriptorSmem *descriptor, cuda::thread_scope givenRelease,
              cuda::thread_scope requiredRelease, uint32_t optFlags,
              ncclGinSegmentType_t segmentType GSHMEM_SITE)
{
    (void)isDescriptor, (void)descriptor, (void)segmentType;
    gshmem::nccl::with_any_signal(
        signalType, signalWin, signalOffset, signalId, isStrong, signalOp, signalOpArg,
        [&](auto action) {
            if (isCounter)
                net->put(team, peer, dstWin, dstOffset, srcWin, srcOffset, bytes, action,
                         ncclGin_CounterInc{counterId}, coop, ncclGin_None{}, givenRelease,
                         requiredRelease, optFlags);
            else
                net->put(team, peer, dstWin, dstOffset, srcWin, srcOffset, bytes, action,
                         ncclGin_None{}, coop, ncclGin_None{}, givenRelease, requiredRelease,
                         optFlags, ncclGin_None() GSHMEM_PASS_SITE);
        });
}

__device__ __forceinline__ void
ncclGinPutValue_v3(ncclGin_C *net, ncclTeam team, int peer, ncclWindow_t dstWin, size_t dstOffset,
                   uint64_t value, size_t size, ncclGinSignalType signalType,
                   ncclWindow_t signalWin, size_t signalOffset, ncclGinSignal_t signalId,
                   bool isStrong, ncclGinSignalOp_t signalOp, uint64_t signalOpArg,
                   ncclCoopAny coop, bool isDescriptor, ncclGinDescriptorSmem *descriptor,
                   cuda::thread_scope givenRelease, cuda::thread_scope requiredRelease,
                   uint32_t optFlags GSHMEM_SITE)
{
    (void)isDescriptor, (void)descriptor, (void)givenRelease, (void)requiredRelease, (void)optFlags;
    gshmem::nccl::with_any_signal(signalType, signalWin, signalOffset, signalId, isStrong, signalOp,
                                  signalOpArg, [&](auto action) {
                                      gshmem::nccl::put_bytes(net, team, peer, dstWin, dstOffset,
                                                              value, size, action,
                                                              coop GSHMEM_PASS_SITE);
                                  });
}

__device__ __forceinline__ void
ncclGinSignal_v3(ncclGin_C *net, ncclTeam team, int peer, ncclGinSignalType signalType,
                 ncclWindow_t signalWin, size_t signalOffset, ncclGinSignal_t signalId,
                 bool isStrong, ncclGinSignalOp_t signalOp, uint64_t signalOpArg, ncclCoopAny coop,
                 bool isDescriptor, ncclGinDescriptorSmem *descriptor,
                 cuda::thread_scope givenRelease, cuda::thread_scope requiredRelease,
                 uint32_t optFlags GSHMEM_SITE)
{
    (void)isDescriptor, (void)descriptor, (void)givenRelease, (void)requiredRelease, (void)optFlags;
    (void)isStrong; /* alone, it is strong */
    const uint64_t n = signalOp == ncclGinSignalInc ? 1 : signalOpArg;
    if (signalType == NCCL_GIN_SIGNAL_TYPE_VA)
        net->signal(team, peer, ncclGin_VASignalAdd{signalWin, signalOffset, n}, coop,
                    ncclGin_None{}, cuda::thread_scope_thread, cuda::thread_scope_device,
                    ncclGinOptFlagsDefault GSHMEM_PASS_SITE);
    else if (signalType == NCCL_GIN_SIGNAL_TYPE_INDEXED)
        net->signal(team, peer, ncclGin_SignalAdd{signalId, n}, coop, ncclGin_None{},
                    cuda::thread_scope_thread, cuda::thread_scope_device,
                    ncclGinOptFlagsDefault GSHMEM_PASS_SITE);
}

__device__ __forceinline__ void ncclGinGet_v2(ncclGin_C *net, ncclTeam team, int peer,
                                              ncclWindow_t remoteWnd, size_t remoteOffset,
                                              ncclWindow_t localWnd, size_t localOffset,
                                              size_t bytes, ncclCoopAny coop, bool isDescriptor,
                                              ncclGinDescriptorSmem *descriptor, uint32_t optFlags,
                                              ncclGinSegmentType_t segmentType GSHMEM_SITE)
{
    (void)isDescriptor, (void)descriptor, (void)segmentType;
    net->get(team, peer, remoteWnd, remoteOffset, localWnd, localOffset, bytes, coop,
             ncclGin_None{}, optFlags, ncclGin_None() GSHMEM_PASS_SITE);
}

__device__ __forceinline__ void
ncclGinGet(ncclGin_C *net, ncclTeam team, int peer, ncclWindow_t remoteWnd, size_t remoteOffset,
           ncclWindow_t localWnd, size_t localOffset, size_t bytes, ncclCoopAny coop,
           bool isDescriptor, ncclGinDescriptorSmem *descriptor, uint32_t optFlags GSHMEM_SITE)
{
    ncclGinGet_v2(net, team, peer, remoteWnd, remoteOffset, localWnd, localOffset, bytes, coop,
                  isDescriptor, descriptor, optFlags, ncclGinSegmentTypeDevice GSHMEM_PASS_SITE);
}

/* ---- their end: with a limit as the methods of ncclGin --------------------------------------- */

__device__ __forceinline__ void ncclGinFlush_v2(ncclGin_C *net, ncclCoopAny coop,
                                                cuda::memory_order ord, bool isDescriptor,
                                                ncclGinDescriptorSmem *descriptor GSHMEM_SITE)
{
    (void)isDescriptor, (void)descriptor;
    net->flush(coop, ord, ncclGin_None() GSHMEM_PASS_SITE);
}

__device__ __forceinline__ ncclResult_t ncclGinFlushTimeout(ncclGin_C *net, ncclCoopAny coop,
                                                            cuda::memory_order ord,
                                                            bool isDescriptor,
                                                            ncclGinDescriptorSmem *descriptor,
                                                            uint64_t timeoutCycles GSHMEM_SITE)
{
    (void)isDescriptor, (void)descriptor;
    return net->flush(coop, ord, ncclGin_None{}, timeoutCycles GSHMEM_PASS_SITE);
}

__device__ __forceinline__ void ncclGinFlushAsync(ncclGin_C *net, ncclTeam team, uint32_t peer,
                                                  ncclGinRequest_t *outRequest, ncclCoopAny coop,
                                                  uint32_t optFlags, bool isDescriptor,
                                                  ncclGinDescriptorSmem *descriptor)
{
    (void)isDescriptor, (void)descriptor;
    net->flushAsync(team, (int)peer, outRequest, coop, optFlags);
}

__device__ __forceinline__ void ncclGinWait(ncclGin_C *net, ncclGinRequest_t *request,
                                            ncclCoopAny coop, bool isDescriptor,
                                            ncclGinDescriptorSmem *descriptor,
                                            cuda::memory_order ord GSHMEM_SITE)
{
    (void)isDescriptor, (void)descriptor;
    net->wait(*request, coop, ncclGin_None{}, ord GSHMEM_PASS_SITE);
}

__device__ __forceinline__ ncclResult_t ncclGinWaitTimeout(
    ncclGin_C *net, ncclGinRequest_t *request, ncclCoopAny coop, bool isDescriptor,
    ncclGinDescriptorSmem *descriptor, cuda::memory_order ord, uint64_t timeoutCycles GSHMEM_SITE)
{
    (void)isDescriptor, (void)descriptor;
    return net->wait(*request, coop, ncclGin_None{}, ord, timeoutCycles GSHMEM_PASS_SITE);
}

__device__ __forceinline__ void ncclGinFlush(ncclGin_C *net, ncclCoopAny coop,
                                             cuda::memory_order ord GSHMEM_SITE)
{
    net->flush(coop, ord, ncclGin_None() GSHMEM_PASS_SITE);
}

/* ---- signals and counters -------------------------------------------------------------------- */

__device__ __forceinline__ uint64_t ncclGinReadCounter(ncclGin_C *net, ncclGinCounter_t counter,
                                                       int bits, cuda::memory_order ord)
{
    return net->readCounter(counter, bits, ord);
}

__device__ __forceinline__ void ncclGinWaitCounter(ncclGin_C *net, ncclCoopAny coop,
                                                   ncclGinCounter_t counter, uint64_t least,
                                                   int bits, cuda::memory_order ord GSHMEM_SITE)
{
    net->waitCounter(coop, counter, least, bits, ord GSHMEM_PASS_SITE);
}

__device__ __forceinline__ ncclResult_t ncclGinWaitCounterTimeout(
    ncclGin_C *net, ncclCoopAny coop, ncclGinCounter_t counter, uint64_t least, int bits,
    cuda::memory_order ord, uint64_t timeoutCycles GSHMEM_SITE)
{
    return net->waitCounter(coop, counter, least, bits, ord, timeoutCycles GSHMEM_PASS_SITE);
}

__device__ __forceinline__ void ncclGinResetCounter(ncclGin_C *net, ncclGinCounter_t counter)
{
    net->resetCounter(counter);
}

__device__ __forceinline__ uint64_t ncclGinReadSignal(ncclGin_C *net, ncclGinSignal_t signal,
                                                      int bits, cuda::memory_order ord)
{
    return net->readSignal(signal, bits, ord);
}

__device__ __forceinline__ void ncclGinWaitSignal(ncclGin_C *net, ncclCoopAny coop,
                                                  ncclGinSignal_t signal, uint64_t least, int bits,
                                                  cuda::memory_order ord GSHMEM_SITE)
{
    net->waitSignal(coop, signal, least, bits, ord GSHMEM_PASS_SITE);
}

__device__ __forceinline__ void ncclGinResetSignal(ncclGin_C *net, ncclGinSignal_t signal)
{
    net->resetSignal(signal);
}

__device__ __forceinline__ uint64_t *ncclGinGetSignalShadowPtr(ncclGin_C *net,
                                                               ncclGinSignal_t signal)
{
    return net->getSignalShadowPtr(signal);
}

__device__ __forceinline__ ncclResult_t ncclGinWaitSignalTimeout(ncclGin_C *net, ncclCoopAny coop,
                                                                 ncclGinSignal_t signal,
                                                                 uint64_t least, int bits,
                                                                 cuda::memory_order ord,
                                                                 uint64_t timeoutCycles GSHMEM_SITE)
{
    return net->waitSignal(coop, signal, least, bits, ord, timeoutCycles GSHMEM_PASS_SITE);
}

__device__ __forceinline__ void ncclGinIncreaseSignalShadow(ncclGin_C *net, ncclGinSignal_t signal,
                                                            uint64_t delta)
{
    net->increaseSignalShadow(signal, delta);
}

__device__ __forceinline__ void ncclGinWaitSignalMeetShadow(ncclGin_C *net, ncclCoopAny coop,
                                                            ncclGinSignal_t signal, int bits,
                                                            cuda::memory_order ord GSHMEM_SITE)
{
    net->waitSignalMeetShadow(coop, signal, bits, ord GSHMEM_PASS_SITE);
}

__device__ __forceinline__ void ncclGinWaitSignalFollowShadow(ncclGin_C *net, ncclCoopAny coop,
                                                              ncclGinSignal_t signal,
                                                              uint64_t leastDelta, uint64_t *before,
                                                              uint64_t *delta, int bits,
                                                              cuda::memory_order ord GSHMEM_SITE)
{
    net->waitSignalFollowShadow(coop, signal, leastDelta, before, delta, bits,
                                ord GSHMEM_PASS_SITE);
}

/* ---- signals by window and offset ------------------------------------------------------------ */

__device__ __forceinline__ uint64_t ncclGinReadSignalVA(ncclGin_C *net, ncclWindow_t signalWindow,
                                                        size_t signalOffset, int bits,
                                                        cuda::memory_order ord)
{
    return net->readSignal(signalWindow, signalOffset, bits, ord);
}

__device__ __forceinline__ void ncclGinWaitSignalVA(ncclGin_C *net, ncclCoopAny coop,
                                                    ncclWindow_t signalWindow, size_t signalOffset,
                                                    uint64_t least, int bits,
                                                    cuda::memory_order ord GSHMEM_SITE)
{
    net->waitSignal(coop, signalWindow, signalOffset, least, bits, ord GSHMEM_PASS_SITE);
}

__device__ __forceinline__ ncclResult_t ncclGinWaitSignalTimeoutVA(
    ncclGin_C *net, ncclCoopAny coop, ncclWindow_t signalWindow, size_t signalOffset,
    uint64_t least, int bits, cuda::memory_order ord, uint64_t timeoutCycles GSHMEM_SITE)
{
    return net->waitSignal(coop, signalWindow, signalOffset, least, bits, ord,
                           timeoutCycles GSHMEM_PASS_SITE);
}

__device__ __forceinline__ void ncclGinResetSignalVA(ncclGin_C *net, ncclWindow_t signalWindow,
                                                     size_t signalOffset)
{
    net->resetSignal(signalWindow, signalOffset);
}

#endif
