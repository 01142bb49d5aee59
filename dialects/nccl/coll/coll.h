/* SPDX-License-Identifier: Apache-2.0
 * Shared by the calls that move data. */
#ifndef GSH_NCCL_COLL_H
#define GSH_NCCL_COLL_H

#include "dialects/nccl/base/type.h"
#include "dialects/nccl/comm/launch.h"
#include "dialects/nccl/group/group.h"

/* Checks communicator, type, and root or peer, and that the byte count does not overflow. */
ncclResult_t gsh_nccl_check_data(const struct gsh_nccl_call *c);

#endif
