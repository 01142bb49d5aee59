/* SPDX-License-Identifier: Apache-2.0
 * See lines.h. */
#include "runtime/api/lines.h"

#include "base/util.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"
#include "runtime/team/team.h"
#include "wire/rounds.h"

/* Groups of a full block, each of which has a line to each member at a time. */
#define GROUPS (GSH_LINES_THREADS_MAX / GSH_LINE_THREADS)
/* Lines of a block, at least, of an item that is alone in its launch: the link is faster than a few
 * multiprocessors. */
#define LINES_ALONE 16u
/* Of several items at once: of more they would have too few blocks each for too long. */
#define MOST_AT_ONCE ((16u << 20) / GSH_LINE_BYTES_CUDA)
/* Groups of a full block of the short kernels, and from how many rounds on an item in steps takes
 * longer than by the kernels for many rounds (perftest/results/2026-11-28-h200-middle.md). */
#define SHORT_GROUPS (GSH_LINES_SHORT_THREADS / GSH_LINE_THREADS)
#define STEPS_ROUNDS 36u
/* What goes in pieces has rounds of a multiple of so many lines, so that each block's part begins
 * at a multiple of 128 bytes. */
#define PIECES_LINES 16u

/* ---- the inbox ---- */

bool gsh_lines_inbox_in(const struct gsh_instance *pe, const struct gsh_team *team, uint64_t off,
                        uint64_t bytes, struct gsh_lines_inbox *inbox)
{
    const bool is_cuda = pe->device_ops->memory != GSH_MEMORY_HOST;
    *inbox = (struct gsh_lines_inbox){
        .off = off,
        .n_channels = is_cuda ? pe->coll_table.max_blocks : 1, /* the CPU device has one thread */
        .slot_lines = GSH_LINES_STREAMS * GROUPS,
        .line_room = is_cuda && pe->has_whole_lines ? GSH_LINE_ROOM_WHOLE : GSH_LINE_ROOM_WORDS,
        .line_bytes = is_cuda ? GSH_LINE_BYTES_CUDA : GSH_LINE_BYTES_CPU,
    };
    return team->is_mapped && (!is_cuda || team->n_pes <= (int)(GSH_LINES_STREAMS * GROUPS)) &&
           (team->n_pes == 1 || gsh_lines_divide(inbox, team->n_pes, bytes, inbox->n_channels,
                                                 GSH_LINES_STREAMS * GROUPS));
}

bool gsh_lines_inbox_of_team(const struct gsh_instance *pe, const struct gsh_team *team,
                             struct gsh_lines_inbox *inbox)
{
    const struct gsh_team_layout *l = &team->layout;
    return (l->inbox_bytes > 0 || team->n_pes == 1) &&
           gsh_lines_inbox_in(pe, team, team->first_off + l->inbox_off, l->inbox_bytes, inbox);
}

/* ---- what is computed ---- */

static enum gsh_lines_fold fold_of(enum gsh_reduce_op op, enum gsh_element element)
{
    if (op <= GSH_REDUCE_xor) {
        element = GSH_ELEMENT_bits;
    } else if (op == GSH_REDUCE_sum || op == GSH_REDUCE_prod) {
        element = element <= GSH_ELEMENT_i64 ? element - GSH_ELEMENT_i8 + GSH_ELEMENT_u8 : element;
    }
    if (element == GSH_ELEMENT_half || element == GSH_ELEMENT_bfloat16 ||
        element == GSH_ELEMENT_e4m3 || element == GSH_ELEMENT_e5m2 ||
        (op == GSH_REDUCE_sum && element == GSH_ELEMENT_complexf)) {
        element = GSH_ELEMENT_float;
    } else if (op == GSH_REDUCE_sum && element == GSH_ELEMENT_complexd) {
        element = GSH_ELEMENT_double;
    }
#define ROW(OP, NAME, TYPE)                                       \
    if (op == GSH_REDUCE_##OP && element == GSH_ELEMENT_##NAME) { \
        return GSH_LINES_FOLD_##OP##_##NAME;                      \
    }
    GSH_LINES_FOLDS(ROW)
#undef ROW
    return GSH_LINES_FOLD_NONE;
}

bool gsh_lines_can(enum gsh_reduce_op op, enum gsh_element element)
{
    return fold_of(op, element) != GSH_LINES_FOLD_NONE;
}

/* ---- items ---- */

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* The address to which a block at `from` goes; 0: it is there. */
static uint64_t unless_same(const uint8_t *to, const uint8_t *from)
{
    return to == from ? 0 : address(to);
}

static void set_move(const struct gsh_team *team, const struct gsh_lines_call *c,
                     struct gsh_lines_item *t)
{
    const uint64_t me = (uint64_t)team->my_index;
    const bool is_root = team->my_index == c->root;
    uint8_t *const dest = c->dest;
    const uint8_t *const source = c->source;
    t->way = GSH_LINES_MOVE;
    t->gives = t->takes = GSH_LINES_ALL;
    switch (c->kind) {
    case GSH_LINES_ALL_GATHER:
        t->dest_step = c->bytes;
        t->own_dest = unless_same(dest + me * c->bytes, source);
        break;
    case GSH_LINES_ALL_TO_ALL:
        t->source_step = t->dest_step = c->bytes;
        t->own_dest = unless_same(dest + me * c->bytes, source + me * c->bytes);
        break;
    case GSH_LINES_GATHER:
        t->dest_step = c->bytes;
        t->gives = is_root ? GSH_LINES_NOBODY : GSH_LINES_ROOT;
        t->takes = is_root ? GSH_LINES_ALL : GSH_LINES_NOBODY;
        t->own_dest = is_root ? unless_same(dest + me * c->bytes, source) : 0;
        break;
    default: /* BROADCAST, SCATTER */
        t->source_step = c->kind == GSH_LINES_SCATTER ? c->bytes : 0;
        t->gives = is_root ? GSH_LINES_ALL : GSH_LINES_NOBODY;
        t->takes = is_root ? GSH_LINES_NOBODY : GSH_LINES_ROOT;
        t->own_dest = is_root ? unless_same(dest, source + me * t->source_step) : 0;
    }
}

/* All give all they have to all, or to the root: each adds up all. Reduce-scatter: its block. */
static void set_add(const struct gsh_team *team, const struct gsh_lines_call *c,
                    struct gsh_lines_item *t)
{
    const bool is_reduce = c->kind == GSH_LINES_REDUCE, is_root = team->my_index == c->root;
    t->way = GSH_LINES_ADD;
    t->source_step = c->kind == GSH_LINES_REDUCE_SCATTER ? c->bytes : 0;
    t->gives = is_reduce ? GSH_LINES_ROOT : GSH_LINES_ALL;
    t->takes = is_reduce && !is_root ? GSH_LINES_NOBODY : GSH_LINES_ALL;
    t->result = is_reduce && !is_root ? 0 : address(c->dest);
}

/* Each member adds up a part, or takes it from the root, and gives it to the others, or the root.
 */
static void set_add_and_give(const struct gsh_team *team, const struct gsh_lines_call *c,
                             uint64_t n_lines, uint32_t line_bytes, struct gsh_lines_item *t)
{
    const uint64_t n = (uint64_t)team->n_pes, me = (uint64_t)team->my_index;
    const bool is_root = team->my_index == c->root;
    const bool is_broadcast = c->kind == GSH_LINES_BROADCAST,
               is_reduce = c->kind == GSH_LINES_REDUCE;
    t->way = GSH_LINES_ADD_AND_GIVE;
    t->block_bytes = gsh_lines_divide_up(n_lines, n) * line_bytes;
    t->source_step = t->dest_step = t->part_step = t->block_bytes;
    t->gives = !is_broadcast || is_root ? GSH_LINES_ALL : GSH_LINES_NOBODY;
    t->takes = is_broadcast ? GSH_LINES_ROOT : GSH_LINES_ALL;
    t->gives2 = is_reduce ? GSH_LINES_ROOT : GSH_LINES_ALL;
    t->takes2 = is_reduce ? (is_root ? GSH_LINES_ALL : GSH_LINES_NOBODY)
                          : (is_broadcast && is_root ? GSH_LINES_NOBODY : GSH_LINES_ALL);
    t->result = is_reduce && !is_root ? 0 : address(c->dest) + me * t->block_bytes;
    if (is_broadcast && is_root) {
        t->own_dest = unless_same(c->dest, c->source);
        t->result = t->own_dest == 0 ? 0 : t->result;
    }
}

/* Whether all data go to all at once: which costs a link (n - 1) times the bytes, and not twice a
 * part for each other member, but half of the time until they are there. A broadcast: the root's
 * link has that much more. */
static bool is_flat(const struct gsh_instance *pe, const struct gsh_lines_call *c, uint64_t n)
{
    const uint64_t more = c->kind == GSH_LINES_BROADCAST ? n - 2 : (n - 2) * (n - 1) / n + (n > 2);
    return n <= 2 || c->bytes <= pe->coll_table.lines_flat / more;
}

/* Of two members one gives, and nothing is computed. */
static bool is_one_way(const struct gsh_lines_call *c)
{
    return c->kind == GSH_LINES_BROADCAST || c->kind == GSH_LINES_GATHER ||
           c->kind == GSH_LINES_SCATTER;
}

static bool may_be_read(const struct gsh_instance *pe, const struct gsh_lines_call *c, int n)
{
    return c->may_read && n == 2 && c->bytes > pe->coll_table.read_above &&
           (is_one_way(c) || (c->kind == GSH_LINES_REDUCE && c->scaling != GSH_LINES_MULTIPLIED));
}

static bool is_usual_sum(enum gsh_lines_fold fold, enum gsh_element element,
                         enum gsh_lines_scaling scaling)
{
    return fold == GSH_LINES_FOLD_sum_float && scaling != GSH_LINES_DIVIDED &&
           (element == GSH_ELEMENT_float || element == GSH_ELEMENT_half ||
            element == GSH_ELEMENT_bfloat16);
}

static bool is_swap(const struct gsh_lines_call *c)
{
    return c->kind == GSH_LINES_ALL_GATHER || c->kind == GSH_LINES_ALL_TO_ALL;
}

/* Whether the data can go in pieces. */
static bool may_piece(const struct gsh_instance *pe, const struct gsh_lines_inbox *inbox,
                      const struct gsh_lines_call *c, int n)
{
    return c->pieces != NULL && n == 2 && inbox->slot_lines >= PIECES_LINES &&
           (is_one_way(c) || is_swap(c) ||
            ((c->kind == GSH_LINES_ALL_REDUCE || c->kind == GSH_LINES_REDUCE) &&
             c->scaling == GSH_LINES_NOT_SCALED &&
             is_usual_sum(fold_of(c->op, c->element), c->element, c->scaling))) &&
           !may_be_read(pe, c, n);
}

/* Above how many bytes, of all calls of a launch, that is worth it. */
static uint32_t pieces_above(const struct gsh_instance *pe, const struct gsh_lines_call *c)
{
    return c->kind == GSH_LINES_ALL_REDUCE ? pe->coll_table.sums_in_pieces
           : c->kind == GSH_LINES_REDUCE   ? pe->coll_table.reduce_in_pieces
           : is_swap(c)                    ? pe->coll_table.swaps_in_pieces
                                           : pe->coll_table.pieces_above;
}

/* Whether the second call can share the launch of the first, if both go in pieces. */
static bool is_like(const struct gsh_lines_call *a, const struct gsh_lines_call *b)
{
    return a->kind == b->kind && a->pieces == b->pieces && a->shares_pieces == b->shares_pieces;
}

static void set_item(const struct gsh_instance *pe, const struct gsh_team *team,
                     const struct gsh_lines_inbox *inbox, const struct gsh_lines_call *c,
                     bool may_piece, struct gsh_lines_item *t)
{
    const uint64_t n = (uint64_t)team->n_pes;
    const uint64_t n_lines = gsh_lines_divide_up(c->bytes, inbox->line_bytes);
    const bool computes = c->kind <= GSH_LINES_REDUCE_SCATTER;
    const bool may_share = c->kind == GSH_LINES_ALL_REDUCE || c->kind == GSH_LINES_REDUCE ||
                           c->kind == GSH_LINES_BROADCAST;
    *t = (struct gsh_lines_item){
        .dest = address(c->dest),
        .source = address(c->source),
        .block_bytes = c->bytes,
        .total_bytes = c->bytes,
        .root = c->root,
        .scalar = c->scalar,
        .scalar_at = address(c->scalar_at),
        .fold = (uint8_t)(computes ? fold_of(c->op, c->element) : GSH_LINES_FOLD_NONE),
        .element = (uint8_t)(computes && c->op > GSH_REDUCE_xor ? c->element : GSH_ELEMENT_bits),
        .scaling = (uint8_t)(computes ? c->scaling : GSH_LINES_NOT_SCALED),
    };
    t->may_piece = may_piece;
    t->shares_slots = t->may_piece && c->shares_pieces;
    if (may_share && !is_flat(pe, c, n)) {
        set_add_and_give(team, c, n_lines, inbox->line_bytes, t);
    } else if (computes) {
        set_add(team, c, t);
    } else {
        set_move(team, c, t);
    }
    if (may_be_read(pe, c, (int)n)) {
        const uint64_t other = (uint64_t)(1 - team->my_index);
        t->may_read = 1;
        t->readable = c->readable != NULL
                          ? gsh_symmetric_off(pe, c->readable) + other * t->source_step + 1
                          : 0;
    }
}

/* ---- the launch ---- */

/* What all items of a launch have together. */
struct all_items {
    uint32_t n;
    uint64_t n_lines; /* of one block of each */
};

/* How many blocks are best for an item of so many lines. Items of two members have as many as one
 * that is alone, as long as there are so many blocks, and else their shares of all of them: each
 * has blocks of its own, and all are under way at the same time. */
static uint32_t blocks_for(const struct gsh_lines_inbox *inbox, uint32_t n_others,
                           const struct all_items *all, uint64_t n_lines)
{
    const uint32_t usual = n_others < GROUPS ? GROUPS / n_others : 1;
    const uint32_t few = usual < LINES_ALONE ? usual : LINES_ALONE;
    const uint32_t n_channels = inbox->n_channels;
    if (all->n > 1 && (n_others > 1 || n_channels < all->n || all->n_lines > MOST_AT_ONCE)) {
        return gsh_lines_blocks(inbox, n_lines, usual);
    }
    const uint32_t blocks = gsh_lines_blocks(inbox, n_lines, few);
    if (all->n == 1 || all->n_lines / few + all->n <= n_channels) {
        return blocks;
    }
    const uint64_t share = 1 + (n_channels - all->n) * n_lines / all->n_lines;
    return (uint32_t)gsh_min_u64(blocks, share);
}

/* Says which blocks have which lines. Items that follow each other have other blocks as long as
 * there are some: these work at the same time. */
static void share_out(const struct gsh_lines_inbox *inbox, uint32_t n_others,
                      struct gsh_block_limit limit, const struct all_items *all,
                      struct gsh_lines_item *t, uint32_t *next_block, uint32_t *n_threads)
{
    const uint64_t n_lines = gsh_lines_divide_up(t->block_bytes, inbox->line_bytes);
    const unsigned best = blocks_for(inbox, n_others, all, n_lines);
    const struct gsh_lines_rounds p =
        gsh_lines_plan(inbox, n_lines, gsh_block_limit_apply(limit, best, inbox->n_channels));
    const uint64_t groups = t->way == GSH_LINES_MOVE ? (uint64_t)p.lines * n_others : p.lines;
    const uint64_t threads = gsh_align_up(groups * GSH_LINE_THREADS, 32);
    t->n_rounds = p.n_rounds;
    t->lines = p.lines;
    t->n_blocks = (uint16_t)p.n_blocks;
    *next_block = *next_block + p.n_blocks <= inbox->n_channels ? *next_block : 0;
    t->first_block = (uint16_t)*next_block;
    *next_block += p.n_blocks;
    *n_threads = (uint32_t)gsh_max_u64(*n_threads, gsh_min_u64(threads, GSH_LINES_THREADS_MAX));
}

/* The same for items that go in pieces: each has its share of the blocks, and all are under way at
 * the same time. With fewer blocks than items, each has all of them. */
static void share_out_pieces(const struct gsh_instance *pe, const struct gsh_lines_inbox *inbox,
                             struct gsh_block_limit limit, const struct all_items *all,
                             struct gsh_lines_item *t, uint32_t *next_block, bool *has_helpers)
{
    const bool is_cuda = pe->device_ops->memory != GSH_MEMORY_HOST;
    const uint64_t n_lines = gsh_lines_divide_up(t->block_bytes, inbox->line_bytes);
    const uint32_t room = is_cuda ? GSH_PIECES_BLOCKS_CUDA : GSH_PIECES_BLOCKS_CPU;
    const uint32_t most = gsh_min_u64(room, inbox->n_channels);
    const bool have_own = most >= all->n;
    const uint32_t share =
        have_own ? (uint32_t)(1 + (most - all->n) * n_lines / all->n_lines) : most;
    struct gsh_lines_inbox rounds = *inbox;
    rounds.slot_lines = inbox->slot_lines / PIECES_LINES * PIECES_LINES;
    const struct gsh_lines_rounds p =
        gsh_lines_plan(&rounds, n_lines, gsh_block_limit_apply(limit, share, share));
    t->lines = rounds.slot_lines;
    t->n_rounds = (uint32_t)gsh_lines_divide_up(gsh_lines_divide_up(n_lines, p.n_blocks), t->lines);
    t->n_blocks = (uint16_t)p.n_blocks;
    t->first_block = (uint16_t)*next_block;
    *next_block += have_own ? p.n_blocks : 0;
    *has_helpers = *has_helpers && is_cuda && (limit.most == 0 || limit.most >= 2 * p.n_blocks);
}

/* The smallest kernel that can carry the item out; those of_two and of_more can carry out any, if
 * the team has as many members. */
static enum gsh_lines_kernel kernel_of(const struct gsh_lines_item *t, int n_members)
{
    const bool is_usual = is_usual_sum(t->fold, t->element, t->scaling);
    if (t->may_piece != 0) {
        return t->way == GSH_LINES_MOVE ? GSH_COLL_KERNEL_pieces_move
                                        : GSH_COLL_KERNEL_pieces_sums_of_two;
    }
    if (t->may_read != 0) {
        return t->way == GSH_LINES_MOVE ? GSH_COLL_KERNEL_lines_read_move
               : is_usual               ? GSH_COLL_KERNEL_lines_read_sums_of_two
                                        : GSH_COLL_KERNEL_lines_read_of_two;
    }
    if (t->way == GSH_LINES_MOVE) {
        return t->n_rounds < GSH_LINES_LONG ? GSH_COLL_KERNEL_lines_move
                                            : GSH_COLL_KERNEL_lines_long_move;
    }
    if (n_members > 2) {
        return GSH_COLL_KERNEL_lines_of_more;
    }
    if (!is_usual) {
        return GSH_COLL_KERNEL_lines_of_two;
    }
    return t->n_rounds < GSH_LINES_LONG ? GSH_COLL_KERNEL_lines_sums_of_two
                                        : GSH_COLL_KERNEL_lines_long_sums_of_two;
}

/* Of what power of two all that the item says of memory is a multiple. */
static uint64_t alignment_of(const struct gsh_lines_item *t)
{
    const uint64_t all = t->dest | t->source | t->result | t->own_dest | t->source_step |
                         t->dest_step | t->block_bytes;
    return all & -all;
}

/* Whether two members' item is of the kinds for which there are short kernels, on memory of such an
 * alignment. The other member may take another kernel. */
static bool may_be_short(const struct gsh_lines_inbox *inbox, const struct gsh_lines_item *t,
                         int n_members, uint64_t alignment)
{
    const bool is_sum = t->way == GSH_LINES_ADD && t->scaling == GSH_LINES_NOT_SCALED &&
                        is_usual_sum(t->fold, t->element, t->scaling);
    return n_members == 2 && t->may_read == 0 && t->may_piece == 0 &&
           (t->way == GSH_LINES_MOVE || is_sum) && alignment_of(t) >= alignment &&
           (inbox->line_bytes == GSH_LINE_BYTES_CPU || inbox->line_room == GSH_LINE_ROOM_WHOLE);
}
/* Whether the shortest kernels can carry out the item, alone in its launch. */
static bool is_short(const struct gsh_lines_inbox *inbox, const struct gsh_lines_item *t,
                     int n_members)
{
    return may_be_short(inbox, t, n_members, 4) && t->n_rounds == 1 && t->lines <= SHORT_GROUPS;
}
bool gsh_lines_have_short(const struct gsh_lines_inbox *inbox, int n_members,
                          const struct gsh_lines_call *call)
{
    const uint64_t one_round = (uint64_t)SHORT_GROUPS * inbox->n_channels * inbox->line_bytes;
    return n_members == 2 && call->bytes % 4 == 0 && call->bytes <= one_round &&
           inbox->line_room == GSH_LINE_ROOM_WHOLE &&
           (call->kind > GSH_LINES_REDUCE_SCATTER ||
            is_usual_sum(fold_of(call->op, call->element), call->element, call->scaling));
}
static enum gsh_lines_kernel short_kernel_of(const struct gsh_lines_item *t)
{
    const bool is_move = t->way == GSH_LINES_MOVE;
    if (alignment_of(t) >= 8) {
        return is_move ? GSH_COLL_KERNEL_lines_short_move : GSH_COLL_KERNEL_lines_short_sums;
    }
    return is_move ? GSH_COLL_KERNEL_lines_short_move_by_4 : GSH_COLL_KERNEL_lines_short_sums_by_4;
}

/* Whether the kernels in steps can carry out all items of the launch, and are worth it. */
static bool are_in_steps(const struct gsh_lines_inbox *inbox, const struct gsh_lines_item *t,
                         uint32_t n, int n_members)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < n; next += t[i].n_blocks, i++) {
        if (!may_be_short(inbox, &t[i], n_members, 8) || t[i].way != t->way ||
            t[i].first_block != next || t[i].n_rounds > STEPS_ROUNDS) {
            return false;
        }
    }
    return true;
}
/* A group of threads for each line that a block has under way, as far as there are some. */
static uint32_t short_threads(const struct gsh_lines_item *t, uint32_t n)
{
    uint64_t lines = 0;
    for (uint32_t i = 0; i < n; i++) {
        lines = gsh_max_u64(
            lines, t[i].lines * gsh_min_u64(t[i].n_rounds, (uint64_t)GSH_LINES_ROUNDS_AHEAD));
    }
    return (uint32_t)gsh_min_u64(gsh_align_up(lines * GSH_LINE_THREADS, 32),
                                 GSH_LINES_SHORT_THREADS);
}

static bool is_of_moves(uint32_t kernel)
{
    return kernel == GSH_COLL_KERNEL_lines_move || kernel == GSH_COLL_KERNEL_lines_long_move ||
           kernel == GSH_COLL_KERNEL_lines_read_move;
}
static bool is_of_sums(uint32_t kernel)
{
    return kernel == GSH_COLL_KERNEL_lines_sums_of_two ||
           kernel == GSH_COLL_KERNEL_lines_long_sums_of_two ||
           kernel == GSH_COLL_KERNEL_lines_read_sums_of_two;
}

/* One that can carry out items of both kinds. */
static uint32_t kernel_of_both(uint32_t a, uint32_t b, int n_members)
{
    const bool are_moves = is_of_moves(a) && is_of_moves(b);
    const bool are_sums = is_of_sums(a) && is_of_sums(b);
    if (a == b) {
        return a;
    }
    if (a >= GSH_COLL_KERNEL_lines_read_move || b >= GSH_COLL_KERNEL_lines_read_move) {
        return are_moves  ? GSH_COLL_KERNEL_lines_read_move
               : are_sums ? GSH_COLL_KERNEL_lines_read_sums_of_two
                          : GSH_COLL_KERNEL_lines_read_of_two;
    }
    return are_moves       ? GSH_COLL_KERNEL_lines_long_move
           : are_sums      ? GSH_COLL_KERNEL_lines_long_sums_of_two
           : n_members > 2 ? GSH_COLL_KERNEL_lines_of_more
                           : GSH_COLL_KERNEL_lines_of_two;
}

uint64_t gsh_lines_pieces_bytes(const struct gsh_instance *pe, uint64_t *zeroes)
{
    const bool is_cuda = pe->device_ops->memory != GSH_MEMORY_HOST;
    const uint32_t n_warps = is_cuda ? GSH_PIECES_WARPS_CUDA : GSH_PIECES_WARPS_CPU;
    const uint32_t n_blocks = is_cuda ? GSH_PIECES_BLOCKS_CUDA : GSH_PIECES_BLOCKS_CPU;
    *zeroes = gsh_pieces_slot_off(n_blocks, n_warps, 0);
    return gsh_pieces_slot_off(n_blocks, n_warps, n_blocks * n_warps);
}

static enum gsh_result launch_at_once(struct gsh_coll_site site, struct gsh_instance *pe,
                                      const struct gsh_team *team,
                                      const struct gsh_lines_inbox *inbox,
                                      const struct gsh_lines_call *calls, int n, bool are_in_pieces)
{
    struct gsh_kernel_lines_args args; /* large: only what is there is filled in */
    struct gsh_coll_launch l = {.kernel = GSH_COLL_KERNEL_lines_move, .team = team, .lines = &args};
    const uint32_t n_others = team->n_pes > 1 ? (uint32_t)team->n_pes - 1 : 1;
    uint32_t next_block = 0;
    bool has_helpers = true;
    args.team = team->state;
    args.inbox = *inbox;
    args.inbox.pieces = are_in_pieces ? gsh_symmetric_off(pe, calls->pieces) + 1 : 0;
    args.n_items = (uint32_t)n;
    args.reserved = 0;
    gsh_waits_copy_call(args.call, sizeof(args.call), site.call);
    const uint32_t site_number = gsh_waits_site_number();
    struct all_items all = {.n = (uint32_t)n};
    for (int i = 0; i < n; i++) {
        struct gsh_lines_item *t = &args.item[i];
        set_item(pe, team, inbox, &calls[i], are_in_pieces, t);
        t->site = calls[i].site != 0 ? calls[i].site : site_number;
        all.n_lines += gsh_lines_divide_up(t->block_bytes, inbox->line_bytes);
    }
    for (int i = 0; i < n; i++) {
        struct gsh_lines_item *t = &args.item[i];
        if (are_in_pieces) {
            share_out_pieces(pe, inbox, calls[i].blocks, &all, t, &next_block, &has_helpers);
            l.n_threads = GSH_PIECES_THREADS;
        } else {
            share_out(inbox, n_others, calls[i].blocks, &all, t, &next_block, &l.n_threads);
        }
        l.n_blocks = (uint32_t)gsh_max_u64(l.n_blocks, (uint64_t)t->first_block + t->n_blocks);
        const uint32_t kernel = kernel_of(t, team->n_pes);
        l.kernel = i == 0 ? kernel : kernel_of_both(l.kernel, kernel, team->n_pes);
    }
    if (are_in_pieces && has_helpers) {
        for (int i = 0; i < n; i++) {
            args.item[i].has_helpers = 1;
        }
        l.n_blocks *= 2;
    }
    if (n == 1 && is_short(inbox, args.item, team->n_pes)) {
        l.kernel = short_kernel_of(args.item);
        l.n_threads = short_threads(args.item, all.n);
    } else if (are_in_steps(inbox, args.item, all.n, team->n_pes)) {
        l.kernel = args.item->way == GSH_LINES_MOVE ? GSH_COLL_KERNEL_lines_steps_move
                                                    : GSH_COLL_KERNEL_lines_steps_sums;
        l.n_threads = short_threads(args.item, all.n);
    }
    return site.is_on_stream ? pe->device_ops->stream_coll(pe, &l, site.stream)
                             : pe->device_ops->coll(pe, &l);
}

/* How many of the n calls go in pieces in one launch: the first one and those behind it that are
 * like it, or none. */
static int n_in_pieces(const struct gsh_instance *pe, const struct gsh_lines_inbox *inbox,
                       const struct gsh_lines_call *calls, int n, int n_members)
{
    uint64_t bytes = 0;
    int i = 0;
    while (i < n && may_piece(pe, inbox, &calls[i], n_members) && is_like(calls, &calls[i])) {
        bytes += calls[i++].bytes;
    }
    return i > 0 && bytes > pieces_above(pe, calls) ? i : 0;
}

enum gsh_result gsh_lines_launch(struct gsh_coll_site site, struct gsh_instance *pe,
                                 const struct gsh_team *team, const struct gsh_lines_inbox *inbox,
                                 const struct gsh_lines_call *calls, int n)
{
    enum gsh_result r = GSH_OK;
    for (int first = 0, end; r == GSH_OK && first < n; first = end) {
        const int in_pieces = n_in_pieces(pe, inbox, &calls[first], n - first, team->n_pes);
        end = first + (in_pieces > 0 ? in_pieces : 1);
        while (in_pieces == 0 && end < n &&
               n_in_pieces(pe, inbox, &calls[end], n - end, team->n_pes) == 0) {
            end++;
        }
        r = launch_at_once(site, pe, team, inbox, &calls[first], end - first, in_pieces > 0);
    }
    return r;
}
