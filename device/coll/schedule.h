/* SPDX-License-Identifier: Apache-2.0
 * The schedule of a collective over several nodes: who sends what to whom, in which order, as pure
 * functions of the team, the call and the number of a phase. Kernels walk it (coll/far.cuh and
 * coll/far_leaders.cuh), for calls in kernels and for the library's own launches alike. A unit test
 * walks it for all members at once and proves that no member waits for what nobody sends, and that
 * nothing is written too early (tests/unit/coll_schedule.c). Compiles as C17, C++17 and CUDA; C
 * standard headers only.
 *
 * In each phase a member sends its messages, in the order in which gsh_next_message gives them.
 * Then it awaits ("hears") those of others, in any order (gsh_heard). Each message is a put with
 * its signal. It belongs to a far step, which is counted from 0 in the call.
 * docs/internals/collectives.md has the phases of each collective, and what members do between
 * messages. */
#ifndef GSHMEM_COLL_SCHEDULE_H
#define GSHMEM_COLL_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>
#include "../../wire/coll.h"
#include "../../wire/state.h"

#if defined(__CUDACC__)
#define GSH_COLL_INLINE static __host__ __device__ __forceinline__
#else
#define GSH_COLL_INLINE static inline
#endif

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Sizes are in bytes; all but those of last parts are multiples of this, so elements of any type
 * are whole. */
#define GSH_COLL_ALIGN 16u

struct gsh_range {
    uint64_t begin, bytes;
};

/* Rounds a block's size up, so that elements of any type in the next block are aligned. */
GSH_COLL_INLINE uint64_t gsh_coll_block_bytes(uint64_t bytes)
{
    return (bytes + GSH_COLL_ALIGN - 1) / GSH_COLL_ALIGN * GSH_COLL_ALIGN;
}

/* Part i of n bytes in equal parts, each a multiple of GSH_COLL_ALIGN. */
GSH_COLL_INLINE struct gsh_range gsh_equal_part(uint64_t n, uint32_t n_parts, uint32_t i)
{
    const uint64_t each = gsh_coll_block_bytes((n + n_parts - 1) / n_parts);
    struct gsh_range r;
    r.begin = each * i < n ? each * i : n;
    r.bytes = n - r.begin < each ? n - r.begin : each;
    return r;
}

/* The size of n_slots slots in a half of a work area; piece: the most bytes in one. */
GSH_COLL_INLINE uint64_t gsh_slot_of(uint64_t half_bytes, uint64_t n_slots, uint64_t piece)
{
    const uint64_t bytes = half_bytes / n_slots < piece ? half_bytes / n_slots : piece;
    return bytes / GSH_COLL_ALIGN * GSH_COLL_ALIGN;
}

/* The bytes of a scan that go at once. A half holds that many of each node and, behind them, of the
 * result; if the team is not in the order of nodes, of each member. */
GSH_COLL_INLINE uint64_t gsh_scan_piece_bytes(const struct gsh_team_state *t, uint64_t half_bytes,
                                              uint64_t piece)
{
    const int n_slots = !t->is_node_by_node      ? t->n_pes
                        : t->n_nodes == t->n_pes ? t->n_nodes
                                                 : t->n_nodes + 1;
    return gsh_slot_of(half_bytes, (uint64_t)n_slots, piece);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The team's table of all members, node by node. */
GSH_COLL_INLINE const int32_t *gsh_members_by_node(const struct gsh_team_state *t)
{
    return (const int32_t *)(uintptr_t)t->near - t->near_begin;
}

/* Where each node begins in it; node n_nodes: the table's end. */
GSH_COLL_INLINE int32_t gsh_node_begin(const struct gsh_team_state *t, int32_t node)
{
    return (gsh_members_by_node(t) + t->n_pes)[node];
}
GSH_COLL_INLINE int32_t gsh_node_size(const struct gsh_team_state *t, int32_t node)
{
    return gsh_node_begin(t, node + 1) - gsh_node_begin(t, node);
}
/* Member i of that node, the leader being 0: its number in the team. */
GSH_COLL_INLINE int32_t gsh_member_of(const struct gsh_team_state *t, int32_t node, int32_t i)
{
    return gsh_members_by_node(t)[gsh_node_begin(t, node) + i];
}

/* The node that comes i nodes after this PE's, cyclically; i is at most n_nodes. */
GSH_COLL_INLINE int32_t gsh_node_after(const struct gsh_team_state *t, int32_t i)
{
    const int32_t node = t->my_node + i;
    return node < t->n_nodes ? node : node - t->n_nodes;
}

/* How many nodes the node of that member comes after `node`, cyclically. */
GSH_COLL_INLINE int32_t gsh_nodes_to(const struct gsh_team_state *t, int32_t node, int32_t member)
{
    int32_t position = 0, its = 0;
    while (gsh_members_by_node(t)[position] != member)
        position++;
    while (gsh_node_begin(t, its + 1) <= position)
        its++;
    return its < node ? its - node + t->n_nodes : its - node;
}

/* ---- the leaders' rounds ----------------------------------------------------------------------
 */

/* A leader's half of a work area has a block for each node, or for each member, starting with its
 * own node's. In the round of distance d = 1, 2, 4, ... below n_nodes a leader sends the beginning
 * of its half to the leader d nodes before it: d blocks, or fewer if fewer are missing there. In
 * the receiver's half they lie d nodes further on. Then it hears the leader d nodes after it. All
 * rounds are one far step. */
struct gsh_round {
    int32_t to, from; /* members */
    uint64_t at;      /* in the half of `to` */
    uint64_t bytes;
};

/* The size of what `count` nodes, starting with `node`, have, in blocks of `block` bytes. */
GSH_COLL_INLINE uint64_t gsh_blocks_bytes(const struct gsh_team_state *t, int32_t node,
                                          int32_t count, uint64_t block, bool is_by_member)
{
    const int32_t end = node + count;
    if (!is_by_member || count == 0)
        return (uint64_t)count * block;
    const int32_t n =
        gsh_node_begin(t, end > t->n_nodes ? end - t->n_nodes : end) - gsh_node_begin(t, node);
    return (uint64_t)(end > t->n_nodes ? n + t->n_pes : n) * block;
}

/* With block 0 the messages are signals alone. */
GSH_COLL_INLINE struct gsh_round gsh_round_of(const struct gsh_team_state *t, int32_t distance,
                                              uint64_t block, bool is_by_member)
{
    const int32_t rest = t->n_nodes - distance, to = gsh_node_after(t, rest);
    struct gsh_round r;
    r.to = gsh_member_of(t, to, 0);
    r.from = gsh_member_of(t, gsh_node_after(t, distance), 0);
    r.at = gsh_blocks_bytes(t, to, distance, block, is_by_member);
    r.bytes =
        gsh_blocks_bytes(t, t->my_node, distance < rest ? distance : rest, block, is_by_member);
    return r;
}

/* In a broadcast all bytes go down a tree of nodes within these rounds. Returns whether the leader
 * `before` nodes before the root's node passes them on in this round, or sends a signal alone. */
GSH_COLL_INLINE bool gsh_round_gives(const struct gsh_team_state *t, int32_t distance,
                                     int32_t before)
{
    return before < distance && before + distance < t->n_nodes;
}

/* ---- calls between partners -------------------------------------------------------------------
 */

/* What a call needs to know, apart from who this PE is. */
struct gsh_schedule {
    const struct gsh_team_state *team;
    uint64_t bytes;       /* of a member's part; reduce, broadcast: of everything */
    uint64_t begin;       /* collect, fcollect: where this PE's part begins in dest */
    uint64_t piece_bytes; /* of these bytes go at once */
    uint64_t slot_bytes;  /* reduce, reducescatter: from one slot in a half to the next */
    uint64_t n_pieces, n_phases;
    uint64_t n_steps;      /* far steps */
    int32_t number, reach; /* broadcast: in the tree; how far the first child is */
    int32_t parent;        /* a member */
    uint32_t ahead_at_end; /* so many answers are heard after the last piece has been given */
};

/* Where a message's bytes are. Halves of the work area alternate with the pieces: HALF has those of
 * the call's first far step. */
enum gsh_buffer { GSH_BUFFER_DEST, GSH_BUFFER_SOURCE, GSH_BUFFER_HALF, GSH_BUFFER_OTHER_HALF };

struct gsh_coll_message {
    int32_t member;
    enum gsh_buffer to_buffer, from_buffer;
    uint64_t to, from; /* from the buffers' beginning */
    uint64_t bytes;    /* 0: a signal alone */
    uint64_t step;
};

/* A signal that this PE hears. */
struct gsh_signal {
    int32_t member;
    uint64_t step;
};

/* Where a phase's messages go on: zeroed before the first. */
struct gsh_cursor {
    int32_t ahead; /* messages to the nodes up to so many after this one are done */
    int32_t i;     /* and so many to the next */
    int32_t n_slots;
};

/* How many pieces a node of a broadcast may be behind its parent: answers go into the words of that
 * many steps, plus those of the step before. */
#define GSH_BROADCAST_AHEAD (GSH_SYNC_WORDS - 1)

GSH_COLL_INLINE struct gsh_schedule gsh_pieces(const struct gsh_team_state *t, uint64_t bytes,
                                               uint64_t most, uint64_t piece_bytes)
{
    struct gsh_schedule s;
    s.team = t;
    s.bytes = bytes;
    s.begin = 0;
    s.piece_bytes = piece_bytes;
    s.slot_bytes = piece_bytes;
    s.n_pieces = (most + piece_bytes - 1) / piece_bytes;
    s.n_phases = s.n_steps = s.n_pieces;
    s.number = s.reach = s.parent = 0;
    s.ahead_at_end = GSH_BROADCAST_AHEAD;
    return s;
}

/* Each member's part of its own size, the largest of which is `most`, at its own position. */
GSH_COLL_INLINE struct gsh_schedule gsh_schedule_collect(const struct gsh_team_state *t,
                                                         uint64_t bytes, uint64_t begin,
                                                         uint64_t most, uint64_t piece)
{
    struct gsh_schedule s = gsh_pieces(t, bytes, most, piece);
    s.begin = begin;
    s.n_phases = s.n_pieces + 1;
    return s;
}
GSH_COLL_INLINE struct gsh_schedule gsh_schedule_fcollect(const struct gsh_team_state *t,
                                                          uint64_t bytes, uint64_t piece)
{
    return gsh_schedule_collect(t, bytes, (uint64_t)t->my_index * bytes, bytes, piece);
}
GSH_COLL_INLINE struct gsh_schedule gsh_schedule_alltoall(const struct gsh_team_state *t,
                                                          uint64_t bytes)
{
    return gsh_pieces(t, bytes, bytes, bytes);
}

/* Of the members of the tree: the leaders and, on its node, the root instead. Node x, counted from
 * the root's, hears from the one whose number is x without its highest bit.
 *
 * At a call's end a node does not know whether its last answers have been heard. Nor does it know
 * that of the signal that all have arrived, on nodes to which it has sent nothing else. The next
 * call's first step needs words with none of these signals in them. If the step after the last
 * piece would use the words of the step in which all arrived, it is left out, and the last piece
 * waits for one more answer. */
GSH_COLL_INLINE struct gsh_schedule
gsh_schedule_broadcast(const struct gsh_team_state *t, uint64_t bytes, int32_t root, uint64_t piece)
{
    struct gsh_schedule s = gsh_pieces(t, bytes, bytes, piece);
    const int32_t root_node = gsh_nodes_to(t, 0, root);
    s.number =
        t->my_node < root_node ? t->my_node - root_node + t->n_nodes : t->my_node - root_node;
    s.reach = 1; /* the smallest power of two above the number */
    while (s.reach <= s.number)
        s.reach *= 2;
    const int32_t above = s.number - s.reach / 2;
    s.parent = above <= 0 ? root : gsh_member_of(t, (above + root_node) % t->n_nodes, 0);
    if ((s.n_pieces + 1) % GSH_SYNC_WORDS == 0) {
        s.ahead_at_end--;
        s.n_steps++;
    }
    s.n_phases = 2 * s.n_pieces + s.ahead_at_end;
    return s;
}

/* On each node the first n_stripes near members, each a stripe, own one segment of each piece. The
 * members that own the same segment on their nodes exchange it among themselves; the one on node i
 * adds up its i-th share. half_bytes: half of the channel's work area; piece: the most bytes in a
 * share. */
GSH_COLL_INLINE struct gsh_schedule gsh_schedule_reduce(const struct gsh_team_state *t,
                                                        uint64_t bytes, uint64_t half_bytes,
                                                        uint64_t piece)
{
    const uint64_t n_nodes = (uint64_t)t->n_nodes, slot = gsh_slot_of(half_bytes, n_nodes, piece);
    struct gsh_schedule s = gsh_pieces(t, bytes, bytes, slot * n_nodes * (uint64_t)t->n_stripes);
    s.slot_bytes = slot;
    s.n_phases = s.n_pieces + 2;
    s.n_steps = 2 * s.n_pieces;
    return s;
}

/* On every node, one member adds up each member's part of a piece: the one whose number is that
 * member's, modulo the node's size. A half has a slot for each node and, behind them, slots in
 * which sums wait to be sent: one for each member on another node whose part this PE adds up. A
 * node has at most one such member for every n_stripes of its members, rounded up. */
GSH_COLL_INLINE struct gsh_schedule gsh_schedule_reducescatter(const struct gsh_team_state *t,
                                                               uint64_t bytes, uint64_t half_bytes,
                                                               uint64_t piece)
{
    const int32_t n_passed = t->n_pes / t->n_stripes + t->n_nodes;
    const uint64_t n_slots = (uint64_t)(t->n_nodes + (n_passed < t->n_pes ? n_passed : t->n_pes));
    return gsh_pieces(t, bytes, bytes, gsh_slot_of(half_bytes, n_slots, piece));
}

/* ---- pieces ---- */

/* Piece t of a part of that many bytes; empty if there is no such piece. */
GSH_COLL_INLINE struct gsh_range gsh_piece(const struct gsh_schedule *s, uint64_t bytes, uint64_t t)
{
    struct gsh_range r = {0, 0};
    if (t < s->n_pieces && t * s->piece_bytes < bytes) {
        r.begin = t * s->piece_bytes;
        r.bytes = bytes - r.begin < s->piece_bytes ? bytes - r.begin : s->piece_bytes;
    }
    return r;
}

/* A reduce: this PE's segment of piece t; empty if it has none, or there is no such piece. */
GSH_COLL_INLINE struct gsh_range gsh_segment(const struct gsh_schedule *s, uint64_t t)
{
    const struct gsh_range piece = gsh_piece(s, s->bytes, t);
    struct gsh_range r = {0, 0};
    if (s->team->my_near < s->team->n_stripes) {
        r = gsh_equal_part(piece.bytes, (uint32_t)s->team->n_stripes, (uint32_t)s->team->my_near);
        r.begin += piece.begin;
    }
    return r;
}

/* Node `node`'s share of it. */
GSH_COLL_INLINE struct gsh_range gsh_share(const struct gsh_schedule *s, uint64_t t, int32_t node)
{
    const struct gsh_range segment = gsh_segment(s, t);
    struct gsh_range r = gsh_equal_part(segment.bytes, (uint32_t)s->team->n_nodes, (uint32_t)node);
    r.begin += segment.begin;
    return r;
}

/* The half in which piece t waits to be added up. */
GSH_COLL_INLINE enum gsh_buffer gsh_half_of_piece(uint64_t t)
{
    return t % 2 == 0 ? GSH_BUFFER_HALF : GSH_BUFFER_OTHER_HALF;
}

/* ---- who tells whom ---- */

/* The far steps of a phase. */
struct gsh_step_range {
    uint64_t first, n;
};

/* A reduce has two for each piece: its shares go to the members that add them up, and the sums come
 * back, alongside the shares of the next piece. */
GSH_COLL_INLINE struct gsh_step_range gsh_steps_sent(enum gsh_coll coll,
                                                     const struct gsh_schedule *s, uint64_t phase)
{
    struct gsh_step_range r = {phase, phase < s->n_pieces ? 1u : 0u};
    if (coll == GSH_COLL_REDUCE) {
        const uint64_t end = 2 * phase + 1;
        r.first = phase == 0 ? 0 : 2 * phase - 1;
        r.n = r.first >= s->n_steps ? 0 : (end < s->n_steps ? end : s->n_steps) - r.first;
    }
    return r;
}

/* A collect hears a piece one phase later: it passes it on to near members while the next one
 * travels. */
GSH_COLL_INLINE struct gsh_step_range gsh_steps_heard(enum gsh_coll coll,
                                                      const struct gsh_schedule *s, uint64_t phase)
{
    const bool is_later = coll == GSH_COLL_COLLECT || coll == GSH_COLL_FCOLLECT;
    const struct gsh_step_range none = {0, 0};
    if (!is_later)
        return gsh_steps_sent(coll, s, phase);
    return phase == 0 ? none : gsh_steps_sent(coll, s, phase - 1);
}

/* The number, on a node with `size` members, of the i-th member to which this PE sends and which it
 * hears; -1: no more. In an alltoall these are all members, staggered so that a node's members do
 * not all target the same one. In a reduce it is the one of this PE's stripe, in each of n_steps
 * steps. Otherwise they are partners: if the node has a member with this PE's own number, that one
 * and all others whose partner this PE is; if not, this PE's partner alone. Messages go both ways,
 * as the words' invariants demand (state.h). */
GSH_COLL_INLINE int32_t gsh_counterpart(enum gsh_coll coll, const struct gsh_team_state *t,
                                        int32_t size, int32_t i, uint64_t n_steps)
{
    if (coll == GSH_COLL_ALLTOALL)
        return i < size ? (t->my_near + i) % size : -1;
    if (coll == GSH_COLL_REDUCE)
        return (uint64_t)i < n_steps && t->my_near < t->n_stripes ? t->my_near : -1;
    if (t->my_near >= size)
        return i == 0 ? t->my_near % size : -1;
    return t->my_near + i * t->n_near < size ? t->my_near + i * t->n_near : -1;
}

/* ---- down the tree of a broadcast ----
 * Phase 2p: await piece p from the parent. Phase 2p + 1: answer, and await the children's answers
 * for a piece so long ago that its words are free again. Phase 2p + 2: give piece p to the
 * children. The last phases await the last answers. */

/* The i-th child; -1: none. */
GSH_COLL_INLINE int32_t gsh_child(const struct gsh_schedule *s, int32_t i)
{
    const uint64_t further = (uint64_t)s->reach << i, n = (uint64_t)s->team->n_nodes;
    if ((uint64_t)s->number + further >= n)
        return -1;
    return gsh_member_of(s->team, gsh_node_after(s->team, (int32_t)further), 0);
}

/* The piece that a phase gives to the children; n_pieces or more: none. */
GSH_COLL_INLINE uint64_t gsh_piece_given(uint64_t phase)
{
    return phase % 2 == 0 ? phase / 2 - 1 : UINT64_MAX;
}

GSH_COLL_INLINE bool gsh_next_in_tree(const struct gsh_schedule *s, uint64_t phase,
                                      struct gsh_cursor *at, struct gsh_coll_message *m)
{
    const uint64_t given = gsh_piece_given(phase);
    const struct gsh_range p = gsh_piece(s, s->bytes, given);
    m->to_buffer = GSH_BUFFER_DEST;
    m->from_buffer = GSH_BUFFER_SOURCE;
    m->to = m->from = p.begin;
    m->bytes = p.bytes;
    if (given < s->n_pieces) {
        m->step = given;
        m->member = gsh_child(s, at->i++);
        return m->member >= 0;
    }
    m->step = phase / 2;
    m->member = s->parent;
    return phase % 2 == 1 && m->step < s->n_pieces && s->number > 0 && at->i++ == 0;
}

GSH_COLL_INLINE bool gsh_heard_in_tree(const struct gsh_schedule *s, uint64_t phase, int32_t row,
                                       int32_t i, struct gsh_signal *h)
{
    const uint64_t n = s->n_pieces, ahead = GSH_BROADCAST_AHEAD;
    if (phase % 2 == 0 && phase < 2 * n) {
        h->step = phase / 2;
        h->member = s->parent;
        return s->number > 0 && row == 0 && i == 0;
    }
    const uint64_t more = phase == 2 * n - 1 ? ahead - s->ahead_at_end : 0;
    h->step = phase < 2 * n ? phase / 2 - ahead + more - (uint64_t)i : phase - n - s->ahead_at_end;
    h->member = gsh_child(s, row);
    return (uint64_t)i <= more && h->step < n && h->member >= 0;
}

/* ---- the messages of a phase ---- */

/* The contents of a message to member `its` of that node, the i-th to which this PE sends there. */
GSH_COLL_INLINE void gsh_set_contents(enum gsh_coll coll, const struct gsh_schedule *s,
                                      int32_t node, int32_t i, struct gsh_cursor *at,
                                      struct gsh_coll_message *m)
{
    const struct gsh_team_state *t = s->team;
    const uint64_t slot = (uint64_t)t->my_node * s->slot_bytes;
    struct gsh_range r;
    m->to_buffer = GSH_BUFFER_DEST;
    m->from_buffer = GSH_BUFFER_SOURCE;
    switch (coll) {
    case GSH_COLL_ALLTOALL:
        m->to = (uint64_t)t->my_index * s->bytes;
        m->from = (uint64_t)m->member * s->bytes;
        m->bytes = s->bytes;
        break;
    case GSH_COLL_REDUCE:
        if (m->step % 2 == 0) { /* a share */
            r = gsh_share(s, m->step / 2, node);
            m->to_buffer = gsh_half_of_piece(m->step / 2);
            m->to = slot;
        } else { /* the sum */
            r = gsh_share(s, m->step / 2, t->my_node);
            m->to = r.begin;
        }
        m->from_buffer = GSH_BUFFER_DEST;
        m->from = r.begin;
        m->bytes = r.bytes;
        break;
    case GSH_COLL_REDUCESCATTER:
        m->to_buffer = m->from_buffer = gsh_half_of_piece(m->step);
        m->to = m->from = slot;
        m->bytes = 0;
        if (t->my_near < gsh_node_size(t, node)) { /* that member's part is added up here */
            m->from = (uint64_t)(t->n_nodes + at->n_slots++) * s->slot_bytes;
            m->bytes = gsh_piece(s, s->bytes, m->step).bytes;
        }
        break;
    default: /* the part, which one of the partners passes on to its near members */
        r = gsh_piece(s, s->bytes, m->step);
        m->to = s->begin + r.begin;
        m->from = r.begin;
        m->bytes = i == 0 ? r.bytes : 0;
    }
}

/* The next message that this PE sends in the phase; false: no more. coll: BROADCAST, COLLECT,
 * FCOLLECT, ALLTOALL, REDUCE or REDUCESCATTER. */
GSH_COLL_INLINE bool gsh_next_message(enum gsh_coll coll, const struct gsh_schedule *s,
                                      uint64_t phase, struct gsh_cursor *at,
                                      struct gsh_coll_message *m)
{
    const struct gsh_team_state *t = s->team;
    if (coll == GSH_COLL_BROADCAST)
        return gsh_next_in_tree(s, phase, at, m);
    const struct gsh_step_range steps = gsh_steps_sent(coll, s, phase);
    while (steps.n > 0 && at->ahead + 1 < t->n_nodes) {
        const int32_t node = gsh_node_after(t, at->ahead + 1), i = at->i;
        const int32_t its = gsh_counterpart(coll, t, gsh_node_size(t, node), i, steps.n);
        if (its < 0) {
            at->ahead++;
            at->i = 0;
            continue;
        }
        at->i++;
        m->member = gsh_member_of(t, node, its);
        m->step = coll == GSH_COLL_REDUCE ? steps.first + (uint64_t)i : steps.first;
        gsh_set_contents(coll, s, node, i, at, m);
        return true;
    }
    return false;
}

/* How many rows gsh_heard has. */
GSH_COLL_INLINE int32_t gsh_heard_rows(enum gsh_coll coll, const struct gsh_team_state *t)
{
    return coll == GSH_COLL_BROADCAST ? GSH_SYNC_ROUNDS : t->n_nodes - 1;
}

/* The i-th signal of a row that this PE hears in the phase; false: no more. Rows are independent of
 * each other. */
GSH_COLL_INLINE bool gsh_heard(enum gsh_coll coll, const struct gsh_schedule *s, uint64_t phase,
                               int32_t row, int32_t i, struct gsh_signal *h)
{
    if (coll == GSH_COLL_BROADCAST)
        return gsh_heard_in_tree(s, phase, row, i, h);
    const struct gsh_step_range steps = gsh_steps_heard(coll, s, phase);
    const int32_t node = gsh_node_after(s->team, row + 1);
    const int32_t its =
        steps.n == 0 ? -1
                     : gsh_counterpart(coll, s->team, gsh_node_size(s->team, node), i, steps.n);
    if (its < 0)
        return false;
    h->member = gsh_member_of(s->team, node, its);
    h->step = coll == GSH_COLL_REDUCE ? steps.first + (uint64_t)i : steps.first;
    return true;
}

#endif
