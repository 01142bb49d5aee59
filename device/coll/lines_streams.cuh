/* SPDX-License-Identifier: Apache-2.0
 * Collectives in lines (lines.cuh) that move data, and sums of two members: a unit is one group's,
 * whichever. All blocks have the same size. What a thread needs of a unit stays in registers from
 * round to round. Before it waits for a round's lines, it has sent those of the next round and
 * loaded the source of the one after that. */
#ifndef GSHMEM_COLL_LINES_STREAMS_CUH
#define GSHMEM_COLL_LINES_STREAMS_CUH

#include "lines_worker.cuh"

namespace gshmem
{
namespace detail
{

template <arithmetic computes, class Context> struct line_streams : line_worker<computes, Context> {
    using worker = line_worker<computes, Context>;
    using worker::all;
    using worker::await;
    using worker::buffer_bytes;
    using worker::dest;
    using worker::gives;
    using worker::group;
    using worker::its;
    using worker::load_scalar;
    using worker::look_around_for;
    using worker::look_at;
    using worker::me;
    using worker::n_groups;
    using worker::own;
    using worker::source;
    using worker::t;
    using worker::takes;
    __device__ __forceinline__ explicit line_streams(const worker &w) : worker(w) {}

    struct stream {
        words2 *out, *in; /* lines in buffer 0; NULL: there is no such unit */
        const uint8_t *from, *own_from;
        uint8_t *to, *own_to; /* of my own block, in a MOVE; NULL: it is not this unit's */
        uint64_t at;          /* of this thread's first word, in the block, in the round to take */
        int member;
        bool gives, takes, is_first_line;
    };

    template <bool is_add>
    __device__ __forceinline__ stream stream_of(uint32_t u, uint64_t first) const
    {
        const uint32_t i = all.n <= 2 ? 0 : u / t.lines, line = u - i * t.lines;
        const bool is_unit = u < n_units();
        stream s;
        s.member = all.n > 1 ? all.after(is_unit ? 1 + (int)i : 1) : all.me;
        const bool is_used = is_unit && all.n > 1;
        s.out = is_used ? its(s.member, line, 0) : nullptr;
        s.in = is_used ? own(s.member, line, 0) : nullptr;
        s.gives = is_used && gives(s.member);
        s.takes = is_used && takes(s.member);
        s.is_first_line = line == 0;
        s.from = source(s.member);
        s.own_from = source(all.me);
        s.to = is_add ? reinterpret_cast<uint8_t *>(t.result) : dest(s.member);
        s.own_to = !is_add && is_unit && i == 0 ? reinterpret_cast<uint8_t *>(t.own_dest) : nullptr;
        s.at = (first + line) * line_data_bytes + 8 * me.index;
        return s;
    }
    __device__ __forceinline__ uint32_t n_units() const
    {
        return (all.n > 1 ? (uint32_t)all.n - 1 : 1) * t.lines;
    }
    /* Whether the unit exchanges a line in the round. */
    __device__ __forceinline__ bool is_on(const stream &s, bool is_met) const
    {
        return s.out != nullptr && (s.gives || s.takes || (is_met && s.is_first_line));
    }
    __device__ __forceinline__ words2 *in_round(words2 *line, uint64_t round) const
    {
        return reinterpret_cast<words2 *>(reinterpret_cast<uint64_t>(line) +
                                          round % GSH_LINES_BUFFERS * buffer_bytes);
    }

    template <bool is_add>
    __device__ __forceinline__ void scale(line_part &p, uint64_t scalar) const
    {
        if (is_add && t.scaling == GSH_LINES_MULTIPLIED)
            multiply_part<computes>(t.element, p, scalar);
    }
    /* The part for the other member and, in a MOVE, my own. */
    template <bool is_add>
    __device__ __forceinline__ void load_stream(const stream &s, uint64_t at, line_part &p,
                                                line_part &mine) const
    {
        if (s.gives)
            p = load_words(s.from, t.block_bytes, at, me.index);
        if (s.own_to != nullptr)
            mine = s.gives && t.source_step == 0
                       ? p
                       : load_words(s.own_from, t.block_bytes, at, me.index);
    }
    template <bool is_add>
    __device__ __forceinline__ void give(const stream &s, uint64_t at, line_part p,
                                         const line_part &mine, uint64_t round, bool is_met,
                                         uint64_t scalar) const
    {
        scale<is_add>(p, scalar);
        if (is_on(s, is_met))
            me.send(in_round(s.out, round), round, p, s.gives);
        if (s.own_to != nullptr)
            store_words(s.own_to, t.block_bytes, at, me.index, mine);
    }
    /* The two members' parts are added up in their order. */
    __device__ __forceinline__ line_part sum_of_two(const line_part &mine,
                                                    const line_part &its_part,
                                                    uint64_t scalar) const
    {
        const bool am_first = all.me == 0;
        line_terms sum = open_part<computes>(t.element, chosen(am_first, mine, its_part));
        if (all.n > 1)
            fold<computes>(t.fold, t.element, sum,
                           open_part<computes>(t.element, chosen(am_first, its_part, mine)));
        if (computes == arithmetic::any && t.scaling == GSH_LINES_DIVIDED)
            divide_terms(t.element, sum, scalar);
        return close_part<computes>(t.element, sum);
    }
    template <bool is_add>
    __device__ __forceinline__ void take(const stream (&s)[streams_of_group], uint64_t round,
                                         bool is_met, uint64_t scalar) const
    {
        line_at v[streams_of_group];
        seen_part seen[streams_of_group];
        line_part p[streams_of_group], mine[streams_of_group] = {};
        GSHMEM_UNROLL
        for (int k = 0; k < streams_of_group; k++)
            v[k] = {is_on(s[k], is_met) ? in_round(s[k].in, round) : nullptr, 0, s[k].member,
                    s[k].takes};
        if (is_add && t.takes == GSH_LINES_ALL) {
            GSHMEM_UNROLL
            for (int k = 0; k < streams_of_group; k++)
                if (s[k].takes || all.n == 1)
                    mine[k] = load_words(s[k].own_from, t.block_bytes, s[k].at, me.index);
        }
        look_at(v, seen);
        await(v, seen, round);
        GSHMEM_UNROLL
        for (int k = 0; k < streams_of_group; k++)
            p[k] = me.data_of(seen[k]);
        if constexpr (is_add) {
            GSHMEM_NO_UNROLL
            for (int k = 0; k < streams_of_group && t.takes == GSH_LINES_ALL; k++) {
                line_part scaled = picked(mine, k);
                scale<is_add>(scaled, scalar);
                const line_part x = sum_of_two(scaled, picked(p, k), scalar);
                GSHMEM_UNROLL
                for (int i = 0; i < streams_of_group; i++)
                    if (i == k)
                        p[i] = x;
            }
        }
        GSHMEM_UNROLL
        for (int k = 0; k < streams_of_group; k++)
            if (s[k].takes || (is_add && all.n == 1))
                store_words(s[k].to, t.block_bytes, s[k].at, me.index, p[k]);
    }

    /* ---- many rounds of whole lines at aligned addresses: with few instructions for each ---- */

    /* In how many of the item's first rounds all of this thread's words are there and aligned. */
    __device__ __forceinline__ uint32_t plain_rounds(const stream &s) const
    {
        const uint64_t addresses =
            reinterpret_cast<uint64_t>(s.from) | reinterpret_cast<uint64_t>(s.own_from) |
            reinterpret_cast<uint64_t>(s.to) | reinterpret_cast<uint64_t>(s.own_to);
        const uint64_t line_at = s.at - 8 * me.index;
        if (s.out == nullptr)
            return ~0u;
        if ((addresses & 7) != 0 || t.block_bytes < line_at || !(s.gives || s.takes))
            return 0;
        const uint64_t lines = (t.block_bytes - line_at) / line_data_bytes;
        return (uint32_t)((lines + t.lines - 1) / t.lines);
    }

    /* Carries out the item's first rounds, after give of the first and load of the second: those
     * after which two more are plain. Returns how many these are. */
    template <bool is_add>
    __device__ __forceinline__ uint32_t run_plain(stream (&s)[streams_of_group],
                                                  line_part (&p)[streams_of_group],
                                                  line_part (&mine)[streams_of_group],
                                                  uint64_t before, uint64_t scalar) const
    {
        constexpr uint32_t second = line_threads * (part_words > 1);
        uint32_t n = t.n_rounds;
        GSHMEM_UNROLL
        for (int k = 0; k < streams_of_group; k++) {
            const uint32_t plain = plain_rounds(s[k]);
            n = plain < n ? plain : n;
        }
        n = least_of_warp(n);
        if (n < 3 || all.n == 1)
            return 0;
        n -= 2;
        const uint64_t step = t.lines * line_data_bytes;
        const bool is_last = me.is_last();
        auto word_at = [](const uint8_t *block, uint64_t at) {
            return reinterpret_cast<const uint64_t *>(block + at);
        };
        auto load_at = [&](const uint8_t *block, uint64_t at) {
            line_part x;
            x.word[0] = load_plain(word_at(block, at));
            x.word[part_words > 1] = is_last ? 0 : load_plain(word_at(block, at) + second);
            return x;
        };
        auto store_at = [&](uint8_t *block, uint64_t at, const line_part &x) {
            uint64_t *const to = reinterpret_cast<uint64_t *>(block + at);
            store_plain(to, x.word[0]);
            if (!is_last)
                store_plain(to + second, x.word[part_words > 1]);
        };
        GSHMEM_NO_UNROLL
        for (uint32_t r = 0; r < n; r++) {
            const uint64_t flag = before + 1 + r;
            const uint64_t out_off = (flag + 1) % GSH_LINES_BUFFERS * buffer_bytes,
                           in_off = flag % GSH_LINES_BUFFERS * buffer_bytes;
            seen_part seen[streams_of_group];
            GSHMEM_UNROLL
            for (int k = 0; k < streams_of_group; k++) {
                line_part x = p[k];
                scale<is_add>(x, scalar);
                if (s[k].out != nullptr && (s[k].gives || is_last))
                    store_relaxed_words(reinterpret_cast<words2 *>(
                                            reinterpret_cast<uint8_t *>(s[k].out) + out_off) +
                                            me.index,
                                        {x.word[0], is_last ? flag + 1 : x.word[part_words > 1]});
                if (s[k].own_to != nullptr)
                    store_at(s[k].own_to, s[k].at + step, mine[k]);
            }
            GSHMEM_UNROLL
            for (int k = 0; k < streams_of_group; k++) {
                if (s[k].gives)
                    p[k] = load_at(s[k].from, s[k].at + 2 * step);
                if (s[k].own_to != nullptr)
                    mine[k] = s[k].gives && t.source_step == 0
                                  ? p[k]
                                  : load_at(s[k].own_from, s[k].at + 2 * step);
                if (is_add && s[k].takes)
                    mine[k] = load_at(s[k].own_from, s[k].at);
            }
            uint64_t start = 0;
            for (uint32_t polls = 1;; polls++) {
                uint32_t missing = 0;
                GSHMEM_UNROLL
                for (int k = 0; k < streams_of_group; k++) {
                    if (s[k].in == nullptr)
                        continue;
                    seen[k].v[0] = load_relaxed_words(
                        reinterpret_cast<const words2 *>(
                            reinterpret_cast<const uint8_t *>(s[k].in) + in_off) +
                        me.index);
                    if (is_last && seen[k].v[0].high != flag)
                        missing |= 1u << k;
                }
                if (all_of_warp(missing == 0))
                    break;
                if (polls % looks_between == 0) {
                    line_at v[streams_of_group];
                    GSHMEM_UNROLL
                    for (int k = 0; k < streams_of_group; k++)
                        v[k] = {s[k].in != nullptr ? in_round(s[k].in, flag) : nullptr, 0,
                                s[k].member, s[k].takes};
                    start = look_around_for(v, missing, flag, start);
                }
            }
            GSHMEM_UNROLL
            for (int k = 0; k < streams_of_group; k++) {
                line_part x;
                x.word[0] = seen[k].v[0].low;
                x.word[part_words > 1] = seen[k].v[0].high;
                if (is_add && s[k].takes) {
                    scale<is_add>(mine[k], scalar);
                    x = sum_of_two(mine[k], x, scalar);
                }
                if (s[k].takes)
                    store_at(s[k].to, s[k].at, x);
                s[k].at += step;
            }
        }
        return n;
    }

    /* before: the channel's rounds so far. Returns them with those of the item. */
    template <bool is_add, bool is_long>
    __device__ __forceinline__ uint64_t run_streams(uint32_t block, uint64_t before) const
    {
        const uint64_t by = is_add ? load_scalar() : 0;
        stream s[streams_of_group];
        auto begin_at = [&](uint32_t u, uint32_t r) {
            const uint64_t first = gsh_lines_first(t.n_rounds, t.lines, block, r);
            GSHMEM_UNROLL
            for (int k = 0; k < streams_of_group; k++)
                s[k] = stream_of<is_add>(u + (uint32_t)k * n_groups + group, first);
        };
        line_part p[streams_of_group] = {}, mine[streams_of_group] = {};
        auto load_ahead = [&](uint64_t ahead) {
            GSHMEM_UNROLL
            for (int k = 0; k < streams_of_group; k++)
                load_stream<is_add>(s[k], s[k].at + ahead, p[k], mine[k]);
        };
        auto give_in = [&](uint32_t r, uint64_t ahead) {
            GSHMEM_UNROLL
            for (int k = 0; k < streams_of_group; k++)
                give<is_add>(s[k], s[k].at + ahead, p[k], mine[k], before + 1 + r,
                             gsh_lines_both_call(t.n_rounds, r) != 0, by);
        };
        auto take_in = [&](uint32_t r) {
            take<is_add>(s, before + 1 + r, gsh_lines_both_call(t.n_rounds, r) != 0, by);
        };
        if constexpr (is_cpu_device) { /* few threads: each has many units, one after the other */
            const uint32_t at_once = n_groups * streams_of_group;
            for (uint32_t r = 0; r < t.n_rounds; r++) {
                for (uint32_t u = 0; u < n_units(); u += at_once) {
                    begin_at(u, r);
                    load_ahead(0);
                    give_in(r, 0);
                }
                for (uint32_t u = 0; u < n_units(); u += at_once) {
                    begin_at(u, r);
                    take_in(r);
                }
            }
            return before + t.n_rounds;
        }
        /* GSH_LINES_ROUNDS_AHEAD: a round is sent before the one before it has come */
        const uint64_t step = t.lines * line_data_bytes;
        begin_at(0, 0);
        load_ahead(0);
        give_in(0, 0);
        if (t.n_rounds > 1)
            load_ahead(step);
        uint32_t r = 0;
        if constexpr (is_long) {
            if (me.is_whole)
                r = run_plain<is_add>(s, p, mine, before, by);
        }
        GSHMEM_NO_UNROLL
        for (; r < t.n_rounds; r++) {
            if (r + 1 < t.n_rounds)
                give_in(r + 1, step);
            if (r + 2 < t.n_rounds)
                load_ahead(2 * step);
            take_in(r);
            GSHMEM_UNROLL
            for (int k = 0; k < streams_of_group; k++)
                s[k].at += step;
        }
        return before + t.n_rounds;
    }
};

} // namespace detail
} // namespace gshmem

#endif
