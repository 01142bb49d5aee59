/* SPDX-License-Identifier: Apache-2.0
 * Proves the schedule of collectives over several nodes (device/coll/schedule.h) on all its members
 * at once: calls of every kind, one after the other on a lane, by teams of 1 to 17 nodes with 1 to
 * 9 PEs each, and of nodes of different sizes, whose members are in any order. Every message is
 * heard by whom it is for, nobody waits for what is never sent, and every byte comes once to where
 * it belongs. What members know of each other, by vector clocks, proves the invariants of state.h:
 * when a word, a half or a dest is written, its writer knows that the readers of what was there are
 * done.
 *
 * What members do between messages is written down here as in coll/far.cuh and
 * coll/far_leaders.cuh; tests/multi/coll_far.cu compares how many messages they really send. */
#include "tests/unit/coll_schedule.h"

/* ---- what members do in each call: written down --------------------------------------------- */

static void come_to_leader(struct model *m, int me)
{
    const struct gsh_team_state *t = &m->team.of[me];
    uint64_t step = m->of[me].near + 1;
    add(m, me, (struct op){.what = BEGIN});
    if (t->my_near != 0) {
        add(m, me, (struct op){TELL, .is_near = true, .other = near_of(m, me, 0), .step = step});
        return;
    }
    for (int i = 1; i < t->n_near; i++) {
        add(m, me, (struct op){HEAR, .is_near = true, .other = near_of(m, me, i), .step = step});
    }
}

static void leave_leader(struct model *m, int me)
{
    const struct gsh_team_state *t = &m->team.of[me];
    uint64_t step = ++m->of[me].near;
    m->of[me].far++;
    if (t->my_near != 0) {
        add(m, me, (struct op){HEAR, .is_near = true, .other = near_of(m, me, 0), .step = step});
        return;
    }
    for (int i = 1; i < t->n_near; i++) {
        add(m, me, (struct op){TELL, .is_near = true, .other = near_of(m, me, i), .step = step});
    }
}

static void sync_near(struct model *m, int me)
{
    const struct gsh_team_state *t = &m->team.of[me];
    uint64_t step = ++m->of[me].near;
    for (int hears = 0; hears < 2; hears++) {
        for (int i = 0; i < t->n_near; i++) {
            if (i != t->my_near) {
                add(m, me,
                    (struct op){hears != 0 ? HEAR : TELL, .is_near = true,
                                .other = near_of(m, me, i), .step = step});
            }
        }
    }
}

/* root >= 0: a broadcast of a block, to leaders that are `before` nodes before the root's. */
static void leaders_rounds(struct model *m, int me, uint64_t block, bool is_by_member, int root)
{
    const struct gsh_team_state *t = &m->team.of[me];
    uint64_t step = m->of[me].far + 1;
    for (int distance = 1; t->my_near == 0 && distance < t->n_nodes; distance *= 2) {
        struct gsh_round r = gsh_round_of(t, distance, root < 0 ? block : 0, is_by_member);
        if (root >= 0) {
            int before = gsh_nodes_to(t, t->my_node, root);
            r.bytes = gsh_round_gives(t, distance, before) ? block : 0;
        }
        add(m, me,
            (struct op){TELL, .other = r.to, .step = step, .gen = r.bytes > 0 ? step : 0,
                        .is_from_half = r.bytes > 0, .is_round = true, .bytes = r.bytes,
                        .to = r.at});
        add(m, me, (struct op){HEAR, .other = r.from, .step = step});
    }
    leave_leader(m, me);
}

/* ---- calls by way of the leaders ---- */

static void have(struct model *m, int me, int first, int n)
{
    add(m, me,
        (struct op){HAVE, .gen = m->of[me].far + 1, .to = (uint64_t)first, .bytes = (uint64_t)n});
}

/* n blocks, the first of which is block `first`, cyclically. */
static void read_leader(struct model *m, int me, int first, int n)
{
    add(m, me,
        (struct op){READ, .other = near_of(m, me, 0), .gen = m->of[me].far, .to = (uint64_t)first,
                    .bytes = (uint64_t)n, .from = (uint64_t)n});
}

static void gather(struct model *m, int me)
{
    const struct gsh_team_state *t = &m->team.of[me];
    add(m, me, (struct op){WRITE, .other = near_of(m, me, 0), .gen = m->of[me].far + 1});
    come_to_leader(m, me);
    have(m, me, t->near_begin, t->n_near);
    leaders_rounds(m, me, 1, true, -1);
    read_leader(m, me, t->near_begin, t->n_pes);
}

static void exchange_sums(struct model *m, int me)
{
    come_to_leader(m, me);
    if (m->team.of[me].my_near == 0) {
        add(m, me, (struct op){WRITE, .other = me, .gen = m->of[me].far + 1});
    }
    have(m, me, m->team.of[me].my_node, 1);
    leaders_rounds(m, me, 1, false, -1);
    read_leader(m, me, m->team.of[me].my_node, m->team.n_nodes);
}

static void scan(struct model *m, int me)
{
    const struct gsh_team_state *t = &m->team.of[me];
    for (int piece = 0; piece < 3; piece++) {
        if (!t->is_node_by_node) {
            gather(m, me);
            continue;
        }
        exchange_sums(m, me);
        add(m, me, (struct op){WRITE, .other = me, .gen = m->of[me].far}); /* behind the blocks */
        sync_near(m, me);
        add(m, me, (struct op){READ, .other = me, .gen = m->of[me].far});
    }
}

static void broadcast_few(struct model *m, int me, int root)
{
    if (me == root) {
        add(m, me, (struct op){WRITE, .other = near_of(m, me, 0), .gen = m->of[me].far + 1});
    }
    come_to_leader(m, me);
    have(m, me, 0, gsh_nodes_to(&m->team.of[me], m->team.of[me].my_node, root) == 0 ? 1 : 0);
    leaders_rounds(m, me, 1, false, root);
    read_leader(m, me, 0, 1);
}

/* ---- calls between partners ---- */

/* dest [at, at + bytes) of `who` has come, and on its node if it is passed on. */
static void come(struct model *m, int who, uint64_t at, uint64_t bytes, bool is_passed_on)
{
    const struct gsh_team_state *t = &m->team.of[who];
    for (int i = 0; i < t->n_near; i++) {
        if (is_passed_on || i == t->my_near) {
            for (uint64_t b = at; b < at + bytes && CHECK(b < sizeof(m->of[0].got)); b++) {
                m->of[near_of(m, who, i)].got[b]++;
            }
        }
    }
}

static void tell_phase(struct model *m, int me, enum gsh_coll coll, const struct gsh_schedule *s,
                       uint64_t phase)
{
    uint64_t first = m->of[me].far + 1;
    struct gsh_cursor at = {0};
    struct gsh_coll_message g;
    while (gsh_next_message(coll, s, phase, &at, &g)) {
        bool is_half = g.to_buffer >= GSH_BUFFER_HALF;
        uint64_t gen = first + (coll == GSH_COLL_REDUCE ? g.step / 2 : g.step);
        add(m, me,
            (struct op){TELL, .other = g.member, .step = first + g.step,
                        .gen = is_half && g.bytes > 0 ? gen : 0,
                        .is_from_half = g.from_buffer >= GSH_BUFFER_HALF && g.bytes > 0,
                        .is_to_dest = !is_half && g.bytes > 0, .bytes = g.bytes, .to = g.to,
                        .from = g.from});
        if (!is_half) {
            come(m, g.member, g.to, g.bytes, coll != GSH_COLL_ALLTOALL);
        } else if (g.bytes > 0) {
            uint64_t parity = g.to_buffer == GSH_BUFFER_HALF ? 0 : 1;
            CHECK_EQ((first + parity) % 2, gen % 2);
            struct gsh_range its = gsh_share(s, g.step / 2, m->team.of[g.member].my_node);
            CHECK(coll != GSH_COLL_REDUCE || (g.from == its.begin && g.bytes == its.bytes));
            CHECK(g.bytes <= s->slot_bytes);
            CHECK(g.to == (uint64_t)m->team.of[me].my_node * s->slot_bytes);
            CHECK(g.to + s->slot_bytes <= m->team.half_bytes);
            CHECK(!(g.from_buffer >= GSH_BUFFER_HALF) ||
                  (g.from >= (uint64_t)m->team.n_nodes * s->slot_bytes &&
                   g.from + s->slot_bytes <= m->team.half_bytes));
        }
    }
}

static void hear_phase(struct model *m, int me, enum gsh_coll coll, const struct gsh_schedule *s,
                       uint64_t phase)
{
    uint64_t first = m->of[me].far + 1;
    struct gsh_signal h;
    for (int row = 0; row < gsh_heard_rows(coll, s->team); row++) {
        for (int i = 0; gsh_heard(coll, s, phase, row, i, &h); i++) {
            add(m, me, (struct op){HEAR, .other = h.member, .step = first + h.step});
        }
    }
}

static void begin_between_partners(struct model *m, int me)
{
    come_to_leader(m, me);
    leaders_rounds(m, me, 0, false, -1);
}

static void end_far(struct model *m, int me, uint64_t n_steps)
{
    sync_near(m, me);
    m->of[me].far += n_steps;
}

static void walk(struct model *m, int me, enum gsh_coll coll, const struct gsh_schedule *s)
{
    for (uint64_t phase = 0; phase < s->n_phases; phase++) {
        uint64_t gen = m->of[me].far + 1 + phase;
        bool has_half =
            (coll == GSH_COLL_REDUCE || coll == GSH_COLL_REDUCESCATTER) && phase < s->n_pieces;
        if (has_half) {
            add(m, me, (struct op){WRITE, .other = me, .gen = gen});
        }
        tell_phase(m, me, coll, s, phase);
        hear_phase(m, me, coll, s, phase);
        if (has_half) {
            add(m, me, (struct op){READ, .other = me, .gen = gen});
        }
    }
}

static void collect(struct model *m, int me, const uint64_t *bytes)
{
    const struct gsh_team_state *t = &m->team.of[me];
    uint64_t begin = 0, most = 1;
    for (int i = 0; i < t->n_pes; i++) {
        begin += i < me ? bytes[i] : 0;
        most = bytes[i] > most ? bytes[i] : most;
    }
    gather(m, me); /* the counts, which are read until the end */
    uint64_t gen = m->of[me].far;
    struct gsh_schedule s = gsh_schedule_collect(t, bytes[me], begin, most, far_piece);
    come(m, me, begin, bytes[me], true);
    walk(m, me, GSH_COLL_COLLECT, &s);
    add(m, me, (struct op){READ, .other = near_of(m, me, 0), .gen = gen});
    end_far(m, me, s.n_steps + s.n_steps % 2);
}

static void fcollect(struct model *m, int me, uint64_t bytes)
{
    struct gsh_schedule s = gsh_schedule_fcollect(&m->team.of[me], bytes, far_piece);
    begin_between_partners(m, me);
    come(m, me, (uint64_t)me * bytes, bytes, true);
    walk(m, me, GSH_COLL_FCOLLECT, &s);
    end_far(m, me, s.n_steps);
}

static void alltoall(struct model *m, int me, uint64_t bytes)
{
    const struct gsh_team_state *t = &m->team.of[me];
    struct gsh_schedule s = gsh_schedule_alltoall(t, bytes);
    begin_between_partners(m, me);
    for (int i = 0; i < t->n_near; i++) {
        come(m, near_of(m, me, i), (uint64_t)me * bytes, bytes, false);
    }
    int n = m->of[me].n;
    walk(m, me, GSH_COLL_ALLTOALL, &s);
    for (; n < m->of[me].n; n++) {
        const struct op *op = &m->of[me].ops[n];
        CHECK(op->what != TELL || op->from == (uint64_t)op->other * bytes);
    }
    end_far(m, me, s.n_steps);
}

static void broadcast(struct model *m, int me, uint64_t bytes, int root)
{
    const struct gsh_team_state *t = &m->team.of[me];
    struct gsh_schedule s = gsh_schedule_broadcast(t, bytes, root, far_piece);
    begin_between_partners(m, me);
    if (me == root) {
        come(m, me, 0, bytes, true);
    }
    if (s.number == 0 ? me == root : t->my_near == 0) {
        walk(m, me, GSH_COLL_BROADCAST, &s);
    }
    end_far(m, me, s.n_steps);
}

static void reduce(struct model *m, int me, uint64_t bytes)
{
    const struct gsh_team_state *t = &m->team.of[me];
    struct gsh_schedule s = gsh_schedule_reduce(t, bytes, m->team.half_bytes, far_piece);
    CHECK((uint64_t)t->n_nodes * s.slot_bytes <= m->team.half_bytes);
    begin_between_partners(m, me);
    for (uint64_t piece = 0; piece < s.n_pieces; piece++) {
        struct gsh_range own = gsh_share(&s, piece, t->my_node);
        come(m, me, own.begin, own.bytes, true);
    }
    walk(m, me, GSH_COLL_REDUCE, &s);
    end_far(m, me, s.n_steps);
}

/* Each member's slots are filled once by each other node: dest counts, a byte for each of them. */
static void reducescatter(struct model *m, int me, uint64_t bytes)
{
    const struct gsh_team_state *t = &m->team.of[me];
    struct gsh_schedule s = gsh_schedule_reducescatter(t, bytes, m->team.half_bytes, far_piece);
    begin_between_partners(m, me);
    int n = m->of[me].n;
    walk(m, me, GSH_COLL_REDUCESCATTER, &s);
    for (uint64_t phase = 0; n < m->of[me].n; n++) {
        const struct op *op = &m->of[me].ops[n];
        phase += op->what == WRITE && op->gen > 0 ? 1 : 0;
        if (op->what == TELL && op->bytes > 0) {
            CHECK_EQ(op->bytes, gsh_piece(&s, bytes, phase - 1).bytes);
            come(m, op->other, (phase - 1) * (uint64_t)t->n_nodes + (uint64_t)t->my_node, 1, false);
        }
    }
    for (uint64_t piece = 0; piece < s.n_pieces; piece++) {
        come(m, me, piece * (uint64_t)t->n_nodes + (uint64_t)t->my_node, 1, false);
    }
    end_far(m, me, s.n_steps);
}

/* ---- a lane's calls ----------------------------------------------------------------------------
 */

enum kind {
    GATHER,
    SUMS,
    SCAN,
    BROADCAST_FEW,
    COLLECT,
    FCOLLECT,
    ALLTOALL,
    BROADCAST,
    REDUCE,
    REDUCESCATTER,
    n_kinds
};

/* How many bytes of dest must have come, each once. */
static uint64_t plan_call(struct model *m, enum kind kind, uint64_t bytes, int root,
                          const uint64_t *parts)
{
    uint64_t n = (uint64_t)m->team.n, sum = 0;
    for (int me = 0; me < m->team.n; me++) {
        memset(m->of[me].got, 0, sizeof(m->of[me].got));
        sum += parts[me];
    }
    for (int me = 0; me < m->team.n; me++) {
        switch (kind) {
        case GATHER:
            gather(m, me);
            break;
        case SUMS:
            exchange_sums(m, me);
            break;
        case SCAN:
            scan(m, me);
            break;
        case BROADCAST_FEW:
            broadcast_few(m, me, root);
            break;
        case COLLECT:
            collect(m, me, parts);
            break;
        case FCOLLECT:
            fcollect(m, me, bytes);
            break;
        case ALLTOALL:
            alltoall(m, me, bytes);
            break;
        case BROADCAST:
            broadcast(m, me, bytes, root);
            break;
        case REDUCE:
            reduce(m, me, bytes * n);
            break;
        default:
            reducescatter(m, me, bytes);
        }
    }
    struct gsh_schedule s =
        gsh_schedule_reducescatter(&m->team.of[0], bytes, m->team.half_bytes, far_piece);
    const uint64_t expected[n_kinds] = {
        [COLLECT] = sum,        [FCOLLECT] = n * bytes,
        [ALLTOALL] = n * bytes, [BROADCAST] = bytes,
        [REDUCE] = n * bytes,   [REDUCESCATTER] = s.n_pieces * (uint64_t)m->team.n_nodes};
    return expected[kind];
}

static bool check_dest(const struct model *m, enum kind kind, uint64_t expected)
{
    bool is_good = true;
    for (int me = 0; me < m->team.n; me++) {
        const struct member *p = &m->of[me];
        for (uint64_t b = 0; b < (uint64_t)m->team.n * max_bytes; b++) {
            is_good = is_good && p->got[b] == (b < expected ? 1 : 0);
        }
        is_good = CHECK_EQ(p->far, m->of[0].far) && is_good; /* all count alike */
    }
    return CHECK(is_good) ? true : (printf("kind %d\n", (int)kind), false);
}

static bool test_team(struct model *m, uint64_t *seed)
{
    static const int order[] = {GATHER,        REDUCE,        FCOLLECT,  BROADCAST, REDUCE,
                                REDUCESCATTER, SUMS,          ALLTOALL,  COLLECT,   SCAN,
                                BROADCAST_FEW, REDUCESCATTER, BROADCAST, COLLECT,   BROADCAST_FEW,
                                FCOLLECT,      REDUCE,        GATHER};
    static uint64_t parts[max_pes];
    bool is_good = true;
    for (int i = 0; i < m->team.n; i++) {
        parts[i] = test_random(seed) % max_bytes;
        m->of[i].n = m->of[i].done = 0;
        m->of[i].far = m->of[i].near = 0;
        memset(m->of[i].clock, 0, sizeof(m->of[i].clock));
    }
    memset(m->words, 0, sizeof(m->words));
    memset(m->reads, 0, sizeof(m->reads));
    memset(m->due, 0, sizeof(m->due));
    memset(m->begun, 0, sizeof(m->begun));
    /* In large teams half of them. */
    for (size_t i = m->team.n > 64 ? 9 : 0; i < sizeof(order) / sizeof(order[0]); i++) {
        uint64_t bytes = 1 + test_random(seed) % (max_bytes - 1);
        int root = (int)(test_random(seed) % (unsigned)m->team.n);
        m->call++;
        uint64_t expected = plan_call(m, order[i], bytes, root, parts);
        is_good = check_dest(m, order[i], expected) && is_good;
    }
    plan_reads(m);
    is_good = happen(m) && is_good && test_failed_checks == 0;
    for (int i = 0; i < m->team.n; i++) {
        is_good = CHECK(m->inbox[i] == NULL) && is_good; /* all that was sent has been heard */
        while (m->inbox[i] != NULL) {
            struct letter *l = m->inbox[i];
            m->inbox[i] = l->next;
            free(l);
        }
    }
    return is_good;
}

int main(void)
{
    static struct model m;
    uint64_t seed = test_seed();
    for (int nodes = 1; nodes <= max_nodes; nodes++) {
        for (int on_node = 1; on_node <= max_on_node; on_node++) {
            /* Even ones; then uneven ones, half of them in any order. */
            for (int form = 0; form < 2; form++) {
                int sizes[max_nodes] = {0};
                for (int i = 0; i < nodes; i++) {
                    sizes[i] =
                        form == 0 ? on_node : 1 + (int)(test_random(&seed) % (unsigned)on_node);
                }
                make_team(&m.team, nodes, sizes, form == 1 && (nodes + on_node) % 2 == 0, &seed);
                if (!test_team(&m, &seed)) {
                    printf("%d nodes of %s%d PEs\n", nodes, form == 0 ? "" : "up to ", on_node);
                    return test_result();
                }
            }
        }
    }
    for (int i = 0; i < max_pes; i++) {
        free(m.of[i].ops);
    }
    return test_result();
}
