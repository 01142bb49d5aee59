/* SPDX-License-Identifier: Apache-2.0
 * Small collectives in one LL exchange: each 4 bytes of data travel with a flag in one word of 8
 * bytes, which is seen whole or not at all. This needs no barrier before, no fence, and no wait but
 * for the data.
 *
 * Invariants
 * - Each member has, for each channel, two buffers with a slot for every member. Call e on a
 *   channel uses buffer e mod 2 of each receiver; its flag is e's low half. `calls` counts the
 *   channel's calls; only this PE writes it.
 * - In each call every member sends every other at least one word, and waits for all that every
 *   other sends it. So a member that has made call e knows that the others have begun it and have
 *   made call e - 1: no member looks at buffer (e + 1) mod 2 any more, and call e + 1 may write it.
 * - Flags recur after 2^32 calls. A word that none of these has written may then be taken for a new
 *   one, but only if the slot's line was last used exactly 2^32 calls before. */
#ifndef GSHMEM_COLL_LL_CUH
#define GSHMEM_COLL_LL_CUH

#include "element.cuh"
#include "grid.cuh"
#include "team.cuh"
#include "../copy.cuh"
#include <type_traits>

namespace gshmem
{
namespace detail
{

/* The bytes of data in one line of a slot: two words of 4, each beside its flag. */
constexpr uint32_t line_bytes = 8;

__device__ __forceinline__ uint32_t lines_of(uint64_t bytes)
{
    return (uint32_t)((bytes + line_bytes - 1) / line_bytes);
}

/* 8 bytes at `bytes + 8 * line`, with 0 for those past the end; by accesses that the alignment
 * allows. */
__device__ __forceinline__ uint64_t load_line(const void *from, uint32_t bytes, uint32_t line)
{
    const uint8_t *p = static_cast<const uint8_t *>(from) + (uint64_t)line * line_bytes;
    const uint32_t rest = bytes - line * line_bytes;
    uint64_t v = 0;
    if (rest >= line_bytes && (reinterpret_cast<uint64_t>(p) & 7) == 0)
        return load_plain(reinterpret_cast<const uint64_t *>(p));
    if (rest >= line_bytes && (reinterpret_cast<uint64_t>(p) & 3) == 0)
        return load_plain(reinterpret_cast<const uint32_t *>(p)) |
               (uint64_t)load_plain(reinterpret_cast<const uint32_t *>(p) + 1) << 32;
    GSHMEM_NO_UNROLL
    for (uint32_t i = 0; i < line_bytes && i < rest; i++)
        v |= (uint64_t)load_plain(p + i) << 8 * i;
    return v;
}

__device__ __forceinline__ void store_line(void *to, uint32_t bytes, uint32_t line, uint64_t v)
{
    uint8_t *p = static_cast<uint8_t *>(to) + (uint64_t)line * line_bytes;
    const uint32_t rest = bytes - line * line_bytes;
    if (rest >= line_bytes && (reinterpret_cast<uint64_t>(p) & 7) == 0) {
        store_plain(reinterpret_cast<uint64_t *>(p), v);
        return;
    }
    if (rest >= line_bytes && (reinterpret_cast<uint64_t>(p) & 3) == 0) {
        store_plain(reinterpret_cast<uint32_t *>(p), (uint32_t)v);
        store_plain(reinterpret_cast<uint32_t *>(p) + 1, (uint32_t)(v >> 32));
        return;
    }
    GSHMEM_NO_UNROLL
    for (uint32_t i = 0; i < line_bytes && i < rest; i++)
        store_plain(p + i, (uint8_t)(v >> 8 * i));
}

/* This PE's slots of one call, as held by a thread that reads them. */
struct inbox {
    words2 *own; /* slot 0 of this PE's buffer */
    uint32_t slot_lines, flag;

    __device__ __forceinline__ bool is_here(words2 v) const
    {
        return (uint32_t)(v.low >> 32) == flag && (uint32_t)(v.high >> 32) == flag;
    }
    __device__ __forceinline__ words2 look(int member, uint32_t line) const
    {
        return load_relaxed_words(own + (uint64_t)member * slot_lines + line);
    }
    /* Takes what a look has seen, or looks until it has come. Pairs with that member's send: the
     * data are in the words that are waited for. around: called now and then in a long wait. */
    template <class Context, class Around>
    __device__ __forceinline__ uint64_t receive(const members<Context> &all, const char *call,
                                                int member, uint32_t line, words2 v,
                                                Around around) const
    {
        if (!is_here(v)) {
            const words2 *from = own + (uint64_t)member * slot_lines + line;
            spin s;
            do {
                spin_pause();
                if (++s.polls % spin::polls_between == 0)
                    around([&] {
                        s.start = look_around_at(
                            all.c, s.start | abort_bits, GSH_REPORT_SYNC_TIMEOUT, call,
                            all.pe(member), GSHMEM_CMP_EQ, &from->low, (uint64_t)flag, v.low >> 32);
                    });
                v = load_relaxed_words(from);
            } while (!is_here(v));
            s.done();
        }
        return (uint32_t)v.low | v.high << 32;
    }
};

/* What an LL exchange reads of the team: all of it together, before anything is stored or waited
 * for. One field at a time, each would take as long as a load from L2 after a fence. */
template <class Context> struct ll_buffers {
    members<Context> all;
    uint64_t area_off, slots_off; /* of the channel: its words, and its first buffer */
    uint32_t slot_bytes;
    bool is_mapped;

    __device__ __forceinline__ ll_buffers(const Context &c, const gsh_team_state &t, int channel)
        : all(c, t)
    {
        const uint32_t n_near = (uint32_t)t.n_near, narrow = t.slot_bytes;
        /* Channel 0 has slots of its own size; other channels have smaller ones. */
        area_off = channel_off(t, channel);
        slot_bytes = channel == 0 ? t.wide_slot_bytes : narrow;
        slots_off =
            channel == 0 ? t.wide_off : t.slots_off + (uint64_t)(channel - 1) * 2 * n_near * narrow;
        is_mapped = gshmem::detail::is_mapped(t);
        all.n = (int)hide_value((uint32_t)all.n);
        all.me = (int)hide_value((uint32_t)all.me);
        all.first_pe = (int)hide_value((uint32_t)all.first_pe);
        all.pe_stride = (int)hide_value((uint32_t)all.pe_stride);
        all.pes = hide_value(all.pes);
        area_off = hide_value(area_off);
        slots_off = hide_value(slots_off);
        slot_bytes = hide_value(slot_bytes);
    }
    /* Whether that many bytes (not 0) from each member to each other fit. */
    __device__ __forceinline__ bool fits(uint64_t bytes) const
    {
        const uint64_t most = all.n > 1 && is_mapped ? slot_bytes / 2 : 0;
        return bytes <= most;
    }
};

/* One call's view of the buffers. */
template <class Context> struct ll_call {
    members<Context> all;
    const char *name; /* the call's, for reports */
    inbox in;

    /* count: of the calls on the channel, including this one. All members are near. */
    __device__ __forceinline__ ll_call(const ll_buffers<Context> &s, const char *call,
                                       uint64_t count)
        : all(s.all), name(call)
    {
        in.flag = (uint32_t)count;
        in.slot_lines = s.slot_bytes / (uint32_t)sizeof(words2);
        in.own = reinterpret_cast<words2 *>(state_of(s.all.c).base + s.slots_off +
                                            (uint64_t)((uint32_t)(count & 1) * (uint32_t)s.all.n) *
                                                s.slot_bytes);
    }

    __device__ __forceinline__ void send(int member, uint32_t line, uint64_t data) const
    {
        words2 v = {(uint32_t)data | (uint64_t)in.flag << 32, data >> 32 | (uint64_t)in.flag << 32};
        store_relaxed_words(all.at(in.own + (uint64_t)all.me * in.slot_lines + line, member), v);
    }
    __device__ __forceinline__ uint64_t receive(int member, uint32_t line, words2 v) const
    {
        return in.receive(all, name, member, line, v, spill_nothing());
    }
    __device__ __forceinline__ uint64_t receive(int member, uint32_t line) const
    {
        return receive(member, line, in.look(member, line));
    }
};

/* One LL exchange of the group: body(f) in each of the first n_units threads, which are those with
 * something to send or receive. is_joined: after it all lines are in place. */
template <bool is_joined = true, class Context, class Group, class Body>
__device__ __forceinline__ void run_ll(const Context &c, Group g, const ll_buffers<Context> &s,
                                       const char *name, uint32_t n_units, Body body)
{
    gsh_sync_area *const area = sync_area(c, s.area_off);
    const uint64_t calls = load_plain(&area->calls) + 1;
#if defined(GSHMEM_LIBRARY_KERNELS) && defined(__CUDACC__)
    const uint32_t has_left = load_has_left(c);
#endif
    /* The threads have the count, and have joined; the next call finds the new count. */
    join_blocks(c, g, area, name);
    write_for_next(g, &area->calls, calls, &area->n_counted);
#if defined(GSHMEM_LIBRARY_KERNELS) && defined(__CUDACC__)
    leave_if_given_up(c, has_left);
#endif
    if constexpr (is_joined && std::is_same_v<Group, group_blocks>) {
        struct { /* what the end needs is in memory meanwhile */
            Group g;
            gsh_sync_area *area;
            const char *name;
        } end = {g, area, name};
        if (rank_in_group_of(g).rank < n_units)
            spilled_during(&end, [&] { body(ll_call<Context>(s, name, calls)); });
        join_blocks(c, end.g, end.area, end.name);
    } else {
        if (rank_in_group_of(g).rank < n_units)
            body(ll_call<Context>(s, name, calls));
        if constexpr (is_joined && flag_group<Group>::is_warp)
            converge_warp();
        if constexpr (is_joined)
            join_blocks(c, g, area, name);
    }
}

/* ---- the calls; lines are shared out among the threads of the group ----------------------------
 */

/* How many lines a thread has in flight at a time: more if it has more to do. */
template <class Group> struct lines_ahead {
    static constexpr int n = 2;
};
template <> struct lines_ahead<group_thread> {
    static constexpr int n = 4;
};

/* body(unit) for the units of [0, n), a few of them at a time: load(a, unit) for each of them, then
 * use(a, unit). */
template <int n_ahead, class Load, class Use>
__device__ __forceinline__ void in_batches(rank_in_group at, uint32_t n, Load load, Use use)
{
    GSHMEM_NO_UNROLL
    for (uint32_t u = at.rank; u < n; u += at.size * n_ahead) {
        GSHMEM_UNROLL
        for (int a = 0; a < n_ahead; a++)
            if (u + (uint32_t)a * at.size < n)
                load(a, u + (uint32_t)a * at.size);
        GSHMEM_UNROLL
        for (int a = 0; a < n_ahead; a++)
            if (u + (uint32_t)a * at.size < n)
                use(a, u + (uint32_t)a * at.size);
    }
}

/* Every member sends n_lines lines of outgoing(member, line) to each other. */
template <int n_ahead, class Context, class Out>
__device__ __forceinline__ void ll_send(const ll_call<Context> &f, rank_in_group at,
                                        uint32_t n_lines, Out outgoing)
{
    uint64_t data[n_ahead];
    GSHMEM_NO_UNROLL
    for (int i = 1; i < f.all.n; i++) {
        const int member = f.all.after(i);
        in_batches<n_ahead>(
            at, n_lines, [&](int a, uint32_t line) { data[a] = outgoing(member, line); },
            [&](int a, uint32_t line) { f.send(member, line, data[a]); });
    }
}

/* Receives as many, and calls incoming(member, line, data) for each. */
template <int n_ahead, class Context, class In>
__device__ __forceinline__ void ll_receive(const ll_call<Context> &f, rank_in_group at,
                                           uint32_t n_lines, In incoming)
{
    words2 seen[n_ahead];
    GSHMEM_NO_UNROLL
    for (int i = 1; i < f.all.n; i++) {
        const int member = f.all.after(i);
        in_batches<n_ahead>(
            at, n_lines, [&](int a, uint32_t line) { seen[a] = f.in.look(member, line); },
            [&](int a, uint32_t line) {
                incoming(member, line, f.receive(member, line, seen[a]));
            });
    }
}

/* The bytes of a call: member i is sent those at source + i * source_step, and those from member i
 * go to dest + i * dest_step. They fit into a slot: 32 bits suffice. */
struct line_data {
    uint8_t *dest;
    const uint8_t *source;
    uint32_t bytes, source_step, dest_step;
};

/* These are inlined on GPUs, where what they are given stays in registers: in memory, the arguments
 * of 512 threads take longer than the exchange. The CPU device has one copy for groups of any kind.
 */
#if defined(__CUDACC__)
#define GSHMEM_INLINE_ON_GPU __forceinline__
#else
#define GSHMEM_INLINE_ON_GPU GSHMEM_NOINLINE
#endif

/* keeps: member after(1)'s lines are this PE's own, too, and go to its dest. */
template <int n_ahead, bool keeps = false, class Context>
__device__ GSHMEM_INLINE_ON_GPU void send_lines(const ll_call<Context> &f, rank_in_group at,
                                                const line_data &d)
{
    uint64_t data[n_ahead];
    GSHMEM_NO_UNROLL
    for (int i = 1; i < f.all.n; i++) {
        const int member = f.all.after(i);
        in_batches<n_ahead>(
            at, lines_of(d.bytes),
            [&](int a, uint32_t line) {
                data[a] = load_line(d.source + (uint64_t)member * d.source_step, d.bytes, line);
            },
            [&](int a, uint32_t line) {
                f.send(member, line, data[a]);
                if (keeps && i == 1)
                    store_line(d.dest + (uint64_t)f.all.me * d.dest_step, d.bytes, line, data[a]);
            });
    }
}

/* This PE's own. */
template <int n_ahead, class Context>
__device__ GSHMEM_INLINE_ON_GPU void copy_own_lines(const ll_call<Context> &f, rank_in_group at,
                                                    const line_data &d)
{
    const uint64_t me = (uint64_t)f.all.me;
    uint64_t own[n_ahead];
    in_batches<n_ahead>(
        at, lines_of(d.bytes),
        [&](int a, uint32_t line) {
            own[a] = load_line(d.source + me * d.source_step, d.bytes, line);
        },
        [&](int a, uint32_t line) {
            store_line(d.dest + me * d.dest_step, d.bytes, line, own[a]);
        });
}

/* The lines of the n members first, first + 1 and so on after this one. */
template <int n_ahead, class Context>
__device__ GSHMEM_INLINE_ON_GPU void receive_lines_inline(const ll_call<Context> &f,
                                                          rank_in_group at, const line_data &d,
                                                          int first, int n)
{
    struct { /* not in registers during the rare part of a wait */
        inbox in;
        words2 seen[n_ahead];
    } s = {f.in, {}};
    GSHMEM_NO_UNROLL
    for (int i = first; i < first + n; i++) {
        const int member = f.all.after(i);
        in_batches<n_ahead>(
            at, lines_of(d.bytes),
            [&](int a, uint32_t line) { s.seen[a] = s.in.look(member, line); },
            [&](int a, uint32_t line) {
                store_line(d.dest + (uint64_t)member * d.dest_step, d.bytes, line,
                           s.in.receive(f.all, f.name, member, line, s.seen[a],
                                        [&](auto look) { spilled_during(&s, look); }));
            });
    }
}

/* The same if all lines of a number belong together, and have been sent: the lines of members [0,
 * end) are added in their order, and stored; 0 if there is no member. */
template <class Op, class Type, int n_ahead, class Context>
__device__ GSHMEM_INLINE_ON_GPU void add_lines_inline(const ll_call<Context> &f, rank_in_group at,
                                                      const line_data &d, int end)
{
    struct { /* not in registers during the rare part of a wait */
        inbox in;
        sum_of<Type, uint64_t> sum[n_ahead];
        uint64_t own[n_ahead];
        words2 seen[n_ahead];
    } s = {f.in, {}, {}, {}};
    const uint32_t n_lines = lines_of(d.bytes);
    GSHMEM_NO_UNROLL
    for (uint32_t u = at.rank; u < n_lines; u += at.size * n_ahead) {
        auto each = [&](auto body) {
            GSHMEM_UNROLL
            for (int a = 0; a < n_ahead; a++)
                if (u + (uint32_t)a * at.size < n_lines)
                    body(a, u + (uint32_t)a * at.size);
        };
        GSHMEM_UNROLL
        for (int a = 0; a < n_ahead; a++) {
            s.own[a] = 0;
            s.sum[a].open(0);
        }
        const uint8_t *own_source = d.source + (uint64_t)f.all.me * d.source_step;
        each([&](int a, uint32_t line) { s.own[a] = load_line(own_source, d.bytes, line); });
        GSHMEM_NO_UNROLL
        for (int m = 0; m < f.all.n; m++) {
            const bool is_own = m == f.all.me;
            if (!is_own)
                each([&](int a, uint32_t line) { s.seen[a] = s.in.look(m, line); });
            each([&](int a, uint32_t line) {
                const uint64_t its =
                    is_own ? s.own[a]
                           : s.in.receive(f.all, f.name, m, line, s.seen[a],
                                          [&](auto look) { spilled_during(&s, look); });
                if (m == 0)
                    s.sum[a].open(its);
                else if (m < end)
                    s.sum[a].template add<Op>(its);
            });
        }
        each([&](int a, uint32_t line) {
            store_line(d.dest, d.bytes, line, end > 0 ? s.sum[a].close() : 0);
        });
    }
}

/* With more than two lines in flight, which is by a group of one thread, these take many registers:
 * they are functions that are called. */
template <int n_ahead, class Context>
__device__ GSHMEM_NOINLINE void receive_lines_called(const ll_call<Context> &f, rank_in_group at,
                                                     const line_data &d, int first, int n)
{
    receive_lines_inline<n_ahead>(f, at, d, first, n);
}
template <int n_ahead, class Context>
__device__ __forceinline__ void receive_lines(const ll_call<Context> &f, rank_in_group at,
                                              const line_data &d, int first, int n)
{
    if constexpr (n_ahead > 2)
        receive_lines_called<n_ahead>(f, at, d, first, n);
    else
        receive_lines_inline<n_ahead>(f, at, d, first, n);
}

template <class Op, class Type, int n_ahead, class Context>
__device__ GSHMEM_NOINLINE void add_lines_called(const ll_call<Context> &f, rank_in_group at,
                                                 const line_data &d, int end)
{
    add_lines_inline<Op, Type, n_ahead>(f, at, d, end);
}
template <class Op, class Type, int n_ahead, class Context>
__device__ __forceinline__ void add_lines(const ll_call<Context> &f, rank_in_group at,
                                          const line_data &d, int end)
{
    if constexpr (n_ahead > 2)
        add_lines_called<Op, Type, n_ahead>(f, at, d, end);
    else
        add_lines_inline<Op, Type, n_ahead>(f, at, d, end);
}

} // namespace detail
} // namespace gshmem

#endif
