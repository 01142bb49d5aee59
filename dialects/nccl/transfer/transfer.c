/* SPDX-License-Identifier: Apache-2.0
 * Sends and receives: gathered, sorted by peer, and launched together, regardless of their number
 * and streams. */
#include <stdlib.h>
#include "dialects/nccl/coll/coll.h"
#include "dialects/nccl/transfer/transfer.h"
#include "gshmemx.h"
#include "runtime/layer.h"

/* ---- gathering ---- */

static size_t next_most(size_t most)
{
    return most == 0 ? 16 : 2 * most;
}

/* Like realloc: *array is kept if there is no memory. */
static bool grow(void **array, size_t n, size_t bytes)
{
    void *p = n > SIZE_MAX / bytes ? NULL : realloc(*array, n * bytes);
    *array = p != NULL ? p : *array;
    return p != NULL;
}

static bool make_room(struct gsh_nccl_gathering *g)
{
    size_t most = next_most(g->most);
    if (g->n < g->most) {
        return true;
    }
    if (!grow((void **)&g->gathered, most, sizeof(*g->gathered)) ||
        !grow((void **)&g->sorted, most, sizeof(*g->sorted)) ||
        !grow((void **)&g->row_begin, most + 1, sizeof(*g->row_begin))) {
        return false;
    }
    g->most = most;
    return true;
}

static bool add_stream(struct gsh_nccl_gathering *g, cudaStream_t stream)
{
    for (size_t i = g->n_streams; i > 0; i--) {
        if (g->streams[i - 1] == stream) {
            return true;
        }
    }
    size_t most = next_most(g->streams_most);
    if (g->n_streams == g->streams_most) {
        if (!grow((void **)&g->streams, most, sizeof(*g->streams))) {
            return false;
        }
        g->streams_most = most;
    }
    g->streams[g->n_streams++] = stream;
    return true;
}

ncclResult_t gsh_nccl_transfer_add(const char *call, struct ncclComm *comm, void *buffer,
                                   size_t bytes, int peer, bool is_send, cudaStream_t stream)
{
    struct gsh_nccl_gathering *g = &comm->gathering;
    if (bytes == 0) {
        return ncclSuccess;
    }
    if (!make_room(g) || !add_stream(g, stream)) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", call);
    }
    g->gathered[g->n] =
        (struct gsh_nccl_gathered){.transfer = {buffer, bytes, peer, is_send}, .number = g->n};
    g->n++;
    return ncclSuccess;
}

static bool has_any(const struct ncclComm *comm)
{
    return comm->gathering.n > 0;
}

static void forget(struct ncclComm *comm)
{
    comm->gathering.n = comm->gathering.n_streams = 0;
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
    free(g->streams);
    *g = (struct gsh_nccl_gathering){0};
}

/* ---- launching ---- */

static const char launch_name[] = "ncclSend and ncclRecv";

/* By peer and direction; then in call order. */
static int by_row(const void *a, const void *b)
{
    const struct gsh_nccl_gathered *x = a, *y = b;
    if (x->transfer.peer != y->transfer.peer) {
        return x->transfer.peer < y->transfer.peer ? -1 : 1;
    }
    if (x->transfer.is_send != y->transfer.is_send) {
        return x->transfer.is_send < y->transfer.is_send ? -1 : 1;
    }
    return x->number < y->number ? -1 : 1;
}

static void sort(struct gsh_nccl_gathering *g)
{
    qsort(g->gathered, g->n, sizeof(*g->gathered), by_row);
    for (size_t i = 0; i < g->n; i++) {
        g->sorted[i] = g->gathered[i].transfer;
    }
}

/* Finds rows and channels of the sorted transfers. */
static void cut_rows(struct gsh_nccl_gathering *g, struct gsh_nccl_transfers_head *head)
{
    for (size_t i = 0; i < g->n; i++) {
        const struct gsh_nccl_transfer *t = &g->sorted[i];
        if (i == 0 || t[-1].peer != t->peer || t[-1].is_send != t->is_send) {
            g->row_begin[head->n_rows++] = (uint32_t)i;
        }
        const int is_in_lsa = (uint32_t)(t->peer - head->lsa_first) < (uint32_t)head->lsa_size;
        const uint32_t n = 1u << gsh_nccl_channels_shift(&head->rings, is_in_lsa, t->bytes);
        head->n_channels = n > head->n_channels ? n : head->n_channels;
    }
    g->row_begin[head->n_rows] = (uint32_t)g->n;
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

/* The stream of the communicator's latest call, if it is among them. */
static size_t main_stream(const struct ncclComm *comm)
{
    const struct gsh_nccl_gathering *g = &comm->gathering;
    for (size_t i = 0; i < g->n_streams; i++) {
        if (comm->trail.has_stream && comm->trail.stream == g->streams[i]) {
            return i;
        }
    }
    return 0;
}

/* The other streams' work comes first, or waits for the main stream's from now on. */
static int join_others(const struct gsh_nccl_gathering *g, size_t main, bool come_first)
{
    int error = 0;
    for (size_t i = 0; i < g->n_streams && error == 0; i++) {
        size_t before = come_first ? i : main, after = come_first ? main : i;
        if (i != main) {
            error = gsh_nccl_stream_ops()->join(g->streams[before], g->streams[after]);
        }
    }
    return error;
}

/* One launch carries all of them, on one of their streams, since each may wait for what another
 * rank does only after a different one. */
static ncclResult_t launch(struct ncclComm *comm)
{
    struct gsh_nccl_gathering *g = &comm->gathering;
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
    size_t main = main_stream(comm);
    if (g->n_streams > 1 && !gsh_nccl_stream_ops()->is_one_capture(g->streams, g->n_streams)) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: the streams of a group are captured into one graph, or none is",
                             launch_name);
    }
    sort(g);
    cut_rows(g, &args.head);
    ncclResult_t r = find_memory(g, &args);
    if (r != ncclSuccess) {
        return r;
    }
    gsh_nccl_enter_stream(comm, g->streams[main]);
    int error = join_others(g, main, true);
    if (error == 0) {
        error = gsh_nccl_kernels()->transfer(&args, g->streams[main]);
    }
    if (error == 0) {
        error = join_others(g, main, false);
    }
    return gsh_nccl_launched(launch_name, error);
}

const struct gsh_nccl_gatherer gsh_nccl_transfers = {has_any, launch, forget};

/* ---- the calls ---- */

static ncclResult_t run_send(const struct gsh_nccl_call *c)
{
    return gsh_nccl_transfer_add(c->name, c->comm, (void *)(uintptr_t)c->source, c->count, c->peer,
                                 true, c->stream);
}

static ncclResult_t run_recv(const struct gsh_nccl_call *c)
{
    return gsh_nccl_transfer_add(c->name, c->comm, c->dest, c->count, c->peer, false, c->stream);
}

static ncclResult_t submit(struct gsh_nccl_call c)
{
    ncclResult_t r = gsh_nccl_check_data(&c);
    if (r == ncclSuccess && c.count > 0 && c.source == NULL && c.dest == NULL) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: the buffer is NULL", c.name);
    }
    if (r == ncclSuccess) {
        c.count *= gsh_nccl_type_bytes(c.type);
        c.load.kind = GSH_NCCL_LOAD_TRANSFER;
        if (c.peer != c.comm->rank) {
            *(c.source != NULL ? &c.load.out_bytes : &c.load.in_bytes) = c.count;
        }
    }
    return gsh_nccl_submit(r, &c);
}

ncclResult_t ncclSend(const void *sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    return submit((struct gsh_nccl_call){.name = "ncclSend",
                                         .run = run_send,
                                         .gatherer = &gsh_nccl_transfers,
                                         .comm = comm,
                                         .source = sendbuff,
                                         .count = count,
                                         .type = datatype,
                                         .peer = peer,
                                         .stream = stream});
}

ncclResult_t ncclRecv(void *recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    return submit((struct gsh_nccl_call){.name = "ncclRecv",
                                         .run = run_recv,
                                         .gatherer = &gsh_nccl_transfers,
                                         .comm = comm,
                                         .dest = recvbuff,
                                         .count = count,
                                         .type = datatype,
                                         .peer = peer,
                                         .stream = stream});
}

/* ---- gather and scatter: one to all, as sends and receives ---- */

static ncclResult_t run_rooted(const struct gsh_nccl_call *c)
{
    struct ncclComm *comm = c->comm;
    bool is_gather = c->a != 0, is_root = comm->rank == c->peer;
    const size_t bytes = c->count * gsh_nccl_type_bytes(c->type);
    char *many = is_gather ? c->dest : (char *)(uintptr_t)c->source;
    char *one = is_gather ? (char *)(uintptr_t)c->source : c->dest;
    ncclResult_t r = ncclSuccess;
    bool is_in_place = is_root && one == many + (size_t)c->peer * bytes;
    for (int peer = 0; is_root && r == ncclSuccess && peer < comm->n_ranks; peer++) {
        if (peer != comm->rank || !is_in_place) {
            r = gsh_nccl_transfer_add(c->name, comm, many + (size_t)peer * bytes, bytes, peer,
                                      !is_gather, c->stream);
        }
    }
    if (r == ncclSuccess && !is_in_place) {
        r = gsh_nccl_transfer_add(c->name, comm, one, bytes, c->peer, is_gather, c->stream);
    }
    return r;
}

static ncclResult_t rooted(struct gsh_nccl_call c)
{
    ncclResult_t r = gsh_nccl_check_data(&c);
    bool is_root = r == ncclSuccess && c.comm->rank == c.peer;
    const void *one = c.a != 0 ? c.source : c.dest;
    if (r == ncclSuccess && c.count > 0 &&
        (one == NULL || (is_root && (c.source == NULL || c.dest == NULL)))) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: a buffer is NULL", c.name);
    }
    if (r == ncclSuccess) {
        c.run = run_rooted;
        c.gatherer = &gsh_nccl_transfers;
        c.load.kind = GSH_NCCL_LOAD_TRANSFER;
        *(is_root == (c.a != 0) ? &c.load.in_bytes : &c.load.out_bytes) =
            c.count * gsh_nccl_type_bytes(c.type) * (is_root ? (size_t)(c.comm->n_ranks - 1) : 1);
    }
    return gsh_nccl_submit(r, &c);
}

ncclResult_t ncclGather(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
                        int root, ncclComm_t comm, cudaStream_t stream)
{
    return rooted((struct gsh_nccl_call){.name = "ncclGather",
                                         .kind = GSH_NCCL_GATHER,
                                         .comm = comm,
                                         .source = sendbuff,
                                         .dest = recvbuff,
                                         .count = count,
                                         .type = datatype,
                                         .peer = root,
                                         .stream = stream,
                                         .a = 1});
}

ncclResult_t ncclScatter(const void *sendbuff, void *recvbuff, size_t count,
                         ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream)
{
    return rooted((struct gsh_nccl_call){.name = "ncclScatter",
                                         .kind = GSH_NCCL_SCATTER,
                                         .comm = comm,
                                         .source = sendbuff,
                                         .dest = recvbuff,
                                         .count = count,
                                         .type = datatype,
                                         .peer = root,
                                         .stream = stream});
}
