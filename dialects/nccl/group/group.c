/* SPDX-License-Identifier: Apache-2.0
 * Groups, one per thread, and which thread makes their calls. A thread that drives several ranks
 * must not wait in one rank's call for another rank's. So a worker for each rank makes the calls in
 * which ranks agree on something, and the thread waits for all workers together. Calls that only
 * put work on streams do not wait; the caller makes them. */
#include "dialects/nccl/group/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dialects/nccl/base/worker.h"
#include "dialects/nccl/comm/clique.h"
#include "dialects/nccl/comm/launch.h"
#include "dialects/nccl/group/simulate.h"
#include "runtime/layer.h"

struct queued {
    struct queued *next;
    bool has_run;
    struct gsh_nccl_call call;
};

/* Calls of one rank, in their order. */
struct batch {
    struct gsh_nccl_task task; /* first: the worker's */
    struct batch *next;
    struct gsh_nccl_worker *worker; /* NULL: for ranks without one */
    struct queued *first, *last;
    bool agrees, is_nonblocking;
    bool is_detached; /* not waited for: it frees itself */
    ncclResult_t result;
    char text[512]; /* of a failure */
};

static _Thread_local int depth;
static _Thread_local struct queued *first, *last;
/* The first error of a call of the group that has been refused. */
static _Thread_local ncclResult_t refusal;
static _Thread_local char refusal_text[512];

/* ---- calls ---- */

/* It is not carried out. */
static void drop_call(const struct gsh_nccl_call *c)
{
    if (c->undo != NULL) {
        c->undo(c);
    } else {
        free(c->owned);
    }
}

static void free_call(struct queued *q)
{
    if (q->has_run) {
        free(q->call.owned);
    } else {
        drop_call(&q->call);
    }
    free(q);
}

static void free_calls(struct queued *calls)
{
    while (calls != NULL) {
        struct queued *q = calls;
        calls = q->next;
        free_call(q);
    }
}

/* The others may be run by a worker while another thread makes calls on the communicator's streams:
 * they leave the chain of these alone. */
static bool uses_streams(const struct gsh_nccl_call *c)
{
    return c->comm != NULL && !c->agrees;
}

static ncclResult_t run_call(const struct gsh_nccl_call *c)
{
    struct gshmemx_layer_scope scope;
    ncclResult_t r;
    const uint32_t site = gshmemx_layer_use_site(c->site);
    gshmemx_layer_trace_as(c->name);
    if (c->comm == NULL) {
        r = c->run(c);
    } else {
        gsh_nccl_enter(c->comm->job, &scope);
        if (c->family == GSH_NCCL_COLLECTIVE) {
            gsh_nccl_latest_add(c->name, &c->comm->latest, &c->collective);
        }
        r = c->run(c);
        if (uses_streams(c)) {
            gsh_nccl_leave_stream(c->comm);
        }
        gsh_nccl_leave(&scope);
    }
    gshmemx_layer_trace_as(NULL);
    (void)gshmemx_layer_use_site(site);
    return r;
}

static ncclResult_t launch_gathered(const struct gsh_nccl_gatherer *gatherer, struct ncclComm *comm)
{
    struct gshmemx_layer_scope scope;
    gsh_nccl_enter(comm->job, &scope);
    ncclResult_t r = gatherer->launch(comm);
    gsh_nccl_leave_stream(comm);
    gsh_nccl_leave(&scope);
    return r;
}

/* Collectives first: ranks may differ in where their sends are among them. before: the result so
 * far; after an error what has been gathered is discarded. */
static ncclResult_t launch_all(struct queued *calls, bool are_collectives, ncclResult_t before)
{
    ncclResult_t r = before;
    for (struct queued *q = calls; q != NULL; q = q->next) {
        const struct gsh_nccl_gatherer *gatherer = q->call.gatherer;
        if (gatherer != NULL && gatherer->are_collectives == are_collectives &&
            gatherer->has_any(q->call.comm)) {
            r = r == ncclSuccess ? launch_gathered(gatherer, q->call.comm) : r;
            gatherer->forget(q->call.comm);
        }
    }
    return r;
}

/* A call has been carried out, and what it gathered has been launched. A collective that differs
 * from other ranks' is carried out nevertheless, since these may already wait for it. */
static ncclResult_t finish_call(const struct gsh_nccl_call *c, ncclResult_t r)
{
    if (r == ncclSuccess && c->family == GSH_NCCL_COLLECTIVE) {
        r = gsh_nccl_latest_result(&c->comm->latest);
    }
    return r;
}

/* Launches what the calls have gathered, after them. */
static ncclResult_t run_calls(struct queued *calls)
{
    ncclResult_t r = ncclSuccess;
    for (struct queued *q = calls; q != NULL && r == ncclSuccess; q = q->next) {
        q->has_run = true;
        r = run_call(&q->call);
    }
    r = launch_all(calls, true, r);
    r = launch_all(calls, false, r);
    for (struct queued *q = calls; q != NULL; q = q->next) {
        r = finish_call(&q->call, r);
    }
    return r;
}

/* The same for a single call. */
static ncclResult_t run_alone(struct gsh_nccl_call *c)
{
    const struct gsh_nccl_gatherer *gatherer = c->gatherer;
    c->is_alone = true;
    ncclResult_t r = run_call(c);
    if (gatherer != NULL && gatherer->has_any(c->comm)) {
        r = r == ncclSuccess ? launch_gathered(gatherer, c->comm) : r;
        gatherer->forget(c->comm);
    }
    return finish_call(c, r);
}

/* ---- batches ---- */

static void free_batch(struct batch *b)
{
    free_calls(b->first);
    free(b);
}

/* The communicators whose ncclCommGetAsyncError reports on the batch. */
static void tell(struct batch *b, ncclResult_t result)
{
    for (struct queued *q = b->first; q != NULL; q = q->next) {
        const bool has_shell = q->call.family == GSH_NCCL_BIRTH && q->call.birth.shell != NULL;
        struct ncclComm *comm = has_shell ? q->call.birth.shell : q->call.comm;
        if (comm != NULL && comm->is_nonblocking) {
            gsh_nccl_comm_end_call(comm, result);
        }
    }
}

static void run_batch(struct gsh_nccl_task *task)
{
    struct batch *b = (struct batch *)task;
    gsh_nccl_set_last_text("");
    b->result = run_calls(b->first);
    if (b->is_detached) {
        tell(b, b->result);
        free_batch(b);
    } else if (b->result != ncclSuccess) {
        strncpy(b->text, gsh_nccl_last_text(), sizeof(b->text) - 1);
    }
}

static struct gsh_nccl_worker *worker_of(const struct gsh_nccl_call *c)
{
    return c->comm != NULL ? gsh_nccl_job_worker(c->comm->job) : c->birth.worker;
}

/* Whether the call makes a rank that is in none of the process's jobs. */
static bool makes_ranks(const struct gsh_nccl_call *c)
{
    return c->family == GSH_NCCL_BIRTH && (c->comm == NULL || c->birth.has_own_job);
}

static bool makes_nonblocking(const struct gsh_nccl_call *c)
{
    return c->family == GSH_NCCL_BIRTH && c->birth.is_nonblocking;
}

/* Each new rank for which this thread must not wait gets a worker. Non-blocking communicators begin
 * to live. */
static ncclResult_t prepare(struct queued *calls)
{
    int n_new_ranks = 0;
    for (const struct queued *q = calls; q != NULL; q = q->next) {
        n_new_ranks += makes_ranks(&q->call);
    }
    for (struct queued *q = calls; q != NULL; q = q->next) {
        struct gsh_nccl_call *c = &q->call;
        struct gsh_nccl_birth *birth = &c->birth;
        struct gsh_nccl_job *job = c->comm != NULL ? c->comm->job : NULL;
        if (c->family != GSH_NCCL_BIRTH || (!birth->is_nonblocking && n_new_ranks <= 1)) {
            continue;
        }
        if (makes_ranks(c)) {
            birth->pe = n_new_ranks > 1 ? NULL : birth->pe; /* each its own */
            birth->worker = gsh_nccl_worker_create();
        }
        if ((makes_ranks(c) && birth->worker == NULL) ||
            (job != NULL && !gsh_nccl_job_need_worker(job))) {
            return gsh_nccl_fail(ncclSystemError,
                                 "%s: no thread for each of this thread's %d ranks (ulimit -u)",
                                 c->name, n_new_ranks);
        }
    }
    for (struct queued *q = calls; q != NULL; q = q->next) {
        struct gsh_nccl_call *c = &q->call;
        if (makes_nonblocking(c)) {
            c->birth.shell = gsh_nccl_comm_begin(true);
            if (c->birth.shell == NULL) {
                return gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name);
            }
            c->birth.shell->worker = worker_of(c);
            *c->birth.new_comm = c->birth.shell;
        }
    }
    return ncclSuccess;
}

/* The caller learns the result later. */
static bool is_nonblocking(const struct gsh_nccl_call *c)
{
    return c->agrees && (makes_nonblocking(c) || (c->comm != NULL && c->comm->is_nonblocking));
}

/* Moves the calls into batches, by worker. NULL: no memory; the calls are freed. */
static struct batch *sort(struct queued *calls)
{
    struct batch *batches = NULL;
    bool failed = false;
    while (calls != NULL) {
        struct queued *q = calls;
        struct gsh_nccl_worker *w = worker_of(&q->call);
        struct batch **p = &batches;
        calls = q->next;
        q->next = NULL;
        while (*p != NULL && (*p)->worker != w) {
            p = &(*p)->next;
        }
        if (*p == NULL) {
            *p = calloc(1, sizeof(**p));
            failed = failed || *p == NULL;
        }
        if (*p == NULL) {
            free_call(q);
            continue;
        }
        struct batch *b = *p;
        b->worker = w;
        b->task.run = run_batch;
        b->agrees = b->agrees || q->call.agrees;
        b->is_nonblocking = b->is_nonblocking || is_nonblocking(&q->call);
        b->is_detached = b->is_nonblocking || (b->first == NULL && q->call.is_detached) ||
                         (b->is_detached && q->call.is_detached);
        if (b->last == NULL) {
            b->first = q;
        } else {
            b->last->next = q;
        }
        b->last = q;
    }
    while (failed && batches != NULL) {
        struct batch *b = batches;
        batches = b->next;
        free_batch(b);
    }
    return batches;
}

static bool is_posted(const struct batch *b)
{
    return b->worker != NULL && b->agrees;
}

/* The communicator that a worker has made by the call; or NULL. */
static struct ncclComm *made_by(const struct batch *b, const struct queued *q)
{
    return b->worker != NULL && q->call.family == GSH_NCCL_BIRTH ? *q->call.birth.new_comm : NULL;
}

/* For batches that workers have run for this thread, which waited for them. */
static void make_clique(const struct batch *batches)
{
    int n = 0, i = 0;
    for (const struct batch *b = batches; b != NULL; b = b->next) {
        for (const struct queued *q = b->first; q != NULL; q = q->next) {
            n += made_by(b, q) != NULL;
        }
    }
    struct ncclComm **comms = n > 1 ? calloc((size_t)n, sizeof(struct ncclComm *)) : NULL;
    if (comms == NULL) {
        return;
    }
    for (const struct batch *b = batches; b != NULL; b = b->next) {
        for (const struct queued *q = b->first; q != NULL; q = q->next) {
            if (made_by(b, q) != NULL) {
                comms[i++] = made_by(b, q);
            }
        }
    }
    gsh_nccl_clique_make(comms, n);
    free(comms);
}

/* Takes ownership of the calls. */
static ncclResult_t run_all(struct queued *calls)
{
    ncclResult_t r = prepare(calls), result = ncclSuccess;
    struct batch *batches = sort(calls);
    if (batches == NULL) {
        return r != ncclSuccess ? r : gsh_nccl_fail(ncclSystemError, "a group: no memory");
    }
    bool is_waiting = r == ncclSuccess;
    struct batch *mine = NULL; /* waited for, or run, by this thread */
    for (struct batch *b = batches, *next; b != NULL; b = next) {
        next = b->next;
        b->task.is_awaited = !b->is_detached;
        b->result = r;
        if (is_waiting && is_posted(b)) {
            bool is_detached = b->is_detached;
            if (b->is_nonblocking) {
                tell(b, ncclInProgress);
                result = ncclInProgress;
            }
            gsh_nccl_worker_post(b->worker, &b->task);
            if (is_detached) {
                continue; /* it may be gone */
            }
        }
        b->next = mine;
        mine = b;
    }
    for (struct batch *b = mine; b != NULL && is_waiting; b = b->next) {
        if (!is_posted(b)) {
            b->result = run_calls(b->first);
        }
    }
    for (struct batch *b = mine; b != NULL; b = b->next) {
        if (is_waiting && is_posted(b)) {
            gsh_nccl_worker_wait(b->worker, &b->task);
        }
        if (b->result != ncclSuccess && (result == ncclSuccess || result == ncclInProgress)) {
            result = b->result;
            if (b->text[0] != '\0') {
                gsh_nccl_set_last_text(b->text);
            }
        }
    }
    if (result == ncclSuccess) {
        make_clique(mine);
    }
    while (mine != NULL) {
        struct batch *b = mine;
        mine = b->next;
        free_batch(b);
    }
    return result;
}

/* ---- groups ---- */

/* Usually no other communicator is involved. */
static bool is_simple(const struct gsh_nccl_call *c)
{
    return !c->agrees || (!makes_nonblocking(c) && worker_of(c) == NULL &&
                          (c->comm == NULL || !c->comm->is_nonblocking));
}

bool gsh_nccl_is_in_group(void)
{
    return depth > 0;
}

ncclResult_t gsh_nccl_refuse(ncclResult_t r)
{
    if (depth > 0 && refusal == ncclSuccess) {
        refusal = r;
        snprintf(refusal_text, sizeof(refusal_text), "%s", gsh_nccl_last_text());
    }
    return r;
}

ncclResult_t gsh_nccl_submit(ncclResult_t checked, struct gsh_nccl_call *call)
{
    if (checked != ncclSuccess) {
        return gsh_nccl_refuse(checked);
    }
    call->site = gshmemx_layer_site();
    if (depth == 0 && is_simple(call)) {
        ncclResult_t r = run_alone(call);
        free(call->owned);
        return r;
    }
    struct queued *q = malloc(sizeof(*q));
    if (q == NULL) {
        drop_call(call);
        return gsh_nccl_refuse(gsh_nccl_fail(ncclSystemError, "%s: no memory", call->name));
    }
    q->next = NULL;
    q->has_run = false;
    q->call = *call;
    if (depth == 0) {
        return run_all(q);
    }
    if (first == NULL) {
        first = q;
    } else {
        last->next = q;
    }
    last = q;
    return ncclSuccess;
}

bool gsh_nccl_is_awaited(const struct ncclComm *comm)
{
    for (const struct queued *q = first; q != NULL; q = q->next) {
        if (q->call.comm == comm) {
            return true;
        }
    }
    return false;
}

/* Whether the calls only put work on streams: then they need no workers. */
static bool only_enqueues(const struct queued *calls)
{
    while (calls != NULL && !calls->call.agrees) {
        calls = calls->next;
    }
    return calls == NULL;
}

/* Takes ownership of the calls. A group of one call is that call alone. */
static ncclResult_t run_group(struct queued *calls)
{
    ncclResult_t r;
    if (calls->next == NULL && is_simple(&calls->call)) {
        calls->has_run = true;
        r = run_alone(&calls->call);
    } else if (only_enqueues(calls)) {
        r = run_calls(calls);
    } else {
        return run_all(calls);
    }
    free_calls(calls);
    return r;
}

/* The outermost group ends: takes its calls, or drops them if one was refused. */
static ncclResult_t close_group(struct queued **calls)
{
    ncclResult_t r = refusal;
    *calls = first;
    first = last = NULL;
    refusal = ncclSuccess;
    if (r != ncclSuccess) {
        free_calls(*calls);
        *calls = NULL;
        gsh_nccl_set_last_text(refusal_text);
    }
    return r;
}

ncclResult_t ncclGroupStart(void)
{
    depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (depth == 0) {
        return gsh_nccl_fail(ncclInvalidUsage, "ncclGroupEnd: no group is open");
    }
    if (--depth > 0) {
        return ncclSuccess;
    }
    struct queued *calls = NULL;
    ncclResult_t r = close_group(&calls);
    return r == ncclSuccess && calls != NULL ? run_group(calls) : r;
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *simInfo)
{
    static const char call[] = "ncclGroupSimulateEnd";
    struct gsh_nccl_estimate estimate = {.calls_us = 0};
    if (depth == 0) {
        return gsh_nccl_fail(ncclInvalidUsage, "%s: no group is open", call);
    }
    ncclResult_t r = gsh_nccl_sim_info_check(call, simInfo);
    if (r != ncclSuccess || --depth > 0) {
        return r;
    }
    struct queued *calls = NULL;
    r = close_group(&calls);
    if (r != ncclSuccess) {
        return r;
    }
    for (const struct queued *q = calls; q != NULL; q = q->next) {
        gsh_nccl_estimate_add(&estimate, &q->call);
    }
    simInfo->estimatedTime = (float)gsh_nccl_estimate_us(&estimate);
    free_calls(calls);
    return ncclSuccess;
}
