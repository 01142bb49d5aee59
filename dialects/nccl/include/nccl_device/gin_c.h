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

} // namespace nccl
} // namespace gshmem

/* ---- transfers: isSignal and isCounter say whether there is an action at all ----------------- */

__device__ __forceinline__ void
ncclGinPut_v2(ncclGin_C *net, ncclTeam team, int peer, ncclWindow_t dstWin, size_t dstOffset,
              ncclWindow_t srcWin, size_t srcOffset, size_t bytes, bool isSignal,
              ncclGinSignal_t signalId, ncclGinSignalOp_t signalOp, uint64_t signalOpArg,
              bool isCounter, ncclGinCounter_t counterId, ncclCoopAny coop, bool isDescriptor,
              ncclGinDescriptorSmem *descriptor, cuda::thread_scope givenRelease,
              cuda::thread_scope requiredRelease, uint32_t optFlags)
{
    (void)isDescriptor, (void)descriptor;
    gshmem::nccl::with_signal(isSignal, signalId, signalOp, signalOpArg, [&](auto action) {
        if (isCounter)
            net->put(team, peer, dstWin, dstOffset, srcWin, srcOffset, bytes, action,
                     ncclGin_CounterInc{counterId}, coop, ncclGin_None{}, givenRelease,
                     requiredRelease, optFlags);
        else
            net->put(team, peer, dstWin, dstOffset, srcWin, srcOffset, bytes, action,
                     ncclGin_None{}, coop, ncclGin_None{}, givenRelease, requiredRelease, optFlags);
    });
}

__device__ __forceinline__ void
ncclGinPut(ncclGin_C *net, ncclTeam team, int peer, ncclWindow_t dstWin, size_t dstOffset,
           ncclWindow_t srcWin, size_t srcOffset, size_t bytes, bool isSignal,
           ncclGinSignal_t signalId, ncclGinSignalOp_t signalOp, uint64_t signalOpArg,
           bool isCounter, ncclGinCounter_t counterId, ncclCoopAny coop, bool isDescriptor,
           ncclGinDescriptorSmem *descriptor, cuda::thread_scope givenRelease,
           cuda::thread_scope requiredRelease)
{
    ncclGinPut_v2(net, team, peer, dstWin, dstOffset, srcWin, srcOffset, bytes, isSignal, signalId,
                  signalOp, signalOpArg, isCounter, counterId, coop, isDescriptor, descriptor,
                  givenRelease, requiredRelease, ncclGinOptFlagsDefault);
}

/* The low `size` bytes of value: 1, 2, 4 or 8 of them. */
__device__ __forceinline__ void ncclGinPutValue_v2(
    ncclGin_C *net, ncclTeam team, int peer, ncclWindow_t dstWin, size_t dstOffset, uint64_t value,
    size_t size, bool isSignal, ncclGinSignal_t signalId, ncclGinSignalOp_t signalOp,
    uint64_t signalOpArg, ncclCoopAny coop, bool isDescriptor, ncclGinDescriptorSmem *descriptor,
    cuda::thread_scope givenRelease, cuda::thread_scope requiredRelease, uint32_t optFlags)
{
    (void)isDescriptor, (void)descriptor, (void)givenRelease, (void)requiredRelease, (void)optFlags;
    gshmem::nccl::with_signal(isSignal, signalId, signalOp, signalOpArg, [&](auto action) {
        if (size == 1)
            net->putValue(team, peer, dstWin, dstOffset, (uint8_t)value, action, coop);
        else if (size == 2)
            net->putValue(team, peer, dstWin, dstOffset, (uint16_t)value, action, coop);
        else if (size == 4)
            net->putValue(team, peer, dstWin, dstOffset, (uint32_t)value, action, coop);
        else
            net->putValue(team, peer, dstWin, dstOffset, value, action, coop);
    });
}

__device__ __forceinline__ void
ncclGinPutValue(ncclGin_C *net, ncclTeam team, int peer, ncclWindow_t dstWin, size_t dstOffset,
                uint64_t value, size_t size, bool isSignal, ncclGinSignal_t signalId,
                ncclGinSignalOp_t signalOp, uint64_t signalOpArg, ncclCoopAny coop,
                bool isDescriptor, ncclGinDescriptorSmem *descriptor,
                cuda::thread_scope givenRelease, cuda::thread_scope requiredRelease)
{
    ncclGinPutValue_v2(net, team, peer, dstWin, dstOffset, value, size, isSignal, signalId,
                       signalOp, signalOpArg, coop, isDescriptor, descriptor, givenRelease,
                       requiredRelease, ncclGinOptFlagsDefault);
}

__device__ __forceinline__ void
ncclGinSignal_v2(ncclGin_C *net, ncclTeam team, int peer, bool isSignal, ncclGinSignal_t signalId,
                 ncclGinSignalOp_t signalOp, uint64_t signalOpArg, ncclCoopAny coop,
                 bool isDescriptor, ncclGinDescriptorSmem *descriptor,
                 cuda::thread_scope givenRelease, cuda::thread_scope requiredRelease,
                 uint32_t optFlags)
{
    (void)isDescriptor, (void)descriptor, (void)givenRelease, (void)requiredRelease, (void)optFlags;
    if (isSignal)
        net->signal(team, peer,
                    ncclGin_SignalAdd{signalId, signalOp == ncclGinSignalInc ? 1 : signalOpArg},
                    coop);
}

__device__ __forceinline__ void
ncclGinSignal(ncclGin_C *net, ncclTeam team, int peer, bool isSignal, ncclGinSignal_t signalId,
              ncclGinSignalOp_t signalOp, uint64_t signalOpArg, ncclCoopAny coop, bool isDescriptor,
              ncclGinDescriptorSmem *descriptor, cuda::thread_scope givenRelease,
              cuda::thread_scope requiredRelease)
{
    ncclGinSignal_v2(net, team, peer, isSignal, signalId, signalOp, signalOpArg, coop, isDescriptor,
                     descriptor, givenRelease, requiredRelease, ncclGinOptFlagsDefault);
}

__device__ __forceinline__ void ncclGinFlush(ncclGin_C *net, ncclCoopAny coop,
                                             cuda::memory_order ord)
{
    net->flush(coop, ord);
}

/* ---- signals and counters -------------------------------------------------------------------- */

__device__ __forceinline__ uint64_t ncclGinReadCounter(ncclGin_C *net, ncclGinCounter_t counter,
                                                       int bits, cuda::memory_order ord)
{
    return net->readCounter(counter, bits, ord);
}

__device__ __forceinline__ void ncclGinWaitCounter(ncclGin_C *net, ncclCoopAny coop,
                                                   ncclGinCounter_t counter, uint64_t least,
                                                   int bits, cuda::memory_order ord)
{
    net->waitCounter(coop, counter, least, bits, ord);
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
                                                  cuda::memory_order ord)
{
    net->waitSignal(coop, signal, least, bits, ord);
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

#endif
