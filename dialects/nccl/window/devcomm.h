/* SPDX-License-Identifier: Apache-2.0
 * Device communicators, for the rest of the layer. */
#ifndef GSH_NCCL_DEVCOMM_H
#define GSH_NCCL_DEVCOMM_H

#include "dialects/nccl/comm/comm.h"

enum { GSH_NCCL_MAX_COUNT = 1 << 20 }; /* of any one thing that a device communicator is to have */

static inline bool gsh_nccl_is_count(int n)
{
    return n >= 0 && n <= GSH_NCCL_MAX_COUNT;
}

/* Frees those that the program has left. Collective. */
void gsh_nccl_devcomms_free(struct ncclComm *comm);
/* The bytes that they use. */
size_t gsh_nccl_devcomms_bytes(const struct ncclComm *comm);

#endif
