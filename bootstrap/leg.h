/* SPDX-License-Identifier: Apache-2.0
 * The rounds of an exchange among n ranks, as pure arithmetic. They are walked by what moves the
 * messages: PEs that block on sockets or on the proxy (uid.c, runtime/init/net_job.c,
 * runtime/team/agree.c, runtime/team/host_sync.c), and the simulation in virtual time
 * (perftest/sim).
 *
 * In the round of distance d = 1, 2, 4, ... below n a rank sends what it has to the rank d further
 * on, and receives as much from the rank d before it, or both in the other direction. If each rank
 * has a block, and gathers all, it has d blocks before that round, its own first; it sends as many
 * of them as are missing, at most all. If it combines values, it sends one, and may receive a
 * rank's contribution more than once.
 *
 * Where groups of ranks, nodes, have combined their values already, so that each rank has its
 * group's, the first rounds are left out: those of distances below `width`, a power of 2, if each
 * group has so many ranks that follow one another. In the rounds that are left a rank hears of
 * every width-th rank before it, and so of one of each group at least. */
#ifndef GSH_LEG_H
#define GSH_LEG_H

#include <stdbool.h>
#include <stdint.h>

struct gsh_leg {
    int to, from;
    int round, distance; /* 2^round */
    int blocks;          /* of an allgather: so many are sent, and so many come behind `distance` */
};

/* Goes to the first leg (zeroed before) or to the next one; false: there are no more. direction: 1,
 * or -1 to send to ranks before this one. */
static inline bool gsh_leg_next(struct gsh_leg *leg, int n, int rank, int direction)
{
    const int64_t distance = leg->distance == 0 ? 1 : (int64_t)leg->distance * 2;
    if (distance >= n) {
        return false;
    }
    leg->round = leg->distance == 0 ? 0 : leg->round + 1;
    leg->distance = (int)distance;
    leg->to = (int)((rank + n + direction * distance) % n);
    leg->from = (int)((rank + n - direction * distance) % n);
    leg->blocks = (int)(distance < n - distance ? distance : n - distance);
    return true;
}

/* Before the first leg where groups have combined. */
static inline struct gsh_leg gsh_leg_of_groups(int width)
{
    struct gsh_leg leg = {0};
    for (int distance = 1; distance < width; distance *= 2) {
        leg.round += leg.distance != 0;
        leg.distance = distance;
    }
    return leg;
}

/* The width where each group has so many ranks that follow one another, at least 1. */
static inline int gsh_leg_width(int ranks)
{
    int width = 1;
    while (width <= ranks / 2) {
        width *= 2;
    }
    return width;
}

#endif
