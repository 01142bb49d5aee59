/* SPDX-License-Identifier: Apache-2.0
 * Packets: data that carry a flag, so that they need neither fence nor signal. Each 4 bytes of data
 * share an aligned word of 8 with the flag, which is seen whole or not at all. A packet's reader
 * waits for a flag that is not 0 and differs from the one that the packet held before.
 *
 * LL16Packet: 8 bytes of data, aligned to 16; LL8Packet: 4 bytes, aligned to 8. Packets lie in
 * global memory. */
#ifndef MSCCLPP_PACKET_DEVICE_HPP_
#define MSCCLPP_PACKET_DEVICE_HPP_

#include <cstdint>
#include <type_traits>
#include "device.hpp"
#if defined(MSCCLPP_DEVICE_COMPILE)
#include "atomic_device.hpp"
#include "poll_device.hpp"
#include "watch_device.hpp"
#endif

namespace mscclpp
{

union alignas(16) LL16Packet {
    __extension__ struct {
        uint32_t data1;
        uint32_t flag1;
        uint32_t data2;
        uint32_t flag2;
    };
#if defined(MSCCLPP_DEVICE_COMPILE)
    using Payload = uint2;
    ulonglong2 raw_;

    MSCCLPP_INLINE LL16Packet() = default;
    MSCCLPP_DEVICE_INLINE LL16Packet(uint2 value, uint32_t flag)
        : data1(value.x), flag1(flag), data2(value.y), flag2(flag)
    {
    }

    MSCCLPP_DEVICE_INLINE void write(uint32_t first, uint32_t second, uint32_t flag)
    {
        const uint64_t mark = (uint64_t)flag << 32;
        gshmem::detail::store_relaxed_words(reinterpret_cast<gshmem::detail::words2 *>(this),
                                            {first | mark, second | mark});
    }
    MSCCLPP_DEVICE_INLINE void write(uint64_t value, uint32_t flag)
    {
        write((uint32_t)value, (uint32_t)(value >> 32), flag);
    }
    MSCCLPP_DEVICE_INLINE void write(uint2 value, uint32_t flag)
    {
        write(value.x, value.y, flag);
    }

    /* True: the packet does not have this flag yet, and value is of no use. */
    MSCCLPP_DEVICE_INLINE bool readOnce(uint32_t flag, uint2 &value) const
    {
        const gshmem::detail::words2 seen = look();
        value.x = (uint32_t)seen.low;
        value.y = (uint32_t)seen.high;
        return !hasFlag(seen, flag);
    }
    /* Waits for the flag. */
    MSCCLPP_DEVICE_INLINE uint2 read(uint32_t flag,
                                     int64_t maxSpinCount = 100000000 GSHMEM_SITE) const
    {
        return readWatched(flag, maxSpinCount, nullptr MSCCLPP_AS("LL16Packet::read"));
    }
    /* Not for programs: read by a wait that ends with that page. */
    MSCCLPP_DEVICE_INLINE uint2 readWatched(uint32_t flag, int64_t maxSpinCount,
                                            detail::Watch *watch MSCCLPP_FOR_CALL) const
    {
        gshmem::detail::words2 seen = look();
        if (!hasFlag(seen, flag))
            detail::waitUntil(
                watch, detail::Awaited::Packet, reinterpret_cast<const uint64_t *>(this), flag,
                maxSpinCount,
                [&] {
                    seen = look();
                    return (seen.low >> 32 == flag) ? seen.high >> 32 : seen.low >> 32;
                },
                [&](uint64_t) { return hasFlag(seen, flag); } MSCCLPP_PASS_CALL);
        return make_uint2((uint32_t)seen.low, (uint32_t)seen.high);
    }
    MSCCLPP_DEVICE_INLINE void clear()
    {
        gshmem::detail::store_relaxed_words(reinterpret_cast<gshmem::detail::words2 *>(this),
                                            {0, 0});
    }

    /* Not for programs. */
    MSCCLPP_DEVICE_INLINE gshmem::detail::words2 look() const
    {
        return gshmem::detail::load_relaxed_words(
            reinterpret_cast<const gshmem::detail::words2 *>(this));
    }
    static MSCCLPP_DEVICE_INLINE bool hasFlag(gshmem::detail::words2 seen, uint32_t flag)
    {
        return seen.low >> 32 == flag && seen.high >> 32 == flag;
    }
#endif
};

union alignas(8) LL8Packet {
    __extension__ struct {
        uint32_t data;
        uint32_t flag;
    };
    uint64_t raw_;
    using Payload = uint32_t;
#if defined(MSCCLPP_DEVICE_COMPILE)
    MSCCLPP_INLINE LL8Packet() = default;
    MSCCLPP_DEVICE_INLINE LL8Packet(uint32_t value, uint32_t mark) : data(value), flag(mark) {}

    MSCCLPP_DEVICE_INLINE void write(uint32_t value, uint32_t mark)
    {
        gshmem::detail::store_relaxed(&raw_, value | (uint64_t)mark << 32);
    }
    /* True: the packet does not have this flag yet. */
    MSCCLPP_DEVICE_INLINE bool readOnce(uint32_t mark, uint32_t &value) const
    {
        const uint64_t seen = gshmem::detail::atomic_load(&raw_);
        value = (uint32_t)seen;
        return seen >> 32 != mark;
    }
    MSCCLPP_DEVICE_INLINE uint32_t read(uint32_t mark,
                                        int64_t maxSpinCount = 1000000 GSHMEM_SITE) const
    {
        return readWatched(mark, maxSpinCount, nullptr MSCCLPP_AS("LL8Packet::read"));
    }
    MSCCLPP_DEVICE_INLINE uint32_t readWatched(uint32_t mark, int64_t maxSpinCount,
                                               detail::Watch *watch MSCCLPP_FOR_CALL) const
    {
        const uint64_t *word = &raw_;
        uint64_t seen = gshmem::detail::atomic_load(word);
        if (seen >> 32 != mark)
            detail::waitUntil(
                watch, detail::Awaited::Packet, word, mark, maxSpinCount,
                [&] {
                    seen = gshmem::detail::atomic_load(word);
                    return seen >> 32;
                },
                [=](uint64_t is) { return is == mark; } MSCCLPP_PASS_CALL);
        return (uint32_t)seen;
    }
    MSCCLPP_DEVICE_INLINE void clear()
    {
        gshmem::detail::store_relaxed(&raw_, (uint64_t)0);
    }
#endif
};

using LLPacket = LL16Packet;

} // namespace mscclpp

#endif
