/* SPDX-License-Identifier: Apache-2.0
 * Puts with signals from the host, on a stream. A rank has a word for each other rank, which adds 1
 * to it with each signal; a waiting rank counts on the host what it has waited for. */
#include "dialects/nccl/coll/coll.h"
#include "dialects/nccl/window/window.h"
#include "gshmem.h"
#include "gshmemx.h"

static ncclResult_t run_signal(const struct gsh_nccl_call *c)
{
    struct ncclComm *comm = c->comm;
    const int pe = comm->pe_of[c->peer];
    gsh_nccl_enter_stream(comm, c->stream);
    if (comm->lsa_size < comm->n_ranks) {
        gshmemx_quiet_on_stream(c->stream); /* to a far rank nothing may overtake earlier puts */
    }
    if (c->dest != NULL) {
        gshmemx_putmem_signal_on_stream(c->dest, c->source, c->count, &comm->signals[comm->rank], 1,
                                        GSHMEM_SIGNAL_ADD, pe, c->stream);
    } else {
        gshmemx_signal_op_on_stream(&comm->signals[comm->rank], 1, GSHMEM_SIGNAL_ADD, pe,
                                    c->stream);
    }
    return ncclSuccess;
}

static ncclResult_t check_signal(const struct gsh_nccl_call *c, int sigIdx, int ctx, unsigned flags)
{
    ncclResult_t r = gsh_nccl_check_data(c);
    if (r == ncclSuccess && (sigIdx != 0 || ctx != 0 || flags != 0)) {
        r = gsh_nccl_fail(ncclInvalidArgument,
                          "%s: signal %d, context %d, flags 0x%x: only 0 is there", c->name, sigIdx,
                          ctx, flags);
    }
    return r;
}

ncclResult_t ncclPutSignal(const void *localbuff, size_t count, ncclDataType_t datatype, int peer,
                           ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                           unsigned int flags, ncclComm_t comm, cudaStream_t stream)
{
    struct gsh_nccl_call c = {.name = "ncclPutSignal",
                              .run = run_signal,
                              .comm = comm,
                              .source = localbuff,
                              .count = count,
                              .type = datatype,
                              .peer = peer,
                              .stream = stream};
    ncclResult_t r = check_signal(&c, sigIdx, ctx, flags);
    if (r != ncclSuccess) {
        return gsh_nccl_refuse(r);
    }
    const struct gsh_nccl_window *w = gsh_nccl_window_find(comm, peerWin);
    c.count = count * gsh_nccl_type_bytes(datatype);
    if (w == NULL || localbuff == NULL || peerWinOffset > w->bytes ||
        c.count > w->bytes - peerWinOffset) {
        r = gsh_nccl_fail(ncclInvalidArgument,
                          "%s: %zu bytes at %p to byte %zu of window %p: not valid", c.name,
                          c.count, localbuff, peerWinOffset, (void *)peerWin);
        return gsh_nccl_refuse(r);
    }
    c.dest = w->buffer + peerWinOffset;
    c.load.kind = GSH_NCCL_LOAD_CALL;
    c.load.out_bytes = peer != comm->rank ? c.count : 0;
    return gsh_nccl_submit(r, &c);
}

ncclResult_t ncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                        cudaStream_t stream)
{
    struct gsh_nccl_call c = {
        .name = "ncclSignal", .run = run_signal, .comm = comm, .peer = peer, .stream = stream};
    c.load.kind = GSH_NCCL_LOAD_CALL;
    ncclResult_t r = check_signal(&c, sigIdx, ctx, flags);
    return gsh_nccl_submit(r, &c);
}

static ncclResult_t run_wait(const struct gsh_nccl_call *c)
{
    struct ncclComm *comm = c->comm;
    gsh_nccl_enter_stream(comm, c->stream);
    const struct gsh_nccl_wait args = {.state = comm->job->state,
                                       .signal = &comm->signals[c->peer],
                                       .awaited = &comm->awaited[c->peer],
                                       .n = (uint64_t)c->a,
                                       .rank = c->peer,
                                       .pe = comm->pe_of[c->peer]};
    return gsh_nccl_launched(c->name, gsh_nccl_stream_ops()->wait(&args, c->stream));
}

ncclResult_t ncclWaitSignal(int nDesc, ncclWaitSignalDesc_t *signalDescs, ncclComm_t comm,
                            cudaStream_t stream)
{
    struct gsh_nccl_call c = {
        .name = "ncclWaitSignal", .run = run_wait, .comm = comm, .stream = stream};
    ncclResult_t r = gsh_nccl_need(c.name, comm);
    if (r == ncclSuccess && (nDesc < 0 || (nDesc > 0 && signalDescs == NULL))) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: %d descriptors at %p", c.name, nDesc,
                          (void *)signalDescs);
    }
    for (int i = 0; r == ncclSuccess && i < nDesc; i++) {
        c.peer = signalDescs[i].peer;
        r = check_signal(&c, signalDescs[i].sigIdx, signalDescs[i].ctx, 0);
        if (r == ncclSuccess && signalDescs[i].opCnt < 0) {
            r = gsh_nccl_fail(ncclInvalidArgument, "%s: %d operations of rank %d", c.name,
                              signalDescs[i].opCnt, c.peer);
        }
    }
    if (r != ncclSuccess) {
        return gsh_nccl_refuse(r);
    }
    for (int i = 0; r == ncclSuccess && i < nDesc; i++) {
        c.peer = signalDescs[i].peer;
        c.a = signalDescs[i].opCnt;
        r = gsh_nccl_submit(r, &c);
    }
    return r;
}
