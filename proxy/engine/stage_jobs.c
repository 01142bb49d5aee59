/* SPDX-License-Identifier: Apache-2.0
 * See jobs.h. */
#include "proxy/engine/stage_jobs.h"

#include "proxy/engine/failure.h"

static void lane_failed(struct gsh_proxy *proxy, enum gsh_lane lane, enum gsh_result r)
{
    gsh_engine_fail(proxy, proxy->options.my_pe, r,
                    lane == GSH_LANE_IN ? "work on memory" : "a copy from memory",
                    gsh_last_error());
}

bool gsh_stage_started(struct gsh_proxy *proxy, enum gsh_lane lane, enum gsh_result r)
{
    if (r != GSH_OK) {
        lane_failed(proxy, lane, r);
        return false;
    }
    proxy->stage.n_started[lane]++;
    return true;
}

void gsh_stage_poll(struct gsh_proxy *proxy, enum gsh_lane lane)
{
    struct gsh_stage *stage = &proxy->stage;
    if (stage->n_started[lane] == stage->n_ended[lane]) {
        return;
    }
    enum gsh_result r = stage->ops->poll(stage->lanes, lane, &stage->n_ended[lane]);
    if (r != GSH_OK) {
        lane_failed(proxy, lane, r);
    }
}
