/* SPDX-License-Identifier: Apache-2.0
 * One call in a kernel, as the timeline sees it. Taking a number of a ring is an atomic that lasts
 * about as long as a small put, and no peer is to wait for that. So a call that moves data is
 * written when it has been made, with the time when it began. A call that waits is written before
 * it waits; it takes a second number for its end. */
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

/* What is known of a call when it begins. Functions take it apart, since a structure that is passed
 * by its address is in memory, and a put's fence waits for what its thread stores. */
struct trace_call {
    uint64_t name;                /* address, and enum gsh_trace_event_call << 48 */
    uint64_t to, at, word, value; /* payloads; trace_none: not there */
    uint64_t team;                /* likewise */

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

/* Where the event of a wait's end is to be, and what it begins with. */
struct trace_end {
    uint64_t slot, first;
};

/* Writes all but its end. */
__device__ __noinline__ inline trace_end trace_begin_wait(uint64_t counts, uint64_t rings,
                                                          uint64_t name, uint64_t to, uint64_t at,
                                                          uint64_t word, uint64_t value,
                                                          uint64_t team, uint64_t begin_ns)
{
    const trace_call call = {name, to, at, word, value, team};
    trace_writer w({counts, rings}, begin_ns, call.n_events());
    call.put_on(w, call.n_events());
    return {reinterpret_cast<uint64_t>(w.slot()), w.first(GSH_TRACE_EVENT_END)};
}

/* Loads nothing: often a put follows, for which a peer waits. */
__device__ __forceinline__ void trace_end_wait(trace_target to, trace_end end, uint64_t seen)
{
    trace_writer::store(reinterpret_cast<uint64_t *>(end.slot), end.first, clock_ns(), seen);
#if defined(__CUDACC__)
    reduce_add(&counts_of(to)->ends[trace_ring()], 1u);
#else
    (void)to;
#endif
}

__device__ __noinline__ inline void trace_write_call(uint64_t counts, uint64_t rings, uint64_t name,
                                                     uint64_t to, uint64_t at, uint64_t word,
                                                     uint64_t value, uint64_t begin_ns)
{
    const uint64_t now = clock_ns();
    const trace_call call = {name, to, at, word, value, trace_none};
    trace_writer w({counts, rings}, begin_ns, call.n_events());
    call.put_on(w, 0);
    w.set_time(now);
    w.put(GSH_TRACE_EVENT_END, 0);
}

__device__ __noinline__ inline void trace_begin_span(trace_target to, const char *name)
{
    trace_writer w(to, clock_ns(), 1);
    w.put(GSH_TRACE_EVENT_BEGIN, (reinterpret_cast<uint64_t>(name) & 0xffffffffffff) |
                                     (uint64_t)GSH_TRACE_EVENT_SPAN << 48);
}

__device__ __noinline__ inline void trace_end_span(trace_target to)
{
    trace_writer w(to, clock_ns(), 1);
    w.put(GSH_TRACE_EVENT_END, 0);
}

/* From its construction to its end. is_wait: the call may wait for others, and is for no PE in
 * particular. */
template <bool is_wait> class traced
{
  public:
    template <class Context>
    __device__ __forceinline__ traced(const Context &c, bool is_first, const char *name,
                                      uint64_t kind, int pe, uint64_t bytes, const void *data,
                                      const void *word, uint64_t op, uint64_t value,
                                      uint64_t team = trace_none)
        : target(trace_target_of(c)), is_on(is_first && target.counts != 0)
    {
        if (!is_on)
            return;
        const uint64_t base = state_of(c).base;
        const uint64_t to = (uint32_t)pe & GSH_TRACE_NO_PE;
        begin_ns = clock_ns();
        call = {(reinterpret_cast<uint64_t>(name) & 0xffffffffffff) | kind << 48,
                is_wait && bytes == 0 ? trace_none : to | bytes << 20,
                data == nullptr ? trace_none : reinterpret_cast<uint64_t>(data) - base,
                word == nullptr
                    ? trace_none
                    : ((reinterpret_cast<uint64_t>(word) - base) & 0xffffffffffff) | op << 48,
                value,
                team};
        if constexpr (is_wait)
            end = trace_begin_wait(target.counts, target.rings, call.name, call.to, call.at,
                                   call.word, call.value, call.team, begin_ns);
    }
    __device__ __forceinline__ ~traced()
    {
        if (!is_on)
            return;
        if constexpr (is_wait)
            trace_end_wait(target, end, seen_value);
        else
            trace_write_call(target.counts, target.rings, call.name, call.to, call.at, call.word,
                             call.value, begin_ns);
    }
    traced(const traced &) = delete;
    traced &operator=(const traced &) = delete;

    __device__ __forceinline__ void saw(uint64_t value) { seen_value = value; }

  private:
    const trace_target target;
    const bool is_on;
    uint64_t seen_value = 0, begin_ns = 0;
    trace_call call = {};
    trace_end end = {};
};

} // namespace detail
} // namespace gshmem

#endif
