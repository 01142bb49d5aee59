/* SPDX-License-Identifier: Apache-2.0
 * The collectives that compute: reduce, reducescatter and the scans. Elements are added up in the
 * order of the members (far.cuh: of each node, then of the nodes), so the result has the same bits
 * on every PE and in every run. The ways are those of move.cuh. A direct reduce is a
 * reduce-scatter, from the members' sources, and an all-gather, into their dests, of one part for
 * each member. */
#ifndef GSHMEM_COLL_REDUCE_CUH
#define GSHMEM_COLL_REDUCE_CUH

#include "choose.cuh"
#include "element.cuh"
#include "ll.cuh"
#include "grid.cuh"
#include "move.cuh"
#include "team.cuh"

namespace gshmem
{
namespace detail
{

/* ---- what is added up -------------------------------------------------------------------------
 */

/* The order of the blocks in a work area. */
enum class block_order {
    as_they_lie,
    by_node,   /* a leader's half: from this PE's node on, by node number */
    by_member, /* the same with a block for each member, by member number */
};

/* Terms [0, n): first the blocks of a work area, then the members' sources, in the order of the
 * team or of the near members. Kept in the caller's memory, like the call. */
struct terms {
    uint8_t *dest;
    uint64_t bytes;        /* of the sum */
    const uint8_t *source; /* the same position in each member's heap */
    const uint8_t *blocks;
    uint64_t block_bytes; /* from one block to the next */
    int n, n_blocks;
    block_order order;
    bool is_near, to_all; /* to_all: into every member's dest */
};

__device__ __forceinline__ terms of_members(uint8_t *dest, const uint8_t *source, uint64_t bytes,
                                            int n, bool is_near, bool to_all)
{
    return {dest, bytes, source, nullptr, 0, n, 0, block_order::as_they_lie, is_near, to_all};
}

/* ---- how they are added up: all that depends on the operation and the type --------------------
 */

/* Where block i begins. */
template <class Context>
__device__ __forceinline__ const uint8_t *block_of(const coll_call<Context> &k, const terms &s,
                                                   int i)
{
    const gsh_team_state &t = *k.team;
    uint64_t at = (uint64_t)i;
    if (s.order == block_order::by_node)
        at = (uint64_t)(i < t.my_node ? i - t.my_node + t.n_nodes : i - t.my_node);
    if (s.order == block_order::by_member) {
        int position = 0;
        GSHMEM_NO_UNROLL
        while (gsh_members_by_node(&t)[position] != i)
            position++;
        at = position_behind_leader(t, position);
    }
    return s.blocks + at * s.block_bytes;
}

template <class Context>
__device__ __forceinline__ const uint8_t *term_of(const coll_call<Context> &k, const terms &s,
                                                  int i)
{
    if (i < s.n_blocks)
        return block_of(k, s, i);
    const int m = i - s.n_blocks;
    return k.at(s.source, s.is_near ? near_member(*k.team, m) : m);
}

/* Adds up bytes [first, end), in Units, by all threads of the group. dest may be one of the terms.
 * Each thread takes one Unit at a time, with n_ahead loads under way. Addresses are incremented and
 * hidden (hide_value): computed beforehand, each would need its own registers. */
template <class Op, class Type, class Unit, int n_ahead, class Context>
__device__ __forceinline__ void add_units(const coll_call<Context> &k, rank_in_group at,
                                          const terms &s, uint64_t first, uint64_t end)
{
    const uint32_t step = hide_value((uint32_t)sizeof(Unit) * at.size);
    spill(end);
    GSHMEM_NO_UNROLL
    for (uint64_t off = first + (uint64_t)sizeof(Unit) * at.rank; off < end;
         off += (uint64_t)step * n_ahead) {
        int n = 1; /* that are left, at most n_ahead; a division would be a call for each batch */
        GSHMEM_UNROLL
        for (int a = 1; a < n_ahead; a++)
            n += end - off > (uint64_t)a * step ? 1 : 0;
        sum_of<Type, Unit> sum[n_ahead];
        Unit v[n_ahead];
        auto load_from = [&](int i) {
            const uint8_t *its = term_of(k, s, i) + off;
            GSHMEM_UNROLL
            for (int a = 0; a < n_ahead; a++) {
                if (a < n)
                    v[a] = load_fresh(reinterpret_cast<const Unit *>(its));
                its = hide_value(its + step);
            }
        };
        GSHMEM_UNROLL
        for (int a = 0; a < n_ahead; a++)
            v[a] = Unit{};
        load_from(0);
        GSHMEM_UNROLL
        for (int a = 0; a < n_ahead; a++)
            sum[a].open(v[a]);
        GSHMEM_NO_UNROLL
        for (int i = 1; i < s.n; i++) {
            load_from(i);
            GSHMEM_UNROLL
            for (int a = 0; a < n_ahead; a++)
                sum[a].template add<Op>(v[a]);
        }
        GSHMEM_UNROLL
        for (int a = 0; a < n_ahead; a++)
            v[a] = sum[a].close();
        GSHMEM_NO_UNROLL
        for (int i = 0; i < (s.to_all ? k.n : 1); i++) {
            uint8_t *out = (s.to_all ? k.at(s.dest, k.after(i)) : s.dest) + off;
            GSHMEM_UNROLL
            for (int a = 0; a < n_ahead; a++) {
                if (a < n)
                    store_out(reinterpret_cast<Unit *>(out), v[a]);
                out = hide_value(out + step);
            }
        }
    }
}

/* The same on the CPU device: several at a time, in loops of fixed length, which compilers
 * vectorise. */
template <class Op, class Type, class Context>
__device__ inline void add_pieces(const coll_call<Context> &k, rank_in_group at, const terms &s)
{
    typedef accumulator<Type> Accumulator;
    constexpr uint64_t n = 1024 / sizeof(Type);
    typename Accumulator::type sum[n] = {};
    Type piece[n];
    const uint64_t nelems = s.bytes / sizeof(Type);
    for (uint64_t first = at.rank * n; first < nelems; first += at.size * n) {
        const uint64_t count = nelems - first < n ? nelems - first : n;
        for (int m = 0; m < s.n; m++) {
            const Type *its = reinterpret_cast<const Type *>(term_of(k, s, m)) + first;
            if (count < n) {
                memcpy(piece, its, count * sizeof(Type));
                its = piece;
            }
            if (m == 0)
                for (uint64_t i = 0; i < n; i++)
                    sum[i] = Accumulator::open(its[i]);
            else
                for (uint64_t i = 0; i < n; i++)
                    sum[i] = Op::of(sum[i], Accumulator::open(its[i]));
        }
        for (uint64_t i = 0; i < n; i++)
            piece[i] = Accumulator::close(sum[i]);
        for (int i = 0; i < (s.to_all ? k.n : 1); i++)
            memcpy(reinterpret_cast<Type *>(s.to_all ? k.at(s.dest, k.after(i)) : s.dest) + first,
                   piece, count * sizeof(Type));
    }
}

/* How many vectors a thread has under way. Four take 16 registers and, if the sums are no larger
 * than the elements, 16 more for those. A block of 512 then has 32 KiB under way, and blocks on two
 * thirds of an H200's multiprocessors exceed the 660 KiB that NVLink needs (450 GB/s times 1.5 us).
 * Sums of smaller elements take one register each; 64 registers have room for two vectors. */
template <class Type>
constexpr int vectors_ahead = sizeof(sum_of<Type, vec16>) > 16 || sum_of<Type, vec16>::n > 4 ? 2
                                                                                             : 4;

/* By vectors if all sides are aligned to them. */
template <class Op, class Type, class Context>
__device__ GSHMEM_NOINLINE void add_terms(const coll_call<Context> &k, rank_in_group at,
                                          const terms &s)
{
    if constexpr (is_cpu_device) {
        add_pieces<Op, Type>(k, at, s);
    } else {
        const bool is_aligned =
            ((reinterpret_cast<uint64_t>(s.dest) | reinterpret_cast<uint64_t>(s.source) |
              reinterpret_cast<uint64_t>(s.blocks) | s.block_bytes) &
             15) == 0;
        const uint64_t vectors = is_aligned ? s.bytes & ~(uint64_t)15 : 0;
        spill(at, vectors); /* for the second loop */
        add_units<Op, Type, vec16, vectors_ahead<Type>>(k, at, s, 0, vectors);
        add_units<Op, Type, tail_word<Type>, 1>(k, at, s, vectors, s.bytes);
    }
}

/* All that depends on the operation and the type: two functions, which the other functions of a
 * collective call. The CPU device calls them through pointers, and compiles the other functions
 * once per kind of group. GPUs call them directly: a kernel that calls through a pointer gets the
 * registers of the largest function to which any pointer of its file leads. */
#if defined(__CUDACC__)
template <class Op, class Type, int n_ahead> struct adder {
    static constexpr bool has_lines = sizeof(Type) <= line_bytes;

    template <class Context>
    __device__ __forceinline__ void add(const coll_call<Context> &k, rank_in_group at,
                                        const terms &s) const
    {
        add_terms<Op, Type>(k, at, s);
    }
    template <class Context>
    __device__ __forceinline__ void lines(const ll_call<Context> &f, rank_in_group at,
                                          const line_data &d, int end) const
    {
        if constexpr (has_lines)
            add_lines<Op, Type, n_ahead>(f, at, d, end);
    }
};
#else
struct adder {
    void (*add)(const coll_call<context> &, rank_in_group, const terms &);
    void (*lines)(const ll_call<context> &, rank_in_group, const line_data &, int);
    bool has_lines;
};
#endif

template <class Op, class Type, class Group> __device__ __forceinline__ auto adder_of()
{
#if defined(__CUDACC__)
    return adder<Op, Type, lines_ahead<Group>::n>();
#else
    if constexpr (sizeof(Type) <= line_bytes)
        return adder{&add_terms<Op, Type, context>,
                     &add_lines<Op, Type, lines_ahead<Group>::n, context>, true};
    else
        return adder{&add_terms<Op, Type, context>, nullptr, false};
#endif
}

/* ---- LL ---------------------------------------------------------------------------------------
 */

/* Receives all lines, in a scan also those of members behind this one: see the buffers'
 * invariants. */
template <class Context, class Group, class How>
__device__ __forceinline__ void compute_ll(const ll_call<Context> &f, Group g, const line_data &d,
                                           int end, How how)
{
    send_lines<lines_ahead<Group>::n>(f, rank_in_group_of(g), d);
    how.lines(f, rank_in_group_of(g), d, end);
}

/* ---- direct ------------------------------------------------------------------------------------
 */

/* Member m's part of that many bytes: whole cache lines, except for the last part. */
__device__ __forceinline__ gsh_range part_of(uint64_t bytes, int m, int n)
{
    const uint64_t each = ((bytes + (uint64_t)n - 1) / (uint64_t)n + 127) & ~(uint64_t)127;
    const uint64_t begin = each * (uint64_t)m;
    if (begin >= bytes)
        return {0, 0};
    return {begin, bytes - begin < each ? bytes - begin : each};
}

template <class Context, class Group, class How>
__device__ GSHMEM_NOINLINE_IN_USER_KERNELS void reduce_direct(const coll_call<Context> &k, Group g,
                                                              uint8_t *dest, const uint8_t *source,
                                                              uint64_t bytes, How how)
{
    spill(g, dest, source, bytes);
    coll_barrier<Context, Group> all(k, g);
    const gsh_range mine = part_of(bytes, k.me, k.n);
    const terms s =
        of_members(plus(dest, mine.begin), plus(source, mine.begin), mine.bytes, k.n, false, true);
    all.sync();
    how.add(k, rank_in_group_of(g), s);
    all.sync(true);
}

template <class Context, class Group, class How>
__device__ GSHMEM_NOINLINE_IN_USER_KERNELS void
reducescatter_direct(const coll_call<Context> &k, Group g, uint8_t *dest, const uint8_t *source,
                     uint64_t bytes, How how)
{
    spill(g, dest, source, bytes);
    coll_barrier<Context, Group> all(k, g);
    const terms s =
        of_members(dest, plus(source, (uint64_t)k.me * bytes), bytes, k.n, false, false);
    all.sync();
    how.add(k, rank_in_group_of(g), s);
    all.sync(true);
}

/* By whole words if alignment and size allow. */
__device__ GSHMEM_NOINLINE inline void set_zero(rank_in_group at, uint8_t *dest, uint64_t bytes)
{
    if (((reinterpret_cast<uint64_t>(dest) | bytes) & 7) == 0) {
        GSHMEM_NO_UNROLL
        for (uint64_t i = at.rank; i < bytes / 8; i += at.size)
            store_plain(reinterpret_cast<uint64_t *>(dest) + i, (uint64_t)0);
    } else {
        GSHMEM_NO_UNROLL
        for (uint64_t i = at.rank; i < bytes; i += at.size)
            store_plain(dest + i, (uint8_t)0);
    }
}

/* The last member goes first: once it may write its dest, the others have read what they need of
 * its source, unless the two are the same. So in place, every member waits for those behind it. */
template <class Context, class Group, class How>
__device__ GSHMEM_NOINLINE void scan_direct(const coll_call<Context> &k, Group g, uint8_t *dest,
                                            const uint8_t *source, uint64_t bytes,
                                            bool is_inclusive, How how)
{
    spill(g, dest, source, bytes, is_inclusive);
    coll_barrier<Context, Group> all(k, g);
    const bool is_in_place = dest == source;
    spill(is_in_place);
    const terms s = of_members(dest, source, bytes, is_inclusive ? k.me + 1 : k.me, false, false);
    all.sync();
    GSHMEM_NO_UNROLL
    for (int m = k.n - 1; is_in_place && m > k.me; m--) {
        spill(m);
        all.sync();
    }
    if (s.n > 0)
        how.add(k, rank_in_group_of(g), s);
    else
        set_zero(rank_in_group_of(g), s.dest, s.bytes);
    GSHMEM_NO_UNROLL
    for (int m = is_in_place ? k.me : 0; m >= 0; m--) {
        spill(m);
        all.sync(m == 0);
    }
}

} // namespace detail
} // namespace gshmem

#endif
