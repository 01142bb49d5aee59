/* SPDX-License-Identifier: Apache-2.0
 * The calls of host threads: requests, and messages of the runtime. They act under the proxy's lock
 * and make rounds while they wait, so nothing is handed over to the proxy's thread. */
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "proxy/engine/failure.h"
#include "proxy/engine/issue.h"
#include "proxy/engine/observe.h"
#include "proxy/engine/order.h"
#include "proxy/engine/outbox.h"
#include "proxy/engine/peer.h"
#include "proxy/engine/rings.h"
#include "proxy/engine/round.h"
#include "proxy/engine/spin.h"
#include "proxy/engine/stage_jobs.h"
#include "proxy/engine/thread.h"

/* Calls that need no progress themselves make a round now and then. */
#define CALLS_PER_ROUND 16
/* How often a host thread's round polls the transport while nothing comes: a poll costs less than
 * the rest of a round. */
#define POLLS_PER_ROUND 8
/* Turns of a spin before a waiting host thread begins to sleep between them: milliseconds. */
#define SPIN_POLLS 20000u

/* ---- the lock, as host threads take it ---- */

/* The proxy's thread leaves the next rounds to this one. */
static void note_call(struct gsh_proxy *proxy)
{
    __atomic_store_n(&proxy->n_host_calls, proxy->n_host_calls + 1, __ATOMIC_RELAXED);
}

/* Release: a thread that sees the number also sees that the engine has the request. */
static void count_request(struct gsh_proxy *proxy, gsh_context ctx)
{
    gsh_store_release_u64(&proxy->n_requests[ctx], proxy->n_requests[ctx] + 1);
}

uint64_t gsh_proxy_n_requests(const struct gsh_proxy *proxy, gsh_context ctx)
{
    return gsh_load_acquire_u64(&proxy->n_requests[ctx]); /* pairs with count_request */
}

static void enter(struct gsh_proxy *proxy)
{
    gsh_lock_take(&proxy->lock);
    note_call(proxy);
}

/* A round in which nothing happens does not keep the proxy's thread awake. */
static unsigned make_round(struct gsh_proxy *proxy)
{
    unsigned n = gsh_engine_round(proxy, POLLS_PER_ROUND);
    if (n > 0) {
        note_call(proxy);
    }
    return n;
}

/* The proxy's thread must continue what this thread leaves undone. */
static void leave(struct gsh_proxy *proxy)
{
    bool is_busy = proxy->n_pending > 0 || !gsh_link_is_alone(&proxy->waiting) ||
                   gsh_stage_is_busy(&proxy->stage);
    gsh_lock_give(&proxy->lock);
    if (is_busy) {
        gsh_thread_wake(proxy);
    }
}

static void count_waiting(struct gsh_proxy *proxy, int change)
{
    __atomic_store_n(&proxy->n_waiting, proxy->n_waiting + (uint32_t)change, __ATOMIC_RELAXED);
}

/* Between enter and leave: makes a round, and lets others take the lock. */
static void wait_poll(struct gsh_proxy *proxy, unsigned *backoff)
{
    unsigned n = make_round(proxy);
    bool is_alone = proxy->n_waiting <= 1;
    unsigned after_spin = *backoff > SPIN_POLLS ? *backoff - SPIN_POLLS : 0;
    gsh_lock_give(&proxy->lock);
    if (n > 0 && is_alone) {
        *backoff = 0;
    } else if (after_spin == 0) {
        gsh_spin(backoff);
    } else {
        gsh_backoff(&after_spin);
        *backoff = after_spin + SPIN_POLLS;
    }
    gsh_lock_take(&proxy->lock);
}

static gsh_proxy_waiting *tell_waiting; /* atomic; the process's */

void gsh_proxy_tell_waits_by(gsh_proxy_waiting *waiting)
{
    __atomic_store_n(&tell_waiting, waiting, __ATOMIC_RELEASE);
}

/* The same for a request, while which its thread says that it waits. *since_ns: 0 at first. */
static void wait_poll_for(struct gsh_proxy *proxy, unsigned *backoff,
                          const struct gsh_request *request, uint64_t *since_ns)
{
    const bool is_everywhere = request->op == GSH_FAR_QUIET || request->op == GSH_FAR_FENCE;
    wait_poll(proxy, backoff);
    gsh_proxy_waiting *tell = __atomic_load_n(&tell_waiting, __ATOMIC_ACQUIRE);
    if (*backoff <= SPIN_POLLS || tell == NULL || request->call == NULL) {
        return;
    }
    if (*since_ns == 0) {
        *since_ns = gsh_now_ns();
    }
    tell(proxy->options.context, request->call, is_everywhere ? -1 : request->pe, *since_ns);
}

/* ---- requests of host threads ---- */

static void host_task_done(struct gsh_request *request)
{
    struct gsh_task *task = GSH_HOLDER(struct gsh_task, request, request);
    struct gsh_proxy *proxy = task->proxy;
    gsh_link_remove(&task->in_flight);
    if (task->is_posted) {
        proxy->n_posted[request->ctx]--;
        gsh_pool_give(&proxy->tasks, task);
    }
    task->is_done = true; /* objects of a pool remain valid memory */
}

/* NULL: no memory, reported. */
static struct gsh_task *take_task(struct gsh_proxy *proxy, bool is_posted)
{
    struct gsh_task *task = gsh_pool_take(&proxy->tasks);
    if (task == NULL) {
        gsh_engine_fail(proxy, proxy->options.my_pe, GSH_ERR_NOMEM, "a request", "no memory");
        return NULL;
    }
    task->proxy = proxy;
    task->source = GSH_SOURCE_HOST;
    task->is_posted = is_posted;
    task->is_done = false;
    task->begun_ns = 0;
    task->issue_sequence = ++proxy->issue_sequence;
    gsh_link_init(&task->in_flight);
    return task;
}

static void submit(struct gsh_task *task, const struct gsh_request *request)
{
    struct gsh_proxy *proxy = task->proxy;
    bool has_data = request->op == GSH_FAR_P || request->op == GSH_FAR_PUT_SIGNAL;
    /* Most of a request is unused room for data. */
    memcpy(&task->request, request, offsetof(struct gsh_request, inline_data));
    if (has_data && request->local == NULL) {
        memcpy(task->request.inline_data, request->inline_data,
               gsh_min_u64(request->bytes, sizeof(request->inline_data)));
    }
    task->request.done = host_task_done;
    if (task->is_posted) {
        proxy->n_posted[request->ctx]++;
    }
    if (request->op != GSH_FAR_QUIET) {
        gsh_link_append(&proxy->in_flight[request->ctx], &task->in_flight);
    }
    gsh_order_submit(proxy, task);
}

/* A quiet also covers gets and sources of puts: every earlier task of its context. */
static bool is_over(const struct gsh_proxy *proxy, const struct gsh_task *task)
{
    if (!task->is_done || task->request.op != GSH_FAR_QUIET) {
        return task->is_done;
    }
    const struct gsh_link *in_flight = &proxy->in_flight[task->request.ctx];
    if (gsh_link_is_alone(in_flight)) {
        return true;
    }
    const struct gsh_task *oldest = GSH_HOLDER(struct gsh_task, in_flight, in_flight->next);
    return oldest->issue_sequence > task->issue_sequence;
}

/* Waits until the task is over, then returns it to its pool. After a failure it stays, since the
 * transport may still use it. */
static enum gsh_result await(struct gsh_proxy *proxy, struct gsh_task *task, uint64_t *value)
{
    unsigned backoff = 0;
    uint64_t since_ns = 0;
    bool is_first = true;
    while (!is_over(proxy, task) && proxy->failure == GSH_OK) {
        if (is_first) {
            count_waiting(proxy, 1);
        }
        is_first = false;
        wait_poll_for(proxy, &backoff, &task->request, &since_ns);
    }
    if (!is_first) {
        count_waiting(proxy, -1);
    }
    if (!is_over(proxy, task)) {
        return proxy->failure;
    }
    *value = task->request.value;
    gsh_pool_give(&proxy->tasks, task);
    return GSH_OK;
}

static void round_now_and_then(struct gsh_proxy *proxy)
{
    if (proxy->n_calls_until_round-- > 0) {
        return;
    }
    proxy->n_calls_until_round = CALLS_PER_ROUND - 1;
    gsh_engine_round(proxy, 1);
}

/* What the caller is told of a request that has ended. */
static enum gsh_result ended(const struct gsh_proxy *proxy, int pe, enum gsh_result r)
{
    bool is_pe = pe >= 0 && pe < proxy->options.n_pes;
    return r == GSH_OK && is_pe && proxy->losses[pe] != GSH_LOSS_NONE ? GSH_ERR_PEER : r;
}

/* A quiet. Besides its own tasks it completes what was taken from the context's rings before it,
 * including gets. */
static enum gsh_result run_quiet(struct gsh_proxy *proxy, struct gsh_task *task,
                                 struct gsh_request *request)
{
    uint64_t tails[GSH_ENGINE_RINGS_MAX];
    int n_rings = proxy->n_rings;
    unsigned backoff = 0;
    uint64_t since_ns = 0;
    for (int r = 0; r < n_rings; r++) {
        tails[r] = proxy->rings[r]->ctx == request->ctx ? proxy->rings[r]->tail : 0;
    }
    submit(task, request);
    enum gsh_result result = await(proxy, task, &request->value);
    for (int r = 0; r < n_rings && result == GSH_OK; r++) {
        while (proxy->rings[r]->head < tails[r] && proxy->failure == GSH_OK) {
            wait_poll_for(proxy, &backoff, request, &since_ns);
        }
        result = proxy->failure;
    }
    return result;
}

enum gsh_result gsh_proxy_run(struct gsh_proxy *proxy, struct gsh_request *request)
{
    enter(proxy);
    enum gsh_result r = proxy->failure;
    struct gsh_task *task = r == GSH_OK ? take_task(proxy, false) : NULL;
    if (task != NULL && request->op == GSH_FAR_QUIET) {
        r = run_quiet(proxy, task, request);
    } else if (task != NULL) {
        submit(task, request);
        if (request->op != GSH_FAR_FENCE) {
            count_request(proxy, request->ctx);
        }
        r = await(proxy, task, &request->value);
        if (request->op != GSH_FAR_FENCE) {
            r = ended(proxy, request->pe, r);
        }
        round_now_and_then(proxy);
    } else if (r == GSH_OK) {
        r = proxy->failure;
    }
    leave(proxy);
    return r;
}

enum gsh_result gsh_proxy_post(struct gsh_proxy *proxy, const struct gsh_request *request)
{
    unsigned backoff = 0;
    uint64_t since_ns = 0;
    if (request->op == GSH_FAR_QUIET || request->op == GSH_FAR_FENCE || request->is_fetch) {
        return gsh_fail(GSH_ERR_ARG, "operation %u cannot be posted", request->op);
    }
    enter(proxy);
    while (proxy->n_posted[request->ctx] >= GSH_POSTED_MAX && proxy->failure == GSH_OK) {
        wait_poll_for(proxy, &backoff, request, &since_ns);
    }
    struct gsh_task *task = proxy->failure == GSH_OK ? take_task(proxy, true) : NULL;
    if (task != NULL) {
        submit(task, request);
        count_request(proxy, request->ctx);
        round_now_and_then(proxy);
    }
    enum gsh_result r = ended(proxy, request->pe, proxy->failure);
    leave(proxy);
    return r;
}

/* Nothing holds the put up: does what submit does, by the shortest path. */
static enum gsh_result put_at_once(struct gsh_engine_peer *peer, struct gsh_task *task,
                                   const char *call, uint64_t remote_off, const void *local,
                                   uint64_t bytes)
{
    struct gsh_proxy *proxy = task->proxy;
    struct gsh_transport *t = proxy->transport;
    bool is_posted = task->is_posted, is_pending = false;
    uint64_t unused;
    task->request.op = GSH_FAR_PUT;
    task->request.pe = peer->pe;
    task->request.ctx = peer->ctx;
    task->request.call = call;
    task->request.remote_off = remote_off;
    task->request.bytes = bytes;
    task->request.done = host_task_done;
    task->op.done = gsh_issue_native_done;
    task->begun_ns = task->issued_ns = gsh_observe_now(proxy);
    gsh_engine_peer_activate(peer, GSH_SOURCE_HOST);
    peer->main->last_op = GSH_FAR_PUT;
    peer->puts_posted++;
    proxy->n_posted[peer->ctx] += is_posted; /* these first, since the call may call done */
    proxy->n_pending++;
    enum gsh_result r =
        t->ops->put(t, peer->pe, peer->ctx, remote_off, local, bytes, &task->op, &is_pending);
    if (r == GSH_OK && !is_pending) {
        proxy->n_posted[peer->ctx] -= is_posted;
        proxy->n_pending--;
        if (task->begun_ns != 0) {
            gsh_observe_transfer(task);
            gsh_observe_request(task);
        }
        gsh_pool_give(&proxy->tasks, task);
        return GSH_OK;
    }
    if (r != GSH_OK) {
        gsh_issue_native_done(&task->op, r);
    } else if (!task->is_done) {
        task->since_ns = gsh_observe_coarse();
        gsh_link_append(&proxy->in_flight[peer->ctx], &task->in_flight);
    }
    return ended(proxy, peer->pe, is_posted ? proxy->failure : await(proxy, task, &unused));
}

enum gsh_result gsh_proxy_put(struct gsh_proxy *proxy, gsh_context ctx, const char *call, int pe,
                              uint64_t remote_off, const void *local, uint64_t bytes,
                              bool is_posted)
{
    enter(proxy);
    struct gsh_engine_peer *peer = gsh_engine_peer_find(proxy, pe, ctx);
    bool is_open = proxy->failure == GSH_OK && proxy->is_native && peer != NULL &&
                   gsh_engine_peer_is_open(peer) && proxy->n_posted[ctx] < GSH_POSTED_MAX &&
                   gsh_proxy_is_in_heap(proxy, remote_off, bytes);
    struct gsh_task *task = is_open ? take_task(proxy, is_posted) : NULL;
    if (task != NULL) {
        enum gsh_result r = put_at_once(peer, task, call, remote_off, local, bytes);
        count_request(proxy, ctx);
        round_now_and_then(proxy);
        leave(proxy);
        return r;
    }
    leave(proxy);
    struct gsh_request request = {.op = GSH_FAR_PUT,
                                  .pe = pe,
                                  .ctx = ctx,
                                  .call = call,
                                  .remote_off = remote_off,
                                  .local = (void *)(uintptr_t)local,
                                  .bytes = bytes};
    return is_posted ? gsh_proxy_post(proxy, &request) : gsh_proxy_run(proxy, &request);
}

void gsh_proxy_help(struct gsh_proxy *proxy)
{
    if (!gsh_lock_try(&proxy->lock)) {
        gsh_pause();
        return;
    }
    (void)make_round(proxy);
    gsh_lock_give(&proxy->lock);
}

/* ---- messages of the runtime ---- */

size_t gsh_proxy_message_max(const struct gsh_proxy *proxy)
{
    return proxy->data_max;
}

/* The task is done when the data may be reused. */
static void send_runtime_message(struct gsh_task *task, int pe, uint64_t tag, const void *data,
                                 size_t bytes)
{
    struct gsh_proxy *proxy = task->proxy;
    struct gsh_engine_peer *peer = gsh_engine_peer(proxy, pe, GSH_CONTEXT_DEFAULT);
    struct gsh_out *out = peer != NULL ? gsh_out_take(proxy, false, true) : NULL;
    task->request.op = GSH_FAR_NONE;
    task->request.pe = pe;
    task->request.ctx = GSH_CONTEXT_DEFAULT;
    task->request.done = host_task_done;
    if (out == NULL) {
        return;
    }
    out->header = (struct gsh_message){.kind = GSH_MESSAGE_RUNTIME, .tag = tag};
    out->task = task;
    gsh_out_send(peer, out, data, bytes);
}

static enum gsh_result message_to_self(struct gsh_proxy *proxy, uint64_t tag, const void *data,
                                       size_t bytes)
{
    gsh_lock_take(&proxy->lock);
    enum gsh_result r = gsh_mailbox_put(&proxy->mailbox, proxy->options.my_pe, tag, data, bytes);
    gsh_lock_give(&proxy->lock);
    return r;
}

enum gsh_result gsh_proxy_send(struct gsh_proxy *proxy, int pe, uint64_t tag, const void *data,
                               size_t bytes)
{
    uint64_t value;
    if (bytes > proxy->data_max) {
        return gsh_fail(GSH_ERR_ARG, "a message of %zu bytes; the most is %zu", bytes,
                        proxy->data_max);
    }
    if (pe == proxy->options.my_pe) {
        return message_to_self(proxy, tag, data, bytes);
    }
    enter(proxy);
    enum gsh_result r = proxy->failure;
    struct gsh_task *task = r == GSH_OK ? take_task(proxy, false) : NULL;
    if (task != NULL) {
        send_runtime_message(task, pe, tag, data, bytes);
        __atomic_fetch_add(&proxy->sent.messages, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&proxy->sent.bytes, bytes, __ATOMIC_RELAXED);
        r = ended(proxy, pe, await(proxy, task, &value));
    } else if (r == GSH_OK) {
        r = proxy->failure;
    }
    leave(proxy);
    return r;
}

void gsh_proxy_notify(struct gsh_proxy *proxy, int pe, const void *data, size_t bytes)
{
    if (bytes > GSH_PROXY_NOTICE_MAX) {
        return;
    }
    enter(proxy);
    struct gsh_engine_peer *peer = gsh_engine_peer(proxy, pe, GSH_CONTEXT_DEFAULT);
    struct gsh_out *out = peer != NULL ? gsh_out_take(proxy, true, true) : NULL;
    if (out != NULL) {
        out->header = (struct gsh_message){.kind = GSH_MESSAGE_NOTICE};
        memcpy(out->data, data, bytes);
        gsh_out_send(peer, out, out->data, bytes);
    }
    leave(proxy);
}

/* NULL: there is none. */
static struct gsh_mailbox_entry *take_runtime_message(struct gsh_proxy *proxy, int pe, uint64_t tag)
{
    struct gsh_mailbox_entry *entry = gsh_mailbox_take(&proxy->mailbox, pe, tag);
    struct gsh_engine_peer *peer = gsh_engine_peer_find(proxy, pe, GSH_CONTEXT_DEFAULT);
    if (entry != NULL && peer != NULL && pe != proxy->options.my_pe) {
        peer->mailbox_bytes -= gsh_mailbox_cost(entry->bytes);
    }
    return entry;
}

static enum gsh_result open_runtime_message(struct gsh_mailbox_entry *entry, void *data,
                                            size_t bytes)
{
    enum gsh_result r = GSH_OK;
    if (entry->bytes != bytes) {
        r = gsh_fail(GSH_ERR_SYMMETRY, "PE %d sent %zu bytes where %zu were expected", entry->pe,
                     entry->bytes, bytes);
    } else if (bytes > 0) {
        memcpy(data, entry->data, bytes);
    }
    free(entry);
    return r;
}

enum gsh_result gsh_proxy_receive(struct gsh_proxy *proxy, int pe, uint64_t tag, void *data,
                                  size_t bytes, gsh_proxy_wait_fn wait, void *context)
{
    struct gsh_mailbox_entry *entry;
    enum gsh_result r = GSH_OK;
    unsigned backoff = 0;
    enter(proxy);
    count_waiting(proxy, 1);
    while ((entry = take_runtime_message(proxy, pe, tag)) == NULL) {
        r = ended(proxy, pe, proxy->failure);
        if (r != GSH_OK) {
            break;
        }
        wait_poll(proxy, &backoff);
        gsh_lock_give(&proxy->lock);
        r = wait != NULL ? wait(context, pe) : GSH_OK;
        gsh_lock_take(&proxy->lock);
        if (r != GSH_OK) {
            break;
        }
    }
    count_waiting(proxy, -1);
    leave(proxy);
    return entry != NULL ? open_runtime_message(entry, data, bytes) : r;
}
