/* SPDX-License-Identifier: Apache-2.0
 * Semaphores as kernels see them. A semaphore counts the signals that have come to this side in
 * *inboundToken, and those that this side has taken in *expectedInboundToken, which only this
 * side's device writes.
 *
 * Guarantees: what the signalling thread did and saw before signal() is seen after the wait() or
 * poll() that takes the signal; the relaxed forms promise nothing. Each wait takes one signal, and
 * any number of threads may wait at a time. A wait ends with a report where the peer has died or
 * the time limit has passed (watch_device.hpp). */
#ifndef MSCCLPP_SEMAPHORE_DEVICE_HPP_
#define MSCCLPP_SEMAPHORE_DEVICE_HPP_

#include "device.hpp"
#include "watch_device.hpp"
#if defined(MSCCLPP_DEVICE_COMPILE)
#include "atomic_device.hpp"
#include "poll_device.hpp"
#endif

namespace mscclpp
{

#if defined(MSCCLPP_DEVICE_COMPILE)
namespace detail
{

/* The number of the signal that the calling thread takes. */
MSCCLPP_DEVICE_INLINE uint64_t nextSignal(uint64_t *expected)
{
    return gshmem::detail::atomic_add(expected, (uint64_t)1) + 1;
}

/* Takes a signal if one has come that nobody has taken. */
MSCCLPP_DEVICE_INLINE bool pollSignal(const uint64_t *inbound, uint64_t *expected)
{
    using namespace gshmem::detail;
    uint64_t taken = load_relaxed(expected);
    const uint64_t come = load_awaited(inbound);
    while (come > taken) {
        const uint64_t before = atomic_compare_swap(expected, taken, taken + 1);
        if (before == taken) {
            acquire_awaited();
            spin_done();
            return true;
        }
        taken = before;
    }
    poll_pause(inbound, come);
    return false;
}

/* Takes the next signal, and waits until it has come. */
template <bool isRelaxed = false>
MSCCLPP_DEVICE_INLINE void awaitSignal(Watch *watch, const uint64_t *inbound, uint64_t *expected,
                                       int64_t maxSpinCount MSCCLPP_FOR_CALL)
{
    const uint64_t number = nextSignal(expected);
    MSCCLPP_TRACED_WAIT(call, inbound, number);
    waitWord<isRelaxed>(watch, Awaited::Signal, inbound, number, maxSpinCount MSCCLPP_PASS_CALL);
}

} // namespace detail
#endif

/* A semaphore that a host signals: a proxy, for the far side's port channel. */
struct Host2DeviceSemaphoreDeviceHandle {
#if defined(MSCCLPP_DEVICE_COMPILE)
    MSCCLPP_DEVICE_INLINE bool poll()
    {
        return detail::pollSignal(inboundToken, expectedInboundToken);
    }
    MSCCLPP_DEVICE_INLINE void wait(int64_t maxSpinCount = 10000000 GSHMEM_SITE)
    {
        waitIn(maxSpinCount MSCCLPP_AS("Semaphore::wait"));
    }
    /* Not for programs: of that call. */
    MSCCLPP_DEVICE_INLINE void waitIn(int64_t maxSpinCount MSCCLPP_FOR_CALL)
    {
        detail::awaitSignal(watch_, inboundToken, expectedInboundToken,
                            maxSpinCount MSCCLPP_PASS_CALL);
    }
#endif

    uint64_t *inboundToken;
    uint64_t *expectedInboundToken;
    detail::Watch *watch_; /* gshmem's own */
};

/* A semaphore that the peer's device signals by its mapping of this side's token. */
struct MemoryDevice2DeviceSemaphoreDeviceHandle {
#if defined(MSCCLPP_DEVICE_COMPILE)
    MSCCLPP_DEVICE_INLINE bool poll()
    {
        return detail::pollSignal(inboundToken, expectedInboundToken);
    }
    MSCCLPP_DEVICE_INLINE void wait(int64_t maxSpinCount = 10000000 GSHMEM_SITE)
    {
        waitIn(maxSpinCount MSCCLPP_AS("Semaphore::wait"));
    }
    /* Not for programs: of that call. */
    MSCCLPP_DEVICE_INLINE void waitIn(int64_t maxSpinCount MSCCLPP_FOR_CALL)
    {
        detail::awaitSignal(watch_, inboundToken, expectedInboundToken,
                            maxSpinCount MSCCLPP_PASS_CALL);
    }
    /* For what needs no data: they are not ordered. */
    MSCCLPP_DEVICE_INLINE void relaxedWait(int64_t maxSpinCount = 10000000 GSHMEM_SITE)
    {
        relaxedWaitIn(maxSpinCount MSCCLPP_AS("Semaphore::relaxedWait"));
    }
    MSCCLPP_DEVICE_INLINE void relaxedWaitIn(int64_t maxSpinCount MSCCLPP_FOR_CALL)
    {
        detail::awaitSignal<true>(watch_, inboundToken, expectedInboundToken,
                                  maxSpinCount MSCCLPP_PASS_CALL);
    }
    MSCCLPP_DEVICE_INLINE void signal()
    {
        /* Pairs with the acquire of wait() and poll(): data before the signal. */
        MSCCLPP_TRACED_SIGNAL("MemoryChannel::signal", remoteInboundToken);
        gshmem::detail::fence_release();
        gshmem::detail::reduce_add(remoteInboundToken, (uint64_t)1);
    }
    MSCCLPP_DEVICE_INLINE void relaxedSignal()
    {
        MSCCLPP_TRACED_SIGNAL("MemoryChannel::relaxedSignal", remoteInboundToken);
        gshmem::detail::reduce_add(remoteInboundToken, (uint64_t)1);
    }
    /* The name of 0.6 and before, for data that are in packets. */
    MSCCLPP_DEVICE_INLINE void signalPacket()
    {
        relaxedSignal();
    }
#endif

    uint64_t *inboundToken;
    uint64_t *expectedInboundToken;
    uint64_t *remoteInboundToken;
    detail::Watch *watch_; /* gshmem's own */
};

/* The barrier of a switch channel's ranks needs multicast memory, which this library does not
 * offer: connectNvlsCollective fails on the host, so no kernel gets a valid handle. */
struct SwitchDevice2DeviceSemaphoreDeviceHandle {
#if defined(MSCCLPP_DEVICE_COMPILE)
    MSCCLPP_DEVICE_INLINE void signal()
    {
        gshmem::detail::spin_done();
    }
    MSCCLPP_DEVICE_INLINE void relaxedSignal()
    {
        signal();
    }
    MSCCLPP_DEVICE_INLINE void wait(int64_t = 10000000)
    {
        signal();
    }
    MSCCLPP_DEVICE_INLINE void relaxedWait(int64_t = 10000000)
    {
        signal();
    }
#endif

    uint64_t *inboundToken;
    uint64_t *expectedInboundToken;
    uint64_t *mcInboundToken;
    int nRanks;
};

using SmDevice2DeviceSemaphoreDeviceHandle
    [[deprecated("today's name is MemoryDevice2DeviceSemaphoreDeviceHandle")]] =
        MemoryDevice2DeviceSemaphoreDeviceHandle;

} // namespace mscclpp

#endif
