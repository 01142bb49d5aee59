/* SPDX-License-Identifier: Apache-2.0
 * An item in lines (lines.cuh) of two members that is alone in its launch and has a single round of
 * aligned words: on GPUs a line for each group of eight threads, and only whole lines. Such
 * a call takes hardly longer than to fetch its code, which therefore is short, and runs straight
 * on. It exchanges the same lines as line_streams, so that the other member may use that. */
#ifndef GSHMEM_COLL_LINES_SHORT_CUH
#define GSHMEM_COLL_LINES_SHORT_CUH

#include "lines_streams.cuh"

namespace gshmem
{
namespace detail
{

/* aligned_to: 8 or 4, of which all addresses and sizes are multiples. */
template <bool is_add, uint32_t aligned_to, class Context> struct line_short {
    using streams = line_streams<arithmetic::float_sums, Context>;
    streams w;
    uint64_t first, round;
    int other;
    bool gives, takes;

    __device__ __forceinline__ line_short(streams worker, uint32_t block, uint64_t before)
        : w(worker), first(gsh_lines_first(1, w.t.lines, block, 0)), round(before + 1),
          other(1 - w.all.me), gives(w.gives(other)), takes(w.takes(other))
    {
        if constexpr (!is_cpu_device)
            w.me.is_whole = true;
    }

    /* Whether the unit exchanges a line: the first one does in any case. */
    __device__ __forceinline__ bool is_on(uint32_t u) const
    {
        return u < w.t.lines && (gives || takes || u == 0);
    }
    __device__ __forceinline__ uint64_t at_of(uint32_t u) const
    {
        return (first + u) * line_data_bytes + 8 * w.me.index;
    }
    __device__ __forceinline__ line_part load(const uint8_t *block, uint64_t at, bool is) const
    {
        const uint64_t bytes = w.t.block_bytes;
        line_part p;
        GSHMEM_UNROLL
        for (uint32_t i = 0; i < part_words; i++) {
            const uint64_t off = word_off(at, i);
            const bool is_word = is && is_there(bytes, at, w.me.index, i);
            if constexpr (aligned_to == 8) {
                p.word[i] =
                    is_word ? load_plain(reinterpret_cast<const uint64_t *>(block + off)) : 0;
            } else {
                const uint32_t *const from = reinterpret_cast<const uint32_t *>(block + off);
                const uint32_t low = is_word ? load_plain(from) : 0;
                const uint32_t high = is_word && off + 4 < bytes ? load_plain(from + 1) : 0;
                p.word[i] = low | (uint64_t)high << 32;
            }
        }
        return p;
    }
    __device__ __forceinline__ void store(uint64_t block, uint64_t at, const line_part &p) const
    {
        const uint64_t bytes = w.t.block_bytes;
        GSHMEM_UNROLL
        for (uint32_t i = 0; i < part_words; i++) {
            const uint64_t off = word_off(at, i);
            if (!is_there(bytes, at, w.me.index, i))
                continue;
            if constexpr (aligned_to == 8) {
                store_plain(reinterpret_cast<uint64_t *>(block + off), p.word[i]);
            } else {
                uint32_t *const to = reinterpret_cast<uint32_t *>(block + off);
                store_plain(to, (uint32_t)p.word[i]);
                if (off + 4 < bytes)
                    store_plain(to + 1, (uint32_t)(p.word[i] >> 32));
            }
        }
    }

    /* What the unit gives, and what it keeps or adds of its own. */
    __device__ __forceinline__ line_part load_given(uint32_t u) const
    {
        return load(w.source(other), at_of(u), u < w.t.lines && gives);
    }
    __device__ __forceinline__ line_part load_mine(uint32_t u) const
    {
        return load(w.source(w.all.me), at_of(u),
                    u < w.t.lines && (is_add ? takes : w.t.own_dest != 0));
    }

    __device__ __forceinline__ void give(uint32_t u, const line_part &given,
                                         const line_part &mine) const
    {
        if (is_on(u))
            w.me.send(w.its(other, u, round), round, given, gives);
        if (!is_add && u < w.t.lines && w.t.own_dest != 0)
            store(w.t.own_dest, at_of(u), mine);
    }
    /* A sum is computed once before its line has come, from whatever is there, so that a GPU
     * fetches the code while the line is under way. (n_rounds is 1, which the compiler does not
     * know: it would make two copies of the sum.) */
    __device__ __forceinline__ void take(uint32_t u, const line_part &mine) const
    {
        const line_at v[1] = {{is_on(u) ? w.own(other, u, round) : nullptr, 0, other, takes}};
        seen_part seen[1] = {};
        line_part p = {};
        w.look_at(v, seen);
        GSHMEM_NO_UNROLL
        for (uint32_t pass = is_add && !is_cpu_device && w.t.n_rounds == 1 ? 0 : 1; pass < 2;
             pass++) {
            if (pass == 1)
                w.await(v, seen, round);
            p = w.me.data_of(seen[0]);
            if (is_add)
                p = w.sum_of_two(mine, p, 0);
        }
        if (u < w.t.lines && takes)
            store(is_add ? w.t.result : reinterpret_cast<uint64_t>(w.dest(other)), at_of(u), p);
    }
    /* has_left: as for leave_if_given_up. The source is loaded meanwhile. */
    __device__ __forceinline__ void run(uint32_t has_left) const
    {
        if constexpr (is_cpu_device) {
            leave_if_given_up(w.all.c, has_left);
            for (uint32_t u = w.group; u < w.t.lines; u += w.n_groups)
                give(u, load_given(u), load_mine(u));
            for (uint32_t u = w.group; u < w.t.lines; u += w.n_groups)
                take(u, is_add ? load_mine(u) : line_part{});
            return;
        }
        const line_part given = load_given(w.group), mine = load_mine(w.group);
        leave_if_given_up(w.all.c, has_left);
        give(w.group, given, mine);
        take(w.group, mine);
    }
};

template <bool is_add, uint32_t aligned_to, class Context>
__device__ __forceinline__ void run_short(const Context &c, const gsh_kernel_lines_args &h)
{
    using streams = typename line_short<is_add, aligned_to, Context>::streams;
    uint64_t *const count =
        reinterpret_cast<uint64_t *>(state_of(c).base + h.inbox.off) + blockIdx.x;
    const uint64_t before = load_plain(count);
    const uint32_t has_left = load_has_left(c);
    const line_worker<arithmetic::float_sums, Context> worker(c, h, h.item[0]);
    line_short<is_add, aligned_to, Context>(streams(worker), blockIdx.x, before).run(has_left);
    group_block().sync(); /* all threads have read the count */
    if (threadIdx.x == 0)
        store_plain(count, before + 1);
}

} // namespace detail
} // namespace gshmem

#endif
