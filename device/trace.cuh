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
#include "../wire/trace.h"

namespace gshmem
{

namespace detail
{

constexpr uint64_t trace_none = ~(uint64_t)0;

/* The bits of a value, as far as an event holds them. */
template <class Type> __device__ __forceinline__ uint64_t trace_bits(Type value)
{
    if constexpr (sizeof(Type) <= 8)
        return (uint64_t)bit_cast<word<Type>>(value);
    else
        return 0;
}

/* sig_op may have GSH_SIGNAL_STRONG. */
__device__ __forceinline__ uint64_t trace_op_of(int sig_op)
{
    return amo_of_signal(sig_op) == GSH_AMO_ADD ? GSH_TRACE_EVENT_ADD : GSH_TRACE_EVENT_SET;
}

/* What is known of a call when it begins. */
struct trace_call {
    uint64_t name;                /* address, and enum gsh_trace_event_call << 48 */
    uint64_t to, at, word, value; /* payloads; trace_none: not there */
};

struct trace_writer {
    const gsh_trace_device *to;
    uint32_t number; /* of the next event */
    uint64_t *ring;
    uint64_t first_word; /* but for lap and kind */

    /* Takes numbers for n events. */
    __device__ __forceinline__ trace_writer(const gsh_trace_device *device, uint32_t n) : to(device)
    {
        const uint32_t block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        const uint32_t ring_number = block % GSH_TRACE_RINGS;
        const uint64_t who = (uint64_t)(block / GSH_TRACE_RINGS % 64) << 10 | rank_in_block();
        number = atomic_add(reinterpret_cast<uint32_t *>(device->heads) + ring_number, n);
        ring = reinterpret_cast<uint64_t *>(device->events) +
               2 * (size_t)ring_number * device->n_events;
        first_word = who << GSH_TRACE_EVENT_TIME_BITS | GSH_TRACE_EVENT_TIME(clock_ns());
    }

    /* No order is needed: both words say whether they are this event's. */
    __device__ __forceinline__ void put(uint64_t kind, uint64_t payload)
    {
        const uint64_t lap = (uint64_t)GSH_TRACE_LAP(number, to->lap_shift) << 56;
        uint64_t *slot = ring + 2 * (size_t)(number & (to->n_events - 1));
        store_relaxed_words(reinterpret_cast<words2 *>(slot),
                            {lap | kind << 52 | first_word, lap | GSH_TRACE_PAYLOAD(payload)});
        number++;
    }
};

__device__ __noinline__ inline void trace_begin_call(const gsh_trace_device *device,
                                                     const trace_call *call)
{
    const bool has_to = call->to != trace_none, has_at = call->at != trace_none,
               has_word = call->word != trace_none;
    trace_writer w(device, 1u + has_to + has_at + 2u * has_word);
    w.put(GSH_TRACE_EVENT_BEGIN, call->name);
    if (has_to)
        w.put(GSH_TRACE_EVENT_TO, call->to);
    if (has_at)
        w.put(GSH_TRACE_EVENT_AT, call->at);
    if (has_word) {
        w.put(GSH_TRACE_EVENT_WORD, call->word);
        w.put(GSH_TRACE_EVENT_VALUE, call->value);
    }
}

__device__ __noinline__ inline void trace_end_call(const gsh_trace_device *device, uint64_t seen)
{
    trace_writer w(device, 1);
    w.put(GSH_TRACE_EVENT_END, seen);
}

template <class Context>
__device__ __forceinline__ const gsh_trace_device *trace_of(const Context &c)
{
    return reinterpret_cast<const gsh_trace_device *>(state_of(c).trace);
}

/* From its construction to its end. */
class traced
{
  public:
    template <class Context>
    __device__ __forceinline__ traced(const Context &c, bool is_first, const char *name,
                                      uint64_t kind, int pe, uint64_t bytes, const void *data,
                                      const void *word, uint64_t op, uint64_t value)
        : device(is_first ? trace_of(c) : nullptr)
    {
        if (device == nullptr)
            return;
        const uint64_t base = state_of(c).base;
        const uint64_t to = pe < 0 ? GSH_TRACE_NO_PE : (uint64_t)pe;
        trace_call call = {(reinterpret_cast<uint64_t>(name) & 0xffffffffffff) | kind << 48,
                           pe < 0 && bytes == 0 ? trace_none : to | bytes << 20,
                           data == nullptr ? trace_none : reinterpret_cast<uint64_t>(data) - base,
                           word == nullptr
                               ? trace_none
                               : ((reinterpret_cast<uint64_t>(word) - base) & 0xffffffffffff) |
                                     op << 48,
                           value};
        trace_begin_call(device, &call);
    }
    __device__ __forceinline__ ~traced()
    {
        if (device != nullptr)
            trace_end_call(device, seen_value);
    }
    traced(const traced &) = delete;
    traced &operator=(const traced &) = delete;

    __device__ __forceinline__ void saw(uint64_t value) { seen_value = value; }

  private:
    const gsh_trace_device *device;
    uint64_t seen_value = 0;
};

} // namespace detail

/* The program's spans. The name is a string literal of the file. */
template <class Context>
__device__ __forceinline__ void trace_begin(const Context &c, const char *name)
{
    if (const gsh_trace_device *device = detail::trace_of(c)) {
        detail::trace_call call = {(reinterpret_cast<uint64_t>(name) & 0xffffffffffff) |
                                       (uint64_t)GSH_TRACE_EVENT_SPAN << 48,
                                   detail::trace_none, detail::trace_none, detail::trace_none, 0};
        detail::trace_begin_call(device, &call);
    }
}

template <class Context> __device__ __forceinline__ void trace_end(const Context &c)
{
    if (const gsh_trace_device *device = detail::trace_of(c))
        detail::trace_end_call(device, 0);
}

} // namespace gshmem

/* A call, until the end of the block. */
#define GSHMEM_TRACED(C, G, NAME, PE, BYTES, DATA)                                   \
    detail::traced gshmem_traced(C, (G).rank() == 0, NAME, GSH_TRACE_EVENT_CALL, PE, \
                                 (uint64_t)(BYTES), DATA, nullptr, 0, 0)
/* The same with data from PE. */
#define GSHMEM_TRACED_GET(C, G, NAME, PE, BYTES, DATA)                              \
    detail::traced gshmem_traced(C, (G).rank() == 0, NAME, GSH_TRACE_EVENT_GET, PE, \
                                 (uint64_t)(BYTES), DATA, nullptr, 0, 0)
/* The same, which changes a word. OP: GSH_TRACE_EVENT_. */
#define GSHMEM_TRACED_WORD(C, G, NAME, PE, BYTES, DATA, WORD, OP, VALUE)             \
    detail::traced gshmem_traced(C, (G).rank() == 0, NAME, GSH_TRACE_EVENT_CALL, PE, \
                                 (uint64_t)(BYTES), DATA, WORD, OP, (uint64_t)(VALUE))
/* One that waits for words of this PE. */
#define GSHMEM_TRACED_WAIT(C, NAME, WORD, N, CMP, VALUE)                                        \
    detail::traced gshmem_traced(C, true, NAME, GSH_TRACE_EVENT_WAIT, -1,                       \
                                 (N) == 1 ? 0 : (uint64_t)(N) * sizeof(*(WORD)), nullptr, WORD, \
                                 GSH_TRACE_EVENT_AWAIT + (uint64_t)(CMP) +                      \
                                     (sizeof(*(WORD)) == 8   ? 0                                \
                                      : sizeof(*(WORD)) == 4 ? GSH_TRACE_EVENT_WORD_4           \
                                                             : GSH_TRACE_EVENT_WORD_2),         \
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

#define GSHMEM_TRACED(...)      ((void)0)
#define GSHMEM_TRACED_GET(...)  ((void)0)
#define GSHMEM_TRACED_WORD(...) ((void)0)
#define GSHMEM_TRACED_WAIT(...) ((void)0)
#define GSHMEM_TRACED_SAW(...)  ((void)0)

#endif

#endif
