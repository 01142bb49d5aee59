/* SPDX-License-Identifier: Apache-2.0
 * See transfer.h. */
#include "dialects/nccl/transfer/transfer.h"

#include <stdlib.h>
#include "base/array.h"
#include "dialects/nccl/comm/launch.h"
#include "dialects/nccl/window/window.h"
#include "gshmemx.h"
#include "runtime/layer.h"

/* ---- gathering ---- */

/* Where the peer may read what it is sent, if that is better than a copy; or NULL. */
static void *to_offer(const struct ncclComm *comm, const void *buffer, size_t bytes, int peer)
{
    const bool is_in_lsa = peer / comm->lsa_size == comm->rank / comm->lsa_size;
    return comm->windows != NULL && is_in_lsa && peer != comm->rank &&
                   bytes >= gsh_nccl_kernels()->rings.offered_bytes
               ? gsh_nccl_symmetric(comm, buffer, bytes)
               : NULL;
}

ncclResult_t gsh_nccl_transfer_add(const char *call, struct ncclComm *comm, void *buffer,
                                   size_t bytes, int peer, bool is_send, cudaStream_t stream)
{
    struct gsh_nccl_gathering *g = &comm->gathering;
    if (bytes == 0) {
        return ncclSuccess;
    }
    const struct gshmemx_layer_traced_call what = {.call = call,
                                                   .kind = GSHMEMX_LAYER_TRACED_MESSAGE,
                                                   .pe = comm->pe_of[peer],
                                                   .is_receive = !is_send,
                                                   .bytes = bytes};
    struct gshmemx_layer_traced traced;
    gshmemx_layer_trace_begin(&traced, &what);
    gshmemx_layer_trace_end(&traced);
    if (!gsh_array_reserve(&g->gathered, &g->gathered_room, g->n + 1, sizeof(*g->gathered)) ||
        !gsh_nccl_streams_add(&g->streams, stream)) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", call);
    }
    void *const offered = is_send ? to_offer(comm, buffer, bytes, peer) : NULL;
    g->gathered[g->n] =
        (struct gsh_nccl_gathered){.transfer = {.buffer = offered != NULL ? offered : buffer,
                                                .bytes = bytes,
                                                .peer = peer,
                                                .is_send = is_send,
                                                .is_offered = offered != NULL,
                                                .site = (uint16_t)gshmemx_layer_site()},
                                   .number = g->n,
                                   .is_own = peer == comm->rank};
    g->n++;
    return ncclSuccess;
}

static bool has_any(const struct ncclComm *comm)
{
    return comm->gathering.n > 0;
}

static void forget(struct ncclComm *comm)
{
    comm->gathering.n = comm->gathering.streams.n = 0;
}

void gsh_nccl_gathering_free(struct gsh_nccl_gathering *g)
{
    while (g->memory != NULL) {
        struct gsh_nccl_launch_memory *m = g->memory;
        g->memory = m->next;
        (void)gshmemx_layer_free("ncclCommDestroy", m->p);
        free(m);
    }
    free(g->gathered);
    free(g->sorted);
    free(g->row_begin);
    free(g->streams.all);
    *g = (struct gsh_nccl_gathering){0};
}

/* ---- launching ---- */

static const char launch_name[] = "ncclSend and ncclRecv";

/* By peer and direction; then in call order. The rank's own come last, receives before sends. */
static int by_row(const void *a, const void *b)
{
    const struct gsh_nccl_gathered *x = a, *y = b;
    if (x->is_own != y->is_own) {
        return x->is_own ? 1 : -1;
    }
    if (x->transfer.peer != y->transfer.peer) {
        return x->transfer.peer < y->transfer.peer ? -1 : 1;
    }
    if (x->transfer.is_send != y->transfer.is_send) {
        return x->transfer.is_send < y->transfer.is_send ? -1 : 1;
    }
    return x->number < y->number ? -1 : 1;
}

/* False: no memory. */
static bool sort(struct gsh_nccl_gathering *g)
{
    if (!gsh_array_reserve(&g->sorted, &g->sorted_room, g->n, sizeof(*g->sorted)) ||
        !gsh_array_reserve(&g->row_begin, &g->row_begin_room, g->n + 1, sizeof(*g->row_begin))) {
        return false;
    }
    qsort(g->gathered, g->n, sizeof(*g->gathered), by_row);
    for (size_t i = 0; i < g->n; i++) {
        g->sorted[i] = g->gathered[i].transfer;
    }
    return true;
}

/* Finds the sends of the rank to itself, and that each meets a receive: of the same launch, since
 * no other runs before this one ends. Then the others are the first *n_others. */
static ncclResult_t match_own(const struct gsh_nccl_gathering *g, size_t *n_others, uint32_t *n_own)
{
    size_t first = g->n, n_receives = 0;
    while (first > 0 && g->gathered[first - 1].is_own) {
        first--;
        n_receives += !g->sorted[first].is_send;
    }
    const size_t n_sends = g->n - first - n_receives;
    const struct gsh_nccl_transfer *const receives = g->sorted + first;
    const struct gsh_nccl_transfer *const sends = receives + n_receives;
    for (size_t i = 0; i < n_receives && i < n_sends; i++) {
        if (receives[i].bytes != sends[i].bytes) {
            return gsh_nccl_fail(ncclInvalidArgument,
                                 "%s: a rank sends %zu bytes to itself, and receives %zu",
                                 launch_name, (size_t)sends[i].bytes, (size_t)receives[i].bytes);
        }
    }
    if (n_sends != n_receives) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: a rank sends to itself %zu times in a group, and receives %zu "
                             "times from itself",
                             launch_name, n_sends, n_receives);
    }
    *n_others = first;
    *n_own = (uint32_t)n_sends;
    return ncclSuccess;
}

/* Finds rows and channels of the first n of the sorted transfers. */
static void cut_rows(struct gsh_nccl_gathering *g, size_t n, struct gsh_nccl_transfers_head *head)
{
    for (size_t i = 0; i < n; i++) {
        const struct gsh_nccl_transfer *t = &g->sorted[i];
        if (i == 0 || t[-1].peer != t->peer || t[-1].is_send != t->is_send) {
            g->row_begin[head->n_rows++] = (uint32_t)i;
        }
        const int is_in_lsa = (uint32_t)(t->peer - head->lsa_first) < (uint32_t)head->lsa_size;
        const uint32_t channels = 1u << gsh_nccl_channels_shift(&head->rings, is_in_lsa, t->bytes);
        head->n_channels = channels > head->n_channels ? channels : head->n_channels;
    }
    g->row_begin[head->n_rows] = (uint32_t)n;
}

/* A communicator's launches run one after the other, so they share this memory. */
static ncclResult_t find_memory(struct gsh_nccl_gathering *g, struct gsh_nccl_transfers *args)
{
    size_t bytes = gsh_nccl_kernels()->transfer_memory(args);
    if (bytes > 0 && (g->memory == NULL || g->memory->bytes < bytes)) {
        struct gsh_nccl_launch_memory *m = malloc(sizeof(*m));
        if (m == NULL) {
            return gsh_nccl_fail(ncclSystemError, "%s: no memory", launch_name);
        }
        m->bytes = 2 * bytes;
        const struct gsh_nccl_stream_ops *ops = gsh_nccl_stream_ops();
        int mode = ops->exchange_capture_mode(ops->relaxed);
        int error = gshmemx_layer_alloc(launch_name, m->bytes, &m->p);
        (void)ops->exchange_capture_mode(mode);
        if (error != 0) {
            free(m);
            return gsh_nccl_base(launch_name, error);
        }
        m->next = g->memory;
        g->memory = m;
    }
    args->memory = g->memory != NULL ? g->memory->p : NULL;
    return ncclSuccess;
}

/* One launch carries all of them, on one of their streams, since each may wait for what another
 * rank does only after a different one. */
static ncclResult_t launch(struct ncclComm *comm)
{
    struct gsh_nccl_gathering *g = &comm->gathering;
    if (!sort(g)) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", launch_name);
    }
    struct gsh_nccl_transfers args = {
        .head = {.state = comm->job->state,
                 .rings = comm->rings,
                 .lsa_stride = comm->lsa_stride,
                 .lsa_first = comm->rank - comm->lsa_rank,
                 .lsa_size = comm->lsa_size,
                 .n_channels = 1},
        .row_begin = g->row_begin,
        .transfers = g->sorted,
    };
    size_t n_others = 0;
    ncclResult_t r = match_own(g, &n_others, &args.head.n_own);
    if (r == ncclSuccess) {
        cut_rows(g, n_others, &args.head);
        r = find_memory(g, &args);
    }
    if (r != ncclSuccess) {
        return r;
    }
    cudaStream_t stream = NULL;
    r = gsh_nccl_streams_join(launch_name, comm, &g->streams, &stream);
    if (r != ncclSuccess) {
        return r;
    }
    const struct gshmemx_layer_traced_call what = {
        .call = launch_name, .kind = GSHMEMX_LAYER_TRACED_LAUNCH, .stream = stream};
    struct gshmemx_layer_traced traced;
    gshmemx_layer_trace_begin(&traced, &what);
    int error = gsh_nccl_kernels()->transfer(&args, stream);
    gshmemx_layer_trace_end(&traced);
    if (error == 0) {
        error = gsh_nccl_streams_part(&g->streams, stream);
    }
    return gsh_nccl_launched(launch_name, error);
}

const struct gsh_nccl_gatherer gsh_nccl_transfers = {has_any, launch, forget, false};
