/* SPDX-License-Identifier: Apache-2.0
 * Checking builds: whether ranks make the same collectives, compared on the device, over all nodes.
 */
#ifndef GSH_NCCL_COMPARE_H
#define GSH_NCCL_COMPARE_H

#include "dialects/nccl/comm/comm.h"

/* Enqueues the comparison; other builds do nothing. source, dest: the symmetric addresses, which
 * lie alike on all ranks; NULL: not in a window, or copied. The call's stream is entered. */
ncclResult_t gsh_nccl_compare_ranks(const char *call, struct ncclComm *comm,
                                    const struct gsh_nccl_collective *c, const void *source,
                                    const void *dest);

#endif
