/* SPDX-License-Identifier: Apache-2.0
 * Jobs of lanes: how many have been started and have ended. */
#ifndef GSH_STAGE_JOBS_H
#define GSH_STAGE_JOBS_H

#include "proxy/engine/state.h"

/* Jobs are under way. */
static inline bool gsh_stage_is_busy(const struct gsh_stage *stage)
{
    bool has = false;
    for (int lane = 0; lane < GSH_LANES; lane++) {
        has = has || stage->n_started[lane] != stage->n_ended[lane];
    }
    return has;
}
/* Counts a job that has just been started, or fails the proxy. */
bool gsh_stage_started(struct gsh_proxy *proxy, enum gsh_lane lane, enum gsh_result r);
/* Learns which of the lane's jobs have ended. */
void gsh_stage_poll(struct gsh_proxy *proxy, enum gsh_lane lane);

#endif
