/* SPDX-License-Identifier: Apache-2.0
 * See rendezvous.h. Ranks have the secret, but may be of another program, or started wrongly. */
#include "bootstrap/rendezvous.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gsh_rendezvous_fail(struct gsh_rendezvous *r, enum gsh_result result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->text, sizeof(r->text), format, args);
    va_end(args);
    r->result = result;
}

static void check(struct gsh_rendezvous *r, int rank, int n_ranks)
{
    if (n_ranks < 1 || n_ranks > GSH_UID_MAX_RANKS) {
        gsh_rendezvous_fail(r, GSH_ERR_ARG, "PE %d was started as one of %d; 1 to %d are possible",
                            rank, n_ranks, GSH_UID_MAX_RANKS);
    } else if (r->n_ranks != 0 && n_ranks != r->n_ranks) {
        gsh_rendezvous_fail(r, GSH_ERR_ARG,
                            "PE %d was started as one of %d PEs, others as one of %d", rank,
                            n_ranks, r->n_ranks);
    } else if (rank < 0 || rank >= n_ranks) {
        gsh_rendezvous_fail(r, GSH_ERR_ARG, "PE number %d is not in 0 .. %d", rank, n_ranks - 1);
    } else if (r->n_ranks != 0 && r->ranks[rank].has_come) {
        gsh_rendezvous_fail(r, GSH_ERR_ARG, "two processes came as PE %d of this job", rank);
    } else if (r->n_ranks == 0 && (r->ranks = calloc((size_t)n_ranks, sizeof(*r->ranks))) == NULL) {
        gsh_rendezvous_fail(r, GSH_ERR_NOMEM, "no memory for a start-up of %d PEs", n_ranks);
    } else {
        r->n_ranks = n_ranks;
    }
}

static uint64_t host_of(const struct gsh_rendezvous *r, int rank)
{
    uint64_t host;
    memcpy(&host, r->ranks[rank].hello.host, sizeof(host));
    return host;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* How many hosts the first n ranks have, each of which begins where its rank is of another one than
 * the rank before; 0: two of these are the same, or there is no memory. */
static int count_hosts(const struct gsh_rendezvous *r, int n)
{
    uint64_t *hosts = malloc((size_t)n * sizeof(*hosts));
    size_t n_hosts = 0;
    bool is_good = hosts != NULL;
    for (int i = 0; is_good && i < n; i++) {
        if (i == 0 || host_of(r, i) != host_of(r, i - 1)) {
            hosts[n_hosts++] = host_of(r, i);
        }
    }
    if (is_good) {
        qsort(hosts, n_hosts, sizeof(*hosts), compare);
    }
    for (size_t i = 1; is_good && i < n_hosts; i++) {
        is_good = hosts[i] != hosts[i - 1];
    }
    free(hosts);
    return is_good ? (int)n_hosts : 0;
}

/* The host with so many ranks comes behind those before. */
static bool add_host(struct gsh_host_layout *hosts, uint32_t ranks)
{
    struct gsh_host_run *last = &hosts->runs[hosts->n_runs > 0 ? hosts->n_runs - 1 : 0];
    hosts->most = (int)ranks > hosts->most ? (int)ranks : hosts->most;
    if (hosts->n_runs > 0 && last->ranks == ranks) {
        last->n_hosts++;
        return true;
    }
    if (hosts->n_runs == GSH_HOST_RUNS_MAX) {
        return false;
    }
    hosts->runs[hosts->n_runs++] = (struct gsh_host_run){.n_hosts = 1, .ranks = ranks};
    return true;
}

static bool find_runs(const struct gsh_rendezvous *r, struct gsh_host_layout *out)
{
    bool is_good = true;
    for (int i = 1, first = 0; is_good && i <= r->n_ranks; i++) {
        if (i == r->n_ranks || host_of(r, i) != host_of(r, first)) {
            is_good = add_host(out, (uint32_t)(i - first));
            first = i;
        }
    }
    if (!is_good || count_hosts(r, r->n_ranks) == 0) {
        return false;
    }
    const struct gsh_host_layout regular = gsh_host_layout_regular(r->n_ranks, out->most);
    if (regular.n_runs == out->n_runs &&
        memcmp(regular.runs, out->runs, sizeof(regular.runs)) == 0) {
        out->n_runs = 0;
    }
    return true;
}

/* The first rank from `from` on that is of rank 0's host, or of another one. */
static int find_first(const struct gsh_rendezvous *r, int from, bool is_of_first)
{
    while (from < r->n_ranks && (host_of(r, from) == host_of(r, 0)) != is_of_first) {
        from++;
    }
    return from;
}

static bool find_dealt(const struct gsh_rendezvous *r, struct gsh_host_layout *out)
{
    const int at_once = find_first(r, 1, false), all = find_first(r, at_once, true);
    bool is_good = all < r->n_ranks && all % at_once == 0;
    for (int i = 0; is_good && i < r->n_ranks; i++) {
        is_good = host_of(r, i) == host_of(r, i % all / at_once * at_once);
    }
    if (!is_good || count_hosts(r, all) != all / at_once) {
        return false;
    }
    *out = gsh_host_layout_dealt(r->n_ranks, at_once, all / at_once);
    return true;
}

/* All have come. */
static void find_hosts(struct gsh_rendezvous *r)
{
    for (int i = 0; i < r->n_ranks; i++) {
        if (host_of(r, i) == 0) {
            return;
        }
    }
    struct gsh_host_layout runs = {0}, dealt = {0};
    if (find_runs(r, &runs)) {
        r->hosts = runs;
    } else if (find_dealt(r, &dealt)) {
        r->hosts = dealt;
    }
}

bool gsh_rendezvous_enter(struct gsh_rendezvous *r, const struct gsh_hello *hello, int fd, int via)
{
    const int rank = (int)hello->rank, n_ranks = (int)hello->n_ranks;
    r->n_expected = n_ranks > r->n_expected ? n_ranks : r->n_expected;
    if (r->result == GSH_OK) {
        check(r, rank, n_ranks);
    }
    if (r->result != GSH_OK) {
        return false;
    }
    r->n_come++;
    r->ranks[rank] =
        (struct gsh_rendezvous_rank){.fd = fd, .via = via, .has_come = true, .hello = *hello};
    if (r->n_come == r->n_ranks) {
        find_hosts(r);
    }
    return true;
}

bool gsh_rendezvous_is_complete(const struct gsh_rendezvous *r)
{
    return r->result == GSH_OK && r->n_ranks > 0 && r->n_come == r->n_ranks;
}

struct gsh_partner gsh_rendezvous_partner(const struct gsh_rendezvous *r, int rank, int round)
{
    const struct gsh_hello *h = &r->ranks[(rank + ((int64_t)1 << round)) % r->n_ranks].hello;
    struct gsh_partner partner = {.address = h->address};
    memcpy(partner.link, h->link, sizeof(partner.link));
    return partner;
}

void gsh_rendezvous_end_late(struct gsh_rendezvous *r, double limit_s)
{
    char missing[80] = "";
    size_t used = 0;
    for (int i = 0; i < r->n_ranks && used < sizeof(missing) - 16; i++) {
        if (!r->ranks[i].has_come) {
            used += (size_t)snprintf(missing + used, sizeof(missing) - used, " %d", i);
        }
    }
    gsh_rendezvous_fail(r, GSH_ERR_TIMEOUT, "%d of %d PEs did not come within %g s; missing:%s%s",
                        r->n_ranks - r->n_come, r->n_ranks, limit_s, missing,
                        used >= sizeof(missing) - 16 ? " ..." : "");
}

void gsh_rendezvous_lose(struct gsh_rendezvous *r, int rank)
{
    gsh_rendezvous_fail(r, GSH_ERR_PEER, "PE %d ended during start-up", rank);
}

void gsh_rendezvous_forget(struct gsh_rendezvous *r)
{
    free(r->ranks);
    memset(r, 0, sizeof(*r));
}
