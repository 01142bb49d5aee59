/* SPDX-License-Identifier: Apache-2.0
 * Collectives of few bytes over several nodes. Near members bring what they have to their node's
 * leader, into a half of its work area; leaders exchange what their nodes have in
 * ceil(log2(n_nodes)) rounds, with one message each; then all take from the leader's half what they
 * need. Only leaders send messages. Nothing is waited for before: the half is free (state.h).
 *
 * A leader's half has, from its own node's on, a block for each node, or for each member. In the
 * round of distance d a leader sends all it has, but no more than is missing there, to the leader d
 * nodes before it, where it lies d nodes further on. */
#ifndef GSHMEM_COLL_FAR_LEADERS_CUH
#define GSHMEM_COLL_FAR_LEADERS_CUH

#include "device/coll/element.cuh"
#include "device/coll/far_step.cuh"
#include "device/coll/reduce.cuh"

namespace gshmem
{
namespace detail
{

/* Whether so many bytes of all nodes together go by way of the leaders. */
template <class C>
__device__ __forceinline__ bool goes_by_leaders(const coll_call<C> &k, uint64_t bytes)
{
    return bytes <= half_bytes_of(k) && bytes <= state_of(k.c).far_flat;
}

/* What `count` nodes from node `node` on have, in blocks of so many bytes. */
__device__ __forceinline__ uint64_t blocks_bytes(const gsh_team_state &t, int node, int count,
                                                 uint64_t block, bool is_by_member)
{
    if (!is_by_member || count == 0)
        return (uint64_t)count * block;
    const int end = node + count;
    const int n = node_begin(t, end > t.n_nodes ? end - t.n_nodes : end) - node_begin(t, node);
    return (uint64_t)(end > t.n_nodes ? n + t.n_pes : n) * block;
}

/* The leaders' rounds. block 0: all that they say is that their nodes have come. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void tell_leaders_blocks(coll_call<C> k, G g, uint64_t block,
                                                       bool is_by_member, uint64_t step)
{
    const gsh_team_state &t = *k.team;
    uint8_t *const half = half_of(k, step);
    GSHMEM_NO_UNROLL
    for (int distance = 1; distance < t.n_nodes; distance *= 2) {
        const int rest = t.n_nodes - distance;
        const int to = node_after(t, rest), from = node_after(t, distance);
        tell_far(k, g, plus(half, blocks_bytes(t, to, distance, block, is_by_member)), half,
                 blocks_bytes(t, t.my_node, distance < rest ? distance : rest, block, is_by_member),
                 step, member_of(t, to, 0));
        if (g.rank() == 0)
            hear_far(k, step, member_of(t, from, 0));
        g.sync();
    }
}

/* When a call's part is in the leader's half (come_to_leader): the leaders exchange the blocks.
 * The leader's half, with all of them, in which this PE may look. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE const uint8_t *exchange_blocks(coll_call<C> k, G g, uint64_t block,
                                                             bool is_by_member)
{
    const steps s = steps_of(k);
    if (k.team->my_near == 0)
        tell_leaders_blocks(k, g, block, is_by_member, s.far + 1);
    leave_leader(k, g, s.near + 1);
    set_steps(k, g, {s.far + 1, s.near + 1});
    return k.at(half_of(k, s.far + 1), near_member(*k.team, 0));
}

/* All members have come: every dest may be written, and every source read. */
template <class C, class G> __device__ GSHMEM_OUT_OF_LINE void all_have_come(coll_call<C> k, G g)
{
    come_to_leader(k, g, steps_of(k).near + 1);
    (void)exchange_blocks(k, g, 0, false);
}

/* The half into which this call's parts go; an address on this PE. */
template <class C> __device__ __forceinline__ uint8_t *next_half(const coll_call<C> &k)
{
    return half_of(k, steps_of(k).far + 1);
}

/* ---- moving data ---- */

/* Every member's bytes, in blocks of so many, in the order of the nodes; the leader's half. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE const uint8_t *gather_far(coll_call<C> k, G g, const uint8_t *source,
                                                        uint64_t bytes, uint64_t block)
{
    const gsh_team_state &t = *k.team;
    copy_to(k, g, plus(next_half(k), (uint64_t)t.my_near * block), source, bytes,
            near_member(t, 0));
    come_to_leader(k, g, steps_of(k).near + 1);
    return exchange_blocks(k, g, block, true);
}

/* Two words of every member's. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE const uint8_t *gather_words_far(coll_call<C> k, G g, uint64_t first,
                                                              uint64_t second)
{
    const gsh_team_state &t = *k.team;
    uint64_t *const words = reinterpret_cast<uint64_t *>(
        k.at(plus(next_half(k), (uint64_t)t.my_near * 16), near_member(t, 0)));
    if (g.rank() == 0) {
        store_plain(words, first);
        store_plain(words + 1, second);
    }
    come_to_leader(k, g, steps_of(k).near + 1);
    return exchange_blocks(k, g, 16, true);
}

/* After gather_far: what each member's block has at `from`, one after the other in the order of the
 * team. Neighbours in both are one copy. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void take_blocks(coll_call<C> k, G g, uint8_t *dest,
                                               const uint8_t *half, uint64_t block, uint64_t from,
                                               uint64_t bytes)
{
    const gsh_team_state &t = *k.team;
    const int32_t *members = members_by_node(t);
    GSHMEM_NO_UNROLL
    for (int place = 0, n; place < k.n; place += n) {
        n = 1;
        while (block == bytes && place + n < k.n && place + n != t.near_begin &&
               members[place + n] == members[place] + n)
            n++;
        copy<direction::get, false, G>(
            {g.rank(), g.size()}, plus(dest, (uint64_t)members[place] * bytes),
            plus(half, place_after(t, place) * block + from), (uint64_t)n * bytes);
    }
    g.sync();
}

/* Down a tree of the nodes that is in the leaders' rounds: before that of distance d those have the
 * data that are less than d nodes before the root's. The others' messages are signals alone. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void broadcast_by_leaders(coll_call<C> k, G g, uint8_t *dest,
                                                        const uint8_t *source, uint64_t bytes,
                                                        int root)
{
    const gsh_team_state &t = *k.team;
    const steps s = steps_of(k);
    uint8_t *const half = half_of(k, s.far + 1);
    int before = 0; /* how many nodes this one is before the root's */
    while (before < t.n_nodes - 1 && !has_member(t, node_after(t, before), root))
        before++;
    if (k.me == root)
        copy_to(k, g, half, source, bytes, near_member(t, 0));
    come_to_leader(k, g, s.near + 1);
    GSHMEM_NO_UNROLL
    for (int distance = 1; t.my_near == 0 && distance < t.n_nodes; distance *= 2) {
        const bool gives = before < distance && before + distance < t.n_nodes;
        tell_far(k, g, half, half, gives ? bytes : 0, s.far + 1,
                 member_of(t, node_after(t, t.n_nodes - distance), 0));
        if (g.rank() == 0)
            hear_far(k, s.far + 1, member_of(t, node_after(t, distance), 0));
        g.sync();
    }
    leave_leader(k, g, s.near + 1);
    set_steps(k, g, {s.far + 1, s.near + 1});
    if (k.me == root)
        copy_to(k, g, dest, source, bytes, root);
    else
        copy<direction::get, false, G>({g.rank(), g.size()}, dest, k.at(half, near_member(t, 0)),
                                       bytes);
    g.sync();
}

/* ---- adding up ---- */

/* dest[i], for n elements, is the reduction of the near members' source[i], in the order of the
 * team. */
template <class Op, class T, class C, class G>
__device__ __forceinline__ void add_near(const coll_call<C> &k, G g, T *dest, const T *source,
                                         uint64_t n)
{
    const gsh_team_state &t = *k.team;
    add_up_at<Op>(k, g, dest, reinterpret_cast<uint64_t>(source), n, 0, t.n_near, false,
                  [&](int i) { return k.at(source, near_member(t, i)); });
}

/* The leader has what its node is together, in its half; exchange_blocks follows. */
template <class Op, class T, class C, class G>
__device__ __forceinline__ void add_node(const coll_call<C> &k, G g, const T *source, uint64_t n)
{
    come_to_leader(k, g, steps_of(k).near + 1);
    if (k.team->my_near == 0) {
        add_near<Op>(k, g, reinterpret_cast<T *>(next_half(k)), source, n);
        g.sync();
    }
}

/* After that: node i's block, of which element `first` is the first that counts. */
template <class T, class C>
__device__ __forceinline__ const T *node_block(const coll_call<C> &k, int i, uint64_t block,
                                               uint64_t first)
{
    const gsh_team_state &t = *k.team;
    const int after = i < t.my_node ? i - t.my_node + t.n_nodes : i - t.my_node;
    return reinterpret_cast<const T *>(plus(k.at(half_of(k, steps_of(k).far), near_member(t, 0)),
                                            (uint64_t)after * block)) +
           first;
}

/* dest[i], for n elements, is the reduction of the nodes' blocks from element `first` on. */
template <class Op, class T, class C, class G>
__device__ __forceinline__ void add_blocks(const coll_call<C> &k, G g, T *dest, uint64_t n,
                                           uint64_t block, uint64_t first)
{
    add_up_at<Op>(k, g, dest, reinterpret_cast<uint64_t>(node_block<T>(k, 0, block, first)), n, 0,
                  k.team->n_nodes, false, [&](int i) { return node_block<T>(k, i, block, first); });
    join_blocks(k.c, g, k.area(), k.name);
}

/* ---- scans ---- */

/* So many elements of a scan go at once: the same on all members. */
template <class T, class C> __device__ __forceinline__ uint64_t scan_piece(const coll_call<C> &k)
{
    return gsh_scan_piece_bytes(k.team, half_bytes_of(k), state_of(k.c).far_piece) / sizeof(T);
}

/* Where a piece's result waits until no member looks at this PE's source any more: behind the
 * nodes' blocks. Where no other member is near, nobody does. */
template <class T, class C>
__device__ __forceinline__ T *scan_out(const coll_call<C> &k, T *dest, uint64_t block)
{
    const gsh_team_state &t = *k.team;
    return t.n_near == 1 ? dest
                         : reinterpret_cast<T *>(
                               plus(half_of(k, steps_of(k).far), (uint64_t)t.n_nodes * block));
}

template <class T, class C, class G>
__device__ __forceinline__ void set_zero(const coll_call<C> &, G g, T *dest, uint64_t n)
{
    for (uint64_t i = g.rank(); i < n; i += g.size())
        store_element(reinterpret_cast<tail_word<T> *>(dest) + i, tail_word<T>{});
}

/* Of a team node by node, after add_node and exchange_blocks: the blocks of the nodes before, then
 * the sources of the near members before. */
template <class T, class C, class G>
__device__ __forceinline__ void scan_blocks(const coll_call<C> &k, G g, T *dest, const T *source,
                                            uint64_t n, uint64_t block, bool is_inclusive)
{
    const gsh_team_state &t = *k.team;
    const int n_before = t.my_node, end = n_before + t.my_near + (is_inclusive ? 1 : 0);
    T *const out = scan_out(k, dest, block);
    if (end == 0)
        set_zero(k, g, out, n);
    else
        add_up_at<op_sum>(k, g, out, reinterpret_cast<uint64_t>(source), n, 0, end, false,
                          [&](int i) {
                              return i < n_before ? node_block<T>(k, i, block, 0)
                                                  : k.at(source, near_member(t, i - n_before));
                          });
}

/* Then the result goes to its place. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void finish_scan(coll_call<C> k, G g, uint8_t *dest, uint64_t bytes)
{
    const steps s = steps_of(k);
    const uint8_t *const out = scan_out(k, dest, gsh_coll_block_bytes(bytes));
    meet_near(k, g, s.near + 1);
    set_steps(k, g, {s.far, s.near + 1});
    copy_to(k, g, dest, out, bytes, k.me);
    g.sync();
}

/* Of any other team, after gather_far: the members' sources in the order of the team. */
template <class T, class C, class G>
__device__ __forceinline__ void scan_gathered(const coll_call<C> &k, G g, T *dest, uint64_t n,
                                              int end)
{
    const gsh_team_state &t = *k.team;
    const int32_t *const members = members_by_node(t);
    const uint8_t *const half = k.at(half_of(k, steps_of(k).far), near_member(t, 0));
    const uint64_t block = gsh_coll_block_bytes(n * sizeof(T));
    auto at = [&](int member) {
        int place = 0;
        while (members[place] != member)
            place++;
        return reinterpret_cast<const T *>(plus(half, place_after(t, place) * block));
    };
    if (end == 0)
        set_zero(k, g, dest, n);
    else
        add_up_at<op_sum>(k, g, dest, reinterpret_cast<uint64_t>(half), n, 0, end, false, at);
    join_blocks(k.c, g, k.area(), k.name);
}

template <bool is_inclusive, class T, class C, class G>
__device__ GSHMEM_OUT_OF_LINE void scan_far(coll_call<C> k, G g, T *dest, const T *source,
                                            uint64_t nelems)
{
    const uint64_t most = scan_piece<T>(k);
    GSHMEM_NO_UNROLL
    for (uint64_t done = 0; done < nelems; done += most) {
        const uint64_t n = nelems - done < most ? nelems - done : most;
        const uint64_t block = gsh_coll_block_bytes(n * sizeof(T));
        if (!k.team->is_node_by_node) {
            (void)gather_far(k, g, reinterpret_cast<const uint8_t *>(source + done), n * sizeof(T),
                             block);
            scan_gathered(k, g, dest + done, n, k.me + (is_inclusive ? 1 : 0));
            continue;
        }
        add_node<op_sum>(k, g, source + done, n);
        (void)exchange_blocks(k, g, block, false);
        scan_blocks(k, g, dest + done, source + done, n, block, is_inclusive);
        finish_scan(k, g, reinterpret_cast<uint8_t *>(dest + done), n * sizeof(T));
    }
}

} // namespace detail
} // namespace gshmem

#endif
