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
 * rank's contribution more than once. */
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

#endif
