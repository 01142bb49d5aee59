/* SPDX-License-Identifier: Apache-2.0
 * Describes a word that a kernel or stream waited for in vain, in NCCL's names. */
#include <stdio.h>
#include "dialects/nccl/comm/comm.h"

/* The index of the array element at the address; -1: outside. */
static int64_t index_in(const void *address, const void *array, size_t n, size_t bytes)
{
    uint64_t off = (uint64_t)(uintptr_t)address - (uint64_t)(uintptr_t)array;
    return off / bytes < n ? (int64_t)(off / bytes) : -1;
}

static int64_t lsa_barrier(const ncclDevComm *d, ncclLsaBarrierHandle h, const void *address)
{
    size_t bytes = (size_t)GSHMEM_NCCL_LSA_BARRIER_WORDS(d->lsaSize) * sizeof(uint32_t);
    return index_in(address, d->resources + (size_t)h.bufHandle * GSHMEM_NCCL_RESOURCE_UNIT,
                    (size_t)h.nBarriers, bytes);
}

/* The barrier's index in the handle with the highest first signal up to this one. */
static int gin_barrier(const ncclDevComm *d, uint32_t signal)
{
    const ncclGinBarrierHandle of[] = {d->railGinBarrier, d->hybridRailGinBarrier,
                                       d->worldGinBarrier};
    uint32_t first = 0;
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        first = of[i].signal0 <= signal && of[i].signal0 > first ? of[i].signal0 : first;
    }
    return (int)((signal - first) / (uint32_t)d->nRanks);
}

static bool explain_devcomm(const ncclDevComm *d, const void *address, int rank, char *text,
                            size_t bytes)
{
    int64_t at = lsa_barrier(d, d->lsaBarrier, address);
    if (at < 0) {
        at = lsa_barrier(d, d->hybridLsaBarrier, address);
    }
    if (at >= 0) {
        snprintf(text, bytes, " (LSA barrier %d, rank %d)", (int)at, rank);
        return true;
    }
    size_t n_contexts = (size_t)d->ginContextCount, n = (size_t)d->ginSignalCount;
    at = index_in(address, d->signals, n_contexts * n, sizeof(uint64_t));
    if (at >= 0 && rank >= 0) { /* a barrier's; each rank has one on each other rank */
        snprintf(text, bytes, " (GIN barrier %d, rank %d)",
                 gin_barrier(d, (uint32_t)((uint64_t)at % n)), rank);
        return true;
    }
    if (at >= 0) {
        snprintf(text, bytes, " (signal %d of context %d)", (int)(at % (int64_t)n),
                 (int)(at / (int64_t)n));
        return true;
    }
    n = (size_t)d->ginCounterCount;
    at = index_in(address, d->counters, n_contexts * n, sizeof(uint64_t));
    if (at >= 0) {
        snprintf(text, bytes, " (counter %d of context %d)", (int)(at % (int64_t)n),
                 (int)(at / (int64_t)n));
    }
    return at >= 0;
}

struct question {
    const void *address;
    int peer;
    char *text;
    size_t bytes;
};

/* Whether comm has the word. */
static bool explain(const struct ncclComm *comm, void *arg)
{
    const struct question *q = arg;
    const void *address = q->address;
    const int peer = q->peer;
    char *text = q->text;
    const size_t bytes = q->bytes;
    int rank = peer >= 0 ? gsh_nccl_rank_of(comm, peer) : -1;
    int64_t from = index_in(address, comm->signals, (size_t)comm->n_ranks, sizeof(uint64_t));
    if (from >= 0) {
        snprintf(text, bytes, " (ncclWaitSignal for rank %d)", (int)from);
        return true;
    }
    for (const struct gsh_nccl_devcomm *d = comm->devcomms; d != NULL; d = d->next) {
        if (explain_devcomm(&d->made, address, rank, text, bytes)) {
            return true;
        }
    }
    if (index_in(address, comm->range.base, 1, comm->range.bytes) < 0) {
        return false;
    }
    if (rank >= 0) {
        snprintf(text, bytes, " (rank %d)", rank);
    }
    return true;
}

void gsh_nccl_comms_explain(void *pe, const void *address, int peer, char *text, size_t bytes)
{
    struct question q = {address, peer, text, bytes};
    gsh_nccl_comms_for_each(pe, explain, &q);
}
