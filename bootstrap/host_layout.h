/* SPDX-License-Identifier: Apache-2.0
 * How the ranks of a job lie on hosts. A few numbers say it if they lie in runs, where those of
 * each host follow one another, so many hosts of so many ranks each, then so many of so many, and
 * so on; or by turns, where each host gets so many ranks, one host behind the other, and then the
 * first host gets the next ones. Else a table does (host_table.h). Pure arithmetic. */
#ifndef GSH_HOST_LAYOUT_H
#define GSH_HOST_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* One more for a last host with fewer ranks than those before it; more runs are not told. */
#define GSH_HOST_RUNS_MAX 8

struct gsh_host_run {
    uint32_t n_hosts, ranks; /* hosts that follow one another, and of each */
};
_Static_assert(sizeof(struct gsh_host_run) == 8, "no padding");

/* Any layout. */
struct gsh_host_table {
    int n_hosts;
    int *numbers;        /* of each rank's host, in the order of the hosts' first ranks */
    int *begins, *ranks; /* those of host i are ranks[begins[i]] to ranks[begins[i + 1] - 1] */
};

struct gsh_host_layout {
    const struct gsh_host_table *table; /* NULL: the numbers say it, if most is not 0 */
    int most;        /* the most ranks that a host has; 0: it is not known how ranks lie */
    int dealt_ranks; /* by turns: how many ranks a host gets at a time; 0: in runs */
    int n_runs;
    struct gsh_host_run runs[GSH_HOST_RUNS_MAX]; /* by turns one: all hosts */
};

/* The ranks of a host, in ascending order; n in all: those listed or, if list is NULL, `block` from
 * first on, as many `stride` behind these, and so on. */
struct gsh_host_ranks {
    const int *list;
    int first, n, block, stride;
};

static inline struct gsh_host_ranks gsh_host_ranks_from(int first, int n)
{
    return (struct gsh_host_ranks){.first = first, .n = n, .block = n, .stride = n};
}

/* The one with this index, less than n. */
static inline int gsh_host_ranks_at(const struct gsh_host_ranks *of, int index)
{
    return of->list != NULL ? of->list[index]
                            : of->first + index / of->block * of->stride + index % of->block;
}

static inline int gsh_host_ranks_search(const struct gsh_host_ranks *of, int rank)
{
    int low = 0, high = of->n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (of->list[middle] < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < of->n && of->list[low] == rank ? low : -1;
}

/* The index of a rank; -1: it is of another host. */
static inline int gsh_host_ranks_index(const struct gsh_host_ranks *of, int rank)
{
    if (of->list != NULL) {
        return gsh_host_ranks_search(of, rank);
    }
    const int behind = rank - of->first;
    if (behind < 0 || behind % of->stride >= of->block) {
        return -1;
    }
    const int index = behind / of->stride * of->block + behind % of->stride;
    return index < of->n ? index : -1;
}

/* How many of n ranks the host with this number gets by turns. */
static inline int gsh_host_dealt_to(int n, int dealt_ranks, int n_hosts, int number)
{
    const int all = dealt_ranks * n_hosts, left = n % all - number * dealt_ranks;
    const int last = left < 0 ? 0 : left < dealt_ranks ? left : dealt_ranks;
    return n / all * dealt_ranks + last;
}

/* The ranks of a rank's host, among n. *number: the host's, in the order of their first ranks. The
 * layout is known and has that rank. */
static inline struct gsh_host_ranks gsh_host_layout_find(const struct gsh_host_layout *layout,
                                                         int n, int rank, int *number)
{
    struct gsh_host_ranks range = gsh_host_ranks_from(0, 1);
    const struct gsh_host_table *table = layout->table;
    *number = 0;
    if (table != NULL) {
        *number = table->numbers[rank];
        return (struct gsh_host_ranks){.list = table->ranks + table->begins[*number],
                                       .n = table->begins[*number + 1] - table->begins[*number]};
    }
    if (layout->dealt_ranks > 0) {
        const int at_once = layout->dealt_ranks, n_hosts = (int)layout->runs[0].n_hosts;
        *number = rank / at_once % n_hosts;
        return (struct gsh_host_ranks){.first = *number * at_once,
                                       .n = gsh_host_dealt_to(n, at_once, n_hosts, *number),
                                       .block = at_once,
                                       .stride = at_once * n_hosts};
    }
    for (int i = 0; i < layout->n_runs; i++) {
        const int of_each = (int)layout->runs[i].ranks, n_hosts = (int)layout->runs[i].n_hosts;
        const int behind = (rank - range.first) / of_each;
        range = gsh_host_ranks_from(range.first, of_each);
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

static inline int gsh_host_layout_n_hosts(const struct gsh_host_layout *layout)
{
    int n = layout->table != NULL ? layout->table->n_hosts : 0;
    for (int i = 0; i < layout->n_runs; i++) {
        n += (int)layout->runs[i].n_hosts;
    }
    return n;
}

/* Of regular hosts: each has `most` ranks, at least 1, the last one perhaps fewer. */
static inline struct gsh_host_layout gsh_host_layout_regular(int n, int most)
{
    struct gsh_host_layout layout = {.most = most};
    if (n >= most) {
        layout.runs[layout.n_runs++] = (struct gsh_host_run){(uint32_t)(n / most), (uint32_t)most};
    }
    if (n % most != 0) {
        layout.runs[layout.n_runs++] = (struct gsh_host_run){1, (uint32_t)(n % most)};
    }
    return layout;
}

/* By turns; each host gets some. */
static inline struct gsh_host_layout gsh_host_layout_dealt(int n, int dealt_ranks, int n_hosts)
{
    const int most = gsh_host_dealt_to(n, dealt_ranks, n_hosts, 0);
    return (struct gsh_host_layout){.most = most,
                                    .dealt_ranks = dealt_ranks,
                                    .n_runs = 1,
                                    .runs = {{(uint32_t)n_hosts, (uint32_t)most}}};
}

#endif
