/* Proves that PEs are put into domains as the rule says, with more PEs on a node than a word has
 * bits, against the rule written down again.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/init/domains.h"
#include "runtime/instance/instance.h"
#include "tests/test.h"

enum { MAX_PES = 400 };

static struct gsh_peer peers[MAX_PES];
static bool is_blind[MAX_PES][MAX_PES];
static uint32_t seed = 1;

static uint32_t draw(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

/* The first domain of its node all of whose members see p, and are seen. */
static int expected(const int *domains, int p)
{
    for (int d = 0; d < p; d++) {
        bool fits = domains[d] == d && peers[d].node == peers[p].node;
        for (int m = d; fits && m < p; m++) {
            fits = domains[m] != d || (!is_blind[m][p] && !is_blind[p][m]);
        }
        if (fits) {
            return d;
        }
    }
    return p;
}

/* PEs of node_pes on each node, by turns; one of `sight` pairs does not see each other. */
static void try(int n, int node_pes, uint32_t sight)
{
    int domains[MAX_PES], n_nodes = (n + node_pes - 1) / node_pes, wrong = 0;
    for (int p = 0; p < n; p++) {
        peers[p] = (struct gsh_peer){.node = p % n_nodes, .node_index = (unsigned)(p / n_nodes)};
    }
    size_t words = gsh_domains_words(peers, n);
    CHECK_EQ(words, (size_t)(n - 1) / (size_t)n_nodes / 64 + 1);
    uint64_t *views = calloc((size_t)n * words, sizeof(*views));
    for (int p = 0; p < n; p++) {
        for (int q = 0; q < n; q++) {
            is_blind[p][q] = p != q && sight > 0 && draw(sight) == 0;
            if (is_blind[p][q] && peers[p].node == peers[q].node) {
                int index = peers[q].node_index;
                views[(size_t)p * words + (size_t)index / 64] |= UINT64_C(1) << index % 64;
            }
        }
    }
    CHECK_EQ(gsh_domains_number(peers, n, n_nodes, views, words), GSH_OK);
    for (int p = 0; p < n; p++) {
        domains[p] = expected(domains, p);
        wrong += peers[p].domain != domains[p];
    }
    if (!CHECK_EQ(wrong, 0)) {
        fprintf(stderr, "    %d PEs, %d on a node, 1 of %u pairs\n", n, node_pes, sight);
    }
    if (sight == 0) { /* so it is where no view is asked for */
        CHECK_EQ(gsh_domains_are_nodes(peers, n, n_nodes), GSH_OK);
        for (int p = 0; p < n; p++) {
            wrong += peers[p].domain != domains[p];
        }
        CHECK_EQ(wrong, 0);
    }
    free(views);
}

int main(void)
{
    static const int sizes[][2] = {{1, 1},   {8, 8},     {9, 4},  {64, 64},
                                   {65, 65}, {400, 200}, {400, 3}};
    static const uint32_t sights[] = {0, 1, 2, 10, 300};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t k = 0; k < sizeof(sights) / sizeof(sights[0]); k++) {
            try(sizes[i][0], sizes[i][1], sights[k]);
        }
    }
    return test_result();
}
