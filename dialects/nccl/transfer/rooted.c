/* SPDX-License-Identifier: Apache-2.0
 * Gather and scatter: collectives between one rank and all; as sends and receives, if some ranks
 * are far. */
#include "dialects/nccl/base/type.h"
#include "dialects/nccl/coll/batch.h"
#include "dialects/nccl/coll/begin.h"
#include "dialects/nccl/coll/config.h"
#include "dialects/nccl/transfer/transfer.h"

static ncclResult_t run(const struct gsh_nccl_call *call)
{
    struct ncclComm *comm = call->comm;
    const struct gsh_nccl_collective *c = &call->collective;
    if (comm->has_inbox) {
        return gsh_nccl_batch_add(call);
    }
    bool is_gather = c->kind == GSH_NCCL_GATHER, is_root = comm->rank == c->root;
    const size_t bytes = c->count * gsh_nccl_type_bytes(c->type);
    char *source = (char *)(uintptr_t)c->source; /* only read */
    char *many = is_gather ? c->dest : source, *one = is_gather ? source : c->dest;
    ncclResult_t r = ncclSuccess;
    bool is_in_place = is_root && one == many + (size_t)c->root * bytes;
    for (int peer = 0; is_root && r == ncclSuccess && peer < comm->n_ranks; peer++) {
        if (peer != comm->rank || !is_in_place) {
            r = gsh_nccl_transfer_add(call->name, comm, many + (size_t)peer * bytes, bytes, peer,
                                      !is_gather, c->stream);
        }
    }
    if (r == ncclSuccess && !is_in_place) {
        r = gsh_nccl_transfer_add(call->name, comm, one, bytes, c->root, is_gather, c->stream);
    }
    return r;
}

static ncclResult_t begin(const char *name, ncclComm_t comm, struct gsh_nccl_collective c)
{
    struct gsh_nccl_call call = {
        .name = name, .run = run, .gatherer = &gsh_nccl_transfers, .comm = comm, .collective = c};
    return gsh_nccl_begin(&call);
}

ncclResult_t ncclGather(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
                        int root, ncclComm_t comm, cudaStream_t stream)
{
    return begin("ncclGather", comm,
                 (struct gsh_nccl_collective){.kind = GSH_NCCL_GATHER,
                                              .source = sendbuff,
                                              .dest = recvbuff,
                                              .count = count,
                                              .type = datatype,
                                              .root = root,
                                              .stream = stream});
}

ncclResult_t ncclScatter(const void *sendbuff, void *recvbuff, size_t count,
                         ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream)
{
    return begin("ncclScatter", comm,
                 (struct gsh_nccl_collective){.kind = GSH_NCCL_SCATTER,
                                              .source = sendbuff,
                                              .dest = recvbuff,
                                              .count = count,
                                              .type = datatype,
                                              .root = root,
                                              .stream = stream});
}

ncclResult_t ncclGatherConfig(const void *sendbuff, void *recvbuff, size_t count,
                              ncclDataType_t datatype, int root, ncclComm_t comm,
                              cudaStream_t stream, const ncclCollConfig_t *config)
{
    ncclResult_t r = gsh_nccl_config_begin("ncclGatherConfig", GSH_NCCL_GATHER, config);
    if (r == ncclSuccess) {
        r = ncclGather(sendbuff, recvbuff, count, datatype, root, comm, stream);
    }
    return gsh_nccl_config_end(r);
}

ncclResult_t ncclScatterConfig(const void *sendbuff, void *recvbuff, size_t count,
                               ncclDataType_t datatype, int root, ncclComm_t comm,
                               cudaStream_t stream, const ncclCollConfig_t *config)
{
    ncclResult_t r = gsh_nccl_config_begin("ncclScatterConfig", GSH_NCCL_SCATTER, config);
    if (r == ncclSuccess) {
        r = ncclScatter(sendbuff, recvbuff, count, datatype, root, comm, stream);
    }
    return gsh_nccl_config_end(r);
}
