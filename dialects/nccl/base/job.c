/* SPDX-License-Identifier: Apache-2.0
 * Start and end of gshmem under communicators, and the segment. */
#include "dialects/nccl/base/job.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "dialects/nccl/base/copier.h"
#include "dialects/nccl/base/error.h"
#include "dialects/nccl/base/worker.h"
#include "dialects/nccl/include/nccl_device/window_record.h"
#include "gshmem.h"
#include "gshmemx.h"
#include "runtime/layer.h"

_Static_assert(sizeof(gshmemx_uniqueid_t) == NCCL_UNIQUE_ID_BYTES, "one is the other");

/* ---- ids ---- */

ncclResult_t ncclGetUniqueId(ncclUniqueId *uniqueId)
{
    static const char call[] = "ncclGetUniqueId";
    gshmemx_uniqueid_t id = {0};
    if (uniqueId == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: uniqueId is NULL", call);
    }
    int error = gshmemx_get_uniqueid(&id);
    memcpy(uniqueId, &id, sizeof(id));
    return gsh_nccl_base(call, error);
}

void gsh_nccl_drop_id(const ncclUniqueId *id)
{
    gshmemx_uniqueid_t uid;
    memcpy(&uid, id, sizeof(uid));
    gshmemx_layer_drop_uniqueid(&uid);
}

/* ---- the process's jobs ---- */

static pthread_mutex_t jobs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gsh_nccl_job *jobs;

static void remember(struct gsh_nccl_job *job)
{
    pthread_mutex_lock(&jobs_lock);
    job->next = jobs;
    jobs = job;
    pthread_mutex_unlock(&jobs_lock);
}

static void forget(struct gsh_nccl_job *job)
{
    pthread_mutex_lock(&jobs_lock);
    for (struct gsh_nccl_job **p = &jobs; *p != NULL; p = &(*p)->next) {
        if (*p == job) {
            *p = job->next;
            break;
        }
    }
    pthread_mutex_unlock(&jobs_lock);
}

/* The job of this PE; or, for an id, the job that the maker made with it. */
static struct gsh_nccl_job *find(const void *pe, const ncclUniqueId *id, pthread_t maker)
{
    pthread_mutex_lock(&jobs_lock);
    struct gsh_nccl_job *j = jobs;
    while (j != NULL && !(id == NULL ? j->pe == pe
                                     : j->is_ours && pthread_equal(j->maker, maker) &&
                                           !gsh_nccl_job_is_given_up(j) &&
                                           memcmp(&j->id, id, sizeof(*id)) == 0)) {
        j = j->next;
    }
    pthread_mutex_unlock(&jobs_lock);
    return j;
}

struct gsh_nccl_job *gsh_nccl_job_of_window(ncclWindow_t win)
{
    pthread_mutex_lock(&jobs_lock);
    struct gsh_nccl_job *j = jobs;
    while (j != NULL && !(win >= j->windows && win < j->windows + GSH_NCCL_N_WINDOWS)) {
        j = j->next;
    }
    pthread_mutex_unlock(&jobs_lock);
    return j;
}

void gsh_nccl_enter(const struct gsh_nccl_job *job, struct gshmemx_layer_scope *scope)
{
    gshmemx_layer_enter(job->pe, job->device, scope);
}

void gsh_nccl_leave(const struct gshmemx_layer_scope *scope)
{
    gshmemx_layer_leave(scope);
}

/* ---- giving up ---- */

bool gsh_nccl_job_is_given_up(const struct gsh_nccl_job *job)
{
    return __atomic_load_n(&job->is_given_up, __ATOMIC_SEQ_CST);
}

static void leave_kernels(const struct gsh_nccl_job *job, bool on)
{
    struct gshmemx_layer_scope scope;
    gsh_nccl_enter(job, &scope);
    gshmemx_layer_leave_kernels(on);
    gsh_nccl_leave(&scope);
}

void gsh_nccl_job_give_up(struct gsh_nccl_job *job)
{
    __atomic_store_n(&job->is_given_up, true, __ATOMIC_SEQ_CST);
    leave_kernels(job, true);
    gsh_nccl_copier_leave(gsh_nccl_job_copier(job));
    gsh_nccl_worker_give_up(gsh_nccl_job_worker(job));
}

void gsh_nccl_job_fill(struct gsh_nccl_job *job)
{
    if (!gsh_nccl_job_is_given_up(job)) {
        job->is_full = true; /* visible to any thread that sees that the job is given up */
        gsh_nccl_job_give_up(job);
    }
}

ncclResult_t gsh_nccl_job_given_up(const char *call, const struct gsh_nccl_job *job)
{
    if (job->is_full) {
        return gsh_nccl_fail(ncclRemoteError,
                             "%s: too many communicators have a rank whose process has died or "
                             "exited: all communicators of the same id are lost",
                             call);
    }
    return gsh_nccl_fail(
        ncclInvalidUsage,
        "%s: ncclCommAbort, of this communicator or of another one of the same id, "
        "has given up the rank's part in all of them",
        call);
}

void gsh_nccl_jobs_lose(void *pe, bool is_full)
{
    struct gsh_nccl_job *job = find(pe, NULL, pthread_self());
    if (job != NULL && !job->has_left) {
        job->has_left = true;
        is_full = !gshmemx_layer_lose_team(pe, job->control_team) || is_full;
    }
    gshmemx_layer_tell_lost(pe);
    if (job != NULL && is_full) {
        gsh_nccl_job_fill(job);
    }
}

void gsh_nccl_job_interrupt(struct gsh_nccl_job *job)
{
    struct gshmemx_layer_scope scope;
    leave_kernels(job, true);
    gsh_nccl_enter(job, &scope);
    gshmemx_layer_synchronize();
    gsh_nccl_leave(&scope);
    leave_kernels(job, false);
    if (gsh_nccl_job_is_given_up(job)) { /* meanwhile, by another thread */
        leave_kernels(job, true);
    }
}

/* ---- the agreement lock ---- */

/* The pause is as long on all members, so that they vote together again. Other teams pause for
 * another time, so that two teams do not hold each other up again and again. */
static void pause_before_next(gshmem_team_t team, unsigned n_tries)
{
    uint64_t h = ((uint64_t)(uint32_t)team << 32 | n_tries) * 0x9e3779b97f4a7c15u;
    uint64_t most_us = 50ull << (n_tries < 6 ? n_tries : 6);
    struct timespec pause = {.tv_nsec = (long)((h >> 32) % most_us * 1000)};
    nanosleep(&pause, NULL);
}

bool gsh_nccl_agreement_trylock(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                                const int *pes, int n)
{
    for (unsigned n_tries = 0;; n_tries++) {
        bool is_mine = pthread_mutex_trylock(&job->agreement) == 0;
        bool is_all = gshmemx_layer_vote(call, team, pes, n, is_mine, &job->is_given_up);
        bool is_over = gsh_nccl_job_is_given_up(job) ||
                       (pes == NULL ? gshmemx_layer_has_died_in(job->pe, team)
                                    : gshmemx_layer_has_died(job->pe, pes, n));
        if (is_all && !is_over) {
            return true;
        }
        if (is_mine) {
            gsh_nccl_agreement_unlock(job);
        }
        if (is_over) {
            return false;
        }
        pause_before_next(team, n_tries);
    }
}

ncclResult_t gsh_nccl_agreement_lock(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                                     const int *pes, int n)
{
    if (gsh_nccl_agreement_trylock(call, job, team, pes, n)) {
        return ncclSuccess;
    }
    return gsh_nccl_job_is_given_up(job) ? gsh_nccl_job_given_up(call, job) : gsh_nccl_lost(call);
}

void gsh_nccl_agreement_unlock(struct gsh_nccl_job *job)
{
    pthread_mutex_unlock(&job->agreement);
}

/* ---- the worker ---- */

struct gsh_nccl_worker *gsh_nccl_job_worker(const struct gsh_nccl_job *job)
{
    /* acquire: pairs with the release in gsh_nccl_job_need_worker */
    return __atomic_load_n(&job->worker, __ATOMIC_ACQUIRE);
}

bool gsh_nccl_job_need_worker(struct gsh_nccl_job *job)
{
    pthread_mutex_lock(&job->lock);
    struct gsh_nccl_worker *worker = job->worker;
    if (worker == NULL) {
        worker = gsh_nccl_worker_create();
        /* release: pairs with the acquire in gsh_nccl_job_worker */
        __atomic_store_n(&job->worker, worker, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&job->lock);
    return worker != NULL;
}

/* ---- the copier ---- */

struct gsh_nccl_copier *gsh_nccl_job_copier(const struct gsh_nccl_job *job)
{
    /* seq_cst: see gsh_nccl_job_need_copier */
    return __atomic_load_n(&job->copier, __ATOMIC_SEQ_CST);
}

bool gsh_nccl_job_need_copier(struct gsh_nccl_job *job)
{
    if (job->copier == NULL) {
        /* seq_cst, as is gsh_nccl_job_give_up, which stores is_given_up and then loads this: at
         * least one of the two sees the other's store. */
        __atomic_store_n(&job->copier, gsh_nccl_copier_create(job->pe, job->device),
                         __ATOMIC_SEQ_CST);
    }
    return !gsh_nccl_job_is_given_up(job) && gsh_nccl_copier_need(job->copier);
}

/* ---- the segment ---- */

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static bool is_of(const struct gsh_nccl_job *job, const ncclUniqueId *id)
{
    return memcmp(&job->id, id, sizeof(*id)) == 0;
}

/* Of how many other ids the process has jobs, up to GSH_NCCL_EARLY_JOBS: several ranks may be
 * threads of it. */
static int count_others(const ncclUniqueId *id)
{
    const struct gsh_nccl_job *others[GSH_NCCL_EARLY_JOBS];
    int n = 0;
    pthread_mutex_lock(&jobs_lock);
    for (const struct gsh_nccl_job *j = jobs; j != NULL && n < GSH_NCCL_EARLY_JOBS; j = j->next) {
        bool is_new = !is_of(j, id);
        for (int i = 0; i < n; i++) {
            is_new = is_new && !is_of(j, &others[i]->id);
        }
        if (is_new) {
            others[n++] = j;
        }
    }
    pthread_mutex_unlock(&jobs_lock);
    return n;
}

static bool any_says(const char *call, const struct gsh_nccl_job *job, bool mine)
{
    return !gshmemx_layer_vote(call, GSHMEM_TEAM_WORLD, NULL, 0, !mine, &job->is_given_up);
}

/* All PEs take as much. */
static void choose_sizes(const char *call, struct gsh_nccl_job *job, int n_others)
{
    const bool is_small = any_says(call, job, n_others > 0);
    job->fixed_part_bytes = is_small ? GSH_NCCL_LATER_FIXED_PART_BYTES : GSH_NCCL_FIXED_PART_BYTES;
    job->is_early = !any_says(call, job, n_others >= GSH_NCCL_EARLY_JOBS);
}

static ncclResult_t make_segment(const char *call, struct gsh_nccl_job *job, int n_others)
{
    size_t state_bytes = 0;
    const struct gsh_state *state = NULL;
    int error = gshmemx_device_setup();
    if (error != 0) {
        return gsh_nccl_base(call, error);
    }
    /* Communicators of an id use other collectives only on windows, and between nodes. */
    error = gshmemx_layer_load_colls(call, !job->is_ours);
    if (error != 0) {
        return gsh_nccl_base(call, error);
    }
    choose_sizes(call, job, n_others);
    state = gshmemx_layer_state(&state_bytes);
    job->posts = gshmemx_layer_posts();
    size_t windows_bytes = GSH_NCCL_N_WINDOWS * sizeof(struct ncclWindow_vidmem);
    size_t fixed = job->fixed_part_bytes;
    size_t head = round_up(windows_bytes + state_bytes, GSH_NCCL_GRANULE_BYTES);
    job->segment = gshmem_align(GSH_NCCL_GRANULE_BYTES, head + fixed);
    if (job->segment == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: the heap has no %zu bytes for communicators",
                             call, head + fixed);
    }
    job->windows = (struct ncclWindow_vidmem *)job->segment;
    job->state = (struct gsh_state *)((char *)job->windows + windows_bytes);
    job->fixed_part = job->segment + head;
    for (size_t i = 0; i < fixed / GSH_NCCL_GRANULE_BYTES; i++) {
        job->free_map[i / 64] |= (uint64_t)1 << (i % 64);
    }
    gsh_nccl_write(job->state, state, state_bytes);
    gsh_nccl_clear(job->windows, windows_bytes);
    return ncclSuccess;
}

/* Starts a PE by the id. A thread that acts for no PE yet acts for this one from now on, so it can
 * make gshmem's own calls. */
static ncclResult_t start(const char *call, const struct gsh_nccl_job_request *w, bool is_small,
                          void **pe)
{
    gshmemx_uniqueid_t uid;
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    memcpy(&uid, w->id, sizeof(uid));
    int error = gshmemx_set_attr_uniqueid_args(w->rank, w->n_ranks, &uid, &attr);
    if (error != 0) {
        return gsh_nccl_base(call, error);
    }
    if (w->worker == NULL && w->pe == NULL && !w->is_new &&
        (w->device < 0 || w->device == gshmemx_layer_current_device())) {
        error = gshmemx_layer_init_here(GSHMEMX_INIT_WITH_UNIQUEID, &attr, is_small);
        *pe = error == 0 ? gshmemx_layer_pe() : NULL;
    } else {
        error = gshmemx_layer_init(GSHMEMX_INIT_WITH_UNIQUEID, &attr, w->device, is_small, pe);
    }
    return gsh_nccl_base(call, error);
}

static ncclResult_t make_control_team(const char *call, struct gsh_nccl_job *job)
{
    int error =
        gshmem_team_split_strided(GSHMEM_TEAM_WORLD, 0, 1, job->n_pes, NULL, 0, &job->control_team);
    if (error != 0) {
        gshmem_free(job->segment);
    }
    return gsh_nccl_base(call, error);
}

static void free_job(struct gsh_nccl_job *job)
{
    free(job->exchanged);
    pthread_mutex_destroy(&job->agreement);
    pthread_mutex_destroy(&job->lock);
    free(job);
}

/* The PE is there. n_others: other ids. */
static ncclResult_t make(const char *call, const struct gsh_nccl_job_request *w, void *pe,
                         bool is_ours, int n_others, struct gsh_nccl_job **out)
{
    struct gshmemx_layer_scope scope;
    struct gsh_nccl_job *job = calloc(1, sizeof(*job));
    if (job == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", call);
    }
    *job = (struct gsh_nccl_job){.pe = pe,
                                 .is_ours = is_ours,
                                 .id = *w->id,
                                 .maker = w->maker,
                                 .device = w->worker != NULL && is_ours ? w->device : -1,
                                 .worker = w->worker};
    pthread_mutex_init(&job->lock, NULL);
    pthread_mutex_init(&job->agreement, NULL);
    gsh_nccl_enter(job, &scope);
    job->my_pe = gshmem_my_pe();
    job->n_pes = gshmem_n_pes();
    job->exchanged = calloc((size_t)job->n_pes, GSH_NCCL_EXCHANGE_BYTES);
    ncclResult_t r = job->exchanged != NULL ? make_segment(call, job, n_others)
                                            : gsh_nccl_fail(ncclSystemError, "%s: no memory", call);
    if (r == ncclSuccess) {
        r = make_control_team(call, job);
    }
    gsh_nccl_leave(&scope);
    if (r != ncclSuccess) {
        free_job(job);
        return r;
    }
    remember(job);
    *out = job;
    return ncclSuccess;
}

static int n_pes_of(void *pe)
{
    struct gshmemx_layer_scope scope;
    gshmemx_layer_enter(pe, -1, &scope);
    int n = gshmem_n_pes();
    gshmemx_layer_leave(&scope);
    return n;
}

/* For a caller without a job, or with another one. */
static void take_worker(struct gsh_nccl_job *job, const struct gsh_nccl_job_request *w)
{
    pthread_mutex_lock(&job->lock);
    bool is_needed = job->worker == NULL || job->worker == w->worker;
    if (is_needed) {
        /* release: pairs with the acquire in gsh_nccl_job_worker */
        __atomic_store_n(&job->worker, w->worker, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&job->lock);
    if (!is_needed) {
        gsh_nccl_worker_end(w->worker);
    }
}

ncclResult_t gsh_nccl_job_get(const char *call, const struct gsh_nccl_job_request *w,
                              struct gsh_nccl_job **out)
{
    void *pe = w->pe;
    struct gsh_nccl_job *job = w->is_new ? NULL : find(NULL, w->id, w->maker);
    bool is_ours = true;
    if (job == NULL && pe != NULL && !w->is_new) {
        struct gsh_nccl_job *its = find(pe, NULL, w->maker);
        is_ours = (its != NULL && its->is_ours) || w->n_ranks < n_pes_of(pe);
        job = is_ours ? NULL : its;
    }
    if (job != NULL && gsh_nccl_job_is_given_up(job)) {
        return gsh_nccl_job_given_up(call, job);
    }
    int n_pes = job != NULL ? job->n_pes : is_ours ? w->n_ranks : n_pes_of(pe);
    if (w->n_ranks != n_pes) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: %d ranks, but %s %d PEs: communicators of some of them are made "
                             "by ncclCommSplit",
                             call, w->n_ranks,
                             is_ours ? "the id has started" : "gshmem runs here with", n_pes);
    }
    ncclResult_t r = ncclSuccess;
    if (job == NULL) {
        const int n_others = count_others(w->id);
        r = is_ours ? start(call, w, n_others > 0, &pe) : ncclSuccess;
        if (r != ncclSuccess && w->id != NULL) {
            gsh_nccl_drop_id(w->id); /* other ranks need not wait for this one */
        }
        if (r == ncclSuccess) {
            r = make(call, w, pe, is_ours, n_others, &job);
            if (r != ncclSuccess && is_ours) {
                gshmemx_layer_finalize(pe);
            }
        }
    }
    if (r == ncclSuccess) {
        take_worker(job, w);
        gsh_nccl_job_hold(job);
        *out = job;
        if (!job->is_ours && w->id != NULL) {
            gsh_nccl_drop_id(w->id); /* its ranks are those of the running gshmem */
        }
    }
    return r;
}

void gsh_nccl_job_hold(struct gsh_nccl_job *job)
{
    pthread_mutex_lock(&job->lock);
    job->n_comms++;
    pthread_mutex_unlock(&job->lock);
}

bool gsh_nccl_job_put_early(struct gsh_nccl_job *job)
{
    pthread_mutex_lock(&job->lock);
    bool are_others_left = job->n_comms > 1;
    job->n_comms -= are_others_left;
    pthread_mutex_unlock(&job->lock);
    return are_others_left;
}

void gsh_nccl_job_put(struct gsh_nccl_job *job)
{
    struct gshmemx_layer_scope scope;
    pthread_mutex_lock(&job->lock);
    bool is_last = --job->n_comms == 0;
    pthread_mutex_unlock(&job->lock);
    if (!is_last || gsh_nccl_job_is_given_up(job)) {
        return;
    }
    if (__atomic_load_n(&job->has_lost_rank, __ATOMIC_RELAXED) ||
        gshmemx_layer_has_died_in(job->pe, job->control_team)) {
        gsh_nccl_job_give_up(job);
        gsh_nccl_copier_stop(job->copier);
        return;
    }
    forget(job);
    gsh_nccl_copier_stop(job->copier);
    if (job->is_ours) { /* the end frees what follows, too */
        gshmemx_layer_finalize(job->pe);
    } else {
        gsh_nccl_enter(job, &scope);
        gshmem_team_destroy(job->control_team);
        gshmem_free(job->segment);
        gsh_nccl_leave(&scope);
    }
    gsh_nccl_copier_end(job->copier); /* no other rank waits for this one any more */
    gsh_nccl_worker_end(job->worker);
    free_job(job);
}

ncclResult_t gsh_nccl_check_lives(const char *call, const struct gsh_nccl_job *job,
                                  gshmem_team_t team)
{
    return gshmemx_layer_has_died_in(job->pe, team) ? gsh_nccl_lost(call) : ncclSuccess;
}

ncclResult_t gsh_nccl_barrier(const char *call, const struct gsh_nccl_job *job, gshmem_team_t team)
{
    int error = gshmem_barrier(team);
    return error != 0 && gshmemx_layer_has_died_in(job->pe, team) ? gsh_nccl_lost(call)
                                                                  : gsh_nccl_base(call, error);
}

/* The words become the OR of all members'. */
static ncclResult_t unite(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                          uint64_t *words, size_t n)
{
    ncclResult_t r = gsh_nccl_check_lives(call, job, team);
    if (r != ncclSuccess) {
        return r;
    }
    gshmemx_layer_unite(call, team, words, n, &job->is_given_up);
    return gsh_nccl_job_is_given_up(job) ? gsh_nccl_job_given_up(call, job)
                                         : gsh_nccl_check_lives(call, job, team);
}

ncclResult_t gsh_nccl_exchange(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                               const void *own, void *all, size_t bytes)
{
    const size_t all_bytes = bytes * (size_t)gshmem_team_n_pes(team);
    memset(job->exchanged, 0, round_up(all_bytes, 8));
    memcpy((char *)job->exchanged + bytes * (size_t)gshmem_team_my_pe(team), own, bytes);
    ncclResult_t r = unite(call, job, team, job->exchanged, round_up(all_bytes, 8) / 8);
    if (r == ncclSuccess) {
        memcpy(all, job->exchanged, all_bytes);
    }
    return r;
}

ncclResult_t gsh_nccl_intersect(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                                uint64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        words[i] = ~words[i];
    }
    ncclResult_t r = unite(call, job, team, words, n);
    for (size_t i = 0; i < n; i++) {
        words[i] = ~words[i];
    }
    return r;
}

/* ---- host and own symmetric memory ---- */

void gsh_nccl_write(void *dest, const void *source, size_t bytes)
{
    gshmem_putmem(dest, source, bytes, gshmem_my_pe());
}

void gsh_nccl_read(void *dest, const void *source, size_t bytes)
{
    gshmem_getmem(dest, source, bytes, gshmem_my_pe());
}

void gsh_nccl_clear(void *dest, size_t bytes)
{
    static char zeros[1 << 16]; /* never written; not in the library's file as a constant is */
    for (size_t done = 0; done < bytes; done += sizeof(zeros)) {
        size_t n = bytes - done < sizeof(zeros) ? bytes - done : sizeof(zeros);
        gsh_nccl_write((char *)dest + done, zeros, n);
    }
}
