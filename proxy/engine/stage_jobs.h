/* SPDX-License-Identifier: Apache-2.0
 * Jobs of copy streams: how many have been started and have ended. */
#ifndef GSH_STAGE_JOBS_H
#define GSH_STAGE_JOBS_H

#include "proxy/engine/state.h"

/* Jobs are under way. */
static inline bool gsh_stage_is_busy(const struct gsh_stage *stage)
{
    bool has = false;
    for (int copy_stream = 0; copy_stream < GSH_COPY_STREAMS; copy_stream++) {
        has = has || stage->n_started[copy_stream] != stage->n_ended[copy_stream];
    }
    return has;
}
/* Counts a job that has just been started, or fails the proxy. */
bool gsh_stage_started(struct gsh_proxy *proxy, enum gsh_copy_stream copy_stream,
                       enum gsh_result r);
/* Learns which of the copy stream's jobs have ended. */
void gsh_stage_poll(struct gsh_proxy *proxy, enum gsh_copy_stream copy_stream);

#endif
