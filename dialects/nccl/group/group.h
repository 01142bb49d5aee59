/* SPDX-License-Identifier: Apache-2.0
 * Groups: calls that are carried out when the outermost group ends. */
#ifndef GSH_NCCL_GROUP_H
#define GSH_NCCL_GROUP_H

#include "dialects/nccl/group/call.h"

/* Carries the call out, now or at the end of the calling thread's group. checked: what checks of
 * its arguments have found; on an error the call is refused. Copies what must wait. */
ncclResult_t gsh_nccl_submit(ncclResult_t checked, struct gsh_nccl_call *call);
/* For a call that is refused, with its error, which it returns: an open group fails, too. */
ncclResult_t gsh_nccl_refuse(ncclResult_t r);
/* Whether the calling thread has an open group. */
bool gsh_nccl_is_in_group(void);
/* Whether the calling thread has an open group with calls that refer to comm. */
bool gsh_nccl_is_awaited(const struct ncclComm *comm);

#endif
