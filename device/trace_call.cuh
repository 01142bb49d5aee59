/* SPDX-License-Identifier: Apache-2.0
 * One call in a kernel, as the timeline sees it. To take a number of a ring is an atomic, and takes
 * about as long as a small put, so no peer is made to wait for one: a call that moves data is
 * written when it has been made, with the time when it began; a call that waits is written before
 * it waits, with a number for its end as well. */
#ifndef GSHMEM_TRACE_CALL_CUH
#define GSHMEM_TRACE_CALL_CUH

#include "address.cuh"
#include "context.cuh"
#include "trace_write.cuh"

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

/* Only the library's own kernels have a team in another form, and they are not recorded. */
__device__ __forceinline__ uint64_t trace_team(gshmem_team_t team)
{
    return (uint32_t)team;
}
__device__ __forceinline__ uint64_t trace_team(const gsh_team_state *)
{
    return trace_none;
}

/* What is known of a call when it begins. */
struct trace_call {
    uint64_t name;                /* address, and enum gsh_trace_event_call << 48 */
    uint64_t to, at, word, value; /* payloads; trace_none: not there */
    uint64_t team;                /* likewise */
    uint64_t begin_ns;
    uint64_t *end;      /* where the event of its end is to be; NULL: nothing is written yet */
    uint64_t end_words; /* what that event begins with */

    __device__ __forceinline__ uint32_t n_events() const
    {
        return 2u + (to != trace_none) + (at != trace_none) + 2u * (word != trace_none) +
               (team != trace_none);
    }

    __device__ __forceinline__ void put_on(trace_writer &w, uint64_t n_reserved) const
    {
        w.put(GSH_TRACE_EVENT_BEGIN, name | n_reserved << GSH_TRACE_RESERVED_SHIFT);
        if (to != trace_none)
            w.put(GSH_TRACE_EVENT_TO, to);
        if (at != trace_none)
            w.put(GSH_TRACE_EVENT_AT, at);
        if (word != trace_none) {
            w.put(GSH_TRACE_EVENT_WORD, word);
            w.put(GSH_TRACE_EVENT_VALUE, value);
        }
        if (team != trace_none)
            w.put(GSH_TRACE_EVENT_TEAM, team);
    }
};

/* Writes all but its end. */
__device__ __noinline__ inline void trace_begin_wait(const gsh_trace_device *device,
                                                     trace_call *call)
{
    trace_writer w(device, call->n_events());
    w.set_time(call->begin_ns);
    call->put_on(w, call->n_events());
    call->end = w.slot();
    call->end_words = w.first(GSH_TRACE_EVENT_END);
}

__device__ __noinline__ inline void trace_end_call(const gsh_trace_device *device,
                                                   const trace_call *call, uint64_t seen)
{
    const uint64_t now = clock_ns();
    if (call->end) {
        trace_writer::store(call->end, call->end_words, now, seen);
#if defined(__CUDACC__)
        reduce_add(&counts_of(device)->ends[trace_ring()], 1u);
#endif
        return;
    }
    trace_writer w(device, call->n_events());
    w.set_time(call->begin_ns);
    call->put_on(w, 0);
    w.set_time(now);
    w.put(GSH_TRACE_EVENT_END, seen);
}

__device__ __noinline__ inline void trace_begin_span(const gsh_trace_device *device,
                                                     const char *name)
{
    trace_writer w(device, 1);
    w.put(GSH_TRACE_EVENT_BEGIN, (reinterpret_cast<uint64_t>(name) & 0xffffffffffff) |
                                     (uint64_t)GSH_TRACE_EVENT_SPAN << 48);
}

__device__ __noinline__ inline void trace_end_span(const gsh_trace_device *device)
{
    trace_writer w(device, 1);
    w.put(GSH_TRACE_EVENT_END, 0);
}

template <class Context>
__device__ __forceinline__ const gsh_trace_device *trace_of(const Context &c)
{
    return reinterpret_cast<const gsh_trace_device *>(state_of(c).trace);
}

/* From its construction to its end. A call for no PE in particular may wait for others. */
class traced
{
  public:
    template <class Context>
    __device__ __forceinline__ traced(const Context &c, bool is_first, const char *name,
                                      uint64_t kind, int pe, uint64_t bytes, const void *data,
                                      const void *word, uint64_t op, uint64_t value,
                                      uint64_t team = trace_none)
        : device(is_first ? trace_of(c) : nullptr)
    {
        if (device == nullptr)
            return;
        const uint64_t base = state_of(c).base;
        const uint64_t to = pe < 0 ? GSH_TRACE_NO_PE : (uint64_t)pe;
        call = {(reinterpret_cast<uint64_t>(name) & 0xffffffffffff) | kind << 48,
                pe < 0 && bytes == 0 ? trace_none : to | bytes << 20,
                data == nullptr ? trace_none : reinterpret_cast<uint64_t>(data) - base,
                word == nullptr
                    ? trace_none
                    : ((reinterpret_cast<uint64_t>(word) - base) & 0xffffffffffff) | op << 48,
                value,
                team,
                clock_ns(),
                nullptr,
                0};
        if (pe < 0)
            trace_begin_wait(device, &call);
    }
    __device__ __forceinline__ ~traced()
    {
        if (device != nullptr)
            trace_end_call(device, &call, seen_value);
    }
    traced(const traced &) = delete;
    traced &operator=(const traced &) = delete;

    __device__ __forceinline__ void saw(uint64_t value) { seen_value = value; }

  private:
    const gsh_trace_device *device;
    uint64_t seen_value = 0;
    trace_call call;
};

} // namespace detail
} // namespace gshmem

#endif
