/* SPDX-License-Identifier: Apache-2.0
 * Sums in lines (lines.cuh) of more than two members, also those whose results members give to each
 * other in a second round: the units of a line are one group's. */
#ifndef GSHMEM_COLL_LINES_SUMS_CUH
#define GSHMEM_COLL_LINES_SUMS_CUH

#include "lines_worker.cuh"

namespace gshmem
{
namespace detail
{

template <arithmetic computes, class Context> struct line_sums : line_worker<computes, Context> {
    using worker = line_worker<computes, Context>;
    using worker::all;
    using worker::await;
    using worker::dest;
    using worker::first_group;
    using worker::gives;
    using worker::group;
    using worker::is_in;
    using worker::its;
    using worker::load;
    using worker::load_scalar;
    using worker::look_at;
    using worker::me;
    using worker::n_groups;
    using worker::own;
    using worker::store;
    using worker::t;
    __device__ __forceinline__ explicit line_sums(const worker &w) : worker(w) {}

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
        const uint64_t by = load_scalar();
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

} // namespace detail
} // namespace gshmem

#endif
