/* SPDX-License-Identifier: Apache-2.0
 * See failure.h. */
#include "proxy/engine/failure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "proxy/engine/loss.h"

static const char *name_of(unsigned op)
{
    static const char *const names[] = {
        [GSH_FAR_NONE] = "a request",
        [GSH_FAR_PUT] = "a put",
        [GSH_FAR_GET] = "a get",
        [GSH_FAR_P] = "a put",
        [GSH_FAR_G] = "a g",
        [GSH_FAR_AMO] = "an atomic operation",
        [GSH_FAR_IPUT] = "an iput",
        [GSH_FAR_IGET] = "an iget",
        [GSH_FAR_PUT_SIGNAL] = "a put_signal",
        [GSH_FAR_FENCE] = "a fence",
        [GSH_FAR_QUIET] = "a quiet",
        [GSH_TASK_MARK] = "a quiet",
        [GSH_TASK_SIGNAL] = "a put_signal",
    };
    return op < sizeof(names) / sizeof(names[0]) ? names[op] : "an unknown request";
}

void gsh_engine_fail(struct gsh_proxy *proxy, int pe, enum gsh_result r, const char *operation,
                     const char *reason)
{
    char text[512];
    if (proxy->failure != GSH_OK) {
        return;
    }
    proxy->failure = r;
    if (proxy->is_closing) {
        return;
    }
    if (reason == NULL && proxy->lost_pe == pe) {
        reason = proxy->lost_reason;
    }
    if (reason == NULL) {
        reason = gsh_last_error_code() == r ? gsh_last_error() : gsh_result_name(r);
    }
    snprintf(text, sizeof(text), "PE %d: %s failed: %s", pe, operation, reason);
    proxy->options.fail(proxy->options.context, pe,
                        reason == proxy->lost_reason && proxy->is_lost_silent, text);
}

void gsh_task_fail(struct gsh_task *task, enum gsh_result r, const char *reason)
{
    char operation[120];
    const struct gsh_request *request = &task->request;
    const char *name = request->call != NULL ? request->call : name_of(request->op);
    const void *here = task->proxy->heap_base + request->remote_off; /* as the caller named it */
    switch (request->op) {
    case GSH_FAR_PUT:
    case GSH_FAR_GET:
    case GSH_FAR_P:
    case GSH_FAR_PUT_SIGNAL:
        snprintf(operation, sizeof(operation), "%s of %" PRIu64 " bytes at %p", name,
                 request->bytes, here);
        break;
    case GSH_FAR_IPUT:
    case GSH_FAR_IGET:
        snprintf(operation, sizeof(operation), "%s of %" PRIu64 " elements at %p", name,
                 request->nelems, here);
        break;
    default:
        snprintf(operation, sizeof(operation), "%s at %p", name, here);
    }
    gsh_engine_fail(task->proxy, request->pe, r, operation, reason);
}

void gsh_engine_lost(void *context, int pe, bool is_silent, const char *reason)
{
    struct gsh_proxy *proxy = context;
    if (proxy->options.lost != NULL) {
        gsh_loss_note(proxy, pe, reason);
        return;
    }
    /* Reported after the operations that it ends have had a chance to report: they know more. Of
     * several lost at once each one's operations end before the next is told, so it is the last
     * that is kept. */
    proxy->lost_pe = pe;
    proxy->is_lost_silent = is_silent;
    snprintf(proxy->lost_reason, sizeof(proxy->lost_reason), "%s", reason);
}

void gsh_engine_refuse(struct gsh_proxy *proxy, int pe, const char *operation, const char *reason)
{
    if (proxy->options.lost != NULL) {
        gsh_loss_note(proxy, pe, reason);
    } else {
        gsh_engine_fail(proxy, pe, GSH_ERR_BUG, operation, reason);
    }
}

void gsh_engine_report_lost(struct gsh_proxy *proxy)
{
    char operation[80];
    int pe = proxy->lost_pe;
    const struct gsh_engine_peer *peer = proxy->peers[GSH_CONTEXT_DEFAULT][pe];
    unsigned op = peer != NULL ? peer->last_op : GSH_FAR_NONE;
    if (op == GSH_FAR_NONE) {
        snprintf(operation, sizeof(operation), "the connection");
    } else {
        snprintf(operation, sizeof(operation), "the connection (last asked for: %s)", name_of(op));
    }
    gsh_engine_fail(proxy, pe, GSH_ERR_PEER, operation, proxy->lost_reason);
}
