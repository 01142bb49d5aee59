/* Proves which jobs have hosts that a number or runs describe, and that an exchange within hosts,
 * by its arithmetic alone, gives each rank the blocks of its host, as an allgather does, whatever
 * the numbers of ranks and of those of a host; that it sends few of them; and that in a job of one
 * host it is the allgather. And that a combine of groups, as if nodes have combined, gives each
 * rank something of each group, in the fewest rounds. SPDX-License-Identifier: Apache-2.0 */
#include "bootstrap/host_leg.h"
#include "bootstrap/leg.h"
#include "bootstrap/rendezvous.h"
#include "tests/test.h"

enum { MAX_RANKS = 64, NONE = -1 };

/* ---- what the rendezvous decides ---- */

/* Ranks come in an order of no meaning. */
static void decide(struct gsh_rendezvous *r, int n, const uint64_t *hosts)
{
    for (int i = 0; i < n; i++) {
        const int rank = (i + n / 2) % n;
        struct gsh_hello hello = {.rank = (uint32_t)rank, .n_ranks = (uint32_t)n};
        memcpy(hello.host, &hosts[rank], sizeof(hello.host));
        CHECK_EQ(r->host_ranks, 0);
        CHECK(gsh_rendezvous_enter(r, &hello, -1, rank));
    }
    CHECK(gsh_rendezvous_is_complete(r));
}

/* Each rank finds those of its letter, whose host has the next number. */
static void check_runs(const struct gsh_rendezvous *r, const char *letters)
{
    struct gsh_host_run regular[2];
    const int n = (int)strlen(letters);
    const bool is_regular = r->n_host_runs == 0;
    const int n_runs =
        is_regular ? gsh_host_runs_regular(n, r->host_ranks, regular) : r->n_host_runs;
    for (int rank = 0, expected = 0; rank < n; rank++) {
        int number;
        const struct gsh_rank_range range =
            gsh_host_runs_find(is_regular ? regular : r->host_runs, n_runs, rank, &number);
        expected += rank > 0 && letters[rank] != letters[rank - 1];
        CHECK_EQ(number, expected);
        for (int i = 0; i < n; i++) {
            CHECK_EQ(i >= range.first && i < range.first + range.n, letters[i] == letters[rank]);
        }
    }
}

static void test_decision(void)
{
    static const struct {
        const char *hosts; /* a letter for each rank's; '-': it does not say */
        int host_ranks, n_runs;
    } cases[] = {
        {"a", 1, 0},
        {"aaaa", 4, 0},
        {"ab", 1, 0},
        {"abc", 1, 0},
        {"aabb", 2, 0},
        {"bbaacc", 2, 0},
        {"aabbc", 2, 0},
        {"aaabbbcc", 3, 0},
        {"aaab", 3, 0},
        {"aaaabbb", 4, 0},
        {"abb", 2, 2},
        {"aabbb", 3, 2},
        {"aabbbb", 4, 2},
        {"aabcc", 2, 3},
        {"aabccd", 2, 4},
        {"aaaabbbc", 4, 3},
        {"abbcddeff", 2, 6},
        {"abbcddeffghh", 2, 8},
        {"abbcddeffghhi", 0, 0}, /* so many runs are not told */
        {"abab", 0, 0},
        {"aabbaa", 0, 0},
        {"aabba", 0, 0},
        {"abca", 0, 0},
        {"-", 0, 0},
        {"----", 0, 0},
        {"aabb-", 0, 0},
        {"-abc", 0, 0},
        {"aabbccaab", 0, 0},
    };
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        uint64_t hosts[16] = {0};
        struct gsh_rendezvous r = {0};
        const int n = (int)strlen(cases[c].hosts);
        for (int i = 0; i < n; i++) { /* they differ in their first and last bytes alone */
            const uint64_t letter = (uint64_t)cases[c].hosts[i];
            hosts[i] = letter == '-' ? 0 : letter % 2 == 0 ? letter : letter << 56;
        }
        decide(&r, n, hosts);
        if (!CHECK_EQ(r.host_ranks, cases[c].host_ranks) ||
            !CHECK_EQ(r.n_host_runs, cases[c].n_runs)) {
            printf("%s\n", cases[c].hosts);
        } else if (r.host_ranks > 0) {
            check_runs(&r, cases[c].hosts);
        }
        gsh_rendezvous_forget(&r);
    }
}

/* ---- the exchange ---- */

/* at[r][p]: whose block rank r has at position p. Before a round, as its messages are of then. */
static int at[MAX_RANKS][MAX_RANKS];

static void begin(int n)
{
    for (int r = 0; r < n; r++) {
        for (int p = 0; p < n; p++) {
            at[r][p] = p == 0 ? r : NONE;
        }
    }
}

static int in_host(int n, int host_ranks)
{
    int most = 0;
    begin(n);
    for (struct gsh_leg leg = {0}; gsh_leg_next(&leg, n, 0, 1);) {
        const int d = leg.distance;
        int blocks = 0;
        for (int p = d - 1; (p = gsh_host_leg_position(n, host_ranks, p)) < n && p < 2 * d;) {
            CHECK(p >= d && p - d < leg.blocks);
            for (int r = 0; r < n; r++) {
                at[r][p] = at[(r + n - d) % n][p - d];
                CHECK(at[r][p] != NONE);
            }
            blocks++;
        }
        CHECK_EQ(gsh_host_leg_blocks(n, host_ranks, d), blocks);
        CHECK(blocks <= leg.blocks && blocks <= 2 * (host_ranks - 1));
        CHECK(host_ranks < n || blocks == leg.blocks);
        most = blocks > most ? blocks : most;
    }
    return most;
}

static void in_all(int n)
{
    begin(n);
    for (struct gsh_leg leg = {0}; gsh_leg_next(&leg, n, 0, 1);) {
        for (int r = 0; r < n; r++) {
            memcpy(&at[r][leg.distance], at[(r + n - leg.distance) % n],
                   (size_t)leg.blocks * sizeof(int));
        }
    }
}

static void test_exchange(void)
{
    static int all[MAX_RANKS][MAX_RANKS];
    for (int n = 1; n <= MAX_RANKS; n++) {
        in_all(n);
        memcpy(all, at, sizeof(all));
        for (int k = 1; k <= n; k++) {
            int wrong = 0;
            (void)in_host(n, k);
            for (int r = 0; r < n; r++) {
                for (int p = 0; p < n; p++) {
                    const bool is_of_host = all[r][p] / k == r / k;
                    wrong += at[r][p] == NONE ? is_of_host : at[r][p] != all[r][p];
                }
            }
            if (!CHECK_EQ(wrong, 0)) {
                printf("%d ranks, %d on a host\n", n, k);
            }
        }
    }
    CHECK_EQ(in_host(MAX_RANKS, 1), 0);
}

/* What a rank of very many sends does not grow with their number, but for its logarithm. */
static void test_many(void)
{
    for (int n = 1000; n <= 1000000; n *= 10) {
        for (int k = 1; k <= 8; k++) {
            int blocks = 0;
            for (struct gsh_leg leg = {0}; gsh_leg_next(&leg, n, 0, 1);) {
                blocks += gsh_host_leg_blocks(n, k, leg.distance);
            }
            CHECK(blocks <= (k - 1) * gsh_uid_rounds(n) && (k == 1 || blocks >= k));
        }
    }
}

/* ---- groups ---- */

/* Groups have at least `least` ranks that follow one another: some have one more, and the last has
 * what is left. */
static void test_groups_of(int n, int least)
{
    static int group[MAX_RANKS];
    static uint64_t heard[MAX_RANKS], before[MAX_RANKS];
    const int width = gsh_leg_width(least);
    int n_groups = 0, n_rounds = 0;
    CHECK(width <= least && 2 * width > least);
    for (int i = 0; i < n; n_groups++) {
        const int size = least + n_groups % 2, end = n - i - size < least ? n : i + size;
        for (; i < end; i++) {
            group[i] = n_groups;
        }
    }
    for (int i = 0; i < n; i++) {
        heard[i] = UINT64_C(1) << group[i];
    }
    for (struct gsh_leg all = {0}; gsh_leg_next(&all, n, 0, 1);) {
        n_rounds += all.distance >= width;
    }
    for (int round = 0;; round++) {
        struct gsh_leg leg = gsh_leg_of_groups(width);
        for (int k = 0; k <= round; k++) {
            if (!gsh_leg_next(&leg, n, 0, -1)) {
                CHECK_EQ(round, n_rounds);
                for (int i = 0; i < n; i++) {
                    CHECK_EQ(heard[i], (UINT64_C(1) << n_groups) - 1);
                }
                return;
            }
        }
        CHECK_EQ(1 << leg.round, leg.distance);
        memcpy(before, heard, sizeof(heard));
        for (int i = 0; i < n; i++) {
            heard[i] |= before[(i + leg.distance) % n];
        }
    }
}

static void test_groups(void)
{
    for (int n = 2; n < MAX_RANKS; n++) {
        for (int least = 1; least <= n; least++) {
            test_groups_of(n, least);
        }
    }
}

int main(void)
{
    test_decision();
    test_exchange();
    test_many();
    test_groups();
    return test_result();
}
