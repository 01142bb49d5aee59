/* SPDX-License-Identifier: Apache-2.0
 * Distributed locks in kernels, by a thread: the same words and steps as on the host (lock.h). */
#ifndef GSHMEM_LOCK_CUH
#define GSHMEM_LOCK_CUH

#include "amo.cuh"
#include "order.cuh"
#include "wait.cuh"
#include "../wire/lock.h"

namespace gshmem
{
namespace detail
{

/* One call on a lock; its words are symmetric. */
struct lock_words {
    uint32_t *tail, *node;
    int me, home;
};

template <class Context>
__device__ __forceinline__ lock_words words_of(const Context &c, long *lock, const char *call)
{
    const gsh_state &s = state_of(c);
    check_words(c, call, lock, 1, s.my_pe);
    uint32_t *words = reinterpret_cast<uint32_t *>(lock);
    return {words + GSH_LOCK_TAIL, words + GSH_LOCK_NODE, s.my_pe,
            gsh_lock_home(address_in_heap(c, lock) - s.base, s.n_pes)};
}

/* Waits until this PE's node has one of the bits, or (wants_any false) none of them. */
template <class Context>
__device__ __forceinline__ uint32_t wait_for_bits(const Context &c, const lock_words &l,
                                                  uint32_t bits, bool wants_any, const char *call)
{
    return spin_on(
        c, (const uint32_t *)l.node, [](const uint32_t *p) { return load_awaited(p); },
        [=](uint32_t seen) { return ((seen & bits) != 0) == wants_any; }, GSH_REPORT_LOCK_TIMEOUT,
        call, l.me, 0, bits);
}

/* For finalize's message about locks still held. A GPU counts them only in checking builds. */
template <class Context>
__device__ __forceinline__ void count_lock(const Context &c, uint64_t change)
{
#if !defined(GSHMEM_CHECKS)
    if constexpr (is_cpu_device)
#endif
        reduce_add(&control_of(c)->n_locks, change);
}

template <class Context>
__device__ __forceinline__ bool take_lock(const Context &c, const lock_words &l, const char *call)
{
    return (atomic_fetch_or(c, l.node, GSH_LOCK_TAKEN, l.me, call) & GSH_LOCK_TAKEN) == 0;
}

template <class Context>
__device__ GSHMEM_NOINLINE_BODY void set_lock(const Context &c, long *lock, const char *call)
{
    const lock_words l = words_of(c, lock, call);
    while (!take_lock(c, l, call))
        wait_for_bits(c, l, GSH_LOCK_TAKEN, false, call);
    const uint32_t me = (uint32_t)l.me + 1, front = atomic_swap(c, l.tail, me, l.home, call);
    if (front != 0) {
        atomic_or(c, l.node, me, said_pe(c, call, front), call);
        wait_for_bits(c, l, GSH_LOCK_GRANTED, true, call);
        atomic_and(c, l.node, ~GSH_LOCK_GRANTED, l.me, call);
    }
    fence_acq_rel(); /* pairs with quiet's fence in the clear_lock before */
    count_lock(c, 1);
}

template <class Context>
__device__ GSHMEM_NOINLINE_BODY int test_lock(const Context &c, long *lock, const char *call)
{
    const lock_words l = words_of(c, lock, call);
    if (!take_lock(c, l, call))
        return 1;
    if (atomic_compare_swap(c, l.tail, 0u, (uint32_t)l.me + 1, l.home, call) != 0) {
        atomic_and(c, l.node, ~GSH_LOCK_TAKEN, l.me, call);
        return 1;
    }
    fence_acq_rel(); /* as in set_lock */
    count_lock(c, 1);
    return 0;
}

template <class Context>
__device__ GSHMEM_NOINLINE_BODY void clear_lock(const Context &c, long *lock, const char *call)
{
    const lock_words l = words_of(c, lock, call);
    const uint32_t me = (uint32_t)l.me + 1;
    quiet(c);
    uint32_t node = load_relaxed(l.node);
    if ((node & GSH_LOCK_TAKEN) == 0)
        report(c, GSH_REPORT_LOCK_NOT_HELD, call, l.me, 0, reinterpret_cast<uint64_t>(lock), 0, 0,
               0);
    count_lock(c, ~(uint64_t)0);
    if ((node & GSH_LOCK_BEHIND) == 0) {
        if (atomic_compare_swap(c, l.tail, me, 0u, l.home, call) == me) {
            atomic_and(c, l.node, ~GSH_LOCK_TAKEN, l.me, call);
            return;
        }
        node = wait_for_bits(c, l, GSH_LOCK_BEHIND, true, call);
    }
    const int behind = said_pe(c, call, node & GSH_LOCK_BEHIND);
    atomic_swap(c, l.node, 0u, l.me, call); /* done before the grant leaves: no PE is in between */
    atomic_or(c, l.node, GSH_LOCK_GRANTED, behind, call);
}

} // namespace detail

/* Contracts in gshmem.h. */
template <class Context>
__device__ __forceinline__ void set_lock(const Context &c, long *lock,
                                         const char *call = "gshmem::set_lock")
{
    detail::call_noinline<detail::set_lock<Context>>(c, lock, call);
}

template <class Context>
__device__ __forceinline__ int test_lock(const Context &c, long *lock,
                                         const char *call = "gshmem::test_lock")
{
    return detail::call_noinline<detail::test_lock<Context>>(c, lock, call);
}

template <class Context>
__device__ __forceinline__ void clear_lock(const Context &c, long *lock,
                                           const char *call = "gshmem::clear_lock")
{
    detail::call_noinline<detail::clear_lock<Context>>(c, lock, call);
}

} // namespace gshmem

#endif
