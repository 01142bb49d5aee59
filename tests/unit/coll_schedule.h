/* SPDX-License-Identifier: Apache-2.0
 * A model of a lane of a team on several nodes, for coll_schedule.c: what each member does is
 * written down, then all of it happens, and each action checks that what it needs is so. */
#ifndef GSH_TEST_COLL_SCHEDULE_H
#define GSH_TEST_COLL_SCHEDULE_H

#include "device/coll/schedule.h"
#include "tests/test.h"

enum { max_nodes = 17, max_on_node = 9, max_pes = max_nodes * max_on_node };
enum { far_piece = 48, max_bytes = 260, max_steps = 512 };

/* ---- teams ----------------------------------------------------------------------------------- */

struct team {
    int n_nodes, n;
    uint64_t half_bytes;
    int32_t table[max_pes + max_nodes + 1];
    struct gsh_team_state of[max_pes];
};

static void make_team(struct team *t, int n_nodes, const int *sizes, bool is_shuffled,
                      uint64_t *seed)
{
    int32_t *begin = NULL, fewest = max_on_node;
    memset(t, 0, sizeof(*t));
    t->n_nodes = n_nodes;
    for (int i = 0; i < n_nodes; i++) {
        t->n += sizes[i];
        fewest = sizes[i] < fewest ? sizes[i] : fewest;
    }
    for (int i = 0; i < t->n; i++) {
        int j = is_shuffled ? (int)(test_random(seed) % (unsigned)(i + 1)) : i;
        t->table[i] = t->table[j];
        t->table[j] = i;
    }
    begin = t->table + t->n;
    for (int i = 0; i < n_nodes; i++) {
        begin[i + 1] = begin[i] + sizes[i];
    }
    t->half_bytes = 32 * (uint64_t)t->n;
    for (int node = 0, at = 0; node < n_nodes; node++) {
        for (int i = 0; i < sizes[node]; i++, at++) {
            t->of[t->table[at]] = (struct gsh_team_state){
                .n_pes = t->n,
                .my_index = t->table[at],
                .n_stripes = fewest,
                .near = (uint64_t)(uintptr_t)(t->table + begin[node]),
                .n_nodes = n_nodes,
                .my_node = node,
                .n_near = sizes[node],
                .my_near = i,
                .near_begin = begin[node],
                .is_node_by_node = !is_shuffled,
            };
        }
    }
}

/* ---- what each member does, written down before any of it happens ------------------------------
 */

enum action {
    BEGIN, /* the call: its dest may be written, and its source read */
    TELL,  /* member `other`: the word of `step` */
    HEAR,  /* member `other` */
    WRITE, /* the half of `other` for step `gen` */
    READ,  /* the same half, after which it may be written again */
    HAVE,  /* in this PE's half of step `gen`, blocks `to` and on */
};

struct op {
    enum action what;
    bool is_near;
    int other, call;
    uint64_t step, gen; /* gen 0: no half; else the far step whose half is written or read */
    bool is_from_half;  /* TELL: the source is this PE's half of the same step */
    bool is_to_dest;
    bool is_round; /* of the leaders: with blocks of a byte, which are followed */
    uint64_t bytes, to, from;
};

struct member {
    struct op *ops;
    int n, room, done;
    uint64_t far, near;
    uint32_t clock[max_pes];          /* of each member, how many actions it knows of */
    uint8_t got[max_pes * max_bytes]; /* how often each byte of dest came, in this call */
    int held[2][max_pes];             /* a leader's halves: whose blocks; -1: nobody's */
};

struct letter {
    int from;
    const struct op *op;
    uint32_t clock[max_pes];
    int held[max_pes];
    struct letter *next;
};

/* When it happens: a word's last step and, once it is heard, the clock of who heard it. */
struct word {
    uint32_t step, heard;
};
struct reading {
    uint32_t gen, done;
};

struct model {
    struct team team;
    struct member of[max_pes];
    struct letter *inbox[max_pes];
    int call;
    struct word words[max_pes][max_pes][GSH_SYNC_WORDS]; /* by who writes, on whom */
    /* By region, of whose half, by whom: the last two. Regions: 1 is the slots in which a
     * reducescatter's sums wait to be sent. */
    struct reading reads[2][max_pes][2][max_pes][2];
    int due[2][max_pes][max_steps]; /* the same reads, as long as they are to come */
    struct {
        int call;
        uint32_t clock;
    } begun[max_pes];
};

static struct op *add(struct model *m, int me, struct op op)
{
    struct member *p = &m->of[me];
    if (p->n == p->room) {
        p->room = p->room == 0 ? 256 : 2 * p->room;
        p->ops = realloc(p->ops, (size_t)p->room * sizeof(*p->ops));
        if (p->ops == NULL) {
            abort();
        }
    }
    op.call = m->call;
    p->ops[p->n] = op;
    return &p->ops[p->n++];
}

static int near_of(const struct model *m, int me, int i)
{
    const struct gsh_team_state *t = &m->team.of[me];
    return gsh_member_of(t, t->my_node, i);
}

/* ---- then all of it happens, and each action finds what it needs --------------------------------
 */

/* What of this PE's words another has heard. */
static bool is_word_free(const struct model *m, int me, int other, uint64_t step)
{
    const struct word *w = &m->words[me][other][step % GSH_SYNC_WORDS];
    return w->step == 0 || (w->heard > 0 && m->of[me].clock[other] >= w->heard);
}

/* Whoever reads the half of `whose` for an earlier step has done so, and this PE knows. */
static bool is_region_free(const struct model *m, int me, int region, int whose, uint64_t gen)
{
    bool is_free = true;
    for (uint64_t g = gen % 2; g < gen; g += 2) {
        is_free = is_free && m->due[region][whose][g] == 0;
    }
    for (int who = 0; is_free && who < m->team.n; who++) {
        const struct reading *r = m->reads[region][whose][gen % 2][who];
        uint64_t done = r[0].gen < gen ? r[0].done : r[1].done;
        is_free = m->of[me].clock[who] >= done;
    }
    return is_free;
}

static bool is_half_free(const struct model *m, int me, int whose, uint64_t gen)
{
    return is_region_free(m, me, 0, whose, gen) && is_region_free(m, me, 1, whose, gen);
}

static int region_of(const struct op *op)
{
    return op->what == TELL && !op->is_round ? 1 : 0;
}

static void note_read(struct model *m, int region, int whose, uint64_t gen, int who)
{
    struct reading *r = m->reads[region][whose][gen % 2][who];
    m->due[region][whose][gen]--;
    if (r[0].gen != gen) {
        r[1] = r[0];
    }
    r[0] = (struct reading){(uint32_t)gen, m->of[who].clock[who]};
}

static void tell(struct model *m, int me, const struct op *op)
{
    struct letter *l = malloc(sizeof(*l));
    if (l == NULL) {
        abort();
    }
    CHECK(op->is_near || is_word_free(m, me, op->other, op->step));
    CHECK(!op->is_to_dest || (m->begun[op->other].call == op->call &&
                              m->of[me].clock[op->other] >= m->begun[op->other].clock));
    CHECK(op->gen == 0 || (op->is_round ? is_half_free(m, me, op->other, op->gen)
                                        : is_region_free(m, me, 0, op->other, op->gen)));
    if (!op->is_near) {
        m->words[me][op->other][op->step % GSH_SYNC_WORDS] =
            (struct word){.step = (uint32_t)op->step};
    }
    l->from = me;
    l->op = op;
    memcpy(l->clock, m->of[me].clock, (size_t)m->team.n * sizeof(l->clock[0]));
    for (uint64_t i = 0; op->is_round && i < op->bytes; i++) {
        l->held[i] = m->of[me].held[op->gen % 2][i];
        CHECK(l->held[i] >= 0);
    }
    l->next = m->inbox[op->other];
    m->inbox[op->other] = l;
}

/* false: not yet there. */
static bool hear(struct model *m, int me, const struct op *op)
{
    struct letter **at = &m->inbox[me], *l = NULL;
    while (*at != NULL && !((*at)->from == op->other && (*at)->op->is_near == op->is_near &&
                            (*at)->op->step == op->step)) {
        at = &(*at)->next;
    }
    l = *at;
    if (l == NULL) {
        return false;
    }
    for (int i = 0; i < m->team.n; i++) {
        if (m->of[me].clock[i] < l->clock[i]) {
            m->of[me].clock[i] = l->clock[i];
        }
    }
    m->of[me].clock[me]++;
    CHECK_EQ(l->op->call, op->call);
    if (!op->is_near) {
        m->words[l->from][me][op->step % GSH_SYNC_WORDS].heard = m->of[me].clock[me];
    }
    if (l->op->is_from_half) {
        note_read(m, region_of(l->op), l->from, l->op->gen, me);
    }
    for (uint64_t i = 0; l->op->is_round && i < l->op->bytes; i++) {
        m->of[me].held[l->op->gen % 2][l->op->to + i] = l->held[i];
    }
    *at = l->next;
    free(l);
    return true;
}

static bool act(struct model *m, int me)
{
    struct member *p = &m->of[me];
    const struct op *op = &p->ops[p->done];
    if (op->what == HEAR) {
        return hear(m, me, op);
    }
    p->clock[me]++;
    switch (op->what) {
    case BEGIN:
        m->begun[me].call = op->call;
        m->begun[me].clock = p->clock[me];
        break;
    case TELL:
        tell(m, me, op);
        break;
    case WRITE:
        CHECK(is_half_free(m, me, op->other, op->gen));
        break;
    case HAVE:
        memset(p->held[op->gen % 2], -1, sizeof(p->held[0]));
        for (uint64_t i = 0; i < op->bytes; i++) {
            p->held[op->gen % 2][i] = (int)(op->to + i);
        }
        break;
    default:
        note_read(m, 0, op->other, op->gen, me);
        for (uint64_t i = 0; i < op->bytes; i++) {
            CHECK_EQ(m->of[op->other].held[op->gen % 2][i], (op->to + i) % op->from);
        }
    }
    return true;
}

/* All go on as long as anyone can; false: they wait for each other. */
static bool happen(struct model *m)
{
    int n_left = 0;
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        n_left = 0;
        for (int i = 0; i < m->team.n; i++) {
            struct member *p = &m->of[i];
            while (p->done < p->n && act(m, i)) {
                p->done++;
                goes_on = true;
            }
            n_left += p->done < p->n;
        }
    }
    return CHECK_EQ(n_left, 0);
}

static void plan_reads(struct model *m)
{
    for (int who = 0; who < m->team.n; who++) {
        for (int i = 0; i < m->of[who].n; i++) {
            const struct op *op = &m->of[who].ops[i];
            bool reads = op->what == READ || (op->what == TELL && op->is_from_half);
            if (reads && CHECK(op->gen < max_steps)) {
                m->due[region_of(op)][op->what == READ ? op->other : who][op->gen]++;
            }
        }
    }
}

#endif
