/* SPDX-License-Identifier: Apache-2.0
 * Proves the ring's protocol (wire/ring.h) by checking every interleaving of a few producers and
 * the proxy with a tiny ring over several laps: no request is lost, doubled, torn or taken early,
 * no slot is overwritten before it is read, no answer goes astray, no wait lasts for ever. Then
 * breaks the protocol in one place after another, and must detect it each time.
 *
 * A step is one access to shared memory. Stores to slots become visible one word at a time, in any
 * order, also while their producer goes on to its next request. */
#include <stddef.h>
#include "tests/test.h"
#include "wire/ring.h"

enum {
    MAX_PRODUCERS = 3,
    MAX_OPS = 5,
    MAX_SLOTS = 4,
    MAX_POSITIONS = 16,
    MAX_CELLS = 2,
};

enum mutation {
    NONE,
    SAME_LAP_BIT,      /* the bit does not change with the lap */
    NO_ROOM_CHECK,     /* producers never look at the tail */
    ROOM_FOR_MORE,     /* they assume one slot too many */
    HEADER_ALONE,      /* the reader checks the lap bits of the header only */
    FIRST_WORDS,       /* the reader checks the first word of each slot only */
    TAIL_TOO_EARLY,    /* the reader returns slots before it has read them all */
    TAIL_NEVER_LAST,   /* the reader keeps the last slots until it has more to return */
    NO_SERVING,        /* askers do not wait until the cell serves them */
    SERVING_TOO_LATE,  /* they wait for it when they have reserved, as a warp whose first thread
                       reserves for the others while these still wait */
    SERVING_TOO_EARLY, /* they pass it on before they have read the answer */
    NO_MARK,           /* they take whatever is in the cell as the answer */
    HALF_AN_ANSWER,    /* they check one of its two words */
    MUTATIONS
};

/* One request: its slots; whether it is answered; whether it is reserved together with the next
 * one, as a warp does. */
struct op {
    uint8_t slots;
    bool has_answer, is_joined;
};

struct config {
    uint8_t n_slots, n_cells, n_producers;
    uint8_t n_ops;
    struct op ops[MAX_PRODUCERS][MAX_OPS];
};

enum step { TICKET, AWAIT_CELL, LOAD_TAIL, RESERVE, ROOM, STORE_TAIL, WRITE, ANSWER, PASS, DONE };

struct producer {
    uint8_t step, op, position, tail, ticket;
    uint8_t seen; /* of the answer */
};

/* A word of a slot holds 1 + the position it was written for, 0 at first; the rest of its content,
 * lap bit included, follows from that. A word of a cell: 16 * mark + 1 + the producer that
 * asked. */
struct state {
    uint8_t head, gpu_tail, cpu_tail, next_ticket;
    uint8_t position,
        n_read; /* the reader's: of the next request, and words of it that were read */
    uint8_t serving[MAX_CELLS];
    uint8_t cell[MAX_CELLS][2];
    uint8_t slot[MAX_SLOTS][2];
    uint8_t owner[MAX_POSITIONS];   /* of a request's first position, until taken: 1 + 8 p + op */
    uint8_t answers[MAX_PRODUCERS]; /* words of p's answer still to be written: 1, 2; 3: both */
    uint8_t taken[MAX_PRODUCERS];
    struct producer p[MAX_PRODUCERS];
    uint32_t unseen; /* stores under way: bit 2 position + word */
};

struct search {
    const struct config *config;
    enum mutation mutation;
    const char *wrong; /* the defect found, or NULL */
    struct state *states;
    uint32_t *table;
    size_t n_states, max_states, table_size;
};

/* ---- the behaviour of the code --------------------------------------------------------------- */

static bool lap_bit(const struct search *s, unsigned position)
{
    if (s->mutation == SAME_LAP_BIT) {
        return true;
    }
    return GSH_RING_LAP_BIT((uint64_t)position, s->config->n_slots) != 0;
}

/* Fresh memory has no lap bit. */
static bool is_valid(const struct search *s, uint8_t word, unsigned position)
{
    bool has_bit = word != 0 && lap_bit(s, word - 1u);
    return has_bit == lap_bit(s, position);
}

static const struct op *op_of(const struct search *s, const struct state *t, unsigned p)
{
    return &s->config->ops[p][t->p[p].op];
}

/* Requests that the producer reserves at once. */
static unsigned n_joined(const struct search *s, const struct state *t, unsigned p)
{
    return op_of(s, t, p)->is_joined ? 2 : 1;
}

static unsigned slots_at_once(const struct search *s, const struct state *t, unsigned p)
{
    const struct op *op = op_of(s, t, p);
    return op[0].slots + (op[0].is_joined ? op[1].slots : 0u);
}

static void fail(struct search *s, const char *what)
{
    if (!s->wrong) {
        s->wrong = what;
    }
}

static uint8_t mark_of(const struct search *s, unsigned ticket)
{
    return (uint8_t)(ticket / s->config->n_cells + 1);
}

static void next_op(const struct search *s, struct state *t, unsigned p)
{
    struct producer *me = &t->p[p];
    me->op = (uint8_t)(me->op + n_joined(s, t, p));
    me->position = me->tail = me->ticket = me->seen = 0;
    if (me->op >= s->config->n_ops) {
        me->step = DONE;
    } else {
        me->step = op_of(s, t, p)->has_answer ? TICKET : LOAD_TAIL;
    }
}

static bool has_room(const struct search *s, const struct state *t, unsigned p, unsigned tail)
{
    unsigned n_slots = s->config->n_slots + (s->mutation == ROOM_FOR_MORE);
    return s->mutation == NO_ROOM_CHECK ||
           t->p[p].position + slots_at_once(s, t, p) <= tail + n_slots;
}

/* What a producer does next when there is room. */
static uint8_t step_with_room(const struct search *s, const struct state *t, unsigned p)
{
    return s->mutation == SERVING_TOO_LATE && op_of(s, t, p)->has_answer ? AWAIT_CELL : WRITE;
}

static void reserve(struct search *s, struct state *t, unsigned p)
{
    struct producer *me = &t->p[p];
    me->position = t->head;
    t->head = (uint8_t)(t->head + slots_at_once(s, t, p));
    if (t->head > MAX_POSITIONS) {
        fail(s, "the model is too small");
        return;
    }
    unsigned position = me->position;
    for (unsigned i = 0; i < n_joined(s, t, p); i++) {
        t->owner[position] = (uint8_t)(1 + 8 * p + me->op + i);
        position += op_of(s, t, p)[i].slots;
    }
    me->step = has_room(s, t, p, me->tail) ? step_with_room(s, t, p) : ROOM;
}

static void write_slots(const struct search *s, struct state *t, unsigned p)
{
    struct producer *me = &t->p[p];
    for (unsigned i = 0; i < 2 * slots_at_once(s, t, p); i++) {
        t->unseen |= 1u << (2 * me->position + i);
    }
    if (op_of(s, t, p)->has_answer) {
        me->step = ANSWER;
    } else {
        next_op(s, t, p);
    }
}

/* Reads word me->seen of the answer; here the cell's two words are read at different times, though
 * the code reads them at once. */
static bool read_answer(struct search *s, struct state *t, unsigned p)
{
    struct producer *me = &t->p[p];
    uint8_t word = t->cell[me->ticket % s->config->n_cells][me->seen];
    bool is_looked_at = s->mutation != HALF_AN_ANSWER || me->seen == 0;
    if (word == 0 && s->mutation == NO_MARK) {
        return false;
    }
    if (is_looked_at && s->mutation != NO_MARK && word / 16 != mark_of(s, me->ticket)) {
        return false;
    }
    if (word != 16 * mark_of(s, me->ticket) + 1 + p) {
        fail(s, "an answer to another request");
    }
    me->seen++;
    if (me->seen == 2 && s->mutation == SERVING_TOO_EARLY) {
        next_op(s, t, p);
    } else if (me->seen == 2) {
        me->step = PASS;
    }
    return true;
}

static void serve_next(const struct search *s, struct state *t, unsigned p)
{
    unsigned ticket = t->p[p].ticket;
    t->serving[ticket % s->config->n_cells] = (uint8_t)(ticket / s->config->n_cells + 1);
}

/* The producer's next step. False: it is not possible now. */
static bool step_producer(struct search *s, struct state *t, unsigned p)
{
    struct producer *me = &t->p[p];
    switch (me->step) {
    case TICKET:
        me->ticket = t->next_ticket++;
        me->step = s->mutation == SERVING_TOO_LATE ? LOAD_TAIL : AWAIT_CELL;
        return true;
    case AWAIT_CELL:
        if (s->mutation != NO_SERVING &&
            t->serving[me->ticket % s->config->n_cells] < me->ticket / s->config->n_cells) {
            return false;
        }
        me->step = s->mutation == SERVING_TOO_LATE ? WRITE : LOAD_TAIL;
        return true;
    case LOAD_TAIL:
        me->tail = t->gpu_tail;
        me->step = RESERVE;
        return true;
    case RESERVE:
        reserve(s, t, p);
        return true;
    case ROOM:
        if (!has_room(s, t, p, t->cpu_tail)) {
            return false;
        }
        me->tail = t->cpu_tail;
        me->step = STORE_TAIL;
        return true;
    case STORE_TAIL: /* perhaps older than the present value */
        t->gpu_tail = me->tail;
        me->step = step_with_room(s, t, p);
        return true;
    case WRITE:
        write_slots(s, t, p);
        if (s->mutation == SERVING_TOO_EARLY && me->step == ANSWER) {
            serve_next(s, t, p);
        }
        return true;
    case ANSWER:
        return read_answer(s, t, p);
    case PASS:
        serve_next(s, t, p);
        next_op(s, t, p);
        return true;
    default:
        return false;
    }
}

/* A store reaches the ring. */
static bool step_store(struct search *s, struct state *t, unsigned bit)
{
    if (!(t->unseen >> bit & 1)) {
        return false;
    }
    unsigned position = bit / 2, n = s->config->n_slots;
    uint8_t *word = &t->slot[position % n][bit % 2];
    if (position >= n && position - n >= t->position) {
        fail(s, "a slot is overwritten before it is read");
    }
    if (*word != (position >= n ? position - n + 1 : 0)) {
        fail(s, "a slot is written out of turn");
    }
    *word = (uint8_t)(position + 1);
    t->unseen &= ~(1u << bit);
    return true;
}

/* The reader has read all words of a request. */
static void take(struct search *s, struct state *t)
{
    unsigned who = t->owner[t->position] - 1u, p = who / 8, op = who % 8;
    if (op != t->taken[p]) {
        fail(s, "a producer's requests are taken out of order");
    }
    t->taken[p] = (uint8_t)(op + 1);
    if (s->config->ops[p][op].has_answer) {
        t->answers[p] = 3;
    }
    t->owner[t->position] = 0;
    t->position = (uint8_t)(t->position + s->config->ops[p][op].slots);
    t->n_read = 0;
}

static bool step_reader(struct search *s, struct state *t)
{
    unsigned position = t->position + t->n_read / 2u, n = s->config->n_slots;
    if (t->position >= MAX_POSITIONS) {
        return false;
    }
    uint8_t word = t->slot[position % n][t->n_read % 2];
    bool is_looked_at = (s->mutation != HEADER_ALONE || t->n_read < 2) &&
                        (s->mutation != FIRST_WORDS || t->n_read % 2 == 0);
    if (is_looked_at && !is_valid(s, word, position)) {
        return false;
    }
    if (word != position + 1) {
        fail(s, "a word is taken that was not written for this position");
        return true;
    }
    t->n_read++;
    unsigned who = t->owner[t->position] - 1u;
    if (t->n_read == 2 * s->config->ops[who / 8][who % 8].slots) {
        take(s, t);
    }
    return true;
}

/* The reader publishes its tail, at any time. */
static bool step_tail(const struct search *s, struct state *t)
{
    unsigned tail = t->position;
    if (s->mutation == TAIL_TOO_EARLY && t->n_read > 0) {
        tail += (t->n_read + 1) / 2;
    }
    if (s->mutation == TAIL_NEVER_LAST && tail < t->cpu_tail + 2u) {
        return false;
    }
    if (t->cpu_tail >= tail) {
        return false;
    }
    t->cpu_tail = (uint8_t)tail;
    return true;
}

/* The proxy writes a word of the answer to p, whose ticket came with the request. */
static bool step_answer(const struct search *s, struct state *t, unsigned p, unsigned word)
{
    if (!(t->answers[p] >> word & 1)) {
        return false;
    }
    unsigned ticket = t->p[p].ticket;
    t->cell[ticket % s->config->n_cells][word] = (uint8_t)(16 * mark_of(s, ticket) + 1 + p);
    t->answers[p] &= (uint8_t) ~(1u << word);
    return true;
}

/* ---- all interleavings ----------------------------------------------------------------------- */

static uint64_t hash(const struct state *t)
{
    const unsigned char *p = (const unsigned char *)t;
    uint64_t h = 0;
    for (size_t i = 0; i < sizeof(*t); i += 4) {
        uint32_t v;
        memcpy(&v, p + i, 4);
        h = (h ^ v) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h;
}
_Static_assert(sizeof(struct state) % 4 == 0, "hash() reads 4 bytes at a time");

/* New states are searched from later. */
static void reach(struct search *s, const struct state *t)
{
    size_t i = hash(t) & (s->table_size - 1);
    for (; s->table[i] != 0; i = (i + 1) & (s->table_size - 1)) {
        if (memcmp(&s->states[s->table[i] - 1], t, sizeof(*t)) == 0) {
            return;
        }
    }
    if (s->n_states == s->max_states) {
        fail(s, "too many states");
        return;
    }
    s->states[s->n_states++] = *t;
    s->table[i] = (uint32_t)s->n_states;
}

static bool is_finished(const struct search *s, const struct state *t)
{
    for (unsigned p = 0; p < s->config->n_producers; p++) {
        if (t->p[p].step != DONE || t->taken[p] != s->config->n_ops) {
            return false;
        }
    }
    return t->position == t->head && t->unseen == 0;
}

static void expand(struct search *s, const struct state *from)
{
    bool is_stuck = true;
    struct state t;
    unsigned n = s->config->n_producers;
#define STEP(call)            \
    do {                      \
        t = *from;            \
        if (call) {           \
            is_stuck = false; \
            reach(s, &t);     \
        }                     \
    } while (0)
    for (unsigned p = 0; p < n; p++) {
        STEP(step_producer(s, &t, p));
        STEP(step_answer(s, &t, p, 0));
        STEP(step_answer(s, &t, p, 1));
    }
    for (unsigned bit = 0; bit < 2 * MAX_POSITIONS; bit++) {
        STEP(step_store(s, &t, bit));
    }
    STEP(step_reader(s, &t));
    STEP(step_tail(s, &t));
#undef STEP
    if (is_stuck && !is_finished(s, from)) {
        fail(s, "everybody waits");
    }
}

/* The defect, or NULL. */
static const char *explore(const struct config *config, enum mutation mutation, size_t *n_states)
{
    struct search s = {.config = config, .mutation = mutation};
    s.max_states = 3u << 20;
    s.table_size = 1u << 23;
    s.states = malloc(s.max_states * sizeof(*s.states));
    s.table = calloc(s.table_size, sizeof(*s.table));
    if (!s.states || !s.table) {
        abort();
    }
    struct state first = {0};
    for (unsigned p = 0; p < config->n_producers; p++) {
        first.p[p].step = config->ops[p][0].has_answer ? TICKET : LOAD_TAIL;
    }
    reach(&s, &first);
    for (size_t i = 0; i < s.n_states && !s.wrong; i++) {
        struct state t = s.states[i];
        expand(&s, &t);
    }
    *n_states = s.n_states;
    free(s.states);
    free(s.table);
    return s.wrong;
}

#define ONE             \
    {                   \
        1, false, false \
    }
#define TWO             \
    {                   \
        2, false, false \
    }
#define JOINED         \
    {                  \
        1, false, true \
    }
#define ASK            \
    {                  \
        1, true, false \
    }
#define ASK2           \
    {                  \
        2, true, false \
    }

/* Each for at least three laps; the small one that shows most mutations comes first. */
static const struct config configs[] = {
    {2, 1, 2, 3, {{ASK, TWO, ASK}, {ONE, ASK2, ASK}}},
    {2, 1, 2, 3, {{ONE, TWO, ONE}, {TWO, ONE, ONE}}},
    {2, 1, 2, 3, {{JOINED, ONE, TWO}, {TWO, JOINED, ONE}}},
    {2, 1, 3, 2, {{ONE, ONE}, {TWO, ONE}, {ONE, ONE}}},
    {4, 1, 2, 4, {{TWO, ONE, TWO, ONE}, {TWO, TWO, ONE, TWO}}},
    {2, 1, 3, 2, {{ASK, ASK}, {ASK, ONE}, {ASK, TWO}}},
    {2, 2, 3, 2, {{ASK, ASK2}, {ASK, ASK}, {ASK, ONE}}},
};

int main(void)
{
    bool is_found[MUTATIONS] = {false};
    for (size_t c = 0; c < sizeof(configs) / sizeof(*configs); c++) {
        for (int m = NONE; m < MUTATIONS; m++) {
            size_t n_states;
            if (is_found[m]) {
                continue;
            }
            const char *wrong = explore(&configs[c], (enum mutation)m, &n_states);
            if (m == NONE || wrong) {
                printf("configuration %zu, mutation %d: %zu states, %s\n", c, m, n_states,
                       wrong ? wrong : "all right");
            }
            if (m == NONE) {
                CHECK(!wrong);
            } else {
                is_found[m] = wrong && strcmp(wrong, "too many states") != 0;
            }
        }
    }
    for (int m = NONE + 1; m < MUTATIONS; m++) {
        if (!CHECK(is_found[m])) {
            fprintf(stderr, "mutation %d was not found\n", m);
        }
    }
    return test_result();
}
