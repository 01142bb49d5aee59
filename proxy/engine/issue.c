/* SPDX-License-Identifier: Apache-2.0
 * How a task travels: by the transport's own put and get, or by messages that the target's proxy
 * acts on; if the network does not reach the memory, its data are staged. order.c keeps the order.
 */
#include "proxy/engine/issue.h"

#include <string.h>
#include "base/util.h"
#include "proxy/engine/failure.h"
#include "proxy/engine/loss.h"
#include "proxy/engine/memory.h"
#include "proxy/engine/observe.h"
#include "proxy/engine/outbox.h"
#include "proxy/engine/peer.h"
#include "proxy/engine/stage_out.h"
#include "proxy/engine/task.h"

/* Copy streams access this PE's memory. */
static bool has_copy_streams(const struct gsh_proxy *proxy)
{
    return proxy->stage.ops != NULL;
}

static const void *source_of(const struct gsh_request *request)
{
    return gsh_request_is_inline(request) ? request->inline_data : request->local;
}

static void *dest_of(struct gsh_request *request)
{
    return request->op == GSH_FAR_G ? (void *)&request->value : request->local;
}

static uint64_t bytes_of(const struct gsh_request *request)
{
    return request->op == GSH_FAR_G ? request->word_bytes : request->bytes;
}

/* ---- by the transport ---- */

void gsh_issue_native_done(struct gsh_op *op, enum gsh_result r)
{
    struct gsh_task *task = GSH_HOLDER(struct gsh_task, op, op);
    task->proxy->n_pending--;
    if (task->issued_ns != 0) {
        gsh_observe_transfer(task);
    }
    if (r == GSH_OK || gsh_loss_outlives(task->proxy, task->request.pe, r)) {
        gsh_task_end(task, r);
    } else {
        gsh_task_fail(task, r, NULL);
    }
}

static void issue_native(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    struct gsh_proxy *proxy = task->proxy;
    struct gsh_transport *t = proxy->transport;
    struct gsh_request *request = &task->request;
    uint64_t bytes = bytes_of(request);
    enum gsh_result r = GSH_OK;
    bool is_pending = false;
    task->op.done = gsh_issue_native_done;
    task->issued_ns = gsh_observe_now(proxy);
    proxy->n_pending++; /* first, since the call may call done */
    if (gsh_request_is_get(request)) {
        if (bytes > 0) {
            r = t->ops->get(t, peer->pe, request->remote_off, dest_of(request), bytes, &task->op,
                            &is_pending);
        }
    } else if (bytes > 0) {
        peer->puts_posted++;
        r = t->ops->put(t, peer->pe, peer->ctx, request->remote_off, source_of(request), bytes,
                        &task->op, &is_pending);
    }
    if (r != GSH_OK || !is_pending) {
        gsh_issue_native_done(&task->op, r);
    }
}

/* The signal of a put: a native one that is about to be issued, or a staged one that has begun. A
 * strong one waits for all native puts before it; one of a native put does so anyway, because
 * flushes complete everything before them. */
static bool signal_later(struct gsh_engine_peer *peer, const struct gsh_task *task)
{
    struct gsh_task *signal = gsh_pool_take(&task->proxy->tasks);
    if (signal == NULL) {
        gsh_task_fail((struct gsh_task *)task, GSH_ERR_NOMEM, NULL);
        return false;
    }
    signal->proxy = task->proxy;
    signal->request.op = GSH_TASK_SIGNAL;
    signal->request.pe = peer->pe;
    signal->request.amo_op = (uint8_t)gsh_amo_of_signal(task->request.sig_op);
    signal->request.remote_off = task->request.sig_off;
    signal->request.operand = task->request.signal;
    signal->needed = gsh_task_is_native(task)  ? peer->puts_posted + 1
                     : task->request.is_strong ? peer->puts_posted
                                               : 0;
    signal->needed_staged = peer->newest_staged;
    gsh_queue_push(&peer->flush_wait, &signal->request);
    return true;
}

/* ---- by messages ---- */

static struct gsh_out *take_out(struct gsh_task *task, enum gsh_message_kind kind, bool is_large)
{
    struct gsh_out *out = gsh_out_take(task->proxy, is_large, false);
    if (out != NULL) {
        out->header = (struct gsh_message){.kind = (uint8_t)kind, .off = task->request.remote_off};
    }
    return out;
}

/* The message is a question about n bytes or elements, from `at` on, and gets a token. False: no
 * memory, which has stopped the proxy. */
static bool ask(struct gsh_engine_peer *peer, struct gsh_task *task, struct gsh_out *out,
                enum gsh_message_kind answer, uint64_t at, uint64_t n)
{
    const struct gsh_outstanding asked = {
        .task = task, .pe = peer->pe, .kind = (uint8_t)answer, .at = at, .n = n};
    if (gsh_outstanding_add(&task->proxy->asked, &asked, &out->header.token)) {
        return true;
    }
    gsh_task_fail(task, GSH_ERR_NOMEM, "no memory");
    return false;
}

static bool send_amo(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    const struct gsh_request *request = &task->request;
    struct gsh_out *out =
        gsh_engine_peer_may_send(peer) ? take_out(task, GSH_MESSAGE_AMO, false) : NULL;
    bool is_signal = request->op == GSH_TASK_SIGNAL;
    if (out == NULL) {
        return false;
    }
    out->header.amo_op = request->amo_op;
    out->header.word_bytes = is_signal ? 8 : request->word_bytes;
    out->header.is_fetch = !is_signal && request->is_fetch;
    out->header.amo.operand = request->operand;
    out->header.amo.cond = is_signal ? 0 : request->cond;
    bool is_fetch = out->header.is_fetch;
    if (is_fetch && !ask(peer, task, out, GSH_MESSAGE_VALUE, 0, 0)) {
        return true;
    }
    gsh_out_send(peer, out, NULL, 0);
    if (is_signal) {
        gsh_pool_give(&task->proxy->tasks, task);
    } else if (!is_fetch) {
        gsh_task_done(task);
    }
    return true;
}

/* Sends the data from where they are; the task is done when they are sent. */
static bool send_put_signal(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    const struct gsh_request *request = &task->request;
    struct gsh_out *out = NULL;
    if (gsh_engine_peer_may_send(peer)) {
        out = take_out(task, GSH_MESSAGE_PUT_SIGNAL, false);
    }
    if (out == NULL) {
        return false;
    }
    out->header.amo_op = (uint8_t)gsh_amo_of_signal(request->sig_op);
    out->header.amo.off = request->sig_off;
    out->header.amo.operand = request->signal;
    out->task = task;
    gsh_out_send(peer, out, source_of(request), request->bytes);
    return true;
}

/* The data are in the request. */
static bool send_put_inline(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    const struct gsh_request *request = &task->request;
    struct gsh_out *out =
        gsh_engine_peer_may_send(peer) ? take_out(task, GSH_MESSAGE_PUT, false) : NULL;
    if (out == NULL) {
        return false;
    }
    memcpy(out->data, request->inline_data, request->bytes);
    gsh_out_send(peer, out, out->data, request->bytes);
    gsh_task_done(task);
    return true;
}

static bool send_iput_parts(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    struct gsh_proxy *proxy = task->proxy;
    const struct gsh_request *request = &task->request;
    uint64_t size = request->elem_bytes;
    while (task->at < request->nelems) {
        uint64_t n = gsh_min_u64(request->nelems - task->at, proxy->data_max / size);
        struct gsh_out *out =
            gsh_engine_peer_may_send(peer) ? take_out(task, GSH_MESSAGE_IPUT, true) : NULL;
        if (out == NULL) {
            return false;
        }
        const uint8_t *source =
            (const uint8_t *)request->local + task->at * (uint64_t)request->local_stride * size;
        if (!gsh_memory_gather(proxy, out->data, source, request->local_stride, size, n)) {
            return true;
        }
        out->header.off += task->at * (uint64_t)request->remote_stride * size;
        out->header.strided.elem_bytes = size;
        out->header.strided.nelems = n;
        out->header.strided.stride = request->remote_stride;
        gsh_out_send(peer, out, out->data, n * size);
        task->at += n;
    }
    gsh_task_done(task);
    return true;
}

static bool ask_get_parts(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    const struct gsh_request *request = &task->request;
    uint64_t total = bytes_of(request);
    while (task->at < total) {
        uint64_t bytes = gsh_stage_piece(task->proxy, total, total - task->at);
        struct gsh_out *out =
            peer->main->n_gets < GSH_GETS_MAX ? take_out(task, GSH_MESSAGE_GET, false) : NULL;
        if (out == NULL) {
            return false;
        }
        if (!ask(peer, task, out, GSH_MESSAGE_DATA, task->at, bytes)) {
            return true;
        }
        out->header.off += task->at;
        out->header.bytes = bytes;
        task->at += bytes;
        task->outstanding++;
        peer->main->n_gets++;
        gsh_out_send(peer, out, NULL, 0);
    }
    if (task->outstanding == 0) {
        gsh_task_done(task);
    }
    return true;
}

static bool ask_iget_parts(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    const struct gsh_request *request = &task->request;
    uint64_t size = request->elem_bytes;
    while (task->at < request->nelems) {
        uint64_t n = gsh_min_u64(request->nelems - task->at, task->proxy->data_max / size);
        struct gsh_out *out =
            peer->main->n_gets < GSH_GETS_MAX ? take_out(task, GSH_MESSAGE_IGET, false) : NULL;
        if (out == NULL) {
            return false;
        }
        if (!ask(peer, task, out, GSH_MESSAGE_ELEMENTS, task->at, n)) {
            return true;
        }
        out->header.off += task->at * (uint64_t)request->remote_stride * size;
        out->header.strided.elem_bytes = size;
        out->header.strided.nelems = n;
        out->header.strided.stride = request->remote_stride;
        task->at += n;
        task->outstanding++;
        peer->main->n_gets++;
        gsh_out_send(peer, out, NULL, 0);
    }
    if (task->outstanding == 0) {
        gsh_task_done(task);
    }
    return true;
}

/* ---- staged: by the main peer, whatever the context ---- */

/* What has begun of a task is the newest that the context has there. */
static bool note_staged(struct gsh_engine_peer *peer, bool is_issued)
{
    peer->newest_staged = peer->main->stage.n_begun;
    return is_issued;
}

static bool stage_put(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    if (gsh_request_is_inline(&task->request)) {
        return send_put_inline(peer, task);
    }
    if (task->request.bytes == 0) {
        gsh_task_done(task);
        return true;
    }
    return note_staged(peer, gsh_stage_put(peer->main, task));
}

static bool stage_put_signal(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    if (gsh_request_is_inline(&task->request)) {
        return send_put_signal(peer, task);
    }
    if (gsh_task_fits_message(task)) {
        return note_staged(
            peer, gsh_stage_put_signal(peer->main, task, gsh_amo_of_signal(task->request.sig_op)));
    }
    if (!note_staged(peer, gsh_stage_put(peer->main, task))) {
        return false;
    }
    (void)signal_later(peer, task); /* its failure has stopped the proxy */
    return true;
}

/* Puts to the peer are under way that messages may overtake. */
static bool has_puts(const struct gsh_engine_peer *peer)
{
    return peer->puts_flushed != peer->puts_posted ||
           !gsh_stage_is_sent(&peer->main->stage, peer->newest_staged);
}

/* The put goes at once, so that it delays nothing behind it; only its signal waits. */
static bool issue_strong(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    const struct gsh_request *request = &task->request;
    if (has_copy_streams(task->proxy) && !gsh_request_is_inline(request)) {
        if (!note_staged(peer, gsh_stage_put(peer->main, task))) {
            return false;
        }
        (void)signal_later(peer, task); /* its failure has stopped the proxy */
        return true;
    }
    struct gsh_out *out =
        gsh_engine_peer_may_send(peer) ? take_out(task, GSH_MESSAGE_PUT, false) : NULL;
    if (out == NULL) {
        return false;
    }
    out->task = task;
    if (signal_later(peer, task)) {
        gsh_out_send(peer, out, source_of(request), request->bytes);
    }
    return true;
}

static bool issue_put_signal(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    if (task->request.is_strong && task->request.bytes > 0 && has_puts(peer)) {
        return issue_strong(peer, task);
    }
    return has_copy_streams(task->proxy) ? stage_put_signal(peer, task)
                                         : send_put_signal(peer, task);
}

bool gsh_task_issue(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    peer->main->last_op = task->request.op;
    if (gsh_task_is_native(task)) {
        if (task->request.op != GSH_FAR_PUT_SIGNAL || signal_later(peer, task)) {
            issue_native(peer, task);
        }
        return true;
    }
    switch (task->request.op) {
    case GSH_FAR_AMO:
    case GSH_TASK_SIGNAL:
        return send_amo(peer, task);
    case GSH_FAR_PUT_SIGNAL:
        return issue_put_signal(peer, task);
    case GSH_FAR_IPUT:
        return has_copy_streams(task->proxy) ? note_staged(peer, gsh_stage_iput(peer->main, task))
                                             : send_iput_parts(peer, task);
    case GSH_FAR_IGET:
        return ask_iget_parts(peer, task);
    case GSH_FAR_PUT:
    case GSH_FAR_P:
        return stage_put(peer, task);
    case GSH_FAR_GET:
    case GSH_FAR_G:
        return ask_get_parts(peer, task);
    default:
        gsh_task_fail(task, GSH_ERR_BUG, NULL);
        return true;
    }
}
