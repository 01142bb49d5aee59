/* SPDX-License-Identifier: Apache-2.0
 * Collectives of teams of which not all members are mapped, by one block: puts, near and far ones,
 * between barriers of the team's lane. Few bytes go from each member to each other; reductions
 * gather a piece of every member's source in a work area of each, and add it up there.
 *
 * Many bytes cross from node to node once. They go in pieces: between two barriers one piece is on
 * its way to other nodes while near members get the one before it. A member's partners on other
 * nodes are those with its number there, modulo how many there are.
 *
 * The work area has two halves; a piece goes into half e mod 2, e being the lane's epoch before the
 * barrier that follows the puts. A member that has passed that barrier knows that all have come to
 * it, and so have read what the barrier before it announced: the other half is free. */
#ifndef GSHMEM_COLL_FAR_CUH
#define GSHMEM_COLL_FAR_CUH

#include "device/coll/coll.h"
#include "device/coll/element.cuh"
#include "device/coll/move.cuh"
#include "device/coll/reduce.cuh"
#include "device/coll/team.cuh"
#include "device/rma.cuh"

namespace gshmem
{
namespace detail
{

/* A put to a member, this PE included. Its completion is left to the barrier that follows. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void put_to(coll_call<C> k, G, uint8_t *dest, const uint8_t *source,
                                          uint64_t bytes, int member)
{
    if (bytes > 0 && !(member == k.me && dest == source))
        apart<put_general<false, false, may_be_far, G, C>>(k.c, static_cast<void *>(dest),
                                                           static_cast<const void *>(source),
                                                           (size_t)bytes, k.pe(member), k.name);
}

/* The same of a word, by one thread. */
template <class C>
__device__ __forceinline__ void word_to(const coll_call<C> &k, uint64_t *dest, uint64_t value,
                                        int member)
{
    apart<p_elsewhere<uint64_t, C>>(k.c, dest, value, k.pe(member), k.name);
}

template <class C, class G> __device__ GSHMEM_OUT_OF_LINE void far_barrier(coll_call<C> k, G g)
{
    sync_team<true>(k.c, g, k.team, k.lane, k.name);
}

/* ---- nodes ---- */

/* Member i of that node, the leader being 0; and how many it has. */
__device__ __forceinline__ int node_begin(const gsh_team_state &t, int node)
{
    return (reinterpret_cast<const int32_t *>(t.near) - t.near_begin + t.n_pes)[node];
}
__device__ __forceinline__ int node_size(const gsh_team_state &t, int node)
{
    return node_begin(t, node + 1) - node_begin(t, node);
}
__device__ __forceinline__ int member_of(const gsh_team_state &t, int node, int i)
{
    return (reinterpret_cast<const int32_t *>(t.near) - t.near_begin)[node_begin(t, node) + i];
}

/* The node that comes i after this PE's, once around. */
__device__ __forceinline__ int node_after(const gsh_team_state &t, int i)
{
    const int node = t.my_node + i;
    return node < t.n_nodes ? node : node - t.n_nodes;
}

__device__ inline bool has_member(const gsh_team_state &t, int node, int member)
{
    for (int i = 0; i < node_size(t, node); i++)
        if (member_of(t, node, i) == member)
            return true;
    return false;
}

/* To this PE's partners: the same place there as here. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void to_partners(coll_call<C> k, G g, uint8_t *dest,
                                               const uint8_t *source, uint64_t bytes)
{
    const gsh_team_state &t = *k.team;
    GSHMEM_NO_UNROLL
    for (int i = 1; i < t.n_nodes; i++) {
        const int node = node_after(t, i);
        put_to(k, g, dest, source, bytes, member_of(t, node, t.my_near % node_size(t, node)));
    }
}

template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void to_near(coll_call<C> k, G g, uint8_t *dest,
                                           const uint8_t *source, uint64_t bytes)
{
    const gsh_team_state &t = *k.team;
    GSHMEM_NO_UNROLL
    for (int i = 1; i < t.n_near; i++)
        put_to(k, g, dest, source, bytes, member_of(t, t.my_node, (t.my_near + i) % t.n_near));
}

/* Whether so many bytes go node by node: the same on all members. */
template <class C>
__device__ __forceinline__ bool goes_by_node(const coll_call<C> &k, uint64_t bytes)
{
    return bytes > state_of(k.c).far_flat;
}

/* Piece t of so many bytes, in pieces of far_piece; none where there is no such piece. */
template <class C>
__device__ __forceinline__ gsh_range piece_of(const coll_call<C> &k, uint64_t bytes, uint64_t t)
{
    const uint64_t each = state_of(k.c).far_piece, begin = t * each;
    if (begin >= bytes)
        return {0, 0};
    return {begin, bytes - begin < each ? bytes - begin : each};
}

template <class C>
__device__ __forceinline__ uint64_t n_pieces_of(const coll_call<C> &k, uint64_t bytes)
{
    return (bytes + state_of(k.c).far_piece - 1) / state_of(k.c).far_piece;
}

/* ---- moving data ---- */

/* begin_of(member) and bytes_of(member): the place of its part in dest. */
template <class C, class G, class Begin, class Bytes>
__device__ __forceinline__ void fcollect_by_node(const coll_call<C> &k, G g, uint8_t *dest,
                                                 uint64_t most, const uint8_t *source,
                                                 Begin begin_of, Bytes bytes_of)
{
    const gsh_team_state &t = *k.team;
    far_barrier(k, g); /* every dest may be written */
    const uint64_t n_pieces = n_pieces_of(k, most);
    GSHMEM_NO_UNROLL
    for (uint64_t piece = 0; piece <= n_pieces; piece++) {
        const gsh_range own = piece_of(k, bytes_of(k.me), piece);
        uint8_t *const to = plus(dest, begin_of(k.me) + own.begin);
        to_partners(k, g, to, plus(source, own.begin), own.bytes);
        to_near(k, g, to, plus(source, own.begin), own.bytes);
        put_to(k, g, to, plus(source, own.begin), own.bytes, k.me);
        GSHMEM_NO_UNROLL
        for (int i = 1; piece > 0 && i < t.n_nodes; i++) {
            const int node = node_after(t, i), n = node_size(t, node);
            GSHMEM_NO_UNROLL
            for (int its = t.my_near; its < n; its += t.n_near) { /* whose partner this PE is */
                const int member = member_of(t, node, its);
                const gsh_range part = piece_of(k, bytes_of(member), piece - 1);
                uint8_t *const there = plus(dest, begin_of(member) + part.begin);
                to_near(k, g, there, there, part.bytes);
            }
        }
        far_barrier(k, g);
    }
}

template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void fcollect_far(coll_call<C> k, G g, uint8_t *dest,
                                                const uint8_t *source, uint64_t bytes,
                                                uint64_t begin)
{
    far_barrier(k, g); /* every dest may be written */
    GSHMEM_NO_UNROLL
    for (int i = 0; i < k.n; i++)
        put_to(k, g, plus(dest, begin), source, bytes, k.after(i));
    far_barrier(k, g);
}

template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void alltoall_far(coll_call<C> k, G g, uint8_t *dest,
                                                const uint8_t *source, uint64_t bytes)
{
    far_barrier(k, g);
    GSHMEM_NO_UNROLL
    for (int i = 0; i < k.n; i++) {
        const int member = k.after(i);
        put_to(k, g, plus(dest, (uint64_t)k.me * bytes), plus(source, (uint64_t)member * bytes),
               bytes, member);
    }
    far_barrier(k, g);
}

template <class C, class G, class T>
__device__ GSHMEM_OUT_OF_LINE void alltoalls_far(coll_call<C> k, G g, T *dest, const T *source,
                                                 ptrdiff_t dst, ptrdiff_t sst, size_t nelems)
{
    far_barrier(k, g);
    GSHMEM_NO_UNROLL
    for (int i = 0; i < k.n; i++) {
        const int member = k.after(i);
        iput(k.c, g, dest + (ptrdiff_t)(k.me * nelems) * dst,
             source + (ptrdiff_t)(member * nelems) * sst, dst, sst, nelems, k.pe(member), k.name);
    }
    far_barrier(k, g);
}

/* The same for equal parts, node by node where that pays. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void fcollect_far_equal(coll_call<C> k, G g, uint8_t *dest,
                                                      const uint8_t *source, uint64_t bytes)
{
    if (goes_by_node(k, bytes))
        fcollect_by_node(
            k, g, dest, bytes, source, [=](int member) { return (uint64_t)member * bytes; },
            [=](int) { return bytes; });
    else
        fcollect_far(k, g, dest, source, bytes, (uint64_t)k.me * bytes);
}

/* Down a binomial tree of the nodes, in which that of number x, counted from the root's, hears from
 * the one that lacks x's highest bit; a leader, or on its node the root, gives its near members
 * what it has. A node with d bits is d pieces behind the root's. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void broadcast_far(coll_call<C> k, G g, uint8_t *dest,
                                                 const uint8_t *source, uint64_t bytes, int root)
{
    const gsh_team_state &t = *k.team;
    const int n = t.n_nodes;
    int root_node = 0;
    while (root_node < n - 1 && !has_member(t, root_node, root))
        root_node++;
    const int x = (t.my_node - root_node + n) % n;
    const bool speaks = x == 0 ? k.me == root : t.my_near == 0;
    uint64_t behind = 0, deepest = 0;
    int first = 1; /* the least power of two above x: what a child has more */
    for (int bits = x; bits != 0; bits &= bits - 1)
        behind++;
    while (first <= x)
        first *= 2;
    for (int reach = 1; reach < n; reach *= 2)
        deepest++;
    const uint64_t n_steps = n_pieces_of(k, bytes) + deepest;
    const uint8_t *from = k.me == root ? source : dest;
    far_barrier(k, g); /* every dest may be written */
    GSHMEM_NO_UNROLL
    for (uint64_t step = 0; step < n_steps; step++) {
        const gsh_range p =
            speaks && step >= behind ? piece_of(k, bytes, step - behind) : gsh_range{0, 0};
        GSHMEM_NO_UNROLL
        for (int further = first; x + further < n; further *= 2)
            put_to(k, g, plus(dest, p.begin), plus(from, p.begin), p.bytes,
                   member_of(t, (t.my_node + further) % n, 0));
        to_near(k, g, plus(dest, p.begin), plus(from, p.begin), p.bytes);
        far_barrier(k, g);
    }
    if (k.me == root)
        put_to(k, g, dest, source, bytes, root);
    g.sync();
}

/* ---- by way of the work area -------------------------------------------------------------------
 */

/* Bytes of a slot of the call's lane, of which each half has one for each member. */
template <class C> __device__ __forceinline__ uint64_t work_slot_bytes(const coll_call<C> &k)
{
    return k.lane == 0 ? k.team->work_wide_slot_bytes : k.team->work_slot_bytes;
}

/* This PE's half for the coming barrier, or for the one that was n_ago barriers ago; a slot for
 * each member, or of as many bytes as are given. */
template <class C> struct work {
    uint8_t *half;
    uint64_t slot_bytes;

    __device__ __forceinline__ explicit work(const coll_call<C> &k, uint64_t n_ago = 0,
                                             uint64_t bytes = 0)
    {
        const gsh_team_state &t = *k.team;
        const uint64_t n = (uint64_t)k.n, half_bytes = work_slot_bytes(k) * n;
        slot_bytes = bytes != 0 ? bytes : work_slot_bytes(k);
        half =
            reinterpret_cast<uint8_t *>(state_of(k.c).base) + t.work_off +
            (k.lane == 0
                 ? 0
                 : 2 * n * (t.work_wide_slot_bytes + (uint64_t)(k.lane - 1) * t.work_slot_bytes)) +
            ((load_plain(&k.area()->epoch) - n_ago) & 1) * half_bytes;
    }
    __device__ __forceinline__ uint8_t *slot(int i) const
    {
        return plus(half, (uint64_t)i * slot_bytes);
    }
};

/* Where this PE's part begins, when every member has told its bytes. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE uint64_t exchange_counts_far(coll_call<C> k, G g, uint64_t bytes)
{
    const work<C> w(k);
    uint64_t before = 0;
    g.sync();
    GSHMEM_NO_UNROLL
    for (int i = (int)g.rank(); i < k.n; i += (int)g.size()) {
        word_to(k, reinterpret_cast<uint64_t *>(w.slot(k.me)), bytes, k.after(i));
    }
    far_barrier(k, g);
    GSHMEM_NO_UNROLL
    for (int m = 0; m < k.me; m++)
        before += load_relaxed(reinterpret_cast<const uint64_t *>(w.slot(m)));
    return before;
}

/* Part m of n bytes, of which each but the last has `each`. */
__device__ __forceinline__ uint64_t part_bytes(uint64_t n, uint64_t each, int m)
{
    const uint64_t begin = each * (uint64_t)m;
    return begin >= n ? 0 : n - begin < each ? n - begin : each;
}

/* Member m gets, in this PE's slot there, part m of what this PE has: n bytes in parts of `each`,
 * or, where each is 0, all n bytes from source + m * apart. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void scatter_far(coll_call<C> k, G g, const uint8_t *source,
                                               uint64_t n, uint64_t each, uint64_t apart)
{
    uint8_t *const slot = work<C>(k).slot(k.me);
    g.sync(); /* all threads have read the epoch */
    GSHMEM_NO_UNROLL
    for (int i = 0; i < k.n; i++) {
        const int member = k.after(i);
        put_to(k, g, slot, plus(source, (uint64_t)member * apart),
               each == 0 ? n : part_bytes(n, each, member), member);
    }
    far_barrier(k, g);
}

/* This PE's part to the same place on all others. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void spread_far(coll_call<C> k, G g, uint8_t *part, uint64_t bytes)
{
    GSHMEM_NO_UNROLL
    for (int i = 1; i < k.n; i++)
        put_to(k, g, part, part, bytes, k.after(i));
    far_barrier(k, g);
}

/* dest[i], for n elements, from the slots [0, end), after scatter_far or rails_far. */
template <class Op, class T, class C, class G>
__device__ __forceinline__ void add_slots(const coll_call<C> &k, G g, T *dest, uint64_t n, int end,
                                          uint64_t slot_bytes = 0)
{
    typedef accumulator<T> A;
    typedef tail_word<T> V;
    const work<C> w(k, 1, slot_bytes);
    GSHMEM_NO_UNROLL
    for (uint64_t e = g.rank(); e < n; e += g.size()) {
        auto element = [&](int m) {
            return A::open(bit_cast<T>(load_fresh(reinterpret_cast<const V *>(w.slot(m)) + e)));
        };
        typename A::type sum = {};
        if (end > 0)
            sum = element(0);
        GSHMEM_NO_UNROLL
        for (int m = 1; m < end; m++)
            sum = Op::of(sum, element(m));
        store_element(reinterpret_cast<V *>(dest) + e, bit_cast<V>(A::close(sum)));
    }
}

/* dest[i], for nelems elements, is the reduction over the members [0, end) of what each has at
 * source + i, or, for a reducescatter, one part further for each member. */
template <class Op, class T, class C, class G>
__device__ GSHMEM_OUT_OF_LINE void add_up_far(coll_call<C> k, G g, T *dest, const T *source,
                                              uint64_t nelems, int end, bool is_scattered)
{
    const uint64_t most = work_slot_bytes(k) / sizeof(T);
    const uint64_t apart = is_scattered ? nelems * sizeof(T) : 0;
    GSHMEM_NO_UNROLL
    for (uint64_t done = 0; done < nelems; done += most) {
        const uint64_t n = nelems - done < most ? nelems - done : most;
        scatter_far(k, g, reinterpret_cast<const uint8_t *>(source + done), n * sizeof(T), 0,
                    apart);
        add_slots<Op>(k, g, dest + done, n, end);
        g.sync();
    }
}

/* ---- reduces ---- */

template <class C>
__device__ __forceinline__ gsh_rails rails_of(const coll_call<C> &k, uint64_t bytes)
{
    return gsh_rails_of(bytes, (uint32_t)k.team->n_rails, (uint32_t)k.team->n_nodes,
                        work_slot_bytes(k) * (uint64_t)k.n, state_of(k.c).far_piece);
}

/* Piece t, which the near members have added up in dest, goes to the partners' slots, a share to
 * each; of the piece before it what this PE has added up goes to the partners' dest; the one before
 * that, which is complete here, to the near members. A barrier. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void rails_far(coll_call<C> k, G g, uint8_t *dest, uint64_t bytes,
                                             uint64_t t)
{
    const gsh_team_state &team = *k.team;
    const gsh_rails r = rails_of(k, bytes);
    const uint32_t rail = (uint32_t)team.my_near;
    const gsh_range segment = gsh_rail_segment(&r, t, rail);
    uint8_t *const slot = work<C>(k, 0, r.slot_bytes).slot(team.my_node);
    g.sync(); /* all threads have read the epoch */
    if (t > 0) {
        const gsh_range own =
            gsh_rail_share(&r, gsh_rail_segment(&r, t - 1, rail), (uint32_t)team.my_node);
        to_partners(k, g, plus(dest, own.begin), plus(dest, own.begin), own.bytes);
    }
    GSHMEM_NO_UNROLL
    for (int i = 0; segment.bytes > 0 && i < team.n_nodes; i++) {
        const int node = node_after(team, i);
        const gsh_range share = gsh_rail_share(&r, segment, (uint32_t)node);
        put_to(k, g, slot, plus(dest, share.begin), share.bytes,
               member_of(team, node, team.my_near));
    }
    if (t > 1) {
        const gsh_range whole = gsh_rail_segment(&r, t - 2, rail);
        to_near(k, g, plus(dest, whole.begin), plus(dest, whole.begin), whole.bytes);
    }
    far_barrier(k, g);
}

/* dest[i], for n elements, is the reduction of the near members' source[i], in the order of the
 * team. */
template <class Op, class T, class C, class G>
__device__ __forceinline__ void add_near(const coll_call<C> &k, G g, T *dest, const T *source,
                                         uint64_t n)
{
    const gsh_team_state &t = *k.team;
    add_up_all<Op>(k, g, dest, source, n, 0, t.n_near, false,
                   [&t](int i) { return reinterpret_cast<const int32_t *>(t.near)[i]; });
}

template <class Op, class T, class C, class G>
__device__ GSHMEM_OUT_OF_LINE void reduce_by_node(coll_call<C> k, G g, T *dest, const T *source,
                                                  uint64_t nelems)
{
    const gsh_rails r = rails_of(k, nelems * sizeof(T));
    const uint32_t rail = (uint32_t)k.team->my_near;
    far_barrier(k, g); /* every source may be read */
    GSHMEM_NO_UNROLL
    for (uint64_t t = 0; t < r.n_pieces + 2; t++) {
        const gsh_range segment = gsh_rail_segment(&r, t, rail);
        if (t > 0) {
            const gsh_range own =
                gsh_rail_share(&r, gsh_rail_segment(&r, t - 1, rail), (uint32_t)k.team->my_node);
            add_slots<Op>(k, g, plus(dest, own.begin), own.bytes / sizeof(T), (int)r.n_nodes,
                          r.slot_bytes);
        }
        add_near<Op>(k, g, plus(dest, segment.begin), plus(source, segment.begin),
                     segment.bytes / sizeof(T));
        g.sync();
        rails_far(k, g, reinterpret_cast<uint8_t *>(dest), nelems * sizeof(T), t);
    }
}

/* What does not fit into one slot of few bytes: each member adds up a part of each piece, and gives
 * it to all others. */
template <class Op, class T, class C, class G>
__device__ GSHMEM_OUT_OF_LINE void reduce_far(coll_call<C> k, G g, T *dest, const T *source,
                                              uint64_t nelems)
{
    const uint64_t slot = work_slot_bytes(k) / sizeof(T), most = slot * (uint64_t)k.n;
    if (goes_by_node(k, nelems * sizeof(T))) {
        reduce_by_node<Op>(k, g, dest, source, nelems);
        return;
    }
    if (nelems <= slot && nelems * sizeof(T) <= GSH_COLL_FAR_ONE_SHOT) {
        add_up_far<Op>(k, g, dest, source, nelems, k.n, false);
        return;
    }
    GSHMEM_NO_UNROLL
    for (uint64_t done = 0; done < nelems; done += most) {
        const uint64_t n = nelems - done < most ? nelems - done : most;
        const uint64_t each = (n + (uint64_t)k.n - 1) / (uint64_t)k.n;
        const uint64_t own = part_bytes(n, each, k.me);
        T *const mine = dest + done + each * (uint64_t)k.me;
        scatter_far(k, g, reinterpret_cast<const uint8_t *>(source + done), n * sizeof(T),
                    each * sizeof(T), each * sizeof(T));
        add_slots<Op>(k, g, mine, own, k.n);
        g.sync();
        spread_far(k, g, reinterpret_cast<uint8_t *>(mine), own * sizeof(T));
    }
}

} // namespace detail
} // namespace gshmem

#endif
