/* SPDX-License-Identifier: Apache-2.0
 * A communicator's end: finalize, destroy, abort, revoke. */
#include "dialects/nccl/init/end.h"

#include <pthread.h>
#include <stdlib.h>
#include "dialects/nccl/base/copier.h"
#include "dialects/nccl/base/worker.h"
#include "dialects/nccl/comm/clique.h"
#include "dialects/nccl/comm/parting.h"
#include "dialects/nccl/group/group.h"
#include "dialects/nccl/init/make.h"
#include "dialects/nccl/init/settle.h"
#include "dialects/nccl/window/devcomm.h"
#include "dialects/nccl/window/window.h"
#include "gshmem.h"
#include "runtime/layer.h"

static ncclResult_t need_no_group(const char *call, const struct ncclComm *comm)
{
    return gsh_nccl_is_awaited(comm)
               ? gsh_nccl_fail(ncclInvalidUsage, "%s: an open group has calls of the communicator",
                               call)
               : ncclSuccess;
}

/* ---- finalize ---- */

static ncclResult_t finalize(const struct gsh_nccl_call *c)
{
    struct ncclComm *comm = c->comm;
    uint64_t *all = malloc((size_t)comm->n_ranks * sizeof(*all));
    ncclResult_t r = all == NULL ? gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name)
                                 : gsh_nccl_exchange(c->name, comm->job, comm->control_team,
                                                     &comm->marks, all, sizeof(*all));
    if (r == ncclSuccess) {
        r = gsh_nccl_windows_compare(c->name, comm, all, sizeof(*all));
    }
    free(all);
    if (r == ncclSuccess) {
        r = gsh_nccl_barrier(c->name, comm->job, comm->control_team);
    }
    return r;
}

static ncclResult_t run_finalize(const struct gsh_nccl_call *c)
{
    struct gsh_nccl_job *job = c->comm->job;
    if (c->comm->is_deserted || gsh_nccl_part_together(c->name, c->comm, GSH_NCCL_FINALIZES)) {
        c->comm->is_finalized = true; /* nothing is left to be waited for */
        return ncclSuccess;
    }
    ncclResult_t r = gsh_nccl_agreement_lock(c->name, job, c->comm->control_team, NULL, 0);
    if (r == ncclSuccess) {
        r = finalize(c);
        gsh_nccl_agreement_unlock(job);
    }
    if (r != ncclSuccess && gsh_nccl_comm_is_lost(c->comm)) {
        r = ncclSuccess; /* nothing is left to be waited for */
    }
    c->comm->is_finalized = r == ncclSuccess;
    return r;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    static const char call[] = "ncclCommFinalize";
    ncclResult_t r = gsh_nccl_need_ready(call, comm);
    if (r == ncclSuccess) {
        r = need_no_group(call, comm);
    }
    if (r == ncclSuccess && gsh_nccl_job_is_given_up(comm->job)) {
        r = gsh_nccl_job_given_up(call, comm->job);
    }
    if (r != ncclSuccess) {
        return gsh_nccl_refuse(r);
    }
    gsh_nccl_settle(call, comm);
    if (comm->clique != NULL || gsh_nccl_comm_is_lost(comm)) {
        comm->is_finalized = true; /* the other ranks' calls come later; destroying waits for all */
        return ncclSuccess;
    }
    struct gsh_nccl_call c = {.name = call, .run = run_finalize, .comm = comm, .agrees = true};
    return gsh_nccl_submit(r, &c);
}

/* ---- destroy and abort ---- */

/* May run on any thread. No other thread knows the communicator any more. If the process of a rank
 * has died, or it has aborted, the others do not synchronise and may still write to the
 * communicator's memory, so that is kept. */
static void end(struct ncclComm *comm)
{
    struct gshmemx_layer_scope scope;
    struct gsh_nccl_job *job = comm->job;
    struct gsh_nccl_clique *clique = comm->clique;
    gsh_nccl_enter(job, &scope);
    bool is_kept =
        comm->is_deserted || gsh_nccl_part_together("ncclCommDestroy", comm, GSH_NCCL_DESTROYS);
    if (is_kept) {
        __atomic_store_n(&job->has_lost_rank, true, __ATOMIC_RELAXED);
    }
    is_kept = is_kept || gsh_nccl_comm_is_lost(comm) ||
              !gsh_nccl_agreement_trylock("ncclCommDestroy", job, comm->control_team, NULL, 0);
    if (!is_kept) {
        if (!comm->is_finalized || clique != NULL) {
            (void)gshmem_barrier(comm->control_team);
        }
        is_kept = gsh_nccl_comm_is_lost(comm);
        if (!is_kept) {
            gsh_nccl_comm_unmake(comm);
        }
        gsh_nccl_agreement_unlock(job);
    }
    gsh_nccl_leave(&scope);
    if (is_kept) {
        gsh_nccl_comm_keep(comm);
    } else {
        gsh_nccl_comm_discard(comm);
    }
    gsh_nccl_job_put(job);
    if (clique != NULL) {
        gsh_nccl_clique_done(clique);
    }
}

struct ending {
    struct gsh_nccl_task task; /* first */
    struct ncclComm *comm;
};

static void run_end(struct gsh_nccl_task *task)
{
    struct ending *e = (struct ending *)task;
    end(e->comm);
    if (!task->is_awaited) {
        free(e);
    }
}

static void drain_at_exit(void)
{
    gsh_nccl_workers_drain();
}

static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

static void register_exit_handler(void)
{
    atexit(drain_at_exit);
}

/* Leaves the end to the communicator's worker. A thread with several ranks destroys their
 * communicators one after the other, and the last destroy waits for all of them. For non-blocking
 * communicators only the process's exit waits. */
static ncclResult_t end_by_worker(const char *call, struct ncclComm *comm)
{
    struct gsh_nccl_worker *worker = gsh_nccl_job_worker(comm->job);
    struct gsh_nccl_clique *clique = comm->clique;
    struct ending *e = calloc(1, sizeof(*e));
    if (e == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", call);
    }
    /* The program may finalize its own job next, so the end in such a job is awaited. */
    bool is_awaited = clique == NULL && (!comm->is_nonblocking || !comm->job->is_ours);
    bool is_last = clique != NULL && gsh_nccl_clique_let_go(clique);
    *e = (struct ending){.task = {.run = run_end, .is_awaited = is_awaited}, .comm = comm};
    pthread_once(&exit_once, register_exit_handler);
    gsh_nccl_comm_forget(comm);
    gsh_nccl_worker_post(worker, &e->task);
    if (is_last) {
        gsh_nccl_clique_wait(clique);
    }
    if (is_awaited) {
        gsh_nccl_worker_wait(worker, &e->task);
        free(e);
    }
    return ncclSuccess;
}

/* May run on any thread, whatever other threads do with the communicator. */
static ncclResult_t abort_comm(const char *call, struct ncclComm *comm)
{
    if (!gsh_nccl_comm_forget(comm)) {
        return gsh_nccl_need_live(call, comm);
    }
    /* acquire: pairs with the release in gsh_nccl_comm_end_call */
    bool is_in_progress = __atomic_load_n(&comm->result, __ATOMIC_ACQUIRE) == ncclInProgress;
    if (comm->clique != NULL) { /* the other ranks no longer wait for this one */
        (void)gsh_nccl_clique_let_go(comm->clique);
        gsh_nccl_clique_done(comm->clique);
    }
    /* seq_cst, as is gsh_nccl_comm_make, which stores job and then loads is_aborted: at least one
     * of the two sees the other's store */
    __atomic_store_n(&comm->is_aborted, true, __ATOMIC_SEQ_CST);
    struct gsh_nccl_job *job = __atomic_load_n(&comm->job, __ATOMIC_SEQ_CST);
    if (job == NULL && !is_in_progress) {
        gsh_nccl_comm_discard(comm);
        return ncclSuccess;
    }
    /* Nothing waits in it any more, or whatever does will soon leave: the job's other communicators
     * go on. */
    bool is_over = job != NULL && !is_in_progress && job->is_ours &&
                   !gsh_nccl_job_is_given_up(job) &&
                   (comm->is_revoked || gsh_nccl_comm_is_lost(comm));
    if (job != NULL && !is_in_progress) {
        gsh_nccl_part(comm, GSH_NCCL_GIVES_UP);
    }
    gsh_nccl_comm_keep(comm);
    if (is_over && (comm->is_revoked || gsh_nccl_comm_lose(comm)) && gsh_nccl_job_put_early(job)) {
        return ncclSuccess;
    }
    if (job != NULL) {
        gsh_nccl_job_give_up(job);
        gsh_nccl_part_all(job);
        /* It may be in a launch that waits for kernels, and these leave now. */
        gsh_nccl_copier_stop(gsh_nccl_job_copier(job));
    }
    gsh_nccl_worker_give_up(comm->worker);
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    static const char call[] = "ncclCommDestroy";
    if (comm == NULL) {
        return ncclSuccess;
    }
    ncclResult_t r = gsh_nccl_need_live(call, comm);
    /* acquire: pairs with the release in gsh_nccl_comm_end_call */
    if (r == ncclSuccess && __atomic_load_n(&comm->result, __ATOMIC_ACQUIRE) == ncclInProgress) {
        r = gsh_nccl_need_ready(call, comm);
    }
    if (r == ncclSuccess) {
        r = need_no_group(call, comm);
    }
    if (r != ncclSuccess) {
        return r;
    }
    if (comm->job == NULL || gsh_nccl_job_is_given_up(comm->job)) {
        return abort_comm(call, comm); /* it was never made, or has been abandoned */
    }
    gsh_nccl_settle(call, comm);
    if (gsh_nccl_job_worker(comm->job) != NULL) {
        return end_by_worker(call, comm);
    }
    gsh_nccl_comm_forget(comm);
    end(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    static const char call[] = "ncclCommAbort";
    ncclResult_t r = gsh_nccl_need_live(call, comm);
    return r == ncclSuccess ? abort_comm(call, comm) : r;
}

/* ---- revoke ---- */

void gsh_nccl_comm_revoke(struct ncclComm *comm)
{
    comm->is_revoked = true;
    gsh_nccl_job_interrupt(comm->job);
    comm->chain.has_call = 0;
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags)
{
    static const char call[] = "ncclCommRevoke";
    ncclResult_t r = gsh_nccl_need_ready(call, comm);
    if (r == ncclSuccess && revokeFlags != NCCL_REVOKE_DEFAULT) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: flags 0x%x: not valid", call,
                          (unsigned)revokeFlags);
    }
    if (r == ncclSuccess) {
        r = need_no_group(call, comm);
    }
    if (r == ncclSuccess && gsh_nccl_job_is_given_up(comm->job)) {
        r = gsh_nccl_job_given_up(call, comm->job);
    }
    if (r == ncclSuccess) {
        gsh_nccl_comm_revoke(comm);
    }
    return r;
}
