/* SPDX-License-Identifier: Apache-2.0
 * Giving up a communicator's work, for ncclCommShrink, too. */
#ifndef GSH_NCCL_COMM_END_H
#define GSH_NCCL_COMM_END_H

#include "dialects/nccl/comm/comm.h"

/* Gives up the communicator's work in streams. From now on it can only be used to make other
 * communicators, and be ended. */
void gsh_nccl_comm_revoke(struct ncclComm *comm);

#endif
