/* SPDX-License-Identifier: Apache-2.0
 * What all calls that make a communicator have in common, and how one is taken apart. */
#ifndef GSH_NCCL_COMM_MAKE_H
#define GSH_NCCL_COMM_MAKE_H

#include "dialects/nccl/group/call.h"

/* Whether the config, or NULL, is consistent; hints are ignored, but the later
 * ones are checked. */
ncclResult_t gsh_nccl_config_check(const char *call, const ncclConfig_t *config);
/* Whether a communicator made with the config, or NULL, from the parent, or NULL, does not block.
 */
bool gsh_nccl_config_is_nonblocking(const ncclConfig_t *config, const struct ncclComm *parent);

/* Makes the new communicator of the call, of these PEs, and takes over pe_of. Collective over them.
 * The job is entered, with the PE's agreement lock held, and already counts the new
 * communicator. */
ncclResult_t gsh_nccl_comm_make(const struct gsh_nccl_call *c, struct gsh_nccl_job *job, int *pe_of,
                                int n_ranks, int rank);
/* Gives back everything that a communicator has, even if it is only half made. Its PE is entered,
 * its agreement lock held. Collective. */
void gsh_nccl_comm_unmake(struct ncclComm *comm);

#endif
