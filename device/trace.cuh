/* SPDX-License-Identifier: Apache-2.0
 * What a call in a kernel leaves in the timeline (wire/trace.h). Only in files that are compiled
 * with GSHMEM_TRACE_KERNELS: elsewhere the macros are empty, and calls are as if they were not
 * there. A call by a group is written once, by its first thread. */
#ifndef GSHMEM_TRACE_CUH
#define GSHMEM_TRACE_CUH

#if defined(GSHMEM_TRACE_KERNELS)

#include "address.cuh"
#include "context.cuh"
#include "group.cuh"
#include "trace_call.cuh"

namespace gshmem
{

/* The program's spans. The name is a string literal of the file. */
template <class Context>
__device__ __forceinline__ void trace_begin(const Context &c, const char *name)
{
    const detail::trace_target to = detail::trace_target_of(c);
    if (to.counts != 0)
        detail::trace_begin_span(to, name);
}

template <class Context> __device__ __forceinline__ void trace_end(const Context &c)
{
    const detail::trace_target to = detail::trace_target_of(c);
    if (to.counts != 0)
        detail::trace_end_span(to);
}

} // namespace gshmem

/* A call that moves data to PE, until the end of the block. */
#define GSHMEM_TRACED(C, G, NAME, PE, BYTES, DATA)                                          \
    detail::traced<false> gshmem_traced(C, (G).rank() == 0, NAME, GSH_TRACE_EVENT_CALL, PE, \
                                        (uint64_t)(BYTES), DATA, nullptr, 0, 0)
/* The same with data from PE. */
#define GSHMEM_TRACED_GET(C, G, NAME, PE, BYTES, DATA)                                     \
    detail::traced<false> gshmem_traced(C, (G).rank() == 0, NAME, GSH_TRACE_EVENT_GET, PE, \
                                        (uint64_t)(BYTES), DATA, nullptr, 0, 0)
/* The same, which changes a word. OP: GSH_TRACE_EVENT_. */
#define GSHMEM_TRACED_WORD(C, G, NAME, PE, BYTES, DATA, WORD, OP, VALUE)                    \
    detail::traced<false> gshmem_traced(C, (G).rank() == 0, NAME, GSH_TRACE_EVENT_CALL, PE, \
                                        (uint64_t)(BYTES), DATA, WORD, OP, (uint64_t)(VALUE))
/* A call of one thread for no PE in particular. */
#define GSHMEM_TRACED_ALONE(C, NAME)                                                        \
    detail::traced<true> gshmem_traced(C, true, NAME, GSH_TRACE_EVENT_CALL, -1, 0, nullptr, \
                                       nullptr, 0, 0)
/* A collective of the team, with bytes from each member to each other. */
#define GSHMEM_TRACED_TEAM(C, G, NAME, TEAM, BYTES, DATA)                                  \
    detail::traced<true> gshmem_traced(C, (G).rank() == 0, NAME, GSH_TRACE_EVENT_CALL, -1, \
                                       (uint64_t)(BYTES), DATA, nullptr, 0, 0,             \
                                       detail::trace_team(TEAM))
/* One that waits for words of this PE. */
#define GSHMEM_TRACED_WAIT(C, NAME, WORD, N, CMP, VALUE)                                        \
    detail::traced<true> gshmem_traced(C, true, NAME, GSH_TRACE_EVENT_WAIT, -1,                 \
                                       (N) == 1 ? 0 : (uint64_t)(N) * sizeof(*(WORD)), nullptr, \
                                       WORD,                                                    \
                                       GSH_TRACE_EVENT_AWAIT + (uint64_t)(CMP) +                \
                                           (sizeof(*(WORD)) == 8   ? 0                          \
                                            : sizeof(*(WORD)) == 4 ? GSH_TRACE_EVENT_WORD_4     \
                                                                   : GSH_TRACE_EVENT_WORD_2),   \
                                       (uint64_t)(VALUE))
#define GSHMEM_TRACED_SAW(VALUE) gshmem_traced.saw((uint64_t)(VALUE))

#else

namespace gshmem
{
template <class Context> __device__ __forceinline__ void trace_begin(const Context &, const char *)
{
}
template <class Context> __device__ __forceinline__ void trace_end(const Context &) {}
} // namespace gshmem

#define GSHMEM_TRACED(...)       ((void)0)
#define GSHMEM_TRACED_TEAM(...)  ((void)0)
#define GSHMEM_TRACED_ALONE(...) ((void)0)
#define GSHMEM_TRACED_GET(...)   ((void)0)
#define GSHMEM_TRACED_WORD(...)  ((void)0)
#define GSHMEM_TRACED_WAIT(...)  ((void)0)
#define GSHMEM_TRACED_SAW(...)   ((void)0)

#endif

#endif
