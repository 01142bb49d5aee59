/* SPDX-License-Identifier: Apache-2.0
 * Port channels as kernels see them: each call is one thread's and pushes one trigger, which a
 * host's proxy carries out; any number of threads may use one channel.
 *
 * Guarantees: what the thread did and saw before put() is what the put moves. Triggers of one
 * proxy are carried out in the order of their positions; a signal follows the puts of its
 * connection before it, so that the peer's wait() that takes the signal sees their data. When a
 * flush returns, all earlier puts of the connection have arrived, and their sources may be used
 * again; it waits for its own position, so several threads may flush at a time.
 *
 * Sizes are any below 2^32, as are offsets. The proxy checks ranges and numbers of memories; what a
 * trigger has no room for is cut, and reported in checking builds (assert_device.hpp). */
#ifndef MSCCLPP_PORT_CHANNEL_DEVICE_HPP_
#define MSCCLPP_PORT_CHANNEL_DEVICE_HPP_

#include "fifo_device.hpp"
#include "semaphore_device.hpp"

namespace mscclpp
{

/* Numbers that ProxyService gives; below 2^10 and 2^9. */
using SemaphoreId = uint32_t;
using MemoryId = uint32_t;

struct BasePortChannelDeviceHandle {
    SemaphoreId semaphoreId_;
    Host2DeviceSemaphoreDeviceHandle semaphore_;
    FifoDeviceHandle fifo_;
    /* One more than the highest position whose flush is done: in host memory, written by the proxy,
     * or of a near connection in the device's, written behind the connection's copies. Null: a
     * flush is done once its trigger is taken out. */
    uint64_t *flushDonePos_;

    MSCCLPP_INLINE BasePortChannelDeviceHandle() = default;
    MSCCLPP_HOST_DEVICE_INLINE
    BasePortChannelDeviceHandle(SemaphoreId semaphoreId, Host2DeviceSemaphoreDeviceHandle semaphore,
                                FifoDeviceHandle fifo, uint64_t *flushDonePos = nullptr)
        : semaphoreId_(semaphoreId), semaphore_(semaphore), fifo_(fifo), flushDonePos_(flushDonePos)
    {
    }

#if defined(MSCCLPP_DEVICE_COMPILE)
    MSCCLPP_DEVICE_INLINE void put(MemoryId dstId, uint64_t dstOffset, MemoryId srcId,
                                   uint64_t srcOffset, uint64_t size GSHMEM_SITE)
    {
        ask(TriggerData, dstId, dstOffset, srcId, srcOffset, size MSCCLPP_AS("PortChannel::put"));
    }
    MSCCLPP_DEVICE_INLINE void put(MemoryId dstId, MemoryId srcId, uint64_t offset,
                                   uint64_t size GSHMEM_SITE)
    {
        put(dstId, offset, srcId, offset, size GSHMEM_PASS_SITE);
    }

    MSCCLPP_DEVICE_INLINE void signal(GSHMEM_ONLY_SITE)
    {
        ask(TriggerFlag, 0, 0, 0, 0, 1 MSCCLPP_AS("PortChannel::signal"));
    }

    MSCCLPP_DEVICE_INLINE void putWithSignal(MemoryId dstId, uint64_t dstOffset, MemoryId srcId,
                                             uint64_t srcOffset, uint64_t size GSHMEM_SITE)
    {
        ask(TriggerData | TriggerFlag, dstId, dstOffset, srcId, srcOffset,
            size MSCCLPP_AS("PortChannel::putWithSignal"));
    }
    MSCCLPP_DEVICE_INLINE void putWithSignal(MemoryId dstId, MemoryId srcId, uint64_t offset,
                                             uint64_t size GSHMEM_SITE)
    {
        putWithSignal(dstId, offset, srcId, offset, size GSHMEM_PASS_SITE);
    }

    MSCCLPP_DEVICE_INLINE void putWithSignalAndFlush(MemoryId dstId, uint64_t dstOffset,
                                                     MemoryId srcId, uint64_t srcOffset,
                                                     uint64_t size,
                                                     int64_t maxSpinCount = 1000000 GSHMEM_SITE)
    {
        const uint64_t position =
            ask(TriggerData | TriggerFlag | TriggerSync, dstId, dstOffset, srcId, srcOffset,
                size MSCCLPP_AS("PortChannel::putWithSignalAndFlush"));
        awaitFlush(position, maxSpinCount MSCCLPP_AS("PortChannel::putWithSignalAndFlush"));
    }
    MSCCLPP_DEVICE_INLINE void putWithSignalAndFlush(MemoryId dstId, MemoryId srcId,
                                                     uint64_t offset, uint64_t size,
                                                     int64_t maxSpinCount = 1000000 GSHMEM_SITE)
    {
        putWithSignalAndFlush(dstId, offset, srcId, offset, size, maxSpinCount GSHMEM_PASS_SITE);
    }

    MSCCLPP_DEVICE_INLINE void flush(int64_t maxSpinCount = 1000000 GSHMEM_SITE)
    {
        /* It asks for nothing that the thread has written. */
        const uint64_t position =
            fifo_.pushUnordered(ProxyTrigger(TriggerSync, 0, 0, 0, 0, 1, semaphoreId_),
                                1000000 MSCCLPP_AS("PortChannel::flush"));
        awaitFlush(position, maxSpinCount MSCCLPP_AS("PortChannel::flush"));
    }

    MSCCLPP_DEVICE_INLINE bool poll()
    {
        return semaphore_.poll();
    }
    MSCCLPP_DEVICE_INLINE void wait(int64_t maxSpinCount = 10000000 GSHMEM_SITE)
    {
        semaphore_.waitIn(maxSpinCount MSCCLPP_AS("PortChannel::wait"));
    }

    /* Not for programs. */
    MSCCLPP_DEVICE_INLINE uint64_t ask(TriggerType type, MemoryId dstId, uint64_t dstOffset,
                                       MemoryId srcId, uint64_t srcOffset,
                                       uint64_t size MSCCLPP_FOR_CALL)
    {
        detail::checkBelow("a port channel's size", size, 1ull << TriggerBitsSize);
        detail::checkBelow("a port channel's target offset", dstOffset, 1ull << TriggerBitsOffset);
        detail::checkBelow("a port channel's source offset", srcOffset, 1ull << TriggerBitsOffset);
        detail::checkBelow("a port channel's target memory", dstId, 1ull << TriggerBitsMemoryId);
        detail::checkBelow("a port channel's source memory", srcId, 1ull << TriggerBitsMemoryId);
        MSCCLPP_TRACED(true, call, CALL, (type & TriggerData) != 0 ? size : 0, nullptr);
        return fifo_.pushIn(
            ProxyTrigger(type, dstId, dstOffset, srcId, srcOffset, size, semaphoreId_),
            1000000 MSCCLPP_PASS_CALL);
    }
    MSCCLPP_DEVICE_INLINE void awaitFlush(uint64_t position, int64_t maxSpinCount MSCCLPP_FOR_CALL)
    {
        MSCCLPP_TRACED(true, call, CALL, 0, nullptr);
        const uint64_t *const done = flushDonePos_ != nullptr ? flushDonePos_ : fifo_.tail;
        detail::waitWord(fifo_.watch_, detail::flushOf(semaphoreId_), done, position + 1,
                         maxSpinCount MSCCLPP_PASS_CALL);
    }
#endif
};

/* A channel between two registered memories. */
struct PortChannelDeviceHandle : public BasePortChannelDeviceHandle {
    MemoryId dst_;
    MemoryId src_;

    MSCCLPP_INLINE PortChannelDeviceHandle() = default;
    MSCCLPP_HOST_DEVICE_INLINE
    PortChannelDeviceHandle(SemaphoreId semaphoreId, Host2DeviceSemaphoreDeviceHandle semaphore,
                            FifoDeviceHandle fifo, MemoryId dst, MemoryId src,
                            uint64_t *flushDonePos = nullptr)
        : BasePortChannelDeviceHandle(semaphoreId, semaphore, fifo, flushDonePos), dst_(dst),
          src_(src)
    {
    }

#if defined(MSCCLPP_DEVICE_COMPILE)
    MSCCLPP_DEVICE_INLINE void put(uint64_t dstOffset, uint64_t srcOffset,
                                   uint64_t size GSHMEM_SITE)
    {
        BasePortChannelDeviceHandle::put(dst_, dstOffset, src_, srcOffset, size GSHMEM_PASS_SITE);
    }
    MSCCLPP_DEVICE_INLINE void put(uint64_t offset, uint64_t size GSHMEM_SITE)
    {
        put(offset, offset, size GSHMEM_PASS_SITE);
    }

    MSCCLPP_DEVICE_INLINE void putWithSignal(uint64_t dstOffset, uint64_t srcOffset,
                                             uint64_t size GSHMEM_SITE)
    {
        BasePortChannelDeviceHandle::putWithSignal(dst_, dstOffset, src_, srcOffset,
                                                   size GSHMEM_PASS_SITE);
    }
    MSCCLPP_DEVICE_INLINE void putWithSignal(uint64_t offset, uint64_t size GSHMEM_SITE)
    {
        putWithSignal(offset, offset, size GSHMEM_PASS_SITE);
    }

    MSCCLPP_DEVICE_INLINE void putWithSignalAndFlush(uint64_t dstOffset, uint64_t srcOffset,
                                                     uint64_t size,
                                                     int64_t maxSpinCount = 1000000 GSHMEM_SITE)
    {
        BasePortChannelDeviceHandle::putWithSignalAndFlush(dst_, dstOffset, src_, srcOffset, size,
                                                           maxSpinCount GSHMEM_PASS_SITE);
    }
    MSCCLPP_DEVICE_INLINE void putWithSignalAndFlush(uint64_t offset, uint64_t size GSHMEM_SITE)
    {
        putWithSignalAndFlush(offset, offset, size, 1000000 GSHMEM_PASS_SITE);
    }
#endif
};

/* The names of 0.5 and 0.6. In 0.5 the one without "Simple" had no memories. */
using SimpleProxyChannelDeviceHandle = PortChannelDeviceHandle;
using BaseProxyChannelDeviceHandle [[deprecated("today's name is BasePortChannelDeviceHandle")]] =
    BasePortChannelDeviceHandle;
#if defined(MSCCLPP_COMPAT_05)
using ProxyChannelDeviceHandle = BasePortChannelDeviceHandle;

/* What a proxy's handler read a ProxyTrigger as. */
union ChannelTrigger {
    ProxyTrigger value;
    struct {
        uint64_t size : TriggerBitsSize;
        uint64_t srcOffset : TriggerBitsOffset;
        uint64_t dstOffset : TriggerBitsOffset;
        uint64_t srcMemoryId : TriggerBitsMemoryId;
        uint64_t dstMemoryId : TriggerBitsMemoryId;
        uint64_t type : TriggerBitsType;
        uint64_t chanId : TriggerBitsSemaphoreId;
        uint64_t reserved : TriggerBitsFifoReserved;
    } fields;

    MSCCLPP_INLINE ChannelTrigger() = default;
    MSCCLPP_HOST_DEVICE_INLINE ChannelTrigger(ProxyTrigger trigger) : value(trigger) {}
    MSCCLPP_HOST_DEVICE_INLINE ChannelTrigger(TriggerType type, MemoryId dst, uint64_t dstOffset,
                                              MemoryId src, uint64_t srcOffset, uint64_t bytes,
                                              int semaphoreId)
        : value(type, dst, dstOffset, src, srcOffset, bytes, static_cast<uint32_t>(semaphoreId))
    {
    }
};
#else
using ProxyChannelDeviceHandle [[deprecated("today's name is PortChannelDeviceHandle")]] =
    PortChannelDeviceHandle;
#endif

} // namespace mscclpp

#endif
