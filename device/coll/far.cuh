/* SPDX-License-Identifier: Apache-2.0
 * Collectives over several nodes, by one block. A few bytes go by way of the nodes' leaders
 * (far_leaders.cuh), many go straight from each member to its partners: the members on the other
 * nodes with its own number, modulo the node's size. What one node gives another crosses the
 * network once, in pieces; the members of a node exchange one piece while another is on its way.
 *
 * A call of the second kind begins when all members have arrived. It ends when the near members
 * have met and the sources may be reused; each member has heard from the far ones all that concerns
 * it. Its far steps take the numbers after those already done; end_far counts them. */
#ifndef GSHMEM_COLL_FAR_CUH
#define GSHMEM_COLL_FAR_CUH

#include "element.cuh"
#include "far_leaders.cuh"
#include "far_step.cuh"
#include "reduce.cuh"
#include "../rma.cuh"
#include "../sync.cuh"
#include "../../wire/coll.h"

namespace gshmem
{
namespace detail
{

/* reads_source: puts of this call may still be reading what the caller may change afterwards. */
template <class Context, class Group>
__device__ GSHMEM_OUT_OF_LINE void end_far(const coll_call<Context> &k, Group g, uint64_t n_steps,
                                           bool reads_source)
{
    keep(g, n_steps, reads_source);
    const steps s = steps_of(k);
    if (reads_source && g.rank() == 0)
        far_done(k.c, k.name);
    meet_near(k, g, s.near + 1);
    set_steps(k, g, {s.far + n_steps, s.near + 1});
}

/* Piece t of that many bytes, in pieces of far_piece; empty if there is no such piece. */
template <class Context>
__device__ __forceinline__ gsh_range piece_of(const coll_call<Context> &k, uint64_t bytes,
                                              uint64_t t)
{
    const uint64_t each = state_of(k.c).far_piece, begin = t * each;
    if (begin >= bytes)
        return {0, 0};
    return {begin, bytes - begin < each ? bytes - begin : each};
}

template <class Context>
__device__ __forceinline__ uint64_t n_pieces_of(const coll_call<Context> &k, uint64_t bytes)
{
    return (bytes + state_of(k.c).far_piece - 1) / state_of(k.c).far_piece;
}

/* The half in which piece t of a call waits to be added up. */
template <class Context>
__device__ __forceinline__ uint8_t *half_of_piece(const coll_call<Context> &k, uint64_t t)
{
    return half_of(k, steps_of(k).far + 1 + t);
}

/* ---- partners ---- */

/* The members, by number, of a node with `size` members that this PE tells and hears in each step.
 * If the node has one with this PE's own number: that one, and all others whose partner this PE is.
 * Otherwise this PE's partner alone. So telling goes both ways, as the words' invariants demand. */
__device__ __forceinline__ int first_partner(const gsh_team_state &t, int size)
{
    return t.my_near % size;
}
__device__ __forceinline__ int next_partner(const gsh_team_state &t, int size, int partner)
{
    return t.my_near < size ? partner + t.n_near : size;
}

template <class Context, class Group>
__device__ GSHMEM_OUT_OF_LINE void hear_partners(const coll_call<Context> &k, Group g,
                                                 uint64_t step)
{
    keep(g, step);
    for (int i = (int)g.rank() + 1; i < k.team->n_nodes; i += (int)g.size()) {
        const int node = node_after(*k.team, i), size = node_size(*k.team, node);
        for (int its = first_partner(*k.team, size); its < size;
             its = next_partner(*k.team, size, its))
            hear_far(k, step, member_of(*k.team, node, its));
    }
    g.sync();
}

/* Sends the same bytes to the same place on this PE's partner on each other node. */
template <class Context, class Group>
__device__ GSHMEM_OUT_OF_LINE void tell_partners(const coll_call<Context> &k, Group g,
                                                 uint8_t *dest, const uint8_t *source,
                                                 uint64_t bytes, uint64_t step)
{
    keep(g, dest, source, bytes, step);
    GSHMEM_NO_UNROLL
    for (int i = 1; i < k.team->n_nodes; i++) {
        const int node = node_after(*k.team, i), size = node_size(*k.team, node),
                  own = first_partner(*k.team, size);
        GSHMEM_NO_UNROLL
        for (int its = own; its < size; its = next_partner(*k.team, size, its))
            tell_far(k, g, dest, source, its == own ? bytes : 0, step,
                     member_of(*k.team, node, its));
    }
}

/* ---- fcollect and collect ---- */

/* begin_of(member) and bytes_of(member): the place of its part in dest. The call's other steps, as
 * many as given, are added to those of the pieces. */
template <class Context, class Group, class Begin, class Bytes>
__device__ __forceinline__ void
fcollect_by_node(const coll_call<Context> &k, Group g, uint8_t *dest, uint64_t n_pieces,
                 uint64_t n_steps, const uint8_t *source, Begin begin_of, Bytes bytes_of)
{
    const gsh_team_state &t = *k.team;
    const uint64_t first = steps_of(k).far + 1;
    GSHMEM_NO_UNROLL
    for (uint64_t piece = 0; piece <= n_pieces; piece++) {
        if (piece < n_pieces) {
            const gsh_range own = piece_of(k, bytes_of(k.me), piece);
            uint8_t *const to = plus(dest, begin_of(k.me) + own.begin);
            const uint8_t *const from = plus(source, own.begin);
            tell_partners(k, g, to, from, own.bytes, first + piece);
            to_near(k, g, to, from, own.bytes);
            copy_to(k, g, to, from, own.bytes, k.me);
        }
        if (piece == 0)
            continue;
        hear_partners(k, g, first + piece - 1);
        GSHMEM_NO_UNROLL
        for (int i = 1; t.n_near > 1 && i < t.n_nodes; i++) {
            const int node = node_after(t, i), n = node_size(t, node);
            GSHMEM_NO_UNROLL
            for (int its = t.my_near; its < n; its += t.n_near) { /* whose partner this PE is */
                const int member = member_of(t, node, its);
                const gsh_range part = piece_of(k, bytes_of(member), piece - 1);
                uint8_t *const there = plus(dest, begin_of(member) + part.begin);
                to_near(k, g, there, there, part.bytes);
            }
        }
    }
    end_far(k, g, n_steps, true);
}

template <class Context, class Group>
__device__ GSHMEM_OUT_OF_LINE void fcollect_far(const coll_call<Context> &k, Group g, uint8_t *dest,
                                                const uint8_t *source, uint64_t bytes)
{
    keep(g, dest, source, bytes);
    if (goes_by_leaders(k, (uint64_t)k.n * bytes)) {
        take_blocks(k, g, dest, gather_far(k, g, source, bytes, bytes), bytes, 0, bytes);
        return;
    }
    all_have_come(k, g);
    const uint64_t n_pieces = n_pieces_of(k, bytes);
    fcollect_by_node(
        k, g, dest, n_pieces, n_pieces, source,
        [=](int member) { return (uint64_t)member * bytes; }, [=](int) { return bytes; });
}

/* The byte counts of the members, each at the beginning of a member's block. */
struct counts {
    const gsh_team_state *team;
    const uint8_t *half;
    uint64_t block;

    __device__ __forceinline__ uint64_t at_place(int place) const
    {
        return load_relaxed(
            reinterpret_cast<const uint64_t *>(plus(half, place_after(*team, place) * block)));
    }
    __device__ inline uint64_t of(int member) const
    {
        const int32_t *members = members_by_node(*team);
        int place = 0;
        while (members[place] != member)
            place++;
        return at_place(place);
    }
    __device__ inline uint64_t before(int member) const
    {
        const int32_t *members = members_by_node(*team);
        uint64_t sum = 0;
        for (int place = 0; place < team->n_pes; place++)
            sum += members[place] < member ? at_place(place) : 0;
        return sum;
    }
    __device__ inline uint64_t most() const
    {
        uint64_t m = 0;
        for (int place = 0; place < team->n_pes; place++)
            m = at_place(place) > m ? at_place(place) : m;
        return m;
    }
};

/* First the counts. If many bytes follow, the counts are read until the end. They lie in the half
 * of one step, so an even number of steps follows, and the next call's first step uses the other
 * half. If few follow, each block has its count at its beginning. */
template <class Context, class Group>
__device__ GSHMEM_OUT_OF_LINE void collect_far(const coll_call<Context> &k, Group g, uint8_t *dest,
                                               const uint8_t *source, uint64_t bytes)
{
    keep(g, dest, source, bytes);
    const counts all = {k.team, gather_words_far(k, g, bytes, 0), 16};
    const uint64_t most = all.most(), block = 16 + gsh_coll_block_bytes(most);
    if (!goes_by_leaders(k, (uint64_t)k.n * block)) {
        const uint64_t n_pieces = n_pieces_of(k, most);
        fcollect_by_node(
            k, g, dest, n_pieces, n_pieces + n_pieces % 2, source,
            [=](int member) { return all.before(member); },
            [=](int member) { return all.of(member); });
        return;
    }
    uint8_t *const own = plus(next_half(k), (uint64_t)k.team->my_near * block);
    if (g.rank() == 0)
        store_plain(reinterpret_cast<uint64_t *>(k.at(own, near_member(*k.team, 0))), bytes);
    copy_to(k, g, plus(own, 16), source, bytes, near_member(*k.team, 0));
    come_to_leader(k, g, steps_of(k).near + 1);
    const counts with = {k.team, exchange_blocks(k, g, block, true), block};
    GSHMEM_NO_UNROLL
    for (int place = 0; place < k.n; place++)
        copy<direction::get, false, Group>(
            {g.rank(), g.size()}, plus(dest, with.before(members_by_node(*k.team)[place])),
            plus(with.half, place_after(*k.team, place) * block + 16), with.at_place(place));
    g.sync();
}

/* ---- alltoall and alltoalls ---- */

template <class Context, class Group>
__device__ GSHMEM_OUT_OF_LINE void alltoall_far(const coll_call<Context> &k, Group g, uint8_t *dest,
                                                const uint8_t *source, uint64_t bytes)
{
    keep(g, dest, source, bytes);
    const uint64_t n = (uint64_t)k.n;
    /* what crosses is then n_near times the minimum */
    if (goes_by_leaders(k, n * n * bytes * 4)) {
        take_blocks(k, g, dest, gather_far(k, g, source, n * bytes, n * bytes), n * bytes,
                    (uint64_t)k.me * bytes, bytes);
        return;
    }
    all_have_come(k, g);
    const uint64_t step = steps_of(k).far + 1;
    uint8_t *const to = plus(dest, (uint64_t)k.me * bytes);
    GSHMEM_NO_UNROLL
    for (int i = 1; i < k.team->n_nodes; i++) {
        const int node = node_after(*k.team, i), size = node_size(*k.team, node);
        GSHMEM_NO_UNROLL
        for (int j = 0; j < size;
             j++) { /* staggered, so that this node's members do not all target the same one */
            const int member = member_of(*k.team, node, (k.team->my_near + j) % size);
            tell_far(k, g, to, plus(source, (uint64_t)member * bytes), bytes, step, member);
        }
    }
    GSHMEM_NO_UNROLL
    for (int i = 0; i < k.team->n_near; i++) {
        const int member = near_member(*k.team, (k.team->my_near + i) % k.team->n_near);
        copy_to(k, g, to, plus(source, (uint64_t)member * bytes), bytes, member);
    }
    for (int i = (int)g.rank(); i < k.n - k.team->n_near; i += (int)g.size()) {
        const int place = i < k.team->near_begin ? i : i + k.team->n_near;
        hear_far(k, step, members_by_node(*k.team)[place]);
    }
    end_far(k, g, 1, true);
}

/* One request for each member: no strided request brings a signal along. */
template <class Context, class Group, class Type>
__device__ GSHMEM_OUT_OF_LINE void alltoalls_far(const coll_call<Context> &k, Group g, Type *dest,
                                                 const Type *source, ptrdiff_t dst, ptrdiff_t sst,
                                                 size_t nelems)
{
    keep(g, dest, source, dst, sst, nelems);
    sync_team<true>(k.c, g, k.team, k.lane, k.name);
    GSHMEM_NO_UNROLL
    for (int i = 0; i < k.n; i++) {
        const int member = k.after(i);
        iput(k.c, g, dest + (ptrdiff_t)(k.me * nelems) * dst,
             source + (ptrdiff_t)(member * nelems) * sst, dst, sst, nelems, k.pe(member), k.name);
    }
    sync_team<true>(k.c, g, k.team, k.lane, k.name);
}

/* ---- broadcast ---- */

/* How many pieces a node may be behind its parent: answers go into the words of that many steps,
 * plus those of the step before. */
constexpr uint64_t broadcast_ahead = GSH_SYNC_WORDS - 1;

/* Down a binomial tree of the nodes: node x, counted from the root's, hears from the one whose
 * number is x without its highest bit. A leader, or on its node the root, gives its near members
 * what it has, and answers for each piece. */
template <class Context, class Group>
__device__ GSHMEM_OUT_OF_LINE void broadcast_pieces(const coll_call<Context> &k, Group g,
                                                    uint8_t *dest, const uint8_t *from,
                                                    uint64_t bytes, int root, int root_node)
{
    keep(g, dest, from, bytes, root, root_node);
    const int n = k.team->n_nodes, x = (k.team->my_node - root_node + n) % n;
    const uint64_t n_pieces = n_pieces_of(k, bytes), first = steps_of(k).far + 1;
    int more = 1; /* the smallest power of two above x: the distance to a child */
    while (more <= x)
        more *= 2;
    const int above = x - more / 2;
    const int parent = above == 0 ? root : member_of(*k.team, (above + root_node) % n, 0);
    auto child = [&](int further) {
        return member_of(*k.team, (k.team->my_node + further) % n, 0);
    };
    auto hear_children = [&](uint64_t step) {
        for (int further = more; g.rank() == 0 && x + further < n; further *= 2)
            hear_far(k, step, child(further));
        g.sync();
    };
    GSHMEM_NO_UNROLL
    for (uint64_t piece = 0; piece < n_pieces; piece++) {
        const gsh_range p = piece_of(k, bytes, piece);
        if (x != 0) {
            if (g.rank() == 0)
                hear_far(k, first + piece, parent);
            g.sync();
            tell_far(k, g, dest, dest, 0, first + piece, parent);
        }
        if (piece >= broadcast_ahead)
            hear_children(first + piece - broadcast_ahead);
        GSHMEM_NO_UNROLL
        for (int further = more; x + further < n; further *= 2)
            tell_far(k, g, plus(dest, p.begin), plus(from, p.begin), p.bytes, first + piece,
                     child(further));
        to_near(k, g, plus(dest, p.begin), plus(from, p.begin), p.bytes);
    }
    GSHMEM_NO_UNROLL
    for (uint64_t piece = n_pieces < broadcast_ahead ? 0 : n_pieces - broadcast_ahead;
         piece < n_pieces; piece++)
        hear_children(first + piece);
}

template <class Context, class Group>
__device__ GSHMEM_OUT_OF_LINE void broadcast_far(const coll_call<Context> &k, Group g,
                                                 uint8_t *dest, const uint8_t *source,
                                                 uint64_t bytes, int root)
{
    keep(g, dest, source, bytes, root);
    if (goes_by_leaders(k, bytes)) {
        broadcast_by_leaders(k, g, dest, source, bytes, root);
        return;
    }
    int root_node = 0;
    while (root_node < k.team->n_nodes - 1 && !has_member(*k.team, root_node, root))
        root_node++;
    all_have_come(k, g);
    if (k.team->my_node == root_node ? k.me == root : k.team->my_near == 0)
        broadcast_pieces(k, g, dest, k.me == root ? source : dest, bytes, root, root_node);
    if (k.me == root)
        copy_to(k, g, dest, source, bytes, root);
    end_far(k, g, n_pieces_of(k, bytes), false);
}

/* ---- reduce ---- */

/* Adds up `bytes` of piece t from the nodes' slots, slot_bytes apart, into dest. */
template <class Context, class Group, class How>
__device__ GSHMEM_OUT_OF_LINE void add_slots(const coll_call<Context> &k, Group g, uint8_t *dest,
                                             uint64_t bytes, uint64_t t, uint64_t slot_bytes,
                                             How how)
{
    keep(g, dest, bytes, t, slot_bytes);
    const int n = k.team->n_nodes;
    const terms s = {dest,       bytes, nullptr, half_of_piece(k, t),
                     slot_bytes, n,     n,       block_order::as_they_lie,
                     false,      false};
    how.add(k, place_of(g), s);
    join_blocks(k.c, g, k.area(), k.name);
}

template <class Context>
__device__ __forceinline__ gsh_rails rails_of(const coll_call<Context> &k, uint64_t bytes)
{
    return gsh_rails_of(bytes, (uint32_t)k.team->n_rails, (uint32_t)k.team->n_nodes,
                        half_bytes_of(k), state_of(k.c).far_piece);
}

/* Piece t has two steps: its shares go to the members that add them up, and the sums come back,
 * alongside the shares of the next piece. */
__device__ __forceinline__ uint64_t rail_step(steps s, uint64_t t, bool is_back)
{
    return s.far + 1 + 2 * t + (is_back ? 1 : 0);
}
__device__ __forceinline__ uint64_t n_rail_steps(const gsh_rails &r)
{
    return 2 * (r.n_pieces + 1);
}

/* Sends to the other nodes the shares of this rail's segment of piece t, into their slots for this
 * node, and the sum of this node's share of the piece before. */
template <class Context, class Group>
__device__ GSHMEM_OUT_OF_LINE void send_rails(const coll_call<Context> &k, Group g, uint8_t *dest,
                                              uint64_t bytes, uint64_t t)
{
    keep(g, dest, bytes, t);
    const gsh_rails r = rails_of(k, bytes);
    const steps s = steps_of(k);
    const uint32_t rail = (uint32_t)k.team->my_near;
    if (rail >= r.n_rails)
        return;
    const gsh_range segment = gsh_rail_segment(&r, t, rail);
    uint8_t *const slot = plus(half_of_piece(k, t), (uint64_t)k.team->my_node * r.slot_bytes);
    const gsh_range own =
        t == 0 ? gsh_range{0, 0}
               : gsh_rail_share(&r, gsh_rail_segment(&r, t - 1, rail), (uint32_t)k.team->my_node);
    g.sync();
    GSHMEM_NO_UNROLL
    for (int i = 1; i < k.team->n_nodes; i++) {
        const int node = node_after(*k.team, i), member = member_of(*k.team, node, k.team->my_near);
        if (t > 0 && t <= r.n_pieces)
            tell_far(k, g, plus(dest, own.begin), plus(dest, own.begin), own.bytes,
                     rail_step(s, t - 1, true), member);
        const gsh_range share = gsh_rail_share(&r, segment, (uint32_t)node);
        if (t < r.n_pieces)
            tell_far(k, g, slot, plus(dest, share.begin), share.bytes, rail_step(s, t, false),
                     member);
    }
    if (t < r.n_pieces) {
        const gsh_range share = gsh_rail_share(&r, segment, (uint32_t)k.team->my_node);
        copy_to(k, g, slot, plus(dest, share.begin), share.bytes, k.me);
    }
}

/* Waits for what was sent at the same time; meanwhile near members get what came before it. */
template <class Context, class Group>
__device__ GSHMEM_OUT_OF_LINE void hear_rails(const coll_call<Context> &k, Group g, uint8_t *dest,
                                              uint64_t bytes, uint64_t t)
{
    keep(g, dest, bytes, t);
    const gsh_rails r = rails_of(k, bytes);
    const steps s = steps_of(k);
    const uint32_t rail = (uint32_t)k.team->my_near;
    if (rail >= r.n_rails)
        return;
    if (t > 1) {
        const gsh_range whole = gsh_rail_segment(&r, t - 2, rail);
        to_near(k, g, plus(dest, whole.begin), plus(dest, whole.begin), whole.bytes);
    }
    for (int i = (int)g.rank() + 1; i < k.team->n_nodes; i += (int)g.size()) {
        const int member = member_of(*k.team, node_after(*k.team, i), k.team->my_near);
        if (t < r.n_pieces)
            hear_far(k, rail_step(s, t, false), member);
        if (t > 0 && t <= r.n_pieces)
            hear_far(k, rail_step(s, t - 1, true), member);
    }
    g.sync();
}

template <class Context, class Group, class How>
__device__ GSHMEM_OUT_OF_LINE void reduce_by_node(const coll_call<Context> &k, Group g,
                                                  uint8_t *dest, const uint8_t *source,
                                                  uint64_t bytes, How how)
{
    keep(g, dest, source, bytes);
    const gsh_rails r = rails_of(k, bytes);
    const uint32_t rail = (uint32_t)k.team->my_near;
    all_have_come(k, g);
    GSHMEM_NO_UNROLL
    for (uint64_t t = 0; t < r.n_pieces + 3; t++) {
        /* First this piece's segment, then this node's share of the piece before. */
        if (t > 0)
            send_rails(k, g, dest, bytes, t - 1);
        const gsh_range segment = gsh_rail_segment(&r, t, rail);
        add_near(k, g, plus(dest, segment.begin), plus(source, segment.begin), segment.bytes, how);
        if (t == 0)
            continue;
        hear_rails(k, g, dest, bytes, t - 1);
        const gsh_range own =
            gsh_rail_share(&r, gsh_rail_segment(&r, t - 1, rail), (uint32_t)k.team->my_node);
        add_slots(k, g, plus(dest, own.begin), own.bytes, t - 1, r.slot_bytes, how);
    }
    end_far(k, g, n_rail_steps(r), true);
}

template <class Context, class Group, class How>
__device__ GSHMEM_OUT_OF_LINE void reduce_far(const coll_call<Context> &k, Group g, uint8_t *dest,
                                              const uint8_t *source, uint64_t bytes, How how)
{
    keep(g, dest, source, bytes);
    const uint64_t block = gsh_coll_block_bytes(bytes);
    if (!goes_by_leaders(k, (uint64_t)k.team->n_nodes * block)) {
        reduce_by_node(k, g, dest, source, bytes, how);
        return;
    }
    add_node(k, g, source, bytes, how);
    (void)exchange_blocks(k, g, block, false);
    add_blocks(k, g, dest, bytes, block, 0, how);
}

/* ---- reducescatter ---- */

/* On every node, one member adds up each member's part of a piece: the one whose number is that
 * member's, modulo the node's size. The sum goes to that member, into its slot for that node.
 * Behind these slots a half has slots in which such sums wait to be sent. */
template <class Context>
__device__ __forceinline__ uint64_t part_slot_bytes(const coll_call<Context> &k)
{
    return gsh_part_slot_bytes(k.team, half_bytes_of(k), state_of(k.c).far_piece);
}

/* Calls body(member, slot for the sum) for each part that this PE adds up: first its own, whose
 * slot is the one for its own node. */
template <class Context, class Body>
__device__ __forceinline__ void for_parts(const coll_call<Context> &k, uint64_t piece,
                                          uint64_t slot_bytes, Body body)
{
    const gsh_team_state &t = *k.team;
    uint8_t *const half = half_of_piece(k, piece);
    body(k.me, plus(half, (uint64_t)t.my_node * slot_bytes));
    uint64_t slot = (uint64_t)t.n_nodes;
    GSHMEM_NO_UNROLL
    for (int i = 1; i < t.n_nodes; i++) {
        const int node = node_after(t, i), size = node_size(t, node);
        GSHMEM_NO_UNROLL
        for (int its = t.my_near; its < size; its += t.n_near)
            body(member_of(t, node, its), plus(half, slot++ * slot_bytes));
    }
}

/* Piece t: `bytes` at `source`; `part` bytes separate one member's from the next's. */
template <class Context, class Group, class How>
__device__ GSHMEM_OUT_OF_LINE void add_parts(const coll_call<Context> &k, Group g,
                                             const uint8_t *source, uint64_t bytes, uint64_t part,
                                             uint64_t t, How how)
{
    keep(g, source, bytes, part, t);
    for_parts(k, t, part_slot_bytes(k), [&](int member, uint8_t *slot) {
        add_near(k, g, slot, plus(source, (uint64_t)member * part), bytes, how);
    });
    join_blocks(k.c, g, k.area(), k.name);
}

/* Sends the sums, and waits until this PE's slots are filled. */
template <class Context, class Group>
__device__ GSHMEM_OUT_OF_LINE void exchange_parts(const coll_call<Context> &k, Group g,
                                                  uint64_t bytes, uint64_t t)
{
    keep(g, bytes, t);
    const uint64_t slot_bytes = part_slot_bytes(k), step = steps_of(k).far + 1 + t;
    uint8_t *const to = plus(half_of_piece(k, t), (uint64_t)k.team->my_node * slot_bytes);
    for_parts(k, t, slot_bytes, [&](int member, uint8_t *slot) {
        if (member != k.me)
            tell_far(k, g, to, slot, bytes, step, member);
    });
    GSHMEM_NO_UNROLL
    for (int i = 1; i < k.team->n_nodes; i++) { /* nodes none of whose parts are added up here */
        const int node = node_after(*k.team, i), size = node_size(*k.team, node);
        if (k.team->my_near >= size)
            tell_far(k, g, to, to, 0, step, member_of(*k.team, node, k.team->my_near % size));
    }
    hear_partners(k, g, step);
}

/* Pieces consist of whole elements: a slot's size is a multiple of GSH_COLL_ALIGN. */
template <class Context, class Group, class How>
__device__ GSHMEM_OUT_OF_LINE void reducescatter_far(const coll_call<Context> &k, Group g,
                                                     uint8_t *dest, const uint8_t *source,
                                                     uint64_t bytes, How how)
{
    keep(g, dest, source, bytes);
    const uint64_t block = gsh_coll_block_bytes((uint64_t)k.n * bytes);
    if (goes_by_leaders(k, (uint64_t)k.team->n_nodes * block)) {
        add_node(k, g, source, (uint64_t)k.n * bytes, how);
        (void)exchange_blocks(k, g, block, false);
        add_blocks(k, g, dest, bytes, block, (uint64_t)k.me * bytes, how);
        return;
    }
    const uint64_t most = part_slot_bytes(k);
    const uint64_t n_pieces = (bytes + most - 1) / most;
    all_have_come(k, g);
    GSHMEM_NO_UNROLL
    for (uint64_t t = 0; t < n_pieces; t++) {
        const uint64_t done = t * most, n = bytes - done < most ? bytes - done : most;
        add_parts(k, g, plus(source, done), n, bytes, t, how);
        exchange_parts(k, g, n, t);
        add_slots(k, g, plus(dest, done), n, t, most, how);
    }
    end_far(k, g, n_pieces, false);
}

} // namespace detail
} // namespace gshmem

#endif
