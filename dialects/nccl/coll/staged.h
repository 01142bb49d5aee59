/* SPDX-License-Identifier: Apache-2.0
 * Collectives from and to any memory: they pass through the communicator's scratch, piece by piece.
 */
#ifndef GSH_NCCL_STAGED_H
#define GSH_NCCL_STAGED_H

#include "dialects/nccl/coll/work.h"

/* These enqueue the work; its stream is entered. */
ncclResult_t gsh_nccl_staged_reduce(const struct gsh_nccl_work *w); /* to all ranks, or the root */
ncclResult_t gsh_nccl_staged_reduce_scatter(const struct gsh_nccl_work *w);
ncclResult_t gsh_nccl_staged_all_gather(const struct gsh_nccl_work *w);
ncclResult_t gsh_nccl_staged_all_to_all(const struct gsh_nccl_work *w);
ncclResult_t gsh_nccl_staged_broadcast(const struct gsh_nccl_work *w);

#endif
