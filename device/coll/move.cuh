/* SPDX-License-Identifier: Apache-2.0
 * The collectives that only move data: broadcast, fcollect, collect, alltoall, alltoalls; by bytes.
 * choose.cuh picks one of these ways:
 * - LL: data that carry their flags, in one exchange (ll.cuh);
 * - direct: the members synchronise, each stores its data straight into the others' dest, and they
 *   synchronise again;
 * - far, if some member is not mapped: by messages (far.cuh). */
#ifndef GSHMEM_COLL_MOVE_CUH
#define GSHMEM_COLL_MOVE_CUH

#include "choose.cuh"
#include "element.cuh"
#include "ll.cuh"
#include "grid.cuh"
#include "team.cuh"
#include "../copy.cuh"

namespace gshmem
{
namespace detail
{

template <class Type> __device__ __forceinline__ Type *plus(Type *p, uint64_t bytes)
{
    return reinterpret_cast<Type *>(reinterpret_cast<uint64_t>(p) + bytes);
}

/* The calling block's share of that many bytes, in whole cache lines. */
struct share {
    uint64_t begin, bytes;
};
template <class Group> __device__ __forceinline__ share share_of(Group g, uint64_t bytes)
{
    if (g.n_blocks() == 1)
        return {0, bytes};
    const uint64_t each = ((bytes + g.n_blocks() - 1) / g.n_blocks() + 127) & ~(uint64_t)127;
    const uint64_t begin = each * g.block();
    if (begin >= bytes)
        return {0, 0};
    return {begin, bytes - begin < each ? bytes - begin : each};
}

/* The blocks that share a copy, and which of them the calling one is. */
struct sharers {
    uint32_t index, count;

    __device__ __forceinline__ uint32_t n_blocks() const { return count; }
    __device__ __forceinline__ uint32_t block() const { return index; }
};

/* Stores to others wait for the link. Meanwhile a few blocks, the local copiers, copy what a member
 * gives to itself. A block moves an eighth of what an NVLink of 18 links carries; twice as many
 * local copiers as that need are enough beside the others. */
constexpr uint32_t max_local_copiers = 16;

/* The calling block's part of a call that gives each of n members the same number of bytes. */
struct assignment {
    sharers blocks;  /* it shares the copies with those */
    int first, last; /* to the members so many ranks after this PE; n: itself */
};
template <class Group>
__device__ __forceinline__ assignment assignment_of(Group g, int n, bool is_in_place)
{
    const uint32_t others = n > 1 ? (uint32_t)n - 1 : 1;
    uint32_t n_local_copiers = 0;
    if (g.n_blocks() > 1 && !is_in_place) {
        const uint32_t fair = g.n_blocks() / (others + 1), enough = max_local_copiers / others;
        n_local_copiers = fair < enough ? fair : enough;
    }
    if (g.block() < n_local_copiers)
        return {{g.block(), n_local_copiers}, n, n};
    return {{g.block() - n_local_copiers, g.n_blocks() - n_local_copiers},
            1,
            n_local_copiers > 0 ? n - 1 : n};
}

/* The calling block's share of a copy to a near member, or to itself. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE void store_share(const coll_call<Context> &k, Group g, sharers blocks,
                                            uint8_t *dest, const uint8_t *source, uint64_t bytes,
                                            int member)
{
    const share s = share_of(blocks, bytes);
    auto b = g.block_part();
    if (s.bytes > 0 && !(member == k.me && dest == source))
        copy<direction::put, false, decltype(b)>({b.rank(), b.size()},
                                                 k.at(plus(dest, s.begin), member),
                                                 plus(source, s.begin), s.bytes);
}

/* The same, shared by all of the call's blocks. */
template <class Context, class Group>
__device__ __forceinline__ void store_share(const coll_call<Context> &k, Group g, uint8_t *dest,
                                            const uint8_t *source, uint64_t bytes, int member)
{
    store_share(k, g, sharers{g.block(), g.n_blocks()}, dest, source, bytes, member);
}

/* The members synchronise; those that give store the bytes at source + m * source_step into member
 * m's memory at dest, whoever m is; and all synchronise again. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE_IN_USER_KERNELS void
move_direct(const coll_call<Context> &k, Group g, uint8_t *dest, const uint8_t *source,
            uint64_t source_step, uint64_t bytes, bool gives)
{
    if constexpr (is_of_one_block<Group>) {
        const members<Context> all(k.c, *k.team);
        const uint64_t area_off = channel_off(*k.team, k.channel);
        const char *const name = k.name;
        near_barrier(all, g, area_off, name);
        spill(all, area_off, name, dest, source, source_step, bytes);
        /* itself last, while the others' bytes are in flight */
        GSHMEM_NO_UNROLL
        for (int i = gives ? 1 : all.n + 1; i <= all.n; i++) {
            spill(i);
            const int member = all.after(i);
            const uint8_t *const from = plus(source, (uint64_t)member * source_step);
            if (member != all.me || dest != from)
                copy<direction::put, false, Group>({g.rank(), g.size()}, all.at(dest, member), from,
                                                   bytes);
        }
        near_barrier(all, g, area_off, name);
    } else {
        spill(g, dest, source, source_step, bytes, gives);
        coll_barrier<Context, Group> all(k, g);
        const assignment t =
            assignment_of(g, k.n, dest == plus(source, (uint64_t)k.me * source_step));
        all.sync();
        spill(t);
        GSHMEM_NO_UNROLL
        for (int i = t.first; gives && i <= t.last; i++) {
            spill(i);
            const int member = k.after(i);
            store_share(k, g, t.blocks, dest, plus(source, (uint64_t)member * source_step), bytes,
                        member);
        }
        all.sync(true);
    }
}

/* ---- fcollect ----------------------------------------------------------------------------------
 */

/* is_same: all members get the same bytes; else those of an alltoall. */
template <bool is_same, class Context, class Group>
__device__ __forceinline__ void exchange_ll(const ll_call<Context> &f, Group g, const line_data &d)
{
    constexpr int n_ahead = lines_ahead<Group>::n;
    send_lines<n_ahead, is_same>(f, rank_in_group_of(g), d);
    if constexpr (!is_same)
        copy_own_lines<n_ahead>(f, rank_in_group_of(g), d);
    receive_lines<n_ahead>(f, rank_in_group_of(g), d, 1, f.all.n - 1);
}

template <class Context, class Group>
__device__ __forceinline__ void fcollect_direct(const coll_call<Context> &k, Group g, uint8_t *dest,
                                                const uint8_t *source, uint64_t bytes)
{
    move_direct(k, g, plus(dest, (uint64_t)k.me * bytes), source, 0, bytes, true);
}

/* ---- alltoall ----------------------------------------------------------------------------------
 */

template <class Context, class Group>
__device__ __forceinline__ void alltoall_direct(const coll_call<Context> &k, Group g, uint8_t *dest,
                                                const uint8_t *source, uint64_t bytes)
{
    move_direct(k, g, plus(dest, (uint64_t)k.me * bytes), source, bytes, bytes, true);
}

/* Strided blocks: element i of the block for a member is at (i + member * nelems) * stride. */
template <class Context, class Group, class Type>
__device__ GSHMEM_NOINLINE void alltoalls_direct(const coll_call<Context> &k, Group g, Type *dest,
                                                 const Type *source, ptrdiff_t dst, ptrdiff_t sst,
                                                 size_t nelems)
{
    spill(g, dest, source, dst, sst, nelems);
    coll_barrier<Context, Group> all(k, g);
    all.sync();
    GSHMEM_NO_UNROLL
    for (int i = 0; i < k.n; i++) {
        const int member = k.after(i);
        Type *to = k.at(dest, member) + (ptrdiff_t)((uint64_t)k.me * nelems) * dst;
        const Type *from = source + (ptrdiff_t)((uint64_t)member * nelems) * sst;
        GSHMEM_NO_UNROLL
        for (size_t e = g.rank(); e < nelems; e += g.size())
            store_out(to + (ptrdiff_t)e * dst, load_plain(from + (ptrdiff_t)e * sst));
    }
    all.sync(true);
}

/* ---- broadcast ---------------------------------------------------------------------------------
 */

/* A word from every member to every other, so that all of them switch buffers; the root's words are
 * the data. */
template <class Context>
__device__ GSHMEM_INLINE_ON_GPU void send_words(const ll_call<Context> &f, rank_in_group at)
{
    GSHMEM_NO_UNROLL
    for (uint32_t i = 1 + at.rank; i < (uint32_t)f.all.n; i += at.size)
        f.send(f.all.after((int)i), 0, 0);
}

template <class Context>
__device__ GSHMEM_INLINE_ON_GPU void receive_words(const ll_call<Context> &f, rank_in_group at,
                                                   int root)
{
    GSHMEM_NO_UNROLL
    for (uint32_t i = 1 + at.rank; i < (uint32_t)f.all.n; i += at.size) {
        const int member = f.all.after((int)i);
        spill(i);
        if (member != root)
            f.receive(member, 0);
    }
}

/* How many threads have work in the exchange: one for each line of the data, or one for a word. */
__device__ __forceinline__ uint32_t broadcast_units(int n, uint64_t bytes)
{
    const uint32_t lines = lines_of(bytes), words = (uint32_t)n - 1;
    return lines > words ? lines : words;
}

template <class Context, class Group>
__device__ __forceinline__ void broadcast_ll(const ll_call<Context> &f, Group g, const line_data &d,
                                             int root)
{
    constexpr int n_ahead = lines_ahead<Group>::n;
    if (f.all.me == root) {
        send_lines<n_ahead, true>(f, rank_in_group_of(g), d);
    } else {
        const int distance = root - f.all.me;
        send_words(f, rank_in_group_of(g));
        receive_lines<n_ahead>(f, rank_in_group_of(g), d,
                               distance < 0 ? distance + f.all.n : distance, 1);
    }
    receive_words(f, rank_in_group_of(g), root);
}

/* Each member passes a part of the root's data on to all others, so the root's link carries the
 * data once. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE_IN_USER_KERNELS void
broadcast_direct(const coll_call<Context> &k, Group g, uint8_t *dest, const uint8_t *source,
                 uint64_t bytes, int root)
{
    if (k.n == 2 || bytes < 4096) {
        move_direct(k, g, dest, source, 0, bytes, k.me == root);
        return;
    }
    spill(g, dest, source, bytes, root);
    coll_barrier<Context, Group> all(k, g);
    all.sync();
    const uint64_t each = ((bytes + (uint64_t)k.n - 1) / (uint64_t)k.n + 127) & ~(uint64_t)127;
    spill(each);
    auto part = [&](int m) {
        const uint64_t begin = each * (uint64_t)m;
        return begin >= bytes ? 0 : bytes - begin < each ? bytes - begin : each;
    };
    /* the root's part for member m goes to m, which then gives it to the others, the root too */
    GSHMEM_NO_UNROLL
    for (int i = 0; k.me == root && i < k.n; i++) {
        spill(i);
        const int member = k.after(i);
        store_share(k, g, plus(dest, each * (uint64_t)member),
                    plus(source, each * (uint64_t)member), part(member), member);
    }
    all.sync();
    const uint64_t begin = each * (uint64_t)k.me;
    const uint8_t *from = k.me == root ? source : dest;
    spill(begin, from);
    GSHMEM_NO_UNROLL
    for (int i = 1; i < k.n; i++) {
        spill(i);
        store_share(k, g, plus(dest, begin), plus(from, begin), part(k.me), k.after(i));
    }
    all.sync(true);
}

/* ---- collect -----------------------------------------------------------------------------------
 */

/* Exchanges the members' byte counts, and returns where this PE's part begins. */
template <class Context, class Group>
__device__ inline uint64_t exchange_counts(const coll_call<Context> &k, Group g, uint64_t bytes)
{
    /* Every thread reads all counts: each is a line that does not move during the call. */
    const ll_buffers<Context> s(k.c, *k.team, k.channel);
    uint64_t before = 0;
    spill(before, bytes);
    run_ll<false>(k.c, g, s, k.name, UINT32_MAX, [&](const ll_call<Context> &f) {
        GSHMEM_NO_UNROLL
        for (uint32_t i = g.rank(); i < (uint32_t)k.n - 1; i += g.size())
            f.send(k.after(1 + (int)i), 0, bytes);
        GSHMEM_NO_UNROLL
        for (int i = 1; i < k.n; i++) {
            const int member = k.after(i);
            const uint64_t its = f.receive(member, 0);
            before += member < k.me ? its : 0;
        }
    });
    return before;
}

/* The parts of dest that the members' counts say, up to begin + bytes, lie in the heap. */
template <class Context>
__device__ __forceinline__ void check_part(const coll_call<Context> &k, const uint8_t *dest,
                                           uint64_t begin, uint64_t bytes)
{
    if (bytes > 0) /* dest of nothing may be anything */
        said_address(k.c, k.name, -1, address_in_heap(k.c, dest) - state_of(k.c).base + begin,
                     bytes);
}

template <class Context, class Group>
__device__ GSHMEM_NOINLINE void collect_direct(const coll_call<Context> &k, Group g, uint8_t *dest,
                                               const uint8_t *source, uint64_t bytes)
{
    spill(g, dest, source, bytes);
    const uint64_t begin = exchange_counts(k, g, bytes);
    check_part(k, dest, begin, bytes);
    coll_barrier<Context, Group> all(k, g);
    const assignment t = assignment_of(g, k.n, false);
    all.sync();
    spill(t);
    GSHMEM_NO_UNROLL
    for (int i = t.first; i <= t.last; i++) {
        spill(i, begin);
        store_share(k, g, t.blocks, plus(dest, begin), source, bytes, k.after(i));
    }
    all.sync(true);
}

} // namespace detail
} // namespace gshmem

#endif
