/* SPDX-License-Identifier: Apache-2.0
 * The FIFO of triggers, kernels' side: any number of threads push, one host thread takes them out
 * (fifo.hpp), in the order of their positions.
 *
 * Invariants
 * - head is the number of positions that threads have reserved; tail of those that the host has
 *   taken out; tailCache a value that tail had. So tailCache <= tail <= head. head and tailCache
 *   are in device memory; tail and the slots are host memory that the device maps.
 * - Position p uses slot p mod size, once tail > p - size. It is written there, 16 bytes at once,
 *   with bit 63 of snd 1 in even laps of the ring and 0 in odd ones: the host knows from that bit
 *   whether the slot it comes to is written. Slots are 0 at first and are never cleared, so all
 *   other bits may be anything, also 0.
 * - Room at p needs only that lower positions are written and taken out. Threads of a warp that
 *   push together reserve at most `size` positions at a time, and the room of all of them is
 *   awaited before any writes; so nobody who waits for room keeps another from writing.
 *
 * Guarantee: what the thread did and saw before push() is seen by the host's poll() that finds the
 * trigger, and by what the host then does.
 *
 * What a push costs on an H100, by one thread, back to back: 1.95 us, of which 1.6 us are the
 * fence. It has to be one at system scope, since the data may be in a peer's memory or the host's,
 * and takes that long even when the thread has stored nothing at all; so no other place for it, no
 * release store, and no trigger that goes another way, by the bulk-copy engine, is faster. The rest
 * is one atomic with a result on device memory (0.35 us), and one store of 16 bytes over PCIe,
 * which is not waited for. Threads of a warp that push together share the atomic and the fence, and
 * their stores make 512 bytes. tail is read over PCIe (2.3 us) only when tailCache shows no room:
 * after `size` pushes at the most, 4.6 ns a trigger with 512.
 */
#ifndef MSCCLPP_FIFO_DEVICE_HPP_
#define MSCCLPP_FIFO_DEVICE_HPP_

#include <cstdint>
#include "device.hpp"
#include "watch_device.hpp"
#if defined(MSCCLPP_DEVICE_COMPILE)
#include "atomic_device.hpp"
#include "poll_device.hpp"
#endif

namespace mscclpp
{

/* What a trigger asks of ProxyService: any of these. A proxy of the program's own may give all bits
 * but the last a meaning of its own. */
using TriggerType = uint64_t;
constexpr TriggerType TriggerData = 0x1;
constexpr TriggerType TriggerFlag = 0x2;
constexpr TriggerType TriggerSync = 0x4;

constexpr unsigned int TriggerBitsSize = 32;
constexpr unsigned int TriggerBitsOffset = 32;
constexpr unsigned int TriggerBitsMemoryId = 9;
constexpr unsigned int TriggerBitsType = 3;
constexpr unsigned int TriggerBitsSemaphoreId = 10;
constexpr unsigned int TriggerBitsFifoReserved = 1;

union alignas(16) ProxyTrigger {
    __extension__ struct {
        uint64_t fst;
        uint64_t snd;
    };
    struct {
        uint64_t size : TriggerBitsSize;
        uint64_t srcOffset : TriggerBitsOffset;
        uint64_t dstOffset : TriggerBitsOffset;
        uint64_t srcMemoryId : TriggerBitsMemoryId;
        uint64_t dstMemoryId : TriggerBitsMemoryId;
        uint64_t type : TriggerBitsType;
        uint64_t semaphoreId : TriggerBitsSemaphoreId;
        uint64_t reserved : TriggerBitsFifoReserved; /* the FIFO's */
    } fields;

    MSCCLPP_INLINE ProxyTrigger() = default;
    MSCCLPP_HOST_DEVICE_INLINE ProxyTrigger(uint64_t first, uint64_t second)
        : fst(first), snd(second)
    {
    }
    /* Each value is cut to its bits. */
    MSCCLPP_HOST_DEVICE_INLINE ProxyTrigger(TriggerType type, uint32_t dstId, uint64_t dstOffset,
                                            uint32_t srcId, uint64_t srcOffset, uint64_t bytes,
                                            uint32_t semaphoreId)
    {
        constexpr uint64_t low = (1ull << TriggerBitsOffset) - 1,
                           ids = (1ull << TriggerBitsMemoryId) - 1;
        fst = (bytes & low) | srcOffset << TriggerBitsSize;
        snd = (dstOffset & low) | (srcId & ids) << 32 | (dstId & ids) << 41 | (type & 7) << 50 |
              (uint64_t)(semaphoreId & 1023) << 53;
    }
};

namespace detail
{
/* In snd, of position p in a ring of 2^sizeShift slots. */
constexpr uint64_t lapBit = 1ull << 63;
MSCCLPP_HOST_DEVICE_INLINE uint64_t lapOf(uint64_t position, uint32_t sizeShift)
{
    return ~(position >> sizeShift) << 63;
}
} // namespace detail

struct FifoDeviceHandle {
#if defined(MSCCLPP_DEVICE_COMPILE)
    /* Returns the trigger's position. Waits for room. */
    MSCCLPP_DEVICE_INLINE uint64_t push(ProxyTrigger trigger,
                                        int64_t maxSpinCount = 1000000 GSHMEM_SITE)
    {
        return pushIn(trigger, maxSpinCount MSCCLPP_AS("Fifo::push"));
    }

    /* Not for programs: of that call. */
    MSCCLPP_DEVICE_INLINE uint64_t pushIn(ProxyTrigger trigger,
                                          int64_t maxSpinCount MSCCLPP_FOR_CALL)
    {
        /* Pairs with the acquire of the host's poll. */
        gshmem::detail::fence_release();
        return pushUnordered(trigger, maxSpinCount MSCCLPP_PASS_CALL);
    }

    /* Not for programs: the same, and publishes nothing but the trigger, which still follows those
     * that the thread has pushed or knows to be pushed. */
    MSCCLPP_DEVICE_INLINE uint64_t pushUnordered(ProxyTrigger trigger,
                                                 int64_t maxSpinCount MSCCLPP_FOR_CALL)
    {
        using namespace gshmem::detail;
        const uint32_t here = threads_here();
        if (size_of(here) > 1)
            return pushTogether(*this, trigger, here, maxSpinCount MSCCLPP_PASS_CALL);
        const uint64_t cached = load_relaxed(tailCache), position = atomic_add(head, (uint64_t)1);
        if (position - cached >= (uint64_t)size)
            awaitRoom(*this, position, maxSpinCount MSCCLPP_PASS_CALL);
        write(position, trigger);
        return position;
    }

    /* Whether the host has taken out this position. */
    MSCCLPP_DEVICE_INLINE bool poll(uint64_t position)
    {
        const uint64_t taken = gshmem::detail::load_acquire(tail);
        if (taken > position) {
            gshmem::detail::spin_done();
            return true;
        }
        gshmem::detail::poll_pause(tail, taken);
        return false;
    }

    /* Waits until then. What the host did before it took the trigger out is seen. */
    MSCCLPP_DEVICE_INLINE void sync(uint64_t position, int64_t maxSpinCount = 1000000 GSHMEM_SITE)
    {
        detail::waitWord(watch_, detail::Awaited::Consumed, tail, position + 1,
                         maxSpinCount MSCCLPP_AS("Fifo::sync"));
    }

    /* Not for programs: these write to a position that has room, and wait for room. No order is
     * needed between reading tail and the stores to the slot, which depend on what was read. */
    MSCCLPP_DEVICE_INLINE void write(uint64_t position, ProxyTrigger trigger) const
    {
        using namespace gshmem::detail;
        words2 *const slot = reinterpret_cast<words2 *>(triggers + (position & sizeMask));
        const words2 words = {trigger.fst,
                              (trigger.snd & ~detail::lapBit) | detail::lapOf(position, sizeShift)};
        storeTrigger(slot, words);
    }
    static __device__ __noinline__ void awaitRoom(FifoDeviceHandle fifo, uint64_t last,
                                                  int64_t maxSpinCount MSCCLPP_FOR_CALL)
    {
        using namespace gshmem::detail;
        const uint64_t *const tail = fifo.tail;
        const uint64_t needed = last + 1 - (uint64_t)fifo.size;
        const uint64_t seen = detail::waitUntil(
            fifo.watch_, detail::Awaited::Room, tail, last, maxSpinCount,
            [=] { return load_relaxed(tail); },
            [=](uint64_t taken) { return taken >= needed; } MSCCLPP_PASS_CALL);
        store_relaxed(fifo.tailCache, seen);
    }
    /* By the threads of the warp in `here`, which all come here. */
    static __device__ __noinline__ uint64_t pushTogether(FifoDeviceHandle fifo,
                                                         ProxyTrigger trigger, uint32_t here,
                                                         int64_t maxSpinCount MSCCLPP_FOR_CALL)
    {
        using namespace gshmem::detail;
        uint64_t position = 0;
        GSHMEM_NO_UNROLL
        for (uint32_t waiting = here; waiting != 0;) {
            const uint32_t group = lowestOf(waiting, (uint32_t)fifo.size);
            waiting &= ~group;
            if (!is_in(group))
                continue;
            if (rank_in(group) == 0) {
                const uint64_t cached = load_relaxed(fifo.tailCache);
                position = atomic_add(fifo.head, (uint64_t)size_of(group));
                const uint64_t last = position + size_of(group) - 1;
                if (last - cached >= (uint64_t)fifo.size)
                    awaitRoom(fifo, last, maxSpinCount MSCCLPP_PASS_CALL);
            }
            position = of_first(group, position) + rank_in(group);
            fifo.write(position, trigger);
        }
        return position;
    }
    /* The lowest threads of the mask, at most n. */
    static MSCCLPP_DEVICE_INLINE uint32_t lowestOf(uint32_t mask, uint32_t n)
    {
        uint32_t rest = mask;
        GSHMEM_NO_UNROLL
        while (gshmem::detail::size_of(mask & ~rest) < n && rest != 0 && n < 32)
            rest &= rest - 1;
        return n < 32 ? mask & ~rest : mask;
    }
    /* Both words at once on a GPU; on the CPU device the one with the lap bit second. */
    static MSCCLPP_DEVICE_INLINE void storeTrigger(gshmem::detail::words2 *slot,
                                                   gshmem::detail::words2 words)
    {
#if defined(__CUDACC__)
        gshmem::detail::store_relaxed_words(slot, words);
#else
        gshmem::detail::store_relaxed(&slot->low, words.low);
#if defined(GSHMEM_CPU_TSAN)
        __sync_synchronize();
#else
        __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
        gshmem::detail::store_relaxed(&slot->high, words.high);
        gshmemx_cpu_progress();
#endif
    }
#endif

    ProxyTrigger *triggers;
    uint64_t *head;
    uint64_t *tail;
    uint64_t *tailCache;
    int size; /* a power of two */
    uint32_t sizeMask;
    uint32_t sizeShift;
    detail::Watch *watch_; /* gshmem's own */
};

} // namespace mscclpp

#endif
