/* SPDX-License-Identifier: Apache-2.0
 * The walk of a collective in a kernel. Who sends what to whom is device/coll/schedule.h, which the
 * kernels walk, too; what members do between messages is as in coll/far.cuh and
 * coll/far_leaders.cuh. Copies and sums within a PE take no time here. */
#include "perftest/sim/engine.h"

enum stage { COME, ROUND, HEAR_ROUND, LEAVE, PHASE, HEAR_PHASE, TELL_NEAR, HEAR_NEAR, OVER };

/* What a message is for, above the number of its step or round. */
enum {
    COME_KEY = 1 << 28,
    ROUND_KEY = 2 << 28,
    LEAVE_KEY = 3 << 28,
    STEP_KEY = 4 << 28,
    NEAR_KEY = 5 << 28
};

enum { SIGNAL_BYTES = 8 };

static struct gsh_team_state team_of(const struct sim_view *v)
{
    const int on_node = (int)v->model->node_pes, n_nodes = (v->n_pes + on_node - 1) / on_node;
    const int node = v->pe / on_node, begin = node * on_node;
    const int rest = v->n_pes - begin, last = v->n_pes - (n_nodes - 1) * on_node;
    return (struct gsh_team_state){.n_pes = v->n_pes,
                                   .my_index = v->pe,
                                   .n_stripes = last,
                                   .near = (uint64_t)(uintptr_t)(v->nodes + begin),
                                   .n_nodes = n_nodes,
                                   .my_node = node,
                                   .n_near = rest < on_node ? rest : on_node,
                                   .my_near = v->pe - begin,
                                   .near_begin = begin,
                                   .is_node_by_node = true};
}

static struct gsh_schedule schedule_of(const struct sim_view *v, const struct gsh_team_state *t)
{
    const uint64_t bytes = v->call->bytes, piece = (uint64_t)v->model->far_piece,
                   half = (uint64_t)v->model->half_slot * (uint64_t)v->n_pes;
    switch (v->call->coll) {
    case GSH_COLL_BROADCAST:
        return gsh_schedule_broadcast(t, bytes, 0, piece);
    case GSH_COLL_FCOLLECT:
        return gsh_schedule_fcollect(t, bytes, piece);
    case GSH_COLL_ALLTOALL:
        return gsh_schedule_alltoall(t, bytes);
    case GSH_COLL_REDUCESCATTER:
        return gsh_schedule_reducescatter(t, bytes, half, piece);
    default:
        return gsh_schedule_reduce(t, bytes, half, piece);
    }
}

/* Near members, the leader or all others; false: there are no more. */
static bool next_near(struct sim_walk *w, const struct gsh_team_state *t, bool is_to_all,
                      struct sim_action *a)
{
    if (!is_to_all && t->my_near != 0) {
        a->other = gsh_member_of(t, t->my_node, 0);
        return w->i++ == 0;
    }
    w->i += w->i == t->my_near;
    if (w->i >= t->n_near) {
        return false;
    }
    a->other = gsh_member_of(t, t->my_node, w->i++);
    return true;
}

static void go_to(struct sim_walk *w, enum stage stage)
{
    w->stage = stage;
    w->i = w->row = 0;
    w->cursor = (struct gsh_cursor){0};
}

static struct gsh_round round_of(const struct sim_view *v, const struct gsh_team_state *t)
{
    const struct sim_call *call = v->call;
    const bool gives_blocks = call->is_by_leaders && call->coll != GSH_COLL_BROADCAST;
    const int32_t distance = 1 << v->walk->phase;
    struct gsh_round r =
        gsh_round_of(t, distance, gives_blocks ? gsh_coll_block_bytes(call->bytes) : 0,
                     call->coll == GSH_COLL_FCOLLECT);
    if (call->is_by_leaders && call->coll == GSH_COLL_BROADCAST) {
        const int32_t before = gsh_nodes_to(t, t->my_node, 0);
        r.bytes = gsh_round_gives(t, distance, before) ? call->bytes : 0;
    }
    return r;
}

/* In a broadcast only the tree's members walk the phases. */
static bool walks_phases(const struct sim_view *v, const struct gsh_team_state *t)
{
    return v->call->coll != GSH_COLL_BROADCAST || t->my_near == 0;
}

static void set_far(struct sim_action *a, int other, uint64_t bytes, uint32_t key)
{
    a->other = other;
    a->way = SIM_FAR;
    a->bytes = bytes + SIGNAL_BYTES;
    a->key = key;
}

static enum sim_next next_phase(struct sim_view *v, const struct gsh_team_state *t,
                                struct sim_action *a)
{
    struct sim_walk *w = v->walk;
    const struct gsh_schedule s = schedule_of(v, t);
    const enum gsh_coll coll = v->call->coll;
    struct gsh_coll_message m;
    struct gsh_signal h;
    while (w->phase < s.n_phases && walks_phases(v, t)) {
        if (w->stage == PHASE && gsh_next_message(coll, &s, w->phase, &w->cursor, &m)) {
            set_far(a, m.member, m.bytes, STEP_KEY + (uint32_t)m.step);
            return SIM_SEND;
        }
        w->stage = HEAR_PHASE;
        while (w->row < gsh_heard_rows(coll, t)) {
            if (gsh_heard(coll, &s, w->phase, w->row, w->i++, &h)) {
                set_far(a, h.member, 0, STEP_KEY + (uint32_t)h.step);
                return SIM_HEAR;
            }
            w->row++;
            w->i = 0;
        }
        w->phase++;
        go_to(w, PHASE);
    }
    go_to(w, TELL_NEAR);
    return sim_coll_next(v, a);
}

enum sim_next sim_coll_next(struct sim_view *v, struct sim_action *a)
{
    const struct gsh_team_state t = team_of(v);
    struct sim_walk *w = v->walk;
    const bool is_leader = t.my_near == 0;
    *a = (struct sim_action){.way = SIM_NEAR, .parts = 1};
    if (w->stage == COME) {
        a->key = COME_KEY;
        if (next_near(w, &t, false, a)) {
            return is_leader ? SIM_HEAR : SIM_SEND;
        }
        go_to(w, is_leader ? ROUND : LEAVE);
    }
    if (w->stage == ROUND || w->stage == HEAR_ROUND) {
        if ((int64_t)1 << w->phase < t.n_nodes) {
            const struct gsh_round r = round_of(v, &t);
            const uint32_t key = ROUND_KEY + (uint32_t)w->phase;
            const bool hears = w->stage == HEAR_ROUND;
            set_far(a, hears ? r.from : r.to, r.bytes, key);
            w->phase += hears;
            w->stage = hears ? ROUND : HEAR_ROUND;
            return hears ? SIM_HEAR : SIM_SEND;
        }
        go_to(w, LEAVE);
    }
    if (w->stage == LEAVE) {
        a->key = LEAVE_KEY;
        if (next_near(w, &t, false, a)) {
            return is_leader ? SIM_SEND : SIM_HEAR;
        }
        go_to(w, v->call->is_by_leaders ? OVER : PHASE);
        w->phase = 0;
    }
    if (w->stage == PHASE || w->stage == HEAR_PHASE) {
        return next_phase(v, &t, a);
    }
    if (w->stage == TELL_NEAR || w->stage == HEAR_NEAR) {
        a->key = NEAR_KEY;
        if (next_near(w, &t, true, a)) {
            return w->stage == TELL_NEAR ? SIM_SEND : SIM_HEAR;
        }
        const bool tells = w->stage == TELL_NEAR;
        go_to(w, tells ? HEAR_NEAR : OVER);
        return sim_coll_next(v, a);
    }
    return SIM_OVER;
}
