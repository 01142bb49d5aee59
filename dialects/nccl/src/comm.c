/* SPDX-License-Identifier: Apache-2.0
 * Making, asking and ending communicators. */
#include "dialects/nccl/src/comm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "dialects/nccl/src/group.h"
#include "gshmem.h"
#include "gshmemx.h"
#include "runtime/layer.h"

/* ---- those that live ---- */

static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ncclComm *live;

static void remember(struct ncclComm *comm)
{
    pthread_mutex_lock(&live_lock);
    comm->next = live;
    live = comm;
    pthread_mutex_unlock(&live_lock);
}

static void forget(struct ncclComm *comm)
{
    pthread_mutex_lock(&live_lock);
    for (struct ncclComm **p = &live; *p != NULL; p = &(*p)->next) {
        if (*p == comm) {
            *p = comm->next;
            break;
        }
    }
    pthread_mutex_unlock(&live_lock);
}

static bool is_live(const struct ncclComm *comm)
{
    pthread_mutex_lock(&live_lock);
    const struct ncclComm *c = live;
    while (c != NULL && c != comm) {
        c = c->next;
    }
    pthread_mutex_unlock(&live_lock);
    return c != NULL;
}

ncclResult_t gsh_nccl_need(const char *call, const struct ncclComm *comm)
{
    if (comm == NULL || !is_live(comm)) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             comm == NULL ? "%s: the communicator is NULL"
                                          : "%s: there is no such communicator, or not any more",
                             call);
    }
    if (gshmemx_init_status() == GSHMEM_STATUS_NOT_INITIALIZED) {
        return gsh_nccl_fail(ncclInvalidUsage, "%s: gshmem does not run in this thread", call);
    }
    if (gshmem_my_pe() != comm->job->my_pe) {
        return gsh_nccl_fail(ncclInvalidUsage, "%s: the communicator is another PE's", call);
    }
    return ncclSuccess;
}

/* Of the whole device: the program may have destroyed the stream. */
void gsh_nccl_enter_stream(struct ncclComm *comm, cudaStream_t stream)
{
    if (comm->has_stream && comm->stream != stream) {
        gshmemx_layer_synchronize();
    }
    comm->stream = stream;
    comm->has_stream = true;
}

/* ---- making ---- */

/* Takes what a half-made communicator has, too. Collective, but when is_abort. */
static void destroy(struct ncclComm *comm, bool is_abort)
{
    gsh_nccl_windows_free(comm, is_abort);
    gsh_nccl_devcomms_free(comm);
    if (comm->range_bytes > 0) {
        gsh_nccl_give(comm->job, comm->range_off, comm->range_bytes);
    }
    if (!is_abort && comm->team != GSHMEM_TEAM_INVALID) {
        gshmem_team_destroy(comm->team);
    }
    if (!is_abort && comm->meet != GSHMEM_TEAM_INVALID) {
        gshmem_team_destroy(comm->meet);
    }
    free(comm->transfers);
    free(comm->awaited);
    free(comm->pe_of);
    free(comm);
}

/* A communicator of these PEs, which this takes over; collective over them. The job counts it. */
static ncclResult_t make(const char *call, struct gsh_nccl_job *job, int *pe_of, int n_ranks,
                         int rank, ncclComm_t *out)
{
    struct ncclComm *comm = calloc(1, sizeof(*comm));
    if (comm == NULL) {
        free(pe_of);
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", call);
    }
    *comm = (struct ncclComm){.job = job,
                              .team = GSHMEM_TEAM_INVALID,
                              .meet = GSHMEM_TEAM_INVALID,
                              .rank = rank,
                              .n_ranks = n_ranks,
                              .pe_of = pe_of};
    comm->awaited = calloc((size_t)n_ranks, sizeof(*comm->awaited));
    if (comm->awaited == NULL) {
        destroy(comm, false);
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", call);
    }
    int error = gshmemx_team_create(pe_of, n_ranks, NULL, 0, &comm->meet);
    if (error == 0) {
        error = gshmemx_team_create(pe_of, n_ranks, NULL, 0, &comm->team);
    }
    ncclResult_t r = gsh_nccl_base(call, error);
    if (r == ncclSuccess) {
        r = gsh_nccl_find_lsa(call, comm);
    }
    if (r == ncclSuccess) {
        r = gsh_nccl_take_range(call, comm);
    }
    if (r != ncclSuccess) {
        destroy(comm, false);
        return r;
    }
    remember(comm);
    *out = comm;
    return ncclSuccess;
}

/* What the config says is consistent; its hints are not looked at. */
static ncclResult_t check_config(const char *call, const ncclConfig_t *config)
{
    if (config == NULL) {
        return ncclSuccess;
    }
    if (config->magic != NCCL_API_MAGIC || config->size < offsetof(ncclConfig_t, cgaClusterSize) ||
        config->version < 21400) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             "%s: the config (size %zu, magic 0x%x, version %u) was not made by "
                             "NCCL_CONFIG_INITIALIZER",
                             call, config->size, config->magic, config->version);
    }
    if (config->size > sizeof(ncclConfig_t)) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: the config is newer than this library",
                             call);
    }
    if (config->blocking != NCCL_CONFIG_UNDEF_INT && config->blocking != 0 &&
        config->blocking != 1) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: blocking is %d in the config", call,
                             config->blocking);
    }
    return ncclSuccess;
}

/* Which PE has which rank. */
static ncclResult_t meet_ranks(const char *call, struct gsh_nccl_job *job, int rank, int *pe_of)
{
    int32_t own = rank;
    int32_t *rank_of = malloc((size_t)job->n_pes * sizeof(*rank_of));
    if (rank_of == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", call);
    }
    ncclResult_t r = gsh_nccl_exchange(call, job, GSHMEM_TEAM_WORLD, &own, rank_of, sizeof(own));
    for (int i = 0; i < job->n_pes; i++) {
        pe_of[i] = -1;
    }
    for (int pe = 0; r == ncclSuccess && pe < job->n_pes; pe++) {
        int other = pe_of[rank_of[pe]];
        if (other >= 0) {
            r = gsh_nccl_fail(ncclInvalidArgument, "%s: rank %d is that of PE %d and of PE %d",
                              call, rank_of[pe], other, pe);
        } else {
            pe_of[rank_of[pe]] = pe;
        }
    }
    free(rank_of);
    return r;
}

static ncclResult_t run_init(const struct gsh_nccl_call *c)
{
    struct gsh_nccl_job *job = NULL;
    int n_ranks = c->a, rank = c->b;
    ncclResult_t r = gsh_nccl_job_get(c->name, n_ranks, &c->id, rank, &job);
    if (r != ncclSuccess) {
        return r;
    }
    int *pe_of = malloc((size_t)n_ranks * sizeof(*pe_of));
    if (pe_of == NULL) {
        r = gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name);
    } else {
        r = meet_ranks(c->name, job, rank, pe_of);
    }
    if (r == ncclSuccess) {
        r = make(c->name, job, pe_of, n_ranks, rank, c->new_comm);
    } else {
        free(pe_of);
    }
    if (r != ncclSuccess) {
        (void)gsh_nccl_job_put(c->name, job);
    }
    return r;
}

static ncclResult_t init(const char *call, ncclComm_t *comm, int n_ranks, const ncclUniqueId *id,
                         int rank, ncclConfig_t *config)
{
    ncclResult_t r = check_config(call, config);
    if (r != ncclSuccess) {
        return r;
    }
    if (comm == NULL || id == NULL || n_ranks < 1 || rank < 0 || rank >= n_ranks) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: communicator %p, rank %d of %d: not valid",
                             call, (void *)comm, rank, n_ranks);
    }
    struct gsh_nccl_call c = {
        .name = call, .run = run_init, .id = *id, .new_comm = comm, .a = n_ranks, .b = rank};
    return gsh_nccl_submit(&c);
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank)
{
    return init("ncclCommInitRank", comm, nranks, &commId, rank, NULL);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t *config)
{
    return init("ncclCommInitRankConfig", comm, nranks, &commId, rank, config);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int nId,
                                      ncclUniqueId *commIds, ncclConfig_t *config)
{
    static const char call[] = "ncclCommInitRankScalable";
    if (nId < 1) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: %d ids", call, nId);
    }
    return init(call, comm, nranks, commIds, rank, config);
}

ncclResult_t ncclCommInitAll(ncclComm_t *comm, int ndev, const int *devlist)
{
    static const char call[] = "ncclCommInitAll";
    ncclUniqueId id;
    if (ndev != 1) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: %d devices in one thread are not supported: a rank is a thread "
                             "or a process",
                             call, ndev);
    }
    (void)devlist; /* the current device is the rank's */
    ncclResult_t r = ncclGetUniqueId(&id);
    return r != ncclSuccess ? r : init(call, comm, 1, &id, 0, NULL);
}

/* ---- splitting ---- */

struct choice {
    int32_t color, key, rank;
};

static int by_key(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->rank > y->rank) - (x->rank < y->rank);
}

static ncclResult_t run_split(const struct gsh_nccl_call *c)
{
    struct ncclComm *parent = c->comm;
    struct choice own = {c->a, c->b, parent->rank};
    struct choice *all = malloc((size_t)parent->n_ranks * sizeof(*all));
    int *pe_of = malloc((size_t)parent->n_ranks * sizeof(*pe_of));
    ncclResult_t r =
        all == NULL || pe_of == NULL
            ? gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name)
            : gsh_nccl_exchange(c->name, parent->job, parent->meet, &own, all, sizeof(own));
    int n = 0, rank = -1;
    for (int i = 0; r == ncclSuccess && i < parent->n_ranks; i++) {
        if (all[i].color == own.color) {
            all[n++] = all[i];
        }
    }
    if (r != ncclSuccess || own.color == NCCL_SPLIT_NOCOLOR) {
        free(all);
        free(pe_of);
        *c->new_comm = NULL;
        return r;
    }
    qsort(all, (size_t)n, sizeof(*all), by_key);
    for (int i = 0; i < n; i++) {
        pe_of[i] = parent->pe_of[all[i].rank];
        rank = all[i].rank == parent->rank ? i : rank;
    }
    free(all);
    parent->job->n_comms++;
    r = make(c->name, parent->job, pe_of, n, rank, c->new_comm);
    parent->job->n_comms -= r != ncclSuccess;
    return r;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
                           ncclConfig_t *config)
{
    static const char call[] = "ncclCommSplit";
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r == ncclSuccess) {
        r = check_config(call, config);
    }
    if (r != ncclSuccess) {
        return r;
    }
    if (newcomm == NULL || (color < 0 && color != NCCL_SPLIT_NOCOLOR)) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: color %d, communicator %p: not valid", call,
                             color, (void *)newcomm);
    }
    struct gsh_nccl_call c = {
        .name = call, .run = run_split, .comm = comm, .new_comm = newcomm, .a = color, .b = key};
    return gsh_nccl_submit(&c);
}

/* c->out: of each rank whether it is left out; freed here. */
static ncclResult_t run_shrink(const struct gsh_nccl_call *c)
{
    struct ncclComm *parent = c->comm;
    bool *is_out = c->out;
    int *pe_of = malloc((size_t)parent->n_ranks * sizeof(*pe_of));
    int n = 0, rank = -1;
    if (pe_of == NULL) {
        free(is_out);
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name);
    }
    for (int i = 0; i < parent->n_ranks; i++) {
        if (!is_out[i]) {
            rank = i == parent->rank ? n : rank;
            pe_of[n++] = parent->pe_of[i];
        }
    }
    free(is_out);
    parent->job->n_comms++;
    ncclResult_t r = make(c->name, parent->job, pe_of, n, rank, c->new_comm);
    parent->job->n_comms -= r != ncclSuccess;
    return r;
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int *excludeRanksList, int excludeRanksCount,
                            ncclComm_t *newcomm, ncclConfig_t *config, int shrinkFlags)
{
    static const char call[] = "ncclCommShrink";
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r == ncclSuccess) {
        r = check_config(call, config);
    }
    if (r != ncclSuccess) {
        return r;
    }
    if (newcomm == NULL || excludeRanksList == NULL || excludeRanksCount < 1 ||
        excludeRanksCount >= comm->n_ranks) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: %d ranks of %d to leave out: not valid",
                             call, excludeRanksCount, comm->n_ranks);
    }
    if (shrinkFlags != NCCL_SHRINK_DEFAULT) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: flags 0x%x: a job that has lost a rank ends; nothing is there to "
                             "shrink it to",
                             call, (unsigned)shrinkFlags);
    }
    bool *is_out = calloc((size_t)comm->n_ranks, sizeof(*is_out));
    if (is_out == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", call);
    }
    for (int i = 0; i < excludeRanksCount; i++) {
        int rank = excludeRanksList[i];
        if (rank < 0 || rank >= comm->n_ranks || rank == comm->rank || is_out[rank]) {
            free(is_out);
            return gsh_nccl_fail(ncclInvalidArgument,
                                 "%s: rank %d to leave out: not there, given twice, or the caller",
                                 call, rank);
        }
        is_out[rank] = true;
    }
    struct gsh_nccl_call c = {
        .name = call, .run = run_shrink, .comm = comm, .new_comm = newcomm, .out = is_out};
    return gsh_nccl_submit(&c);
}

/* ---- ending ---- */

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    static const char call[] = "ncclCommFinalize";
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r == ncclSuccess && gsh_nccl_is_awaited(comm)) {
        r = gsh_nccl_fail(ncclInvalidUsage, "%s: an open group has calls of the communicator",
                          call);
    }
    if (r != ncclSuccess) {
        return r;
    }
    if (comm->has_stream) {
        gshmemx_layer_synchronize();
        comm->has_stream = false;
    }
    r = gsh_nccl_base(call, gshmem_barrier(comm->meet));
    comm->is_finalized = r == ncclSuccess;
    return r;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    static const char call[] = "ncclCommDestroy";
    if (comm == NULL) {
        return ncclSuccess;
    }
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r == ncclSuccess && (!comm->is_finalized || gsh_nccl_is_awaited(comm))) {
        r = ncclCommFinalize(comm);
    }
    if (r != ncclSuccess) {
        return r;
    }
    struct gsh_nccl_job *job = comm->job;
    forget(comm);
    destroy(comm, false);
    return gsh_nccl_job_put(call, job);
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    ncclResult_t r = gsh_nccl_need("ncclCommAbort", comm);
    if (r == ncclSuccess) {
        forget(comm);
        /* The job keeps the count of it, so that nobody waits for the others in its end. */
        destroy(comm, true);
    }
    return r;
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags)
{
    (void)comm;
    return gsh_nccl_fail(ncclInvalidUsage, "ncclCommRevoke (flags %d): not supported", revokeFlags);
}

/* ---- asking ---- */

static ncclResult_t answer(const char *call, const struct ncclComm *comm, const void *out)
{
    ncclResult_t r = gsh_nccl_need(call, comm);
    return r == ncclSuccess && out == NULL
               ? gsh_nccl_fail(ncclInvalidArgument, "%s: the result's place is NULL", call)
               : r;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    ncclResult_t r = answer("ncclCommCount", comm, count);
    if (r == ncclSuccess) {
        *count = comm->n_ranks;
    }
    return r;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    ncclResult_t r = answer("ncclCommUserRank", comm, rank);
    if (r == ncclSuccess) {
        *rank = comm->rank;
    }
    return r;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    ncclResult_t r = answer("ncclCommCuDevice", comm, device);
    if (r == ncclSuccess) {
        *device = gshmemx_layer_cuda_device();
    }
    return r;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError)
{
    ncclResult_t r = answer("ncclCommGetAsyncError", comm, asyncError);
    if (r == ncclSuccess) {
        *asyncError = ncclSuccess;
    }
    return r;
}
