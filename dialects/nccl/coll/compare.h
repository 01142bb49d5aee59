/* SPDX-License-Identifier: Apache-2.0
 * Checking builds: whether ranks make the same collectives, compared on the device, over all nodes.
 */
#ifndef GSH_NCCL_COMPARE_H
#define GSH_NCCL_COMPARE_H

#include "dialects/nccl/group/call.h"

/* For a collective, and that its buffers lie alike; NULL: not in a window, or copied.
 */
ncclResult_t gsh_nccl_compare_ranks(const struct gsh_nccl_call *c, const void *source,
                                    const void *dest);

#endif
