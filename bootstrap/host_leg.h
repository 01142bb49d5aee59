/* SPDX-License-Identifier: Apache-2.0
 * The rounds of an exchange by which each of n ranks gets the blocks of its own host's ranks alone,
 * as pure arithmetic; uid_host.c and the simulation (perftest/sim) walk them.
 *
 * The ranks of a host follow one another, and no host has more than host_ranks; some may have
 * fewer. The block of the rank p before a rank, modulo n, is that rank's at position p; its own is
 * at position 0. So each needs no other positions than those less than host_ranks away from 0, in
 * both directions. Blocks go as in an allgather (leg.h): in the round of distance d a rank gets
 * position d + q, which is at position q of the rank d before it. A block thus comes to position p
 * over positions p modulo 2, 4, 8, ..., and of the other positions none travels. Those that do are
 * the same on all ranks: in a round fewer than 2 * host_ranks, and if host_ranks is n, all. */
#ifndef GSH_HOST_LEG_H
#define GSH_HOST_LEG_H

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

/* The next position behind this one whose block comes to it; n: there is none. host_ranks: 1 to n.
 * Those of the round of distance d are in [d, 2 * d). */
static inline int gsh_host_leg_position(int n, int host_ranks, int position)
{
    int distance = 1;
    while (2 * distance <= position + 1) {
        distance *= 2;
    }
    for (int from = position + 1; distance < n; distance *= 2, from = distance) {
        const int below = gsh_host_leg_among(1, host_ranks - 1, 2 * distance, from);
        const int above =
            gsh_host_leg_among(n - host_ranks + 1, host_ranks - 1, 2 * distance, from);
        const int next = below < above ? below : above;
        if (next < 2 * distance) {
            return next;
        }
    }
    return n;
}

/* How many blocks come in the round of this distance. */
static inline int gsh_host_leg_blocks(int n, int host_ranks, int distance)
{
    int blocks = 0, position = distance - 1;
    while ((position = gsh_host_leg_position(n, host_ranks, position)) < n &&
           position < 2 * distance) {
        blocks++;
    }
    return blocks;
}

#endif
