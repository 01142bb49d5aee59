/* SPDX-License-Identifier: Apache-2.0
 * See proxy.h. */
#include "runtime/trace/proxy.h"

#include "base/util.h"
#include "proxy/proxy.h"
#include "runtime/instance/instance.h"
#include "trace/record.h"

void gsh_trace_proxy_event(const struct gsh_instance *pe, const struct gsh_proxy_event *event)
{
    if (pe->trace == NULL) { /* not yet */
        return;
    }
    struct gsh_trace_slot slot = {.kind =
                                      event->is_transfer ? GSH_TRACE_TRANSFER : GSH_TRACE_REQUEST,
                                  .op = event->is_get ? GSH_TRACE_OP_GET : GSH_TRACE_OP_NONE,
                                  .pe = event->pe,
                                  .begin_ns = event->begin_ns,
                                  .end_ns = gsh_now_ns(),
                                  .bytes = event->bytes,
                                  .off = event->remote_off, /* UINT64_MAX is GSH_TRACE_NONE */
                                  .word_off = GSH_TRACE_NONE};
    gsh_trace_write(pe->trace, event->name, &slot);
}
