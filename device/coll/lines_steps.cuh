/* SPDX-License-Identifier: Apache-2.0
 * Items in lines (lines.cuh) of two members whose words are all aligned, each by blocks of its own:
 * those that are too large for line_short, and several in a launch. A step is two rounds, of which
 * a group has a few lines. It sends all of them, and takes all of the other member's before it
 * sends those of the next step, whose source it has loaded meanwhile. On GPUs only whole lines. It
 * exchanges the same lines as line_streams, so that the other member may use that: a unit's line of
 * round r is sent after the other's of round r - 2 has been taken, as there. */
#ifndef GSHMEM_COLL_LINES_STEPS_CUH
#define GSHMEM_COLL_LINES_STEPS_CUH

#include "lines_streams.cuh"

namespace gshmem
{
namespace detail
{

template <bool is_add, class Context> struct line_steps {
    using streams = line_streams<arithmetic::float_sums, Context>;
    static constexpr int rounds = GSH_LINES_ROUNDS_AHEAD, lines = rounds * GSH_LINES_STREAMS *
                                                                  GSH_LINES_THREADS_MAX /
                                                                  GSH_LINES_SHORT_THREADS;
    streams w;
    int other;
    bool gives, takes;
    uint64_t out, in; /* the addresses of the first lines in buffer 0 */

    __device__ __forceinline__ explicit line_steps(streams worker)
        : w(worker), other(1 - w.all.me), gives(w.gives(other)), takes(w.takes(other)),
          out(reinterpret_cast<uint64_t>(w.its(other, 0, 0))),
          in(reinterpret_cast<uint64_t>(w.own(other, 0, 0)))
    {
        if constexpr (!is_cpu_device)
            w.me.is_whole = true;
    }

    /* A step: its lines, those of its first round before those of its second, are units 0 to
     * n_units - 1. */
    struct step {
        uint64_t at;   /* of this thread's first word of unit 0, in the item's block */
        uint64_t flag; /* of its first round */
        uint32_t n_units;
    };
    __device__ __forceinline__ step step_of(uint32_t number, uint32_t block, uint64_t before) const
    {
        const uint32_t round = rounds * number, left = w.t.n_rounds - round;
        const uint64_t first = gsh_lines_first(w.t.n_rounds, w.t.lines, block, round);
        return {first * line_data_bytes + 8 * w.me.index, before + 1 + round,
                (left < rounds ? left : rounds) * w.t.lines};
    }
    __device__ __forceinline__ uint64_t at_of(const step &s, uint32_t u) const
    {
        return s.at + (uint64_t)u * line_data_bytes;
    }
    __device__ __forceinline__ uint64_t flag_of(const step &s, uint32_t u) const
    {
        return s.flag + (u >= w.t.lines ? 1 : 0);
    }
    /* The unit's line in the slots that begin there. */
    __device__ __forceinline__ words2 *line_of(uint64_t slots, const step &s, uint32_t u) const
    {
        const uint32_t line = u - (u >= w.t.lines ? w.t.lines : 0);
        return reinterpret_cast<words2 *>(
            slots + flag_of(s, u) % GSH_LINES_BUFFERS * w.buffer_bytes + line * w.in.line_room);
    }

    __device__ __forceinline__ line_part load(const uint8_t *block, const step &s, uint32_t u,
                                              bool is) const
    {
        const uint64_t at = at_of(s, u);
        line_part x;
        GSHMEM_UNROLL
        for (uint32_t i = 0; i < part_words; i++) {
            const bool is_word =
                is && u < s.n_units && is_there(w.t.block_bytes, at, w.me.index, i);
            x.word[i] =
                is_word ? load_plain(reinterpret_cast<const uint64_t *>(block + word_off(at, i)))
                        : 0;
        }
        return x;
    }
    __device__ __forceinline__ void store(uint64_t block, const step &s, uint32_t u,
                                          const line_part &x) const
    {
        const uint64_t at = at_of(s, u);
        GSHMEM_UNROLL
        for (uint32_t i = 0; i < part_words; i++)
            if (u < s.n_units && is_there(w.t.block_bytes, at, w.me.index, i))
                store_plain(reinterpret_cast<uint64_t *>(block + word_off(at, i)), x.word[i]);
    }

    __device__ __forceinline__ line_part load_given(const step &s, uint32_t u) const
    {
        return load(w.source(other), s, u, gives);
    }
    /* What is added up, or moved to my own block. */
    __device__ __forceinline__ line_part load_mine(const step &s, uint32_t u) const
    {
        return load(w.source(w.all.me), s, u, is_add ? takes : w.t.own_dest != 0);
    }
    __device__ __forceinline__ void give(const step &s, uint32_t u, const line_part &given) const
    {
        if (u < s.n_units)
            w.me.send(line_of(out, s, u), flag_of(s, u), given, gives);
    }
    __device__ __forceinline__ void keep(const step &s, uint32_t u, const line_part &mine) const
    {
        if (!is_add && w.t.own_dest != 0)
            store(w.t.own_dest, s, u, mine);
    }
    __device__ __forceinline__ void use(const step &s, uint32_t u, const line_part &x) const
    {
        if (takes)
            store(is_add ? w.t.result : reinterpret_cast<uint64_t>(w.dest(other)), s, u, x);
    }

    /* The group's k-th unit of a step. */
    __device__ __forceinline__ uint32_t unit(int k) const
    {
        return (uint32_t)k * w.n_groups + w.group;
    }
    /* Like worker::await, for lines of two rounds. */
    __device__ __forceinline__ void await(const step &s, seen_part (&seen)[lines]) const
    {
        uint64_t start = 0;
        for (uint32_t polls = 1;; polls++) {
            uint32_t missing = 0;
            GSHMEM_UNROLL
            for (int k = 0; k < lines; k++)
                if (unit(k) < s.n_units)
                    seen[k] = w.me.look(line_of(in, s, unit(k)), takes);
            GSHMEM_UNROLL
            for (int k = 0; k < lines; k++)
                if (unit(k) < s.n_units && !w.me.is_here(seen[k], flag_of(s, unit(k)), takes))
                    missing |= 1u << k;
            if (all_of_warp(missing == 0))
                break;
            spin_pause();
            if (polls % looks_between == 0)
                start = look_around(s, missing, start);
        }
        spin_done();
    }
    __device__ __forceinline__ uint64_t look_around(const step &s, uint32_t missing,
                                                    uint64_t start) const
    {
        int k = 0;
        GSHMEM_NO_UNROLL
        while (k + 1 < lines && all_of_warp((missing >> k & 1) == 0))
            k++;
        const uint32_t u = unit(k);
        const line_at v[1] = {{u < s.n_units ? line_of(in, s, u) : nullptr, 0, other, takes}};
        return w.look_around_for(v, missing >> k & 1, flag_of(s, u), start);
    }

    __device__ __forceinline__ void run_on_cpu(const step &s) const
    {
        for (uint32_t u = w.group; u < s.n_units; u += w.n_groups) {
            give(s, u, load_given(s, u));
            if (!is_add)
                keep(s, u, load_mine(s, u));
        }
        for (uint32_t u = w.group; u < s.n_units; u += w.n_groups) {
            const line_at v[1] = {{line_of(in, s, u), 0, other, takes}};
            seen_part seen[1] = {};
            w.look_at(v, seen);
            w.await(v, seen, flag_of(s, u));
            const line_part x = w.me.data_of(seen[0]);
            use(s, u, is_add ? w.sum_of_two(load_mine(s, u), x, 0) : x);
        }
    }

    /* has_left: as for leave_if_given_up. */
    __device__ __forceinline__ void run(uint32_t block, uint64_t before, uint32_t has_left) const
    {
        const uint32_t n_steps = (w.t.n_rounds + rounds - 1) / rounds;
        if constexpr (is_cpu_device) {
            leave_if_given_up(w.all.c, has_left);
            for (uint32_t i = 0; i < n_steps; i++)
                run_on_cpu(step_of(i, block, before));
            return;
        }
        const bool is_same = gives && w.t.source_step == 0; /* what I give, and what I keep */
        line_part given[lines], mine[lines] = {};
        auto load_ahead = [&](const step &s) {
            GSHMEM_UNROLL
            for (int k = 0; k < lines; k++)
                given[k] = load_given(s, unit(k));
            if (!is_add && !is_same) {
                GSHMEM_UNROLL
                for (int k = 0; k < lines; k++)
                    mine[k] = load_mine(s, unit(k));
            }
        };
        step s = step_of(0, block, before);
        load_ahead(s);
        leave_if_given_up(w.all.c, has_left);
        GSHMEM_NO_UNROLL
        for (uint32_t i = 0; i < n_steps; i++) {
            const step next = step_of(i + 1, block, before);
            seen_part seen[lines] = {};
            GSHMEM_UNROLL
            for (int k = 0; k < lines; k++)
                give(s, unit(k), given[k]);
            GSHMEM_UNROLL
            for (int k = 0; k < lines; k++) {
                if (is_add)
                    mine[k] = load_mine(s, unit(k));
                else
                    keep(s, unit(k), chosen(is_same, given[k], mine[k]));
            }
            if (i + 1 < n_steps)
                load_ahead(next);
            if constexpr (is_add) {
                /* A first pass fetches the code while the lines of the first step are under way. */
                GSHMEM_NO_UNROLL
                for (int k = i == 0 ? -1 : 0; k < lines; k++) {
                    if (k == 0)
                        await(s, seen);
                    const line_part x = w.sum_of_two(picked(mine, k < 0 ? 0 : k),
                                                     w.me.data_of(picked(seen, k < 0 ? 0 : k)), 0);
                    GSHMEM_UNROLL
                    for (int j = 0; j < lines; j++)
                        if (j == k)
                            mine[j] = x;
                }
            } else {
                await(s, seen);
            }
            GSHMEM_UNROLL
            for (int k = 0; k < lines; k++)
                use(s, unit(k), chosen(is_add, mine[k], w.me.data_of(seen[k])));
            s = next;
        }
    }
};

template <bool is_add, class Context>
__device__ __forceinline__ void run_in_steps(const Context &c, const gsh_kernel_lines_args &h)
{
    using in_steps = line_steps<is_add, Context>;
    uint64_t *const count =
        reinterpret_cast<uint64_t *>(state_of(c).base + h.inbox.off) + blockIdx.x;
    const uint64_t before = load_plain(count);
    const uint32_t has_left = load_has_left(c);
    uint32_t i = 0;
    GSHMEM_NO_UNROLL
    while (blockIdx.x - (uint32_t)h.item[i].first_block >= (uint32_t)h.item[i].n_blocks)
        i++;
    const gsh_lines_item &t = h.item[i];
    const line_worker<arithmetic::float_sums, Context> worker(c, h, t);
    in_steps(typename in_steps::streams(worker))
        .run(blockIdx.x - (uint32_t)t.first_block, before, has_left);
    group_block().sync(); /* all threads have read the count */
    if (threadIdx.x == 0)
        store_plain(count, before + t.n_rounds);
}

} // namespace detail
} // namespace gshmem

#endif
