/* SPDX-License-Identifier: Apache-2.0
 * fence and quiet. They cost time only for routes that carry traffic. If every peer is near, each
 * call is one instruction after a test of a constant. Otherwise each ring that has been used since
 * the last call gets an entry. */
#ifndef GSHMEM_ORDER_CUH
#define GSHMEM_ORDER_CUH

#include "address.cuh"
#include "far.cuh"
#include "trace.cuh"

namespace gshmem
{

/* Guarantee: this thread's earlier puts and atomics to each PE (and those of its group that a group
 * call or synchronisation ordered before) are seen before its later ones to that PE. */
template <class Context> __device__ __forceinline__ void fence(const Context &c)
{
    if (detail::has_far(c))
        detail::far_fence(c);
    detail::fence_acq_rel();
}

/* Guarantee: the same calls and earlier nbi gets are complete: any later load, by this thread or
 * another, sees them. A sequentially consistent fence, because "complete" also orders a later get
 * after an earlier put to another address. */
template <class Context> __device__ __forceinline__ void quiet(const Context &c)
{
    GSHMEM_TRACED_ALONE(c, "gshmem_quiet");
    /* The fence comes after, so that the data of far gets are ordered with the rest. */
    if (detail::has_far(c))
        detail::far_quiet(c);
    detail::fence_seq_cst();
}

/* The same, if it is complete within so many cycles of clock64; else false, and nothing is known.
 */
template <class Context>
__device__ __forceinline__ bool quiet_within(const Context &c, uint64_t cycles)
{
    const bool is_quiet = !detail::has_far(c) || detail::far_quiet_within(c, cycles);
    detail::fence_seq_cst();
    return is_quiet;
}

} // namespace gshmem

#endif
