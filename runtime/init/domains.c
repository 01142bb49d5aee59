/* SPDX-License-Identifier: Apache-2.0
 * See domains.h. The combined view of a domain's members is kept with its first member, so a PE is
 * compared with domains and not with their members. */
#include "runtime/init/domains.h"

#include <stdbool.h>
#include <stdlib.h>
#include "runtime/instance/instance.h"

/* Of n_pes, by the domain's first member. */
struct domains {
    size_t words;
    uint64_t *blind;   /* what some member cannot reach; a PE's own view until then */
    uint64_t *members; /* as bits of the node */
    int *next;         /* 1 + the first member of the node's next domain; 0: none */
};

size_t gsh_domains_words(const struct gsh_peer *peers, int n_pes)
{
    int most = 0;
    for (int p = 0; p < n_pes; p++) {
        most = peers[p].node_index > most ? peers[p].node_index : most;
    }
    return (size_t)most / 64 + 1;
}

static bool fits(const struct domains *x, int domain, int p, int index)
{
    const uint64_t *blind = x->blind + (size_t)domain * x->words;
    const uint64_t *members = x->members + (size_t)domain * x->words;
    const uint64_t *its = x->blind + (size_t)p * x->words;
    bool is_seen = (blind[index / 64] >> index % 64 & 1) == 0;
    for (size_t w = 0; is_seen && w < x->words; w++) {
        is_seen = (its[w] & members[w]) == 0;
    }
    return is_seen;
}

static void join(const struct domains *x, int domain, int p, int index)
{
    uint64_t *blind = x->blind + (size_t)domain * x->words;
    const uint64_t *its = x->blind + (size_t)p * x->words;
    x->members[(size_t)domain * x->words + (size_t)index / 64] |= UINT64_C(1) << index % 64;
    for (size_t w = 0; w < x->words; w++) {
        blind[w] |= its[w];
    }
}

enum gsh_result gsh_domains_are_nodes(struct gsh_peer *peers, int n_pes, int n_nodes)
{
    int *first = calloc((size_t)n_nodes, sizeof(*first));
    if (first == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d peers", n_pes);
    }
    for (int p = 0; p < n_pes; p++) {
        int *its = &first[peers[p].node];
        *its = peers[p].node_index == 0 ? p : *its;
        peers[p].domain = *its;
    }
    free(first);
    return GSH_OK;
}

enum gsh_result gsh_domains_number(struct gsh_peer *peers, int n_pes, int n_nodes, uint64_t *views,
                                   size_t words)
{
    struct domains x = {.words = words, .blind = views};
    x.members = calloc((size_t)n_pes * words, sizeof(*x.members));
    x.next = calloc((size_t)n_pes, sizeof(*x.next));
    int *first = calloc((size_t)n_nodes, sizeof(*first)); /* as next */
    bool is_ok = x.members != NULL && x.next != NULL && first != NULL;
    for (int p = 0; is_ok && p < n_pes; p++) {
        int *link = &first[peers[p].node];
        while (*link != 0 && !fits(&x, *link - 1, p, peers[p].node_index)) {
            link = &x.next[*link - 1];
        }
        *link = *link == 0 ? 1 + p : *link;
        peers[p].domain = *link - 1;
        join(&x, peers[p].domain, p, peers[p].node_index);
    }
    free(x.members);
    free(x.next);
    free(first);
    return is_ok ? GSH_OK : gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d peers", n_pes);
}
