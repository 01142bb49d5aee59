/* SPDX-License-Identifier: Apache-2.0
 * The bootstrap of PEs that are threads of one process. Threads find each other by a key in a list
 * of jobs whose threads have not all come. A job that was started wrongly stays there for its
 * missing threads, at most for their time limit.
 *
 * A job has two buffers, used in turn. Call c copies into buffer c % 2 and is complete when all
 * ranks have come; a rank enters call c + 1 only after it has read call c's result, so when call c
 * + 1 is complete no rank reads buffer c % 2 any more and call c + 2 may fill it. All fields are
 * under the mutex; reading a complete call's buffer needs none. */
#include "bootstrap/bootstrap.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/array.h"
#include "base/util.h"

struct job {
    pthread_mutex_t mutex;
    pthread_cond_t cond; /* a call is complete, or the job has failed */
    struct job *next;    /* in the list of incomplete jobs */
    const void *key;
    int n_ranks;
    int n_refs;             /* threads in it; list_mutex protects this and the next three */
    int n_expected;         /* threads in all */
    int n_to_come;          /* threads that have not come yet */
    uint64_t kept_until_ns; /* for those, if n_refs is 0 */
    bool *has_come;         /* [n_ranks] */
    bool *is_in_call;       /* [n_ranks]: has come to the current call */
    uint64_t n_calls;       /* complete calls; the first is create itself */
    int n_in_call;
    int first_in_call; /* the rank whose size counts in this call */
    size_t call_bytes;
    char *buffers[2];
    size_t buffer_bytes[2];
    enum gsh_result result; /* if not GSH_OK, every call fails */
    char text[256];         /* why */
};

struct local_bootstrap {
    struct gsh_bootstrap base;
    struct job *job;
};

static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct job *incomplete_jobs;

/* ---- the job ---- */

static void destroy_job(struct job *job)
{
    pthread_cond_destroy(&job->cond);
    pthread_mutex_destroy(&job->mutex);
    free(job->has_come);
    free(job->is_in_call);
    free(job->buffers[0]);
    free(job->buffers[1]);
    free(job);
}

static struct job *new_job(const void *key, int n_ranks)
{
    struct job *job = calloc(1, sizeof(*job));
    pthread_condattr_t attr;
    if (job == NULL) {
        return NULL;
    }
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&job->cond, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&job->mutex, NULL);
    job->key = key;
    job->n_ranks = n_ranks;
    job->has_come = calloc((size_t)n_ranks, sizeof(*job->has_come));
    job->is_in_call = calloc((size_t)n_ranks, sizeof(*job->is_in_call));
    if (job->has_come != NULL && job->is_in_call != NULL) {
        return job;
    }
    destroy_job(job);
    return NULL;
}

/* With list_mutex held; ignores a job that is not in the list. */
static void unlist(struct job *job)
{
    for (struct job **p = &incomplete_jobs; *p != NULL; p = &(*p)->next) {
        if (*p == job) {
            *p = job->next;
            return;
        }
    }
}

static void release_job(struct job *job, bool is_kept, uint64_t timeout_ns)
{
    pthread_mutex_lock(&list_mutex);
    bool is_over = --job->n_refs == 0 && !(is_kept && job->n_to_come > 0);
    job->kept_until_ns = gsh_now_ns() + timeout_ns;
    if (is_over) {
        unlist(job);
    }
    pthread_mutex_unlock(&list_mutex);
    if (is_over) {
        destroy_job(job);
    }
}

/* With the mutex held: this and every later call of all ranks fails. The first reason stays. */
__attribute__((format(printf, 3, 4))) static void fail_job(struct job *job, enum gsh_result r,
                                                           const char *format, ...)
{
    va_list args;
    if (job->result != GSH_OK) {
        return;
    }
    va_start(args, format);
    vsnprintf(job->text, sizeof(job->text), format, args);
    va_end(args);
    job->result = r;
    pthread_cond_broadcast(&job->cond);
}

/* With the mutex held: waits until n_calls has passed `call`, which may fail the job. */
static void wait_for_call(struct job *job, uint64_t call, const char *name, uint64_t timeout_ns)
{
    uint64_t deadline_ns = gsh_now_ns() + timeout_ns;
    struct timespec deadline = {(time_t)(deadline_ns / 1000000000u),
                                (long)(deadline_ns % 1000000000u)};
    while (job->n_calls == call && job->result == GSH_OK) {
        int error = timeout_ns ? pthread_cond_timedwait(&job->cond, &job->mutex, &deadline)
                               : pthread_cond_wait(&job->cond, &job->mutex);
        if (error == ETIMEDOUT && job->n_calls == call) {
            int missing = 0;
            while (missing < job->n_ranks - 1 && job->is_in_call[missing]) {
                missing++;
            }
            fail_job(job, GSH_ERR_TIMEOUT, "%s: PE %d did not come within %g s (%d of %d did)",
                     name, missing, (double)timeout_ns * 1e-9, job->n_in_call, job->n_ranks);
        }
    }
}

/* With the mutex held: enters the current call and waits for the others. */
static enum gsh_result wait_for_all(struct job *job, int rank, const char *name,
                                    uint64_t timeout_ns)
{
    uint64_t call = job->n_calls;
    job->is_in_call[rank] = true;
    if (++job->n_in_call == job->n_ranks) {
        memset(job->is_in_call, 0, (size_t)job->n_ranks * sizeof(*job->is_in_call));
        job->n_in_call = 0;
        job->n_calls++;
        pthread_cond_broadcast(&job->cond);
        return GSH_OK;
    }
    wait_for_call(job, call, name, timeout_ns);
    return job->n_calls > call ? GSH_OK : job->result;
}

/* ---- the calls ---- */

/* With the mutex held: makes room in the call's buffer and copies mine in. */
static void contribute(struct job *job, int rank, const void *mine, size_t bytes)
{
    int i = (int)(job->n_calls % 2);
    if (job->n_in_call == 0) {
        job->call_bytes = bytes;
        job->first_in_call = rank;
    }
    if (bytes != job->call_bytes) {
        fail_job(job, GSH_ERR_SYMMETRY, "exchange: PE %d gives %zu bytes, PE %d %zu", rank, bytes,
                 job->first_in_call, job->call_bytes);
        return;
    }
    size_t needed = bytes * (size_t)job->n_ranks;
    if (!gsh_array_reserve(&job->buffers[i], &job->buffer_bytes[i], needed, 1)) {
        fail_job(job, GSH_ERR_NOMEM, "allgather: no memory for %zu bytes", needed);
        return;
    }
    if (bytes > 0) {
        memcpy(job->buffers[i] + (size_t)rank * bytes, mine, bytes);
    }
}

static enum gsh_result local_allgather(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                       void *all_out)
{
    struct job *job = ((struct local_bootstrap *)b)->job;
    pthread_mutex_lock(&job->mutex);
    int i = (int)(job->n_calls % 2);
    if (job->result == GSH_OK) {
        contribute(job, b->rank, mine, bytes);
    }
    enum gsh_result r = job->result;
    if (r == GSH_OK) {
        r = wait_for_all(job, b->rank, "allgather", b->timeout_ns);
    }
    const char *result = job->buffers[i];
    pthread_mutex_unlock(&job->mutex);
    if (r != GSH_OK) {
        return gsh_fail(r, "%s", job->text);
    }
    if (bytes > 0) {
        memcpy(all_out, result, bytes * (size_t)b->size);
    }
    return GSH_OK;
}

static enum gsh_result local_barrier(struct gsh_bootstrap *b)
{
    struct job *job = ((struct local_bootstrap *)b)->job;
    pthread_mutex_lock(&job->mutex);
    if (job->result == GSH_OK) {
        contribute(job, b->rank, NULL, 0);
    }
    enum gsh_result r = job->result;
    if (r == GSH_OK) {
        r = wait_for_all(job, b->rank, "barrier", b->timeout_ns);
    }
    pthread_mutex_unlock(&job->mutex);
    return r == GSH_OK ? GSH_OK : gsh_fail(r, "%s", job->text);
}

/* A thread cannot be ended from outside; the others fail at their current or next call. */
static void local_abort(struct gsh_bootstrap *b, int status, const char *message)
{
    struct job *job = ((struct local_bootstrap *)b)->job;
    pthread_mutex_lock(&job->mutex);
    fail_job(job, GSH_ERR_PEER, "PE %d ended the job with status %d%s%s", b->rank, status,
             message != NULL ? ": " : "", message != NULL ? message : "");
    pthread_mutex_unlock(&job->mutex);
}

/* The others may still be waking up from a complete call, which for them succeeds. */
static void local_destroy(struct gsh_bootstrap *b)
{
    struct local_bootstrap *local = (struct local_bootstrap *)b;
    if (b == NULL) {
        return;
    }
    pthread_mutex_lock(&local->job->mutex);
    fail_job(local->job, GSH_ERR_PEER, "PE %d left the job", b->rank);
    pthread_mutex_unlock(&local->job->mutex);
    release_job(local->job, false, 0);
    free(local);
}

static const struct gsh_bootstrap_ops local_ops = {
    .name = "threads",
    .allgather = local_allgather,
    .barrier = local_barrier,
    .abort = local_abort,
    .destroy = local_destroy,
};

/* ---- joining ---- */

/* With the mutex held. */
static void enter(struct job *job, int rank, int n_ranks)
{
    if (n_ranks != job->n_ranks) {
        fail_job(job, GSH_ERR_ARG, "PE %d was started as one of %d PEs, others as one of %d", rank,
                 n_ranks, job->n_ranks);
    } else if (rank < 0 || rank >= n_ranks) {
        fail_job(job, GSH_ERR_ARG, "PE number %d is not in 0 .. %d", rank, n_ranks - 1);
    } else if (job->has_come[rank]) {
        fail_job(job, GSH_ERR_ARG, "two threads came as PE %d of this job", rank);
    } else {
        job->has_come[rank] = true;
    }
}

/* With list_mutex held: removes the jobs that were kept long enough. */
static void forget_kept(void)
{
    uint64_t now = gsh_now_ns();
    for (struct job *job = incomplete_jobs, *next; job != NULL; job = next) {
        next = job->next;
        if (job->n_refs == 0 && now >= job->kept_until_ns) {
            unlist(job);
            destroy_job(job);
        }
    }
}

/* The incomplete job of this key, or a new one, with a reference for the caller. */
static struct job *find_job(const void *key, int n_ranks)
{
    pthread_mutex_lock(&list_mutex);
    forget_kept();
    struct job *job = incomplete_jobs;
    while (job != NULL && job->key != key) {
        job = job->next;
    }
    if (job == NULL && (job = new_job(key, n_ranks)) != NULL) {
        job->n_to_come = job->n_expected = n_ranks;
        job->next = incomplete_jobs;
        incomplete_jobs = job;
    }
    if (job != NULL) {
        /* If callers differ, which is an error, at least the lowest number will come. */
        if (n_ranks < job->n_expected) {
            job->n_to_come -= job->n_expected - n_ranks;
            job->n_expected = n_ranks;
        }
        job->n_refs++;
        /* The last one frees the key for the threads' next job. */
        if (--job->n_to_come <= 0) {
            unlist(job);
        }
    }
    pthread_mutex_unlock(&list_mutex);
    return job;
}

enum gsh_result gsh_bootstrap_local_create(const void *key, int rank, int n_ranks,
                                           uint64_t timeout_ns, struct gsh_bootstrap **out)
{
    if (n_ranks < 1) {
        return gsh_fail(GSH_ERR_ARG, "a job of %d PEs", n_ranks);
    }
    struct local_bootstrap *local = calloc(1, sizeof(*local));
    struct job *job = local != NULL ? find_job(key, n_ranks) : NULL;
    if (job == NULL) {
        free(local);
        return gsh_fail(GSH_ERR_NOMEM, "no memory for start-up");
    }
    pthread_mutex_lock(&job->mutex);
    if (job->result == GSH_OK) {
        enter(job, rank, n_ranks);
    }
    enum gsh_result r = job->result;
    if (r == GSH_OK) {
        r = wait_for_all(job, rank, "start-up", timeout_ns);
    }
    pthread_mutex_unlock(&job->mutex);
    if (r != GSH_OK) {
        r = gsh_fail(r, "%s", job->text);
        release_job(job, r == GSH_ERR_ARG || r == GSH_ERR_PEER, timeout_ns);
        free(local);
        return r;
    }
    local->base = (struct gsh_bootstrap){
        .ops = &local_ops, .rank = rank, .size = n_ranks, .timeout_ns = timeout_ns};
    local->job = job;
    *out = &local->base;
    return GSH_OK;
}

void gsh_bootstrap_local_leave(const void *key, int rank, int n_ranks)
{
    struct job *job = find_job(key, n_ranks);
    if (job == NULL) {
        return; /* no memory: the others notice at their time limit */
    }
    pthread_mutex_lock(&job->mutex);
    fail_job(job, GSH_ERR_PEER, "start-up: PE %d has returned without gshmem_init", rank);
    pthread_mutex_unlock(&job->mutex);
    release_job(job, true, INT64_MAX);
}
