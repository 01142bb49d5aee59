/* Proves which jobs have hosts that a number or runs describe, and that an exchange within hosts,
 * by its arithmetic alone or by a table, gives each rank the blocks of its host, as an allgather
 * does, whatever the numbers of ranks, of those of a host and of those that it gets at a time; that
 * it sends few of them; and that in a job of one host it is the allgather. And that a combine of
 * groups, as if nodes have combined, gives each rank something of each group, in the fewest rounds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "bootstrap/host_leg.h"
#include "bootstrap/host_table.h"
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
        CHECK_EQ(r->hosts.most, 0);
        CHECK(gsh_rendezvous_enter(r, &hello, -1, rank));
    }
    CHECK(gsh_rendezvous_is_complete(r));
}

/* Each rank finds those of its letter, whose host has the next number. */
static void check_layout(const struct gsh_host_layout *hosts, const char *letters)
{
    const int n = (int)strlen(letters);
    int n_hosts = 0;
    for (int rank = 0; rank < n; rank++) {
        int number, n_before = 0;
        const struct gsh_host_ranks its = gsh_host_layout_find(hosts, n, rank, &number);
        const bool is_new = strchr(letters, letters[rank]) == letters + rank;
        CHECK(number < n_hosts + is_new && (!is_new || number == n_hosts));
        n_hosts += is_new;
        for (int i = 0; i < n; i++) {
            const int index = gsh_host_ranks_index(&its, i);
            CHECK_EQ(index, letters[i] == letters[rank] ? n_before : -1);
            if (index >= 0) {
                CHECK_EQ(gsh_host_ranks_at(&its, index), i);
                n_before++;
            }
        }
        CHECK_EQ(its.n, n_before);
    }
    CHECK_EQ(gsh_host_layout_n_hosts(hosts), n_hosts);
}

static void test_decision(void)
{
    static const struct {
        const char *hosts; /* a letter for each rank's; '-': it does not say */
        int most, n_runs, dealt_ranks;
    } cases[] = {
        {"a", 1, 0, 0},
        {"aaaa", 4, 0, 0},
        {"ab", 1, 0, 0},
        {"abc", 1, 0, 0},
        {"aabb", 2, 0, 0},
        {"bbaacc", 2, 0, 0},
        {"aabbc", 2, 0, 0},
        {"aaabbbcc", 3, 0, 0},
        {"aaab", 3, 0, 0},
        {"aaaabbb", 4, 0, 0},
        {"abb", 2, 2, 0},
        {"aabbb", 3, 2, 0},
        {"aabbbb", 4, 2, 0},
        {"aabcc", 2, 3, 0},
        {"aabccd", 2, 4, 0},
        {"aaaabbbc", 4, 3, 0},
        {"abbcddeff", 2, 6, 0},
        {"abbcddeffghh", 2, 8, 0},
        {"abbcddeffghhi", 0, 0, 0}, /* so many runs are not told */
        {"abab", 2, 1, 1},
        {"abcabca", 3, 1, 1},
        {"abca", 2, 1, 1},
        {"aabbaa", 4, 1, 2},
        {"aabba", 3, 1, 2},
        {"aabbccaab", 4, 1, 2},
        {"aaabbbaaabbba", 7, 1, 3},
        {"abba", 0, 0, 0},
        {"aba-", 0, 0, 0},
        {"abaab", 0, 0, 0},
        {"abcacb", 0, 0, 0},
        {"abacabac", 0, 0, 0}, /* the first host has a turn more than others */
        {"abcbabcb", 0, 0, 0},
        {"aabbaabbc", 0, 0, 0},
        {"aabbaab", 4, 1, 2},
        {"aabbabab", 0, 0, 0},
        {"-", 0, 0, 0},
        {"----", 0, 0, 0},
        {"aabb-", 0, 0, 0},
        {"-abc", 0, 0, 0},
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
        if (!CHECK_EQ(r.hosts.most, cases[c].most) || !CHECK_EQ(r.hosts.n_runs, cases[c].n_runs) ||
            !CHECK_EQ(r.hosts.dealt_ranks, cases[c].dealt_ranks)) {
            printf("%s\n", cases[c].hosts);
        } else if (r.hosts.most > 0) {
            const struct gsh_host_layout layout =
                r.hosts.n_runs == 0 ? gsh_host_layout_regular(n, r.hosts.most) : r.hosts;
            check_layout(&layout, cases[c].hosts);
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

/* needed: positions that a rank needs, besides its own. */
static int in_host(const struct gsh_host_leg *host_leg, int needed)
{
    const int n = host_leg->n;
    int most = 0;
    begin(n);
    for (struct gsh_leg leg = {0}; gsh_leg_next(&leg, n, 0, 1);) {
        const int d = leg.distance;
        int blocks = 0;
        for (int p = d - 1; (p = gsh_host_leg_position(host_leg, 0, p)) < n && p < 2 * d;) {
            CHECK(p >= d && p - d < leg.blocks);
            for (int r = 0; r < n; r++) {
                at[r][p] = at[(r + n - d) % n][p - d];
                CHECK(at[r][p] != NONE);
            }
            blocks++;
        }
        CHECK_EQ(gsh_host_leg_blocks(host_leg, 0, d), blocks);
        CHECK(blocks <= leg.blocks && blocks <= needed);
        CHECK(host_leg->block < n || blocks == leg.blocks);
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

static int of_all[MAX_RANKS][MAX_RANKS]; /* of an allgather */

static void check_exchange(struct gsh_host_layout hosts, int n, int needed)
{
    const struct gsh_host_leg leg = gsh_host_leg_of(&hosts, n);
    int wrong = 0, number;
    (void)in_host(&leg, needed);
    for (int r = 0; r < n; r++) {
        const struct gsh_host_ranks its = gsh_host_layout_find(&hosts, n, r, &number);
        for (int p = 0; p < n; p++) {
            const bool is_of_host = gsh_host_ranks_index(&its, of_all[r][p]) >= 0;
            wrong += at[r][p] == NONE ? is_of_host : at[r][p] != of_all[r][p];
        }
    }
    if (!CHECK_EQ(wrong, 0)) {
        printf("%d ranks, %d on a host, %d at a time\n", n, hosts.most, hosts.dealt_ranks);
    }
}

/* By a table each rank gets what its host needs, over ranks that have it, and little else. */
static void check_table(const struct gsh_host_table *table, int n)
{
    const struct gsh_host_layout hosts = {.table = table, .most = gsh_host_table_most(table)};
    const struct gsh_host_leg in_host = gsh_host_leg_of(&hosts, n);
    int wrong = 0, number, most_blocks = 0;
    begin(n);
    for (struct gsh_leg leg = {0}; gsh_leg_next(&leg, n, 0, 1);) {
        const int d = leg.distance;
        for (int r = 0; r < n; r++) {
            int blocks = 0;
            for (int p = d - 1; (p = gsh_host_leg_position(&in_host, r, p)) < n && p < 2 * d;) {
                at[r][p] = at[(r + n - d) % n][p - d];
                wrong += at[r][p] == NONE || p - d >= leg.blocks;
                blocks++;
            }
            wrong += gsh_host_leg_blocks(&in_host, r, d) != blocks;
            most_blocks = blocks > most_blocks ? blocks : most_blocks;
        }
    }
    for (int r = 0; r < n; r++) {
        const struct gsh_host_ranks its = gsh_host_layout_find(&hosts, n, r, &number);
        for (int p = 0; p < n; p++) {
            const bool is_of_host = gsh_host_ranks_index(&its, of_all[r][p]) >= 0;
            wrong += at[r][p] == NONE ? is_of_host : at[r][p] != of_all[r][p];
        }
    }
    CHECK_EQ(wrong, 0);
    CHECK(most_blocks < n);
}

static const struct gsh_host_part *make_parts(const char *letters, int first)
{
    static struct gsh_host_part parts[MAX_RANKS];
    const int n = (int)strlen(letters);
    int k = -1;
    memset(parts, 0, sizeof(parts));
    for (int i = 0; i < n; i++) {
        const char its = letters[(first + i) % n];
        k += k < 0 || parts[k].host[1] != (uint32_t)its;
        parts[k].host[1] = (uint32_t)its;
        parts[k].ranks++;
    }
    return parts;
}

static void test_tables(void)
{
    static const char *const layouts[] = {
        "a", "ab", "abba", "aabcca", "abcadaeaaf", "abbcddeffghhijjk", "zyxzyxxyzzyzxyzxyzzzyx"};
    for (size_t c = 0; c < sizeof(layouts) / sizeof(layouts[0]); c++) {
        const char *letters = layouts[c];
        const int n = (int)strlen(letters);
        in_all(n);
        memcpy(of_all, at, sizeof(of_all));
        for (int first = 0; first < n; first++) {
            struct gsh_host_table table = {0};
            CHECK_EQ(gsh_host_table_make(&table, n, make_parts(letters, first), first), GSH_OK);
            check_layout(&(struct gsh_host_layout){.table = &table}, letters);
            check_table(&table, n);
            gsh_host_table_free(&table);
        }
    }
}

static void test_exchange(void)
{
    for (int n = 1; n <= MAX_RANKS; n++) {
        in_all(n);
        memcpy(of_all, at, sizeof(of_all));
        for (int k = 1; k <= n; k++) {
            check_exchange(gsh_host_layout_regular(n, k), n, 2 * (k - 1));
            for (int n_hosts = 2; k * n_hosts < n; n_hosts++) {
                const int n_deals = (n - 1) / (k * n_hosts) + 1;
                const int needed = (2 * n_deals - 1) * (2 * k - 1) - 1;
                check_exchange(gsh_host_layout_dealt(n, k, n_hosts), n, needed);
            }
        }
    }
    const struct gsh_host_layout alone = gsh_host_layout_regular(MAX_RANKS, 1);
    const struct gsh_host_leg leg = gsh_host_leg_of(&alone, MAX_RANKS);
    CHECK_EQ(in_host(&leg, 0), 0);
}

static int blocks_of(struct gsh_host_layout hosts, int n)
{
    const struct gsh_host_leg in_host = gsh_host_leg_of(&hosts, n);
    int blocks = 0;
    for (struct gsh_leg leg = {0}; gsh_leg_next(&leg, n, 0, 1);) {
        blocks += gsh_host_leg_blocks(&in_host, 0, leg.distance);
    }
    return blocks;
}

/* What a rank of very many sends does not grow with their number, but for its logarithm. */
static void test_many(void)
{
    for (int n = 1000; n <= 1000000; n *= 10) {
        for (int k = 1; k <= 8; k++) {
            const int runs = blocks_of(gsh_host_layout_regular(n, k), n);
            const int dealt = blocks_of(gsh_host_layout_dealt(n, 1, (n - 1) / k + 1), n);
            CHECK(runs <= (k - 1) * gsh_uid_rounds(n) && (k == 1 || runs >= k));
            CHECK(dealt <= 2 * (k - 1) * gsh_uid_rounds(n) && dealt >= k - 1);
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
    test_tables();
    test_many();
    test_groups();
    return test_result();
}
