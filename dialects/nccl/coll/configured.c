/* SPDX-License-Identifier: Apache-2.0
 * Collectives with a config. */
#include "dialects/nccl/coll/config.h"

ncclResult_t ncclAllReduceConfig(const void *sendbuff, void *recvbuff, size_t count,
                                 ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                 cudaStream_t stream, const ncclCollConfig_t *config)
{
    ncclResult_t r = gsh_nccl_config_begin("ncclAllReduceConfig", GSH_NCCL_ALL_REDUCE, config);
    if (r == ncclSuccess) {
        r = ncclAllReduce(sendbuff, recvbuff, count, datatype, op, comm, stream);
    }
    return gsh_nccl_config_end(r);
}

ncclResult_t ncclBroadcastConfig(const void *sendbuff, void *recvbuff, size_t count,
                                 ncclDataType_t datatype, int root, ncclComm_t comm,
                                 cudaStream_t stream, const ncclCollConfig_t *config)
{
    ncclResult_t r = gsh_nccl_config_begin("ncclBroadcastConfig", GSH_NCCL_BROADCAST, config);
    if (r == ncclSuccess) {
        r = ncclBroadcast(sendbuff, recvbuff, count, datatype, root, comm, stream);
    }
    return gsh_nccl_config_end(r);
}

ncclResult_t ncclReduceConfig(const void *sendbuff, void *recvbuff, size_t count,
                              ncclDataType_t datatype, ncclRedOp_t op, int root, ncclComm_t comm,
                              cudaStream_t stream, const ncclCollConfig_t *config)
{
    ncclResult_t r = gsh_nccl_config_begin("ncclReduceConfig", GSH_NCCL_REDUCE, config);
    if (r == ncclSuccess) {
        r = ncclReduce(sendbuff, recvbuff, count, datatype, op, root, comm, stream);
    }
    return gsh_nccl_config_end(r);
}

ncclResult_t ncclAllGatherConfig(const void *sendbuff, void *recvbuff, size_t sendcount,
                                 ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                                 const ncclCollConfig_t *config)
{
    ncclResult_t r = gsh_nccl_config_begin("ncclAllGatherConfig", GSH_NCCL_ALL_GATHER, config);
    if (r == ncclSuccess) {
        r = ncclAllGather(sendbuff, recvbuff, sendcount, datatype, comm, stream);
    }
    return gsh_nccl_config_end(r);
}

ncclResult_t ncclReduceScatterConfig(const void *sendbuff, void *recvbuff, size_t recvcount,
                                     ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                     cudaStream_t stream, const ncclCollConfig_t *config)
{
    ncclResult_t r =
        gsh_nccl_config_begin("ncclReduceScatterConfig", GSH_NCCL_REDUCE_SCATTER, config);
    if (r == ncclSuccess) {
        r = ncclReduceScatter(sendbuff, recvbuff, recvcount, datatype, op, comm, stream);
    }
    return gsh_nccl_config_end(r);
}

ncclResult_t ncclAlltoAllConfig(const void *sendbuff, void *recvbuff, size_t count,
                                ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                                const ncclCollConfig_t *config)
{
    ncclResult_t r = gsh_nccl_config_begin("ncclAlltoAllConfig", GSH_NCCL_ALL_TO_ALL, config);
    if (r == ncclSuccess) {
        r = ncclAlltoAll(sendbuff, recvbuff, count, datatype, comm, stream);
    }
    return gsh_nccl_config_end(r);
}
