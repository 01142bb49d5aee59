/* SPDX-License-Identifier: Apache-2.0
 * Items of two members in which one gives the other all of a block that lies in symmetric memory
 * (lines.cuh): the other reads it there, as fast as the link is, and lines only say when. Each
 * block has its part of the data.
 *
 * - In the first round the member that gives says where its block lies, which may be nowhere. Then
 *   the item's lines carry the data, from the next round on, as if that round had not been.
 * - Else one round follows, in which the reader says that it has read everything. The giver's block
 *   ends after that, so that the program may change the source after the call.
 * - Each of these rounds is an item of its own, as far as the invariants of lines.cuh go: both
 *   members exchange the first line of their slots, and all threads of the block see the other's
 *   before any of them sends again. */
#ifndef GSHMEM_COLL_LINES_READ_CUH
#define GSHMEM_COLL_LINES_READ_CUH

#include "lines_worker.cuh"

namespace gshmem
{
namespace detail
{

template <arithmetic computes, class Context> struct line_reader : line_worker<computes, Context> {
    using worker = line_worker<computes, Context>;
    using worker::all;
    using worker::await;
    using worker::dest;
    using worker::gives;
    using worker::group;
    using worker::its;
    using worker::load_scalar;
    using worker::look_at;
    using worker::me;
    using worker::name;
    using worker::own;
    using worker::source;
    using worker::t;
    using worker::takes;
    __device__ __forceinline__ explicit line_reader(const worker &w) : worker(w) {}

    /* A thread's unit; how many of them it has under way. */
    static constexpr uint64_t unit = sizeof(line_part);
    static constexpr int ahead = is_cpu_device ? 1 : computes == arithmetic::any ? 2 : 4;

    __device__ __forceinline__ int other() const { return 1 - all.me; }

    /* Sends a line to the other member, and waits for its line of that round. What has been done
     * before `publishes`, by this thread or before the block's latest synchronisation, the other's
     * block sees after its exchange, if that `learns`. Returns the other's word, if that has one.
     */
    __device__ __forceinline__ uint64_t exchange(uint64_t round, uint64_t word, bool has_word,
                                                 bool gets_word, bool publishes, bool learns) const
    {
        line_part p;
        GSHMEM_UNROLL
        for (uint32_t w = 0; w < part_words; w++)
            p.word[w] = word;
        if (group == 0) {
            /* Serves "what is to be read is there" and "what was read may change": the giver's
             * source is ready, or the reader's loads are through, before the line that says so.
             * Pairs with the fence after the other member's wait below. */
            if (publishes)
                fence_release();
            me.send(its(other(), 0, round), round, p, has_word);
        }
        const line_at v[1] = {{own(other(), 0, round), 0, other(), gets_word}};
        seen_part seen[1];
        look_at(v, seen);
        await(v, seen, round);
        /* The same, on the other side: pairs with the fence before the other member's send. */
        if (learns && group == 0)
            fence_acq_rel();
        group_block().sync();
        return me.data_of(seen[0]).word[0];
    }

    __device__ __forceinline__ static bool is_aligned(const uint8_t *a, const uint8_t *b,
                                                      const uint8_t *c)
    {
        return ((reinterpret_cast<uint64_t>(a) | reinterpret_cast<uint64_t>(b) |
                 reinterpret_cast<uint64_t>(c)) &
                15) == 0;
    }
    /* A whole unit at an aligned address. load: of 16 bytes. */
    template <class Load>
    __device__ __forceinline__ static line_part load_unit_by(const uint8_t *from, Load load)
    {
        constexpr uint32_t n = sizeof(line_part) / sizeof(vec16);
        struct vectors {
            vec16 v[n];
        } x;
        GSHMEM_UNROLL
        for (uint32_t i = 0; i < n; i++)
            x.v[i] = load(reinterpret_cast<const vec16 *>(from) + i);
        return bit_cast<line_part>(x);
    }
    /* The other member's must not come from a cache. */
    __device__ __forceinline__ static line_part load_unit(const uint8_t *from)
    {
        return load_unit_by(from, [](const vec16 *p) { return load_fresh(p); });
    }
    __device__ __forceinline__ static void store_unit(uint8_t *to, const line_part &p)
    {
        constexpr uint32_t n = sizeof(line_part) / sizeof(vec16);
        struct vectors {
            vec16 v[n];
        };
        const vectors x = bit_cast<vectors>(p);
        GSHMEM_UNROLL
        for (uint32_t i = 0; i < n; i++)
            store_plain(reinterpret_cast<vec16 *>(to) + i, x.v[i]);
    }
    /* Any units; the bytes that they lack are 0. */
    __device__ GSHMEM_NOINLINE static line_part load_odd_unit(const uint8_t *from, uint64_t bytes)
    {
        line_part p;
        GSHMEM_NO_UNROLL
        for (uint32_t w = 0; w < part_words; w++) {
            uint64_t v = 0;
            GSHMEM_NO_UNROLL
            for (uint32_t i = 0; i < 8 && 8 * w + i < bytes; i++)
                v |= (uint64_t)load_fresh(from + 8 * w + i) << 8 * i;
            p.word[w] = v;
        }
        return p;
    }
    __device__ GSHMEM_NOINLINE static void store_odd_unit(uint8_t *to, uint64_t bytes, line_part p)
    {
        GSHMEM_NO_UNROLL
        for (uint32_t w = 0; w < part_words && 8 * w < bytes; w++)
            store_bytes(to + 8 * w, bytes - 8 * w, p.word[w]);
    }

    /* The two members' elements, in their order. What one has multiplied is not read. */
    __device__ __forceinline__ line_part sum(const line_part &mine, const line_part &theirs,
                                             uint64_t scalar) const
    {
        line_terms s = open_part<computes>(t.element, all.me == 0 ? mine : theirs);
        fold<computes>(t.fold, t.element, s,
                       open_part<computes>(t.element, all.me == 0 ? theirs : mine));
        if (computes == arithmetic::any && t.scaling == GSH_LINES_DIVIDED)
            divide_terms(t.element, s, scalar);
        return close_part<computes>(t.element, s);
    }

    /* to = from, or the sum of mine and from: this block's part of all units. Without a sum, mine
     * may be NULL, or it goes to `kept` meanwhile. */
    template <bool is_add>
    __device__ __forceinline__ void read(uint32_t block, uint8_t *to, const uint8_t *from,
                                         const uint8_t *mine, uint64_t scalar,
                                         uint8_t *kept = nullptr) const
    {
        const bool has_mine = is_add || mine != nullptr;
        const uint64_t bytes = t.block_bytes, n_units = (bytes + unit - 1) / unit;
        const uint64_t each = (n_units + t.n_blocks - 1) / t.n_blocks, first = block * each;
        const uint64_t end = first + each < n_units ? first + each : n_units;
        const bool is_plain = is_aligned(to, from, mine) && is_aligned(kept, kept, kept);
        const uint64_t n_plain = is_plain ? bytes / unit : 0, stop = end < n_plain ? end : n_plain;
        uint64_t u = first + threadIdx.x;
        GSHMEM_NO_UNROLL
        for (; u < stop; u += (uint64_t)ahead * blockDim.x) {
            line_part x[ahead], y[ahead];
            GSHMEM_UNROLL
            for (int a = 0; a < ahead; a++) {
                const uint64_t at = (u + (uint64_t)a * blockDim.x) * unit;
                if (at < stop * unit) {
                    x[a] = load_unit(from + at);
                    if (has_mine)
                        y[a] = load_unit(mine + at);
                }
            }
            if constexpr (is_add && computes == arithmetic::any) { /* long code, once */
                GSHMEM_NO_UNROLL
                for (int a = 0; a < ahead; a++) {
                    const line_part z = sum(picked(y, a), picked(x, a), scalar);
                    GSHMEM_UNROLL
                    for (int i = 0; i < ahead; i++)
                        if (i == a)
                            x[i] = z;
                }
            } else if constexpr (is_add) {
                GSHMEM_UNROLL
                for (int a = 0; a < ahead; a++)
                    x[a] = sum(y[a], x[a], scalar);
            }
            GSHMEM_UNROLL
            for (int a = 0; a < ahead; a++) {
                const uint64_t at = (u + (uint64_t)a * blockDim.x) * unit;
                if (at < stop * unit) {
                    store_unit(to + at, x[a]);
                    if (!is_add && has_mine)
                        store_unit(kept + at, y[a]);
                }
            }
        }
        const uint64_t rest = stop > first ? stop : first;
        GSHMEM_NO_UNROLL
        for (u = rest + threadIdx.x; u < end; u += blockDim.x) {
            const uint64_t at = u * unit;
            line_part x = load_odd_unit(from + at, bytes - at);
            if (is_add)
                x = sum(load_odd_unit(mine + at, bytes - at), x, scalar);
            store_odd_unit(to + at, bytes - at, x);
            if (!is_add && has_mine)
                store_odd_unit(kept + at, bytes - at, load_odd_unit(mine + at, bytes - at));
        }
    }

    /* All arithmetic is long code, which finds its arguments in memory. */
    template <bool is_add>
    __device__ GSHMEM_NOINLINE void read_called(uint32_t block, uint8_t *to, const uint8_t *from,
                                                const uint8_t *mine, uint64_t scalar) const
    {
        read<is_add>(block, to, from, mine, scalar);
    }
    template <bool is_add>
    __device__ __forceinline__ void read_here(uint32_t block, uint8_t *to,
                                              const uint8_t *from) const
    {
        uint8_t *const kept = is_add ? nullptr : reinterpret_cast<uint8_t *>(t.own_dest);
        const uint8_t *const mine = is_add || kept != nullptr ? source(all.me) : nullptr;
        if constexpr (computes == arithmetic::any && is_add)
            read_called<is_add>(block, to, from, mine, load_scalar());
        else
            read<is_add>(block, to, from, mine, is_add ? load_scalar() : 0, kept);
    }

    /* Carries the item out, if what the giver has may be read; else lines are to carry it out.
     * Counts the rounds that it has taken. */
    template <bool is_add>
    __device__ __forceinline__ bool run(uint32_t block, uint64_t &so_far) const
    {
        const bool i_give = gives(other()), i_take = takes(other());
        const uint64_t word = exchange(++so_far, t.readable, i_give, i_take, i_give, i_take);
        const uint64_t found = i_give ? t.readable : word;
        if (found == 0)
            return false;
        if (i_take) {
            const uint8_t *const from = all.at(
                said_address(all.c, name, all.pe(other()), found - 1, t.block_bytes), other());
            read_here<is_add>(block, is_add ? reinterpret_cast<uint8_t *>(t.result) : dest(other()),
                              from);
            group_block().sync();
        } else if (!is_add && t.own_dest != 0) {
            read<false>(block, reinterpret_cast<uint8_t *>(t.own_dest), source(all.me), nullptr, 0);
        }
        exchange(++so_far, 0, false, false, i_take, i_give);
        return true;
    }
};

} // namespace detail
} // namespace gshmem

#endif
