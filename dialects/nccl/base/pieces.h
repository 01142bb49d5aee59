/* SPDX-License-Identifier: Apache-2.0
 * Memory for pieces (runtime/layer.h) of two ranks. It belongs to the two processes, not to a job:
 * communicators of the same two that come from other ids use it, too, each by an address in the
 * heap of its own job. The first communicators of the two have some of their own; the later ones
 * share. Each rank tells the other which memories it has, by numbers that the two have given them
 * together, so both find the same one. */
#ifndef GSH_NCCL_PIECES_H
#define GSH_NCCL_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include "dialects/nccl/base/job.h"

struct gsh_nccl_pieces {
    void *memory; /* symmetric on the two; NULL: there is none, on both */
    bool is_shared;
};

/* Both are collective over the team of a communicator of two ranks, with the PE's agreement lock
 * held (job.h). There is none if either device has a few such memories already. */
ncclResult_t gsh_nccl_take_pieces(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                                  struct gsh_nccl_pieces *pieces);
void gsh_nccl_give_pieces_back(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                               struct gsh_nccl_pieces *pieces);
/* The bytes that are the communicator's alone. */
size_t gsh_nccl_own_pieces_bytes(const struct gsh_nccl_pieces *pieces);

#endif
