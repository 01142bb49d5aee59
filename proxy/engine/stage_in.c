/* SPDX-License-Identifier: Apache-2.0
 * See stage_in.h. */
#include "proxy/engine/stage_in.h"

#include <stdlib.h>
#include <string.h>
#include "proxy/engine/failure.h"
#include "proxy/engine/outbox.h"
#include "proxy/engine/stage_jobs.h"
#include "proxy/engine/stage_slots.h"
#include "proxy/engine/task.h"

static struct gsh_stage_in *in_of(struct gsh_link *link)
{
    return GSH_HOLDER(struct gsh_stage_in, link, link);
}

/* Whether its data are in a staging slot, not in the message. */
static bool uses_slot(const struct gsh_stage_in *in)
{
    return in->header.kind == GSH_MESSAGE_STAGED_PUT || in->header.kind == GSH_MESSAGE_STAGED_DATA;
}

/* The first word of a small buffer; the data come after it. */
static uint64_t *old_of(const struct gsh_stage_in *in)
{
    return (uint64_t *)(void *)(in->data - 64);
}

/* ---- starting ---- */

static bool copy(struct gsh_stage_in *in, void *dest)
{
    struct gsh_proxy *proxy = in->peer->proxy;
    struct gsh_stage *stage = &proxy->stage;
    return in->bytes == 0 ||
           gsh_stage_started(proxy, GSH_COPY_STREAM_IN,
                             stage->ops->copy(stage->copy_streams, GSH_COPY_STREAM_IN, dest,
                                              in->data, in->bytes));
}

static bool scatter(struct gsh_stage_in *in, void *dest, int64_t stride)
{
    struct gsh_proxy *proxy = in->peer->proxy;
    struct gsh_stage *stage = &proxy->stage;
    bool is_answer = in->task != NULL;
    uint64_t n = is_answer ? in->n : in->header.strided.nelems, size = in->bytes / n;
    if (stride == 1 || n == 1) {
        return copy(in, dest);
    }
    return gsh_stage_started(proxy, GSH_COPY_STREAM_IN,
                             stage->ops->copy_strided(stage->copy_streams, GSH_COPY_STREAM_IN, dest,
                                                      stride, in->data, 1, size, n));
}

static bool amo(struct gsh_stage_in *in, uint64_t off, size_t word_bytes)
{
    struct gsh_proxy *proxy = in->peer->proxy;
    struct gsh_stage *stage = &proxy->stage;
    const struct gsh_message *m = &in->header;
    return gsh_stage_started(proxy, GSH_COPY_STREAM_IN,
                             stage->ops->amo(stage->copy_streams, m->amo_op, proxy->heap_base + off,
                                             word_bytes, m->amo.operand, m->amo.cond, old_of(in)));
}

static uint8_t *elements_dest(const struct gsh_stage_in *in)
{
    const struct gsh_request *request = &in->task->request;
    return (uint8_t *)request->local +
           in->at * (uint64_t)request->local_stride * request->elem_bytes;
}

static bool start_jobs(struct gsh_stage_in *in)
{
    const struct gsh_message *m = &in->header;
    uint8_t *here = in->peer->proxy->heap_base + m->off;
    switch (m->kind) {
    case GSH_MESSAGE_PUT:
    case GSH_MESSAGE_STAGED_PUT:
        return copy(in, here);
    case GSH_MESSAGE_IPUT:
        return scatter(in, here, m->strided.stride);
    case GSH_MESSAGE_AMO:
        return amo(in, m->off, m->word_bytes);
    case GSH_MESSAGE_PUT_SIGNAL: /* in one copy stream, so the signal comes after the data */
        return copy(in, here) && amo(in, m->amo.off, 8);
    case GSH_MESSAGE_ELEMENTS:
        return scatter(in, elements_dest(in), in->task->request.local_stride);
    default:
        return copy(in, (uint8_t *)in->task->request.local + in->at);
    }
}

/* False: no small buffer is free. */
static bool find_memory(struct gsh_stage_in *in, const void *data)
{
    struct gsh_stage *stage = &in->peer->proxy->stage;
    if (uses_slot(in)) {
        in->data = stage->region + in->header.staged.slot;
        return true;
    }
    if (stage->n_free_ins == 0) {
        return false;
    }
    in->data = stage->free_ins[--stage->n_free_ins] + 64;
    if (in->bytes > 0) {
        memcpy(in->data, data, in->bytes);
    }
    return true;
}

static void start(struct gsh_stage_in *in)
{
    struct gsh_stage *stage = &in->peer->proxy->stage;
    gsh_link_append(&stage->started_ins, &in->link);
    (void)start_jobs(in); /* a failure has stopped the proxy */
    in->ticket = stage->n_started[GSH_COPY_STREAM_IN];
}

static unsigned start_queued(struct gsh_proxy *proxy)
{
    struct gsh_stage *stage = &proxy->stage;
    unsigned n = 0;
    while (!gsh_link_is_alone(&stage->queued_ins) && proxy->failure == GSH_OK) {
        struct gsh_stage_in *in = in_of(stage->queued_ins.next);
        uint8_t *kept = in->data;
        if (!find_memory(in, kept)) {
            break;
        }
        free(kept);
        gsh_link_remove(&in->link);
        start(in);
        n++;
    }
    return n;
}

/* Keeps the data until there is a small buffer. */
static bool queue(struct gsh_stage_in *in, const void *data)
{
    if (in->bytes > 0 && !uses_slot(in)) {
        in->data = malloc(in->bytes);
        if (in->data == NULL) {
            return false;
        }
        memcpy(in->data, data, in->bytes);
    }
    gsh_link_append(&in->peer->proxy->stage.queued_ins, &in->link);
    return true;
}

/* The slot was granted to the peer, which has now used it. */
static bool use_slot(struct gsh_engine_peer *peer, const struct gsh_message *m)
{
    struct gsh_stage *stage = &peer->proxy->stage;
    uint64_t end = stage->n_chunks * stage->chunk_bytes;
    if (!stage->has_chunks || m->staged.slot >= end || m->staged.slot % stage->chunk_bytes != 0 ||
        m->staged.bytes > stage->chunk_bytes) {
        return false;
    }
    int *slot_of = &stage->slot_of[m->staged.slot / stage->chunk_bytes];
    if (*slot_of != 1 + peer->pe) {
        return false;
    }
    *slot_of = 0;
    return true;
}

/* The message is not carried out; a question that it answers ends. */
static void refuse(struct gsh_stage_in *in, struct gsh_engine_peer *peer,
                   const struct gsh_outstanding *asked, const char *why)
{
    gsh_pool_give(&peer->proxy->stage_ins, in);
    if (asked->task != NULL) {
        gsh_task_end_unanswered(peer, asked);
    }
    gsh_engine_refuse(peer->proxy, peer->pe, "a message", why);
}

void gsh_stage_take(struct gsh_engine_peer *peer, const struct gsh_message *m,
                    const struct gsh_outstanding *asked, const void *data, size_t bytes)
{
    struct gsh_proxy *proxy = peer->proxy;
    struct gsh_stage_in *in = gsh_pool_take(&proxy->stage_ins);
    bool is_first = gsh_link_is_alone(&proxy->stage.queued_ins);
    if (in == NULL) {
        gsh_engine_fail(proxy, peer->pe, GSH_ERR_NOMEM, "a message", "no memory");
        return;
    }
    if (peer->stage.n_ins >= GSH_UNACKED_MAX + GSH_STAGE_OUTS_MAX + GSH_GETS_MAX) {
        refuse(in, peer, asked, "it sends too many at once");
        return;
    }
    peer->stage.n_ins++;
    *in = (struct gsh_stage_in){.peer = peer,
                                .header = *m,
                                .task = asked->task,
                                .at = asked->at,
                                .n = asked->n,
                                .bytes = bytes};
    gsh_link_init(&in->link);
    if (uses_slot(in)) {
        in->bytes = m->staged.bytes;
        if (!use_slot(peer, m)) {
            peer->stage.n_ins--;
            refuse(in, peer, asked, "its slot is none of ours");
            return;
        }
    }
    if (is_first && find_memory(in, data)) {
        start(in);
    } else if (!queue(in, data)) {
        gsh_engine_fail(proxy, peer->pe, GSH_ERR_NOMEM, "a message", "no memory");
    }
}

/* ---- ending ---- */

static void finish(struct gsh_stage_in *in)
{
    struct gsh_engine_peer *peer = in->peer;
    struct gsh_proxy *proxy = peer->proxy;
    struct gsh_stage *stage = &proxy->stage;
    const struct gsh_message *m = &in->header;
    if (gsh_message_changes_memory(m->kind)) {
        gsh_out_count_to_ack(peer);
    }
    if (m->kind == GSH_MESSAGE_AMO && m->is_fetch) {
        gsh_out_answer_value(peer, m, *old_of(in));
    }
    if (uses_slot(in)) {
        gsh_stage_free_slot(proxy, in->data);
    } else {
        stage->free_ins[stage->n_free_ins++] = in->data - 64;
    }
    if (m->kind == GSH_MESSAGE_DATA || m->kind == GSH_MESSAGE_STAGED_DATA) {
        gsh_task_take_part(peer, in->task, in->task->request.bytes);
    } else if (m->kind == GSH_MESSAGE_ELEMENTS) {
        gsh_task_take_part(peer, in->task, in->task->request.nelems);
    }
    peer->stage.n_ins--;
    gsh_pool_give(&proxy->stage_ins, in);
}

unsigned gsh_stage_progress_ins(struct gsh_proxy *proxy)
{
    struct gsh_stage *stage = &proxy->stage;
    unsigned n = 0;
    while (!gsh_link_is_alone(&stage->started_ins) && proxy->failure == GSH_OK) {
        struct gsh_stage_in *in = in_of(stage->started_ins.next);
        if (in->ticket > stage->n_ended[GSH_COPY_STREAM_IN]) {
            break;
        }
        gsh_link_remove(&in->link);
        finish(in);
        n++;
    }
    return n + start_queued(proxy);
}
