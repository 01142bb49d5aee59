/* SPDX-License-Identifier: Apache-2.0
 * Walks of calls that the host makes. What they share with the library's blocking code is named at
 * each; what is written down here besides, the lengths of messages and their order in a round, the
 * test tests/unit/sim.c compares with what real PEs send. */
#include <stddef.h>
#include <string.h>
#include "bootstrap/host_leg.h"
#include "bootstrap/uid_relay.h"
#include "bootstrap/uid_wire.h"
#include "perftest/sim/engine.h"

/* ---- messages ---- */

/* runtime/init/net_job.c: a head, in which the first bytes travel, and parts behind it. */
enum { NET_HEAD_BYTES = 64, NET_HEAD_DATA = GSH_COMBINE_MAX_BYTES };

static uint32_t parts_of(uint64_t bytes, uint64_t max)
{
    return (uint32_t)((bytes + max - 1) / max);
}

static void set_data(const struct sim_view *v, struct sim_action *a, uint64_t bytes)
{
    const uint64_t max = (uint64_t)v->model->message_max;
    a->way = v->call->way;
    a->parts = 1;
    a->bytes = sizeof(struct gsh_frame) + bytes;
    if (a->way == SIM_FAR) {
        const uint64_t rest = bytes > NET_HEAD_DATA ? bytes - NET_HEAD_DATA : 0;
        a->bytes = NET_HEAD_BYTES + rest;
        a->parts += parts_of(rest, max);
    }
}

/* Over TCP ranks send to those behind them, over the proxy to those before (uid.c, net_job.c). */
static int direction(const struct sim_view *v)
{
    return v->call->way == SIM_FAR ? -1 : 1;
}

/* Goes to the next leg among all PEs; a: the message to send, without its length. */
static bool next_leg(struct sim_view *v, struct sim_action *a)
{
    struct sim_walk *w = v->walk;
    if (!gsh_leg_next(&w->leg, v->n_pes, v->pe, direction(v))) {
        return false;
    }
    a->other = w->leg.to;
    a->key = (uint32_t)w->i;
    w->stage++;
    return true;
}

static enum sim_next hear_leg(struct sim_view *v, struct sim_action *a)
{
    struct sim_walk *w = v->walk;
    a->other = w->leg.from;
    a->key = (uint32_t)w->i++;
    w->stage--;
    return SIM_HEAR;
}

/* ---- the PEs of a node ---- */

/* The PEs of this one's node, which follow one another: [*first, *end). */
static void find_node(const struct sim_model *model, int pe, int n_pes, int *first, int *end)
{
    const int on_node = (int)model->node_pes;
    *first = pe / on_node * on_node;
    *end = *first + on_node < n_pes ? *first + on_node : n_pes;
}

/* As runtime/init/identity.c finds it. */
static int width_of(const struct sim_model *model, const struct sim_call *call, int n_pes)
{
    int first, end;
    if (model->dealt_hosts > 0 || model->mixed_hosts > 0) {
        return 1;
    }
    find_node(model, n_pes - 1, n_pes, &first, &end);
    return call->is_by_nodes && first > 0 ? gsh_leg_width(end - first) : 1;
}

/* bootstrap/shm.c: so many PEs all wait for each other, more for the first one. */
enum { FLAT_PES = 64 };

/* How many messages a PE sends and hears on its node; it sends first, unless all wait for it. */
static int n_meetings(int first, int end, int pe)
{
    return end - first > FLAT_PES && pe != first ? 2 : 2 * (end - first - 1);
}

bool sim_is_on_node(const struct sim_model *model, const struct sim_call *call,
                    const struct sim_walk *walk, int pe, int n_pes)
{
    int first, end;
    find_node(model, pe, n_pes, &first, &end);
    return width_of(model, call, n_pes) > 1 && walk->met < n_meetings(first, end, pe);
}

/* The next message on the node, without a value. */
static enum sim_next next_meeting(const struct sim_view *v, struct sim_action *a)
{
    enum { KEY = 1 << 16 };
    struct sim_walk *w = v->walk;
    int first, end;
    find_node(v->model, v->pe, v->n_pes, &first, &end);
    const int n_each = n_meetings(first, end, v->pe) / 2, index = w->met % n_each;
    const bool is_led = end - first > FLAT_PES, leads = v->pe == first;
    a->way = SIM_NEAR;
    a->key = KEY + (uint32_t)w->i;
    a->other = is_led && !leads ? first : first + index + (first + index >= v->pe);
    return (w->met++ < n_each) != (is_led && leads) ? SIM_SEND : SIM_HEAR;
}

/* Before the first round of an exchange. */
static void begin_legs(const struct sim_view *v)
{
    v->walk->leg = gsh_leg_of_groups(width_of(v->model, v->call, v->n_pes));
    v->walk->met = 0;
}

/* ---- bootstraps ---- */

/* How many blocks a message of this leg has. */
static uint64_t blocks_of(const struct sim_view *v)
{
    const struct gsh_leg *leg = &v->walk->leg;
    const bool are_told = v->rendezvous != NULL && v->rendezvous->hosts.most > 0;
    const struct gsh_host_layout mixed = {.table = v->table};
    const struct gsh_host_leg in_host = are_told ? gsh_host_leg_of(&v->rendezvous->hosts, v->n_pes)
                                                 : gsh_host_leg_of(&mixed, v->n_pes);
    switch (v->call->kind) {
    case SIM_COMBINE: /* one value, whatever it stands for */
        return 1;
    case SIM_HOST_GATHER:
        return (uint64_t)(are_told || v->table != NULL
                              ? gsh_host_leg_blocks(&in_host, leg->to, leg->distance)
                              : leg->blocks);
    default:
        return (uint64_t)leg->blocks;
    }
}

static enum sim_next next_gather(struct sim_view *v, struct sim_action *a)
{
    enum { BEGIN, SEND, HEAR };
    struct sim_walk *w = v->walk;
    if (w->stage == BEGIN) {
        begin_legs(v);
        w->stage = SEND;
    }
    if (sim_is_on_node(v->model, v->call, w, v->pe, v->n_pes)) {
        return next_meeting(v, a);
    }
    if (w->stage == HEAR) {
        return hear_leg(v, a);
    }
    if (!next_leg(v, a)) {
        return SIM_OVER;
    }
    set_data(v, a, v->call->value_bytes + blocks_of(v) * v->call->bytes);
    return SIM_SEND;
}

/* Of so many PEs that end with this one, how many parts follow one another on hosts. */
static uint64_t count_parts(const struct sim_view *v, int n)
{
    const int *numbers = v->table->numbers;
    uint64_t parts = 1;
    for (int i = 1; i < n; i++) {
        const int pe = (v->pe - i + v->n_pes) % v->n_pes;
        parts += numbers[pe] != numbers[(pe + 1) % v->n_pes];
    }
    return parts;
}

/* uid_host.c: in each round how many parts there are, then these. */
static enum sim_next next_parts(struct sim_view *v, struct sim_action *a)
{
    enum { COUNT, HEAR_COUNT, PARTS, HEAR_PARTS };
    struct sim_walk *w = v->walk;
    if (w->stage == COUNT && !gsh_leg_next(&w->leg, v->n_pes, v->pe, direction(v))) {
        return SIM_OVER;
    }
    const bool is_count = w->stage < PARTS, sends = w->stage == COUNT || w->stage == PARTS;
    a->other = sends ? w->leg.to : w->leg.from;
    a->key = (uint32_t)(2 * w->leg.round + !is_count);
    w->stage = w->stage == HEAR_PARTS ? COUNT : w->stage + 1;
    set_data(v, a,
             is_count ? sizeof(uint64_t)
                      : count_parts(v, w->leg.blocks) * sizeof(struct gsh_host_part));
    return sends ? SIM_SEND : SIM_HEAR;
}

void sim_vote_begin(struct gsh_voting *voting, const struct sim_call *call, int rank, int n)
{
    const bool is_odd = rank == n / 2;
    const bool fails = is_odd && call->voters == SIM_ONE_FAILS;
    const struct gsh_vote mine = {.call = GSH_VOTE_MALLOC,
                                  .outcome = (uint16_t)(fails ? GSH_ERR_NOMEM : GSH_OK),
                                  .flags = 1,
                                  .args = {is_odd && call->voters == SIM_ONE_DIFFERS ? 65 : 64, 8}};
    gsh_voting_begin(voting, rank, n, mine, fails ? "no memory is left" : "");
}

static void give_value(const struct sim_view *v, struct sim_action *a)
{
    a->value = &v->voting->value;
    a->value_bytes = v->voting->bytes;
}

/* agree.c: the steps of a vote, each a combine; behind a failure a barrier. */
static enum sim_next next_vote(struct sim_view *v, struct sim_action *a)
{
    enum { STEP, SEND, HEAR, TELL, HEAR_TOLD };
    struct sim_walk *w = v->walk;
    if (w->stage == STEP) {
        begin_legs(v);
        w->stage = gsh_voting_next(v->voting) ? SEND : TELL;
        if (w->stage == TELL && v->voting->outcome == GSH_OK) {
            return SIM_OVER;
        }
    }
    if (sim_is_on_node(v->model, v->call, w, v->pe, v->n_pes)) {
        const enum sim_next next = next_meeting(v, a);
        if (next == SIM_SEND && w->stage == SEND) {
            give_value(v, a);
        }
        return next;
    }
    if (w->stage == HEAR || w->stage == HEAR_TOLD) {
        return hear_leg(v, a);
    }
    const bool is_step = w->stage == SEND;
    if (!next_leg(v, a)) {
        w->stage = STEP;
        return is_step ? next_vote(v, a) : SIM_OVER;
    }
    set_data(v, a, is_step ? v->voting->bytes : 0);
    if (is_step) {
        give_value(v, a);
    }
    return SIM_SEND;
}

/* ---- start-up by unique id ---- */

/* What a rank says of itself. Where it is reached is its number, here. */
struct greeting {
    int32_t rank, n_ranks, via;
};

/* Ranks of a node of which the first is the relay of the others (uid_relay.h): of the node's PEs
 * those with indices in [first, end). Others are alone. */
struct group {
    int node, first, end;
};

static int group_pe(const struct sim_view *v, const struct group *g, int index)
{
    return sim_pe_of(v->model, v->n_pes, g->node, index);
}

/* The one with this number among those of the node. */
static struct group find_group(const struct sim_view *v, int node, int number)
{
    const int size = v->n_pes > GSH_UID_MOST_DIRECT ? GSH_UID_GROUP : 1;
    struct group g = {.node = node, .first = number * size, .end = number * size};
    while (g.end < g.first + size && group_pe(v, &g, g.end) < v->n_pes) {
        g.end++;
    }
    g.first += g.first + 1 < g.end && group_pe(v, &g, g.first) == v->absent;
    return g;
}

static struct group group_of(const struct sim_view *v, int pe)
{
    const int size = v->n_pes > GSH_UID_MOST_DIRECT ? GSH_UID_GROUP : 1;
    return find_group(v, sim_node_of(v->model, pe), sim_index_of(v->model, pe) / size);
}

static void admit(struct sim_view *v, const struct greeting *from)
{
    struct gsh_hello hello = {
        .kind = GSH_HELLO_JOIN, .rank = (uint32_t)from->rank, .n_ranks = (uint32_t)from->n_ranks};
    const struct gsh_host_layout hosts = sim_hosts(v->model, from->n_ranks);
    int number = 0;
    if (v->table != NULL) {
        number = v->table->numbers[from->rank];
    } else {
        (void)gsh_host_layout_find(&hosts, from->n_ranks, from->rank, &number);
    }
    const uint64_t id = (uint64_t)number + 1;
    memcpy(hello.host, &id, sizeof(id));
    memcpy(&hello.address.ip, &from->rank, sizeof(from->rank));
    (void)gsh_rendezvous_enter(v->rendezvous, &hello, -1, from->via);
}

/* The rank that the rendezvous has named for the round. */
static int partner_of(const struct sim_view *v)
{
    int32_t rank = v->walk->leg.to;
    if (v->rendezvous != NULL) {
        const struct gsh_partner p =
            gsh_rendezvous_partner(v->rendezvous, v->pe, v->walk->leg.round);
        memcpy(&rank, &p.address.ip, sizeof(rank));
    }
    return rank;
}

void sim_walk_heard(struct sim_view *v, const void *value)
{
    if (v->call->kind == SIM_RENDEZVOUS && v->pe == v->n_pes) {
        struct greeting from;
        memcpy(&from, value, sizeof(from));
        v->walk->i = from.via == from.rank;
        admit(v, &from);
    }
    if (v->call->kind == SIM_VOTE && v->walk->stage == 1) {
        v->voting->fold(&v->voting->value, value);
    }
}

/* uid_server.c: PE n_pes is the rendezvous; it answers once all have come. */
static enum sim_next next_of_server(struct sim_view *v, struct sim_action *a)
{
    enum { AWAIT, ADMIT, ANSWER };
    struct sim_walk *w = v->walk;
    const uint64_t answer =
        sizeof(struct gsh_answer) + gsh_welcome_bytes(gsh_uid_rounds(v->n_pes)) + GSH_SHA256_BYTES;
    switch (w->stage) {
    case AWAIT:
        *a = (struct sim_action){.other = -1};
        w->stage = ADMIT;
        return SIM_HEAR;
    case ADMIT:
        a->ns = w->i != 0 ? v->model->tcp_connect : 0;
        w->stage = gsh_rendezvous_is_complete(v->rendezvous) ? ANSWER : AWAIT;
        w->i = 0;
        return SIM_TAKES_TIME;
    default: {
        struct group g = find_group(v, w->row, w->i);
        if (g.first == g.end) { /* that was the node's last */
            w->i = 0;
            g = find_group(v, ++w->row, 0);
        }
        if (w->row == sim_n_nodes(v->model, v->n_pes)) {
            return SIM_OVER;
        }
        w->i++;
        *a = (struct sim_action){.other = group_pe(v, &g, g.first),
                                 .way = SIM_TCP,
                                 .parts = (uint32_t)(g.end - g.first),
                                 .bytes = (uint64_t)(g.end - g.first) * answer};
        return SIM_SEND;
    }
    }
}

enum { MEMBER_KEY = 1, RELAYED_KEY };

/* A rank that its group's relay brings. */
static enum sim_next next_of_member(struct sim_view *v, struct sim_action *a, int relay)
{
    enum { CONNECT, HELLO, AWAIT };
    struct sim_walk *w = v->walk;
    *a = (struct sim_action){.other = relay,
                             .way = SIM_LOCAL,
                             .parts = 1,
                             .bytes = sizeof(struct gsh_hello),
                             .key = w->stage == AWAIT ? RELAYED_KEY : MEMBER_KEY,
                             .ns = v->model->tcp_listen + v->model->local_connect};
    switch (w->stage++) {
    case CONNECT:
        return SIM_TAKES_TIME;
    case HELLO:
        return SIM_SEND;
    case AWAIT:
        return SIM_HEAR;
    default:
        return SIM_OVER;
    }
}

/* uid_join.c: each rank says hello to the rendezvous, or to its relay, and waits for the answer. A
 * relay brings its members, here one behind the other. */
static enum sim_next next_rendezvous(struct sim_view *v, struct sim_action *a)
{
    enum { CONNECT, HELLO, NEXT, ADMIT, BRING, AWAIT, HAND_ON };
    struct sim_walk *w = v->walk;
    if (v->pe == v->n_pes) {
        return next_of_server(v, a);
    }
    const struct group g = group_of(v, v->pe);
    if (v->pe != group_pe(v, &g, g.first)) {
        return next_of_member(v, a, group_pe(v, &g, g.first));
    }
    *a =
        (struct sim_action){.other = v->n_pes,
                            .way = SIM_TCP,
                            .parts = 1,
                            .bytes = sizeof(struct gsh_hello),
                            .ns = w->stage == CONNECT ? v->model->tcp_listen + v->model->tcp_connect
                                                      : v->model->local_connect};
    const struct greeting own = {group_pe(v, &g, g.first + w->i), v->n_pes, v->pe};
    switch (w->stage) {
    case CONNECT:
        w->stage = HELLO;
        return SIM_TAKES_TIME;
    case HELLO:
    case BRING:
        memcpy(w->greeting, &own, sizeof(own));
        a->value = w->greeting;
        a->value_bytes = sizeof(own);
        w->stage = NEXT;
        return SIM_SEND;
    case NEXT:
        w->i += 1 + (group_pe(v, &g, g.first + w->i + 1) == v->absent);
        w->stage = g.first + w->i < g.end ? ADMIT : AWAIT;
        if (w->stage == AWAIT) {
            return next_rendezvous(v, a);
        }
        a->other = group_pe(v, &g, g.first + w->i);
        a->key = MEMBER_KEY;
        return SIM_HEAR;
    case ADMIT:
        w->stage = BRING;
        return SIM_TAKES_TIME;
    case AWAIT:
        w->stage = HAND_ON;
        w->i = 0;
        return SIM_HEAR;
    default:
        a->other = group_pe(v, &g, g.first + ++w->i);
        a->way = SIM_LOCAL;
        a->key = RELAYED_KEY;
        a->bytes = offsetof(struct gsh_relay_answer, payload) +
                   gsh_welcome_bytes(gsh_uid_rounds(v->n_pes));
        return g.first + w->i < g.end ? SIM_SEND : SIM_OVER;
    }
}

/* uid.c, link_up: connects to all partners, admits those of the other direction, and hears all
 * answers. */
static enum sim_next next_link(struct sim_view *v, struct sim_action *a)
{
    enum { CONNECT, HELLO, AWAIT, ADMIT, ANSWER, HEAR };
    enum { ANSWER_KEY = 64 };
    struct sim_walk *w = v->walk;
    const bool is_leg_over = w->stage == CONNECT || w->stage == AWAIT || w->stage == HEAR;
    if (is_leg_over && !gsh_leg_next(&w->leg, v->n_pes, v->pe, 1)) {
        if (w->stage == HEAR) {
            return SIM_OVER;
        }
        w->stage = w->stage == CONNECT ? AWAIT : HEAR;
        memset(&w->leg, 0, sizeof(w->leg));
        return next_link(v, a);
    }
    const bool is_partner = w->stage <= HELLO || w->stage == HEAR;
    *a = (struct sim_action){.other = is_partner ? partner_of(v) : w->leg.from,
                             .way = SIM_TCP,
                             .parts = 1,
                             .key = (uint32_t)w->leg.round,
                             .ns = v->model->tcp_connect};
    switch (w->stage) {
    case CONNECT:
        w->stage = HELLO;
        return SIM_TAKES_TIME;
    case HELLO:
        a->bytes = sizeof(struct gsh_hello);
        w->stage = CONNECT;
        return SIM_SEND;
    case AWAIT:
        w->stage = ADMIT;
        return SIM_HEAR;
    case ADMIT:
        w->stage = ANSWER;
        return SIM_TAKES_TIME;
    case ANSWER:
        a->bytes = sizeof(struct gsh_answer) + GSH_SHA256_BYTES;
        a->key += ANSWER_KEY;
        w->stage = AWAIT;
        return SIM_SEND;
    default:
        a->key += ANSWER_KEY;
        return SIM_HEAR;
    }
}

/* ---- teams ---- */

/* agree.c: own words and a ballot's, then the bitmap; near members have it in one piece. */
static enum sim_next next_ballot(struct sim_view *v, struct sim_action *a)
{
    enum { OWN_WORDS = 3, BALLOT_WORDS = 16 };
    struct sim_walk *w = v->walk;
    a->key = (uint32_t)w->leg.round;
    if (w->stage == 1) {
        a->other = w->leg.from;
        w->stage = 0;
        return SIM_HEAR;
    }
    if (!gsh_leg_next(&w->leg, sim_n_members(v), v->pe, 1)) {
        return SIM_OVER;
    }
    a->other = w->leg.to;
    a->key = (uint32_t)w->leg.round;
    a->bytes = (OWN_WORDS + BALLOT_WORDS) * sizeof(uint64_t) + v->call->bytes;
    a->parts = 1;
    a->way = SIM_NEAR;
    if (sim_node_of(v->model, a->other) != sim_node_of(v->model, v->pe)) {
        a->way = SIM_FAR;
        a->parts = parts_of(a->bytes, (uint64_t)v->model->message_max);
    }
    w->stage = 1;
    return SIM_SEND;
}

/* host_sync.c: the members of a node come to their leader, leaders tell each other, nodes leave. */
static enum sim_next next_sync(struct sim_view *v, struct sim_action *a)
{
    enum { COME, LEGS, HEAR, LEAVE, AWAIT };
    enum { COME_KEY = 64, LEAVE_KEY };
    const int node = sim_node_of(v->model, v->pe);
    struct sim_walk *w = v->walk;
    const int n = sim_n_members(v), leader = sim_pe_of(v->model, n, node, 0);
    const int n_nodes = sim_n_nodes(v->model, n);
    *a = (struct sim_action){.other = leader, .way = SIM_NEAR, .parts = 1};
    if (v->pe != leader) {
        a->key = w->stage == COME ? COME_KEY : LEAVE_KEY;
        return w->stage == COME      ? (w->stage = AWAIT, SIM_SEND)
               : w->stage++ == AWAIT ? SIM_HEAR
                                     : SIM_OVER;
    }
    if (w->stage == COME) {
        a->other = sim_pe_of(v->model, n, node, ++w->i);
        a->key = COME_KEY;
        if (a->other < n) {
            return SIM_HEAR;
        }
        w->i = 0;
        w->stage = LEGS;
    }
    if (w->stage == LEGS && !gsh_leg_next(&w->leg, n_nodes, node, 1)) {
        w->stage = LEAVE;
    }
    if (w->stage == LEAVE) {
        a->other = sim_pe_of(v->model, n, node, ++w->i);
        a->key = LEAVE_KEY;
        return a->other < n ? SIM_SEND : SIM_OVER;
    }
    a->other = sim_pe_of(v->model, n, w->stage == LEGS ? w->leg.to : w->leg.from, 0);
    a->key = (uint32_t)w->leg.round;
    a->way = SIM_FAR;
    w->stage = w->stage == LEGS ? HEAR : LEGS;
    return w->stage == HEAR ? SIM_SEND : SIM_HEAR;
}

/* ---- all ---- */

enum sim_next sim_walk_next(struct sim_view *v, struct sim_action *a)
{
    *a = (struct sim_action){.parts = 1};
    if (v->pe >= sim_n_members(v) && v->call->kind != SIM_RENDEZVOUS) {
        return SIM_OVER; /* also the rendezvous, PE n_pes */
    }
    switch (v->call->kind) {
    case SIM_RENDEZVOUS:
        return next_rendezvous(v, a);
    case SIM_LINK_UP:
        return next_link(v, a);
    case SIM_HOST_PARTS:
        return next_parts(v, a);
    case SIM_ALLGATHER:
    case SIM_HOST_GATHER:
    case SIM_BARRIER:
    case SIM_COMBINE:
        return next_gather(v, a);
    case SIM_VOTE:
        return next_vote(v, a);
    case SIM_BALLOT:
        return next_ballot(v, a);
    case SIM_SYNC:
        return next_sync(v, a);
    case SIM_COLL:
        return sim_coll_next(v, a);
    default:
        a->ns = v->call->work_ns;
        return v->walk->stage++ == 0 ? SIM_TAKES_TIME : SIM_OVER;
    }
}

uint64_t sim_walk_memory(const struct sim_model *model, const struct sim_call *call, int n_pes)
{
    const struct gsh_host_layout hosts = sim_hosts(model, n_pes);
    const struct gsh_host_leg in_host = gsh_host_leg_of(&hosts, n_pes);
    uint64_t most = 0, all = 1;
    if (call->kind == SIM_ALLGATHER) {
        /* what is sent and received, in the order of the rounds, and in that of the ranks; a value
         * as it is sent, as it comes, and as it is folded */
        return 2 * (uint64_t)n_pes * call->bytes + 3 * call->value_bytes;
    }
    if (call->kind != SIM_HOST_GATHER) {
        return 0;
    }
    for (struct gsh_leg leg = {0}; gsh_leg_next(&leg, n_pes, 0, 1);) {
        const uint64_t blocks = (uint64_t)gsh_host_leg_blocks(&in_host, 0, leg.distance);
        most = blocks > most ? blocks : most;
        all += blocks;
    }
    /* as above: what goes and what comes in a round, what has come, and that of the host */
    return (2 * most + all + (uint64_t)hosts.most) * call->bytes + 3 * call->value_bytes;
}
