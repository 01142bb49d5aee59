/* SPDX-License-Identifier: Apache-2.0
 * Communicators whose ranks meet by a unique id: the first ones, and those that grow from another.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "dialects/nccl/base/worker.h"
#include "dialects/nccl/group/group.h"
#include "dialects/nccl/init/make.h"
#include "runtime/layer.h"

/* Learns which PE has which rank. */
static ncclResult_t exchange_ranks(const char *call, struct gsh_nccl_job *job, int rank, int *pe_of)
{
    int32_t own = rank;
    int32_t *rank_of = malloc((size_t)job->n_pes * sizeof(*rank_of));
    if (rank_of == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", call);
    }
    ncclResult_t r = gsh_nccl_exchange(call, job, job->control_team, &own, rank_of, sizeof(own));
    for (int i = 0; i < job->n_pes; i++) {
        pe_of[i] = -1;
    }
    for (int pe = 0; r == ncclSuccess && pe < job->n_pes; pe++) {
        bool is_rank = rank_of[pe] >= 0 && rank_of[pe] < job->n_pes;
        int other = is_rank ? pe_of[rank_of[pe]] : -1;
        if (!is_rank) {
            r = gsh_nccl_fail(ncclInvalidArgument, "%s: PE %d has rank %d of %d", call, pe,
                              rank_of[pe], job->n_pes);
        } else if (other >= 0) {
            r = gsh_nccl_fail(ncclInvalidArgument, "%s: rank %d is that of PE %d and of PE %d",
                              call, rank_of[pe], other, pe);
        } else {
            pe_of[rank_of[pe]] = pe;
        }
    }
    free(rank_of);
    return r;
}

/* With the PE's agreement lock held. */
static ncclResult_t make_of_all(const struct gsh_nccl_call *c,
                                const struct gsh_nccl_job_request *request,
                                struct gsh_nccl_job *job)
{
    int *pe_of = malloc((size_t)request->n_ranks * sizeof(*pe_of));
    ncclResult_t r = pe_of == NULL ? gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name)
                                   : exchange_ranks(c->name, job, request->rank, pe_of);
    if (r != ncclSuccess) {
        free(pe_of);
        return r;
    }
    return gsh_nccl_comm_make(c, job, pe_of, request->n_ranks, request->rank);
}

/* Makes a communicator of all of a job's PEs, the first in most jobs. */
static ncclResult_t make_first(const struct gsh_nccl_call *c,
                               const struct gsh_nccl_job_request *request)
{
    struct gsh_nccl_job *job = NULL;
    struct gshmemx_layer_scope scope;
    ncclResult_t r = gsh_nccl_job_get(c->name, request, &job);
    if (r != ncclSuccess) {
        gsh_nccl_worker_end(request->worker);
        return r;
    }
    gsh_nccl_enter(job, &scope);
    r = gsh_nccl_agreement_lock(c->name, job, job->control_team, NULL, 0);
    if (r == ncclSuccess) {
        r = make_of_all(c, request, job);
        gsh_nccl_agreement_unlock(job);
    }
    gsh_nccl_leave(&scope);
    if (r != ncclSuccess) {
        gsh_nccl_job_put(job);
    }
    return r;
}

static ncclResult_t run_init(const struct gsh_nccl_call *c)
{
    const struct gsh_nccl_birth *birth = &c->birth;
    const struct gsh_nccl_job_request request = {.n_ranks = birth->by_id.n_ranks,
                                                 .rank = birth->by_id.rank,
                                                 .device = birth->device,
                                                 .id = &birth->by_id.id,
                                                 .pe = birth->pe,
                                                 .maker = birth->maker,
                                                 .worker = birth->worker,
                                                 .is_new = birth->has_own_job};
    return make_first(c, &request);
}

/* is_new: as in gsh_nccl_job_request. */
static ncclResult_t init_on(const char *call, ncclComm_t *comm, int n_ranks, const ncclUniqueId *id,
                            int rank, int device, const ncclConfig_t *config, bool is_new)
{
    struct gsh_nccl_call c = {
        .name = call,
        .family = GSH_NCCL_BIRTH,
        .run = run_init,
        .agrees = true,
        .birth = {.new_comm = comm,
                  .is_nonblocking = gsh_nccl_config_is_nonblocking(config, NULL),
                  .has_own_job = is_new,
                  .pe = gshmemx_layer_pe(),
                  .maker = pthread_self(),
                  .device = device,
                  .by_id = {.n_ranks = n_ranks, .rank = rank, .has_id = true, .id = *id}}};
    return gsh_nccl_submit(ncclSuccess, &c);
}

static ncclResult_t init(const char *call, ncclComm_t *comm, int n_ranks, const ncclUniqueId *id,
                         int rank, const ncclConfig_t *config, bool is_new)
{
    ncclResult_t r = gsh_nccl_config_check(call, config);
    if (r == ncclSuccess &&
        (comm == NULL || id == NULL || n_ranks < 1 || rank < 0 || rank >= n_ranks)) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: communicator %p, rank %d of %d: not valid",
                          call, (void *)comm, rank, n_ranks);
    }
    return r == ncclSuccess ? init_on(call, comm, n_ranks, id, rank, gshmemx_layer_current_device(),
                                      config, is_new)
                            : gsh_nccl_refuse(r);
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank)
{
    return init("ncclCommInitRank", comm, nranks, &commId, rank, NULL, false);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t *config)
{
    return init("ncclCommInitRankConfig", comm, nranks, &commId, rank, config, false);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int nId,
                                      ncclUniqueId *commIds, ncclConfig_t *config)
{
    static const char call[] = "ncclCommInitRankScalable";
    if (nId < 1) {
        return gsh_nccl_refuse(gsh_nccl_fail(ncclInvalidArgument, "%s: %d ids", call, nId));
    }
    ncclResult_t r = init(call, comm, nranks, commIds, rank, config, false);
    /* Ranks need only the first one. */
    for (int i = 1; i < nId && (r == ncclSuccess || r == ncclInProgress); i++) {
        gsh_nccl_drop_id(&commIds[i]);
    }
    return r;
}

static ncclResult_t check_all(const char *call, const ncclComm_t *comm, int ndev,
                              const int *devlist)
{
    if (comm == NULL || ndev < 1) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: communicators %p, %d devices: not valid",
                             call, (const void *)comm, ndev);
    }
    for (int i = 0; devlist != NULL && i < ndev; i++) {
        for (int j = 0; j < i; j++) {
            if (devlist[i] == devlist[j]) {
                return gsh_nccl_fail(ncclInvalidUsage, "%s: device %d is given twice", call,
                                     devlist[i]);
            }
        }
    }
    return ncclSuccess;
}

ncclResult_t ncclCommInitAll(ncclComm_t *comm, int ndev, const int *devlist)
{
    static const char call[] = "ncclCommInitAll";
    ncclUniqueId id;
    ncclResult_t r = check_all(call, comm, ndev, devlist), end;
    if (r == ncclSuccess) {
        r = ncclGetUniqueId(&id);
    }
    if (r != ncclSuccess) {
        return gsh_nccl_refuse(r);
    }
    (void)ncclGroupStart();
    for (int i = 0; i < ndev && r == ncclSuccess; i++) {
        r = init_on(call, &comm[i], ndev, &id, i, devlist != NULL ? devlist[i] : i, NULL, false);
    }
    end = ncclGroupEnd();
    return r != ncclSuccess ? r : end;
}

/* ---- growing ---- */

/* Some ranks have the id, others do not; afterwards all have the id of the first rank with one. */
static ncclResult_t share_id(const struct gsh_nccl_call *c, ncclUniqueId *id)
{
    struct ncclComm *parent = c->comm;
    enum { PARTS = sizeof(*id) / GSH_NCCL_EXCHANGE_BYTES };
    int32_t has_id = c->birth.by_id.has_id, first = 0;
    char *all = malloc((size_t)parent->n_ranks * GSH_NCCL_EXCHANGE_BYTES);
    if (all == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name);
    }
    ncclResult_t r =
        gsh_nccl_exchange(c->name, parent->job, parent->control_team, &has_id, all, sizeof(has_id));
    while (r == ncclSuccess && first < parent->n_ranks && ((int32_t *)(void *)all)[first] == 0) {
        first++;
    }
    if (r == ncclSuccess && first == parent->n_ranks) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: no rank of the communicator has given the id",
                          c->name);
    }
    for (int part = 0; r == ncclSuccess && part < PARTS; part++) {
        size_t at = (size_t)part * GSH_NCCL_EXCHANGE_BYTES;
        r = gsh_nccl_exchange(c->name, parent->job, parent->control_team,
                              c->birth.by_id.id.internal + at, all, GSH_NCCL_EXCHANGE_BYTES);
        memcpy(id->internal + at, all + (size_t)first * GSH_NCCL_EXCHANGE_BYTES,
               GSH_NCCL_EXCHANGE_BYTES);
    }
    free(all);
    return r;
}

static ncclResult_t run_grow(const struct gsh_nccl_call *c)
{
    ncclUniqueId id = {0};
    ncclResult_t r = gsh_nccl_agreement_lock(c->name, c->comm->job, c->comm->control_team, NULL, 0);
    if (r == ncclSuccess) {
        r = share_id(c, &id);
        gsh_nccl_agreement_unlock(c->comm->job);
    }
    if (r != ncclSuccess) {
        gsh_nccl_worker_end(c->birth.worker);
        return r;
    }
    const struct gsh_nccl_job_request request = {.n_ranks = c->birth.by_id.n_ranks,
                                                 .rank = c->comm->rank,
                                                 .device = c->birth.device,
                                                 .id = &id,
                                                 .maker = c->birth.maker,
                                                 .worker = c->birth.worker,
                                                 .is_new = true};
    return make_first(c, &request);
}

ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId *uniqueId)
{
    ncclResult_t r = gsh_nccl_need_open("ncclCommGetUniqueId", comm);
    return r == ncclSuccess ? ncclGetUniqueId(uniqueId) : r;
}

ncclResult_t ncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId *uniqueId, int rank,
                          ncclComm_t *newcomm, ncclConfig_t *config)
{
    static const char call[] = "ncclCommGrow";
    if (comm == NULL) {
        return init(call, newcomm, nRanks, uniqueId, rank, config, true);
    }
    ncclResult_t r = gsh_nccl_need_open(call, comm);
    if (r == ncclSuccess) {
        r = gsh_nccl_config_check(call, config);
    }
    if (r == ncclSuccess &&
        (newcomm == NULL || nRanks <= comm->n_ranks || (rank != -1 && rank != comm->rank))) {
        r = gsh_nccl_fail(ncclInvalidArgument,
                          "%s: from %d ranks to %d, rank %d, communicator %p: not valid", call,
                          comm->n_ranks, nRanks, rank, (void *)newcomm);
    }
    if (r != ncclSuccess) {
        return gsh_nccl_refuse(r);
    }
    struct gsh_nccl_call c = {
        .name = call,
        .family = GSH_NCCL_BIRTH,
        .run = run_grow,
        .comm = comm,
        .agrees = true,
        .birth = {.new_comm = newcomm,
                  .is_nonblocking = gsh_nccl_config_is_nonblocking(config, comm),
                  .has_own_job = true,
                  .maker = pthread_self(),
                  .device = gshmemx_layer_current_device(),
                  .by_id = {.n_ranks = nRanks, .has_id = uniqueId != NULL}}};
    if (uniqueId != NULL) {
        c.birth.by_id.id = *uniqueId;
    }
    return gsh_nccl_submit(r, &c);
}
