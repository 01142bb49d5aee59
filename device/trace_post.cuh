/* SPDX-License-Identifier: Apache-2.0
 * What kernels that post to a network adapter leave in the timeline, beside their calls: each entry
 * when its doorbell has rung, and each completion when a thread that waits has seen it. Entry and
 * completion are told apart from others by queue and position (wire/trace.h). Empty without
 * GSHMEM_TRACE_KERNELS. A program's files are compiled alike in this: else those that post may be
 * the ones that leave nothing. */
#ifndef GSHMEM_TRACE_POST_CUH
#define GSHMEM_TRACE_POST_CUH

#include "context.cuh"

#if defined(GSHMEM_TRACE_KERNELS)

#include "trace_call.cuh"
#include "../wire/wq.h"

namespace gshmem
{
namespace detail
{

__device__ __forceinline__ const char *trace_name_of_post(uint32_t opcode)
{
    return opcode == GSH_WQ_WRITE       ? "WRITE"
           : opcode == GSH_WQ_READ      ? "READ"
           : opcode == GSH_WQ_CS        ? "compare-swap"
           : opcode == GSH_WQ_FA        ? "fetch-add"
           : opcode == GSH_WQ_MASKED_CS ? "masked compare-swap"
                                        : "masked fetch-add";
}

/* An entry's words; the position after its reservation. */
template <class Context>
__device__ __forceinline__ void trace_entry(const Context &c, const uint64_t *word, uint32_t queue,
                                            int pe, uint64_t end, uint64_t begin_ns)
{
    const trace_target to = trace_target_of(c);
    const uint64_t first = gsh_wq_be64(word[0]);
    const uint32_t opcode = (uint32_t)(first >> 32 & 0xff);
    const bool is_copy = opcode == GSH_WQ_WRITE || opcode == GSH_WQ_READ;
    const uint64_t bytes = is_copy ? gsh_wq_be32((uint32_t)word[4]) & ~GSH_WQ_INLINE_BIT
                           : first >> 56 == GSH_WQ_MASKED_4 ? 4u
                                                            : 8u;
    if (to.counts == 0 || opcode == GSH_WQ_NOP)
        return;
    trace_write_call(to.counts, to.rings,
                     (reinterpret_cast<uint64_t>(trace_name_of_post(opcode)) & 0xffffffffffff) |
                         (uint64_t)GSH_TRACE_EVENT_POST << 48,
                     ((uint32_t)pe & GSH_TRACE_NO_PE) | bytes << 20, gsh_wq_be64(word[2]), queue,
                     end, begin_ns);
}

/* One of post.cuh's short entries. */
template <class Context, class Entry>
__device__ __forceinline__ void trace_short_entry(const Context &c, const Entry &e, uint32_t queue,
                                                  int pe, uint64_t end, uint64_t begin_ns)
{
    const uint64_t word[] = {gsh_wq_pair(e.opcode, 0), 0, gsh_wq_be64(e.remote_off), 0, e.last.low};
    trace_entry(c, word, queue, pe, end, begin_ns);
}

/* All before this position of the queue is complete. */
template <class Context>
__device__ __forceinline__ void trace_completion(const Context &c, uint32_t queue, uint64_t done)
{
    const trace_target to = trace_target_of(c);
    if (to.counts != 0)
        trace_write_call(to.counts, to.rings,
                         (reinterpret_cast<uint64_t>("completion") & 0xffffffffffff) |
                             (uint64_t)GSH_TRACE_EVENT_DONE << 48,
                         trace_none, trace_none, queue, done, clock_ns());
}

} // namespace detail
} // namespace gshmem

#define GSHMEM_TRACED_POSTING() const uint64_t gshmem_traced_from_ns = clock_ns()
/* Of the batch B, once it has been posted. */
#define GSHMEM_TRACED_POSTED(C, B)                                           \
    GSHMEM_NO_UNROLL                                                         \
    for (uint32_t gshmem_i = 0; gshmem_i < (B)->n_blocks; gshmem_i++)        \
        if (((B)->starts >> gshmem_i & 1) != 0)                              \
    trace_entry(C, (B)->word + gshmem_i * GSH_WQ_WORDS, (B)->queue, (B)->pe, \
                (B)->position + (B)->n_blocks, gshmem_traced_from_ns)
/* The same of a short entry (post.cuh) by itself. */
#define GSHMEM_TRACED_SHORT(C, E, QUEUE, END) \
    trace_short_entry(C, E, QUEUE, queue_at(C, QUEUE)->pe, END, gshmem_traced_from_ns)
#define GSHMEM_TRACED_COMPLETION(C, QUEUE, DONE) trace_completion(C, QUEUE, DONE)

#else

#define GSHMEM_TRACED_POSTING()       ((void)0)
#define GSHMEM_TRACED_POSTED(...)     ((void)0)
#define GSHMEM_TRACED_SHORT(...)      ((void)0)
#define GSHMEM_TRACED_COMPLETION(...) ((void)0)

#endif

#endif
