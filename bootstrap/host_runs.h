/* SPDX-License-Identifier: Apache-2.0
 * How the ranks of a job lie on hosts, if those of each host follow one another: so many hosts of
 * so many ranks each, then so many of so many, and so on. Pure arithmetic. */
#ifndef GSH_HOST_RUNS_H
#define GSH_HOST_RUNS_H

#include <stdint.h>

/* One more for a last host with fewer ranks than those before it; more runs are not told. */
#define GSH_HOST_RUNS_MAX 8

struct gsh_host_run {
    uint32_t n_hosts, ranks; /* hosts that follow one another, and of each */
};
_Static_assert(sizeof(struct gsh_host_run) == 8, "no padding");

/* Ranks from first on. */
struct gsh_rank_range {
    int first, n;
};

/* The ranks of a rank's host. *number: the host's, in the order of the ranks. The runs, of which
 * there are at most GSH_HOST_RUNS_MAX, have that rank. */
static inline struct gsh_rank_range gsh_host_runs_find(const struct gsh_host_run *runs, int n_runs,
                                                       int rank, int *number)
{
    struct gsh_rank_range range = {.first = 0, .n = 1};
    *number = 0;
    for (int i = 0; i < n_runs; i++) {
        const int of_each = (int)runs[i].ranks, n_hosts = (int)runs[i].n_hosts;
        const int behind = (rank - range.first) / of_each;
        range.n = of_each;
        if (behind < n_hosts) {
            *number += behind;
            range.first += behind * of_each;
            break;
        }
        *number += n_hosts;
        range.first += n_hosts * of_each;
    }
    return range;
}

/* Those of regular hosts: each has host_ranks, at least 1, the last one perhaps fewer. Returns how
 * many. */
static inline int gsh_host_runs_regular(int n_ranks, int host_ranks, struct gsh_host_run runs[2])
{
    int n = 0;
    if (n_ranks >= host_ranks) {
        runs[n++] = (struct gsh_host_run){(uint32_t)(n_ranks / host_ranks), (uint32_t)host_ranks};
    }
    if (n_ranks % host_ranks != 0) {
        runs[n++] = (struct gsh_host_run){1, (uint32_t)(n_ranks % host_ranks)};
    }
    return n;
}

#endif
