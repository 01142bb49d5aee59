/* SPDX-License-Identifier: Apache-2.0
 * Collectives in lines (wire/rounds.h): that the blocks and rounds of an item handle each line
 * once, that the slots of an inbox lie apart and within it, and that no line is overwritten before
 * it has been taken, however fast each member is: members that are simulated walk through items in
 * every order that a random scheduler can make of them. */
#include <stdlib.h>
#include "tests/test.h"
#include "wire/rounds.h"

/* ---- the inbox ---- */

static void check_inbox(int n, uint64_t bytes, uint32_t channels, uint32_t enough, uint32_t room)
{
    struct gsh_lines_inbox in = {.line_room = room};
    const uint64_t least = 128 + GSH_LINES_BUFFERS * (uint64_t)(n - 1) * room;
    if (!gsh_lines_divide(&in, n, bytes, channels, enough)) {
        CHECK(bytes < least);
        return;
    }
    CHECK(bytes >= least);
    CHECK(in.n_channels >= 1 && in.n_channels <= channels);
    CHECK(in.slot_lines >= 1);
    CHECK(in.slot_lines == 1 || in.slot_lines * (uint32_t)(n - 1) <= enough);
    CHECK(gsh_lines_channel_off(&in, n, 0) >= 8 * (uint64_t)in.n_channels);
    CHECK_EQ(gsh_lines_channel_off(&in, n, 0) % 128, 0);
    CHECK(gsh_lines_channel_off(&in, n, in.n_channels) <= bytes);
}

static void check_slots(int n)
{
    for (int receiver = 0; receiver < n; receiver++) {
        uint64_t seen = 0;
        for (int sender = 0; sender < n; sender++) {
            if (sender != receiver) {
                seen |= (uint64_t)1 << gsh_lines_slot(sender, receiver);
            }
        }
        CHECK_EQ(seen, ((uint64_t)1 << (n - 1)) - 1);
    }
}

/* ---- the lines of an item ---- */

static void check_plan(uint64_t total, uint32_t per_block, uint32_t channels, uint32_t slot_lines)
{
    const struct gsh_lines_inbox in = {.n_channels = channels, .slot_lines = slot_lines};
    const struct gsh_lines_rounds p =
        gsh_lines_plan(&in, total, gsh_lines_blocks(&in, total, per_block));
    uint8_t *times = calloc(1, total);
    uint64_t in_vain = 0;
    CHECK(p.n_blocks >= 1 && p.n_blocks <= channels);
    CHECK(p.lines >= 1 && p.lines <= slot_lines);
    for (uint32_t b = 0; b < p.n_blocks; b++) {
        for (uint32_t r = 0; r < p.n_rounds; r++) {
            for (uint32_t l = 0; l < p.lines; l++) {
                const uint64_t line = gsh_lines_first(p.n_rounds, p.lines, b, r) + l;
                if (line < total) {
                    times[line]++;
                } else {
                    in_vain++;
                }
            }
        }
    }
    for (uint64_t i = 0; i < total; i++) {
        CHECK_EQ(times[i], 1);
    }
    CHECK(in_vain <= (uint64_t)p.n_blocks * p.n_rounds + p.n_blocks);
    free(times);
}

/* ---- who overtakes whom ---- */

enum { N = 3, N_ITEMS = 40, LINES = 2 };

struct item {
    uint32_t n_rounds, lines;
    int root;          /* -1: all pairs give each other data */
    uint32_t ahead[N]; /* of each member: rounds in which a unit may send before it has taken the
                          first of them; 0: in steps of two rounds, of which it takes both first */
};

/* A unit of a member: the rounds of the item in which it sends and takes next. */
struct unit {
    uint32_t sends, takes;
};

struct member {
    int item;
    uint64_t before; /* rounds of the items before */
    struct unit unit[N][LINES];
    struct {
        uint64_t flag;
        bool is_taken;
    } slot[GSH_LINES_BUFFERS][N][LINES];
};

static bool is_used(const struct item *t, int a, int b, uint32_t line, uint32_t round)
{
    const bool have_data = t->root < 0 || t->root == a || t->root == b;
    return have_data ? line < t->lines : line == 0 && gsh_lines_both_call(t->n_rounds, round);
}

static uint32_t skip_unused(const struct item *t, int me, int other, uint32_t line, uint32_t round)
{
    while (round < t->n_rounds && !is_used(t, me, other, line, round)) {
        round++;
    }
    return round;
}

static bool may_send(const struct unit *u, uint32_t ahead)
{
    return u->sends < (ahead > 0 ? u->takes + ahead : u->takes / 2 * 2 + 2);
}

/* One step of the unit, if there is one that it can make: it sends if it may, else it takes. */
static bool step(struct member *m, const struct item *t, int me, int other, uint32_t line)
{
    struct unit *u = &m[me].unit[other][line];
    u->sends = skip_unused(t, me, other, line, u->sends);
    u->takes = skip_unused(t, me, other, line, u->takes);
    if (u->sends < t->n_rounds && may_send(u, t->ahead[me])) {
        const uint64_t flag = m[me].before + 1 + u->sends;
        CHECK(m[other].slot[flag % GSH_LINES_BUFFERS][me][line].is_taken);
        m[other].slot[flag % GSH_LINES_BUFFERS][me][line].flag = flag;
        m[other].slot[flag % GSH_LINES_BUFFERS][me][line].is_taken = false;
        u->sends++;
        return true;
    }
    const uint64_t flag = m[me].before + 1 + u->takes;
    if (u->takes >= t->n_rounds || m[me].slot[flag % GSH_LINES_BUFFERS][other][line].flag != flag) {
        return false;
    }
    m[me].slot[flag % GSH_LINES_BUFFERS][other][line].is_taken = true;
    u->takes++;
    return true;
}

static bool is_through(const struct member *m, const struct item *t)
{
    bool is = true;
    for (int other = 0; other < N; other++) {
        for (int line = 0; line < LINES; line++) {
            is = is && m->unit[other][line].takes >= t->n_rounds;
        }
    }
    return is;
}

static void begin_item(struct member *m, int me, const struct item *items)
{
    m->before += m->item < 0 ? 0 : items[m->item].n_rounds;
    m->item++;
    for (int other = 0; other < N; other++) {
        for (int line = 0; line < LINES; line++) {
            const uint32_t first = other == me ? UINT32_MAX : 0;
            m->unit[other][line] = (struct unit){first, first};
        }
    }
}

/* Some members are rarely chosen. */
static void race(uint64_t *random)
{
    struct item items[N_ITEMS];
    struct member m[N];
    memset(m, 0, sizeof(m));
    for (int i = 0; i < N_ITEMS; i++) {
        items[i] = (struct item){.n_rounds = 1 + (uint32_t)(test_random(random) % 11),
                                 .lines = 1 + (uint32_t)(test_random(random) % LINES),
                                 .root = (int)(test_random(random) % (N + 1)) - 1};
        for (int k = 0; k < N; k++) {
            items[i].ahead[k] = (uint32_t)(test_random(random) % (GSH_LINES_ROUNDS_AHEAD + 1));
        }
    }
    for (int i = 0; i < N; i++) {
        m[i].item = -1;
        for (int k = 0; k < (int)GSH_LINES_BUFFERS * N * LINES; k++) {
            m[i].slot[k / (N * LINES)][k / LINES % N][k % LINES].is_taken = true;
        }
        begin_item(&m[i], i, items);
    }
    const int favourite = (int)(test_random(random) % N);
    unsigned n_idle = 0;
    while (n_idle < 10000) {
        const uint64_t x = test_random(random);
        const int me = x % 4 == 0 ? (int)(x / 4 % N) : favourite;
        if (m[me].item == N_ITEMS) {
            n_idle++;
            continue;
        }
        const int other = (me + 1 + (int)(x / 64 % (N - 1))) % N;
        bool has_moved = step(m, &items[m[me].item], me, other, (uint32_t)(x / 4096 % LINES));
        if (is_through(&m[me], &items[m[me].item])) {
            begin_item(&m[me], me, items);
            has_moved = true;
        }
        n_idle = has_moved ? 0 : n_idle + 1;
    }
    for (int i = 0; i < N; i++) {
        CHECK_EQ(m[i].item, N_ITEMS); /* nobody waits for ever */
    }
}

int main(void)
{
    uint64_t random = test_seed();
    for (int n = 2; n < 40; n += n < 9 ? 1 : 7) {
        check_slots(n);
        for (uint64_t bytes = 100; bytes < (uint64_t)8 << 20; bytes = bytes * 5 / 4) {
            for (uint32_t channels = 1; channels < 200; channels = channels * 3 + 1) {
                check_inbox(n, bytes, channels, 128, GSH_LINE_ROOM_WHOLE);
                check_inbox(n, bytes, channels, 1, GSH_LINE_ROOM_WORDS);
            }
        }
    }
    for (int i = 0; i < 500; i++) {
        check_plan(1 + test_random(&random) % (i % 2 ? 40 : 5000),
                   1 + (uint32_t)(test_random(&random) % 64),
                   1 + (uint32_t)(test_random(&random) % 64),
                   1 + (uint32_t)(test_random(&random) % 128));
    }
    for (int i = 0; i < 50; i++) {
        race(&random);
    }
    return test_result();
}
