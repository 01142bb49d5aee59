/* SPDX-License-Identifier: Apache-2.0
 * Collectives over several nodes. Small calls go by way of the nodes' leaders (far_leaders.cuh). In
 * large calls data go straight from each member to its partners: the members on the other nodes
 * with its own number, modulo the node's size. Data cross from one node to another once, in pieces;
 * the members of a node exchange one piece while another crosses. schedule.h says who sends what to
 * whom in which phase. This file walks the phases, and has the work that members do between
 * messages.
 *
 * A large call begins when all members have arrived. Before it ends, each member has received all
 * signals that far members send it, the near members have synchronised, and the sources may be
 * reused. Its far steps take the numbers after those already done; end_far counts them.
 *
 * Collectives that only move data run in one block. In those that compute, g may be several blocks.
 * All of them add up and pass on; only the first sends messages and awaits signals; they join in
 * between. */
#ifndef GSHMEM_COLL_FAR_CUH
#define GSHMEM_COLL_FAR_CUH

#include "element.cuh"
#include "far_leaders.cuh"
#include "far_step.cuh"
#include "reduce.cuh"
#include "schedule.h"
#include "../rma.cuh"
#include "../sync.cuh"
#include "../../wire/coll.h"

namespace gshmem
{
namespace detail
{

/* reads_source: puts of this call may still be reading the source, which the caller may change
 * after the call. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE void end_far(const coll_call<Context> &k, Group g, uint64_t n_steps,
                                        bool reads_source)
{
    spill(g, n_steps, reads_source);
    const steps s = steps_of(k);
    if (reads_source && g.rank() == 0)
        far_done(k.c, k.name);
    sync_near(k, g, s.near + 1);
    set_steps(k, g, {s.far + n_steps, s.near + 1});
}

/* ---- walking the schedule ---- */

/* The beginning of a buffer that a message names; first: the call's first far step. */
template <class Context>
__device__ __forceinline__ uint8_t *buffer_of(const coll_call<Context> &k, gsh_buffer buffer,
                                              uint64_t first, uint8_t *dest, const uint8_t *source)
{
    if (buffer == GSH_BUFFER_DEST)
        return dest;
    if (buffer == GSH_BUFFER_SOURCE)
        return const_cast<uint8_t *>(source);
    return half_of(k, first + (buffer == GSH_BUFFER_OTHER_HALF ? 1 : 0));
}

/* The half in which piece t of a call waits to be added up. */
template <class Context>
__device__ __forceinline__ uint8_t *half_of_piece(const coll_call<Context> &k, uint64_t t)
{
    return buffer_of(k, gsh_half_of_piece(t), steps_of(k).far + 1, nullptr, nullptr);
}

template <gsh_coll coll, class Context, class Group>
__device__ GSHMEM_NOINLINE void send_phase(const coll_call<Context> &k, Group g,
                                           const gsh_schedule &s, uint64_t phase, uint8_t *dest,
                                           const uint8_t *source)
{
    uint64_t first = steps_of(k).far + 1;
    gsh_cursor at = {0, 0, 0};
    gsh_coll_message m;
    spill(g, phase, dest, source, first, at);
    GSHMEM_NO_UNROLL
    while (gsh_next_message(coll, &s, phase, &at, &m))
        tell_far(k, g, buffer_of(k, m.to_buffer, first, dest, source) + m.to,
                 buffer_of(k, m.from_buffer, first, dest, source) + m.from, m.bytes, first + m.step,
                 m.member);
}

template <gsh_coll coll, class Context, class Group>
__device__ GSHMEM_NOINLINE void await_phase(const coll_call<Context> &k, Group g,
                                            const gsh_schedule &s, uint64_t phase)
{
    spill(g, phase);
    gsh_signal h;
    for (int row = (int)g.rank(); row < gsh_heard_rows(coll, k.team); row += (int)g.size())
        for (int i = 0; gsh_heard(coll, &s, phase, row, i, &h); i++)
            await_far_step(k, steps_of(k).far + 1 + h.step, h.member);
    g.sync();
}

/* ---- fcollect and collect ---- */

/* begin_of(member) and bytes_of(member): the position of its part in dest. The call takes n_steps.
 */
template <class Context, class Group, class Begin, class Bytes>
__device__ __forceinline__ void
collect_pieces(const coll_call<Context> &k, Group g, uint8_t *dest, const gsh_schedule &s,
               uint64_t n_steps, const uint8_t *source, Begin begin_of, Bytes bytes_of)
{
    const gsh_team_state &t = *k.team;
    GSHMEM_NO_UNROLL
    for (uint64_t phase = 0; phase < s.n_phases; phase++) {
        send_phase<GSH_COLL_FCOLLECT>(k, g, s, phase, dest, source);
        const gsh_range own = gsh_piece(&s, s.bytes, phase);
        uint8_t *const to = plus(dest, s.begin + own.begin);
        const uint8_t *const from = plus(source, own.begin);
        to_near(k, g, to, from, own.bytes);
        copy_to(k, g, to, from, own.bytes, k.me);
        await_phase<GSH_COLL_FCOLLECT>(k, g, s, phase);
        GSHMEM_NO_UNROLL
        for (int i = 1; phase > 0 && t.n_near > 1 && i < t.n_nodes; i++) {
            const int node = gsh_node_after(&t, i), n = gsh_node_size(&t, node);
            GSHMEM_NO_UNROLL
            for (int its = t.my_near; its < n; its += t.n_near) { /* whose partner this PE is */
                const int member = gsh_member_of(&t, node, its);
                const gsh_range part = gsh_piece(&s, bytes_of(member), phase - 1);
                uint8_t *const there = plus(dest, begin_of(member) + part.begin);
                to_near(k, g, there, there, part.bytes);
            }
        }
    }
    end_far(k, g, n_steps, true);
}

template <class Context, class Group>
__device__ GSHMEM_NOINLINE void fcollect_far(const coll_call<Context> &k, Group g, uint8_t *dest,
                                             const uint8_t *source, uint64_t bytes)
{
    spill(g, dest, source, bytes);
    if (goes_by_leaders(k, (uint64_t)k.n * bytes)) {
        take_blocks(k, g, dest, gather_far(k, g, source, bytes, bytes), bytes, 0, bytes);
        return;
    }
    all_have_come(k, g);
    gsh_schedule s = gsh_schedule_fcollect(k.team, bytes, state_of(k.c).far_piece);
    spill(s);
    collect_pieces(
        k, g, dest, s, s.n_steps, source, [=](int member) { return (uint64_t)member * bytes; },
        [=](int) { return bytes; });
}

/* The byte counts of the members, each at the beginning of a member's block. */
struct counts {
    const gsh_team_state *team;
    const uint8_t *half;
    uint64_t block;

    __device__ __forceinline__ uint64_t at_position(int position) const
    {
        return load_relaxed(reinterpret_cast<const uint64_t *>(
            plus(half, position_behind_leader(*team, position) * block)));
    }
    __device__ inline uint64_t of(int member) const
    {
        const int32_t *members = gsh_members_by_node(team);
        int position = 0;
        while (members[position] != member)
            position++;
        return at_position(position);
    }
    __device__ inline uint64_t before(int member) const
    {
        const int32_t *members = gsh_members_by_node(team);
        uint64_t sum = 0;
        for (int position = 0; position < team->n_pes; position++)
            sum += members[position] < member ? at_position(position) : 0;
        return sum;
    }
    __device__ inline uint64_t most() const
    {
        uint64_t m = 0;
        for (int position = 0; position < team->n_pes; position++)
            m = at_position(position) > m ? at_position(position) : m;
        return m;
    }
    __device__ inline uint64_t total() const
    {
        uint64_t sum = 0;
        for (int position = 0; position < team->n_pes; position++)
            sum += at_position(position);
        return sum;
    }
};

/* No count is above `limit`, and all parts of dest that they say lie in the heap. */
template <class Context>
__device__ inline void check_parts(const coll_call<Context> &k, const uint8_t *dest,
                                   const counts &all, uint64_t limit)
{
    const uint64_t total = all.most() <= limit ? all.total() : UINT64_MAX;
    if (total > 0)
        said_address(k.c, k.name, -1, address_in_heap(k.c, dest) - state_of(k.c).base, total);
}

/* The counts go first. If many bytes follow, the counts are read until the end of the call. They
 * lie in the half of one step, so an even number of steps follows, and the next call's first step
 * uses the other half. If few bytes follow, each block begins with its count. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE void collect_far(const coll_call<Context> &k, Group g, uint8_t *dest,
                                            const uint8_t *source, uint64_t bytes)
{
    spill(g, dest, source, bytes);
    const counts all = {k.team, gather_words_far(k, g, bytes, 0), 16};
    check_parts(k, dest, all, state_of(k.c).stride);
    const uint64_t most = all.most(), block = 16 + gsh_coll_block_bytes(most);
    if (!goes_by_leaders(k, (uint64_t)k.n * block)) {
        gsh_schedule s =
            gsh_schedule_collect(k.team, bytes, all.before(k.me), most, state_of(k.c).far_piece);
        spill(s);
        collect_pieces(
            k, g, dest, s, s.n_steps + s.n_steps % 2, source,
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
    check_parts(k, dest, with, most);
    GSHMEM_NO_UNROLL
    for (int position = 0; position < k.n; position++)
        copy<direction::get, false, Group>(
            {g.rank(), g.size()}, plus(dest, with.before(gsh_members_by_node(k.team)[position])),
            plus(with.half, position_behind_leader(*k.team, position) * block + 16),
            with.at_position(position));
    g.sync();
}

/* ---- alltoall and alltoalls ---- */

template <class Context, class Group>
__device__ GSHMEM_NOINLINE void alltoall_far(const coll_call<Context> &k, Group g, uint8_t *dest,
                                             const uint8_t *source, uint64_t bytes)
{
    spill(g, dest, source, bytes);
    const uint64_t n = (uint64_t)k.n;
    /* that way n_near times as many bytes cross as need to */
    if (goes_by_leaders(k, n * n * bytes * 4)) {
        take_blocks(k, g, dest, gather_far(k, g, source, n * bytes, n * bytes), n * bytes,
                    (uint64_t)k.me * bytes, bytes);
        return;
    }
    all_have_come(k, g);
    gsh_schedule s = gsh_schedule_alltoall(k.team, bytes);
    spill(s);
    send_phase<GSH_COLL_ALLTOALL>(k, g, s, 0, dest, source);
    uint8_t *const to = plus(dest, (uint64_t)k.me * bytes);
    GSHMEM_NO_UNROLL
    for (int i = 0; i < k.team->n_near; i++) {
        const int member = near_member(*k.team, (k.team->my_near + i) % k.team->n_near);
        copy_to(k, g, to, plus(source, (uint64_t)member * bytes), bytes, member);
    }
    await_phase<GSH_COLL_ALLTOALL>(k, g, s, 0);
    end_far(k, g, s.n_steps, true);
}

/* One request for each member: a strided request cannot carry a signal. */
template <class Context, class Group, class Type>
__device__ GSHMEM_NOINLINE void alltoalls_far(const coll_call<Context> &k, Group g, Type *dest,
                                              const Type *source, ptrdiff_t dst, ptrdiff_t sst,
                                              size_t nelems)
{
    spill(g, dest, source, dst, sst, nelems);
    sync_team<true>(k.c, g, k.team, k.channel, k.name);
    GSHMEM_NO_UNROLL
    for (int i = 0; i < k.n; i++) {
        const int member = k.after(i);
        iput(k.c, g, dest + (ptrdiff_t)(k.me * nelems) * dst,
             source + (ptrdiff_t)(member * nelems) * sst, dst, sst, nelems, k.pe(member), k.name);
    }
    sync_team<true>(k.c, g, k.team, k.channel, k.name);
}

/* ---- broadcast ---- */

/* Data go down a tree of the nodes. A leader, or on its own node the root, also gives the pieces
 * that it has to its near members. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE void broadcast_pieces(const coll_call<Context> &k, Group g,
                                                 uint8_t *dest, const uint8_t *from,
                                                 const gsh_schedule &s)
{
    spill(g, dest, from);
    GSHMEM_NO_UNROLL
    for (uint64_t phase = 0; phase < s.n_phases; phase++) {
        send_phase<GSH_COLL_BROADCAST>(k, g, s, phase, dest, from);
        const gsh_range p = gsh_piece(&s, s.bytes, gsh_piece_given(phase));
        to_near(k, g, plus(dest, p.begin), plus(from, p.begin), p.bytes);
        await_phase<GSH_COLL_BROADCAST>(k, g, s, phase);
    }
}

template <class Context, class Group>
__device__ GSHMEM_NOINLINE void broadcast_far(const coll_call<Context> &k, Group g, uint8_t *dest,
                                              const uint8_t *source, uint64_t bytes, int root)
{
    spill(g, dest, source, bytes, root);
    if (goes_by_leaders(k, bytes)) {
        broadcast_by_leaders(k, g, dest, source, bytes, root);
        return;
    }
    all_have_come(k, g);
    gsh_schedule s = gsh_schedule_broadcast(k.team, bytes, root, state_of(k.c).far_piece);
    spill(s);
    if (s.number == 0 ? k.me == root : k.team->my_near == 0)
        broadcast_pieces(k, g, dest, k.me == root ? source : dest, s);
    if (k.me == root)
        copy_to(k, g, dest, source, bytes, root);
    end_far(k, g, s.n_steps, false);
}

/* ---- reduce ---- */

/* Adds up `bytes` of piece t from the nodes' slots, slot_bytes apart, into dest. */
template <class Context, class Group, class How>
__device__ GSHMEM_NOINLINE void add_slots(const coll_call<Context> &k, Group g, uint8_t *dest,
                                          uint64_t bytes, uint64_t t, uint64_t slot_bytes, How how)
{
    spill(g, dest, bytes, t, slot_bytes);
    const int n = k.team->n_nodes;
    const terms s = {dest,       bytes, nullptr, half_of_piece(k, t),
                     slot_bytes, n,     n,       block_order::as_they_lie,
                     false,      false};
    how.add(k, rank_in_group_of(g), s);
    join_blocks(k.c, g, k.area(), k.name);
}

/* This PE's segment of piece t, added up over the node. */
template <class Context, class Group, class How>
__device__ __forceinline__ void add_segment(const coll_call<Context> &k, Group g,
                                            const gsh_schedule &s, uint8_t *dest,
                                            const uint8_t *source, uint64_t t, How how)
{
    const gsh_range segment = gsh_segment(&s, t);
    add_near(k, g, plus(dest, segment.begin), plus(source, segment.begin), segment.bytes, how);
}

/* Sends a phase's shares and sums; the share of this PE's own node stays here. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE void send_shares(const coll_call<Context> &k, Group g,
                                            const gsh_schedule &s, uint8_t *dest, uint64_t phase)
{
    spill(g, dest, phase);
    g.sync();
    send_phase<GSH_COLL_REDUCE>(k, g, s, phase, dest, nullptr);
    const gsh_range own = gsh_share(&s, phase, k.team->my_node);
    copy_to(k, g, plus(half_of_piece(k, phase), (uint64_t)k.team->my_node * s.slot_bytes),
            plus(dest, own.begin), own.bytes, k.me);
}

/* Gives the near members this PE's segment of piece t, whose sums are complete. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE void pass_on(const coll_call<Context> &k, Group g, const gsh_schedule &s,
                                        uint8_t *dest, uint64_t t)
{
    spill(g, dest, t);
    const gsh_range r = gsh_segment(&s, t);
    GSHMEM_NO_UNROLL
    for (int i = 1; i < k.team->n_near; i++)
        store_share(k, g, plus(dest, r.begin), plus(dest, r.begin), r.bytes,
                    near_member(*k.team, (k.team->my_near + i) % k.team->n_near));
}

/* The segment of the next piece is added up, and that of the piece before last passed on, while the
 * messages travel. */
template <class Context, class Group, class How>
__device__ GSHMEM_NOINLINE void reduce_by_node(const coll_call<Context> &k, Group g, uint8_t *dest,
                                               const uint8_t *source, uint64_t bytes, How how)
{
    spill(g, dest, source, bytes);
    gsh_schedule s = gsh_schedule_reduce(k.team, bytes, half_bytes_of(k), state_of(k.c).far_piece);
    spill(s);
    if (g.block() == 0)
        all_have_come(k, g.block_part());
    join_blocks(k.c, g, k.area(), k.name);
    add_segment(k, g, s, dest, source, 0, how);
    join_blocks(k.c, g, k.area(), k.name);
    GSHMEM_NO_UNROLL
    for (uint64_t phase = 0; phase < s.n_phases; phase++) {
        if (g.block() == 0)
            send_shares(k, g.block_part(), s, dest, phase);
        add_segment(k, g, s, dest, source, phase + 1, how);
        if (phase > 1)
            pass_on(k, g, s, dest, phase - 2);
        if (g.block() == 0)
            await_phase<GSH_COLL_REDUCE>(k, g.block_part(), s, phase);
        join_blocks(k.c, g, k.area(), k.name);
        const gsh_range own = gsh_share(&s, phase, k.team->my_node);
        add_slots(k, g, plus(dest, own.begin), own.bytes, phase, s.slot_bytes, how);
    }
    if (g.block() == 0)
        end_far(k, g.block_part(), s.n_steps, true);
}

template <class Context, class Group, class How>
__device__ GSHMEM_NOINLINE void reduce_far(const coll_call<Context> &k, Group g, uint8_t *dest,
                                           const uint8_t *source, uint64_t bytes, How how)
{
    spill(g, dest, source, bytes);
    const uint64_t block = gsh_coll_block_bytes(bytes);
    if (!goes_by_leaders(k, (uint64_t)k.team->n_nodes * block)) {
        reduce_by_node(k, g, dest, source, bytes, how);
        return;
    }
    exchange_sums(k, g, source, bytes, how);
    add_blocks(k, g, dest, bytes, block, 0, how);
}

/* ---- reducescatter ---- */

/* Adds up this PE's work on a phase's piece: its own part, into the slot for its own node, and the
 * parts that it sends. `from` is the piece in the first member's part. */
template <class Context, class Group, class How>
__device__ GSHMEM_NOINLINE void add_parts(const coll_call<Context> &k, Group g,
                                          const gsh_schedule &s, const uint8_t *from,
                                          uint64_t phase, How how)
{
    spill(g, from, phase);
    uint8_t *const half = half_of_piece(k, phase);
    gsh_cursor at = {0, 0, 0};
    gsh_coll_message m = {k.me,
                          GSH_BUFFER_HALF,
                          GSH_BUFFER_HALF,
                          0,
                          (uint64_t)k.team->my_node * s.slot_bytes,
                          gsh_piece(&s, s.bytes, phase).bytes,
                          0};
    spill(at, m);
    GSHMEM_NO_UNROLL
    do
        add_near(k, g, plus(half, m.from), plus(from, (uint64_t)m.member * s.bytes), m.bytes, how);
    while (gsh_next_message(GSH_COLL_REDUCESCATTER, &s, phase, &at, &m));
    join_blocks(k.c, g, k.area(), k.name);
}

template <class Context, class Group, class How>
__device__ GSHMEM_NOINLINE void reducescatter_by_node(const coll_call<Context> &k, Group g,
                                                      uint8_t *dest, const uint8_t *source,
                                                      uint64_t bytes, How how)
{
    spill(g, dest, source, bytes);
    gsh_schedule s =
        gsh_schedule_reducescatter(k.team, bytes, half_bytes_of(k), state_of(k.c).far_piece);
    spill(s);
    if (g.block() == 0)
        all_have_come(k, g.block_part());
    join_blocks(k.c, g, k.area(), k.name);
    GSHMEM_NO_UNROLL
    for (uint64_t phase = 0; phase < s.n_phases; phase++) {
        const gsh_range p = gsh_piece(&s, bytes, phase);
        add_parts(k, g, s, plus(source, p.begin), phase, how);
        if (g.block() == 0) {
            send_phase<GSH_COLL_REDUCESCATTER>(k, g.block_part(), s, phase, nullptr, nullptr);
            await_phase<GSH_COLL_REDUCESCATTER>(k, g.block_part(), s, phase);
        }
        join_blocks(k.c, g, k.area(), k.name);
        add_slots(k, g, plus(dest, p.begin), p.bytes, phase, s.slot_bytes, how);
    }
    if (g.block() == 0)
        end_far(k, g.block_part(), s.n_steps, false);
}

template <class Context, class Group, class How>
__device__ GSHMEM_NOINLINE void reducescatter_far(const coll_call<Context> &k, Group g,
                                                  uint8_t *dest, const uint8_t *source,
                                                  uint64_t bytes, How how)
{
    spill(g, dest, source, bytes);
    const uint64_t block = gsh_coll_block_bytes((uint64_t)k.n * bytes);
    if (!goes_by_leaders(k, (uint64_t)k.team->n_nodes * block)) {
        reducescatter_by_node(k, g, dest, source, bytes, how);
        return;
    }
    exchange_sums(k, g, source, (uint64_t)k.n * bytes, how);
    add_blocks(k, g, dest, bytes, block, (uint64_t)k.me * bytes, how);
}

} // namespace detail
} // namespace gshmem

#endif
