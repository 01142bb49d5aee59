/* SPDX-License-Identifier: Apache-2.0
 * Start and end of gshmem under communicators, and the desk. */
#include "dialects/nccl/src/job.h"

#include <stdlib.h>
#include <string.h>
#include "dialects/nccl/include/nccl_device/window_record.h"
#include "dialects/nccl/src/error.h"
#include "gshmem.h"
#include "gshmemx.h"
#include "runtime/layer.h"

_Static_assert(sizeof(gshmemx_uniqueid_t) == NCCL_UNIQUE_ID_BYTES, "one is the other");

/* A PE is a thread that made it, as far as communicators are concerned. */
static _Thread_local struct gsh_nccl_job *mine;

/* ---- ids ---- */

ncclResult_t ncclGetUniqueId(ncclUniqueId *uniqueId)
{
    static const char call[] = "ncclGetUniqueId";
    gshmemx_uniqueid_t id = {0};
    if (uniqueId == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: uniqueId is NULL", call);
    }
    /* In a job that runs the ranks have met: an id without a rendezvous, of version 0, will do. */
    int error =
        gshmemx_init_status() == GSHMEM_STATUS_NOT_INITIALIZED ? gshmemx_get_uniqueid(&id) : 0;
    memcpy(uniqueId, &id, sizeof(id));
    return gsh_nccl_base(call, error);
}

static ncclResult_t start(const char *call, int n_ranks, const ncclUniqueId *id, int rank)
{
    gshmemx_uniqueid_t uid;
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    memcpy(&uid, id, sizeof(uid));
    if (uid.version == 0) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             "%s: the id was made by ncclGetUniqueId while gshmem was running "
                             "there, and it is not running here",
                             call);
    }
    int error = gshmemx_set_attr_uniqueid_args(rank, n_ranks, &uid, &attr);
    if (error == 0) {
        error = gshmemx_init_attr(GSHMEMX_INIT_WITH_UNIQUEID, &attr);
    }
    return gsh_nccl_base(call, error);
}

/* ---- the desk ---- */

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static ncclResult_t lay_desk(const char *call, struct gsh_nccl_job *job)
{
    size_t state_bytes = 0;
    const struct gsh_state *state = NULL;
    int error = gshmemx_device_setup();
    if (error != 0) {
        return gsh_nccl_base(call, error);
    }
    state = gshmemx_layer_state(&state_bytes);
    size_t map_bytes = sizeof(job->free_map);
    size_t all_bytes = round_up((size_t)job->n_pes * GSH_NCCL_EXCHANGE_BYTES, 64);
    size_t windows_bytes = GSH_NCCL_N_WINDOWS * sizeof(struct ncclWindow_vidmem);
    size_t head =
        round_up(2 * map_bytes + GSH_NCCL_EXCHANGE_BYTES + all_bytes + windows_bytes + state_bytes,
                 GSH_NCCL_GRANULE_BYTES);
    job->desk = gshmem_align(GSH_NCCL_GRANULE_BYTES, head + GSH_NCCL_ARENA_BYTES);
    if (job->desk == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: the heap has no %zu bytes for communicators",
                             call, head + GSH_NCCL_ARENA_BYTES);
    }
    job->map_in = (uint64_t *)job->desk;
    job->map_out = job->map_in + GSH_NCCL_MAP_WORDS;
    job->one = (char *)(job->map_out + GSH_NCCL_MAP_WORDS);
    job->all = job->one + GSH_NCCL_EXCHANGE_BYTES;
    job->windows = (struct ncclWindow_vidmem *)(job->all + all_bytes);
    job->state = (struct gsh_state *)((char *)job->windows + windows_bytes);
    job->arena = job->desk + head;
    memset(job->free_map, 0xff, sizeof(job->free_map));
    gsh_nccl_write(job->state, state, state_bytes);
    return ncclSuccess;
}

ncclResult_t gsh_nccl_job_get(const char *call, int n_ranks, const ncclUniqueId *id, int rank,
                              struct gsh_nccl_job **out)
{
    struct gsh_nccl_job *job = mine;
    bool is_started = gshmemx_init_status() != GSHMEM_STATUS_NOT_INITIALIZED;
    if (is_started && n_ranks != gshmem_n_pes()) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: %d ranks, but gshmem runs with %d PEs here: communicators of "
                             "some of them are made by ncclCommSplit",
                             call, n_ranks, gshmem_n_pes());
    }
    if (job == NULL) {
        ncclResult_t r = is_started ? ncclSuccess : start(call, n_ranks, id, rank);
        if (r != ncclSuccess) {
            return r;
        }
        job = calloc(1, sizeof(*job));
        if (job == NULL) {
            return gsh_nccl_fail(ncclSystemError, "%s: no memory", call);
        }
        *job = (struct gsh_nccl_job){
            .is_ours = !is_started, .my_pe = gshmem_my_pe(), .n_pes = gshmem_n_pes()};
        r = lay_desk(call, job);
        if (r != ncclSuccess) {
            if (job->is_ours) {
                gshmem_finalize();
            }
            free(job);
            return r;
        }
        mine = job;
    }
    job->n_comms++;
    *out = job;
    return ncclSuccess;
}

ncclResult_t gsh_nccl_job_put(const char *call, struct gsh_nccl_job *job)
{
    if (job->n_comms == 1 && job != mine) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: the last communicator is destroyed by the thread that made the "
                             "first",
                             call);
    }
    if (--job->n_comms > 0) {
        return ncclSuccess;
    }
    gshmem_free(job->desk);
    if (job->is_ours) {
        gshmem_finalize();
    }
    mine = NULL;
    free(job);
    return ncclSuccess;
}

ncclResult_t gsh_nccl_exchange(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                               const void *own, void *all, size_t bytes)
{
    gsh_nccl_write(job->one, own, bytes);
    int error = gshmem_fcollectmem(team, job->all, job->one, bytes);
    if (error == 0) {
        gsh_nccl_read(all, job->all, bytes * (size_t)gshmem_team_n_pes(team));
    }
    return gsh_nccl_base(call, error);
}

/* ---- ranges of the arena ---- */

static bool is_free(const uint64_t *map, size_t granule)
{
    return (map[granule / 64] >> (granule % 64) & 1) != 0;
}

/* The first n granules in a row; GSH_NCCL_N_GRANULES: none. */
static size_t first_fit(const uint64_t *map, size_t n)
{
    size_t run = 0;
    for (size_t i = 0; i < GSH_NCCL_N_GRANULES; i++) {
        run = is_free(map, i) ? run + 1 : 0;
        if (run == n) {
            return i + 1 - n;
        }
    }
    return GSH_NCCL_N_GRANULES;
}

static size_t granules_of(size_t bytes)
{
    return (bytes + GSH_NCCL_GRANULE_BYTES - 1) / GSH_NCCL_GRANULE_BYTES;
}

static void mark(struct gsh_nccl_job *job, size_t first, size_t n, bool is_to_be_free)
{
    for (size_t i = first; i < first + n; i++) {
        uint64_t bit = (uint64_t)1 << (i % 64);
        job->free_map[i / 64] = (job->free_map[i / 64] & ~bit) | (is_to_be_free ? bit : 0);
    }
}

ncclResult_t gsh_nccl_take(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                           size_t least, size_t *bytes, size_t *off)
{
    uint64_t map[GSH_NCCL_MAP_WORDS];
    gsh_nccl_write(job->map_in, job->free_map, sizeof(map));
    int error = gshmem_uint64_and_reduce(team, job->map_out, job->map_in, GSH_NCCL_MAP_WORDS);
    if (error != 0) {
        return gsh_nccl_base(call, error);
    }
    gsh_nccl_read(map, job->map_out, sizeof(map));
    size_t n_free = 0;
    for (size_t i = 0; i < GSH_NCCL_N_GRANULES; i++) {
        n_free += is_free(map, i);
    }
    /* What comes later finds something, too. */
    size_t share = n_free * GSH_NCCL_GRANULE_BYTES / 4;
    for (size_t wanted = *bytes < share ? *bytes : share;; wanted /= 2) {
        wanted = wanted < least ? least : wanted;
        size_t n = granules_of(wanted), first = first_fit(map, n);
        if (first < GSH_NCCL_N_GRANULES) {
            mark(job, first, n, false);
            *bytes = wanted;
            *off = first * GSH_NCCL_GRANULE_BYTES;
            return ncclSuccess;
        }
        if (wanted == least) {
            return gsh_nccl_fail(ncclSystemError,
                                 "%s: needs %zu bytes, and of the %d bytes that communicators and "
                                 "device communicators share so many are not free in a row",
                                 call, least, GSH_NCCL_ARENA_BYTES);
        }
    }
}

void gsh_nccl_give(struct gsh_nccl_job *job, size_t off, size_t bytes)
{
    mark(job, off / GSH_NCCL_GRANULE_BYTES, granules_of(bytes), true);
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
    static const char zeros[4096];
    for (size_t done = 0; done < bytes; done += sizeof(zeros)) {
        size_t n = bytes - done < sizeof(zeros) ? bytes - done : sizeof(zeros);
        gsh_nccl_write((char *)dest + done, zeros, n);
    }
}
