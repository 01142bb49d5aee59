/* SPDX-License-Identifier: Apache-2.0
 * See batch.h. */
#include "dialects/nccl/coll/batch.h"

#include <stdlib.h>
#include "base/array.h"
#include "dialects/nccl/base/type.h"
#include "dialects/nccl/coll/compare.h"
#include "dialects/nccl/coll/op.h"
#include "dialects/nccl/comm/launch.h"
#include "dialects/nccl/window/window.h"

/* The base numbers types and operators as NCCL does. */
#define SAME_NUMBER(OURS, BASES) _Static_assert((int)(OURS) == (int)(BASES), "the same number")
SAME_NUMBER(ncclInt8, GSHMEMX_LAYER_TYPE_INT8);
SAME_NUMBER(ncclUint8, GSHMEMX_LAYER_TYPE_UINT8);
SAME_NUMBER(ncclInt32, GSHMEMX_LAYER_TYPE_INT32);
SAME_NUMBER(ncclUint32, GSHMEMX_LAYER_TYPE_UINT32);
SAME_NUMBER(ncclInt64, GSHMEMX_LAYER_TYPE_INT64);
SAME_NUMBER(ncclUint64, GSHMEMX_LAYER_TYPE_UINT64);
SAME_NUMBER(ncclFloat16, GSHMEMX_LAYER_TYPE_HALF);
SAME_NUMBER(ncclFloat32, GSHMEMX_LAYER_TYPE_FLOAT);
SAME_NUMBER(ncclFloat64, GSHMEMX_LAYER_TYPE_DOUBLE);
SAME_NUMBER(ncclBfloat16, GSHMEMX_LAYER_TYPE_BFLOAT16);
SAME_NUMBER(ncclFloat8e4m3, GSHMEMX_LAYER_TYPE_E4M3);
SAME_NUMBER(ncclFloat8e5m2, GSHMEMX_LAYER_TYPE_E5M2);
SAME_NUMBER(ncclSum, GSHMEMX_LAYER_SUM);
SAME_NUMBER(ncclProd, GSHMEMX_LAYER_PROD);
SAME_NUMBER(ncclMax, GSHMEMX_LAYER_MAX);
SAME_NUMBER(ncclMin, GSHMEMX_LAYER_MIN);

static const enum gshmemx_layer_coll_kind kinds[GSH_NCCL_N_KINDS] = {
    [GSH_NCCL_ALL_REDUCE] = GSHMEMX_LAYER_ALL_REDUCE,
    [GSH_NCCL_REDUCE] = GSHMEMX_LAYER_REDUCE,
    [GSH_NCCL_REDUCE_SCATTER] = GSHMEMX_LAYER_REDUCE_SCATTER,
    [GSH_NCCL_ALL_GATHER] = GSHMEMX_LAYER_ALL_GATHER,
    [GSH_NCCL_ALL_TO_ALL] = GSHMEMX_LAYER_ALL_TO_ALL,
    [GSH_NCCL_BROADCAST] = GSHMEMX_LAYER_BROADCAST,
    [GSH_NCCL_GATHER] = GSHMEMX_LAYER_GATHER,
    [GSH_NCCL_SCATTER] = GSHMEMX_LAYER_SCATTER,
};

/* Where in a window the other one of two ranks may read what this one gives it; NULL: nowhere. Each
 * rank says that to the other in the kernel, so they need not have their buffers in the same. */
static const void *readable_source(const struct ncclComm *comm, const struct gsh_nccl_collective *c)
{
    const bool is_to_root = c->kind == GSH_NCCL_REDUCE || c->kind == GSH_NCCL_GATHER;
    const bool is_from_root = c->kind == GSH_NCCL_BROADCAST || c->kind == GSH_NCCL_SCATTER;
    const bool gives =
        (is_to_root && comm->rank != c->root) || (is_from_root && comm->rank == c->root);
    const size_t blocks = c->kind == GSH_NCCL_SCATTER ? 2 : 1;
    return gives && comm->n_ranks == 2 && comm->windows != NULL
               ? gsh_nccl_symmetric(comm, c->source,
                                    blocks * c->count * gsh_nccl_type_bytes(c->type))
               : NULL;
}

static struct gshmemx_layer_coll in_base_terms(const struct ncclComm *comm,
                                               const struct gsh_nccl_collective *c)
{
    struct gshmemx_layer_coll coll = {
        .kind = kinds[c->kind],
        .type = (enum gshmemx_layer_type)c->type,
        .root = c->root,
        .source = c->source,
        .dest = c->dest,
        .may_read = comm->n_registrations > 0, /* the same on all ranks */
        .readable = readable_source(comm, c),
        .pieces = comm->pieces.memory,
        .shares_pieces = comm->pieces.is_shared,
        .count = c->count,
        .least_blocks = c->config.least_blocks,
        .most_blocks = c->config.most_blocks,
        .site = gshmemx_layer_site(),
    };
    if (c->kind == GSH_NCCL_ALL_REDUCE || c->kind == GSH_NCCL_REDUCE ||
        c->kind == GSH_NCCL_REDUCE_SCATTER) {
        const struct gsh_nccl_combining how = gsh_nccl_combining(comm, c->type, c->op);
        coll.op = (enum gshmemx_layer_op)how.base;
        coll.scaling = how.is_premul    ? GSHMEMX_LAYER_MULTIPLIED
                       : how.is_divided ? GSHMEMX_LAYER_DIVIDED
                                        : GSHMEMX_LAYER_NOT_SCALED;
        coll.scalar = how.scalar;
        coll.scalar_at = how.scalar_at;
    }
    return coll;
}

/* ---- launching ---- */

static bool has_any(const struct ncclComm *comm)
{
    return comm->batch.n > 0;
}

static void forget(struct ncclComm *comm)
{
    comm->batch.n = comm->batch.streams.n = 0;
}

void gsh_nccl_batch_free(struct gsh_nccl_batch *batch)
{
    free(batch->calls);
    free(batch->colls);
    free(batch->streams.all);
    *batch = (struct gsh_nccl_batch){0};
}

/* In checking builds, before any of them begins. */
static ncclResult_t compare(struct ncclComm *comm, cudaStream_t stream)
{
    ncclResult_t r = ncclSuccess;
    for (size_t i = 0; i < comm->batch.n && r == ncclSuccess; i++) {
        struct gsh_nccl_collective c = comm->batch.calls[i].collective;
        c.stream = stream;
        r = gsh_nccl_compare_ranks(comm->batch.calls[i].name, comm, &c, NULL, NULL);
    }
    return r;
}

static ncclResult_t launch(struct ncclComm *comm)
{
    struct gsh_nccl_batch *b = &comm->batch;
    const char *name = b->calls[0].name;
    cudaStream_t stream = NULL;
    ncclResult_t r = gsh_nccl_streams_join(name, comm, &b->streams, &stream);
    if (r == ncclSuccess) {
        r = compare(comm, stream);
    }
    if (r == ncclSuccess) {
        b->n_launches++;
        r = gsh_nccl_base(name,
                          gshmemx_layer_colls_on_stream(name, comm->team, gsh_nccl_inbox(comm),
                                                        b->colls, (int)b->n, stream));
    }
    return r == ncclSuccess ? gsh_nccl_launched(name, gsh_nccl_streams_part(&b->streams, stream))
                            : r;
}

ncclResult_t gsh_nccl_batch_flush(struct ncclComm *comm)
{
    ncclResult_t r = has_any(comm) ? launch(comm) : ncclSuccess;
    forget(comm);
    return r;
}

const struct gsh_nccl_gatherer gsh_nccl_batches = {has_any, launch, forget, true};

/* ---- gathering ---- */

ncclResult_t gsh_nccl_batch_add(const struct gsh_nccl_call *call)
{
    struct ncclComm *comm = call->comm;
    struct gsh_nccl_batch *b = &comm->batch;
    const struct gsh_nccl_collective *c = &call->collective;
    ncclResult_t r = ncclSuccess;
    if (c->count == 0) {
        return r;
    }
    if (b->n > 0 && b->calls[0].collective.kind != c->kind) {
        r = gsh_nccl_batch_flush(comm);
    }
    if (r != ncclSuccess) {
        return r;
    }
    if (!gsh_array_reserve(&b->calls, &b->calls_room, b->n + 1, sizeof(*b->calls)) ||
        !gsh_array_reserve(&b->colls, &b->colls_room, b->n + 1, sizeof(*b->colls)) ||
        !gsh_nccl_streams_add(&b->streams, c->stream)) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", call->name);
    }
    b->calls[b->n] = (struct gsh_nccl_batched){call->name, *c};
    b->colls[b->n++] = in_base_terms(comm, c);
    return call->is_alone ? gsh_nccl_batch_flush(comm) : r;
}
