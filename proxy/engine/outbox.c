/* SPDX-License-Identifier: Apache-2.0
 * See outbox.h. */
#include "proxy/engine/outbox.h"

#include "proxy/engine/failure.h"
#include "proxy/engine/loss.h"
#include "proxy/engine/observe.h"
#include "proxy/engine/task.h"

void gsh_outbox_init(struct gsh_proxy *proxy)
{
    gsh_pool_init(&proxy->small_outs, sizeof(struct gsh_out) + GSH_REQUEST_INLINE_MAX, 64);
    gsh_pool_init(&proxy->large_outs, sizeof(struct gsh_out) + proxy->data_max, 8);
}

static struct gsh_pool *pool_of(struct gsh_proxy *proxy, bool is_large)
{
    return is_large ? &proxy->large_outs : &proxy->small_outs;
}

struct gsh_out *gsh_out_take(struct gsh_proxy *proxy, bool is_large, bool is_answer)
{
    if (!is_answer && proxy->n_outs >= GSH_OUTS_MAX) {
        return NULL;
    }
    struct gsh_out *out = gsh_pool_take(pool_of(proxy, is_large));
    if (out == NULL) {
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
        [GSH_MESSAGE_RUNTIME] = "a collective's message",
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
    if (out->begun_ns != 0) {
        gsh_observe_message(proxy, name_of(out->header.kind), out->pe, out->bytes, out->begun_ns);
    }
    if (r != GSH_OK && !gsh_loss_outlives(proxy, out->pe, r)) {
        gsh_engine_fail(proxy, out->pe, r, name_of(out->header.kind), NULL);
    } else if (task != NULL) {
        gsh_task_end(task, r);
    }
    gsh_pool_give(pool_of(proxy, out->is_large), out);
}

/* It is for a lost peer. */
static void drop(struct gsh_out *out)
{
    struct gsh_task *task = out->task;
    gsh_pool_give(pool_of(out->proxy, out->is_large), out);
    if (task != NULL) {
        gsh_task_end(task, GSH_ERR_PEER);
    }
}

void gsh_out_send(struct gsh_engine_peer *peer, struct gsh_out *out, const void *data, size_t bytes)
{
    struct gsh_proxy *proxy = out->proxy;
    struct gsh_transport *t = proxy->transport;
    struct gsh_engine_peer *main = peer->main;
    bool is_pending = false;
    if (gsh_loss_is_gone(proxy, peer->pe)) {
        drop(out);
        return;
    }
    out->pe = peer->pe;
    out->begun_ns = gsh_observe_now(proxy);
    out->bytes = bytes;
    out->op.done = out_done;
    out->header.acks = main->to_ack;
    main->to_ack = 0;
    gsh_link_remove(&main->acking);
    if (gsh_message_changes_memory(out->header.kind)) {
        peer->newest_sent = ++main->sent;
    }
    proxy->n_pending++; /* first, since the call may call done */
    proxy->n_outs++;
    enum gsh_result r = t->ops->send(t, peer->pe, &out->header, sizeof(out->header), data, bytes,
                                     &out->op, &is_pending);
    if (r != GSH_OK || !is_pending) {
        out_done(&out->op, r);
    }
}

void gsh_out_send_acks(struct gsh_proxy *proxy)
{
    while (!gsh_link_is_alone(&proxy->acking) && proxy->failure == GSH_OK) {
        struct gsh_engine_peer *peer =
            GSH_HOLDER(struct gsh_engine_peer, acking, proxy->acking.next);
        struct gsh_out *out = gsh_out_take(proxy, false, true);
        if (out == NULL) {
            return;
        }
        out->header = (struct gsh_message){.kind = GSH_MESSAGE_ACK};
        gsh_out_send(peer, out, NULL, 0);
    }
}

/* ---- answers and acknowledgements ---- */

struct gsh_out *gsh_out_take_answer(struct gsh_engine_peer *peer, const struct gsh_message *m,
                                    enum gsh_message_kind kind, bool is_large)
{
    struct gsh_out *out = gsh_out_take(peer->proxy, is_large, true);
    if (out != NULL) {
        out->header = (struct gsh_message){.kind = (uint8_t)kind, .token = m->token};
    }
    return out;
}

void gsh_out_answer_value(struct gsh_engine_peer *peer, const struct gsh_message *m, uint64_t old)
{
    struct gsh_out *out = gsh_out_take_answer(peer, m, GSH_MESSAGE_VALUE, false);
    if (out == NULL) {
        return;
    }
    out->header.value = old;
    gsh_out_send(peer, out, NULL, 0);
}

void gsh_out_count_to_ack(struct gsh_engine_peer *peer)
{
    if (!gsh_loss_is_gone(peer->proxy, peer->pe) && peer->to_ack++ == 0) {
        gsh_link_append(&peer->proxy->acking, &peer->acking);
    }
}
