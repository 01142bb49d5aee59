/* SPDX-License-Identifier: Apache-2.0
 * The live communicators, and what a call requires of one. */
#include "dialects/nccl/comm/comm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "gshmem.h"
#include "runtime/layer.h"

static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ncclComm *live;
static uint64_t n_changes; /* of the list; atomic, written with the lock held */
/* Kept because kernels and threads may still be at work on them. */
static struct ncclComm *aborted;

static void note_change(void)
{
    /* pairs with the load in gsh_nccl_comm_is_live; it brings no other data */
    __atomic_store_n(&n_changes, n_changes + 1, __ATOMIC_RELAXED);
}

static void remember(struct ncclComm *comm)
{
    pthread_mutex_lock(&live_lock);
    comm->next = live;
    live = comm;
    note_change();
    pthread_mutex_unlock(&live_lock);
}

bool gsh_nccl_comm_forget(struct ncclComm *comm)
{
    pthread_mutex_lock(&live_lock);
    struct ncclComm **p = &live;
    while (*p != NULL && *p != comm) {
        p = &(*p)->next;
    }
    bool was_live = *p != NULL;
    if (was_live) {
        *p = comm->next;
        note_change();
    }
    pthread_mutex_unlock(&live_lock);
    return was_live;
}

void gsh_nccl_comm_keep(struct ncclComm *comm)
{
    pthread_mutex_lock(&live_lock);
    comm->next = aborted;
    aborted = comm;
    pthread_mutex_unlock(&live_lock);
}

bool gsh_nccl_comm_is_live(const struct ncclComm *comm)
{
    /* Most calls are for the same communicator as the thread's previous call. */
    static _Thread_local const struct ncclComm *found;
    static _Thread_local uint64_t found_at;
    if (comm != NULL && comm == found &&
        found_at == __atomic_load_n(&n_changes, __ATOMIC_RELAXED)) {
        return true;
    }
    pthread_mutex_lock(&live_lock);
    const struct ncclComm *c = live;
    while (c != NULL && c != comm) {
        c = c->next;
    }
    found = c;
    found_at = n_changes;
    pthread_mutex_unlock(&live_lock);
    return c != NULL;
}

void gsh_nccl_comms_for_each(void *pe, bool (*call)(const struct ncclComm *comm, void *arg),
                             void *arg)
{
    /* only tries: the thread that ends the job may hold the lock */
    if (pthread_mutex_trylock(&live_lock) != 0) {
        return;
    }
    for (const struct ncclComm *c = live; c != NULL; c = c->next) {
        /* acquire: pairs with the release in gsh_nccl_comm_end_call */
        if (__atomic_load_n(&c->result, __ATOMIC_ACQUIRE) != ncclInProgress && c->job != NULL &&
            c->job->pe == pe && call(c, arg)) {
            break;
        }
    }
    pthread_mutex_unlock(&live_lock);
}

int gsh_nccl_rank_of(const struct ncclComm *comm, int pe)
{
    int rank = comm->n_ranks - 1;
    while (rank >= 0 && comm->pe_of[rank] != pe) {
        rank--;
    }
    return rank;
}

/* ---- deaths ---- */

bool gsh_nccl_comm_is_lost(const struct ncclComm *comm)
{
    return gshmemx_layer_has_died(comm->job->pe, comm->pe_of, comm->n_ranks);
}

bool gsh_nccl_comm_misses_rank(struct ncclComm *comm)
{
    if (!gsh_nccl_comm_is_lost(comm)) {
        return false;
    }
    pthread_mutex_lock(&comm->job->lock);
    bool has_devcomms = comm->devcomms != NULL;
    pthread_mutex_unlock(&comm->job->lock);
    return has_devcomms || __atomic_load_n(&comm->is_refused, __ATOMIC_RELAXED) ||
           gshmemx_layer_has_left_lost(comm->job->pe);
}

/* While a communicator is being made, kernels wait only in the team `control_team`. */
static bool lose(struct ncclComm *comm, struct gsh_nccl_job *job)
{
    /* acquire: pairs with the release in fill of init/make.c */
    bool is_done =
        gshmemx_layer_lose_team(job->pe, __atomic_load_n(&comm->control_team, __ATOMIC_ACQUIRE));
    /* acquire: pairs with the release in gsh_nccl_comm_make */
    if (!__atomic_load_n(&comm->is_made, __ATOMIC_ACQUIRE)) {
        return is_done;
    }
    pthread_mutex_lock(&job->lock);
    for (const struct gsh_nccl_devcomm *d = comm->devcomms; d != NULL; d = d->next) {
        is_done = is_done && gshmemx_layer_lose(job->pe, d->range.base, d->range.bytes);
    }
    pthread_mutex_unlock(&job->lock);
    comm->has_left = true;
    is_done = is_done && gshmemx_layer_lose_team(job->pe, comm->team) &&
              gshmemx_layer_lose(job->pe, comm->range.base, comm->range.bytes);
    /* Other communicators of the two ranks may go on with what they share, unless one is dead. */
    if (comm->pieces.memory != NULL && (!comm->pieces.is_shared || gsh_nccl_comm_is_lost(comm))) {
        is_done = is_done &&
                  gshmemx_layer_lose(job->pe, comm->pieces.memory, gshmemx_layer_pieces_bytes());
    }
    return is_done;
}

void gsh_nccl_comm_hide(struct ncclComm *comm)
{
    pthread_mutex_lock(&live_lock);
    comm->has_left = true;
    pthread_mutex_unlock(&live_lock);
}

void gsh_nccl_comms_lose(void *pe, int dead)
{
    struct gsh_nccl_job *full = NULL;
    pthread_mutex_lock(&live_lock);
    for (struct ncclComm *c = live; c != NULL; c = c->next) {
        /* acquire: pairs with the store in gsh_nccl_comm_make */
        struct gsh_nccl_job *job = __atomic_load_n(&c->job, __ATOMIC_ACQUIRE);
        if (job != NULL && job->pe == pe && !c->has_left && gsh_nccl_rank_of(c, dead) >= 0 &&
            !lose(c, job)) {
            full = job;
        }
    }
    gsh_nccl_jobs_lose(pe, full != NULL);
    pthread_mutex_unlock(&live_lock);
}

bool gsh_nccl_comm_lose(struct ncclComm *comm)
{
    pthread_mutex_lock(&live_lock);
    bool is_done = comm->has_left || lose(comm, comm->job);
    gshmemx_layer_tell_lost(comm->job->pe);
    if (!is_done) {
        gsh_nccl_job_fill(comm->job);
    }
    pthread_mutex_unlock(&live_lock);
    return is_done;
}

ncclResult_t gsh_nccl_need_live(const char *call, const struct ncclComm *comm)
{
    if (comm == NULL || !gsh_nccl_comm_is_live(comm)) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             comm == NULL ? "%s: the communicator is NULL"
                                          : "%s: there is no such communicator, or not any more",
                             call);
    }
    return ncclSuccess;
}

ncclResult_t gsh_nccl_need_ready(const char *call, const struct ncclComm *comm)
{
    ncclResult_t r = gsh_nccl_need_live(call, comm);
    if (r != ncclSuccess) {
        return r;
    }
    /* acquire: pairs with the release in gsh_nccl_comm_end_call */
    int result = __atomic_load_n(&comm->result, __ATOMIC_ACQUIRE);
    if (result == ncclInProgress) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             "%s: an earlier call of the communicator is in progress: ask "
                             "ncclCommGetAsyncError first",
                             call);
    }
    if (comm->job == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: making the communicator has failed", call);
    }
    return ncclSuccess;
}

ncclResult_t gsh_nccl_need(const char *call, struct ncclComm *comm)
{
    ncclResult_t r = gsh_nccl_need_ready(call, comm);
    if (r == ncclSuccess && gsh_nccl_job_is_given_up(comm->job)) {
        return gsh_nccl_job_given_up(call, comm->job);
    }
    if (r == ncclSuccess && comm->is_revoked) {
        r = gsh_nccl_fail(ncclInvalidUsage, "%s: the communicator has been revoked", call);
    }
    if (r == ncclSuccess && gsh_nccl_comm_is_lost(comm)) {
        __atomic_store_n(&comm->is_refused, true, __ATOMIC_RELAXED);
        r = gsh_nccl_lost(call);
    }
    return r;
}

ncclResult_t gsh_nccl_need_open(const char *call, struct ncclComm *comm)
{
    ncclResult_t r = gsh_nccl_need(call, comm);
    return r == ncclSuccess && comm->is_finalized
               ? gsh_nccl_fail(ncclInvalidUsage, "%s: ncclCommFinalize has ended the communicator",
                               call)
               : r;
}

struct ncclComm *gsh_nccl_comm_begin(bool is_nonblocking)
{
    struct ncclComm *comm = calloc(1, sizeof(*comm));
    if (comm != NULL) {
        comm->team = comm->control_team = GSHMEM_TEAM_INVALID;
        comm->is_nonblocking = is_nonblocking;
        comm->result = ncclInProgress;
        remember(comm);
    }
    return comm;
}

void gsh_nccl_comm_end_call(struct ncclComm *comm, ncclResult_t result)
{
    if (result != ncclSuccess && result != ncclInProgress) {
        free(comm->error_text);
        comm->error_text = strdup(gsh_nccl_last_text());
    }
    /* release: pairs with the acquires of result in comm*.c; a thread that reads it sees what the
     * worker has made */
    __atomic_store_n(&comm->result, (int)result, __ATOMIC_RELEASE);
}

void gsh_nccl_comm_discard(struct ncclComm *comm)
{
    free(comm->error_text);
    free(comm);
}
