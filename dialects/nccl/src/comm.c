/* SPDX-License-Identifier: Apache-2.0
 * Making, asking and ending communicators. */
#include "dialects/nccl/src/comm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "dialects/nccl/src/coll.h"
#include "dialects/nccl/src/group.h"
#include "dialects/nccl/src/worker.h"
#include "gshmem.h"
#include "gshmemx.h"
#include "runtime/layer.h"

/* ---- those that live ---- */

static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ncclComm *live;
/* Aborted ones. Kernels and threads may be at work on them still, so they are kept. */
static struct ncclComm *aborted;

static void remember(struct ncclComm *comm)
{
    pthread_mutex_lock(&live_lock);
    comm->next = live;
    live = comm;
    pthread_mutex_unlock(&live_lock);
}

/* Whether it lived. */
static bool forget(struct ncclComm *comm)
{
    pthread_mutex_lock(&live_lock);
    struct ncclComm **p = &live;
    while (*p != NULL && *p != comm) {
        p = &(*p)->next;
    }
    bool was_live = *p != NULL;
    if (was_live) {
        *p = comm->next;
    }
    pthread_mutex_unlock(&live_lock);
    return was_live;
}

static void keep(struct ncclComm *comm)
{
    pthread_mutex_lock(&live_lock);
    comm->next = aborted;
    aborted = comm;
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

/* The lock is tried only: the thread that ends the job may hold it. */
static void explain(void *pe, const void *address, int peer, char *text, size_t bytes)
{
    if (pthread_mutex_trylock(&live_lock) != 0) {
        return;
    }
    for (const struct ncclComm *c = live; c != NULL; c = c->next) {
        if (__atomic_load_n(&c->result, __ATOMIC_ACQUIRE) != ncclInProgress && c->job != NULL &&
            c->job->pe == pe && gsh_nccl_explain(c, address, peer, text, bytes)) {
            break;
        }
    }
    pthread_mutex_unlock(&live_lock);
}

/* Lives, at least. */
static ncclResult_t need_live(const char *call, const struct ncclComm *comm)
{
    if (comm == NULL || !is_live(comm)) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             comm == NULL ? "%s: the communicator is NULL"
                                          : "%s: there is no such communicator, or not any more",
                             call);
    }
    return ncclSuccess;
}

/* And has been made, and nothing of it is in progress. */
static ncclResult_t need_ready(const char *call, const struct ncclComm *comm)
{
    ncclResult_t r = need_live(call, comm);
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

/* And no open group waits for it. */
static ncclResult_t need_no_group(const char *call, const struct ncclComm *comm)
{
    return gsh_nccl_is_awaited(comm)
               ? gsh_nccl_fail(ncclInvalidUsage, "%s: an open group has calls of the communicator",
                               call)
               : ncclSuccess;
}

ncclResult_t gsh_nccl_need(const char *call, const struct ncclComm *comm)
{
    ncclResult_t r = need_ready(call, comm);
    if (r == ncclSuccess && gsh_nccl_job_is_given_up(comm->job)) {
        return gsh_nccl_given_up(call);
    }
    return r == ncclSuccess && comm->is_revoked
               ? gsh_nccl_fail(ncclInvalidUsage, "%s: the communicator has been revoked", call)
               : r;
}

struct ncclComm *gsh_nccl_comm_begin(bool is_nonblocking)
{
    struct ncclComm *comm = calloc(1, sizeof(*comm));
    if (comm != NULL) {
        comm->team = comm->meet = GSHMEM_TEAM_INVALID;
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
    /* release: pairs with the acquire in need_ready; what the worker made is there */
    __atomic_store_n(&comm->result, (int)result, __ATOMIC_RELEASE);
}

/* ---- crews ---- */

struct gsh_nccl_crew {
    pthread_mutex_t lock;
    pthread_cond_t all_gone;
    int n_kept;   /* not destroyed by the program */
    int n_undone; /* not gone */
};

void gsh_nccl_crew_make(struct ncclComm *const *comms, int n)
{
    struct gsh_nccl_crew *crew = calloc(1, sizeof(*crew));
    if (crew == NULL) {
        return;
    }
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->all_gone, NULL);
    crew->n_kept = crew->n_undone = n;
    for (int i = 0; i < n; i++) {
        comms[i]->crew = crew;
    }
}

/* The program is done with one of it; whether it was the last. */
static bool crew_let_go(struct gsh_nccl_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    bool is_last = --crew->n_kept == 0;
    pthread_mutex_unlock(&crew->lock);
    return is_last;
}

static void crew_done(struct gsh_nccl_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    if (--crew->n_undone == 0) {
        pthread_cond_signal(&crew->all_gone);
    }
    pthread_mutex_unlock(&crew->lock);
}

/* After the last one has been let go. */
static void crew_wait(struct gsh_nccl_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    while (crew->n_undone > 0) {
        pthread_cond_wait(&crew->all_gone, &crew->lock);
    }
    pthread_mutex_unlock(&crew->lock);
    pthread_cond_destroy(&crew->all_gone);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

/* An error of CUDA in these comes back from the launch that follows. */
void gsh_nccl_enter_stream(struct ncclComm *comm, cudaStream_t stream)
{
    int settle = 0;
    (void)gsh_nccl_stream_ops()->enter(&comm->trail, stream, &settle);
    if (settle) {
        gshmemx_layer_synchronize();
    }
}

void gsh_nccl_leave_stream(struct ncclComm *comm)
{
    if (comm->trail.is_open) {
        (void)gsh_nccl_stream_ops()->leave(&comm->trail);
    }
}

/* ---- making ---- */

/* Takes back what it has, half-made or not; the PE is entered. Collective. */
static void take_apart(struct ncclComm *comm)
{
    gsh_nccl_windows_free(comm);
    gsh_nccl_devcomms_free(comm);
    if (comm->trail.event != NULL) {
        gsh_nccl_stream_ops()->end(&comm->trail);
    }
    if (comm->range_bytes > 0) {
        gsh_nccl_give(comm->job, comm->range_off, comm->range_bytes);
    }
    if (comm->team == GSHMEM_TEAM_WORLD) {
        comm->job->has_world = false;
    } else if (comm->team != GSHMEM_TEAM_INVALID) {
        gshmem_team_destroy(comm->team);
    }
    if (comm->meet != GSHMEM_TEAM_INVALID) {
        gshmem_team_destroy(comm->meet);
    }
    gsh_nccl_gathering_free(&comm->gathering);
    free(comm->pe_of);
    comm->pe_of = NULL;
    comm->range_bytes = 0;
    comm->team = comm->meet = GSHMEM_TEAM_INVALID;
}

static void discard(struct ncclComm *comm)
{
    free(comm->error_text);
    free(comm);
}

static bool is_world(const struct ncclComm *comm)
{
    bool is_same = comm->n_ranks == comm->job->n_pes;
    for (int i = 0; is_same && i < comm->n_ranks; i++) {
        is_same = comm->pe_of[i] == i;
    }
    return is_same;
}

/* The teams and all else; comm->job is there and entered. */
static ncclResult_t fill(const char *call, struct ncclComm *comm)
{
    struct gsh_nccl_job *job = comm->job;
    gshmemx_layer_explain_by(explain);
    int error = gshmemx_team_create(comm->pe_of, comm->n_ranks, NULL, 0, &comm->meet);
    if (error == 0 && job->is_ours && !job->has_world && is_world(comm)) {
        job->has_world = true;
        comm->team = GSHMEM_TEAM_WORLD;
    } else if (error == 0) {
        error = gshmemx_team_create(comm->pe_of, comm->n_ranks, NULL, 0, &comm->team);
    }
    ncclResult_t r = gsh_nccl_base(call, error);
    if (r == ncclSuccess) {
        r = gsh_nccl_find_lsa(call, comm);
    }
    return r == ncclSuccess ? gsh_nccl_take_range(call, comm) : r;
}

/* The communicator that the call makes, of these PEs, which this takes over; collective over them.
 * The job, which is entered, counts it. */
static ncclResult_t make(const struct gsh_nccl_call *c, struct gsh_nccl_job *job, int *pe_of,
                         int n_ranks, int rank)
{
    struct ncclComm *comm = c->shell != NULL ? c->shell : gsh_nccl_comm_begin(false);
    if (comm == NULL) {
        free(pe_of);
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name);
    }
    comm->rank = rank;
    comm->n_ranks = n_ranks;
    comm->pe_of = pe_of;
    /* either this or ncclCommAbort, which looks the other way round, sees what the other has done
     */
    __atomic_store_n(&comm->job, job, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&comm->is_aborted, __ATOMIC_SEQ_CST)) {
        gsh_nccl_job_give_up(job);
    }
    ncclResult_t r = fill(c->name, comm);
    if (gsh_nccl_job_is_given_up(job)) {
        return gsh_nccl_given_up(c->name); /* what there is of it is kept */
    }
    if (r != ncclSuccess) {
        take_apart(comm);
        comm->job = NULL;
    }
    if (c->shell != NULL) {
        return r; /* whoever began it says what came of it */
    }
    if (r != ncclSuccess) {
        forget(comm);
        discard(comm);
        return r;
    }
    gsh_nccl_comm_end_call(comm, r);
    *c->new_comm = comm;
    return r;
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
    ncclResult_t r = gsh_nccl_exchange(call, job, job->meet, &own, rank_of, sizeof(own));
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

/* A communicator of all of a job's PEs. */
static ncclResult_t make_first(const struct gsh_nccl_call *c, const struct gsh_nccl_job_wish *wish)
{
    struct gsh_nccl_job *job = NULL;
    struct gshmemx_layer_turn turn;
    ncclResult_t r = gsh_nccl_job_get(c->name, wish, &job);
    if (r != ncclSuccess) {
        gsh_nccl_worker_end(wish->worker);
        return r;
    }
    gsh_nccl_enter(job, &turn);
    int *pe_of = malloc((size_t)wish->n_ranks * sizeof(*pe_of));
    if (pe_of == NULL) {
        r = gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name);
    } else {
        r = meet_ranks(c->name, job, wish->rank, pe_of);
    }
    if (r == ncclSuccess) {
        r = make(c, job, pe_of, wish->n_ranks, wish->rank);
    } else {
        free(pe_of);
    }
    gsh_nccl_leave(&turn);
    if (r != ncclSuccess) {
        gsh_nccl_job_put(job);
    }
    return r;
}

static ncclResult_t run_init(const struct gsh_nccl_call *c)
{
    const struct gsh_nccl_job_wish wish = {.n_ranks = c->a,
                                           .rank = c->b,
                                           .device = c->device,
                                           .id = &c->id,
                                           .pe = c->pe,
                                           .maker = c->maker,
                                           .worker = c->worker,
                                           .is_new = c->is_birth};
    return make_first(c, &wish);
}

/* Whether a communicator made by the config, from that one or from none, does not block. */
static bool is_nonblocking(const ncclConfig_t *config, const struct ncclComm *parent)
{
    if (config == NULL || config->blocking == NCCL_CONFIG_UNDEF_INT) {
        return parent != NULL && parent->is_nonblocking;
    }
    return config->blocking == 0;
}

/* is_new: its PE is a new one in any case. */
static ncclResult_t init_on(const char *call, ncclComm_t *comm, int n_ranks, const ncclUniqueId *id,
                            int rank, int device, const ncclConfig_t *config, bool is_new)
{
    struct gsh_nccl_call c = {.name = call,
                              .run = run_init,
                              .meets = true,
                              .id = *id,
                              .new_comm = comm,
                              .is_nonblocking = is_nonblocking(config, NULL),
                              .is_birth = is_new,
                              .pe = gshmemx_layer_pe(),
                              .maker = pthread_self(),
                              .device = device,
                              .a = n_ranks,
                              .b = rank};
    return gsh_nccl_submit(&c);
}

static ncclResult_t init(const char *call, ncclComm_t *comm, int n_ranks, const ncclUniqueId *id,
                         int rank, const ncclConfig_t *config, bool is_new)
{
    ncclResult_t r = check_config(call, config);
    if (r != ncclSuccess) {
        return r;
    }
    if (comm == NULL || id == NULL || n_ranks < 1 || rank < 0 || rank >= n_ranks) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: communicator %p, rank %d of %d: not valid",
                             call, (void *)comm, rank, n_ranks);
    }
    return init_on(call, comm, n_ranks, id, rank, gshmemx_layer_current_device(), config, is_new);
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
        return gsh_nccl_fail(ncclInvalidArgument, "%s: %d ids", call, nId);
    }
    ncclResult_t r = init(call, comm, nranks, commIds, rank, config, false);
    /* The first one is all that ranks need. */
    for (int i = 1; i < nId && (r == ncclSuccess || r == ncclInProgress); i++) {
        gsh_nccl_drop_id(&commIds[i]);
    }
    return r;
}

ncclResult_t ncclCommInitAll(ncclComm_t *comm, int ndev, const int *devlist)
{
    static const char call[] = "ncclCommInitAll";
    ncclUniqueId id;
    if (comm == NULL || ndev < 1) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: communicators %p, %d devices: not valid",
                             call, (void *)comm, ndev);
    }
    for (int i = 0; devlist != NULL && i < ndev; i++) {
        for (int j = 0; j < i; j++) {
            if (devlist[i] == devlist[j]) {
                return gsh_nccl_fail(ncclInvalidUsage, "%s: device %d is given twice", call,
                                     devlist[i]);
            }
        }
    }
    ncclResult_t r = ncclGetUniqueId(&id), end;
    if (r != ncclSuccess) {
        return r;
    }
    (void)ncclGroupStart();
    for (int i = 0; i < ndev && r == ncclSuccess; i++) {
        r = init_on(call, &comm[i], ndev, &id, i, devlist != NULL ? devlist[i] : i, NULL, false);
    }
    end = ncclGroupEnd();
    return r != ncclSuccess ? r : end;
}

/* ---- growing ---- */

/* Each rank has the id, or not; afterwards all have that of the first that had one. */
static ncclResult_t share_id(const struct gsh_nccl_call *c, ncclUniqueId *id)
{
    struct ncclComm *parent = c->comm;
    enum { PARTS = sizeof(*id) / GSH_NCCL_EXCHANGE_BYTES };
    int32_t has_id = c->in != NULL, first = 0;
    char *all = malloc((size_t)parent->n_ranks * GSH_NCCL_EXCHANGE_BYTES);
    if (all == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name);
    }
    ncclResult_t r =
        gsh_nccl_exchange(c->name, parent->job, parent->meet, &has_id, all, sizeof(has_id));
    while (r == ncclSuccess && first < parent->n_ranks && ((int32_t *)(void *)all)[first] == 0) {
        first++;
    }
    if (r == ncclSuccess && first == parent->n_ranks) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: no rank of the communicator has given the id",
                          c->name);
    }
    for (int part = 0; r == ncclSuccess && part < PARTS; part++) {
        size_t at = (size_t)part * GSH_NCCL_EXCHANGE_BYTES;
        r = gsh_nccl_exchange(c->name, parent->job, parent->meet, c->id.internal + at, all,
                              GSH_NCCL_EXCHANGE_BYTES);
        memcpy(id->internal + at, all + (size_t)first * GSH_NCCL_EXCHANGE_BYTES,
               GSH_NCCL_EXCHANGE_BYTES);
    }
    free(all);
    return r;
}

static ncclResult_t run_grow(const struct gsh_nccl_call *c)
{
    ncclUniqueId id = {0};
    ncclResult_t r = share_id(c, &id);
    if (r != ncclSuccess) {
        gsh_nccl_worker_end(c->worker);
        return r;
    }
    const struct gsh_nccl_job_wish wish = {.n_ranks = c->a,
                                           .rank = c->comm->rank,
                                           .device = c->device,
                                           .id = &id,
                                           .maker = c->maker,
                                           .worker = c->worker,
                                           .is_new = true};
    return make_first(c, &wish);
}

ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId *uniqueId)
{
    ncclResult_t r = gsh_nccl_need("ncclCommGetUniqueId", comm);
    return r == ncclSuccess ? ncclGetUniqueId(uniqueId) : r;
}

ncclResult_t ncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId *uniqueId, int rank,
                          ncclComm_t *newcomm, ncclConfig_t *config)
{
    static const char call[] = "ncclCommGrow";
    if (comm == NULL) {
        return init(call, newcomm, nRanks, uniqueId, rank, config, true);
    }
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r == ncclSuccess) {
        r = check_config(call, config);
    }
    if (r != ncclSuccess) {
        return r;
    }
    if (newcomm == NULL || nRanks <= comm->n_ranks || (rank != -1 && rank != comm->rank)) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             "%s: from %d ranks to %d, rank %d, communicator %p: not valid", call,
                             comm->n_ranks, nRanks, rank, (void *)newcomm);
    }
    struct gsh_nccl_call c = {.name = call,
                              .run = run_grow,
                              .comm = comm,
                              .meets = true,
                              .new_comm = newcomm,
                              .is_nonblocking = is_nonblocking(config, comm),
                              .is_birth = true,
                              .in = uniqueId, /* whether it is there */
                              .maker = pthread_self(),
                              .device = gshmemx_layer_current_device(),
                              .a = nRanks};
    if (uniqueId != NULL) {
        c.id = *uniqueId;
    }
    return gsh_nccl_submit(&c);
}

/* ---- splitting ---- */

struct choice {
    uint64_t marks; /* of the parent's windows */
    int32_t color, key, rank, reserved;
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
    struct choice own = {parent->marks, c->a, c->b, parent->rank, 0};
    struct choice *all = malloc((size_t)parent->n_ranks * sizeof(*all));
    int *pe_of = malloc((size_t)parent->n_ranks * sizeof(*pe_of));
    ncclResult_t r =
        all == NULL || pe_of == NULL
            ? gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name)
            : gsh_nccl_exchange(c->name, parent->job, parent->meet, &own, all, sizeof(own));
    int n = 0, rank = -1;
    if (r == ncclSuccess) {
        r = gsh_nccl_windows_compare(c->name, parent, &all->marks, sizeof(*all));
    }
    for (int i = 0; r == ncclSuccess && i < parent->n_ranks; i++) {
        if (all[i].color == own.color) {
            all[n++] = all[i];
        }
    }
    if (r != ncclSuccess || own.color == NCCL_SPLIT_NOCOLOR) {
        free(all);
        free(pe_of);
        if (c->shell == NULL) {
            *c->new_comm = NULL;
        }
        return r;
    }
    qsort(all, (size_t)n, sizeof(*all), by_key);
    for (int i = 0; i < n; i++) {
        pe_of[i] = parent->pe_of[all[i].rank];
        rank = all[i].rank == parent->rank ? i : rank;
    }
    free(all);
    parent->job->n_comms++;
    r = make(c, parent->job, pe_of, n, rank);
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
    struct gsh_nccl_call c = {.name = call,
                              .run = run_split,
                              .comm = comm,
                              .meets = true,
                              .new_comm = newcomm,
                              .is_nonblocking =
                                  is_nonblocking(config, comm) && color != NCCL_SPLIT_NOCOLOR,
                              .a = color,
                              .b = key};
    if (color == NCCL_SPLIT_NOCOLOR && newcomm != NULL) {
        *newcomm = NULL;
    }
    return gsh_nccl_submit(&c);
}

/* What streams have of it is given up, and nothing more can be asked of it. */
static void revoke(struct ncclComm *comm)
{
    comm->is_revoked = true;
    gsh_nccl_job_interrupt(comm->job);
    comm->trail.has_stream = 0;
}

/* c->out: of each rank whether it is left out. */
static ncclResult_t run_shrink(const struct gsh_nccl_call *c)
{
    struct ncclComm *parent = c->comm;
    bool *is_out = c->out;
    int *pe_of = malloc((size_t)parent->n_ranks * sizeof(*pe_of));
    int n = 0, rank = -1;
    if (pe_of == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name);
    }
    for (int i = 0; i < parent->n_ranks; i++) {
        if (!is_out[i]) {
            rank = i == parent->rank ? n : rank;
            pe_of[n++] = parent->pe_of[i];
        }
    }
    parent->job->n_comms++;
    ncclResult_t r = make(c, parent->job, pe_of, n, rank);
    parent->job->n_comms -= r != ncclSuccess;
    return r;
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int *excludeRanksList, int excludeRanksCount,
                            ncclComm_t *newcomm, ncclConfig_t *config, int shrinkFlags)
{
    static const char call[] = "ncclCommShrink";
    ncclResult_t r = need_ready(call, comm);
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
    if ((shrinkFlags & ~NCCL_SHRINK_ABORT) != 0) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: flags 0x%x: not valid", call,
                             (unsigned)shrinkFlags);
    }
    if (gsh_nccl_job_is_given_up(comm->job)) {
        return gsh_nccl_given_up(call);
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
    if ((shrinkFlags & NCCL_SHRINK_ABORT) != 0) {
        revoke(comm);
    }
    struct gsh_nccl_call c = {.name = call,
                              .run = run_shrink,
                              .comm = comm,
                              .meets = true,
                              .new_comm = newcomm,
                              .is_nonblocking = is_nonblocking(config, comm),
                              .out = is_out,
                              .owned = is_out};
    return gsh_nccl_submit(&c);
}

/* ---- ending ---- */

static ncclResult_t run_finalize(const struct gsh_nccl_call *c)
{
    struct ncclComm *comm = c->comm;
    uint64_t *all = malloc((size_t)comm->n_ranks * sizeof(*all));
    ncclResult_t r = all == NULL ? gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name)
                                 : gsh_nccl_exchange(c->name, comm->job, comm->meet, &comm->marks,
                                                     all, sizeof(*all));
    if (r == ncclSuccess) {
        r = gsh_nccl_windows_compare(c->name, comm, all, sizeof(*all));
    }
    free(all);
    if (r == ncclSuccess) {
        r = gsh_nccl_base(c->name, gshmem_barrier(comm->meet));
    }
    comm->is_finalized = r == ncclSuccess;
    return r;
}

/* All that streams have of the communicator is done. */
static void settle(struct ncclComm *comm)
{
    struct gshmemx_layer_turn turn;
    if (comm->trail.has_stream) {
        gsh_nccl_enter(comm->job, &turn);
        gshmemx_layer_synchronize();
        gsh_nccl_leave(&turn);
        comm->trail.has_stream = 0;
    }
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    static const char call[] = "ncclCommFinalize";
    ncclResult_t r = need_ready(call, comm);
    if (r == ncclSuccess) {
        r = need_no_group(call, comm);
    }
    if (r != ncclSuccess) {
        return r;
    }
    if (gsh_nccl_job_is_given_up(comm->job)) {
        return gsh_nccl_given_up(call);
    }
    settle(comm);
    if (comm->crew != NULL) {
        comm->is_finalized = true; /* the others' turns come later; the end waits for all */
        return ncclSuccess;
    }
    struct gsh_nccl_call c = {.name = call, .run = run_finalize, .comm = comm, .meets = true};
    return gsh_nccl_submit(&c);
}

/* The end of a communicator, which nobody knows any more; on whatever thread. */
static void end(struct ncclComm *comm)
{
    struct gshmemx_layer_turn turn;
    struct gsh_nccl_job *job = comm->job;
    struct gsh_nccl_crew *crew = comm->crew;
    gsh_nccl_enter(job, &turn);
    if (!comm->is_finalized || crew != NULL) {
        (void)gshmem_barrier(comm->meet);
    }
    take_apart(comm);
    gsh_nccl_leave(&turn);
    discard(comm);
    gsh_nccl_job_put(job);
    if (crew != NULL) {
        crew_done(crew);
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

static void watch_exit(void)
{
    atexit(drain_at_exit);
}

/* By the communicator's worker. A thread that has several ranks destroys them one after the other:
 * the last one waits for all. Nobody waits for non-blocking ones but the process's end. */
static ncclResult_t end_by_worker(const char *call, struct ncclComm *comm)
{
    struct gsh_nccl_worker *worker = comm->job->worker;
    struct gsh_nccl_crew *crew = comm->crew;
    struct ending *e = calloc(1, sizeof(*e));
    if (e == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", call);
    }
    /* The program may finalize a job of its own next. */
    bool is_awaited = crew == NULL && (!comm->is_nonblocking || !comm->job->is_ours);
    bool is_last = crew != NULL && crew_let_go(crew);
    *e = (struct ending){.task = {.run = run_end, .is_awaited = is_awaited}, .comm = comm};
    pthread_once(&exit_once, watch_exit);
    forget(comm);
    gsh_nccl_worker_post(worker, &e->task);
    if (is_last) {
        crew_wait(crew);
    }
    if (is_awaited) {
        gsh_nccl_worker_wait(worker, &e->task);
        free(e);
    }
    return ncclSuccess;
}

/* By any thread, whatever others do with the communicator. */
static ncclResult_t abort_comm(const char *call, struct ncclComm *comm)
{
    if (!forget(comm)) {
        return need_live(call, comm);
    }
    bool is_in_progress = __atomic_load_n(&comm->result, __ATOMIC_ACQUIRE) == ncclInProgress;
    if (comm->crew != NULL) { /* the others of it wait for this one no longer */
        (void)crew_let_go(comm->crew);
        crew_done(comm->crew);
    }
    __atomic_store_n(&comm->is_aborted, true, __ATOMIC_SEQ_CST);
    struct gsh_nccl_job *job = __atomic_load_n(&comm->job, __ATOMIC_SEQ_CST);
    if (job == NULL && !is_in_progress) {
        discard(comm);
        return ncclSuccess;
    }
    keep(comm);
    if (job != NULL) {
        gsh_nccl_job_give_up(job);
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
    ncclResult_t r = need_live(call, comm);
    if (r == ncclSuccess && __atomic_load_n(&comm->result, __ATOMIC_ACQUIRE) == ncclInProgress) {
        r = need_ready(call, comm);
    }
    if (r == ncclSuccess) {
        r = need_no_group(call, comm);
    }
    if (r != ncclSuccess) {
        return r;
    }
    if (comm->job == NULL || gsh_nccl_job_is_given_up(comm->job)) { /* it was never made, or */
        return abort_comm(call, comm);
    }
    settle(comm);
    if (comm->job->worker != NULL) {
        return end_by_worker(call, comm);
    }
    forget(comm);
    end(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    static const char call[] = "ncclCommAbort";
    ncclResult_t r = need_live(call, comm);
    return r == ncclSuccess ? abort_comm(call, comm) : r;
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags)
{
    static const char call[] = "ncclCommRevoke";
    ncclResult_t r = need_ready(call, comm);
    if (r == ncclSuccess && revokeFlags != NCCL_REVOKE_DEFAULT) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: flags 0x%x: not valid", call,
                          (unsigned)revokeFlags);
    }
    if (r == ncclSuccess) {
        r = need_no_group(call, comm);
    }
    if (r == ncclSuccess && gsh_nccl_job_is_given_up(comm->job)) {
        r = gsh_nccl_given_up(call);
    }
    if (r == ncclSuccess) {
        revoke(comm);
    }
    return r;
}

/* ---- asking ---- */

static ncclResult_t answer(const char *call, const struct ncclComm *comm, const void *out)
{
    ncclResult_t r = need_ready(call, comm);
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
        struct gshmemx_layer_turn turn;
        gsh_nccl_enter(comm->job, &turn);
        *device = gshmemx_layer_cuda_device();
        gsh_nccl_leave(&turn);
    }
    return r;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError)
{
    static const char call[] = "ncclCommGetAsyncError";
    ncclResult_t r = need_live(call, comm);
    if (r == ncclSuccess && asyncError == NULL) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: the result's place is NULL", call);
    }
    if (r == ncclSuccess) {
        /* acquire: pairs with the release in gsh_nccl_comm_end_call */
        *asyncError = (ncclResult_t)__atomic_load_n(&comm->result, __ATOMIC_ACQUIRE);
        const struct gsh_nccl_job *job = __atomic_load_n(&comm->job, __ATOMIC_ACQUIRE);
        if (*asyncError == ncclSuccess && job != NULL && gsh_nccl_job_is_given_up(job)) {
            *asyncError = ncclInvalidUsage;
        }
    }
    return r;
}

const char *ncclGetLastError(ncclComm_t comm)
{
    return comm != NULL && is_live(comm) && comm->is_nonblocking &&
                   __atomic_load_n(&comm->result, __ATOMIC_ACQUIRE) != ncclInProgress &&
                   comm->error_text != NULL
               ? comm->error_text
               : gsh_nccl_last_text();
}
