/* SPDX-License-Identifier: Apache-2.0
 * Collectives on symmetric windows: gshmem's, straight from source to dest, both symmetric
 * addresses. A broadcast's source may be any memory. */
#ifndef GSH_NCCL_DIRECT_H
#define GSH_NCCL_DIRECT_H

#include "dialects/nccl/coll/work.h"

/* These enqueue the work; its stream is entered. */
ncclResult_t gsh_nccl_direct_all_reduce(const struct gsh_nccl_work *w);
ncclResult_t gsh_nccl_direct_reduce_scatter(const struct gsh_nccl_work *w);
ncclResult_t gsh_nccl_direct_all_gather(const struct gsh_nccl_work *w);
ncclResult_t gsh_nccl_direct_all_to_all(const struct gsh_nccl_work *w);
ncclResult_t gsh_nccl_direct_broadcast(const struct gsh_nccl_work *w);

#endif
