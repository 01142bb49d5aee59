/* SPDX-License-Identifier: Apache-2.0
 * The rounds of an exchange by which each of n ranks gets the blocks of its own host's ranks alone,
 * as pure arithmetic; uid_host.c and the simulation (perftest/sim) walk them.
 *
 * The block of the rank p before a rank, modulo n, is that rank's at position p; its own is at
 * position 0. Where the ranks of each host follow one another, and no host has more than `most`, a
 * rank needs no other positions than those less than `most` away from 0, in both directions. Where
 * hosts get ranks by turns, it also needs those around each multiple of what a turn of all hosts
 * has. Where a table says how they lie, each rank needs others. Blocks go as in an allgather
 * (leg.h): in the round of distance d a rank gets position d + q, which is at position q of the
 * rank d before it. A block thus comes to position p over positions p modulo 2, 4, 8, ..., and of
 * the other positions none travels. Without a table those that do are the same on all ranks: in a
 * round no more than there are positions that a rank needs, which are fewer than 2 * most where one
 * rank is dealt at a time, or ranks follow one another, and if a host has all ranks, all. */
#ifndef GSH_HOST_LEG_H
#define GSH_HOST_LEG_H

#include <stdbool.h>
#include "bootstrap/host_layout.h"

/* Which positions a rank needs: of each turn those less than `block` away from a multiple of
 * stride; or as the table says. */
struct gsh_host_leg {
    const struct gsh_host_table *table;
    int n, block, stride, n_deals;
};

/* The layout of n ranks is known. */
static inline struct gsh_host_leg gsh_host_leg_of(const struct gsh_host_layout *layout, int n)
{
    struct gsh_host_leg leg = {
        .table = layout->table, .n = n, .block = layout->most, .stride = n, .n_deals = 1};
    if (layout->dealt_ranks > 0) {
        leg.block = layout->dealt_ranks;
        leg.stride = layout->dealt_ranks * (int)layout->runs[0].n_hosts;
        leg.n_deals = (n - 1) / leg.stride + 1;
    }
    return leg;
}

/* The first number from `from` on, below modulus, that is one of `count` numbers that begin with
 * `first`, modulo modulus; modulus: there is none. */
static inline int gsh_host_leg_among(int first, int count, int modulus, int from)
{
    const int begin = first % modulus, behind = (from - begin + modulus) % modulus;
    if (from >= modulus || count <= 0) {
        return modulus;
    }
    return behind < count ? from : begin > from ? begin : modulus;
}

/* By a table: whether the block of the rank `position` before this one, which comes in the round of
 * this distance if any, is on its way to a rank of its host. */
static inline bool gsh_host_leg_comes(const struct gsh_host_leg *leg, int rank, int distance,
                                      int position)
{
    const struct gsh_host_table *table = leg->table;
    const int n = leg->n, from = (rank - position + n) % n, host = table->numbers[from];
    for (int i = table->begins[host]; i < table->begins[host + 1]; i++) {
        if ((table->ranks[i] - from + n) % n % (2 * distance) == position) {
            return true;
        }
    }
    return false;
}

/* The first position from `from` on, in the round of this distance, whose block comes to this rank;
 * 2 * distance: there is none. */
static inline int gsh_host_leg_first(const struct gsh_host_leg *leg, int rank, int distance,
                                     int from)
{
    const int n = leg->n;
    int next = 2 * distance;
    if (leg->table != NULL) {
        int p = from;
        while (p < next && p < n && !gsh_host_leg_comes(leg, rank, distance, p)) {
            p++;
        }
        return p < n ? p : next;
    }
    for (int deal = 0; deal < leg->n_deals && next > from; deal++) {
        const int at = deal * leg->stride, low = deal == 0 ? 1 : at - leg->block + 1;
        const int high = at + leg->block - 1 < n - 1 ? at + leg->block - 1 : n - 1;
        const int below = gsh_host_leg_among(low, high - low + 1, 2 * distance, from);
        const int above = gsh_host_leg_among(n - high, high - low + 1, 2 * distance, from);
        next = below < next ? below : next;
        next = above < next ? above : next;
    }
    return next;
}

/* The next position behind this one whose block comes to the rank; n: there is none. Those of the
 * round of distance d are in [d, 2 * d). */
static inline int gsh_host_leg_position(const struct gsh_host_leg *leg, int rank, int position)
{
    int distance = 1;
    while (2 * distance <= position + 1) {
        distance *= 2;
    }
    for (int from = position + 1; distance < leg->n; distance *= 2, from = distance) {
        const int next = gsh_host_leg_first(leg, rank, distance, from);
        if (next < 2 * distance) {
            return next;
        }
    }
    return leg->n;
}

/* How many blocks come to the rank in the round of this distance. */
static inline int gsh_host_leg_blocks(const struct gsh_host_leg *leg, int rank, int distance)
{
    int blocks = 0, position = distance - 1;
    while ((position = gsh_host_leg_position(leg, rank, position)) < leg->n &&
           position < 2 * distance) {
        blocks++;
    }
    return blocks;
}

#endif
