/* SPDX-License-Identifier: Apache-2.0
 * Puts with signals from the host, on a stream. A rank has a word for each other rank, which adds 1
 * to it with each signal; a waiting rank counts on the host what it has waited for. */
#include "dialects/nccl/base/type.h"
#include "dialects/nccl/coll/begin.h"
#include "dialects/nccl/comm/launch.h"
#include "dialects/nccl/group/group.h"
#include "dialects/nccl/window/window.h"
#include "gshmem.h"
#include "gshmemx.h"
#include "runtime/layer.h"

static ncclResult_t run_put(const struct gsh_nccl_call *c)
{
    struct ncclComm *comm = c->comm;
    const struct gsh_nccl_put *p = &c->put;
    const int pe = comm->pe_of[p->peer];
    ncclResult_t r = gsh_nccl_enter_stream(c->name, comm, p->stream);
    if (r != ncclSuccess) {
        return r;
    }
    if (comm->lsa_size < comm->n_ranks) {
        gshmemx_quiet_on_stream(p->stream); /* to a far rank nothing may overtake earlier puts */
    }
    if (p->dest != NULL) {
        gshmemx_putmem_signal_on_stream(p->dest, p->source, p->bytes, &comm->signals[comm->rank], 1,
                                        GSHMEM_SIGNAL_ADD, pe, p->stream);
    } else {
        gshmemx_signal_op_on_stream(&comm->signals[comm->rank], 1, GSHMEM_SIGNAL_ADD, pe,
                                    p->stream);
    }
    return ncclSuccess;
}

static ncclResult_t check_signal(const char *call, int signal, int context, unsigned flags)
{
    return signal != 0 || context != 0 || flags != 0
               ? gsh_nccl_fail(ncclInvalidArgument,
                               "%s: signal %d, context %d, flags 0x%x: only 0 is there", call,
                               signal, context, flags)
               : ncclSuccess;
}

static struct gsh_nccl_load load_of_put(const struct gsh_nccl_call *c)
{
    return (struct gsh_nccl_load){.kind = GSH_NCCL_LOAD_CALL,
                                  .out_bytes = c->put.peer != c->comm->rank ? c->put.bytes : 0};
}

static ncclResult_t submit_put(const char *name, ncclComm_t comm, struct gsh_nccl_put p)
{
    struct gsh_nccl_call c = {.name = name,
                              .family = GSH_NCCL_PUT,
                              .run = run_put,
                              .comm = comm,
                              .load_of = load_of_put,
                              .put = p};
    return gsh_nccl_submit(ncclSuccess, &c);
}

ncclResult_t ncclPutSignal(const void *localbuff, size_t count, ncclDataType_t datatype, int peer,
                           ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                           unsigned int flags, ncclComm_t comm, cudaStream_t stream)
{
    static const char call[] = "ncclPutSignal";
    ncclResult_t r = gsh_nccl_check_data(call, comm, datatype, peer, count);
    if (r == ncclSuccess) {
        r = check_signal(call, sigIdx, ctx, flags);
    }
    if (r != ncclSuccess) {
        return gsh_nccl_refuse(r);
    }
    const struct gsh_nccl_window *w = gsh_nccl_window_find(comm, peerWin);
    const size_t bytes = count * gsh_nccl_type_bytes(datatype);
    if (w == NULL || localbuff == NULL || peerWinOffset > w->bytes ||
        bytes > w->bytes - peerWinOffset) {
        r = gsh_nccl_fail(ncclInvalidArgument,
                          "%s: %zu bytes at %p to byte %zu of window %p: not valid", call, bytes,
                          localbuff, peerWinOffset, (void *)peerWin);
        return gsh_nccl_refuse(r);
    }
    return submit_put(call, comm,
                      (struct gsh_nccl_put){.source = localbuff,
                                            .dest = w->buffer + peerWinOffset,
                                            .bytes = bytes,
                                            .peer = peer,
                                            .stream = stream});
}

ncclResult_t ncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                        cudaStream_t stream)
{
    static const char call[] = "ncclSignal";
    ncclResult_t r = gsh_nccl_check_data(call, comm, ncclUint8, peer, 0);
    if (r == ncclSuccess) {
        r = check_signal(call, sigIdx, ctx, flags);
    }
    return r == ncclSuccess
               ? submit_put(call, comm, (struct gsh_nccl_put){.peer = peer, .stream = stream})
               : gsh_nccl_refuse(r);
}

static ncclResult_t run_wait(const struct gsh_nccl_call *c)
{
    struct ncclComm *comm = c->comm;
    const struct gsh_nccl_signals *s = &c->wait;
    ncclResult_t r = gsh_nccl_enter_stream(c->name, comm, s->stream);
    if (r != ncclSuccess) {
        return r;
    }
    const struct gsh_nccl_wait args = {.state = comm->job->state,
                                       .signal = &comm->signals[s->peer],
                                       .awaited = &comm->awaited[s->peer],
                                       .n = s->n,
                                       .rank = s->peer,
                                       .pe = comm->pe_of[s->peer],
                                       .site = gshmemx_layer_site()};
    /* at least: more signals may have been waited for before */
    const struct gshmemx_layer_traced_call what = {.call = c->name,
                                                   .kind = GSHMEMX_LAYER_TRACED_WAIT,
                                                   .word = args.signal,
                                                   .value = s->n,
                                                   .stream = s->stream};
    struct gshmemx_layer_traced traced;
    gshmemx_layer_trace_begin(&traced, &what);
    int error = gsh_nccl_stream_ops()->wait(&args, s->stream);
    gshmemx_layer_trace_end(&traced);
    return gsh_nccl_launched(c->name, error);
}

static ncclResult_t check_wait(const char *call, ncclComm_t comm, const ncclWaitSignalDesc_t *d)
{
    ncclResult_t r = gsh_nccl_check_data(call, comm, ncclUint8, d->peer, 0);
    if (r == ncclSuccess) {
        r = check_signal(call, d->sigIdx, d->ctx, 0);
    }
    if (r == ncclSuccess && d->opCnt < 0) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: %d operations of rank %d", call, d->opCnt,
                          d->peer);
    }
    return r;
}

ncclResult_t ncclWaitSignal(int nDesc, ncclWaitSignalDesc_t *signalDescs, ncclComm_t comm,
                            cudaStream_t stream)
{
    static const char call[] = "ncclWaitSignal";
    ncclResult_t r = gsh_nccl_need_open(call, comm);
    if (r == ncclSuccess && (nDesc < 0 || (nDesc > 0 && signalDescs == NULL))) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: %d descriptors at %p", call, nDesc,
                          (void *)signalDescs);
    }
    for (int i = 0; r == ncclSuccess && i < nDesc; i++) {
        r = check_wait(call, comm, &signalDescs[i]);
    }
    if (r != ncclSuccess) {
        return gsh_nccl_refuse(r);
    }
    for (int i = 0; r == ncclSuccess && i < nDesc; i++) {
        struct gsh_nccl_call c = {.name = call,
                                  .family = GSH_NCCL_WAIT,
                                  .run = run_wait,
                                  .comm = comm,
                                  .wait = {.peer = signalDescs[i].peer,
                                           .n = (uint64_t)signalDescs[i].opCnt,
                                           .stream = stream}};
        r = gsh_nccl_submit(r, &c);
    }
    return r;
}
