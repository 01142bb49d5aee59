/* SPDX-License-Identifier: Apache-2.0
 * Groups, each a thread's own. */
#include "dialects/nccl/src/group.h"

#include <stdlib.h>
#include "dialects/nccl/src/simulate.h"

struct queued {
    struct queued *next;
    struct gsh_nccl_call call;
};

static _Thread_local int depth;
static _Thread_local struct queued *first, *last;

ncclResult_t gsh_nccl_submit(const struct gsh_nccl_call *call)
{
    if (depth == 0) {
        ncclResult_t r = call->run(call);
        return r == ncclSuccess && call->comm != NULL && call->comm->n_transfers > 0
                   ? gsh_nccl_transfers_launch(call->comm)
                   : r;
    }
    struct queued *q = malloc(sizeof(*q));
    if (q == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", call->name);
    }
    *q = (struct queued){.next = NULL, .call = *call};
    if (first == NULL) {
        first = q;
    } else {
        last->next = q;
    }
    last = q;
    return ncclSuccess;
}

bool gsh_nccl_is_awaited(const struct ncclComm *comm)
{
    for (const struct queued *q = first; q != NULL; q = q->next) {
        if (q->call.comm == comm) {
            return true;
        }
    }
    return false;
}

static ncclResult_t launch_transfers(struct queued *calls)
{
    ncclResult_t r = ncclSuccess;
    for (struct queued *q = calls; q != NULL; q = q->next) {
        struct ncclComm *comm = q->call.comm;
        if (comm == NULL || comm->n_transfers == 0) {
            continue;
        }
        if (r == ncclSuccess) {
            r = gsh_nccl_transfers_launch(comm);
        }
        comm->n_transfers = 0;
    }
    return r;
}

/* The group has ended. */
static void forget(struct queued *calls)
{
    first = last = NULL;
    while (calls != NULL) {
        struct queued *q = calls;
        calls = q->next;
        if (q->call.comm != NULL) {
            q->call.comm->n_transfers = 0;
        }
        free(q);
    }
}

ncclResult_t ncclGroupStart(void)
{
    depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (depth == 0) {
        return gsh_nccl_fail(ncclInvalidUsage, "ncclGroupEnd: no group is open");
    }
    if (--depth > 0) {
        return ncclSuccess;
    }
    struct queued *calls = first;
    ncclResult_t r = ncclSuccess;
    for (const struct queued *q = calls; q != NULL && r == ncclSuccess; q = q->next) {
        r = q->call.run(&q->call);
    }
    if (r == ncclSuccess) {
        r = launch_transfers(calls);
    }
    forget(calls);
    return r;
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *simInfo)
{
    static const char call[] = "ncclGroupSimulateEnd";
    struct gsh_nccl_estimate estimate = {.calls_us = 0};
    if (depth == 0) {
        return gsh_nccl_fail(ncclInvalidUsage, "%s: no group is open", call);
    }
    ncclResult_t r = gsh_nccl_sim_info_check(call, simInfo);
    if (r != ncclSuccess || --depth > 0) {
        return r;
    }
    for (const struct queued *q = first; q != NULL; q = q->next) {
        gsh_nccl_estimate_add(&estimate, &q->call);
    }
    simInfo->estimatedTime = (float)gsh_nccl_estimate_us(&estimate);
    forget(first);
    return ncclSuccess;
}
