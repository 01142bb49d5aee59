/* SPDX-License-Identifier: Apache-2.0
 * Collectives from and to any memory of communicators whose ranks are all near: one launch each, or
 * one for consecutive ones of a group that are of one kind, on whatever streams. The base carries
 * them out through the communicator's inbox (runtime/layer.h). All ranks must put the same
 * collectives into a launch, so only what all of them know decides that: neither streams nor
 * addresses. As with NCCL one of them does not depend on another; one of another kind may. */
#ifndef GSH_NCCL_BATCH_H
#define GSH_NCCL_BATCH_H

#include "dialects/nccl/group/call.h"

/* For collectives that may be gathered. */
extern const struct gsh_nccl_gatherer gsh_nccl_batches;

/* Gathers the collective, of a communicator with an inbox; launches it if the call is alone. The
 * PE is entered. */
ncclResult_t gsh_nccl_batch_add(const struct gsh_nccl_call *call);
/* Launches what has been gathered: the communicator's next work goes another way. */
ncclResult_t gsh_nccl_batch_flush(struct ncclComm *comm);
/* Frees the lists. */
void gsh_nccl_batch_free(struct gsh_nccl_batch *batch);

#endif
