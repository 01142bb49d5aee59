/* SPDX-License-Identifier: Apache-2.0
 * See observe.h. */
#include "proxy/engine/observe.h"

#include <string.h>

const char *gsh_observe_name(unsigned op)
{
    static const char *const names[GSH_FAR_OPS] = {
        [GSH_FAR_NONE] = "message", [GSH_FAR_PUT] = "put",     [GSH_FAR_GET] = "get",
        [GSH_FAR_P] = "p",          [GSH_FAR_G] = "g",         [GSH_FAR_AMO] = "atomic",
        [GSH_FAR_IPUT] = "iput",    [GSH_FAR_IGET] = "iget",   [GSH_FAR_PUT_SIGNAL] = "put_signal",
        [GSH_FAR_FENCE] = "fence",  [GSH_FAR_QUIET] = "quiet",
    };
    return op < GSH_FAR_OPS ? names[op] : "?";
}

static void tell(const struct gsh_proxy *proxy, const struct gsh_proxy_event *event)
{
    proxy->options.observe(proxy->options.context, event);
}

static struct gsh_proxy_event event_of(const struct gsh_request *q)
{
    bool is_everywhere = q->op == GSH_FAR_FENCE || q->op == GSH_FAR_QUIET;
    bool is_word = q->op == GSH_FAR_AMO || q->op == GSH_FAR_G;
    bool is_strided = q->op == GSH_FAR_IPUT || q->op == GSH_FAR_IGET;
    struct gsh_proxy_event e = {
        .name = gsh_observe_name(q->op), .pe = -1, .remote_off = UINT64_MAX};
    if (is_everywhere) {
        return e;
    }
    e.pe = q->pe;
    e.is_get = q->op == GSH_FAR_GET || q->op == GSH_FAR_G || q->op == GSH_FAR_IGET;
    if (q->op != GSH_FAR_NONE) {
        e.remote_off = q->remote_off;
        e.bytes = is_word ? q->word_bytes : is_strided ? q->nelems * q->elem_bytes : q->bytes;
    }
    return e;
}

void gsh_observe_request(const struct gsh_task *task)
{
    struct gsh_proxy_event event = event_of(&task->request);
    event.begin_ns = task->begun_ns;
    tell(task->proxy, &event);
}

void gsh_observe_transfer(const struct gsh_task *task)
{
    struct gsh_proxy_event event = event_of(&task->request);
    event.is_transfer = true;
    event.begin_ns = task->issued_ns;
    tell(task->proxy, &event);
}

void gsh_observe_message(const struct gsh_proxy *proxy, const char *name, int pe, uint64_t bytes,
                         uint64_t begun_ns)
{
    const char *space = strchr(name, ' ');
    const struct gsh_proxy_event event = {.name = space != NULL ? space + 1 : name,
                                          .is_transfer = true,
                                          .pe = pe,
                                          .remote_off = UINT64_MAX,
                                          .bytes = bytes,
                                          .begin_ns = begun_ns};
    tell(proxy, &event);
}
