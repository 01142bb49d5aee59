/* SPDX-License-Identifier: Apache-2.0
 * Writes events of the timeline (wire/trace.h). */
#ifndef GSHMEM_TRACE_WRITE_CUH
#define GSHMEM_TRACE_WRITE_CUH

#include "context.cuh"
#include "group.cuh"
#include "memory.cuh"
#include "../wire/trace.h"

namespace gshmem
{
namespace detail
{

/* Where events go: both words of the state, which are constants of a kernel. */
struct trace_target {
    uint64_t counts, rings; /* counts: 0: nowhere */
};

template <class Context> __device__ __forceinline__ trace_target trace_target_of(const Context &c)
{
    return {state_of(c).trace, state_of(c).trace_rings};
}

__device__ __forceinline__ gsh_trace_counts *counts_of(trace_target to)
{
    return reinterpret_cast<gsh_trace_counts *>(to.counts);
}

__device__ __forceinline__ uint32_t trace_block()
{
    return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

/* The ring of this thread's block. */
__device__ __forceinline__ uint32_t trace_ring()
{
    return trace_block() % GSH_TRACE_RINGS;
}

struct trace_writer {
    uint32_t number; /* of the next event */
    uint32_t shift;
    uint64_t *ring;
    uint64_t first_word; /* but for lap and kind */

    /* Takes numbers for n events of the calling thread, which happened at ns. */
    __device__ __forceinline__ trace_writer(trace_target to, uint64_t ns, uint32_t n)
        : trace_writer(to, trace_ring(),
                       (uint64_t)(trace_block() / GSH_TRACE_RINGS % 64) << 10 | rank_in_block(), ns,
                       n)
    {
    }
    __device__ __forceinline__ trace_writer(trace_target to, uint32_t ring_number, uint64_t who,
                                            uint64_t ns, uint32_t n)
        : number(atomic_add(&counts_of(to)->taken[ring_number], n)),
          shift(GSH_TRACE_SHIFT_OF(to.rings)),
          ring(reinterpret_cast<uint64_t *>(GSH_TRACE_EVENTS_OF(to.rings)) +
               ((size_t)(2 * ring_number) << shift)),
          first_word(who << GSH_TRACE_EVENT_TIME_BITS | GSH_TRACE_EVENT_TIME(ns))
    {
    }

    __device__ __forceinline__ void set_time(uint64_t ns)
    {
        const uint64_t who = first_word >> GSH_TRACE_EVENT_TIME_BITS;
        first_word = who << GSH_TRACE_EVENT_TIME_BITS | GSH_TRACE_EVENT_TIME(ns);
    }

    /* Where the next event is to be, and its first word without a time. */
    __device__ __forceinline__ uint64_t *slot() const
    {
        return ring + 2 * (size_t)(number & ((1u << shift) - 1));
    }
    __device__ __forceinline__ uint64_t first(uint64_t kind) const
    {
        const uint64_t lap = (uint64_t)GSH_TRACE_LAP(number, shift) << 56;
        return lap | kind << 52 |
               (first_word >> GSH_TRACE_EVENT_TIME_BITS << GSH_TRACE_EVENT_TIME_BITS);
    }

    /* No order is needed: both words say whether they are this event's. */
    __device__ __forceinline__ static void store(uint64_t *slot, uint64_t first, uint64_t ns,
                                                 uint64_t payload)
    {
        const uint64_t lap = first >> 56 << 56;
        store_relaxed_words(reinterpret_cast<words2 *>(slot),
                            {first | GSH_TRACE_EVENT_TIME(ns), lap | GSH_TRACE_PAYLOAD(payload)});
    }

    __device__ __forceinline__ void put(uint64_t kind, uint64_t payload)
    {
        store(slot(), first(kind), first_word, payload);
        number++;
    }
};

} // namespace detail
} // namespace gshmem

#endif
