/* SPDX-License-Identifier: Apache-2.0
 * How each operation is carried out: by the transport's own put and get, by messages that the
 * target's proxy acts on, or, on this PE itself, at once. When memory is not the host's, data go by
 * stage.h. Order is engine.c's. */
#include <string.h>
#include "proxy/engine/engine.h"
#include "runtime/base/util.h"

/* Elements of this PE's strided copies are packed here. */
#define PACK_BYTES 4096

static bool is_put(unsigned op)
{
    return op == GSH_FAR_PUT || op == GSH_FAR_P;
}

static bool is_get(unsigned op)
{
    return op == GSH_FAR_GET || op == GSH_FAR_G;
}

/* This PE's memory is touched by lanes. */
static bool is_staged(const struct gsh_proxy *proxy)
{
    return proxy->stage.ops != NULL;
}

static bool fits_message(const struct gsh_task *task)
{
    return task->request.bytes <= task->proxy->data_max;
}

bool gsh_task_is_native(const struct gsh_task *task)
{
    unsigned op = task->request.op;
    if (!task->proxy->is_native)
        return false;
    return is_put(op) || is_get(op) || (op == GSH_FAR_PUT_SIGNAL && !fits_message(task));
}

bool gsh_task_changes_memory(const struct gsh_task *task)
{
    unsigned op = task->request.op;
    return is_put(op) || op == GSH_FAR_AMO || op == GSH_FAR_IPUT || op == GSH_FAR_PUT_SIGNAL ||
           op == GSH_TASK_SIGNAL;
}

static bool is_inline(const struct gsh_request *request)
{
    return !request->local && (request->op == GSH_FAR_P || request->op == GSH_FAR_PUT_SIGNAL);
}

static const void *source_of(const struct gsh_request *request)
{
    return is_inline(request) ? request->inline_data : request->local;
}

static void *dest_of(struct gsh_request *request)
{
    return request->op == GSH_FAR_G ? (void *)&request->value : request->local;
}

static uint64_t bytes_of(const struct gsh_request *request)
{
    return request->op == GSH_FAR_G ? request->word_bytes : request->bytes;
}

static int signal_op(const struct gsh_request *request)
{
    return gsh_amo_of_signal(request->sig_op);
}

/* ---- by the transport ---- */

void gsh_task_native_done(struct gsh_op *op, enum gsh_result r)
{
    struct gsh_task *task = GSH_HOLDER(struct gsh_task, op, op);
    task->proxy->n_pending--;
    if (r == GSH_OK)
        gsh_task_done(task);
    else
        gsh_task_fail(task, r, NULL);
}

static void issue_native(struct gsh_peer *peer, struct gsh_task *task)
{
    struct gsh_proxy *proxy = task->proxy;
    struct gsh_transport *t = proxy->transport;
    struct gsh_request *request = &task->request;
    uint64_t bytes = bytes_of(request);
    enum gsh_result r = GSH_OK;
    bool is_pending = false;
    task->op.done = gsh_task_native_done;
    proxy->n_pending++; /* first, for done may come from within the call */
    if (is_get(request->op)) {
        if (bytes > 0)
            r = t->ops->get(t, peer->pe, request->remote_off, dest_of(request), bytes, &task->op,
                            &is_pending);
    } else if (bytes > 0) {
        peer->puts_posted++;
        r = t->ops->put(t, peer->pe, request->remote_off, source_of(request), bytes, &task->op,
                        &is_pending);
    }
    if (r != GSH_OK || !is_pending)
        gsh_task_native_done(&task->op, r);
}

/* The signal of a put: a native one that is about to be issued, or a staged one that has begun. */
static bool signal_later(struct gsh_peer *peer, const struct gsh_task *task)
{
    struct gsh_task *signal = gsh_pool_take(&task->proxy->tasks);
    if (!signal) {
        gsh_task_fail((struct gsh_task *)task, GSH_ERR_NOMEM, NULL);
        return false;
    }
    signal->proxy = task->proxy;
    signal->request.op = GSH_TASK_SIGNAL;
    signal->request.pe = peer->pe;
    signal->request.amo_op = (uint8_t)signal_op(&task->request);
    signal->request.remote_off = task->request.sig_off;
    signal->request.operand = task->request.signal;
    signal->needed = gsh_task_is_native(task) ? peer->puts_posted + 1 : 0;
    signal->needed_staged = peer->stage.n_begun;
    gsh_queue_push(&peer->flush_wait, &signal->request);
    return true;
}

/* ---- by messages ---- */

static struct gsh_out *take_out(struct gsh_task *task, enum gsh_message_kind kind, bool is_large)
{
    struct gsh_out *out = gsh_out_take(task->proxy, is_large, false);
    if (out) {
        out->header = (struct gsh_message){.kind = (uint8_t)kind,
                                           .task = (uint64_t)(uintptr_t)task,
                                           .off = task->request.remote_off};
    }
    return out;
}

static bool send_amo(struct gsh_peer *peer, struct gsh_task *task)
{
    const struct gsh_request *request = &task->request;
    struct gsh_out *out = gsh_engine_may_send(peer) ? take_out(task, GSH_MESSAGE_AMO, false) : NULL;
    bool is_signal = request->op == GSH_TASK_SIGNAL;
    if (!out)
        return false;
    out->header.amo_op = request->amo_op;
    out->header.word_bytes = is_signal ? 8 : request->word_bytes;
    out->header.is_fetch = !is_signal && request->is_fetch;
    out->header.amo.operand = request->operand;
    out->header.amo.cond = is_signal ? 0 : request->cond;
    bool is_fetch = out->header.is_fetch;
    gsh_out_send(peer, out, NULL, 0);
    if (is_signal)
        gsh_pool_give(&task->proxy->tasks, task);
    else if (!is_fetch)
        gsh_task_done(task);
    return true;
}

/* Data go from where they are; the task is done when they are sent. */
static bool send_put_signal(struct gsh_peer *peer, struct gsh_task *task)
{
    const struct gsh_request *request = &task->request;
    struct gsh_out *out = NULL;
    if (gsh_engine_may_send(peer))
        out = take_out(task, GSH_MESSAGE_PUT_SIGNAL, false);
    if (!out)
        return false;
    out->header.amo_op = (uint8_t)signal_op(request);
    out->header.amo.off = request->sig_off;
    out->header.amo.operand = request->signal;
    out->task = task;
    gsh_out_send(peer, out, source_of(request), request->bytes);
    return true;
}

/* The data are in the request. */
static bool send_put_inline(struct gsh_peer *peer, struct gsh_task *task)
{
    const struct gsh_request *request = &task->request;
    struct gsh_out *out = gsh_engine_may_send(peer) ? take_out(task, GSH_MESSAGE_PUT, false) : NULL;
    if (!out)
        return false;
    memcpy(out->data, request->inline_data, request->bytes);
    gsh_out_send(peer, out, out->data, request->bytes);
    gsh_task_done(task);
    return true;
}

static bool send_iput_parts(struct gsh_peer *peer, struct gsh_task *task)
{
    struct gsh_proxy *proxy = task->proxy;
    const struct gsh_request *request = &task->request;
    uint64_t size = request->elem_bytes;
    while (task->at < request->nelems) {
        uint64_t n = gsh_min_u64(request->nelems - task->at, proxy->data_max / size);
        struct gsh_out *out =
            gsh_engine_may_send(peer) ? take_out(task, GSH_MESSAGE_IPUT, true) : NULL;
        if (!out)
            return false;
        const uint8_t *source =
            (const uint8_t *)request->local + task->at * (uint64_t)request->local_stride * size;
        if (!gsh_memory_gather(proxy, out->data, source, request->local_stride, size, n))
            return true;
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

static bool ask_get_parts(struct gsh_peer *peer, struct gsh_task *task)
{
    const struct gsh_request *request = &task->request;
    uint64_t total = bytes_of(request);
    while (task->at < total) {
        uint64_t bytes = gsh_stage_piece(task->proxy, total, total - task->at);
        struct gsh_out *out =
            peer->n_gets < GSH_GETS_MAX ? take_out(task, GSH_MESSAGE_GET, false) : NULL;
        if (!out)
            return false;
        out->header.off += task->at;
        out->header.at = task->at;
        out->header.bytes = bytes;
        task->at += bytes;
        task->outstanding++;
        peer->n_gets++;
        gsh_out_send(peer, out, NULL, 0);
    }
    if (task->outstanding == 0)
        gsh_task_done(task);
    return true;
}

static bool ask_iget_parts(struct gsh_peer *peer, struct gsh_task *task)
{
    const struct gsh_request *request = &task->request;
    uint64_t size = request->elem_bytes;
    while (task->at < request->nelems) {
        uint64_t n = gsh_min_u64(request->nelems - task->at, task->proxy->data_max / size);
        struct gsh_out *out =
            peer->n_gets < GSH_GETS_MAX ? take_out(task, GSH_MESSAGE_IGET, false) : NULL;
        if (!out)
            return false;
        out->header.off += task->at * (uint64_t)request->remote_stride * size;
        out->header.at = task->at;
        out->header.strided.elem_bytes = size;
        out->header.strided.nelems = n;
        out->header.strided.stride = request->remote_stride;
        task->at += n;
        task->outstanding++;
        peer->n_gets++;
        gsh_out_send(peer, out, NULL, 0);
    }
    if (task->outstanding == 0)
        gsh_task_done(task);
    return true;
}

/* ---- staged ---- */

static bool stage_put(struct gsh_peer *peer, struct gsh_task *task)
{
    if (is_inline(&task->request))
        return send_put_inline(peer, task);
    if (task->request.bytes == 0)
        gsh_task_done(task);
    return gsh_stage_put(peer, task);
}

static bool stage_put_signal(struct gsh_peer *peer, struct gsh_task *task)
{
    if (is_inline(&task->request))
        return send_put_signal(peer, task);
    if (fits_message(task))
        return gsh_stage_put_signal(peer, task, signal_op(&task->request));
    if (!gsh_stage_put(peer, task))
        return false;
    (void)signal_later(peer, task); /* its failure has stopped the proxy */
    return true;
}

static bool issue_put_signal(struct gsh_peer *peer, struct gsh_task *task)
{
    return is_staged(task->proxy) ? stage_put_signal(peer, task) : send_put_signal(peer, task);
}

bool gsh_task_issue(struct gsh_peer *peer, struct gsh_task *task)
{
    peer->last_op = task->request.op;
    if (gsh_task_is_native(task)) {
        if (task->request.op != GSH_FAR_PUT_SIGNAL || signal_later(peer, task))
            issue_native(peer, task);
        return true;
    }
    switch (task->request.op) {
    case GSH_FAR_AMO:
    case GSH_TASK_SIGNAL:
        return send_amo(peer, task);
    case GSH_FAR_PUT_SIGNAL:
        return issue_put_signal(peer, task);
    case GSH_FAR_IPUT:
        return is_staged(task->proxy) ? gsh_stage_iput(peer, task) : send_iput_parts(peer, task);
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

/* ---- on this PE ---- */

static bool copy_here(struct gsh_proxy *proxy, void *dest, const void *source, uint64_t bytes)
{
    uint8_t packed[PACK_BYTES];
    if (proxy->memory.is_host)
        return gsh_memory_in(proxy, dest, source, bytes);
    for (uint64_t at = 0; at < bytes; at += sizeof packed) {
        uint64_t n = gsh_min_u64(bytes - at, sizeof packed);
        if (!gsh_memory_out(proxy, packed, (const uint8_t *)source + at, n) ||
            !gsh_memory_in(proxy, (uint8_t *)dest + at, packed, n))
            return false;
    }
    return true;
}

static bool put_here(struct gsh_proxy *proxy, void *here, const struct gsh_request *q)
{
    if (is_inline(q))
        return gsh_memory_in(proxy, here, q->inline_data, q->bytes);
    return copy_here(proxy, here, q->local, q->bytes);
}

static bool copy_strided_here(struct gsh_proxy *proxy, uint8_t *dest, int64_t dst,
                              const uint8_t *source, int64_t sst, uint64_t size, uint64_t nelems)
{
    uint8_t packed[PACK_BYTES];
    uint64_t n;
    for (uint64_t at = 0; at < nelems; at += n) {
        n = gsh_min_u64(nelems - at, sizeof packed / size);
        if (!gsh_memory_gather(proxy, packed, source + (int64_t)at * sst * (int64_t)size, sst, size,
                               n) ||
            !gsh_memory_scatter(proxy, dest + (int64_t)at * dst * (int64_t)size, dst, packed, size,
                                n))
            return false;
    }
    return true;
}

static bool run_here(struct gsh_proxy *proxy, struct gsh_request *q)
{
    uint8_t *here = proxy->heap_base + q->remote_off;
    uint64_t old = 0;
    switch (q->op) {
    case GSH_FAR_PUT:
    case GSH_FAR_P:
        return put_here(proxy, here, q);
    case GSH_FAR_GET:
        return copy_here(proxy, q->local, here, q->bytes);
    case GSH_FAR_G:
        return gsh_memory_out(proxy, &q->value, here, q->word_bytes);
    case GSH_FAR_AMO:
        return gsh_memory_amo(proxy, q->amo_op, here, q->word_bytes, q->operand, q->cond,
                              &q->value);
    case GSH_FAR_IPUT:
        return copy_strided_here(proxy, here, q->remote_stride, q->local, q->local_stride,
                                 q->elem_bytes, q->nelems);
    case GSH_FAR_IGET:
        return copy_strided_here(proxy, q->local, q->local_stride, here, q->remote_stride,
                                 q->elem_bytes, q->nelems);
    case GSH_FAR_PUT_SIGNAL:
        return put_here(proxy, here, q) &&
               gsh_memory_amo(proxy, signal_op(q), proxy->heap_base + q->sig_off, 8, q->signal, 0,
                              &old);
    default:
        return false;
    }
}

void gsh_task_run_here(struct gsh_task *task)
{
    if (run_here(task->proxy, &task->request))
        gsh_task_done(task);
    else
        gsh_task_fail(task, GSH_ERR_BUG, NULL);
}
