/* SPDX-License-Identifier: Apache-2.0
 * Making a communicator of PEs, and taking it apart. */
#include "dialects/nccl/init/make.h"

#include <stdlib.h>
#include <string.h>
#include "dialects/nccl/coll/batch.h"
#include "dialects/nccl/comm/launch.h"
#include "dialects/nccl/transfer/transfer.h"
#include "dialects/nccl/window/devcomm.h"
#include "dialects/nccl/window/window.h"
#include "gshmem.h"
#include "gshmemx.h"
#include "runtime/layer.h"

/* A later version's config is longer. Unset fields there are NCCL_CONFIG_UNDEF_INT, or NULL. What
 * fills up ours to its size may be anything. */
static bool is_rest_unset(const ncclConfig_t *config)
{
    enum { MOST = 4096 };
    const char *bytes = (const char *)config;
    if (config->size > MOST) {
        return false;
    }
    for (size_t at = sizeof(*config); at + sizeof(int) <= config->size; at += sizeof(int)) {
        int word;
        memcpy(&word, bytes + at, sizeof(word));
        if (word != NCCL_CONFIG_UNDEF_INT && word != 0) {
            return false;
        }
    }
    return true;
}

/* The field at the offset, which an earlier version's config may lack. */
static int field_at(const ncclConfig_t *config, size_t offset)
{
    int value = NCCL_CONFIG_UNDEF_INT;
    if (offset + sizeof(value) <= config->size) {
        memcpy(&value, (const char *)config + offset, sizeof(value));
    }
    return value;
}

static ncclResult_t check_late_fields(const char *call, const ncclConfig_t *config)
{
#define FIELD(NAME) #NAME, field_at(config, offsetof(ncclConfig_t, NAME))
    const struct {
        const char *name;
        int value, least, most;
    } fields[] = {
        {FIELD(launchOrderImplicit), 0, 1},
        {FIELD(numRmaSig), 1, INT_MAX},
        {FIELD(rmaEagerInit), 0, 1},
        {FIELD(hostCftMode), ncclHostCftEnable, ncclHostCftFallback},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const int value = fields[i].value;
        if (value != NCCL_CONFIG_UNDEF_INT && (value < fields[i].least || value > fields[i].most)) {
            return gsh_nccl_fail(ncclInvalidArgument, "%s: %s is %d in the config", call,
                                 fields[i].name, value);
        }
    }
    const int nvls = field_at(config, offsetof(ncclConfig_t, nvlsHostMode));
    if (nvls != ncclNvlsHostModeDefault && nvls != ncclNvlsHostModeDisable &&
        (nvls & ~(ncclNvlsHostModeDisableTransport | ncclNvlsHostModeDisableSymmetricMultimem)) !=
            0) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: nvlsHostMode is %d in the config", call,
                             nvls);
    }
    return field_at(config, offsetof(ncclConfig_t, hostCftMode)) == ncclHostCftEnable
               ? gsh_nccl_fail(ncclInvalidUsage,
                               "%s: hostCftMode asks for logical endpoints, which no device here "
                               "has: ncclHostCftFallback does without",
                               call)
               : ncclSuccess;
#undef FIELD
}

ncclResult_t gsh_nccl_config_check(const char *call, const ncclConfig_t *config)
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
    if (!is_rest_unset(config)) {
        return gsh_nccl_fail(
            ncclInvalidArgument,
            "%s: the config (size %zu, version %u) is newer than this library, and "
            "sets a field that it does not know",
            call, config->size, config->version);
    }
    if (config->blocking != NCCL_CONFIG_UNDEF_INT && config->blocking != 0 &&
        config->blocking != 1) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: blocking is %d in the config", call,
                             config->blocking);
    }
    return check_late_fields(call, config);
}

bool gsh_nccl_config_is_nonblocking(const ncclConfig_t *config, const struct ncclComm *parent)
{
    if (config == NULL || config->blocking == NCCL_CONFIG_UNDEF_INT) {
        return parent != NULL && parent->is_nonblocking;
    }
    return config->blocking == 0;
}

void gsh_nccl_comm_unmake(struct ncclComm *comm)
{
    gsh_nccl_windows_free(comm);
    gsh_nccl_devcomms_free(comm);
    if (comm->chain.event != NULL) {
        gsh_nccl_stream_ops()->end(&comm->chain);
    }
    if (comm->team == GSHMEM_TEAM_WORLD) {
        comm->job->has_world = false;
    } else if (comm->team != GSHMEM_TEAM_INVALID) {
        gshmem_team_destroy(comm->team);
    }
    gsh_nccl_give_pieces_back("ncclCommDestroy", comm->job, comm->control_team, &comm->pieces);
    gsh_nccl_retire(comm->job, &comm->holding, comm->range);
    gsh_nccl_give_back("ncclCommDestroy", comm->job, comm->control_team, &comm->holding);
    if (comm->control_team != GSHMEM_TEAM_INVALID) {
        gshmem_team_destroy(comm->control_team);
    }
    gsh_nccl_gathering_free(&comm->gathering);
    gsh_nccl_batch_free(&comm->batch);
    free(comm->pe_of);
    comm->pe_of = NULL;
    comm->range = (struct gsh_nccl_range){0};
    comm->team = comm->control_team = GSHMEM_TEAM_INVALID;
}

static bool is_world(const struct ncclComm *comm)
{
    bool is_same = comm->n_ranks == comm->job->n_pes;
    for (int i = 0; is_same && i < comm->n_ranks; i++) {
        is_same = comm->pe_of[i] == i;
    }
    return is_same;
}

static void take_world(struct ncclComm *comm)
{
    struct gsh_nccl_job *job = comm->job;
    if (job->is_ours && !job->has_world && is_world(comm)) {
        job->has_world = true;
        comm->team = GSHMEM_TEAM_WORLD;
    }
}

/* The team of collectives, unless that is WORLD, with its buffers in the range. */
static ncclResult_t make_team(const char *call, struct ncclComm *comm)
{
    if (comm->team == GSHMEM_TEAM_WORLD) {
        return ncclSuccess;
    }
    size_t bytes = 0;
    void *buffers = gsh_nccl_team_buffers(comm, &bytes);
    return gsh_nccl_base(call, gshmemx_layer_team_create(call, comm->pe_of, comm->n_ranks, buffers,
                                                         bytes, &comm->team));
}

/* Makes the communicator's teams, LSA team and range. comm->job is set and entered. */
static ncclResult_t fill(const char *call, struct ncclComm *comm)
{
    gshmem_team_t control_team = GSHMEM_TEAM_INVALID;
    gshmemx_layer_explain_by(gsh_nccl_comms_explain);
    gshmemx_layer_subscribe_deaths(gsh_nccl_comms_lose);
    if (gsh_nccl_comm_is_lost(comm)) {
        return gsh_nccl_lost(call);
    }
    ncclResult_t r = gsh_nccl_base(
        call, gshmemx_layer_team_create(call, comm->pe_of, comm->n_ranks, NULL, 0, &control_team));
    /* release: pairs with the acquire in lose of comm.c */
    __atomic_store_n(&comm->control_team, control_team, __ATOMIC_RELEASE);
    if (r == ncclSuccess) {
        r = gsh_nccl_find_lsa(call, comm);
    }
    if (r == ncclSuccess) {
        r = gsh_nccl_prepare(call);
    }
    if (r == ncclSuccess) {
        take_world(comm);
        r = gsh_nccl_take_range(call, comm);
    }
    r = r == ncclSuccess ? make_team(call, comm) : r;
    comm->has_inbox = r == ncclSuccess && gshmemx_layer_has_colls(comm->team, gsh_nccl_inbox(comm));
    if (r == ncclSuccess && !comm->has_inbox) {
        r = gsh_nccl_base(call, gshmemx_layer_load_colls(call, true));
    }
    return r == ncclSuccess && gsh_nccl_comm_is_lost(comm) ? gsh_nccl_lost(call) : r;
}

ncclResult_t gsh_nccl_comm_make(const struct gsh_nccl_call *c, struct gsh_nccl_job *job, int *pe_of,
                                int n_ranks, int rank)
{
    struct ncclComm *comm = c->birth.shell != NULL ? c->birth.shell : gsh_nccl_comm_begin(false);
    if (comm == NULL) {
        free(pe_of);
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name);
    }
    comm->rank = rank;
    comm->n_ranks = n_ranks;
    comm->pe_of = pe_of;
    /* seq_cst, as is abort_comm in init/end.c, which stores is_aborted and then loads job: at least
     * one of the two sees the other's store */
    __atomic_store_n(&comm->job, job, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&comm->is_aborted, __ATOMIC_SEQ_CST)) {
        gsh_nccl_job_give_up(job);
    }
    ncclResult_t r = fill(c->name, comm);
    if (gsh_nccl_job_is_given_up(job)) {
        return gsh_nccl_job_given_up(c->name, job); /* keeps what it has so far */
    }
    /* release: pairs with the acquire in lose of comm.c */
    __atomic_store_n(&comm->is_made, r == ncclSuccess, __ATOMIC_RELEASE);
    if (r == ncclRemoteError) {
        comm->job = NULL; /* other ranks may still use what it has so far */
    } else if (r != ncclSuccess) {
        gsh_nccl_comm_hide(comm);
        gsh_nccl_comm_unmake(comm);
        comm->job = NULL;
    }
    if (c->birth.shell != NULL) {
        return r; /* the thread that began the call ends it */
    }
    if (r != ncclSuccess) {
        gsh_nccl_comm_forget(comm);
        gsh_nccl_comm_discard(comm);
        return r;
    }
    gsh_nccl_comm_end_call(comm, r);
    *c->birth.new_comm = comm;
    return r;
}
