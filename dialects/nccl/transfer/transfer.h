/* SPDX-License-Identifier: Apache-2.0
 * Sends and receives: gathered, sorted by peer, and launched together, regardless of their number
 * and streams. */
#ifndef GSH_NCCL_TRANSFER_H
#define GSH_NCCL_TRANSFER_H

#include "dialects/nccl/group/call.h"

/* For calls that gather sends and receives. */
extern const struct gsh_nccl_gatherer gsh_nccl_transfers;

/* Gathers a send or receive for the next launch. */
ncclResult_t gsh_nccl_transfer_add(const char *call, struct ncclComm *comm, void *buffer,
                                   size_t bytes, int peer, bool is_send, cudaStream_t stream);
/* Frees memory for sends and receives, which no stream uses any more. */
void gsh_nccl_gathering_free(struct gsh_nccl_gathering *g);

#endif
