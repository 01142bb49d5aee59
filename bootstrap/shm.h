/* SPDX-License-Identifier: Apache-2.0
 * A bootstrap over shared memory for ranks that all share one node, using areas that the caller has
 * mapped. Much faster than a launcher's; malloc and free use it. In its allgather all_out may be
 * NULL: the rank takes part, and gets nothing. */
#ifndef GSH_SHM_H
#define GSH_SHM_H

#include <stdint.h>
#include "bootstrap/bootstrap.h"

#define GSH_SHM_SLOT_BYTES 512
#define GSH_SHM_RANKS      (UINT64_C(1) << 20) /* there are fewer */

/* One per rank, in shared memory, zeroed before use. Protocol: in round k rank r writes
 * slot[k & 1] and its length, 0 for a barrier, then stores k to `seq` with release; every other
 * rank loads `seq` with acquire until it is at least k, then reads slot[k & 1]. Two slots are
 * enough: r writes slot[k & 1] again in round k + 2, which it enters only after all ranks have
 * stored k + 1, and so have read round k.
 *
 * Of many ranks only rank 0 waits for all others, and stores k last; the others wait for rank 0
 * alone, asleep (base/futex.h). In a combine rank 0's slot has the combined value or, if a rank is
 * in another call, its length says which, and the slot has that of rank 0's own call. Rank 0 stores
 * k + 1 only after all others have, and so have read round k: the same two slots are enough. Rank 0
 * says whom it waits for, so nobody else reads what all have. */
struct gsh_shm_area {
    uint64_t seq;           /* written by its rank */
    uint64_t slot_bytes[2]; /* written by its rank, with the kind of call in its upper bits; a
                               different one means a different call */
    uint64_t
        awaited; /* of rank 0: GSH_SHM_RANKS * k + the rank that it waits for in round k; atomic, a
                    hint for the text of a time limit, and who is looked at for signs of life */
    uint64_t left; /* written by its rank: it makes no more calls, see gsh_shm_leave; atomic */
    uint64_t reserved[3];
    uint8_t slot[2][GSH_SHM_SLOT_BYTES]; /* written by its rank */
};

/* Called in every poll of a wait, with the rank that has not arrived. Any result but GSH_OK ends
 * the wait with that result. */
typedef enum gsh_result (*gsh_shm_wait_fn)(void *context, unsigned *backoff, uint64_t *start_ns,
                                           int rank);

/* For `size` ranks of base's, which have numbers of their own here. areas[rank] is rank's area as
 * mapped here, and pes[rank] its PE, for messages; NULL: PEs are ranks. The caller keeps both
 * arrays. base's abort is used; base stays the caller's. */
GSH_CHECK_RESULT enum gsh_result gsh_bootstrap_shm_create(struct gsh_bootstrap *base, int rank,
                                                          int size, struct gsh_shm_area **areas,
                                                          const int *pes, gsh_shm_wait_fn wait,
                                                          void *context,
                                                          struct gsh_bootstrap **out);

/* A rank that is in another call than this one. */
struct gsh_shm_other {
    int pe; /* -1: there is none */
    uint64_t length;
};

#define GSH_SHM_MAX_LENGTH (UINT64_C(1) << 60)

/* Collective; a combine of `bytes` bytes as part of the caller's own call, which the caller tells
 * from others by a length below GSH_SHM_MAX_LENGTH; 0 bytes: a barrier. If ranks are in different
 * such calls, each gets GSH_OK and *other, one in another call than its own, and the value is
 * undefined. */
GSH_CHECK_RESULT enum gsh_result gsh_shm_combine(struct gsh_bootstrap *b, uint64_t length,
                                                 void *mine, size_t bytes,
                                                 void (*fold)(void *into, const void *from),
                                                 struct gsh_shm_other *other);

/* A rank has failed before it could make a call that others make, and makes none from now on: any
 * rank that waits for it, or for a rank that does, gets GSH_ERR_PEER, noted, now and in each
 * further call. own: its area, also if it has made no bootstrap of it yet. */
void gsh_shm_leave(struct gsh_shm_area *own);

#endif
