/* SPDX-License-Identifier: Apache-2.0
 * The collectives, each carried out in one of three ways: directly on symmetric windows; from and
 * to any memory through the communicator's inbox; or, if some ranks are far, staged through its
 * scratch. */
#include "dialects/nccl/base/type.h"
#include "dialects/nccl/coll/batch.h"
#include "dialects/nccl/coll/begin.h"
#include "dialects/nccl/coll/direct.h"
#include "dialects/nccl/coll/staged.h"

typedef ncclResult_t way(const struct gsh_nccl_work *w);

static const struct {
    way *direct, *staged;
} ways[GSH_NCCL_N_KINDS] = {
    [GSH_NCCL_ALL_REDUCE] = {gsh_nccl_direct_all_reduce, gsh_nccl_staged_reduce},
    [GSH_NCCL_REDUCE] = {NULL, gsh_nccl_staged_reduce}, /* others have no dest */
    [GSH_NCCL_REDUCE_SCATTER] = {gsh_nccl_direct_reduce_scatter, gsh_nccl_staged_reduce_scatter},
    [GSH_NCCL_ALL_GATHER] = {gsh_nccl_direct_all_gather, gsh_nccl_staged_all_gather},
    [GSH_NCCL_ALL_TO_ALL] = {gsh_nccl_direct_all_to_all, gsh_nccl_staged_all_to_all},
    [GSH_NCCL_BROADCAST] = {gsh_nccl_direct_broadcast, gsh_nccl_staged_broadcast},
};

/* On the root a direct broadcast is a copy and a launch, unless it is in place, which the other
 * ranks cannot see. Up to so many bytes one launch through the inbox takes less time than both
 * (perftest/results/2026-11-26-h200-peers.md). Of two ranks, one reads what the other has in a
 * window, in one launch as well (coll/batch.c). */
enum { MOST_BROADCAST_BYTES = 4 << 20 };

static bool is_faster_by_inbox(const struct gsh_nccl_work *w, enum gsh_nccl_kind kind)
{
    return kind == GSH_NCCL_BROADCAST && w->comm->has_inbox &&
           (w->comm->n_ranks == 2 ||
            w->count * gsh_nccl_type_bytes(w->type) <= MOST_BROADCAST_BYTES);
}

static ncclResult_t run(const struct gsh_nccl_call *call)
{
    const enum gsh_nccl_kind kind = call->collective.kind;
    if (call->comm->has_inbox && call->comm->windows == NULL) {
        return gsh_nccl_batch_add(call);
    }
    struct gsh_nccl_work w;
    const bool is_direct = gsh_nccl_begin_work(call, &w) && !is_faster_by_inbox(&w, kind);
    if (!is_direct && call->comm->has_inbox) {
        return gsh_nccl_batch_add(call);
    }
    ncclResult_t r = gsh_nccl_batch_flush(call->comm);
    if (r == ncclSuccess) {
        r = gsh_nccl_enter_work(call, &w, is_direct);
    }
    if (r != ncclSuccess) {
        return r;
    }
    return is_direct ? ways[kind].direct(&w) : ways[kind].staged(&w);
}

static ncclResult_t begin(const char *name, ncclComm_t comm, struct gsh_nccl_collective c)
{
    struct gsh_nccl_call call = {
        .name = name, .run = run, .gatherer = &gsh_nccl_batches, .comm = comm, .collective = c};
    return gsh_nccl_begin(&call);
}

ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream)
{
    return begin("ncclAllReduce", comm,
                 (struct gsh_nccl_collective){.kind = GSH_NCCL_ALL_REDUCE,
                                              .source = sendbuff,
                                              .dest = recvbuff,
                                              .count = count,
                                              .type = datatype,
                                              .op = op,
                                              .stream = stream});
}

ncclResult_t ncclReduce(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
    return begin("ncclReduce", comm,
                 (struct gsh_nccl_collective){.kind = GSH_NCCL_REDUCE,
                                              .source = sendbuff,
                                              .dest = recvbuff,
                                              .count = count,
                                              .type = datatype,
                                              .op = op,
                                              .root = root,
                                              .stream = stream});
}

ncclResult_t ncclReduceScatter(const void *sendbuff, void *recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream)
{
    return begin("ncclReduceScatter", comm,
                 (struct gsh_nccl_collective){.kind = GSH_NCCL_REDUCE_SCATTER,
                                              .source = sendbuff,
                                              .dest = recvbuff,
                                              .count = recvcount,
                                              .type = datatype,
                                              .op = op,
                                              .stream = stream});
}

ncclResult_t ncclAllGather(const void *sendbuff, void *recvbuff, size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream)
{
    return begin("ncclAllGather", comm,
                 (struct gsh_nccl_collective){.kind = GSH_NCCL_ALL_GATHER,
                                              .source = sendbuff,
                                              .dest = recvbuff,
                                              .count = sendcount,
                                              .type = datatype,
                                              .stream = stream});
}

ncclResult_t ncclAlltoAll(const void *sendbuff, void *recvbuff, size_t count,
                          ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream)
{
    return begin("ncclAlltoAll", comm,
                 (struct gsh_nccl_collective){.kind = GSH_NCCL_ALL_TO_ALL,
                                              .source = sendbuff,
                                              .dest = recvbuff,
                                              .count = count,
                                              .type = datatype,
                                              .stream = stream});
}

ncclResult_t ncclBroadcast(const void *sendbuff, void *recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream)
{
    return begin("ncclBroadcast", comm,
                 (struct gsh_nccl_collective){.kind = GSH_NCCL_BROADCAST,
                                              .source = sendbuff,
                                              .dest = recvbuff,
                                              .count = count,
                                              .type = datatype,
                                              .root = root,
                                              .stream = stream});
}

ncclResult_t ncclBcast(void *buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream)
{
    return ncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}
