/* SPDX-License-Identifier: Apache-2.0
 * Collectives on any memory, through an inbox in symmetric memory: each member stores lines of data
 * with their flags into slots of the others, and takes what the others have stored into its own. No
 * barrier, no fence, and no wait but for data. rounds.h says where lines lie and when they go.
 *
 * A line is eight threads' work: on GPUs 120 bytes of data in words of 8, of which thread i has
 * words i and i + 8; the last word of the last thread is the flag. Over NVLink a store of these
 * threads arrives whole, so that its flag vouches for all of it (tests/litmus has a test of that).
 * Over other links, and on the CPU device, each 4 bytes of data have a flag of their own (ll.cuh),
 * and a line takes twice as much room. The flag is the number of the round.
 *
 * Invariants, for each channel (a block and the blocks of its number on other members)
 * - `count` is the number of rounds that this member's block has begun in all items so far. Members
 *   count alike, since they carry out the same items. Round r's lines lie in buffer r mod 4.
 * - A unit is another member p and a line of the slots that p and this member have for each other.
 *   The threads of a unit send p a line in each round of an item, and wait for p's line of each
 *   round. They send in round r + 2 only after they have p's line of round r. A line without data
 *   is a flag.
 * - So a unit that has p's line of round r knows that p's unit has taken this member's line of
 *   round r - 2, and may overwrite it in round r + 2 of the same item.
 * - An item's units are used in each of its rounds, so that all lines that p may not have taken
 *   when this member's block is through are those of the item's last two rounds. The next item's
 *   first two rounds use the two other buffers. Later rounds overwrite only after a line of p's
 *   block of the new item has come.
 * - Members that give each other no data in an item (of those that have a root) exchange one line
 * in its first round. They exchange one in its last round, too, if that has another buffer: it says
 *   that the first has been taken, so that the next item may use that buffer at once.
 * - A block begins an item after all of its threads have ended the one before: by a barrier of the
 *   block in one launch, by the end of a kernel from one launch to the next. In each item every
 *   block takes a line from every other member's. So a member that has ended an item knows that the
 *   others' blocks have begun it, and have taken all lines of the items before.
 * - Flags of 4 bytes recur after 2^32 rounds, as in ll.cuh. */
#ifndef GSHMEM_COLL_LINES_CUH
#define GSHMEM_COLL_LINES_CUH

#include "lines_pieces.cuh"
#include "lines_read.cuh"
#include "lines_short.cuh"
#include "lines_steps.cuh"
#include "lines_streams.cuh"
#include "lines_sums.cuh"

namespace gshmem
{
namespace detail
{

/* The calling block's part of all items. Which are there: the fewer, the less code and registers a
 * kernel has. */
enum class line_ways {
    move,
    sums_of_two,
    long_move,
    long_sums_of_two,
    of_two,
    of_more,
    read_move, /* these for what is large, so for many rounds, too */
    read_sums_of_two,
    read_of_two
};
template <line_ways ways, class Context>
__device__ __forceinline__ void run_lines(const Context &c, const gsh_kernel_lines_args &h)
{
    constexpr bool reads = ways >= line_ways::read_move;
    constexpr bool is_long = ways == line_ways::long_move || ways == line_ways::long_sums_of_two ||
                             ways == line_ways::read_move || ways == line_ways::read_sums_of_two;
    constexpr bool are_moves =
        ways == line_ways::move || ways == line_ways::long_move || ways == line_ways::read_move;
    constexpr bool are_sums = ways == line_ways::sums_of_two ||
                              ways == line_ways::long_sums_of_two ||
                              ways == line_ways::read_sums_of_two;
    constexpr arithmetic computes = are_sums ? arithmetic::float_sums : arithmetic::any;
    using streams = line_streams<computes, Context>;
    uint64_t *const count =
        reinterpret_cast<uint64_t *>(state_of(c).base + h.inbox.off) + blockIdx.x;
    const uint64_t before = h.team.n_pes > 1 ? load_plain(count) : 0;
    const uint32_t has_left = load_has_left(c);
    uint64_t so_far = before;
    GSHMEM_NO_UNROLL
    for (uint32_t i = 0; i < h.n_items; i++) {
        const gsh_lines_item &t = h.item[i];
        const uint32_t block = blockIdx.x - (uint32_t)t.first_block;
        if (block >= (uint32_t)t.n_blocks)
            continue;
        if (so_far != before)
            group_block().sync();
        const line_worker<computes, Context> worker(c, h, t);
        if (i == 0)
            leave_if_given_up(c, has_left);
        if constexpr (reads) {
            if (t.may_read != 0) {
                const line_reader<computes, Context> reader(worker);
                bool is_done = false;
                if constexpr (are_sums)
                    is_done = reader.template run<true>(block, so_far);
                else if (are_moves || t.way == GSH_LINES_MOVE)
                    is_done = reader.template run<false>(block, so_far);
                else if constexpr (!are_moves)
                    is_done = reader.template run<true>(block, so_far);
                if (is_done)
                    continue;
            }
        }
        if constexpr (are_sums)
            so_far = streams(worker).template run_streams<true, is_long>(block, so_far);
        else if (are_moves || t.way == GSH_LINES_MOVE)
            so_far = streams(worker).template run_streams<false, is_long>(block, so_far);
        else if constexpr (ways == line_ways::of_two || ways == line_ways::read_of_two)
            so_far = streams(worker).template run_streams<true, false>(block, so_far);
        else if constexpr (ways == line_ways::of_more)
            so_far = line_sums<computes, Context>(worker).add(block, so_far);
    }
    group_block().sync(); /* all threads have read the count */
    if (threadIdx.x == 0 && h.team.n_pes > 1)
        store_plain(count, so_far);
}

/* The same for items of two members that go in pieces if both get the slots (lines_pieces.cuh).
 * Behind the items' blocks the grid may have a helper for each. */
template <bool is_add, class Context>
__device__ __forceinline__ void run_in_pieces(const Context &c, const gsh_kernel_lines_args &h)
{
    constexpr arithmetic computes = arithmetic::float_sums;
    using worker = line_worker<computes, Context>;
    using pieces = line_pieces<computes, Context>;
    const uint32_t n_blocks = h.item[0].has_helpers != 0 ? gridDim.x / 2 : gridDim.x;
    const bool is_helper = blockIdx.x >= n_blocks;
    const uint32_t block = is_helper ? blockIdx.x - n_blocks : blockIdx.x;
    uint64_t *const count = reinterpret_cast<uint64_t *>(state_of(c).base + h.inbox.off) + block;
    const uint64_t before = is_helper ? 0 : load_plain(count);
    uint64_t so_far = before;
    leave_if_given_up(c, load_has_left(c));
    const pieces first(worker(c, h, h.item[0]));
    const bool has_slots =
        is_helper ? first.await_agreed(block) : first.agree(block, block, so_far);
    GSHMEM_NO_UNROLL
    for (uint32_t i = 0; i < h.n_items; i++) {
        const gsh_lines_item &t = h.item[i];
        const uint32_t part = block - (uint32_t)t.first_block;
        if (part >= (uint32_t)t.n_blocks)
            continue;
        const worker w(c, h, t);
        if (has_slots) {
            pieces(w).template run_part<is_add>(part, block, is_helper ? 1 : 0);
        } else if (!is_helper) {
            if (so_far != before)
                group_block().sync();
            so_far =
                line_streams<computes, Context>(w).template run_streams<is_add, true>(part, so_far);
        }
    }
    if (has_slots)
        first.leave(block);
    group_block().sync(); /* all threads have read the count */
    if (threadIdx.x == 0 && !is_helper)
        store_plain(count, so_far);
}

} // namespace detail
} // namespace gshmem

#endif
