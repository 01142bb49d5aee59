/* SPDX-License-Identifier: Apache-2.0
 * Whether the ranks of a node make the same collectives, compared as the host makes them, in every
 * build.
 *
 * Each rank describes the latest of its communicator's collectives in memory that the node shares.
 * For each collective it looks at its two neighbours, the next lower and the next higher rank of
 * the node: if calls differ, they differ between two neighbours. Of two neighbours the second one
 * to make the call finds the difference. If it is so late that the entry has been overwritten, a
 * later call finds it, since each entry has the sum of all calls so far. A rank that finds a
 * difference says so beside its entries, and its neighbours pass that on when they look. The cost
 * of a call is one cache line of its own entries and one of each neighbour's. */
#ifndef GSH_NCCL_LATEST_H
#define GSH_NCCL_LATEST_H

#include <stdint.h>
#include "dialects/nccl/comm/collective.h"
#include "gshmem/types.h"

/* The collectives that this rank and its neighbours on the node have made. Zeroed at first. */
struct gsh_nccl_latest {
    uint64_t *own; /* NULL: no other rank is on the node */
    int rank;
    uint64_t n;   /* collectives so far; atomic, though only the thread that makes them writes it */
    uint64_t sum; /* of all of them; that thread's own */
    struct gsh_nccl_neighbour {
        uint64_t *its; /* NULL: there is none on this side */
        int rank;
        uint64_t n_checked; /* atomic: so many collectives are known to be the same */
    } neighbours[2];
    int finding; /* atomic: whether some differ */
    char text[512];
};

/* Called by all ranks of a communicator, the members of team. They compare from the next barrier
 * on. */
void gsh_nccl_latest_begin(struct gsh_nccl_latest *l, gshmem_team_t team, int own_rank,
                           int n_ranks);
/* The communicator's next collective. Compares it with those of the neighbours that have made
 * theirs; the others will compare theirs with it. By one thread at a time. */
void gsh_nccl_latest_add(const char *call, struct gsh_nccl_latest *l,
                         const struct gsh_nccl_collective *c);
/* Compares once more, on any thread. */
void gsh_nccl_latest_look(const char *call, struct gsh_nccl_latest *l);
/* An error once it is known that some differ. Any thread. */
ncclResult_t gsh_nccl_latest_result(const struct gsh_nccl_latest *l);

/* How many collectives the rank with these words has made, at least. */
uint64_t gsh_nccl_latest_number(uint64_t *words);
/* Among a rank's words, the one of parting.h; NULL: there are none. */
uint64_t *gsh_nccl_latest_parting(uint64_t *words);

#endif
