/* SPDX-License-Identifier: Apache-2.0
 * Memory channels as kernels see them: the device itself reads and writes the peer's memory.
 *
 * put, get and packets are shared by numThreads threads (copy_device.hpp) and neither wait nor
 * order, but for packets, whose flags say that they are there. After a put: synchronise its
 * threads, then one of them signals. wait, poll and signal are one thread's calls
 * (semaphore_device.hpp). Sizes and offsets are multiples of 4 bytes, for packets of what one
 * holds. With -DDEBUG_BUILD or -DGSHMEM_CHECKS=1 sizes are checked, also against the registered
 * memories; otherwise put and get move any number of bytes, and packets leave what fills none. */
#ifndef MSCCLPP_MEMORY_CHANNEL_DEVICE_HPP_
#define MSCCLPP_MEMORY_CHANNEL_DEVICE_HPP_

#include "semaphore_device.hpp"
#if defined(MSCCLPP_DEVICE_COMPILE)
#include "copy_device.hpp"
#include "packet_device.hpp"
#endif

namespace mscclpp
{

/* A channel without memory of its own: for kernels that have the peer's addresses. */
struct BaseMemoryChannelDeviceHandle {
    MemoryDevice2DeviceSemaphoreDeviceHandle semaphore_;

    MSCCLPP_INLINE BaseMemoryChannelDeviceHandle() = default;
    MSCCLPP_HOST_DEVICE_INLINE
    BaseMemoryChannelDeviceHandle(MemoryDevice2DeviceSemaphoreDeviceHandle semaphore)
        : semaphore_(semaphore)
    {
    }

#if defined(MSCCLPP_DEVICE_COMPILE)
    MSCCLPP_DEVICE_INLINE void signal()
    {
        semaphore_.signal();
    }
    MSCCLPP_DEVICE_INLINE void relaxedSignal()
    {
        semaphore_.relaxedSignal();
    }
    MSCCLPP_DEVICE_INLINE void signalPacket()
    {
        semaphore_.relaxedSignal();
    }
    MSCCLPP_DEVICE_INLINE bool poll()
    {
        return semaphore_.poll();
    }
    MSCCLPP_DEVICE_INLINE void wait(int64_t maxSpinCount = 10000000 GSHMEM_SITE)
    {
        semaphore_.waitIn(maxSpinCount MSCCLPP_AS("MemoryChannel::wait"));
    }
    MSCCLPP_DEVICE_INLINE void relaxedWait(int64_t maxSpinCount = 10000000 GSHMEM_SITE)
    {
        semaphore_.relaxedWaitIn(maxSpinCount MSCCLPP_AS("MemoryChannel::relaxedWait"));
    }
#endif
};

struct MemoryChannelDeviceHandle : public BaseMemoryChannelDeviceHandle {
    void *dst_; /* the peer's, by this device's mapping */
    void *src_;
    void *packetBuffer_;
    uint64_t dstBytes_, srcBytes_; /* gshmem's own: of both memories; 0: not known */

    MSCCLPP_INLINE MemoryChannelDeviceHandle() = default;
    MSCCLPP_HOST_DEVICE_INLINE
    MemoryChannelDeviceHandle(MemoryDevice2DeviceSemaphoreDeviceHandle semaphore, void *dst,
                              void *src, void *packetBuffer, uint64_t dstBytes = 0,
                              uint64_t srcBytes = 0)
        : BaseMemoryChannelDeviceHandle(semaphore), dst_(dst), src_(src),
          packetBuffer_(packetBuffer), dstBytes_(dstBytes), srcBytes_(srcBytes)
    {
    }

#if defined(MSCCLPP_DEVICE_COMPILE)
    /* One element of the peer's memory. */
    template <typename T> MSCCLPP_DEVICE_INLINE T read(uint64_t index)
    {
        checkElement<T>("a memory channel's read", index);
        return mscclpp::read<T>(dst_, index);
    }
    template <typename T> MSCCLPP_DEVICE_INLINE void write(uint64_t index, const T &value)
    {
        checkElement<T>("a memory channel's write", index);
        mscclpp::write<T>(dst_, index, value);
    }

    /* From src_ to dst_. */
    template <int Alignment = 16, bool CopyRemainder = true>
    MSCCLPP_DEVICE_INLINE void put(uint64_t targetOffset, uint64_t originOffset,
                                   uint64_t originBytes, uint32_t threadId, uint32_t numThreads)
    {
        static_assert(detail::isAlignment<Alignment>, "Alignment is 4, 8 or 16");
        check("a memory channel's put", targetOffset, originBytes, originOffset, originBytes, 4);
        MSCCLPP_TRACED(threadId == 0, "MemoryChannel::put", CALL, originBytes,
                       static_cast<char *>(dst_) + targetOffset);
        detail::copyBytes<gshmem::detail::direction::put>(static_cast<char *>(dst_) + targetOffset,
                                                          static_cast<char *>(src_) + originOffset,
                                                          originBytes, threadId, numThreads);
    }
    template <int Alignment = 16, bool CopyRemainder = true>
    MSCCLPP_DEVICE_INLINE void put(uint64_t offset, uint64_t bytes, uint32_t threadId,
                                   uint32_t numThreads)
    {
        put<Alignment, CopyRemainder>(offset, offset, bytes, threadId, numThreads);
    }

    /* From dst_ to src_. */
    template <int Alignment = 16, bool CopyRemainder = true>
    MSCCLPP_DEVICE_INLINE void get(uint64_t targetOffset, uint64_t originOffset,
                                   uint64_t originBytes, uint32_t threadId, uint32_t numThreads)
    {
        static_assert(detail::isAlignment<Alignment>, "Alignment is 4, 8 or 16");
        check("a memory channel's get", targetOffset, originBytes, originOffset, originBytes, 4);
        MSCCLPP_TRACED(threadId == 0, "MemoryChannel::get", GET, originBytes,
                       static_cast<char *>(dst_) + targetOffset);
        detail::copyBytes<gshmem::detail::direction::get>(static_cast<char *>(src_) + originOffset,
                                                          static_cast<char *>(dst_) + targetOffset,
                                                          originBytes, threadId, numThreads);
    }
    template <int Alignment = 16, bool CopyRemainder = true>
    MSCCLPP_DEVICE_INLINE void get(uint64_t offset, uint64_t bytes, uint32_t threadId,
                                   uint32_t numThreads)
    {
        get<Alignment, CopyRemainder>(offset, offset, bytes, threadId, numThreads);
    }

    /* Packets in dst_, from data in src_. */
    template <typename PacketType = LL16Packet>
    MSCCLPP_DEVICE_INLINE void putPackets(uint64_t targetOffset, uint64_t originOffset,
                                          uint64_t originBytes, uint32_t threadId,
                                          uint32_t numThreads, uint32_t flag)
    {
        check("a memory channel's putPackets", targetOffset, detail::times(originBytes, 2),
              originOffset, originBytes, sizeof(PacketType) / 2);
        MSCCLPP_TRACED(threadId == 0, "MemoryChannel::putPackets", CALL, originBytes,
                       static_cast<char *>(dst_) + targetOffset);
        copyToPackets<PacketType>(static_cast<char *>(dst_) + targetOffset,
                                  static_cast<char *>(src_) + originOffset, originBytes, threadId,
                                  numThreads, flag);
    }
    /* One packet of packetBuffer_, which the peer writes; waits for it. */
    template <typename PacketType = LL16Packet>
    MSCCLPP_DEVICE_INLINE auto unpackPacket(uint64_t index, uint32_t flag,
                                            int64_t maxSpinCount = -1 GSHMEM_SITE)
    {
        return static_cast<const PacketType *>(packetBuffer_)[index].readWatched(
            flag, maxSpinCount, semaphore_.watch_ MSCCLPP_AS("MemoryChannel::unpackPacket"));
    }
    /* Data in src_, from packets in packetBuffer_. */
    template <typename PacketType = LL16Packet>
    MSCCLPP_DEVICE_INLINE void unpackPackets(uint64_t targetOffset, uint64_t originOffset,
                                             uint64_t originBytes, uint32_t threadId,
                                             uint32_t numThreads, uint32_t flag,
                                             int64_t maxSpinCount = -1 GSHMEM_SITE)
    {
        check("a memory channel's unpackPackets", 0, 0, originOffset, originBytes,
              sizeof(PacketType) / 2);
        MSCCLPP_TRACED(threadId == 0, "MemoryChannel::unpackPackets", CALL, originBytes, nullptr);
        detail::copyFromPackets<PacketType>(
            static_cast<char *>(src_) + originOffset,
            static_cast<const char *>(packetBuffer_) + targetOffset, originBytes, threadId,
            numThreads, flag, maxSpinCount,
            semaphore_.watch_ MSCCLPP_AS("MemoryChannel::unpackPackets"));
    }
    /* The name of 0.6 and before. */
    template <typename PacketType = LL16Packet>
    MSCCLPP_DEVICE_INLINE void getPackets(uint64_t targetOffset, uint64_t originOffset,
                                          uint64_t originBytes, uint32_t threadId,
                                          uint32_t numThreads, uint32_t flag,
                                          int64_t maxSpinCount = -1 GSHMEM_SITE)
    {
        unpackPackets<PacketType>(targetOffset, originOffset, originBytes, threadId, numThreads,
                                  flag, maxSpinCount GSHMEM_PASS_SITE);
    }

    /* Not for programs. */
    MSCCLPP_DEVICE_INLINE void check(const char *call, uint64_t dstOffset, uint64_t dstBytes,
                                     uint64_t srcOffset, uint64_t srcBytes, uint64_t multiple)
    {
        detail::checkMultiple(call, srcBytes, multiple);
        detail::checkRange(call, dstOffset, dstBytes, dstBytes_);
        detail::checkRange(call, srcOffset, srcBytes, srcBytes_);
    }
    template <typename T> MSCCLPP_DEVICE_INLINE void checkElement(const char *call, uint64_t index)
    {
        detail::checkRange(call, detail::times(index, sizeof(T)), sizeof(T), dstBytes_);
    }
#endif
};

using SmChannelDeviceHandle [[deprecated("today's name is MemoryChannelDeviceHandle")]] =
    MemoryChannelDeviceHandle;

} // namespace mscclpp

#endif
