/* SPDX-License-Identifier: Apache-2.0
 * How waits in kernels end, and the spin that all of them use. Not for programs.
 *
 * What a program waits for by a channel or FIFO is watched: its handle names a page of host memory,
 * which the host's watcher (channel/watch.cpp) looks at. Invariants
 * - limitNs is constant. ended is written by the host alone: the peer has died, the proxy has
 *   stopped for good, or the process is ending.
 * - The first thread of the device that has waited longer than limitNs, or sees ended, takes state
 *   from 0 to 1, says what it waits for, and stores 2 with release. The watcher, which loads state
 *   with acquire, prints that and ends the process. All such threads stand still until then.
 * - A wait reads the page, over PCIe, once in looksPerPage looks, each after many failed polls.
 * Waits without a page of their own (packets outside of channels, DeviceSyncer) use the PE's, if
 * the program is a PE of a gshmem job: its time limit and reports. */
#ifndef MSCCLPP_WATCH_DEVICE_HPP_
#define MSCCLPP_WATCH_DEVICE_HPP_

#include <cstdint>
#include "assert_device.hpp"
#include "device.hpp"

namespace mscclpp
{
namespace detail
{

enum class Awaited : uint32_t {
    Nothing,
    Signal,   /* number `wanted` of a semaphore */
    Packet,   /* with flag `wanted` */
    Room,     /* for position `wanted` of a FIFO */
    Consumed, /* position `wanted` of a FIFO */
    Flush,    /* of position `wanted` - 1, by the channel whose semaphore's number is above */
};
constexpr uint32_t awaitedBits = 8;

MSCCLPP_HOST_DEVICE_INLINE Awaited flushOf(uint32_t semaphoreId)
{
    return static_cast<Awaited>((uint32_t)Awaited::Flush | semaphoreId << awaitedBits);
}

struct Watch {
    uint64_t limitNs; /* 0: none */
    uint32_t ended;
    uint32_t state;
    Awaited what;
    uint32_t reserved;
    uint64_t wanted, seen;
};

#if defined(MSCCLPP_DEVICE_COMPILE)

constexpr uint64_t looksPerPage = gshmem::detail::is_cpu_device ? 1 : 16;

/* The public call, and where it stands in the program: only files that are compiled with
 * GSHMEM_CALL_SITES or GSHMEM_TRACE_KERNELS pass it on. Parameters, the same as arguments, and the
 * call's own. */
#if defined(GSHMEM_CALL_SITES) || defined(GSHMEM_TRACE_KERNELS)
#define MSCCLPP_FOR_CALL  , const char *call GSHMEM_SITE
#define MSCCLPP_PASS_CALL , call GSHMEM_PASS_SITE
#define MSCCLPP_AS(NAME)  , NAME GSHMEM_PASS_SITE
#else
#define MSCCLPP_FOR_CALL
#define MSCCLPP_PASS_CALL
#define MSCCLPP_AS(NAME)
#endif

MSCCLPP_DEVICE_INLINE bool isPe()
{
    using namespace gshmem::detail;
#if defined(__CUDACC__)
    return unit_state().magic == GSH_STATE_MAGIC;
#else
    return gsh_cpu_self != nullptr && gsh_cpu_self->state != nullptr;
#endif
}

#if defined(GSHMEM_TRACE_KERNELS)
/* Of a process that is no PE: one whose calls nobody records. */
MSCCLPP_DEVICE_INLINE gshmem::unit_context recordedPe()
{
#if defined(__CUDACC__)
    return gshmem::default_context();
#else
    static const gsh_state nobody = {};
    return {isPe() ? gshmem::detail::unit_state() : nobody, 0};
#endif
}
/* A call in the timeline, until the end of the block: with bytes at DATA, which may be NULL, to the
 * PE whose memory that is; one that adds 1 to a peer's WORD; one that waits until a word of this
 * side's is VALUE. */
#define MSCCLPP_TRACED(IS_FIRST, CALL, KIND, BYTES, DATA)                      \
    gshmem::detail::traced<false> mscclppTraced(                               \
        mscclpp::detail::recordedPe(), IS_FIRST, CALL, GSH_TRACE_EVENT_##KIND, \
        (int)GSH_TRACE_PE_BY_ADDRESS, (uint64_t)(BYTES), DATA, nullptr, 0, 0)
#define MSCCLPP_TRACED_SIGNAL(CALL, WORD)                                \
    gshmem::detail::traced<false> mscclppTraced(                         \
        mscclpp::detail::recordedPe(), true, CALL, GSH_TRACE_EVENT_CALL, \
        (int)GSH_TRACE_PE_BY_ADDRESS, 0, nullptr, WORD, GSH_TRACE_EVENT_ADD, 1)
#define MSCCLPP_TRACED_WAIT(CALL, WORD, VALUE)                                                \
    gshmem::detail::traced<true> mscclppTraced(mscclpp::detail::recordedPe(), true, CALL,     \
                                               GSH_TRACE_EVENT_WAIT, -1, 0, nullptr, WORD,    \
                                               GSH_TRACE_EVENT_AWAIT + GSHMEM_CMP_GE, VALUE); \
    mscclppTraced.saw(VALUE)
#else
#define MSCCLPP_TRACED(...)        ((void)0)
#define MSCCLPP_TRACED_SIGNAL(...) ((void)0)
#define MSCCLPP_TRACED_WAIT(...)   ((void)0)
#endif

/* The PE's own limit and reports. */
MSCCLPP_DEVICE_INLINE uint64_t lookAroundAsPe(uint64_t began, const uint64_t *word, uint64_t wanted,
                                              uint64_t seen MSCCLPP_FOR_CALL)
{
    using namespace gshmem::detail;
    if (!isPe())
        return began;
#if defined(GSHMEM_CALL_SITES)
    const gshmem::context pe = context_at(gsh_site);
#else
    const gshmem::unit_context pe = gshmem::default_context();
#endif
#if !defined(GSHMEM_CALL_SITES) && !defined(GSHMEM_TRACE_KERNELS)
    const char *const call = "a wait of mscclpp";
#endif
    return look_around_at(pe, is_cpu_device ? began | abort_bits : began, GSH_REPORT_WAIT_TIMEOUT,
                          call, -1, GSHMEM_CMP_GE, word, wanted, seen);
}

#if defined(GSHMEM_CALL_SITES)
/* Of a PE: answers a hang report that asks what its threads wait for. */
MSCCLPP_DEVICE_INLINE void answerAsPe(uint64_t waitedNs, const uint64_t *word, uint64_t wanted,
                                      uint64_t seen MSCCLPP_FOR_CALL)
{
    using namespace gshmem::detail;
    if (!isPe())
        return;
    const gshmem::context pe = context_at(gsh_site);
    /* pairs with the release of the PE's host */
    const uint32_t request = load_acquire(&control_of(pe)->wait_request);
    if (request == 0)
        return;
    const trouble t = {GSH_REPORT_WAIT_TIMEOUT,          -1,     GSHMEM_CMP_GE, call,
                       reinterpret_cast<uint64_t>(word), wanted, seen,          waitedNs};
    call_noinline<report_trouble<gshmem::context>>(pe, &t, request);
}
#endif

/* Between two rounds of failed polls. began: what the last call returned, 0 at first; in its low
 * bits the number of looks. Does not return once the wait has to end. */
__device__ __noinline__ inline uint64_t lookAround(Watch *watch, uint64_t began, Awaited what,
                                                   const uint64_t *word, uint64_t wanted,
                                                   uint64_t seen MSCCLPP_FOR_CALL)
{
    using namespace gshmem::detail;
    if (watch == nullptr)
        return lookAroundAsPe(began, word, wanted, seen MSCCLPP_PASS_CALL);
    const uint64_t looks = (began + 1) % looksPerPage, now = clock_ns();
    const uint64_t start = began < looksPerPage ? now : began;
    if (looks == 0) {
        const uint64_t limit = load_relaxed(&watch->limitNs);
        if (load_relaxed(&watch->ended) != 0 || (limit != 0 && now - start >= limit)) {
            if (claim(&watch->state)) {
                store_relaxed((uint32_t *)&watch->what, (uint32_t)what);
                store_relaxed(&watch->wanted, wanted);
                store_relaxed(&watch->seen, seen);
                store_release(&watch->state, 2u); /* pairs with the watcher's load */
            }
            for (;;)
                spin_pause();
        }
#if defined(GSHMEM_CALL_SITES)
        answerAsPe(now - start, word, wanted, seen MSCCLPP_PASS_CALL);
#endif
    }
    return start - start % looksPerPage + looks;
}

/* Polls load() until isEnough accepts its value, and returns that. The caller acquires. */
template <class Load, class Test>
MSCCLPP_DEVICE_INLINE uint64_t waitUntil(Watch *watch, Awaited what, const uint64_t *word,
                                         uint64_t wanted, int64_t maxSpinCount, Load load,
                                         Test isEnough MSCCLPP_FOR_CALL)
{
    using namespace gshmem::detail;
    uint64_t seen = load();
#if defined(DEBUG_BUILD)
    int64_t spins = 0;
#else
    (void)maxSpinCount;
#endif
    for (uint64_t began = 0; !isEnough(seen);) {
        GSHMEM_NO_UNROLL
        for (uint32_t polls = looks_between; polls != 0; polls--) {
            spin_pause();
            seen = load();
            if (isEnough(seen)) {
                spin_done();
                return seen;
            }
#if defined(DEBUG_BUILD)
            if (maxSpinCount >= 0 && spins++ == maxSpinCount)
                MSCCLPP_ASSERT_DEVICE(false, "a wait has polled maxSpinCount times");
#endif
        }
        began = lookAround(watch, began, what, word, wanted, seen MSCCLPP_PASS_CALL);
    }
    spin_done();
    return seen;
}

/* Until the word, which only grows, has reached `wanted`. What came before the release that wrote
 * it is seen afterwards, unless the wait is relaxed. */
template <bool isRelaxed = false>
MSCCLPP_DEVICE_INLINE void waitWord(Watch *watch, Awaited what, const uint64_t *word,
                                    uint64_t wanted, int64_t maxSpinCount MSCCLPP_FOR_CALL)
{
    using namespace gshmem::detail;
    waitUntil(
        watch, what, word, wanted, maxSpinCount,
        [=] { return isRelaxed ? load_relaxed(word) : load_awaited(word); },
        [=](uint64_t seen) { return seen >= wanted; } MSCCLPP_PASS_CALL);
    if (!isRelaxed)
        acquire_awaited();
}

#endif

} // namespace detail
} // namespace mscclpp

#endif
