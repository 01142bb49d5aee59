/* SPDX-License-Identifier: Apache-2.0
 * Device communicators: the sum of their requirements, and a range of the pool for it. */
#include "dialects/nccl/window/devcomm.h"

#include <stdlib.h>
#include <string.h>
#include "dialects/nccl/base/copier.h"
#include "dialects/nccl/group/group.h"
#include "dialects/nccl/include/nccl_device/types.h"
#include "dialects/nccl/include/nccl_device/window_record.h"
#include "dialects/nccl/window/record.h"
#include "dialects/nccl/window/window.h"
#include "gshmem.h"
#include "runtime/layer.h"

enum {
    DEFAULT_CONTEXTS = 4,
    MAX_CONTEXTS = 16,
    MAGIC = 0x44636f6d,
    UNIT = GSHMEM_NCCL_RESOURCE_UNIT,
    /* The earliest version whose requirements have a size field: 2.29.2. */
    LEAST_REQUIREMENTS = offsetof(ncclDevCommRequirements, ginConnectionType),
};

/* Handles count units; half of what they reach is left for alignment and words. */
#define MAX_RESOURCE_BYTES ((size_t)UNIT << 31)

/* ---- what it takes ---- */

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Lays out what is requested: first buffers, then the words of GIN. */
struct plan {
    size_t bytes;
    uint32_t n_signals, n_counters;
    int n_contexts;
    size_t signals_off, shadows_off, counters_off;
};

static ncclDevResourceHandle take_buffer(struct plan *p, size_t bytes, size_t align)
{
    align = align < UNIT ? UNIT : align;
    size_t off = round_up(p->bytes, align);
    p->bytes = off + bytes;
    return (ncclDevResourceHandle)(off / UNIT);
}

static ncclLsaBarrierHandle take_lsa_barriers(struct plan *p, int n_ranks, int n)
{
    size_t words = (size_t)GSHMEM_NCCL_LSA_BARRIER_WORDS(n_ranks);
    size_t bytes = (size_t)n * words * sizeof(uint32_t);
    return (ncclLsaBarrierHandle){take_buffer(p, bytes, UNIT), n};
}

static ncclGinBarrierHandle take_gin_barriers(struct plan *p, int n_ranks, int n)
{
    ncclGinBarrierHandle h = {p->n_signals, (uint32_t)n};
    p->n_signals += (uint32_t)n * (uint32_t)n_ranks;
    return h;
}

static int max(int a, int b)
{
    return a > b ? a : b;
}

/* Fills in the fields of the device communicator, and the lists' outputs, that depend on the
 * layout. The outputs are written once everything is there, so a failure changes nothing. */
static struct plan make_plan(const struct ncclComm *comm, const ncclDevCommRequirements *q,
                             ncclDevComm *d, bool is_final)
{
    struct plan p = {.n_signals = (uint32_t)q->ginSignalCount,
                     .n_counters = (uint32_t)q->ginCounterCount,
                     .n_contexts = q->ginContextCount == 0             ? DEFAULT_CONTEXTS
                                   : q->ginContextCount < MAX_CONTEXTS ? q->ginContextCount
                                                                       : MAX_CONTEXTS};
    int n = comm->n_ranks;
    d->lsaBarrier = take_lsa_barriers(&p, comm->lsa_size, max(q->lsaBarrierCount, q->barrierCount));
    d->hybridLsaBarrier = take_lsa_barriers(&p, comm->lsa_size, q->barrierCount);
    d->railGinBarrier = take_gin_barriers(&p, n, max(q->railGinBarrierCount, q->barrierCount));
    d->hybridRailGinBarrier = take_gin_barriers(&p, n, q->barrierCount);
    d->worldGinBarrier = take_gin_barriers(&p, n, q->worldGinBarrierCount);
    for (ncclDevResourceRequirements *r = q->resourceRequirementsList; r != NULL; r = r->next) {
        ncclDevResourceHandle h = take_buffer(&p, r->bufferSize, r->bufferAlign);
        if (is_final && r->outBufferHandle != NULL) {
            *r->outBufferHandle = h;
        }
        if (is_final && r->outGinSignalStart != NULL) {
            *r->outGinSignalStart = p.n_signals;
        }
        if (is_final && r->outGinCounterStart != NULL) {
            *r->outGinCounterStart = p.n_counters;
        }
        p.n_signals += (uint32_t)r->ginSignalCount;
        p.n_counters += (uint32_t)r->ginCounterCount;
    }
    for (ncclTeamRequirements *t = q->teamRequirementsList; is_final && t != NULL; t = t->next) {
        if (t->outMultimemHandle != NULL) {
            *t->outMultimemHandle = (ncclMultimemHandle){NULL};
        }
    }
    size_t signals = (size_t)p.n_contexts * p.n_signals * sizeof(uint64_t);
    size_t counters = (size_t)p.n_contexts * p.n_counters * sizeof(uint64_t);
    p.signals_off = round_up(p.bytes, UNIT);
    p.shadows_off = round_up(p.signals_off + signals, UNIT);
    p.counters_off = round_up(p.shadows_off + signals, UNIT);
    p.bytes = round_up(p.counters_off + counters, UNIT);
    return p;
}

/* ---- checks ---- */

/* An earlier version's requirements lack the last fields: they are 0. */
static ncclDevCommRequirements whole_requirements(const ncclDevCommRequirements *q)
{
    ncclDevCommRequirements whole = {0};
    bool is_short = q->magic == NCCL_API_MAGIC && q->size < sizeof(whole);
    memcpy(&whole, q, is_short ? q->size : sizeof(whole));
    return whole;
}

static ncclResult_t check_begin(const char *call, const ncclDevCommRequirements *q)
{
    if (!(q->size == 0 && q->magic == 0) &&
        (q->magic != NCCL_API_MAGIC || q->size < LEAST_REQUIREMENTS || q->size > sizeof(*q) ||
         q->version < 22800)) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: the requirements (size %zu, magic 0x%x, version %u) are neither "
                             "zeroed nor made by NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER",
                             call, q->size, q->magic, q->version);
    }
    return ncclSuccess;
}

/* What GIN of other kinds, and logical endpoints, are asked for by. */
static ncclResult_t check_kinds(const char *call, const ncclDevCommRequirements *q)
{
    if ((unsigned)q->ginConnectionType > NCCL_GIN_CONNECTION_CUSTOM_STRIDE) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: ginConnectionType is %d in the requirements",
                             call, (int)q->ginConnectionType);
    }
    if (q->ginConnectionType == NCCL_GIN_CONNECTION_CUSTOM_STRIDE && q->ginCustomStride < 1) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: ginCustomStride is %d in the requirements",
                             call, q->ginCustomStride);
    }
    if ((unsigned)q->ginType >= NCCL_GIN_MAX_TYPES || q->ginType == 1) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: ginType is %d in the requirements", call,
                             (int)q->ginType);
    }
    if (q->cftCaps != NCCL_CFT_NONE || q->cftBarrierCount != 0) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: cftCaps is %d and cftBarrierCount %d in the requirements: no "
                             "device here has logical endpoints",
                             call, q->cftCaps, q->cftBarrierCount);
    }
    return ncclSuccess;
}

static ncclResult_t check_requirements(const char *call, const ncclDevCommRequirements *q)
{
    if (q->lsaMultimem) {
        return gsh_nccl_fail(ncclInvalidUsage, "%s: lsaMultimem: multimem is not supported", call);
    }
    if (!gsh_nccl_is_count(q->barrierCount) || !gsh_nccl_is_count(q->lsaBarrierCount) ||
        !gsh_nccl_is_count(q->railGinBarrierCount) || !gsh_nccl_is_count(q->worldGinBarrierCount) ||
        !gsh_nccl_is_count(q->ginSignalCount) || !gsh_nccl_is_count(q->ginCounterCount) ||
        !gsh_nccl_is_count(q->ginContextCount)) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             "%s: a count of the requirements is below 0 or above %d", call,
                             GSH_NCCL_MAX_COUNT);
    }
    size_t room = MAX_RESOURCE_BYTES;
    for (const ncclDevResourceRequirements *r = q->resourceRequirementsList; r != NULL;
         r = r->next) {
        if (!gsh_nccl_is_count(r->ginSignalCount) || !gsh_nccl_is_count(r->ginCounterCount) ||
            r->bufferSize > room || r->bufferAlign > GSH_NCCL_GRANULE_BYTES ||
            (r->bufferAlign & (r->bufferAlign - 1)) != 0) {
            return gsh_nccl_fail(ncclInvalidArgument,
                                 "%s: a resource of %zu bytes aligned to %zu, %d signals, %d "
                                 "counters: not valid",
                                 call, r->bufferSize, r->bufferAlign, r->ginSignalCount,
                                 r->ginCounterCount);
        }
        room -= r->bufferSize;
    }
    for (const ncclTeamRequirements *t = q->teamRequirementsList; t != NULL; t = t->next) {
        if (t->multimem) {
            return gsh_nccl_fail(ncclInvalidUsage,
                                 "%s: a team asks for multimem, which is not "
                                 "supported",
                                 call);
        }
    }
    return ncclSuccess;
}

/* All ranks must request the same; otherwise none gets anything. *has_copier: this rank has one; on
 * return, all have. */
static ncclResult_t compare(const char *call, const struct ncclComm *comm, const struct plan *p,
                            bool *has_copier)
{
    struct asked {
        uint64_t marks; /* of windows; not part of the request */
        uint64_t bytes;
        uint32_t n_signals, n_counters;
        int32_t n_contexts;
        uint32_t has_copier; /* nor is this */
    } own = {comm->marks, p->bytes, p->n_signals, p->n_counters, p->n_contexts, *has_copier};
    struct asked *all = malloc((size_t)comm->n_ranks * sizeof(*all));
    if (all == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", call);
    }
    ncclResult_t r = gsh_nccl_exchange(call, comm->job, comm->control_team, &own, all, sizeof(own));
    if (r == ncclSuccess) {
        r = gsh_nccl_windows_compare(call, comm, &all->marks, sizeof(*all));
    }
    for (int i = 0; r == ncclSuccess && i < comm->n_ranks; i++) {
        *has_copier = *has_copier && all[i].has_copier != 0;
        all[i].has_copier = 0;
        if (memcmp(&all[i], &all[0], sizeof(own)) != 0) {
            r = gsh_nccl_fail(ncclInvalidArgument,
                              "%s: ranks ask for different things: rank 0 for %llu bytes with %u "
                              "signals, rank %d for %llu with %u",
                              call, (unsigned long long)all[0].bytes, all[0].n_signals, i,
                              (unsigned long long)all[i].bytes, all[i].n_signals);
        }
    }
    free(all);
    return r;
}

/* ---- making and ending ---- */

/* Copies the requirements and their lists, which the program may discard before its group ends;
 * outputs stay where it said. All in one piece of memory. */
static ncclDevCommRequirements *copy_requirements(const ncclDevCommRequirements *q)
{
    size_t n = 0;
    size_t n_teams = 0;
    for (const ncclDevResourceRequirements *r = q->resourceRequirementsList; r != NULL;
         r = r->next) {
        n++;
    }
    for (const ncclTeamRequirements *t = q->teamRequirementsList; t != NULL; t = t->next) {
        n_teams++;
    }
    ncclDevCommRequirements *copy = malloc(sizeof(*copy) + n * sizeof(ncclDevResourceRequirements) +
                                           n_teams * sizeof(ncclTeamRequirements));
    if (copy == NULL) {
        return NULL;
    }
    ncclDevResourceRequirements *to = (ncclDevResourceRequirements *)(copy + 1);
    ncclTeamRequirements *to_team = (ncclTeamRequirements *)(to + n);
    *copy = *q;
    if (n_teams > 0) {
        copy->teamRequirementsList = to_team;
    }
    for (const ncclTeamRequirements *t = q->teamRequirementsList; t != NULL;
         t = t->next, to_team++) {
        *to_team = *t;
        to_team->next = t->next != NULL ? to_team + 1 : NULL;
    }
    if (n > 0) {
        copy->resourceRequirementsList = to;
    }
    for (const ncclDevResourceRequirements *r = q->resourceRequirementsList; r != NULL;
         r = r->next, to++) {
        *to = *r;
        to->next = r->next != NULL ? to + 1 : NULL;
    }
    return copy;
}

/* With the PE's agreement lock held. */
static ncclResult_t create(const struct gsh_nccl_call *c)
{
    struct ncclComm *comm = c->comm;
    const ncclDevCommRequirements *q = c->devcomm.requirements;
    ncclDevComm d = {
        .rank = comm->rank,
        .nRanks = comm->n_ranks,
        .lsaRank = comm->lsa_rank,
        .lsaSize = comm->lsa_size,
        .magic = MAGIC,
        .state = comm->job->state,
        .pe_of = comm->rings.pe_of,
        .lsa_stride = comm->lsa_stride,
        .windows = comm->job->windows,
        .id = gsh_nccl_comm_id(comm),
        .nWindows = GSH_NCCL_N_WINDOWS,
    };
    struct plan p = make_plan(comm, q, &d, false);
    /* Before the ranks agree on anything: if one cannot have it, none uses it. */
    bool has_copier = c->devcomm.layout == NULL && p.n_signals + p.n_counters > 0 &&
                      gsh_nccl_job_need_copier(comm->job);
    ncclResult_t r = compare(c->name, comm, &p, &has_copier);
    if (r != ncclSuccess) {
        return r;
    }
    struct gsh_nccl_devcomm *entry = calloc(1, sizeof(*entry));
    if (entry == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name);
    }
    const struct gsh_nccl_wanted wanted = {p.bytes, p.bytes};
    r = gsh_nccl_take(c->name, comm->job, comm->control_team, &comm->holding, &wanted,
                      &entry->range);
    if (r != ncclSuccess) {
        free(entry);
        return r;
    }
    d.resources = entry->range.base;
    gsh_nccl_clear(d.resources, p.bytes);
    d.signals = (uint64_t *)(d.resources + p.signals_off);
    d.shadows = (uint64_t *)(d.resources + p.shadows_off);
    d.counters = (uint64_t *)(d.resources + p.counters_off);
    d.ginContextCount = p.n_contexts;
    d.ginSignalCount = (int)p.n_signals;
    d.ginCounterCount = (int)p.n_counters;
    if (has_copier) {
        d.copies = gsh_nccl_copier_slots(comm->job->copier);
        d.copies_asked = gsh_nccl_copier_asked(comm->job->copier);
    }
    entry->record_index = gsh_nccl_record_take(comm->job);
    if (entry->record_index < 0) {
        gsh_nccl_retire(comm->job, &comm->holding, entry->range);
        free(entry);
        return gsh_nccl_record_none(c->name);
    }
    gsh_nccl_record_write(comm, entry->record_index, d.resources, p.bytes, 0);
    d.resourceWindow = &comm->job->windows[entry->record_index];
    (void)make_plan(comm, q, &d, true);
    entry->made = d;
    entry->layout = c->devcomm.layout;
    pthread_mutex_lock(&comm->job->lock);
    entry->next = comm->devcomms;
    comm->devcomms = entry;
    pthread_mutex_unlock(&comm->job->lock);
    if (entry->layout != NULL) {
        gsh_nccl_layout_write(entry->layout, q->version, &d, c->devcomm.result);
    } else {
        memcpy(c->devcomm.result, &d, sizeof(d));
    }
    /* No rank's kernels may use it before all have cleared. */
    return gsh_nccl_barrier(c->name, comm->job, comm->control_team);
}

static ncclResult_t run_create(const struct gsh_nccl_call *c)
{
    struct gsh_nccl_job *job = c->comm->job;
    ncclResult_t r = gsh_nccl_agreement_lock(c->name, job, c->comm->control_team, NULL, 0);
    if (r == ncclSuccess) {
        r = create(c);
        gsh_nccl_agreement_unlock(job);
    }
    return r;
}

ncclResult_t gsh_nccl_devcomm_create(const char *call, struct ncclComm *comm,
                                     const ncclDevCommRequirements *requirements,
                                     const struct gsh_nccl_layout *layout, void *result)
{
    ncclResult_t r = check_requirements(call, requirements);
    r = r == ncclSuccess ? check_kinds(call, requirements) : r;
    if (r != ncclSuccess) {
        return gsh_nccl_refuse(r);
    }
    ncclDevCommRequirements *copy = copy_requirements(requirements);
    if (copy == NULL) {
        return gsh_nccl_refuse(gsh_nccl_fail(ncclSystemError, "%s: no memory", call));
    }
    struct gsh_nccl_call c = {
        .name = call,
        .family = GSH_NCCL_DEVCOMM,
        .run = run_create,
        .comm = comm,
        .agrees = true,
        .owned = copy,
        .devcomm = {.requirements = copy, .result = result, .layout = layout}};
    return gsh_nccl_submit(r, &c);
}

ncclResult_t gsh_nccl_devcomm_need(const char *call, struct ncclComm *comm, const void *reqs,
                                   const void *result)
{
    ncclResult_t r = gsh_nccl_need_open(call, comm);
    if (r == ncclSuccess && (reqs == NULL || result == NULL)) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: requirements %p, result %p: not valid", call,
                          reqs, result);
    }
    return r;
}

ncclResult_t ncclDevCommCreate(ncclComm_t comm, const ncclDevCommRequirements *reqs,
                               ncclDevComm *outDevComm)
{
    static const char call[] = "ncclDevCommCreate";
    ncclResult_t r = gsh_nccl_devcomm_need(call, comm, reqs, outDevComm);
    if (r != ncclSuccess) {
        return gsh_nccl_refuse(r);
    }
    ncclDevCommRequirements whole = whole_requirements(reqs);
    r = check_begin(call, &whole);
    return r == ncclSuccess ? gsh_nccl_devcomm_create(call, comm, &whole, NULL, outDevComm)
                            : gsh_nccl_refuse(r);
}

static void end(struct ncclComm *comm, struct gsh_nccl_devcomm **p)
{
    struct gsh_nccl_devcomm *entry = *p;
    pthread_mutex_lock(&comm->job->lock);
    *p = entry->next;
    pthread_mutex_unlock(&comm->job->lock);
    gsh_nccl_record_give(comm, entry->record_index);
    gsh_nccl_retire(comm->job, &comm->holding, entry->range);
    free(entry);
}

/* Whether it is what the entry's program was given. */
static bool is_of(const struct ncclComm *comm, const struct gsh_nccl_devcomm *entry,
                  const void *devcomm, bool is_foreign)
{
    const ncclWindow_t window = &comm->job->windows[entry->record_index];
    if (is_foreign) {
        return entry->layout != NULL && gsh_nccl_layout_window(entry->layout, devcomm) == window;
    }
    return entry->layout == NULL && ((const ncclDevComm *)devcomm)->resourceWindow == window;
}

ncclResult_t gsh_nccl_devcomm_destroy(const char *call, struct ncclComm *comm, const void *devcomm,
                                      bool is_foreign)
{
    struct gsh_nccl_devcomm **p = &comm->devcomms;
    while (*p != NULL && !is_of(comm, *p, devcomm, is_foreign)) {
        p = &(*p)->next;
    }
    if (*p == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             "%s: the communicator has no such device communicator, or not any "
                             "more",
                             call);
    }
    gsh_nccl_record_hide(comm, (*p)->record_index);
    end(comm, p);
    return ncclSuccess;
}

ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const ncclDevComm *devComm)
{
    static const char call[] = "ncclDevCommDestroy";
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r == ncclSuccess && (devComm == NULL || devComm->magic != MAGIC)) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: %p is not a device communicator", call,
                          (const void *)devComm);
    }
    return r == ncclSuccess ? gsh_nccl_devcomm_destroy(call, comm, devComm, false) : r;
}

void gsh_nccl_devcomms_free(struct ncclComm *comm)
{
    while (comm->devcomms != NULL) {
        end(comm, &comm->devcomms);
    }
}

size_t gsh_nccl_devcomms_bytes(const struct ncclComm *comm)
{
    size_t bytes = 0;
    for (const struct gsh_nccl_devcomm *d = comm->devcomms; d != NULL; d = d->next) {
        bytes += d->range.bytes;
    }
    return bytes;
}
