/* SPDX-License-Identifier: Apache-2.0
 * Synchronisation of the blocks of one device. Both types are valid when all zero, as __device__
 * variables are. */
#ifndef MSCCLPP_CONCURRENCY_DEVICE_HPP_
#define MSCCLPP_CONCURRENCY_DEVICE_HPP_

#include <cstdint>
#include "atomic_device.hpp"
#include "poll_device.hpp"
#include "watch_device.hpp"

#define NUM_DEVICE_SYNCER_COUNTER 3

namespace mscclpp
{

/* A barrier of blocks that run at the same time.
 *
 * Invariants: barrier number p counts in count_[p mod 3]. A block that has begun p knows that all
 * have left p - 2, since all have arrived at p - 1: so it may clear the counter of p + 1, which was
 * p - 2's. All blocks write the same values. */
struct DeviceSyncer {
    DeviceSyncer() = default;
    ~DeviceSyncer() = default;

#if defined(MSCCLPP_DEVICE_COMPILE)
    /* All threads of blockNum blocks call it. What any of them did before is seen by all after. */
    MSCCLPP_DEVICE_INLINE void sync(int blockNum, int64_t maxSpinCount = 100000000 GSHMEM_SITE)
    {
        using namespace gshmem::detail;
        gshmem::group_block().sync();
        if (blockNum == 1)
            return;
        if (rank_in_block() == 0) {
            const uint32_t now = load_relaxed(&preFlag_) % NUM_DEVICE_SYNCER_COUNTER;
            const uint32_t next = now == NUM_DEVICE_SYNCER_COUNTER - 1 ? 0 : now + 1;
            uint32_t *const count = &count_[now];
            store_relaxed(&count_[next], 0u);
            /* The block's work and the cleared counter come before its arrival; what the others did
             * before theirs, after the wait. */
            fence_gpu();
            reduce_add(count, 1u);
            detail::waitUntil(
                nullptr, detail::Awaited::Nothing, nullptr, (uint64_t)blockNum, maxSpinCount,
                [=] { return (uint64_t)atomic_load(count); },
                [=](uint64_t seen) {
                    return seen == (uint64_t)blockNum;
                } MSCCLPP_AS("DeviceSyncer::sync"));
            fence_gpu();
            store_relaxed(&preFlag_, next);
        }
        gshmem::group_block().sync();
    }
#endif

  private:
    [[maybe_unused]] uint32_t
        count_[NUM_DEVICE_SYNCER_COUNTER]; // used in kernels alone, as are the fields below
    [[maybe_unused]] uint32_t preFlag_;
};

/* A counting semaphore: at most as many holders as it was set to. */
struct DeviceSemaphore {
    DeviceSemaphore() = default;
    MSCCLPP_HOST_DEVICE_INLINE explicit DeviceSemaphore(int initialValue) : semaphore_(initialValue)
    {
    }
    ~DeviceSemaphore() = default;

#if defined(MSCCLPP_DEVICE_COMPILE)
    MSCCLPP_DEVICE_INLINE void set(int value)
    {
        gshmem::detail::store_relaxed(word(), (uint32_t)value);
    }
    /* Waits until it is above 0, and takes 1 from it. Pairs with release(). */
    MSCCLPP_DEVICE_INLINE void acquire(int maxSpinCount = -1 GSHMEM_SITE)
    {
        using namespace gshmem::detail;
        uint32_t *const at = word();
        detail::waitUntil(
            nullptr, detail::Awaited::Nothing, nullptr, 1, maxSpinCount,
            [=] {
                const uint32_t seen = load_relaxed(at);
                return (uint64_t)((int32_t)seen > 0 &&
                                  atomic_compare_swap(at, seen, seen - 1) == seen);
            },
            [](uint64_t isTaken) { return isTaken != 0; } MSCCLPP_AS("DeviceSemaphore::acquire"));
        fence_gpu();
    }
    MSCCLPP_DEVICE_INLINE void release()
    {
        gshmem::detail::fence_gpu();
        gshmem::detail::reduce_add(word(), 1u);
    }
#endif

  private:
#if defined(MSCCLPP_DEVICE_COMPILE)
    MSCCLPP_DEVICE_INLINE uint32_t *word()
    {
        return reinterpret_cast<uint32_t *>(&semaphore_);
    }
#endif
    [[maybe_unused]] int semaphore_;
};

} // namespace mscclpp

#endif
