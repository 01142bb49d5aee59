/* SPDX-License-Identifier: Apache-2.0
 * Messages between proxies: sending them, and doing what they ask on this PE's memory. A message
 * is carried out completely when it arrives, or by stage.h, in order, a little later;
 * memory-changing ones are then counted and acknowledged together, answers carry such acks along.
 */
#include "proxy/engine/messages.h"

#include <string.h>
#include "proxy/engine/engine.h"

/* ---- sending ---- */

static struct gsh_pool *pool_of(struct gsh_proxy *proxy, bool is_large)
{
    return is_large ? &proxy->large_outs : &proxy->small_outs;
}

struct gsh_out *gsh_out_take(struct gsh_proxy *proxy, bool is_large, bool is_answer)
{
    if (!is_answer && proxy->n_outs >= GSH_OUTS_MAX)
        return NULL;
    struct gsh_out *out = gsh_pool_take(pool_of(proxy, is_large));
    if (!out) {
        gsh_engine_fail(proxy, proxy->options.my_pe, GSH_ERR_NOMEM, "a message", "no memory");
        return NULL;
    }
    out->proxy = proxy;
    out->task = NULL;
    out->is_large = is_large;
    return out;
}

static const char *name_of(unsigned kind)
{
    static const char *const names[GSH_MESSAGE_KINDS] = {
        [GSH_MESSAGE_ACK] = "an acknowledgement",
        [GSH_MESSAGE_MAIL] = "a collective's message",
        [GSH_MESSAGE_NOTICE] = "a notice",
        [GSH_MESSAGE_AMO] = "an atomic operation",
        [GSH_MESSAGE_PUT] = "a put",
        [GSH_MESSAGE_PUT_SIGNAL] = "a put_signal",
        [GSH_MESSAGE_IPUT] = "an iput",
        [GSH_MESSAGE_GET] = "a get",
        [GSH_MESSAGE_IGET] = "an iget",
        [GSH_MESSAGE_VALUE] = "an answer",
        [GSH_MESSAGE_DATA] = "an answer",
        [GSH_MESSAGE_ELEMENTS] = "an answer",
        [GSH_MESSAGE_WANT] = "a staged transfer",
        [GSH_MESSAGE_GRANT] = "a staged transfer",
        [GSH_MESSAGE_STAGED_PUT] = "a staged put",
        [GSH_MESSAGE_STAGED_DATA] = "a staged get",
    };
    return names[kind];
}

static void out_done(struct gsh_op *op, enum gsh_result r)
{
    struct gsh_out *out = GSH_HOLDER(struct gsh_out, op, op);
    struct gsh_proxy *proxy = out->proxy;
    struct gsh_task *task = out->task;
    proxy->n_pending--;
    proxy->n_outs--;
    if (r != GSH_OK)
        gsh_engine_fail(proxy, out->pe, r, name_of(out->header.kind), NULL);
    else if (task)
        gsh_task_done(task);
    gsh_pool_give(pool_of(proxy, out->is_large), out);
}

bool gsh_message_changes_memory(unsigned kind)
{
    return kind == GSH_MESSAGE_AMO || kind == GSH_MESSAGE_PUT || kind == GSH_MESSAGE_PUT_SIGNAL ||
           kind == GSH_MESSAGE_IPUT || kind == GSH_MESSAGE_STAGED_PUT;
}

void gsh_out_send(struct gsh_peer *peer, struct gsh_out *out, const void *data, size_t bytes)
{
    struct gsh_proxy *proxy = out->proxy;
    struct gsh_transport *t = proxy->transport;
    bool is_pending = false;
    out->pe = peer->pe;
    out->op.done = out_done;
    out->header.acks = peer->to_ack;
    peer->to_ack = 0;
    gsh_link_remove(&peer->acking);
    if (gsh_message_changes_memory(out->header.kind))
        peer->sent++;
    proxy->n_pending++; /* first, for done may come from within the call */
    proxy->n_outs++;
    enum gsh_result r = t->ops->send(t, peer->pe, &out->header, sizeof out->header, data, bytes,
                                     &out->op, &is_pending);
    if (r != GSH_OK || !is_pending)
        out_done(&out->op, r);
}

void gsh_message_send_acks(struct gsh_proxy *proxy)
{
    while (!gsh_link_is_alone(&proxy->acking) && proxy->failure == GSH_OK) {
        struct gsh_peer *peer = GSH_HOLDER(struct gsh_peer, acking, proxy->acking.next);
        struct gsh_out *out = gsh_out_take(proxy, false, true);
        if (!out)
            return;
        out->header = (struct gsh_message){.kind = GSH_MESSAGE_ACK};
        gsh_out_send(peer, out, NULL, 0);
    }
}

/* ---- what is asked of this PE ---- */

static struct gsh_out *take_answer(struct gsh_peer *peer, const struct gsh_message *m,
                                   enum gsh_message_kind kind, bool is_large)
{
    struct gsh_out *out = gsh_out_take(peer->proxy, is_large, true);
    if (out)
        out->header = (struct gsh_message){.kind = (uint8_t)kind, .task = m->task, .at = m->at};
    return out;
}

void gsh_message_answer_value(struct gsh_peer *peer, const struct gsh_message *m, uint64_t old)
{
    struct gsh_out *out = take_answer(peer, m, GSH_MESSAGE_VALUE, false);
    if (!out)
        return;
    out->header.value = old;
    gsh_out_send(peer, out, NULL, 0);
}

static void do_amo(struct gsh_peer *peer, const struct gsh_message *m)
{
    struct gsh_proxy *proxy = peer->proxy;
    uint64_t old = 0;
    if (!gsh_memory_amo(proxy, m->amo_op, proxy->heap_base + m->off, m->word_bytes, m->amo.operand,
                        m->amo.cond, &old) ||
        !m->is_fetch)
        return;
    gsh_message_answer_value(peer, m, old);
}

static void do_put_signal(struct gsh_proxy *proxy, const struct gsh_message *m, const void *data,
                          size_t bytes)
{
    uint64_t old = 0;
    if (gsh_memory_in(proxy, proxy->heap_base + m->off, data, bytes))
        (void)gsh_memory_amo(proxy, m->amo_op, proxy->heap_base + m->amo.off, 8, m->amo.operand, 0,
                             &old);
}

static void do_get(struct gsh_peer *peer, const struct gsh_message *m)
{
    struct gsh_proxy *proxy = peer->proxy;
    struct gsh_out *out = take_answer(peer, m, GSH_MESSAGE_DATA, m->bytes > GSH_RING_INLINE_MAX);
    if (out && gsh_memory_out(proxy, out->data, proxy->heap_base + m->off, m->bytes))
        gsh_out_send(peer, out, out->data, m->bytes);
}

static void do_iget(struct gsh_peer *peer, const struct gsh_message *m)
{
    struct gsh_proxy *proxy = peer->proxy;
    struct gsh_out *out = take_answer(peer, m, GSH_MESSAGE_ELEMENTS, true);
    if (!out || !gsh_memory_gather(proxy, out->data, proxy->heap_base + m->off, m->strided.stride,
                                   m->strided.elem_bytes, m->strided.nelems))
        return;
    out->header.strided.nelems = m->strided.nelems;
    gsh_out_send(peer, out, out->data, m->strided.elem_bytes * m->strided.nelems);
}

/* ---- answers ---- */

static void take_value(const struct gsh_message *m)
{
    struct gsh_task *task = (struct gsh_task *)(uintptr_t)m->task;
    task->request.value = m->value;
    gsh_task_done(task);
}

void gsh_message_take_part(struct gsh_peer *peer, struct gsh_task *task, uint64_t total)
{
    peer->n_gets--;
    if (--task->outstanding == 0 && task->at == total)
        gsh_task_done(task);
}

static void take_data(struct gsh_peer *peer, const struct gsh_message *m, const void *data,
                      size_t bytes)
{
    struct gsh_task *task = (struct gsh_task *)(uintptr_t)m->task;
    struct gsh_request *request = &task->request;
    if (request->op == GSH_FAR_G) {
        memcpy(&request->value, data, bytes < 8 ? bytes : 8);
        gsh_message_take_part(peer, task, request->word_bytes);
    } else if (gsh_memory_in(peer->proxy, (uint8_t *)request->local + m->at, data, bytes)) {
        gsh_message_take_part(peer, task, request->bytes);
    }
}

static void take_elements(struct gsh_peer *peer, const struct gsh_message *m, const void *data)
{
    struct gsh_task *task = (struct gsh_task *)(uintptr_t)m->task;
    const struct gsh_request *request = &task->request;
    uint64_t size = request->elem_bytes;
    uint8_t *dest = (uint8_t *)request->local + m->at * (uint64_t)request->local_stride * size;
    if (gsh_memory_scatter(peer->proxy, dest, request->local_stride, data, size, m->strided.nelems))
        gsh_message_take_part(peer, task, request->nelems);
}

/* ---- arrival ---- */

void gsh_message_count_to_ack(struct gsh_peer *peer)
{
    if (peer->to_ack++ == 0)
        gsh_link_append(&peer->proxy->acking, &peer->acking);
}

/* Those for which lanes are at work, when there are some. */
static bool is_staged(const struct gsh_message *m)
{
    const struct gsh_task *task = (const struct gsh_task *)(uintptr_t)m->task;
    switch (m->kind) {
    case GSH_MESSAGE_ACK:
    case GSH_MESSAGE_MAIL:
    case GSH_MESSAGE_VALUE:
        return false;
    case GSH_MESSAGE_DATA:
        return task->request.op != GSH_FAR_G;
    default:
        return m->kind < GSH_MESSAGE_KINDS;
    }
}

static void stage(struct gsh_peer *peer, const struct gsh_message *m, const void *data,
                  size_t bytes)
{
    switch (m->kind) {
    case GSH_MESSAGE_GET:
    case GSH_MESSAGE_IGET:
        gsh_stage_answer(peer, m);
        break;
    case GSH_MESSAGE_WANT:
        gsh_stage_wanted(peer, m);
        break;
    case GSH_MESSAGE_GRANT:
        gsh_stage_granted(peer, m, data, bytes);
        break;
    default:
        gsh_stage_take(peer, m, data, bytes);
    }
}

static void dispatch(struct gsh_peer *peer, const struct gsh_message *m, const void *data,
                     size_t bytes)
{
    struct gsh_proxy *proxy = peer->proxy;
    switch (m->kind) {
    case GSH_MESSAGE_ACK:
        break;
    case GSH_MESSAGE_MAIL:
        if (gsh_mailbox_put(&proxy->mailbox, peer->pe, m->tag, data, bytes) != GSH_OK)
            gsh_engine_fail(proxy, peer->pe, GSH_ERR_NOMEM, "a message", gsh_last_error());
        break;
    case GSH_MESSAGE_AMO:
        do_amo(peer, m);
        break;
    case GSH_MESSAGE_PUT:
        (void)gsh_memory_in(proxy, proxy->heap_base + m->off, data, bytes);
        break;
    case GSH_MESSAGE_PUT_SIGNAL:
        do_put_signal(proxy, m, data, bytes);
        break;
    case GSH_MESSAGE_IPUT:
        (void)gsh_memory_scatter(proxy, proxy->heap_base + m->off, m->strided.stride, data,
                                 m->strided.elem_bytes, m->strided.nelems);
        break;
    case GSH_MESSAGE_GET:
        do_get(peer, m);
        break;
    case GSH_MESSAGE_IGET:
        do_iget(peer, m);
        break;
    case GSH_MESSAGE_VALUE:
        take_value(m);
        break;
    case GSH_MESSAGE_DATA:
        take_data(peer, m, data, bytes);
        break;
    case GSH_MESSAGE_ELEMENTS:
        take_elements(peer, m, data);
        break;
    default:
        gsh_engine_fail(proxy, peer->pe, GSH_ERR_BUG, "a message", "it is of no known kind");
    }
}

void gsh_message_arrived(void *context, int from_pe, const void *header, size_t header_bytes,
                         const void *data, size_t bytes)
{
    struct gsh_proxy *proxy = context;
    struct gsh_message m;
    struct gsh_peer *peer = gsh_engine_peer(proxy, from_pe);
    if (!peer)
        return;
    if (header_bytes != sizeof m) {
        gsh_engine_fail(proxy, from_pe, GSH_ERR_BUG, "a message", "its header has another length");
        return;
    }
    memcpy(&m, header, sizeof m); /* transports promise no alignment */
    peer->acked += m.acks;
    if (m.acks > 0)
        gsh_engine_settle(peer);
    if (m.kind == GSH_MESSAGE_NOTICE && proxy->options.notice)
        proxy->options.notice(proxy->options.context, from_pe, data, bytes);
    if (m.kind == GSH_MESSAGE_NOTICE || proxy->failure != GSH_OK)
        return;
    /* Nothing is sent before it is carried out; then its own answer takes the ack along. */
    if (proxy->stage.ops && is_staged(&m)) {
        stage(peer, &m, data, bytes);
        return;
    }
    if (gsh_message_changes_memory(m.kind))
        gsh_message_count_to_ack(peer);
    dispatch(peer, &m, data, bytes);
}
