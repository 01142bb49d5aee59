/* SPDX-License-Identifier: Apache-2.0
 * Items of two members with much data (lines.cuh) that stream it in pieces, as fast as the link is,
 * from any memory to any memory: a warp stores a piece into a slot of the other member's, and says
 * so by a count; the other's warp of the same number takes it, and says so by its own.
 *
 * - A block has the part of the data that its lines would have. A second block, its helper, may
 *   share it.
 * - A warp has four slots of the other member's, and handles every n-th piece of the block's part.
 *   It waits for the other's count before it overwrites a slot, and before it reads one.
 * - Counts go on from item to item, and both members count the same steps in the same items. So no
 *   item waits until the other member has ended it, and a giver may be an item ahead.
 * - One way: piece i is step i. Before the giver stores it, the other has taken piece i - 2.
 * - An all-reduce is a reduce-scatter and an all-gather at once: in step i a warp gives piece i of
 *   what the other adds up, adds up its own piece i - 1 and gives the sum, and takes sum i - 2. It
 *   begins a step when the other has ended the one before.
 * - Both give, and take what the other gives: in step i a warp gives piece i and takes piece i - 1,
 *   and it waits as in an all-reduce. In the last step it does neither.
 * - So before the first step of an item in which a warp stores, the other has taken all but perhaps
 *   the last piece or sum of the items before; these are not where the warp stores next.
 * - Slots that several communicators of the two share, also such of other jobs, have locks. A
 *   block locks its part of the own slots first, if it is free, tells the other member's in a line
 *   whether it has, and tells its helper in a word of the inbox what has been agreed. If not both
 *   have, lines carry the block's part of the launch's items, from the next round on. Nothing waits
 *   for a lock. A member that has agreed holds its lock until its block is through, so both agree
 *   on the same launches in the same order, and count alike. */
#ifndef GSHMEM_COLL_LINES_PIECES_CUH
#define GSHMEM_COLL_LINES_PIECES_CUH

#include "lines_read.cuh"

namespace gshmem
{
namespace detail
{

/* 16 bytes of global memory, plainly: those that are not needed again (cs), and those that another
 * device has written, so that a cache of this multiprocessor would be of no use (cg). */
#if defined(__CUDACC__)
#define GSHMEM_LOAD_CACHED(NAME, HOW)                                   \
    __device__ __forceinline__ vec16 NAME(const vec16 *p)               \
    {                                                                   \
        vec16 v;                                                        \
        asm volatile("ld.global." HOW ".v4.u32 {%0, %1, %2, %3}, [%4];" \
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)       \
                     : "l"(__cvta_generic_to_global(p))                 \
                     : "memory");                                       \
        return v;                                                       \
    }
#else
#define GSHMEM_LOAD_CACHED(NAME, HOW)                     \
    __device__ __forceinline__ vec16 NAME(const vec16 *p) \
    {                                                     \
        return load_plain(p);                             \
    }
#endif
GSHMEM_LOAD_CACHED(load_once, "cs")
GSHMEM_LOAD_CACHED(load_behind_cache, "cg")
#undef GSHMEM_LOAD_CACHED

template <arithmetic computes, class Context> struct line_pieces : line_reader<computes, Context> {
    using reader = line_reader<computes, Context>;
    using reader::all;
    using reader::dest;
    using reader::exchange;
    using reader::gives;
    using reader::in;
    using reader::is_aligned;
    using reader::load_odd_unit;
    using reader::name;
    using reader::other;
    using reader::source;
    using reader::store_odd_unit;
    using reader::store_unit;
    using reader::t;
    using reader::takes;
    using reader::unit;
    __device__ __forceinline__ explicit line_pieces(const typename reader::worker &w) : reader(w) {}

    /* Of a warp. The CPU device's blocks may have fewer threads. */
    static constexpr uint32_t warp_threads_max = 32;
    __device__ __forceinline__ static uint32_t warp_threads()
    {
        return is_cpu_device && blockDim.x < warp_threads_max ? blockDim.x : warp_threads_max;
    }
    static constexpr uint32_t warps_of_block =
        is_cpu_device ? GSH_PIECES_WARPS_CPU : GSH_PIECES_WARPS_CUDA;
    static constexpr uint32_t blocks_max =
        is_cpu_device ? GSH_PIECES_BLOCKS_CPU : GSH_PIECES_BLOCKS_CUDA;
    /* Of a whole piece on GPUs. */
    static constexpr int units_of_thread =
        is_cpu_device ? 4 : (int)(GSH_PIECE_BYTES / unit / warp_threads_max);
    static constexpr int sums_at_once = 4, tail_at_once = 4;

    /* ---- a warp's slots and counts ---- */

    /* Of my memory for pieces; of the other's at the same off_here. */
    __device__ __forceinline__ uint8_t *base() const
    {
        return reinterpret_cast<uint8_t *>(state_of(all.c).base + (in.pieces - 1));
    }
    __device__ __forceinline__ uint32_t *lock(uint32_t block) const
    {
        return reinterpret_cast<uint32_t *>(base() + (uint64_t)block * GSH_PIECES_LOCK_ROOM);
    }

    /* What a warp handles: pieces from `first` on, `step` bytes apart, up to `end`. */
    struct streamer {
        uint32_t thread;
        uint64_t first, step, end, n;
        uint64_t before; /* of the steps that both have counted */
        uint64_t *count_here, *count_there, *counted;
        uint8_t *here, *there;
    };
    /* half: 1 for the block's helper. bytes: of the block's part, which begins at `begin`. */
    __device__ __forceinline__ streamer begin_warp(uint32_t block, uint32_t half, uint64_t begin,
                                                   uint64_t bytes) const
    {
        const uint32_t halves = t.has_helpers != 0 ? 2 : 1, most = warps_of_block / halves;
        const uint32_t here =
            blockDim.x / warp_threads() < most ? blockDim.x / warp_threads() : most;
        const uint32_t warp = threadIdx.x / warp_threads();
        const uint32_t slot = block * warps_of_block + half * most + (warp < here ? warp : 0);
        streamer w;
        w.thread = threadIdx.x % warp_threads();
        w.first = begin + (uint64_t)(half * here + warp) * GSH_PIECE_BYTES;
        w.step = (uint64_t)halves * here * GSH_PIECE_BYTES;
        w.end = begin + bytes;
        w.n = warp < here && w.first < w.end ? (w.end - w.first + w.step - 1) / w.step : 0;
        w.here = base() + gsh_pieces_slot_off(blocks_max, warps_of_block, slot);
        w.count_here =
            reinterpret_cast<uint64_t *>(base() + gsh_pieces_count_off(blocks_max, slot));
        w.counted = reinterpret_cast<uint64_t *>(
            base() + gsh_pieces_counted_off(blocks_max, warps_of_block, slot));
        w.there = all.at(w.here, other());
        w.count_there = all.at(w.count_here, other());
        w.before = load_plain(w.counted);
        return w;
    }
    __device__ __forceinline__ void end_warp(const streamer &w, uint64_t steps) const
    {
        if (w.thread == 0 && steps > 0)
            store_plain(w.counted, w.before + steps);
        group_warp().sync(); /* the next item's begins with it */
    }
    __device__ __forceinline__ static uint8_t *slot(uint8_t *slots, uint64_t step)
    {
        return slots + step % 2 * GSH_PIECE_BYTES;
    }
    static constexpr uint64_t sums = 2 * GSH_PIECE_BYTES; /* the slots for these */

    /* What the other's warp did before it said `count`, this warp sees. Counts may be below 0. */
    __device__ __forceinline__ void await_count(const streamer &w, uint64_t count) const
    {
        if (w.thread == 0) {
            spin_on(
                all.c, w.count_here, [](const uint64_t *p) { return load_awaited(p); },
                [=](uint64_t seen) { return (int64_t)(seen - count) >= 0; },
                GSH_REPORT_SYNC_TIMEOUT, name, all.pe(other()),
                GSH_REPORT_CMP_AT(GSHMEM_CMP_GE, t.site), count);
            /* Serves "the piece is there" and "the slot may be overwritten". Pairs with the fence
             * before the other warp's store of its count. */
            acquire_awaited();
        }
        group_warp().sync();
    }
    __device__ __forceinline__ void tell_count(const streamer &w, uint64_t count) const
    {
        group_warp().sync();
        if (w.thread == 0) {
            /* The other half: this warp's stores into the other's slots, and its loads of its own,
             * are through. Pairs with the fence behind the other warp's wait. */
            fence_release();
            store_relaxed(w.count_there, count);
        }
    }

    /* ---- pieces ---- */

    /* Some units of a thread: at equal distances. */
    template <int n> struct units {
        line_part of[n];
    };
    static constexpr uint64_t stride = unit * warp_threads_max;
    template <bool is_slot, int n>
    __device__ __forceinline__ static void load(units<n> &x, const uint8_t *from)
    {
        GSHMEM_UNROLL
        for (int i = 0; i < n; i++)
            x.of[i] = load_vectors<is_slot>(from + i * stride);
    }
    template <bool is_slot>
    __device__ __forceinline__ static line_part load_vectors(const uint8_t *from)
    {
        return reader::load_unit_by(
            from, [](const vec16 *p) { return is_slot ? load_behind_cache(p) : load_once(p); });
    }
    template <int n> __device__ __forceinline__ static void store(uint8_t *to, const units<n> &x)
    {
        GSHMEM_UNROLL
        for (int i = 0; i < n; i++)
            store_unit(to + i * stride, x.of[i]);
    }
    /* The usual sums alone. Their order matters for NaNs, but not on GPUs. */
    __device__ __forceinline__ static line_part
    sum_of(uint32_t element, bool am_first, const line_part &mine, const line_part &theirs)
    {
        const bool is_mine_first = am_first || !is_cpu_device;
        line_terms terms = open_part<computes>(element, chosen(is_mine_first, mine, theirs));
        fold<computes>(GSH_LINES_FOLD_sum_float, element, terms,
                       open_part<computes>(element, chosen(is_mine_first, theirs, mine)));
        return close_part<computes>(element, terms);
    }
    __device__ __forceinline__ static bool is_whole(uint64_t bytes)
    {
        return bytes >= GSH_PIECE_BYTES;
    }
    /* On GPUs. Else pieces are handled as if none were whole. */
    __device__ __forceinline__ bool is_all_aligned() const
    {
        const bool is_move = t.way == GSH_LINES_MOVE;
        const uint8_t *const copy = is_move ? copy_of_given() : nullptr;
        const uint8_t *const to = is_move ? (takes(other()) ? dest(other()) : copy)
                                          : reinterpret_cast<uint8_t *>(t.result);
        return !is_cpu_device &&
               is_aligned(gives(other()) || !is_move ? source(other()) : to, to, copy);
    }

    /* A unit in any memory. */
    __device__ __forceinline__ static line_part load_any(const uint8_t *from)
    {
        const uint64_t address = reinterpret_cast<uint64_t>(from);
        line_part p;
        if (address % 16 == 0)
            return load_vectors<false>(from);
        GSHMEM_UNROLL
        for (uint32_t w = 0; w < part_words; w++)
            p.word[w] = address % 8 == 0 ? load_plain(reinterpret_cast<const uint64_t *>(from) + w)
                                         : load_bytes(from + 8 * w, 8);
        return p;
    }
    __device__ __forceinline__ static void store_any(uint8_t *to, const line_part &p)
    {
        const uint64_t address = reinterpret_cast<uint64_t>(to);
        if (address % 16 == 0) {
            store_unit(to, p);
            return;
        }
        GSHMEM_UNROLL
        for (uint32_t w = 0; w < part_words; w++) {
            if (address % 8 == 0)
                store_plain(reinterpret_cast<uint64_t *>(to) + w, p.word[w]);
            else
                store_bytes(to + 8 * w, 8, p.word[w]);
        }
    }

    /* A piece that is not whole, or not aligned: mine, or what is in the slot, or their sum, goes
     * to `to` and into `out`, in which the last unit may have more bytes. Each may be NULL. */
    template <bool is_add>
    __device__ GSHMEM_NOINLINE static void
    handle_tail(uint8_t *to, const uint8_t *mine, const uint8_t *in_slot, uint8_t *out,
                uint64_t bytes, uint32_t element, bool am_first)
    {
        const uint32_t thread = threadIdx.x % warp_threads();
        if (bytes > GSH_PIECE_BYTES)
            bytes = GSH_PIECE_BYTES;
        const uint32_t n = (uint32_t)bytes / (uint32_t)unit;
        auto made_of = [&](const line_part &x, const line_part &y) {
            if constexpr (is_add) {
                if (mine != nullptr && in_slot != nullptr)
                    return sum_of(element, am_first, x, y);
            }
            return mine != nullptr ? x : y;
        };
        GSHMEM_NO_UNROLL
        for (uint32_t u = thread; u < n; u += (uint32_t)tail_at_once * warp_threads()) {
            line_part x[tail_at_once] = {}, y[tail_at_once] = {};
            GSHMEM_UNROLL
            for (int i = 0; i < tail_at_once; i++) {
                const uint64_t at = (uint64_t)(u + (uint32_t)i * warp_threads()) * unit;
                if (mine != nullptr && u + (uint32_t)i * warp_threads() < n)
                    x[i] = load_any(mine + at);
                if (in_slot != nullptr && u + (uint32_t)i * warp_threads() < n)
                    y[i] = load_vectors<true>(in_slot + at);
            }
            GSHMEM_UNROLL
            for (int i = 0; i < tail_at_once; i++) {
                const uint64_t at = (uint64_t)(u + (uint32_t)i * warp_threads()) * unit;
                const line_part z = made_of(x[i], y[i]);
                if (to != nullptr && u + (uint32_t)i * warp_threads() < n)
                    store_any(to + at, z);
                if (out != nullptr && u + (uint32_t)i * warp_threads() < n)
                    store_unit(out + at, z);
            }
        }
        const uint32_t rest = (uint32_t)bytes % (uint32_t)unit;
        if (rest == 0 || thread != 0)
            return;
        const uint64_t at = (uint64_t)n * unit;
        line_part x = {}, y = {};
        if (mine != nullptr)
            x = load_odd_unit(mine + at, rest);
        if (in_slot != nullptr)
            y = load_vectors<true>(in_slot + at);
        x = made_of(x, y);
        if (to != nullptr)
            store_odd_unit(to + at, rest, x);
        if (out != nullptr)
            store_unit(out + at, x);
    }

    /* ---- my own block, in a MOVE ---- */

    /* Where what I give goes here, too: in a broadcast; or NULL. */
    __device__ __forceinline__ uint8_t *copy_of_given() const
    {
        return gives(other()) && t.source_step == 0 && !takes(other())
                   ? reinterpret_cast<uint8_t *>(t.own_dest)
                   : nullptr;
    }
    /* Whether it goes somewhere, and is another than what I give. */
    __device__ __forceinline__ bool has_own() const
    {
        return t.own_dest != 0 && (takes(other()) || t.source_step != 0);
    }
    /* A piece of it, or what is left of it, `at` bytes from its beginning. */
    __device__ __forceinline__ void keep_own(const streamer &w, uint64_t at) const
    {
        const uint8_t *const from = source(all.me) + at;
        uint8_t *const to = reinterpret_cast<uint8_t *>(t.own_dest) + at;
        if (!is_cpu_device && is_aligned(from, to, to) && is_whole(w.end - at)) {
            units<units_of_thread> x;
            load<false>(x, from + w.thread * unit);
            store(to + w.thread * unit, x);
        } else {
            handle_tail<false>(to, from, nullptr, nullptr, w.end - at, 0, true);
        }
    }

    /* ---- one gives, the other takes ---- */

    /* has_own: only in a MOVE. */
    template <bool has_own> __device__ __forceinline__ void give(const streamer &w) const
    {
        const bool is_plain = is_all_aligned();
        const uint64_t own_at = w.thread * unit;
        const uint8_t *from = source(other()) + w.first;
        uint8_t *own = !has_own && t.way == GSH_LINES_MOVE ? copy_of_given() : nullptr;
        own = own != nullptr ? own + w.first : nullptr;
        uint64_t left = w.end - w.first;
        units<units_of_thread> x;
        if (!has_own && w.n > 0 && is_plain && is_whole(left))
            load<false>(x, from + own_at);
        GSHMEM_NO_UNROLL
        for (uint64_t i = 0; i < w.n; i++) {
            if constexpr (has_own) {
                x = {}; /* so that it is not kept from step to step */
                if (is_plain && is_whole(left))
                    load<false>(x, from + own_at);
            }
            await_count(w, w.before + i - 1);
            uint8_t *const out = slot(w.there, w.before + i);
            if (is_plain && is_whole(left)) {
                store(out + own_at, x);
                if (own != nullptr)
                    store(own + own_at, x);
            } else {
                handle_tail<false>(own, from, nullptr, out, left, 0, true);
            }
            left -= w.step;
            from += w.step;
            if (own != nullptr)
                own += w.step;
            if (!has_own && i + 1 < w.n && is_plain && is_whole(left))
                load<false>(x, from + own_at);
            tell_count(w, w.before + i + 1);
            if (has_own) /* while the count is on its way */
                keep_own(w, w.first + i * w.step);
        }
        end_warp(w, w.n);
    }
    template <bool is_add> __device__ __forceinline__ void take(const streamer &w) const
    {
        const bool is_plain = is_all_aligned();
        constexpr int some = is_add ? sums_at_once : units_of_thread;
        const uint64_t own_at = w.thread * unit;
        uint8_t *to = (is_add ? reinterpret_cast<uint8_t *>(t.result) : dest(other())) + w.first;
        const uint8_t *mine = is_add ? source(all.me) + w.first : nullptr;
        uint64_t left = w.end - w.first;
        GSHMEM_NO_UNROLL
        for (uint64_t i = 0; i < w.n; i++) {
            units<some> y = {}; /* so that it is not kept from step to step */
            if (is_add && is_plain && is_whole(left))
                load<false>(y, mine + own_at);
            await_count(w, w.before + i + 1);
            const uint8_t *const from = slot(w.here, w.before + i);
            if (is_plain && is_whole(left)) {
                GSHMEM_UNROLL
                for (int first = 0; first < units_of_thread; first += some) {
                    const uint64_t at = own_at + (uint64_t)first * stride;
                    units<some> x;
                    load<true>(x, from + at);
                    if (is_add && first > 0)
                        load<false>(y, mine + at);
                    if constexpr (is_add)
                        add(x, y, x);
                    store(to + at, x);
                }
            } else {
                handle_tail<is_add>(to, mine, from, nullptr, left, t.element, all.me == 0);
            }
            tell_count(w, w.before + i + 1);
            if (!is_add && t.own_dest != 0)
                keep_own(w, w.first + i * w.step);
            left -= w.step;
            to += w.step;
            if (is_add)
                mine += w.step;
        }
        end_warp(w, w.n);
    }
    template <int n>
    __device__ __forceinline__ void add(units<n> &to, const units<n> &mine,
                                        const units<n> &theirs) const
    {
        /* One branch, and little code behind it, since a launch fetches what it runs. */
        if (t.element == GSH_ELEMENT_float)
            add_as<GSH_ELEMENT_float>(to, mine, theirs);
        else if (t.element == GSH_ELEMENT_half)
            add_as<GSH_ELEMENT_half>(to, mine, theirs);
        else
            add_as<GSH_ELEMENT_bfloat16>(to, mine, theirs);
    }
    template <uint32_t element, int n>
    __device__ __forceinline__ void add_as(units<n> &to, const units<n> &mine,
                                           const units<n> &theirs) const
    {
        GSHMEM_UNROLL
        for (int i = 0; i < n; i++)
            to.of[i] = sum_of(element, all.me == 0, mine.of[i], theirs.of[i]);
    }

    /* ---- both give, and take what the other gives ---- */

    __device__ __forceinline__ void swap(const streamer &w) const
    {
        const bool are_aligned = is_all_aligned();
        const uint64_t steps = w.n > 0 ? w.n + 2 : 0, own_at = w.thread * unit;
        const uint8_t *const from = source(other());
        uint8_t *const to = dest(other());
        uint64_t at = w.first; /* of step i's piece */
        GSHMEM_NO_UNROLL
        for (uint64_t i = 0; i < steps; i++, at += w.step) {
            const uint64_t step = w.before + i;
            const bool is_plain = i < w.n && are_aligned && is_whole(w.end - at);
            units<units_of_thread> x = {}; /* so that it is not kept from step to step */
            if (is_plain)
                load<false>(x, from + at + own_at);
            await_count(w, step);
            uint8_t *const out = slot(w.there, step);
            if (is_plain)
                store(out + own_at, x);
            else if (i < w.n)
                handle_tail<false>(nullptr, from + at, nullptr, out, w.end - at, 0, true);
            if (i > 0 && i <= w.n) {
                const uint64_t off = at - w.step;
                const uint8_t *const theirs = slot(w.here, step - 1);
                if (are_aligned && is_whole(w.end - off)) {
                    units<units_of_thread> y;
                    load<true>(y, theirs + own_at);
                    store(to + off + own_at, y);
                } else {
                    handle_tail<false>(to + off, nullptr, theirs, nullptr, w.end - off, 0, true);
                }
            }
            tell_count(w, step + 1);
            if (t.own_dest != 0 && i < w.n) /* while the count is on its way */
                keep_own(w, at);
        }
        end_warp(w, steps);
    }

    /* ---- both add up one half, and give the other the sum ---- */

    /* half: the bytes of the first half; end: of the second. */
    __device__ __forceinline__ void share(const streamer &w, uint64_t half, uint64_t end) const
    {
        const bool are_aligned = is_all_aligned();
        const uint64_t steps = w.n > 0 ? w.n + 2 : 0, own_at = w.thread * unit;
        const uint64_t mine = all.me == 0 ? 0 : half, its = half - mine;
        const uint64_t my_end = all.me == 0 ? w.end : end, its_end = all.me == 0 ? end : w.end;
        const uint8_t *const from = source(all.me);
        uint8_t *const to = reinterpret_cast<uint8_t *>(t.result);
        auto left = [](uint64_t at, uint64_t stop) { return stop > at ? stop - at : 0; };
        uint64_t at = w.first; /* of step i's piece, in the first half */
        GSHMEM_NO_UNROLL
        for (uint64_t i = 0; i < steps; i++, at += w.step) {
            const uint64_t step = w.before + i;
            {
                const uint64_t off = its + at;
                const bool is_plain = i < w.n && are_aligned && is_whole(left(off, its_end));
                units<units_of_thread> x = {}; /* so that it is not kept from step to step */
                if (is_plain)
                    load<false>(x, from + off + own_at);
                await_count(w, step);
                uint8_t *const out = slot(w.there, step);
                if (is_plain)
                    store(out + own_at, x);
                else if (i < w.n)
                    handle_tail<true>(nullptr, from + off, nullptr, out, left(off, its_end), 0,
                                      true);
            }
            if (i > 0 && i <= w.n) {
                const uint64_t off = mine + at - w.step, bytes = left(off, my_end);
                const uint8_t *const theirs = slot(w.here, step - 1);
                uint8_t *const out = slot(w.there + sums, step - 1);
                if (are_aligned && is_whole(bytes)) {
                    GSHMEM_UNROLL
                    for (int first = 0; first < units_of_thread; first += sums_at_once) {
                        const uint64_t off_here = own_at + (uint64_t)first * stride;
                        units<sums_at_once> x, y;
                        load<false>(x, from + off + off_here);
                        load<true>(y, theirs + off_here);
                        add(x, x, y);
                        store(to + off + off_here, x);
                        store(out + off_here, x);
                    }
                } else {
                    handle_tail<true>(to + off, from + off, theirs, out, bytes, t.element,
                                      all.me == 0);
                }
            }
            if (i > 1) {
                const uint64_t off = its + at - 2 * w.step, bytes = left(off, its_end);
                const uint8_t *const theirs = slot(w.here + sums, step - 2);
                if (are_aligned && is_whole(bytes)) {
                    units<units_of_thread> y;
                    load<true>(y, theirs + own_at);
                    store(to + off + own_at, y);
                } else {
                    handle_tail<true>(to + off, nullptr, theirs, nullptr, bytes, 0, true);
                }
            }
            tell_count(w, step + 1);
        }
        end_warp(w, steps);
    }

    /* ---- a block's part ---- */

    /* part: of the item; half: 1 for the block's helper. */
    template <bool is_add>
    __device__ __forceinline__ void run_part(uint32_t part, uint32_t block, uint32_t half) const
    {
        const uint64_t each = (uint64_t)t.n_rounds * t.lines * line_data_bytes;
        const uint64_t begin = part * each < t.block_bytes ? part * each : t.block_bytes;
        const uint64_t end = begin + each < t.block_bytes ? begin + each : t.block_bytes;
        const bool i_give = gives(other()), i_take = takes(other());
        if (i_give && i_take) {
            if constexpr (is_add) {
                const uint64_t some = ((end - begin + 1) / 2 + 127) / 128 * 128;
                const uint64_t first = some < end - begin ? some : end - begin;
                share(begin_warp(block, half, begin, first), first, end);
            } else {
                swap(begin_warp(block, half, begin, end - begin));
            }
        } else if (!is_add && i_give && has_own()) {
            give<true>(begin_warp(block, half, begin, end - begin));
        } else if (i_give) {
            give<false>(begin_warp(block, half, begin, end - begin));
        } else {
            take<is_add>(begin_warp(block, half, begin, end - begin));
        }
    }
    /* What a block tells its helper; how many times the helper has been told. */
    __device__ __forceinline__ uint64_t *told(uint32_t number) const
    {
        return reinterpret_cast<uint64_t *>(state_of(all.c).base + in.off) + in.n_channels + number;
    }
    __device__ __forceinline__ uint64_t *heard(uint32_t number) const
    {
        return told(number) + in.n_channels;
    }

    /* Whether both members get the slots of the block, until it leaves; else lines are to carry the
     * launch's items out. Counts the rounds that it has taken. number: of the block's channel. */
    __device__ __forceinline__ bool agree(uint32_t block, uint32_t number, uint64_t &so_far) const
    {
        bool is_first = false;
        if (t.shares_slots == 0)
            return true;
        if (threadIdx.x == 0) {
            is_first = atomic_compare_swap(lock(block), 0u, t.has_helpers != 0 ? 2u : 1u) == 0;
            /* What the last holders have counted is seen, by the helper, too. Pairs with the fence
             * before they leave, and with the helper's. */
            fence_gpu();
        }
        const bool has_mine = any_of_block(is_first);
        fence_alias(); /* the last holder's addresses may be those of another job's heap */
        const bool has_both =
            exchange(++so_far, has_mine ? 1 : 0, true, true, false, false) != 0 && has_mine;
        if (t.has_helpers != 0 && threadIdx.x == 0) {
            uint64_t *const word = told(number);
            store_relaxed(word, (load_plain(word) / 2 + 1) * 2 + (has_both ? 1 : 0));
        }
        if (has_mine && !has_both && threadIdx.x == 0)
            store_relaxed(lock(block), 0u); /* nothing has been counted */
        return has_both;
    }
    /* The same for the helper of that block. */
    __device__ __forceinline__ bool await_agreed(uint32_t number) const
    {
        if (t.shares_slots == 0)
            return true;
        const uint64_t n = load_plain(heard(number)) + 1;
        bool is_agreed = false;
        if (threadIdx.x == 0) {
            const uint64_t word = spin_on(
                all.c, told(number), [](const uint64_t *p) { return atomic_load(p); },
                [=](uint64_t seen) { return seen / 2 >= n; }, GSH_REPORT_SYNC_TIMEOUT, name,
                all.pe(all.me), GSH_REPORT_CMP_AT(GSHMEM_CMP_GE, t.site), 2 * n);
            is_agreed = word % 2 != 0;
            /* Pairs with the fence of the block that tells: what holders before it have counted. */
            fence_gpu();
        }
        is_agreed = any_of_block(is_agreed);
        fence_alias(); /* as in agree */
        if (threadIdx.x == 0)
            store_plain(heard(number), n);
        return is_agreed;
    }
    /* All of a block's warps are through: it or its helper. If some threads have left the kernel
     * instead, as when the communicator is given up, the members may have counted differently. Then
     * nobody gets the slots again. */
    __device__ __forceinline__ void leave(uint32_t block) const
    {
        if (t.shares_slots == 0) {
            group_block().sync();
            return;
        }
        fence_alias(); /* pairs with that of the next holder's threads */
        if (all_have_come() && threadIdx.x == 0) {
            fence_gpu(); /* pairs with the fence of the thread that locks next */
            atomic_add(lock(block), ~0u);
        }
    }
};

} // namespace detail
} // namespace gshmem

#endif
