/* SPDX-License-Identifier: Apache-2.0
 * Communicators of some ranks of another one, in its job: split and shrink. */
#include <stdlib.h>
#include "dialects/nccl/group/group.h"
#include "dialects/nccl/init/end.h"
#include "dialects/nccl/init/make.h"
#include "dialects/nccl/window/window.h"

/* Takes over pe_of. If it fails the parent still holds the job. */
static ncclResult_t make_part(const struct gsh_nccl_call *c, int *pe_of, int n, int rank)
{
    struct gsh_nccl_job *job = c->comm->job;
    gsh_nccl_job_hold(job);
    ncclResult_t r = gsh_nccl_comm_make(c, job, pe_of, n, rank);
    if (r != ncclSuccess) {
        gsh_nccl_job_put(job);
    }
    return r;
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

/* With the PE's agreement lock held. */
static ncclResult_t split(const struct gsh_nccl_call *c)
{
    struct ncclComm *parent = c->comm;
    struct choice own = {parent->marks, c->birth.split.color, c->birth.split.key, parent->rank, 0};
    struct choice *all = malloc((size_t)parent->n_ranks * sizeof(*all));
    int *pe_of = malloc((size_t)parent->n_ranks * sizeof(*pe_of));
    ncclResult_t r =
        all == NULL || pe_of == NULL
            ? gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name)
            : gsh_nccl_exchange(c->name, parent->job, parent->control_team, &own, all, sizeof(own));
    int n = 0, rank = -1;
    if (r == ncclSuccess) {
        r = gsh_nccl_windows_compare(c->name, parent, &all->marks, sizeof(*all));
    }
    for (int i = 0; r == ncclSuccess && i < parent->n_ranks; i++) {
        if (all[i].color == own.color) {
            all[n] = all[i];
            all[n++].rank = i; /* an index: not as the rank says */
        }
    }
    if (r != ncclSuccess || own.color == NCCL_SPLIT_NOCOLOR) {
        free(all);
        free(pe_of);
        if (c->birth.shell == NULL) {
            *c->birth.new_comm = NULL;
        }
        return r;
    }
    qsort(all, (size_t)n, sizeof(*all), by_key);
    for (int i = 0; i < n; i++) {
        pe_of[i] = parent->pe_of[all[i].rank];
        rank = all[i].rank == parent->rank ? i : rank;
    }
    free(all);
    return make_part(c, pe_of, n, rank);
}

static ncclResult_t run_split(const struct gsh_nccl_call *c)
{
    struct gsh_nccl_job *job = c->comm->job;
    ncclResult_t r = gsh_nccl_agreement_lock(c->name, job, c->comm->control_team, NULL, 0);
    if (r == ncclSuccess) {
        r = split(c);
        gsh_nccl_agreement_unlock(job);
    }
    return r;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
                           ncclConfig_t *config)
{
    static const char call[] = "ncclCommSplit";
    ncclResult_t r = gsh_nccl_need_open(call, comm);
    if (r == ncclSuccess) {
        r = gsh_nccl_config_check(call, config);
    }
    if (r == ncclSuccess && (newcomm == NULL || (color < 0 && color != NCCL_SPLIT_NOCOLOR))) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: color %d, communicator %p: not valid", call,
                          color, (void *)newcomm);
    }
    if (r != ncclSuccess) {
        return gsh_nccl_refuse(r);
    }
    struct gsh_nccl_call c = {
        .name = call,
        .family = GSH_NCCL_BIRTH,
        .run = run_split,
        .comm = comm,
        .agrees = true,
        .birth = {.new_comm = newcomm,
                  .is_nonblocking =
                      gsh_nccl_config_is_nonblocking(config, comm) && color != NCCL_SPLIT_NOCOLOR,
                  .split = {.color = color, .key = key}}};
    if (color == NCCL_SPLIT_NOCOLOR) {
        *newcomm = NULL;
    }
    return gsh_nccl_submit(r, &c);
}

/* ---- shrinking ---- */

static ncclResult_t run_shrink(const struct gsh_nccl_call *c)
{
    struct ncclComm *parent = c->comm;
    const bool *is_out = c->birth.is_left_out;
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
    ncclResult_t r = gsh_nccl_agreement_lock(c->name, parent->job, parent->control_team, pe_of, n);
    if (r != ncclSuccess) {
        free(pe_of);
        return r;
    }
    r = make_part(c, pe_of, n, rank);
    gsh_nccl_agreement_unlock(parent->job);
    return r;
}

/* *is_out: for each rank, whether to leave it out; from malloc. */
static ncclResult_t check_shrink(const char *call, ncclComm_t comm, const int *exclude, int n,
                                 const ncclComm_t *newcomm, const ncclConfig_t *config, int flags,
                                 bool **is_out)
{
    ncclResult_t r = gsh_nccl_need_ready(call, comm);
    if (r == ncclSuccess) {
        r = gsh_nccl_config_check(call, config);
    }
    if (r != ncclSuccess) {
        return r;
    }
    if (newcomm == NULL || exclude == NULL || n < 1 || n >= comm->n_ranks) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: %d ranks of %d to leave out: not valid",
                             call, n, comm->n_ranks);
    }
    if ((flags & ~NCCL_SHRINK_ABORT) != 0) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: flags 0x%x: not valid", call,
                             (unsigned)flags);
    }
    if (gsh_nccl_job_is_given_up(comm->job)) {
        return gsh_nccl_job_given_up(call, comm->job);
    }
    bool *out = calloc((size_t)comm->n_ranks, sizeof(*out));
    if (out == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", call);
    }
    for (int i = 0; i < n; i++) {
        int rank = exclude[i];
        if (rank < 0 || rank >= comm->n_ranks || rank == comm->rank || out[rank]) {
            free(out);
            return gsh_nccl_fail(ncclInvalidArgument,
                                 "%s: rank %d to leave out: not there, given twice, or the caller",
                                 call, rank);
        }
        out[rank] = true;
    }
    *is_out = out;
    return ncclSuccess;
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int *excludeRanksList, int excludeRanksCount,
                            ncclComm_t *newcomm, ncclConfig_t *config, int shrinkFlags)
{
    static const char call[] = "ncclCommShrink";
    bool *is_out = NULL;
    ncclResult_t r = check_shrink(call, comm, excludeRanksList, excludeRanksCount, newcomm, config,
                                  shrinkFlags, &is_out);
    if (r != ncclSuccess) {
        return gsh_nccl_refuse(r);
    }
    if ((shrinkFlags & NCCL_SHRINK_ABORT) != 0) {
        gsh_nccl_comm_revoke(comm);
    }
    struct gsh_nccl_call c = {
        .name = call,
        .family = GSH_NCCL_BIRTH,
        .run = run_shrink,
        .comm = comm,
        .agrees = true,
        .owned = is_out,
        .birth = {.new_comm = newcomm,
                  .is_nonblocking = gsh_nccl_config_is_nonblocking(config, comm),
                  .is_left_out = is_out}};
    return gsh_nccl_submit(r, &c);
}
