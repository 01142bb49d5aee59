/* SPDX-License-Identifier: Apache-2.0
 * fence and quiet. They cost only the routes that carry traffic: today every peer is mapped, so
 * each is one instruction; waiting for the proxy rings belongs here, where state().rings says so.
 */
#ifndef GSHMEM_ORDER_CUH
#define GSHMEM_ORDER_CUH

#include "device/memory.cuh"

namespace gshmem
{

/* Guarantee: this thread's earlier puts and atomics to each PE (and those of its group that a group
 * call or synchronisation ordered before) are seen before its later ones to that PE. */
__device__ __forceinline__ void fence()
{
    detail::fence_acq_rel();
}

/* Guarantee: the same calls and earlier nbi gets are complete: whoever looks from now on, this
 * thread included, sees them. A sequentially consistent fence, because "complete" also orders a
 * later get after an earlier put to another address. */
__device__ __forceinline__ void quiet()
{
    detail::fence_seq_cst();
}

} // namespace gshmem

#endif
