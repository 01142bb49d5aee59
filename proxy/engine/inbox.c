/* SPDX-License-Identifier: Apache-2.0
 * See inbox.h. */
#include "proxy/engine/inbox.h"

#include <string.h>
#include "proxy/engine/check.h"
#include "proxy/engine/failure.h"
#include "proxy/engine/memory.h"
#include "proxy/engine/outbox.h"
#include "proxy/engine/peer.h"
#include "proxy/engine/stage_in.h"
#include "proxy/engine/stage_out.h"
#include "proxy/engine/stage_slots.h"
#include "proxy/engine/task.h"

/* ---- requests to this PE ---- */

static void do_amo(struct gsh_engine_peer *peer, const struct gsh_message *m)
{
    struct gsh_proxy *proxy = peer->proxy;
    uint64_t old = 0;
    if (!gsh_memory_amo(proxy, m->amo_op, proxy->heap_base + m->off, m->word_bytes, m->amo.operand,
                        m->amo.cond, &old) ||
        !m->is_fetch) {
        return;
    }
    gsh_out_answer_value(peer, m, old);
}

static void do_put_signal(struct gsh_proxy *proxy, const struct gsh_message *m, const void *data,
                          size_t bytes)
{
    uint64_t old = 0;
    if (gsh_memory_in(proxy, proxy->heap_base + m->off, data, bytes)) {
        (void)gsh_memory_amo(proxy, m->amo_op, proxy->heap_base + m->amo.off, 8, m->amo.operand, 0,
                             &old);
    }
}

static void do_get(struct gsh_engine_peer *peer, const struct gsh_message *m)
{
    struct gsh_proxy *proxy = peer->proxy;
    struct gsh_out *out =
        gsh_out_take_answer(peer, m, GSH_MESSAGE_DATA, m->bytes > GSH_REQUEST_INLINE_MAX);
    if (out != NULL && gsh_memory_out(proxy, out->data, proxy->heap_base + m->off, m->bytes)) {
        gsh_out_send(peer, out, out->data, m->bytes);
    }
}

static void do_iget(struct gsh_engine_peer *peer, const struct gsh_message *m)
{
    struct gsh_proxy *proxy = peer->proxy;
    struct gsh_out *out = gsh_out_take_answer(peer, m, GSH_MESSAGE_ELEMENTS, true);
    if (out == NULL ||
        !gsh_memory_gather(proxy, out->data, proxy->heap_base + m->off, m->strided.stride,
                           m->strided.elem_bytes, m->strided.nelems)) {
        return;
    }
    out->header.strided.nelems = m->strided.nelems;
    gsh_out_send(peer, out, out->data, m->strided.elem_bytes * m->strided.nelems);
}

/* ---- answers ---- */

static void take_value(const struct gsh_message *m, struct gsh_task *task)
{
    task->request.value = m->value;
    gsh_task_done(task);
}

static void take_data(struct gsh_engine_peer *peer, const struct gsh_outstanding *asked,
                      const void *data, size_t bytes)
{
    struct gsh_task *task = asked->task;
    struct gsh_request *request = &task->request;
    if (request->op == GSH_FAR_G) {
        memcpy(&request->value, data, bytes < 8 ? bytes : 8);
        gsh_task_take_part(peer, task, request->word_bytes);
    } else if (gsh_memory_in(peer->proxy, (uint8_t *)request->local + asked->at, data, bytes)) {
        gsh_task_take_part(peer, task, request->bytes);
    }
}

static void take_elements(struct gsh_engine_peer *peer, const struct gsh_outstanding *asked,
                          const void *data)
{
    struct gsh_task *task = asked->task;
    const struct gsh_request *request = &task->request;
    uint64_t size = request->elem_bytes;
    uint8_t *dest = (uint8_t *)request->local + asked->at * (uint64_t)request->local_stride * size;
    if (gsh_memory_scatter(peer->proxy, dest, request->local_stride, data, size, asked->n)) {
        gsh_task_take_part(peer, task, request->nelems);
    }
}

/* Whether it brings what was asked for. */
static bool is_as_asked(const struct gsh_message *m, const struct gsh_outstanding *asked,
                        size_t bytes)
{
    switch (m->kind) {
    case GSH_MESSAGE_VALUE:
        return true;
    case GSH_MESSAGE_DATA:
        return bytes == asked->n;
    case GSH_MESSAGE_STAGED_DATA:
        return m->staged.bytes == asked->n && asked->task->request.op != GSH_FAR_G;
    default:
        return bytes == asked->n * asked->task->request.elem_bytes;
    }
}

/* ---- messages between runtimes ---- */

static void take_runtime_message(struct gsh_engine_peer *peer, const struct gsh_message *m,
                                 const void *data, size_t bytes)
{
    struct gsh_proxy *proxy = peer->proxy;
    peer->mailbox_bytes += gsh_mailbox_cost(bytes);
    if (peer->mailbox_bytes > GSH_RUNTIME_MESSAGE_MAX) {
        gsh_engine_refuse(proxy, peer->pe, "a message",
                          "too many of its messages wait to be received");
    } else if (gsh_mailbox_put(&proxy->mailbox, peer->pe, m->tag, data, bytes) != GSH_OK) {
        gsh_engine_fail(proxy, peer->pe, GSH_ERR_NOMEM, "a message", gsh_last_error());
    }
}

/* ---- arrival ---- */

/* Whether copy streams carry it out, if there are copy streams. */
static bool is_for_copy_streams(const struct gsh_message *m, const struct gsh_outstanding *asked)
{
    switch (m->kind) {
    case GSH_MESSAGE_ACK:
    case GSH_MESSAGE_RUNTIME:
    case GSH_MESSAGE_VALUE:
        return false;
    case GSH_MESSAGE_DATA:
        return asked->task->request.op != GSH_FAR_G;
    default:
        return m->kind < GSH_MESSAGE_KINDS;
    }
}

static void stage(struct gsh_engine_peer *peer, const struct gsh_message *m,
                  const struct gsh_outstanding *asked, const void *data, size_t bytes)
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
        gsh_stage_take(peer, m, asked, data, bytes);
    }
}

static void dispatch(struct gsh_engine_peer *peer, const struct gsh_message *m,
                     const struct gsh_outstanding *asked, const void *data, size_t bytes)
{
    struct gsh_proxy *proxy = peer->proxy;
    switch (m->kind) {
    case GSH_MESSAGE_ACK:
        break;
    case GSH_MESSAGE_RUNTIME:
        take_runtime_message(peer, m, data, bytes);
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
        take_value(m, asked->task);
        break;
    case GSH_MESSAGE_DATA:
        take_data(peer, asked, data, bytes);
        break;
    case GSH_MESSAGE_ELEMENTS:
        take_elements(peer, asked, data);
        break;
    default:
        gsh_engine_refuse(proxy, peer->pe, "a message", "it is of no known kind");
    }
}

static void carry_out(struct gsh_engine_peer *peer, const struct gsh_message *m, const void *data,
                      size_t bytes)
{
    struct gsh_proxy *proxy = peer->proxy;
    struct gsh_outstanding asked = {0};
    unsigned answers = gsh_message_answers(m);
    bool is_asked =
        answers == 0 || gsh_outstanding_take(&proxy->asked, peer->pe, answers, m->token, &asked);
    if (!is_asked || (answers != 0 && !is_as_asked(m, &asked, bytes))) {
        if (is_asked) {
            gsh_task_end_unanswered(peer, &asked);
        }
        gsh_engine_refuse(proxy, peer->pe, "a message", "it answers what was not asked for");
        return;
    }
    /* No acknowledgement is sent until the message has been carried out; the answer then carries
     * it. */
    if (proxy->stage.ops != NULL && is_for_copy_streams(m, &asked)) {
        stage(peer, m, &asked, data, bytes);
        return;
    }
    if (gsh_message_changes_memory(m->kind)) {
        gsh_out_count_to_ack(peer);
    }
    dispatch(peer, m, &asked, data, bytes);
}

void gsh_inbox_arrived(void *context, int from_pe, const void *header, size_t header_bytes,
                       const void *data, size_t bytes)
{
    struct gsh_proxy *proxy = context;
    struct gsh_message m;
    struct gsh_engine_peer *peer = gsh_engine_peer(proxy, from_pe, GSH_CONTEXT_DEFAULT);
    if (peer == NULL || proxy->losses[from_pe] != GSH_LOSS_NONE) {
        return;
    }
    if (header_bytes != sizeof(m)) {
        gsh_engine_refuse(proxy, from_pe, "a message", "its header has another length");
        return;
    }
    memcpy(&m, header, sizeof(m)); /* transports do not promise alignment */
    if (bytes == 0 && (m.kind == GSH_MESSAGE_PUT || m.kind == GSH_MESSAGE_PUT_SIGNAL)) {
        m.off = 0; /* no bytes may be put anywhere */
    }
    const char *fault = gsh_message_fault(peer, &m, bytes);
    if (fault != NULL) {
        gsh_engine_refuse(proxy, from_pe, "a message", fault);
        return;
    }
    peer->acked += m.acks;
    if (m.acks > 0) {
        gsh_engine_peer_settle_all(peer);
    }
    if (m.kind == GSH_MESSAGE_NOTICE && proxy->options.notice != NULL) {
        proxy->options.notice(proxy->options.context, from_pe, data, bytes);
    }
    if (m.kind != GSH_MESSAGE_NOTICE && proxy->failure == GSH_OK) {
        carry_out(peer, &m, data, bytes);
    }
}
