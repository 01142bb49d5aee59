/* SPDX-License-Identifier: Apache-2.0
 * The bulk-copy engine of compute capability 9.0 or newer, between shared memory and global memory,
 * a peer's too. Addresses and sizes are multiples of 16. Calls are one thread's.
 *
 * The engine is a proxy of its own: bulkFence() orders a thread's accesses to shared memory against
 * the engine's: after writing what a store is to read, after a load is complete and before reading
 * it, and after relaxedInit(). Loads complete at a BulkBarrier in shared memory; stores join the
 * thread's group, which bulkStoreCommit() closes. After bulkStoreWait() they are there, and count
 * as the thread's own for its signals; after bulkStoreWaitSource() only their source may be used
 * again.
 *
 * On the CPU device each copy is made at once, by the calling thread. */
#ifndef MSCCLPP_BULK_DEVICE_HPP_
#define MSCCLPP_BULK_DEVICE_HPP_

#include <cstdint>
#include <type_traits>
#include "assert_device.hpp"
#include "device.hpp"
#include "poll_device.hpp"

#if defined(MSCCLPP_DEVICE_COMPILE)
#include <cuda_bf16.h>
#endif

/* 1: the functions below exist in this compilation. */
#if defined(MSCCLPP_DEVICE_COMPILE) && !defined(__CUDACC__)
#define MSCCLPP_BULK_AVAILABLE 1
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define MSCCLPP_BULK_AVAILABLE 1
#else
#define MSCCLPP_BULK_AVAILABLE 0
#endif

namespace mscclpp
{

enum class BulkRedOp { Add };

#if MSCCLPP_BULK_AVAILABLE
namespace detail
{

template <typename> constexpr bool isNoBulkType = false;

MSCCLPP_DEVICE_INLINE void checkBulk([[maybe_unused]] const void *dst,
                                     [[maybe_unused]] const void *src,
                                     [[maybe_unused]] uint32_t bytes)
{
    MSCCLPP_ASSERT_DEVICE(
        ((reinterpret_cast<uintptr_t>(dst) | reinterpret_cast<uintptr_t>(src) | bytes) & 15) == 0,
        "a bulk copy's addresses and size are multiples of 16");
}

} // namespace detail
#endif

/* 8 bytes on every compiler. A phase ends when as many threads as init said have arrived and all
 * bytes that they expect have come. All expectations of a phase come before its last arrival. */
struct BulkBarrier {
#if MSCCLPP_BULK_AVAILABLE
    MSCCLPP_DEVICE_INLINE void init(uint32_t arriveCount = 1)
    {
        relaxedInit(arriveCount);
        fence();
    }
    /* phase: 0 at first, kept by the caller; it changes when the wait is over. */
    MSCCLPP_DEVICE_INLINE void wait(uint32_t &phase, int64_t maxSpinCount = 10000000)
    {
        POLL_MAYBE_JAILBREAK(!poll(phase), maxSpinCount);
        phase ^= 1;
    }

#if defined(__CUDACC__)
    MSCCLPP_DEVICE_INLINE void relaxedInit(uint32_t arriveCount = 1)
    {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arriveCount)
                     : "memory");
    }
    MSCCLPP_DEVICE_INLINE void invalidate()
    {
        asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(address()) : "memory");
    }
    MSCCLPP_DEVICE_INLINE void expect(uint32_t bytes)
    {
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(address()),
                     "r"(bytes)
                     : "memory");
    }
    MSCCLPP_DEVICE_INLINE void arrive()
    {
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
    }
    MSCCLPP_DEVICE_INLINE void arriveAndExpect(uint32_t bytes)
    {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()),
                     "r"(bytes)
                     : "memory");
    }
    MSCCLPP_DEVICE_INLINE bool poll(uint32_t phase)
    {
        uint32_t isDone;
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(isDone)
                     : "r"(address()), "r"(phase & 1)
                     : "memory");
        return isDone != 0;
    }
    /* Not for programs. */
    MSCCLPP_DEVICE_INLINE uint32_t address() const
    {
        return (uint32_t)__cvta_generic_to_shared(&mbar_);
    }
    static MSCCLPP_DEVICE_INLINE void fence()
    {
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
#else
    /* Bits 0-15: arrivals still to come; 16-31: of a whole phase; 32: the phase. The threads of a
     * block run one at a time; a load has come before the thread that made it arrives. */
    void relaxedInit(uint32_t arriveCount = 1)
    {
        store(arriveCount * 0x10001ull);
    }
    void invalidate()
    {
        store(0);
    }
    void expect(uint32_t) {}
    void arrive()
    {
        const uint64_t is = load(), left = (is & 0xffff) - 1;
        if (left != 0)
            store((is & ~0xffffull) | left);
        else
            store(((is ^ 1ull << 32) & ~0xffffull) | (is >> 16 & 0xffff));
    }
    void arriveAndExpect(uint32_t)
    {
        arrive();
    }
    bool poll(uint32_t phase)
    {
        return (load() >> 32 & 1) != (phase & 1);
    }
    static void fence() {}

  private:
    uint64_t load() const
    {
        return __atomic_load_n(&mbar_, __ATOMIC_ACQUIRE);
    }
    void store(uint64_t value)
    {
        __atomic_store_n(&mbar_, value, __ATOMIC_RELEASE);
        gshmemx_cpu_progress();
    }
#endif
#endif

  private:
    [[maybe_unused]] alignas(8) uint64_t mbar_; // used in kernels alone
};

#if MSCCLPP_BULK_AVAILABLE

MSCCLPP_DEVICE_INLINE void bulkFence()
{
    BulkBarrier::fence();
}

#if defined(__CUDACC__)

MSCCLPP_DEVICE_INLINE void bulkLoad(void *dstShared, const void *srcGlobal, uint32_t bytes,
                                    BulkBarrier &barrier)
{
    detail::checkBulk(dstShared, srcGlobal, bytes);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                 "%2, [%3];" ::"r"((uint32_t)__cvta_generic_to_shared(dstShared)),
                 "l"(__cvta_generic_to_global(srcGlobal)), "r"(bytes), "r"(barrier.address())
                 : "memory");
}

MSCCLPP_DEVICE_INLINE void bulkStore(void *dstGlobal, const void *srcShared, uint32_t bytes)
{
    detail::checkBulk(dstGlobal, srcShared, bytes);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                     __cvta_generic_to_global(dstGlobal)),
                 "r"((uint32_t)__cvta_generic_to_shared(srcShared)), "r"(bytes)
                 : "memory");
}

/* Adds the elements of srcShared to those of dstGlobal, each by itself at once. */
template <typename T, BulkRedOp Op = BulkRedOp::Add>
MSCCLPP_DEVICE_INLINE void bulkReduceStore(void *dstGlobal, const void *srcShared, uint32_t bytes)
{
    detail::checkBulk(dstGlobal, srcShared, bytes);
#define MSCCLPP_REDUCE(SUFFIX)                                                                    \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add." SUFFIX " [%0], [%1], " \
                 "%2;" ::"l"(__cvta_generic_to_global(dstGlobal)),                                \
                 "r"((uint32_t)__cvta_generic_to_shared(srcShared)), "r"(bytes)                   \
                 : "memory")
    if constexpr (std::is_same_v<T, float>)
        MSCCLPP_REDUCE("f32");
    else if constexpr (std::is_same_v<T, __nv_bfloat16>)
        MSCCLPP_REDUCE("noftz.bf16");
    else if constexpr (std::is_same_v<T, uint32_t>)
        MSCCLPP_REDUCE("u32");
    else
        static_assert(detail::isNoBulkType<T>, "float, __nv_bfloat16 or uint32_t");
#undef MSCCLPP_REDUCE
}

MSCCLPP_DEVICE_INLINE void bulkStoreCommit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* At most PendingGroups of the thread's groups are under way afterwards. */
template <uint32_t PendingGroups = 0> MSCCLPP_DEVICE_INLINE void bulkStoreWait()
{
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(PendingGroups) : "memory");
}

template <uint32_t PendingGroups = 0> MSCCLPP_DEVICE_INLINE void bulkStoreWaitSource()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PendingGroups) : "memory");
}

#else

inline void bulkLoad(void *dstShared, const void *srcGlobal, uint32_t bytes, BulkBarrier &)
{
    detail::checkBulk(dstShared, srcGlobal, bytes);
    memcpy(dstShared, srcGlobal, bytes);
}

inline void bulkStore(void *dstGlobal, const void *srcShared, uint32_t bytes)
{
    detail::checkBulk(dstGlobal, srcShared, bytes);
    memcpy(dstGlobal, srcShared, bytes);
}

namespace detail
{
/* *p += v, at once. Word: the integer of T's size. */
template <typename Word, typename T> inline void addOne(void *at, T v)
{
    Word *const p = static_cast<Word *>(at);
    Word old = __atomic_load_n(p, __ATOMIC_RELAXED), sum;
    do {
        T is;
        memcpy(&is, &old, sizeof is);
        if constexpr (std::is_same_v<T, __nv_bfloat16>)
            is = __float2bfloat16(__bfloat162float(is) + __bfloat162float(v));
        else
            is = is + v;
        memcpy(&sum, &is, sizeof sum);
    } while (!__atomic_compare_exchange_n(p, &old, sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}
} // namespace detail

template <typename T, BulkRedOp Op = BulkRedOp::Add>
inline void bulkReduceStore(void *dstGlobal, const void *srcShared, uint32_t bytes)
{
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, __nv_bfloat16> ||
                      std::is_same_v<T, uint32_t>,
                  "float, __nv_bfloat16 or uint32_t");
    detail::checkBulk(dstGlobal, srcShared, bytes);
    for (uint32_t i = 0; i < bytes / sizeof(T); i++)
        detail::addOne<gshmem::detail::word<T>>(static_cast<T *>(dstGlobal) + i,
                                                static_cast<const T *>(srcShared)[i]);
}

inline void bulkStoreCommit() {}
template <uint32_t PendingGroups = 0> inline void bulkStoreWait() {}
template <uint32_t PendingGroups = 0> inline void bulkStoreWaitSource() {}

#endif
#endif

} // namespace mscclpp

#endif
