/* SPDX-License-Identifier: Apache-2.0
 * See order.h. issue.c and execute.c then carry tasks out. */
#include "proxy/engine/order.h"

#include <stdio.h>
#include "proxy/engine/execute.h"
#include "proxy/engine/failure.h"
#include "proxy/engine/issue.h"
#include "proxy/engine/loss.h"
#include "proxy/engine/observe.h"
#include "proxy/engine/peer.h"
#include "proxy/engine/stage_out.h"
#include "proxy/engine/task.h"

static struct gsh_task *task_of(struct gsh_request *request)
{
    return GSH_HOLDER(struct gsh_task, request, request);
}

/* ---- what waits ---- */

static void mark_done(struct gsh_task *mark)
{
    struct gsh_task *quiet = mark->quiet;
    gsh_pool_give(&mark->proxy->tasks, mark);
    if (--quiet->outstanding == 0) {
        gsh_task_done(quiet);
    }
}

/* False: it stays where it is. True: it has moved on, out of its queue. */
static bool leave_flush_wait(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    if (task->needed > peer->puts_flushed ||
        !gsh_stage_is_sent(&peer->main->stage, task->needed_staged)) {
        return false;
    }
    if (task->request.op == GSH_TASK_SIGNAL) {
        return gsh_task_issue(peer, task);
    }
    task->needed = gsh_engine_peer_newest(peer);
    gsh_queue_push(&peer->ack_wait, &task->request);
    return true;
}

static bool may_pass_fence(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    if (task->needs_fence) {
        /* flush_wait: signals whose puts are flushed, but which the transport has not taken yet. */
        if (peer->puts_flushed != peer->puts_posted || peer->flush_wait.head != NULL ||
            !gsh_stage_is_sent(&peer->main->stage, peer->newest_staged)) {
            return false;
        }
        peer->native_after = gsh_engine_peer_newest(peer);
        task->needs_fence = false;
    }
    return peer->main->acked >= peer->native_after || !gsh_task_is_native(task);
}

static bool leave_queue(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    if (!may_pass_fence(peer, task)) {
        return false;
    }
    if (task->request.op != GSH_TASK_MARK) {
        return gsh_task_issue(peer, task);
    }
    task->needed = peer->puts_posted;
    task->needed_staged = peer->newest_staged;
    gsh_queue_push(&peer->flush_wait, &task->request);
    return true;
}

/* Lets tasks move on from the queue's head until one cannot. */
static void drain(struct gsh_engine_peer *peer, struct gsh_queue *queue,
                  bool (*leave)(struct gsh_engine_peer *peer, struct gsh_task *task))
{
    while (queue->head != NULL && peer->proxy->failure == GSH_OK) {
        /* Removed first: once moved on it is in another queue, or no longer in our memory. */
        struct gsh_request *request = gsh_queue_pop(queue);
        if (!leave(peer, task_of(request))) {
            request->next = queue->head;
            if (queue->head == NULL) {
                queue->tail = request;
            }
            queue->head = request;
            return;
        }
    }
}

static bool leave_ack_wait(struct gsh_engine_peer *peer, struct gsh_task *mark)
{
    if (mark->needed > peer->main->acked) {
        return false;
    }
    mark_done(mark);
    return true;
}

static bool wants_flush(const struct gsh_engine_peer *peer)
{
    if (peer->flush_wait.head != NULL) {
        return task_of(peer->flush_wait.head)->needed > peer->puts_flushed;
    }
    return peer->queue.head != NULL && task_of(peer->queue.head)->needs_fence &&
           peer->puts_flushed != peer->puts_posted;
}

static void pump(struct gsh_engine_peer *peer)
{
    do {
        drain(peer, &peer->flush_wait, leave_flush_wait);
        drain(peer, &peer->queue, leave_queue);
        drain(peer, &peer->flush_wait, leave_flush_wait); /* marks that the queue released */
        drain(peer, &peer->ack_wait, leave_ack_wait);
    } while (wants_flush(peer) && gsh_engine_peer_flush(peer));
    if (gsh_engine_peer_is_waiting(peer)) {
        if (gsh_link_is_alone(&peer->waiting)) {
            gsh_link_append(&peer->proxy->waiting, &peer->waiting);
        }
        return;
    }
    gsh_link_remove(&peer->waiting);
    gsh_engine_peer_settle(peer);
}

/* ---- losses ---- */

static void drop(struct gsh_task *task)
{
    if (task->request.op == GSH_TASK_MARK) {
        mark_done(task);
    } else if (task->request.op == GSH_TASK_SIGNAL) {
        gsh_pool_give(&task->proxy->tasks, task);
    } else if (task->outstanding == 0) {
        gsh_task_end(task, GSH_ERR_PEER);
    } else {
        task->at = gsh_task_total(task); /* the parts under way end it */
    }
}

static void drop_all(struct gsh_queue *queue)
{
    while (queue->head != NULL) {
        drop(task_of(gsh_queue_pop(queue)));
    }
}

void gsh_order_drop(struct gsh_engine_peer *peer)
{
    drop_all(&peer->queue);
    drop_all(&peer->flush_wait);
    drop_all(&peer->ack_wait);
    gsh_link_remove(&peer->waiting);
}

/* ---- submission ---- */

static void enqueue(struct gsh_engine_peer *peer, struct gsh_task *task)
{
    bool is_mark = task->request.op == GSH_TASK_MARK;
    task->needs_fence = peer->needs_fence && !is_mark;
    if (task->needs_fence) {
        peer->needs_fence = false;
    }
    /* The usual case for a put: nothing is queued before it, and nothing remains after it. */
    if (peer->queue.head != NULL || !leave_queue(peer, task)) {
        gsh_queue_push(&peer->queue, &task->request);
    }
    /* Peers where something waits are pumped each round; a mark starts its flush now. */
    if (gsh_engine_peer_is_waiting(peer) && (is_mark || gsh_link_is_alone(&peer->waiting))) {
        pump(peer);
    }
}

/* Whether a FENCE or QUIET covers requests to the peer: those of its context and its source. A host
 * thread's also covers kernel requests already taken from the rings. */
static bool is_about(const struct gsh_task *task, const struct gsh_engine_peer *peer)
{
    uint64_t sources = task->source == GSH_SOURCE_HOST ? UINT64_MAX : UINT64_C(1) << task->source;
    return peer->ctx == task->request.ctx && (peer->sources & sources) != 0;
}

static void submit_fence(struct gsh_proxy *proxy, struct gsh_task *task)
{
    for (struct gsh_link *at = proxy->active.next; at != &proxy->active; at = at->next) {
        struct gsh_engine_peer *peer = GSH_HOLDER(struct gsh_engine_peer, active, at);
        if (is_about(task, peer)) {
            peer->needs_fence = true;
        }
    }
    gsh_task_done(task);
}

static void submit_mark(struct gsh_engine_peer *peer, struct gsh_task *quiet)
{
    struct gsh_proxy *proxy = peer->proxy;
    struct gsh_task *mark = gsh_pool_take(&proxy->tasks);
    if (mark == NULL) {
        gsh_task_fail(quiet, GSH_ERR_NOMEM, NULL);
        return;
    }
    mark->request.op = GSH_TASK_MARK;
    mark->request.pe = peer->pe;
    mark->proxy = proxy;
    mark->quiet = quiet;
    quiet->outstanding++;
    enqueue(peer, mark);
}

static void submit_quiet(struct gsh_proxy *proxy, struct gsh_task *quiet)
{
    struct gsh_link *next;
    quiet->outstanding = 1; /* its own, so it is done only after all marks are made */
    for (struct gsh_link *at = proxy->active.next; at != &proxy->active; at = next) {
        struct gsh_engine_peer *peer = GSH_HOLDER(struct gsh_engine_peer, active, at);
        next = at->next;
        if (is_about(quiet, peer)) {
            submit_mark(peer, quiet);
        }
    }
    if (--quiet->outstanding == 0) {
        gsh_task_done(quiet);
    }
}

/* How many bytes the request spans at the peer, without a signal. */
static uint64_t span_of(const struct gsh_request *q)
{
    if (q->op == GSH_FAR_AMO || q->op == GSH_FAR_G) {
        return q->word_bytes;
    }
    if (q->op != GSH_FAR_IPUT && q->op != GSH_FAR_IGET) {
        return q->bytes;
    }
    return q->nelems > 0 ? ((q->nelems - 1) * (uint64_t)q->remote_stride + 1) * q->elem_bytes : 0;
}

/* False: it has failed. */
static bool check_symmetric(struct gsh_task *task)
{
    const struct gsh_request *request = &task->request;
    const struct gsh_proxy *proxy = task->proxy;
    char reason[80];
    if (!gsh_proxy_is_in_heap(proxy, request->remote_off, span_of(request))) {
        gsh_task_fail(task, GSH_ERR_ARG, "not symmetric: outside the heap");
        return false;
    }
    if (request->op != GSH_FAR_PUT_SIGNAL || gsh_proxy_is_in_heap(proxy, request->sig_off, 8)) {
        return true;
    }
    snprintf(reason, sizeof(reason), "its signal at %p is not symmetric: outside the heap",
             (void *)(proxy->heap_base + request->sig_off));
    gsh_task_fail(task, GSH_ERR_ARG, reason);
    return false;
}

void gsh_order_submit(struct gsh_proxy *proxy, struct gsh_task *task)
{
    struct gsh_request *request = &task->request;
    task->at = 0;
    task->outstanding = 0;
    task->begun_ns = gsh_observe_now(proxy);
    task->since_ns = gsh_observe_coarse();
    if (request->op == GSH_FAR_FENCE) {
        submit_fence(proxy, task);
        return;
    }
    if (request->op == GSH_FAR_QUIET) {
        submit_quiet(proxy, task);
        return;
    }
    if (request->pe < 0 || request->pe >= proxy->options.n_pes) {
        gsh_task_fail(task, GSH_ERR_ARG, "there is no such PE");
        return;
    }
    if (!check_symmetric(task)) {
        return;
    }
    request->value = 0;
    if (request->pe == proxy->options.my_pe) {
        gsh_task_execute(task);
        return;
    }
    if (gsh_loss_is_gone(proxy, request->pe)) {
        gsh_task_end(task, GSH_ERR_PEER);
        return;
    }
    struct gsh_engine_peer *peer = gsh_engine_peer(proxy, request->pe, request->ctx);
    if (peer == NULL) {
        return;
    }
    if (gsh_task_changes_memory(task)) {
        gsh_engine_peer_activate(peer, task->source);
    }
    enqueue(peer, task);
}

void gsh_order_pump(struct gsh_proxy *proxy)
{
    struct gsh_link *next;
    for (struct gsh_link *at = proxy->waiting.next; at != &proxy->waiting; at = next) {
        next = at->next;
        pump(GSH_HOLDER(struct gsh_engine_peer, waiting, at));
    }
}
