/* SPDX-License-Identifier: Apache-2.0
 * Collectives of a few bytes over several nodes. Near members write their data into a half of their
 * leader's work area; data to be added up stay in their sources, and the leader reads them there.
 * Leaders exchange their nodes' data in ceil(log2(n_nodes)) rounds, with one message each. Then all
 * members read what they need from the leader's half. Only leaders send messages. The half is free
 * at the beginning of a call, so nothing needs to be awaited first (state.h).
 *
 * schedule.h has the rounds (gsh_round_of).
 *
 * In collectives that compute, g may be several blocks. All of them add up; only the first sends
 * messages and awaits signals; they join in between. */
#ifndef GSHMEM_COLL_FAR_LEADERS_CUH
#define GSHMEM_COLL_FAR_LEADERS_CUH

#include "element.cuh"
#include "far_step.cuh"
#include "reduce.cuh"

namespace gshmem
{
namespace detail
{

/* Whether a collective with that many bytes on all nodes together goes by way of the leaders. */
template <class Context>
__device__ __forceinline__ bool goes_by_leaders(const coll_call<Context> &k, uint64_t bytes)
{
    return bytes <= half_bytes_of(k) && bytes <= state_of(k.c).far_flat;
}

/* The leaders' rounds. With block 0 the messages only say that nodes have arrived. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE void tell_leaders_blocks(const coll_call<Context> &k, Group g,
                                                    uint64_t block, bool is_by_member,
                                                    uint64_t step)
{
    spill(g, block, is_by_member, step);
    uint8_t *const half = half_of(k, step);
    GSHMEM_NO_UNROLL
    for (int distance = 1; distance < k.team->n_nodes; distance *= 2) {
        gsh_round r = gsh_round_of(k.team, distance, block, is_by_member);
        spill(r, distance);
        tell_far(k, g, plus(half, r.at), half, r.bytes, step, r.to);
        if (g.rank() == 0)
            await_far_step(k, step, r.from);
        g.sync();
    }
}

/* Once a call's parts are in the leader's half (come_to_leader), the leaders exchange the blocks.
 * Returns the leader's half, with all blocks, as this PE can read it. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE const uint8_t *exchange_blocks(const coll_call<Context> &k, Group g,
                                                          uint64_t block, bool is_by_member)
{
    spill(g, block, is_by_member);
    const steps s = steps_of(k);
    if (k.team->my_near == 0)
        tell_leaders_blocks(k, g, block, is_by_member, s.far + 1);
    leave_leader(k, g, s.near + 1);
    set_steps(k, g, {s.far + 1, s.near + 1});
    return k.at(half_of(k, s.far + 1), near_member(*k.team, 0));
}

/* Returns when all members have arrived: every dest may be written, and every source read. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE void all_have_come(const coll_call<Context> &k, Group g)
{
    spill(g);
    come_to_leader(k, g, steps_of(k).near + 1);
    (void)exchange_blocks(k, g, 0, false);
}

/* The half that receives this call's parts; an address on this PE. */
template <class Context> __device__ __forceinline__ uint8_t *next_half(const coll_call<Context> &k)
{
    return half_of(k, steps_of(k).far + 1);
}

/* ---- moving data ---- */

/* Gathers every member's bytes, in blocks, in the order of the nodes; returns the leader's half. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE const uint8_t *gather_far(const coll_call<Context> &k, Group g,
                                                     const uint8_t *source, uint64_t bytes,
                                                     uint64_t block)
{
    spill(g, source, bytes, block);
    copy_to(k, g, plus(next_half(k), (uint64_t)k.team->my_near * block), source, bytes,
            near_member(*k.team, 0));
    come_to_leader(k, g, steps_of(k).near + 1);
    return exchange_blocks(k, g, block, true);
}

/* Gathers two words from every member. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE const uint8_t *gather_words_far(const coll_call<Context> &k, Group g,
                                                           uint64_t first, uint64_t second)
{
    spill(g, first, second);
    uint64_t *const words = reinterpret_cast<uint64_t *>(
        k.at(plus(next_half(k), (uint64_t)k.team->my_near * 16), near_member(*k.team, 0)));
    if (g.rank() == 0) {
        store_plain(words, first);
        store_plain(words + 1, second);
    }
    come_to_leader(k, g, steps_of(k).near + 1);
    return exchange_blocks(k, g, 16, true);
}

/* After gather_far: takes the bytes at `from` of each member's block, one after the other in the
 * order of the team. Blocks that are adjacent on both sides are copied together. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE void take_blocks(const coll_call<Context> &k, Group g, uint8_t *dest,
                                            const uint8_t *half, uint64_t block, uint64_t from,
                                            uint64_t bytes)
{
    spill(g, dest, half, block, from, bytes);
    const int32_t *members = gsh_members_by_node(k.team);
    GSHMEM_NO_UNROLL
    for (int position = 0, n; position < k.n; position += n) {
        n = 1;
        while (block == bytes && position + n < k.n && position + n != k.team->near_begin &&
               members[position + n] == members[position] + n)
            n++;
        copy<direction::get, false, Group>(
            {g.rank(), g.size()}, plus(dest, (uint64_t)members[position] * bytes),
            plus(half, position_behind_leader(*k.team, position) * block + from),
            (uint64_t)n * bytes);
    }
    g.sync();
}

/* Down a tree of nodes within the leaders' rounds (gsh_round_gives). */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE void broadcast_by_leaders(const coll_call<Context> &k, Group g,
                                                     uint8_t *dest, const uint8_t *source,
                                                     uint64_t bytes, int root)
{
    spill(g, dest, source, bytes, root);
    const steps s = steps_of(k);
    uint8_t *const half = half_of(k, s.far + 1);
    if (k.me == root)
        copy_to(k, g, half, source, bytes, near_member(*k.team, 0));
    come_to_leader(k, g, s.near + 1);
    const int before = gsh_nodes_to(k.team, k.team->my_node, root);
    GSHMEM_NO_UNROLL
    for (int distance = 1; k.team->my_near == 0 && distance < k.team->n_nodes; distance *= 2) {
        const gsh_round r = gsh_round_of(k.team, distance, 0, false);
        tell_far(k, g, half, half, gsh_round_gives(k.team, distance, before) ? bytes : 0, s.far + 1,
                 r.to);
        if (g.rank() == 0)
            await_far_step(k, s.far + 1, r.from);
        g.sync();
    }
    leave_leader(k, g, s.near + 1);
    set_steps(k, g, {s.far + 1, s.near + 1});
    if (k.me == root)
        copy_to(k, g, dest, source, bytes, root);
    else
        copy<direction::get, false, Group>({g.rank(), g.size()}, dest,
                                           k.at(half, near_member(*k.team, 0)), bytes);
    g.sync();
}

/* ---- adding up ---- */

/* Sets dest to the reduction of the near members' sources, in the order of the team. */
template <class Context, class Group, class How>
__device__ GSHMEM_NOINLINE void add_near(const coll_call<Context> &k, Group g, uint8_t *dest,
                                         const uint8_t *source, uint64_t bytes, How how)
{
    spill(g, dest, source, bytes);
    const terms s = of_members(dest, source, bytes, k.team->n_near, true, false);
    how.add(k, rank_in_group_of(g), s);
}

/* Puts the sum of the node into its leader's half, and has the leaders exchange the sums. */
template <class Context, class Group, class How>
__device__ GSHMEM_NOINLINE void exchange_sums(const coll_call<Context> &k, Group g,
                                              const uint8_t *source, uint64_t bytes, How how)
{
    spill(g, source, bytes);
    if (g.block() == 0)
        come_to_leader(k, g.block_part(), steps_of(k).near + 1);
    join_blocks(k.c, g, k.area(), k.name);
    if (k.team->my_near == 0) {
        add_near(k, g, next_half(k), source, bytes, how);
        join_blocks(k.c, g, k.area(), k.name);
    }
    if (g.block() == 0)
        (void)exchange_blocks(k, g.block_part(), gsh_coll_block_bytes(bytes), false);
    join_blocks(k.c, g, k.area(), k.name);
}

/* After exchange_sums or gather_far: the leader's half of the step just done. */
template <class Context>
__device__ __forceinline__ const uint8_t *leaders_half(const coll_call<Context> &k)
{
    return k.at(half_of(k, steps_of(k).far), near_member(*k.team, 0));
}

/* Sets dest to the reduction of the nodes' blocks, from byte `first` of each on. */
template <class Context, class Group, class How>
__device__ GSHMEM_NOINLINE void add_blocks(const coll_call<Context> &k, Group g, uint8_t *dest,
                                           uint64_t bytes, uint64_t block, uint64_t first, How how)
{
    spill(g, dest, bytes, block, first);
    const int n = k.team->n_nodes;
    const terms s = {dest,  bytes, nullptr, plus(leaders_half(k), first),
                     block, n,     n,       block_order::by_node,
                     false, false};
    how.add(k, rank_in_group_of(g), s);
    join_blocks(k.c, g, k.area(), k.name);
}

/* ---- scans ---- */

/* The bytes of a scan that go at once: the same on all members. */
template <class Context> __device__ __forceinline__ uint64_t scan_piece(const coll_call<Context> &k)
{
    return gsh_scan_piece_bytes(k.team, half_bytes_of(k), state_of(k.c).far_piece);
}

/* Where a piece's result waits until no member reads this PE's source any more: behind the nodes'
 * blocks. With no other near member, it goes straight to dest. */
template <class Context>
__device__ __forceinline__ uint8_t *scan_out(const coll_call<Context> &k, uint8_t *dest,
                                             uint64_t block)
{
    const gsh_team_state &t = *k.team;
    return t.n_near == 1 ? dest : plus(half_of(k, steps_of(k).far), (uint64_t)t.n_nodes * block);
}

/* For a team ordered node by node, after exchange_sums: adds the blocks of the nodes
 * before, then the sources of the near members before. */
template <class Context, class Group, class How>
__device__ GSHMEM_NOINLINE void scan_blocks(const coll_call<Context> &k, Group g, uint8_t *dest,
                                            const uint8_t *source, uint64_t bytes,
                                            bool is_inclusive, How how)
{
    spill(g, dest, source, bytes, is_inclusive);
    const uint64_t block = gsh_coll_block_bytes(bytes);
    const terms s = {scan_out(k, dest, block),
                     bytes,
                     source,
                     leaders_half(k),
                     block,
                     k.team->my_node + k.team->my_near + (is_inclusive ? 1 : 0),
                     k.team->my_node,
                     block_order::by_node,
                     true,
                     false};
    if (s.n == 0)
        set_zero(rank_in_group_of(g), s.dest, bytes);
    else
        how.add(k, rank_in_group_of(g), s);
}

/* Then moves the result to its position. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE void finish_scan(const coll_call<Context> &k, Group g, uint8_t *dest,
                                            uint64_t bytes)
{
    spill(g, dest, bytes);
    const uint8_t *const out = scan_out(k, dest, gsh_coll_block_bytes(bytes));
    join_blocks(k.c, g, k.area(), k.name);
    if (g.block() == 0) {
        const steps s = steps_of(k);
        sync_near(k, g.block_part(), s.near + 1);
        set_steps(k, g.block_part(), {s.far, s.near + 1});
    }
    join_blocks(k.c, g, k.area(), k.name);
    store_share(k, g, dest, out, bytes, k.me);
    join_blocks(k.c, g, k.area(), k.name);
}

/* For any other team, after gather_far: adds the members' sources in the order of the team. */
template <class Context, class Group, class How>
__device__ GSHMEM_NOINLINE void scan_gathered(const coll_call<Context> &k, Group g, uint8_t *dest,
                                              uint64_t bytes, bool is_inclusive, How how)
{
    spill(g, dest, bytes, is_inclusive);
    const int end = k.me + (is_inclusive ? 1 : 0);
    const terms s = {dest,
                     bytes,
                     nullptr,
                     leaders_half(k),
                     gsh_coll_block_bytes(bytes),
                     end,
                     end,
                     block_order::by_member,
                     false,
                     false};
    if (end == 0)
        set_zero(rank_in_group_of(g), dest, bytes);
    else
        how.add(k, rank_in_group_of(g), s);
    join_blocks(k.c, g, k.area(), k.name);
}

template <class Context, class Group, class How>
__device__ GSHMEM_NOINLINE void scan_far(const coll_call<Context> &k, Group g, uint8_t *dest,
                                         const uint8_t *source, uint64_t bytes, bool is_inclusive,
                                         How how)
{
    spill(g, dest, source, bytes, is_inclusive);
    const uint64_t most = scan_piece(k);
    GSHMEM_NO_UNROLL
    for (uint64_t done = 0; done < bytes; done += most) {
        const uint64_t n = bytes - done < most ? bytes - done : most;
        uint8_t *const to = plus(dest, done);
        const uint8_t *const from = plus(source, done);
        if (!k.team->is_node_by_node) {
            if (g.block() == 0)
                (void)gather_far(k, g.block_part(), from, n, gsh_coll_block_bytes(n));
            join_blocks(k.c, g, k.area(), k.name);
            scan_gathered(k, g, to, n, is_inclusive, how);
            continue;
        }
        exchange_sums(k, g, from, n, how);
        scan_blocks(k, g, to, from, n, is_inclusive, how);
        finish_scan(k, g, to, n);
    }
}

} // namespace detail
} // namespace gshmem

#endif
