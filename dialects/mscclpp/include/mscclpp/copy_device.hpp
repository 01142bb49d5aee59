/* SPDX-License-Identifier: Apache-2.0
 * Copies that numThreads threads share: each calls with the same arguments but threadId, its number
 * from 0. They need not belong to one block. No thread waits for another, and there is no order:
 * follow a copy by a synchronisation of its threads and a signal.
 *
 * The copies are those of gshmem's own put and get (device/copy.cuh): any address and number of
 * bytes, best where both sides are aligned to 16. */
#ifndef MSCCLPP_COPY_DEVICE_HPP_
#define MSCCLPP_COPY_DEVICE_HPP_

#include <cstdint>
#include <type_traits>
#include "device.hpp"
#if defined(MSCCLPP_DEVICE_COMPILE)
#include "packet_device.hpp"

namespace mscclpp
{
namespace detail
{

/* The threads of whole warps copy as a block of that many does, others as so many threads alone. */
template <gshmem::detail::direction Direction>
MSCCLPP_DEVICE_INLINE void copyBytes(void *dst, const void *src, uint64_t bytes, uint32_t threadId,
                                     uint32_t numThreads)
{
    using namespace gshmem;
    using namespace gshmem::detail;
    const rank_in_group at = {threadId, numThreads};
    if (numThreads % 32 == 0)
        gshmem::detail::copy<Direction, true, group_block>(at, dst, src, bytes);
    else
        gshmem::detail::copy<Direction, true, group_thread>(at, dst, src, bytes);
}

template <int Alignment>
constexpr bool isAlignment = Alignment == 4 || Alignment == 8 || Alignment == 16;

} // namespace detail

/* From src to dst, one of which may be shared memory or a peer's. A number of bytes that is no
 * multiple of 4 is rounded down, and reported in checking builds (assert_device.hpp). Alignment and
 * CopyRemainder are promises of the caller that this copy does not need. */
template <int Alignment = 16, bool CopyRemainder = true>
MSCCLPP_DEVICE_INLINE void copy(void *dst, const void *src, uint64_t bytes, uint32_t threadId,
                                uint32_t numThreads)
{
    static_assert(detail::isAlignment<Alignment>, "Alignment is 4, 8 or 16");
    detail::checkMultiple("a copy", bytes, 4);
    bytes &= ~(uint64_t)3;
#if defined(__CUDACC__)
    if (!__isGlobal(dst)) {
        detail::copyBytes<gshmem::detail::direction::get>(dst, src, bytes, threadId, numThreads);
        return;
    }
#endif
    detail::copyBytes<gshmem::detail::direction::put>(dst, src, bytes, threadId, numThreads);
}

template <typename T, bool CopyRemainder = true>
MSCCLPP_DEVICE_INLINE void copyHelper(void *dst, const void *src, uint64_t bytes, uint32_t threadId,
                                      uint32_t numThreads)
{
    copy<16, CopyRemainder>(dst, src, bytes, threadId, numThreads);
}

/* One element. */
template <typename T> MSCCLPP_DEVICE_INLINE void write(void *dst, uint64_t index, const T &value)
{
    static_cast<T *>(dst)[index] = value;
}

template <typename T> MSCCLPP_DEVICE_INLINE T read(const void *src, uint64_t index)
{
    return static_cast<const T *>(src)[index];
}

namespace detail
{

/* The data of one packet, at an address aligned as the data are. */
MSCCLPP_DEVICE_INLINE void toPacket(LL16Packet *packet, const void *data, uint64_t i, uint32_t flag)
{
    const uint32_t *words = static_cast<const uint32_t *>(data) + 2 * i;
    packet[i].write(words[0], words[1], flag);
}
MSCCLPP_DEVICE_INLINE void toPacket(LL8Packet *packet, const void *data, uint64_t i, uint32_t flag)
{
    packet[i].write(static_cast<const uint32_t *>(data)[i], flag);
}
MSCCLPP_DEVICE_INLINE void fromPacket(void *data, const LL16Packet *packet, uint64_t i,
                                      uint32_t flag, int64_t maxSpinCount,
                                      Watch *watch MSCCLPP_FOR_CALL)
{
    const uint2 value = packet[i].readWatched(flag, maxSpinCount, watch MSCCLPP_PASS_CALL);
    uint32_t *words = static_cast<uint32_t *>(data) + 2 * i;
    words[0] = value.x;
    words[1] = value.y;
}
MSCCLPP_DEVICE_INLINE void fromPacket(void *data, const LL8Packet *packet, uint64_t i,
                                      uint32_t flag, int64_t maxSpinCount,
                                      Watch *watch MSCCLPP_FOR_CALL)
{
    static_cast<uint32_t *>(data)[i] =
        packet[i].readWatched(flag, maxSpinCount, watch MSCCLPP_PASS_CALL);
}

template <typename PacketType>
constexpr bool isPacket =
    std::is_same_v<PacketType, LL16Packet> || std::is_same_v<PacketType, LL8Packet>;

template <typename PacketType>
MSCCLPP_DEVICE_INLINE void copyFromPackets(void *data, const void *packets, uint64_t bytes,
                                           uint32_t threadId, uint32_t numThreads, uint32_t flag,
                                           int64_t maxSpinCount, Watch *watch MSCCLPP_FOR_CALL)
{
    static_assert(isPacket<PacketType>, "a packet is an LL16Packet or an LL8Packet");
    checkMultiple("a copy from packets", bytes, sizeof(PacketType) / 2);
    const PacketType *from = static_cast<const PacketType *>(packets);
    for (uint64_t i = threadId; i < bytes / (sizeof(PacketType) / 2); i += numThreads)
        fromPacket(data, from, i, flag, maxSpinCount, watch MSCCLPP_PASS_CALL);
}

} // namespace detail

/* Packets with these bytes of data, a multiple of what one packet holds: written to targetPtr,
 * mostly a peer's memory; and the way back, from this side's memory, which waits for each. */
template <typename PacketType = LL16Packet>
MSCCLPP_DEVICE_INLINE void copyToPackets(void *targetPtr, const void *originPtr,
                                         uint64_t originBytes, uint32_t threadId,
                                         uint32_t numThreads, uint32_t flag)
{
    static_assert(detail::isPacket<PacketType>, "a packet is an LL16Packet or an LL8Packet");
    detail::checkMultiple("a copy to packets", originBytes, sizeof(PacketType) / 2);
    PacketType *to = static_cast<PacketType *>(targetPtr);
    for (uint64_t i = threadId; i < originBytes / (sizeof(PacketType) / 2); i += numThreads)
        detail::toPacket(to, originPtr, i, flag);
}

template <typename PacketType = LL16Packet>
MSCCLPP_DEVICE_INLINE void
copyFromPackets(void *originPtr, const void *targetPtr, uint64_t originBytes, uint32_t threadId,
                uint32_t numThreads, uint32_t flag, int64_t maxSpinCount = -1 GSHMEM_SITE)
{
    detail::copyFromPackets<PacketType>(originPtr, targetPtr, originBytes, threadId, numThreads,
                                        flag, maxSpinCount, nullptr MSCCLPP_AS("copyFromPackets"));
}

/* The names of 0.6 and before. */
template <typename PacketType = LL16Packet>
MSCCLPP_DEVICE_INLINE void putPackets(void *targetPtr, uint64_t targetOffset, const void *originPtr,
                                      uint64_t originOffset, uint64_t originBytes,
                                      uint32_t threadId, uint32_t numThreads, uint32_t flag)
{
    copyToPackets<PacketType>(static_cast<char *>(targetPtr) + targetOffset,
                              static_cast<const char *>(originPtr) + originOffset, originBytes,
                              threadId, numThreads, flag);
}

template <typename PacketType = LL16Packet>
MSCCLPP_DEVICE_INLINE void getPackets(const void *targetPtr, uint64_t targetOffset, void *originPtr,
                                      uint64_t originOffset, uint64_t originBytes,
                                      uint32_t threadId, uint32_t numThreads, uint32_t flag,
                                      int64_t maxSpinCount = -1 GSHMEM_SITE)
{
    copyFromPackets<PacketType>(static_cast<char *>(originPtr) + originOffset,
                                static_cast<const char *>(targetPtr) + targetOffset, originBytes,
                                threadId, numThreads, flag, maxSpinCount GSHMEM_PASS_SITE);
}

} // namespace mscclpp

#endif
#endif
