/* SPDX-License-Identifier: Apache-2.0
 * See stage_jobs.h. */
#include "proxy/engine/stage_jobs.h"

#include "proxy/engine/failure.h"

static void copy_stream_failed(struct gsh_proxy *proxy, enum gsh_copy_stream copy_stream,
                               enum gsh_result r)
{
    gsh_engine_fail(proxy, proxy->options.my_pe, r,
                    copy_stream == GSH_COPY_STREAM_IN ? "work on memory" : "a copy from memory",
                    gsh_last_error());
}

bool gsh_stage_started(struct gsh_proxy *proxy, enum gsh_copy_stream copy_stream, enum gsh_result r)
{
    if (r != GSH_OK) {
        copy_stream_failed(proxy, copy_stream, r);
        return false;
    }
    proxy->stage.n_started[copy_stream]++;
    return true;
}

void gsh_stage_poll(struct gsh_proxy *proxy, enum gsh_copy_stream copy_stream)
{
    struct gsh_stage *stage = &proxy->stage;
    if (stage->n_started[copy_stream] == stage->n_ended[copy_stream]) {
        return;
    }
    enum gsh_result r =
        stage->ops->poll(stage->copy_streams, copy_stream, &stage->n_ended[copy_stream]);
    if (r != GSH_OK) {
        copy_stream_failed(proxy, copy_stream, r);
    }
}
