/* SPDX-License-Identifier: Apache-2.0
 * gshmem's reductions on a stream, by NCCL's types and operators. */
#ifndef GSH_NCCL_REDUCTION_H
#define GSH_NCCL_REDUCTION_H

#include <stddef.h>
#include "dialects/nccl/include/nccl.h"
#include "gshmem/types.h"

/* Of symmetric memory. Returns a result of gshmem's. */
typedef int gsh_nccl_reduction(gshmem_team_t team, void *dest, const void *source, size_t nelems,
                               gshmemx_stream_t stream);

/* op: one of gshmem's, below ncclAvg. reduce_scatter: nelems is what each member gets. */
gsh_nccl_reduction *gsh_nccl_reduce_of(ncclDataType_t type, ncclRedOp_t op);
gsh_nccl_reduction *gsh_nccl_reduce_scatter_of(ncclDataType_t type, ncclRedOp_t op);

#endif
