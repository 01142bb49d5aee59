/* SPDX-License-Identifier: Apache-2.0
 * The estimated time of a group's calls, for ncclGroupSimulateEnd. */
#ifndef GSH_NCCL_SIMULATE_H
#define GSH_NCCL_SIMULATE_H

#include "dialects/nccl/group/call.h"

/* Totals over the calls so far. Zeroed at first. */
struct gsh_nccl_estimate {
    double calls_us;                 /* one after the other */
    double sending_us, receiving_us; /* at the same time */
    bool has_transfers;
};

void gsh_nccl_estimate_add(struct gsh_nccl_estimate *e, const struct gsh_nccl_call *call);
double gsh_nccl_estimate_us(const struct gsh_nccl_estimate *e);
/* Whether the info was made by NCCL_SIM_INFO_INITIALIZER. */
ncclResult_t gsh_nccl_sim_info_check(const char *call, const ncclSimInfo_t *info);

#endif
