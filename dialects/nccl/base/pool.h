/* SPDX-License-Identifier: Apache-2.0
 * The memory of communicators and device communicators: ranges, each at the same place of the heap
 * on all members of one communicator. Most lie in the fixed part, a part of the segment (job.h),
 * where the members agree on granules that all of them have free. Memory that is free beyond what a
 * request needs goes to early requests. If the fixed part has too little in a row, the pool grows:
 * each member allocates memory in its process, which becomes symmetric among the members
 * (gshmemx_layer_register). So a request always gets what it needs, however many there are.
 *
 * A single range is not given back, because other members may still write to it. It is retired, and
 * its communicator may take it again. When the communicator ends, all of its ranges go back
 * together. */
#ifndef GSH_NCCL_POOL_H
#define GSH_NCCL_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "dialects/nccl/base/job.h"

struct gsh_nccl_range {
    char *base; /* this PE's address; NULL: none */
    size_t bytes;
};

/* The bytes that are asked for: least is what is needed, and more than most are never given. */
struct gsh_nccl_wanted {
    size_t least, most;
};

/* What one communicator has retired, and what has grown for it. */
struct gsh_nccl_holding {
    uint64_t retired[GSH_NCCL_MAP_WORDS]; /* a bit for each granule of the fixed part */
    struct gsh_nccl_grown *grown;         /* the newest first, in the same order on all members */
};

/* Both are collective over the communicator's team, with the PE's agreement lock held (job.h). take
 * finds a range, the same on all members, in whole granules. give_back ends the holding; all of it
 * has been retired, and no member uses any of it. */
ncclResult_t gsh_nccl_take(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                           struct gsh_nccl_holding *holding, const struct gsh_nccl_wanted *wanted,
                           struct gsh_nccl_range *range);
void gsh_nccl_give_back(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                        struct gsh_nccl_holding *holding);
/* This member's part of it is not used any more; accepts no range. */
void gsh_nccl_retire(const struct gsh_nccl_job *job, struct gsh_nccl_holding *holding,
                     struct gsh_nccl_range range);

#endif
