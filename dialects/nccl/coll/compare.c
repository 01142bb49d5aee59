/* SPDX-License-Identifier: Apache-2.0
 * See compare.h. */
#include "dialects/nccl/coll/compare.h"

#include <stdio.h>
#include "dialects/nccl/comm/launch.h"

/* 0: in no window that the call works on directly. */
static uint64_t offset_of(const struct ncclComm *comm, const char *direct)
{
    return direct != NULL ? (uint64_t)(direct - comm->job->segment) + 1 : 0;
}

ncclResult_t gsh_nccl_compare_ranks(const char *call, struct ncclComm *comm,
                                    const struct gsh_nccl_collective *c, const void *source,
                                    const void *dest)
{
    if (!GSH_CHECKS || comm->n_ranks == 1 || c->count == 0) {
        return ncclSuccess;
    }
    const struct {
        const char *name;
        uint64_t value;
    } fields[GSH_NCCL_CHECK_FIELDS] = {
        {"count", c->count},
        {"ncclDataType_t", (uint64_t)c->type},
        {"ncclRedOp_t", c->op < ncclNumOps ? (uint64_t)c->op : ncclNumOps},
        {"root", (uint64_t)c->root},
        {"window of sendbuff", offset_of(comm, source)},
        {"window of recvbuff", offset_of(comm, dest)},
    };
    struct gsh_nccl_check args = {
        .state = comm->job->state, .team = comm->team, .words = comm->check_words};
    for (int i = 0; i < GSH_NCCL_CHECK_FIELDS; i++) {
        args.values[i] = fields[i].value;
        snprintf(args.names[i], sizeof(args.names[i]), "%s, %s", call, fields[i].name);
    }
    return gsh_nccl_launched(call, gsh_nccl_kernels()->compare(&args, c->stream));
}
