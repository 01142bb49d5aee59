/* SPDX-License-Identifier: Apache-2.0
 * See host_table.h. */
#include "bootstrap/host_table.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    uint64_t host;
    int number; /* -1: free */
};

static struct entry *find(struct entry *entries, size_t n_entries, uint64_t host)
{
    size_t at = host & (n_entries - 1);
    while (entries[at].number >= 0 && entries[at].host != host) {
        at = (at + 1) & (n_entries - 1);
    }
    return &entries[at];
}

/* hosts: of each rank. */
static void number_hosts(struct gsh_host_table *table, int n, const uint64_t *hosts,
                         struct entry *entries, size_t n_entries)
{
    for (size_t i = 0; i < n_entries; i++) {
        entries[i].number = -1;
    }
    for (int rank = 0; rank < n; rank++) {
        struct entry *its = find(entries, n_entries, hosts[rank]);
        if (its->number < 0) {
            *its = (struct entry){.host = hosts[rank], .number = table->n_hosts++};
        }
        table->numbers[rank] = its->number;
        table->begins[its->number + 1]++;
    }
}

/* begins: how many ranks each host has, one place further on. */
static void list_ranks(struct gsh_host_table *table, int n)
{
    for (int i = 0; i < table->n_hosts; i++) {
        table->begins[i + 1] += table->begins[i];
    }
    for (int rank = n - 1; rank >= 0; rank--) {
        table->ranks[--table->begins[table->numbers[rank] + 1]] = rank;
    }
    /* each now begins where it did, one place further on */
    memmove(table->begins, table->begins + 1, (size_t)table->n_hosts * sizeof(int));
    table->begins[table->n_hosts] = n;
}

enum gsh_result gsh_host_table_make(struct gsh_host_table *out, int n,
                                    const struct gsh_host_part *parts, int first)
{
    size_t n_entries = 2;
    while (n_entries < 2 * (size_t)n) {
        n_entries *= 2;
    }
    uint64_t *hosts = malloc((size_t)n * sizeof(*hosts));
    struct entry *entries = malloc(n_entries * sizeof(*entries));
    int *all = calloc(3 * (size_t)n + 1, sizeof(*all));
    *out = (struct gsh_host_table){.numbers = all};
    if (hosts == NULL || entries == NULL || all == NULL) {
        free(hosts);
        free(entries);
        gsh_host_table_free(out);
        return gsh_note(GSH_ERR_NOMEM, "no memory for the hosts of %d PEs", n);
    }
    out->ranks = all + n;
    out->begins = out->ranks + n;
    for (int i = 0; i < n; parts++) {
        for (uint32_t k = 0; k < parts->ranks; k++, i++) {
            memcpy(&hosts[(first + i) % n], parts->host, sizeof(parts->host));
        }
    }
    number_hosts(out, n, hosts, entries, n_entries);
    list_ranks(out, n);
    free(hosts);
    free(entries);
    return GSH_OK;
}

void gsh_host_table_free(struct gsh_host_table *table)
{
    free(table->numbers); /* the others are behind */
    *table = (struct gsh_host_table){0};
}

int gsh_host_table_most(const struct gsh_host_table *table)
{
    int most = 0;
    for (int i = 0; i < table->n_hosts; i++) {
        const int n = table->begins[i + 1] - table->begins[i];
        most = n > most ? n : most;
    }
    return most;
}
