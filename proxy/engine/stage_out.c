/* SPDX-License-Identifier: Apache-2.0
 * See stage_out.h. */
#include "proxy/engine/stage_out.h"

#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/util.h"
#include "proxy/engine/failure.h"
#include "proxy/engine/loss.h"
#include "proxy/engine/observe.h"
#include "proxy/engine/outbox.h"
#include "proxy/engine/peer.h"
#include "proxy/engine/stage_jobs.h"
#include "proxy/engine/task.h"

#define NO_SLOT UINT64_MAX

static struct gsh_stage_out *local_of(struct gsh_link *link)
{
    return GSH_HOLDER(struct gsh_stage_out, local, link);
}

static struct gsh_stage_out *remote_of(struct gsh_link *link)
{
    return GSH_HOLDER(struct gsh_stage_out, remote, link);
}

/* ---- the end ---- */

static void free_buffer(struct gsh_stage_out *out)
{
    struct gsh_stage *stage = &out->peer->proxy->stage;
    if (out->buffer == NULL) {
        return;
    }
    if (out->is_chunk) {
        stage->free_chunks[stage->n_free_chunks++] = out->buffer;
        out->peer->stage.n_buffers--;
    } else {
        stage->free_outs[stage->n_free_outs++] = out->buffer;
    }
    out->buffer = NULL;
}

/* out is gone. */
static void finish(struct gsh_stage_out *out)
{
    struct gsh_engine_peer *peer = out->peer;
    free_buffer(out);
    if (gsh_message_changes_memory(out->header.kind)) {
        peer->stage.n_puts--;
    } else {
        peer->stage.n_answers--;
    }
    gsh_link_remove(&out->order);
    gsh_link_remove(&out->local);
    gsh_link_remove(&out->remote);
    gsh_pool_give(&peer->proxy->stage_outs, out);
}

/* Sends its message, with the data unless they are in a slot. */
static void send(struct gsh_stage_out *out)
{
    struct gsh_engine_peer *peer = out->peer;
    struct gsh_proxy *proxy = peer->proxy;
    uint64_t bytes = out->is_chunk ? 0 : out->bytes;
    struct gsh_out *message = gsh_out_take(proxy, bytes > GSH_REQUEST_INLINE_MAX, true);
    if (message == NULL) {
        return;
    }
    message->header = out->header;
    if (bytes > 0) {
        memcpy(message->data, out->buffer, bytes);
    }
    finish(out);
    gsh_out_send(peer, message, message->data, bytes);
}

/* The task is done with its source when nothing of it is left to copy. */
static void source_read(struct gsh_task *task)
{
    uint64_t total = task->request.op == GSH_FAR_IPUT ? task->request.nelems : task->request.bytes;
    if (--task->outstanding == 0 && task->at == total) {
        gsh_task_done(task);
    }
}

/* Its peer is lost, and nobody uses its buffer any more. */
static void drop(struct gsh_stage_out *out)
{
    if (out->task != NULL) {
        source_read(out->task);
    }
    finish(out);
}

/* ---- chunks: to the peer's slot ---- */

static void put_done(struct gsh_op *op, enum gsh_result r)
{
    struct gsh_stage_out *out = GSH_HOLDER(struct gsh_stage_out, op, op);
    struct gsh_proxy *proxy = out->peer->proxy;
    proxy->n_pending--;
    if (out->issued_ns != 0) {
        gsh_observe_message(proxy, "a staged put", out->peer->pe, out->bytes, out->issued_ns);
    }
    out->is_being_put = false;
    if (gsh_loss_is_gone(proxy, out->peer->pe)) {
        drop(out);
    } else if (r != GSH_OK && !gsh_loss_outlives(proxy, out->peer->pe, r)) {
        gsh_engine_fail(proxy, out->peer->pe, r, "a staged transfer", NULL);
    }
}

static void assign_slot(struct gsh_stage_out *out)
{
    struct gsh_engine_peer *peer = out->peer;
    struct gsh_proxy *proxy = peer->proxy;
    struct gsh_transport *t = proxy->transport;
    bool is_pending = false;
    out->op.done = put_done;
    out->issued_ns = gsh_observe_now(proxy);
    out->is_being_put = true;
    out->needed = ++peer->puts_posted;
    gsh_link_append(&peer->stage.placed, &out->remote);
    if (gsh_link_is_alone(&peer->stage.flushing)) {
        gsh_link_append(&proxy->stage.flushing, &peer->stage.flushing);
    }
    proxy->n_pending++; /* first, since the call may call done */
    enum gsh_result r = t->ops->put(t, peer->pe, peer->ctx, GSH_STAGE_OFF + out->slot, out->buffer,
                                    out->bytes, &out->op, &is_pending);
    if (r != GSH_OK || !is_pending) {
        put_done(&out->op, r);
    }
}

static void want_slot(struct gsh_stage_out *out)
{
    struct gsh_engine_peer *peer = out->peer;
    struct gsh_out *message = gsh_out_take(peer->proxy, false, true);
    if (message == NULL) {
        return;
    }
    message->header = (struct gsh_message){.kind = GSH_MESSAGE_WANT, .bytes = out->bytes};
    gsh_link_append(&peer->stage.asked, &out->remote);
    gsh_out_send(peer, message, NULL, 0);
}

/* ---- copies ---- */

static void copied(struct gsh_stage_out *out)
{
    out->is_copying = false;
    out->is_copied = true;
    if (gsh_loss_is_gone(out->peer->proxy, out->peer->pe)) {
        drop(out);
        return;
    }
    if (out->task != NULL) {
        source_read(out->task);
    }
    out->task = NULL;
    if (!out->is_chunk || out->buffer == NULL) { /* small, or straight into the slot */
        send(out);
    } else if (out->slot != NO_SLOT) {
        assign_slot(out);
    }
}

static void start_copy(struct gsh_stage_out *out, uint8_t *to)
{
    struct gsh_proxy *proxy = out->peer->proxy;
    struct gsh_stage *stage = &proxy->stage;
    const struct gsh_message *m = &out->header;
    enum gsh_result r = GSH_OK;
    if (out->source_stride != 0) {
        r = stage->ops->copy_strided(stage->copy_streams, GSH_COPY_STREAM_OUT, to, 1, out->source,
                                     out->source_stride, out->bytes / m->strided.nelems,
                                     m->strided.nelems);
    } else if (out->bytes > 0) {
        r = stage->ops->copy(stage->copy_streams, GSH_COPY_STREAM_OUT, to, out->source, out->bytes);
    }
    if (out->bytes > 0) {
        (void)gsh_stage_started(proxy, GSH_COPY_STREAM_OUT,
                                r); /* a failure has stopped the proxy */
    }
    out->ticket = stage->n_started[GSH_COPY_STREAM_OUT];
    out->is_copying = true;
    gsh_link_append(&stage->copying, &out->local);
}

/* Takes a buffer, or waits for one; with the slots mapped, for a slot. */
static bool start(struct gsh_stage_out *out)
{
    struct gsh_stage_peer *peer = &out->peer->stage;
    struct gsh_stage *stage = &out->peer->proxy->stage;
    unsigned share = stage->n_chunks - stage->n_chunks / 4;
    if (!out->is_chunk) {
        if (stage->n_free_outs == 0) {
            return false;
        }
        out->buffer = stage->free_outs[--stage->n_free_outs];
    } else if (peer->slots_here == NULL) {
        if (stage->n_free_chunks == 0 || peer->n_buffers >= share) {
            return false;
        }
        out->buffer = stage->free_chunks[--stage->n_free_chunks];
        peer->n_buffers++;
    }
    gsh_link_remove(&out->local);
    if (out->is_chunk) {
        want_slot(out);
    }
    if (out->buffer != NULL) {
        start_copy(out, out->buffer);
    }
    return true;
}

/* A peer's first grant carries the key to its region. */
static bool learn_region(struct gsh_engine_peer *peer, const struct gsh_message *m, const void *key,
                         size_t key_bytes)
{
    struct gsh_proxy *proxy = peer->proxy;
    struct gsh_stage *stage = &proxy->stage;
    struct gsh_transport *t = proxy->transport;
    if (peer->stage.slots_bytes != 0 || m->at == 0 || m->at % 2 != 0) {
        gsh_engine_refuse(proxy, peer->pe, "a grant", "its region was known already");
        return false;
    }
    enum gsh_result r = t->ops->add_peer_region(t, peer->pe, GSH_STAGE_OFF, m->at, key, key_bytes);
    if (r != GSH_OK) {
        if (!gsh_loss_outlives(proxy, peer->pe, r)) {
            gsh_engine_fail(proxy, peer->pe, r, "the set-up of staging", NULL);
        }
        return false;
    }
    peer->stage.slots_bytes = m->at / 2; /* its buffers come after its slots */
    void *here = t->ops->map_peer_region != NULL
                     ? t->ops->map_peer_region(t, peer->pe, GSH_STAGE_OFF)
                     : NULL;
    if (here != NULL && stage->ops->pin(stage->copy_streams, here, m->at) == GSH_OK) {
        peer->stage.slots_here = here; /* otherwise by puts */
    }
    gsh_log(GSH_LOG_INFO, GSH_LOG_PROXY, "staging to PE %d: %s", peer->pe,
            peer->stage.slots_here != NULL ? "straight into its buffers" : "by puts");
    return true;
}

void gsh_stage_granted(struct gsh_engine_peer *peer, const struct gsh_message *m, const void *key,
                       size_t key_bytes)
{
    struct gsh_proxy *proxy = peer->proxy;
    struct gsh_stage_peer *stage = &peer->stage;
    if (gsh_link_is_alone(&stage->asked)) {
        gsh_engine_refuse(proxy, peer->pe, "a grant", "nothing was asked for");
        return;
    }
    if (key_bytes > 0 && !learn_region(peer, m, key, key_bytes)) {
        return;
    }
    struct gsh_stage_out *out = remote_of(stage->asked.next);
    if (out->bytes > stage->slots_bytes || m->staged.slot > stage->slots_bytes - out->bytes) {
        gsh_engine_refuse(proxy, peer->pe, "a grant", "its slot is none of its own");
        return;
    }
    gsh_link_remove(&out->remote);
    out->slot = m->staged.slot;
    out->header.staged.slot = m->staged.slot;
    out->header.staged.bytes = out->bytes;
    if (out->buffer == NULL) {
        start_copy(out, stage->slots_here + out->slot);
    } else if (out->is_copied) {
        assign_slot(out);
    }
}

/* ---- beginning ---- */

/* The caller fills the remaining fields before `begin`. NULL: no memory, reported. */
static struct gsh_stage_out *make(struct gsh_engine_peer *peer, const struct gsh_message *header,
                                  const void *source, uint64_t bytes)
{
    struct gsh_proxy *proxy = peer->proxy;
    struct gsh_stage_out *out = gsh_pool_take(&proxy->stage_outs);
    if (out == NULL) {
        gsh_engine_fail(proxy, peer->pe, GSH_ERR_NOMEM, "a staged transfer", "no memory");
        return NULL;
    }
    *out = (struct gsh_stage_out){
        .peer = peer, .header = *header, .source = source, .bytes = bytes, .slot = NO_SLOT};
    gsh_link_init(&out->order);
    gsh_link_init(&out->local);
    gsh_link_init(&out->remote);
    return out;
}

static void begin(struct gsh_stage_out *out)
{
    struct gsh_stage *stage = &out->peer->proxy->stage;
    struct gsh_link *queued = out->is_chunk ? &stage->queued_chunks : &stage->queued_small;
    bool is_next =
        gsh_link_is_alone(queued) || (out->is_chunk && out->peer->stage.slots_here != NULL);
    if (!is_next || !start(out)) {
        gsh_link_append(queued, &out->local);
    }
}

static void begin_put(struct gsh_stage_out *out, struct gsh_task *task)
{
    struct gsh_stage_peer *peer = &out->peer->stage;
    out->task = task;
    task->outstanding++;
    out->number = ++peer->n_begun;
    peer->n_puts++;
    gsh_link_append(&peer->puts, &out->order);
    begin(out);
}

static bool may_begin(const struct gsh_engine_peer *peer)
{
    return peer->stage.n_puts < GSH_STAGE_OUTS_MAX && gsh_engine_peer_may_send(peer);
}

uint64_t gsh_stage_piece(const struct gsh_proxy *proxy, uint64_t total, uint64_t left)
{
    const struct gsh_stage *stage = &proxy->stage;
    if (!stage->has_chunks || left <= proxy->data_max) {
        return gsh_min_u64(left, proxy->data_max);
    }
    uint64_t piece = gsh_align_up(gsh_max_u64(total / 4, GSH_STAGE_CHUNK_LEAST), 4096);
    return gsh_min_u64(left, gsh_min_u64(piece, stage->chunk_bytes));
}

bool gsh_stage_put(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    const struct gsh_request *request = &task->request;
    struct gsh_proxy *proxy = peer->proxy;
    while (task->at < request->bytes) {
        if (!may_begin(peer)) {
            return false;
        }
        uint64_t bytes = gsh_stage_piece(proxy, request->bytes, request->bytes - task->at);
        bool is_chunk = bytes > proxy->data_max;
        struct gsh_message header = {.kind = is_chunk ? GSH_MESSAGE_STAGED_PUT : GSH_MESSAGE_PUT,
                                     .off = request->remote_off + task->at};
        struct gsh_stage_out *out =
            make(peer, &header, (const uint8_t *)request->local + task->at, bytes);
        if (out == NULL) {
            return true;
        }
        out->is_chunk = is_chunk;
        task->at += bytes;
        begin_put(out, task);
    }
    return true;
}

bool gsh_stage_put_signal(struct gsh_engine_peer *peer, struct gsh_task *task, int amo_op)
{
    const struct gsh_request *request = &task->request;
    if (!may_begin(peer)) {
        return false;
    }
    struct gsh_message header = {
        .kind = GSH_MESSAGE_PUT_SIGNAL, .amo_op = (uint8_t)amo_op, .off = request->remote_off};
    header.amo.off = request->sig_off;
    header.amo.operand = request->signal;
    struct gsh_stage_out *out = make(peer, &header, request->local, request->bytes);
    if (out != NULL) {
        task->at = request->bytes;
        begin_put(out, task);
    }
    return true;
}

bool gsh_stage_iput(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    const struct gsh_request *request = &task->request;
    uint64_t size = request->elem_bytes;
    int64_t stride = request->local_stride;
    while (task->at < request->nelems) {
        uint64_t n = gsh_min_u64(request->nelems - task->at, peer->proxy->data_max / size);
        if (!may_begin(peer)) {
            return false;
        }
        struct gsh_message header = {.kind = GSH_MESSAGE_IPUT,
                                     .off = request->remote_off +
                                            task->at * (uint64_t)request->remote_stride * size};
        header.strided.elem_bytes = size;
        header.strided.nelems = n;
        header.strided.stride = request->remote_stride;
        struct gsh_stage_out *out =
            make(peer, &header,
                 (const uint8_t *)request->local + task->at * (uint64_t)stride * size, n * size);
        if (out == NULL) {
            return true;
        }
        out->source_stride = stride == 1 ? 0 : stride;
        task->at += n;
        begin_put(out, task);
    }
    return true;
}

void gsh_stage_answer(struct gsh_engine_peer *peer, const struct gsh_message *m)
{
    struct gsh_proxy *proxy = peer->proxy;
    bool is_strided = m->kind == GSH_MESSAGE_IGET;
    uint64_t bytes = is_strided ? m->strided.elem_bytes * m->strided.nelems : m->bytes;
    struct gsh_message header = {.kind = is_strided ? GSH_MESSAGE_ELEMENTS : GSH_MESSAGE_DATA,
                                 .token = m->token};
    if (peer->stage.n_answers >= GSH_GETS_MAX) {
        gsh_engine_refuse(proxy, peer->pe, "a message", "it sends too many at once");
        return;
    }
    struct gsh_stage_out *out = make(peer, &header, proxy->heap_base + m->off, bytes);
    if (out == NULL) {
        return;
    }
    peer->stage.n_answers++;
    if (is_strided) {
        out->header.strided.nelems = m->strided.nelems;
        out->source_stride = m->strided.stride == 1 ? 0 : m->strided.stride;
    } else if (bytes > proxy->data_max) {
        out->header.kind = GSH_MESSAGE_STAGED_DATA;
        out->is_chunk = true;
    }
    if (bytes > (out->is_chunk ? proxy->stage.chunk_bytes : proxy->data_max)) {
        gsh_engine_fail(proxy, peer->pe, GSH_ERR_ARG, "a get", GSH_STAGE_UNEQUAL);
    } else {
        begin(out);
    }
}

/* ---- losses ---- */

static void drop_queued(struct gsh_link *queued, const struct gsh_engine_peer *peer)
{
    struct gsh_link *next;
    for (struct gsh_link *at = queued->next; at != queued; at = next) {
        next = at->next;
        if (local_of(at)->peer == peer) {
            drop(local_of(at));
        }
    }
}

/* What is being copied, or put, is left to the end of that. */
static void drop_waiting(struct gsh_link *list)
{
    struct gsh_link *next;
    for (struct gsh_link *at = list->next; at != list; at = next) {
        struct gsh_stage_out *out = remote_of(at);
        next = at->next;
        gsh_link_remove(&out->remote);
        if (!out->is_copying && !out->is_being_put) {
            drop(out);
        }
    }
}

void gsh_stage_drop_outs(struct gsh_engine_peer *peer)
{
    struct gsh_stage *stage = &peer->proxy->stage;
    drop_queued(&stage->queued_small, peer);
    drop_queued(&stage->queued_chunks, peer);
    drop_waiting(&peer->stage.asked);
    drop_waiting(&peer->stage.placed);
    gsh_link_remove(&peer->stage.flushing);
}

/* ---- progress ---- */

static unsigned end_copies(struct gsh_proxy *proxy)
{
    struct gsh_stage *stage = &proxy->stage;
    unsigned n = 0;
    while (!gsh_link_is_alone(&stage->copying) && proxy->failure == GSH_OK) {
        struct gsh_stage_out *out = local_of(stage->copying.next);
        if (out->ticket > stage->n_ended[GSH_COPY_STREAM_OUT]) {
            break;
        }
        gsh_link_remove(&out->local);
        copied(out);
        n++;
    }
    return n;
}

/* In order, skipping peers that have their share. */
static unsigned start_queued(struct gsh_proxy *proxy, struct gsh_link *queued,
                             const unsigned *n_free)
{
    struct gsh_link *next;
    unsigned n = 0;
    for (struct gsh_link *at = queued->next; at != queued && *n_free > 0; at = next) {
        next = at->next;
        if (proxy->failure == GSH_OK) {
            n += start(local_of(at));
        }
    }
    return n;
}

static unsigned send_placed(struct gsh_engine_peer *peer)
{
    struct gsh_link *placed = &peer->stage.placed;
    unsigned n = 0;
    while (!gsh_link_is_alone(placed) && peer->proxy->failure == GSH_OK) {
        struct gsh_stage_out *out = remote_of(placed->next);
        if (out->is_being_put) {
            return n;
        }
        if (out->needed > peer->puts_flushed && !gsh_engine_peer_flush(peer)) {
            return n;
        }
        if (out->needed > peer->puts_flushed) {
            continue; /* it has failed */
        }
        gsh_link_remove(&out->remote);
        send(out);
        n++;
    }
    gsh_link_remove(&peer->stage.flushing);
    return n;
}

unsigned gsh_stage_progress_outs(struct gsh_proxy *proxy)
{
    struct gsh_stage *stage = &proxy->stage;
    struct gsh_link *next;
    unsigned n = end_copies(proxy);
    for (struct gsh_link *at = stage->flushing.next; at != &stage->flushing; at = next) {
        next = at->next;
        n += send_placed(GSH_HOLDER(struct gsh_engine_peer, stage.flushing, at));
    }
    n += start_queued(proxy, &stage->queued_small, &stage->n_free_outs);
    return n + start_queued(proxy, &stage->queued_chunks, &stage->n_free_chunks);
}
