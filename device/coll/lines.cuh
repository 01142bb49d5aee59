/* SPDX-License-Identifier: Apache-2.0
 * Collectives on any memory, through an inbox in symmetric memory: each member stores lines of data
 * with their flags into slots of the others, and takes what the others have stored into its own. No
 * barrier, no fence, and no wait but for data. rounds.h says where lines lie and when they go.
 *
 * A line is eight threads' work: on GPUs 120 bytes of data in words of 8, of which thread i has
 * words i and i + 8; the last word of the last thread is the flag. Over NVLink a store of these
 * threads arrives whole, so that its flag vouches for all of it (tests/litmus has a test of that).
 * Over other links, and on the CPU device, each 4 bytes of data have a flag of their own (ll.cuh),
 * and a line takes twice as much room. The flag is the number of the round.
 *
 * Invariants, for each channel (a block and the blocks of its number on other members)
 * - `count` is the number of rounds that this member's block has begun in all items so far. Members
 *   count alike, since they carry out the same items. Round r's lines lie in buffer r mod 4.
 * - A unit is another member p and a line of the slots that p and this member have for each other.
 *   The threads of a unit send p a line in each round of an item, and wait for p's line of each
 *   round. They send in round r + 2 only after they have p's line of round r. A line without data
 *   is a flag.
 * - So a unit that has p's line of round r knows that p's unit has taken this member's line of
 *   round r - 2, and may overwrite it in round r + 2 of the same item.
 * - An item's units are used in each of its rounds, so that all lines that p may not have taken
 *   when this member's block is through are those of the item's last two rounds. The next item's
 *   first two rounds use the two other buffers. Later rounds overwrite only after a line of p's
 *   block of the new item has come.
 * - Members that give each other no data in an item (of those that have a root) exchange one line
 * in its first round. They exchange one in its last round, too, if that has another buffer: it says
 *   that the first has been taken, so that the next item may use that buffer at once.
 * - A block begins an item after all of its threads have ended the one before: by a barrier of the
 *   block in one launch, by the end of a kernel from one launch to the next. In each item every
 *   block takes a line from every other member's. So a member that has ended an item knows that the
 *   others' blocks have begun it, and have taken all lines of the items before.
 * - Flags of 4 bytes recur after 2^32 rounds, as in ll.cuh. */
#ifndef GSHMEM_COLL_LINES_CUH
#define GSHMEM_COLL_LINES_CUH

#include "fold.cuh"
#include "line.cuh"
#include "team.cuh"
#include "../group.cuh"
#include "../wait.cuh"
#include "../../wire/rounds.h"

namespace gshmem
{
namespace detail
{

/* ---- a block's work in an item ---- */

constexpr int lines_ahead_of_group = GSH_LINES_AHEAD, streams_of_group = GSH_LINES_STREAMS;

/* A line that is under way. slot: its first bytes; NULL: this thread's group has no such line. */
struct line_at {
    words2 *slot;
    uint64_t line; /* of the item's block */
    int member;
    bool has_data;
};

/* Element k of a small array in registers. */
template <class Type, int n> __device__ __forceinline__ Type picked(const Type (&from)[n], int k)
{
    if constexpr (is_cpu_device)
        return from[k];
    Type v = from[0];
    GSHMEM_UNROLL
    for (int i = 1; i < n; i++)
        if (k == i)
            v = from[i];
    return v;
}

__device__ __forceinline__ bool concerns(uint32_t whom, int root, int member)
{
    return whom == GSH_LINES_ALL || (whom == GSH_LINES_ROOT && member == root);
}

template <arithmetic computes, class Context> struct line_worker {
    members<Context> all;
    const gsh_lines_inbox &in;
    const gsh_lines_item &t;
    const char *name;
    uint64_t channel; /* the address of this member's first buffer */
    uint64_t buffer_bytes;
    line_thread me;
    uint32_t group, n_groups; /* of eight threads, in the block */
    uint32_t first_group;     /* of the warp */

    __device__ __forceinline__ line_worker(const Context &c, const gsh_kernel_lines_args &h,
                                           const gsh_lines_item &item)
        : all(c, h.team), in(h.inbox), t(item), name(h.call)
    {
        channel = state_of(c).base + in.off + gsh_lines_channel_off(&in, all.n, blockIdx.x);
        buffer_bytes = (uint64_t)(uint32_t)(all.n - 1) * in.slot_lines * in.line_room;
        me.index = threadIdx.x % line_threads;
        me.is_whole = !is_cpu_device && in.line_room == GSH_LINE_ROOM_WHOLE;
        group = threadIdx.x / line_threads;
        n_groups = blockDim.x / line_threads;
        first_group = is_cpu_device ? group : group & ~3u;
    }

    __device__ __forceinline__ words2 *slot_line(int sender, int receiver, uint32_t line,
                                                 uint64_t round) const
    {
        const uint64_t slots =
            round % GSH_LINES_BUFFERS * (uint32_t)(all.n - 1) + gsh_lines_slot(sender, receiver);
        return reinterpret_cast<words2 *>(channel + (slots * in.slot_lines + line) * in.line_room);
    }
    __device__ __forceinline__ words2 *own(int member, uint32_t line, uint64_t round) const
    {
        return slot_line(member, all.me, line, round);
    }
    __device__ __forceinline__ words2 *its(int member, uint32_t line, uint64_t round) const
    {
        return all.at(slot_line(all.me, member, line, round), member);
    }
    __device__ __forceinline__ bool is_in(uint64_t line, int block) const
    {
        return line * line_data_bytes < gsh_lines_block_bytes(&t, block);
    }
    __device__ __forceinline__ const uint8_t *source(int block) const
    {
        return reinterpret_cast<const uint8_t *>(t.source + (uint64_t)block * t.source_step);
    }
    __device__ __forceinline__ uint8_t *dest(int block) const
    {
        return reinterpret_cast<uint8_t *>(t.dest + (uint64_t)block * t.dest_step);
    }
    __device__ __forceinline__ line_part load(int block, uint64_t line) const
    {
        return load_part(source(block), gsh_lines_block_bytes(&t, block), line, me.index);
    }
    __device__ __forceinline__ void store(uint64_t to, int block, uint64_t line,
                                          const line_part &p) const
    {
        store_part(reinterpret_cast<uint8_t *>(to), gsh_lines_block_bytes(&t, block), line,
                   me.index, p);
    }

    /* Now and then in a long wait: the first of the warp's lines that is missing. */
    template <int n>
    __device__ __forceinline__ uint64_t look_around_for(const line_at (&v)[n], uint32_t missing,
                                                        uint64_t flag, uint64_t start) const
    {
        int k = 0;
        GSHMEM_NO_UNROLL
        while (k + 1 < n && all_of_warp((missing >> k & 1) == 0))
            k++;
        const line_at at = picked(v, k);
        const words2 *const line =
            at.slot != nullptr ? at.slot : reinterpret_cast<const words2 *>(channel);
        const uint64_t *const word = me.flag_word(line);
        return look_around_at(all.c, is_cpu_device ? start | abort_bits : start,
                              GSH_REPORT_SYNC_TIMEOUT, name, all.pe(at.member), GSHMEM_CMP_EQ, word,
                              me.is_whole ? flag : (uint64_t)(uint32_t)flag, load_relaxed(word));
    }
    /* Looks at the lines that are given until they are there. Those without a slot need not come.
     */
    template <int n>
    __device__ __forceinline__ void await(const line_at (&v)[n], seen_part (&seen)[n],
                                          uint64_t flag) const
    {
        uint64_t start = 0;
        for (uint32_t polls = 1;; polls++) {
            uint32_t missing = 0;
            GSHMEM_UNROLL
            for (int k = 0; k < n; k++)
                if (v[k].slot != nullptr && !me.is_here(seen[k], flag, v[k].has_data))
                    missing |= 1u << k;
            if (all_of_warp(missing == 0))
                break;
            spin_pause();
            if (polls % looks_between == 0)
                start = look_around_for(v, missing, flag, start);
            look_at(v, seen);
        }
        spin_done();
    }
    template <int n>
    __device__ __forceinline__ void look_at(const line_at (&v)[n], seen_part (&seen)[n]) const
    {
        GSHMEM_UNROLL
        for (int k = 0; k < n; k++)
            if (v[k].slot != nullptr)
                seen[k] = me.look(v[k].slot, v[k].has_data);
    }

    /* Whether data go between this member and that one. */
    __device__ __forceinline__ bool gives(int member) const
    {
        return concerns(t.gives, t.root, member);
    }
    __device__ __forceinline__ bool takes(int member) const
    {
        return concerns(t.takes, t.root, member);
    }

    /* ---- MOVE, and ADD of two members: a unit is one group's, whichever ----
     * All blocks have the same size. What a thread needs of a unit stays in registers from round to
     * round. Before it waits for a round's lines, it has sent those of the next round and loaded
     * the source of the one after that. */

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
        line_terms sum = open_part<computes>(t.element, all.me == 0 ? mine : its_part);
        if (all.n > 1)
            fold<computes>(t.fold, t.element, sum,
                           open_part<computes>(t.element, all.me == 0 ? its_part : mine));
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
                line_part own = picked(mine, k);
                scale<is_add>(own, scalar);
                const line_part x = sum_of_two(own, picked(p, k), scalar);
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
        const uint64_t places =
            reinterpret_cast<uint64_t>(s.from) | reinterpret_cast<uint64_t>(s.own_from) |
            reinterpret_cast<uint64_t>(s.to) | reinterpret_cast<uint64_t>(s.own_to);
        const uint64_t line_at = s.at - 8 * me.index;
        if (s.out == nullptr)
            return ~0u;
        if ((places & 7) != 0 || t.block_bytes < line_at || !(s.gives || s.takes))
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
        const uint64_t by = is_add ? scalar() : 0;
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

    /* ---- ADD of more members, and ADD_AND_GIVE: the units of a line are one group's ---- */

    /* Walks over the group's lines of a round, and for each of them over n members. */
    struct walk {
        uint32_t line; /* in the slots */
        int i;

        __device__ __forceinline__ void next(int n, uint32_t step)
        {
            i++;
            if (i == n) {
                i = 0;
                line += step;
            }
        }
    };
    /* How many steps it has, the same for all groups of a warp. */
    __device__ __forceinline__ uint32_t walk_length(int n) const
    {
        return first_group >= t.lines
                   ? 0
                   : ((t.lines - first_group + n_groups - 1) / n_groups) * (uint32_t)n;
    }
    __device__ __forceinline__ bool counts(int member) const
    {
        return t.takes == GSH_LINES_ALL || (t.takes == GSH_LINES_ROOT && member == t.root);
    }
    __device__ __forceinline__ uint64_t scalar() const
    {
        if (t.scalar_at == 0 || t.scaling == GSH_LINES_NOT_SCALED)
            return t.scalar;
        const uint32_t bytes = t.element == GSH_ELEMENT_e4m3 || t.element == GSH_ELEMENT_e5m2 ||
                                       t.element == GSH_ELEMENT_i8 || t.element == GSH_ELEMENT_u8
                                   ? 1
                               : t.element == GSH_ELEMENT_half || t.element == GSH_ELEMENT_bfloat16
                                   ? 2
                               : t.element == GSH_ELEMENT_double || t.element == GSH_ELEMENT_i64 ||
                                       t.element == GSH_ELEMENT_u64
                                   ? 8
                                   : 4;
        return load_bytes(reinterpret_cast<const uint8_t *>(t.scalar_at), bytes);
    }

    __device__ __forceinline__ void give_terms(uint64_t first, uint64_t round,
                                               uint64_t multiplier) const
    {
        const uint32_t n_steps = walk_length(all.n - 1);
        walk w = {group, 0};
        GSHMEM_NO_UNROLL
        for (uint32_t s = 0; s < n_steps; s += lines_ahead_of_group) {
            line_at v[lines_ahead_of_group];
            line_part p[lines_ahead_of_group] = {};
            GSHMEM_UNROLL
            for (int k = 0; k < lines_ahead_of_group; k++) {
                v[k] = {nullptr, first + w.line, all.after(1 + w.i), false};
                if (s + (uint32_t)k < n_steps && w.line < t.lines) {
                    v[k].slot = its(v[k].member, w.line, round);
                    v[k].has_data = gives(v[k].member) && is_in(v[k].line, v[k].member);
                    if (v[k].has_data)
                        p[k] = load(v[k].member, v[k].line);
                }
                w.next(all.n - 1, n_groups);
            }
            if (t.own_dest != 0) {
                GSHMEM_UNROLL
                for (int k = 0; k < lines_ahead_of_group; k++)
                    if (v[k].has_data)
                        store(t.own_dest + (uint64_t)v[k].member * t.source_step, v[k].member,
                              v[k].line, p[k]);
            }
            if (t.scaling == GSH_LINES_MULTIPLIED) {
                GSHMEM_NO_UNROLL
                for (int k = 0; k < lines_ahead_of_group; k++) {
                    line_part scaled = picked(p, k);
                    multiply_part<computes>(t.element, scaled, multiplier);
                    GSHMEM_UNROLL
                    for (int i = 0; i < lines_ahead_of_group; i++)
                        if (i == k)
                            p[i] = scaled;
                }
            }
            GSHMEM_UNROLL
            for (int k = 0; k < lines_ahead_of_group; k++)
                if (v[k].slot != nullptr)
                    me.send(v[k].slot, round, p[k], v[k].has_data);
        }
    }

    /* The line's sum is complete: it is kept and, if it is to be, given to others. */
    __device__ __forceinline__ void use_sum(line_terms &sum, uint64_t first, uint32_t line,
                                            uint64_t round, bool is_there, uint64_t scalar) const
    {
        const bool has_data = is_there && is_in(first + line, all.me);
        if (computes == arithmetic::any && t.scaling == GSH_LINES_DIVIDED)
            divide_terms(t.element, sum, scalar);
        const line_part p = close_part<computes>(t.element, sum);
        if (has_data && t.result != 0)
            store(t.result, all.me, first + line, p);
        if (t.way != GSH_LINES_ADD_AND_GIVE)
            return;
        GSHMEM_NO_UNROLL
        for (int i = 1; i < all.n; i++) {
            const int member = all.after(i);
            me.send(its(member, line, round + 1), round + 1, p,
                    has_data && concerns(t.gives2, t.root, member));
        }
    }

    __device__ __forceinline__ void add_terms(uint64_t first, uint64_t round, uint64_t scalar) const
    {
        const uint32_t n_steps = walk_length(all.n);
        walk w = {group, 0}, f = {group, 0};
        line_terms sum = {};
        bool is_open = false;
        GSHMEM_NO_UNROLL
        for (uint32_t s = 0; s < n_steps; s += lines_ahead_of_group) {
            line_at v[lines_ahead_of_group];
            seen_part seen[lines_ahead_of_group];
            line_part mine[lines_ahead_of_group] = {};
            GSHMEM_UNROLL
            for (int k = 0; k < lines_ahead_of_group; k++) {
                v[k] = {nullptr, first + w.line, w.i, false};
                if (s + (uint32_t)k < n_steps && w.line < t.lines) {
                    v[k].has_data = counts(w.i) && is_in(v[k].line, all.me);
                    if (w.i != all.me)
                        v[k].slot = own(w.i, w.line, round);
                    else if (v[k].has_data)
                        mine[k] = load(all.me, v[k].line);
                }
                w.next(all.n, n_groups);
            }
            look_at(v, seen);
            await(v, seen, round);
            GSHMEM_UNROLL
            for (int k = 0; k < lines_ahead_of_group; k++)
                if (v[k].slot != nullptr)
                    mine[k] = me.data_of(seen[k]);
            GSHMEM_NO_UNROLL
            for (int k = 0; k < lines_ahead_of_group && s + (uint32_t)k < n_steps; k++) {
                line_part p = picked(mine, k);
                if (f.i == all.me && t.scaling == GSH_LINES_MULTIPLIED)
                    multiply_part<computes>(t.element, p, scalar);
                if (counts(f.i)) {
                    const line_terms term = open_part<computes>(t.element, p);
                    if (is_open)
                        fold<computes>(t.fold, t.element, sum, term);
                    else
                        sum = term;
                    is_open = true;
                }
                if (f.i == all.n - 1) {
                    if (f.line < t.lines)
                        use_sum(sum, first, f.line, round, is_open, scalar);
                    is_open = false;
                }
                f.next(all.n, n_groups);
            }
        }
    }

    __device__ __forceinline__ void take_sums(uint64_t first, uint64_t round) const
    {
        const uint32_t n_steps = walk_length(all.n - 1);
        walk w = {group, 0};
        GSHMEM_NO_UNROLL
        for (uint32_t s = 0; s < n_steps; s += lines_ahead_of_group) {
            line_at v[lines_ahead_of_group];
            seen_part seen[lines_ahead_of_group];
            GSHMEM_UNROLL
            for (int k = 0; k < lines_ahead_of_group; k++) {
                v[k] = {nullptr, first + w.line, all.after(1 + w.i), false};
                if (s + (uint32_t)k < n_steps && w.line < t.lines) {
                    v[k].slot = own(v[k].member, w.line, round);
                    v[k].has_data =
                        concerns(t.takes2, t.root, v[k].member) && is_in(v[k].line, v[k].member);
                }
                w.next(all.n - 1, n_groups);
            }
            look_at(v, seen);
            await(v, seen, round);
            GSHMEM_UNROLL
            for (int k = 0; k < lines_ahead_of_group; k++)
                if (v[k].has_data)
                    store_part(dest(v[k].member), gsh_lines_block_bytes(&t, v[k].member), v[k].line,
                               me.index, me.data_of(seen[k]));
        }
    }

    __device__ __forceinline__ uint64_t add(uint32_t block, uint64_t before) const
    {
        const uint32_t each = t.way == GSH_LINES_ADD_AND_GIVE ? 2 : 1;
        const uint64_t by = scalar();
        GSHMEM_NO_UNROLL
        for (uint32_t r = 0; r < t.n_rounds; r++) {
            const uint64_t first = gsh_lines_first(t.n_rounds, t.lines, block, r);
            const uint64_t round = before + 1 + (uint64_t)r * each;
            give_terms(first, round, by);
            add_terms(first, round, by);
            if (each == 2)
                take_sums(first, round + 1);
        }
        return before + (uint64_t)t.n_rounds * each;
    }
};

/* The calling block's part of all items. Which are there: the fewer, the less code and registers a
 * kernel has. */
enum class line_ways { move, sums_of_two, long_move, long_sums_of_two, of_two, of_more };
template <line_ways ways, class Context>
__device__ __forceinline__ void run_lines(const Context &c, const gsh_kernel_lines_args &h)
{
    constexpr bool is_long = ways == line_ways::long_move || ways == line_ways::long_sums_of_two;
    constexpr bool are_moves = ways == line_ways::move || ways == line_ways::long_move;
    constexpr bool are_sums = ways == line_ways::sums_of_two || ways == line_ways::long_sums_of_two;
    uint64_t *const count =
        reinterpret_cast<uint64_t *>(state_of(c).base + h.inbox.off) + blockIdx.x;
    const uint64_t before = h.team.n_pes > 1 ? load_plain(count) : 0;
    const uint32_t has_left = load_has_left(c);
    uint64_t so_far = before;
    GSHMEM_NO_UNROLL
    for (uint32_t i = 0; i < h.n_items; i++) {
        const gsh_lines_item &t = h.item[i];
        const uint32_t block = blockIdx.x - (uint32_t)t.first_block;
        if (block >= (uint32_t)t.n_blocks)
            continue;
        if (so_far != before)
            group_block().sync();
        const line_worker<are_sums ? arithmetic::float_sums : arithmetic::any, Context> worker(c, h,
                                                                                               t);
        if (i == 0)
            leave_if_given_up(c, has_left);
        if constexpr (are_sums)
            so_far = worker.template run_streams<true, is_long>(block, so_far);
        else if (are_moves || t.way == GSH_LINES_MOVE)
            so_far = worker.template run_streams<false, is_long>(block, so_far);
        else if constexpr (ways == line_ways::of_two)
            so_far = worker.template run_streams<true, false>(block, so_far);
        else if constexpr (ways == line_ways::of_more)
            so_far = worker.add(block, so_far);
    }
    group_block().sync(); /* all threads have read the count */
    if (threadIdx.x == 0 && h.team.n_pes > 1)
        store_plain(count, so_far);
}

} // namespace detail
} // namespace gshmem

#endif
