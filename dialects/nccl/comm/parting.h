/* SPDX-License-Identifier: Apache-2.0
 * What each rank of a communicator does last, for those of its node: the end of a communicator is
 * collective, but a rank that has aborted it no longer takes part. Each rank has a word that the
 * node shares; it only grows. */
#ifndef GSH_NCCL_PARTING_H
#define GSH_NCCL_PARTING_H

#include "dialects/nccl/comm/comm.h"

enum gsh_nccl_parting {
    GSH_NCCL_STAYS,
    GSH_NCCL_SETTLES,   /* waits for its own work of the communicator, to end that */
    GSH_NCCL_FINALIZES, /* this and what follows: its own work of the communicator is over */
    GSH_NCCL_DESTROYS,
    GSH_NCCL_GIVES_UP, /* aborts it, or another one of its job */
};

/* Tells the others. Any thread; comm has been made. */
void gsh_nccl_part(const struct ncclComm *comm, enum gsh_nccl_parting how);
/* The same of all the job's communicators, as far as they can be found without waiting. */
void gsh_nccl_part_all(const struct gsh_nccl_job *job);
/* The words of all ranks that the node shares, [n_ranks], for the next call. False: some are on
 * another node. In the PE's scope. */
bool gsh_nccl_find_words(const struct ncclComm *comm, uint64_t **words);
enum gsh_nccl_left_alone {
    GSH_NCCL_TOGETHER, /* none of the following */
    GSH_NCCL_AHEAD,    /* one that has ended its work has made fewer collectives than this rank, and
                          the others wait for theirs, or have ended it */
    GSH_NCCL_DESERTED, /* besides, all others have ended it, so that they write nothing more */
};
/* Any thread, while this rank makes no calls. */
enum gsh_nccl_left_alone gsh_nccl_look_for_others(const struct ncclComm *comm,
                                                  uint64_t *const *words);
/* Tells the others, and waits until each rank of the node has come as far or has given up, or one
 * has died. Whether one has given up: then nobody may wait for it. In the PE's scope. */
bool gsh_nccl_part_together(const char *call, struct ncclComm *comm, enum gsh_nccl_parting how);

#endif
