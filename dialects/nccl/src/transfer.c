/* SPDX-License-Identifier: Apache-2.0
 * Sends and receives: gathered, sorted by peer, and launched together. */
#include <stdlib.h>
#include <string.h>
#include "dialects/nccl/src/coll.h"
#include "dialects/nccl/src/group.h"
#include "gshmemx.h"

/* Behind those with its peer and direction, so that these lie in a row. */
static size_t place_of(const struct ncclComm *comm, int peer, int is_send)
{
    size_t place = comm->n_transfers;
    while (place > 0 && (comm->transfers[place - 1].peer > peer ||
                         (comm->transfers[place - 1].peer == peer &&
                          comm->transfers[place - 1].is_send > is_send))) {
        place--;
    }
    return place;
}

ncclResult_t gsh_nccl_transfer_add(const char *call, struct ncclComm *comm, void *buffer,
                                   size_t bytes, int peer, bool is_send, cudaStream_t stream)
{
    if (bytes == 0) {
        return ncclSuccess;
    }
    if (comm->n_transfers == GSH_NCCL_MAX_TRANSFERS) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: more than %d sends and receives of a communicator in one group",
                             call, GSH_NCCL_MAX_TRANSFERS);
    }
    if (comm->n_transfers > 0 && comm->transfers_stream != stream) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: the group has sends and receives of the communicator on another "
                             "stream",
                             call);
    }
    if (comm->transfers == NULL) {
        comm->transfers = malloc(GSH_NCCL_MAX_TRANSFERS * sizeof(*comm->transfers));
        if (comm->transfers == NULL) {
            return gsh_nccl_fail(ncclSystemError, "%s: no memory", call);
        }
    }
    size_t place = place_of(comm, peer, is_send);
    memmove(&comm->transfers[place + 1], &comm->transfers[place],
            (comm->n_transfers - place) * sizeof(*comm->transfers));
    comm->transfers[place] = (struct gsh_nccl_transfer){buffer, bytes, peer, is_send};
    comm->n_transfers++;
    comm->transfers_stream = stream;
    return ncclSuccess;
}

ncclResult_t gsh_nccl_transfers_launch(struct ncclComm *comm)
{
    struct gsh_nccl_transfers args = {
        .state = comm->job->state, .rings = comm->rings, .n_channels = 1};
    uint32_t n = (uint32_t)comm->n_transfers;
    memcpy(args.transfers, comm->transfers, n * sizeof(*args.transfers));
    for (uint32_t i = 0; i < n; i++) {
        const struct gsh_nccl_transfer *t = &args.transfers[i];
        if (i == 0 || t[-1].peer != t->peer || t[-1].is_send != t->is_send) {
            args.row_begin[args.n_rows++] = (uint8_t)i;
        }
        while (args.n_channels < comm->rings.n_channels &&
               t->bytes > (uint64_t)args.n_channels * GSH_NCCL_CHANNEL_BYTES) {
            args.n_channels++;
        }
    }
    args.row_begin[args.n_rows] = (uint8_t)n;
    comm->n_transfers = 0;
    gsh_nccl_enter_stream(comm, comm->transfers_stream);
    return gsh_nccl_launched("ncclSend and ncclRecv",
                             gsh_nccl_kernels()->transfer(&args, comm->transfers_stream));
}

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
    if (r != ncclSuccess) {
        return r;
    }
    if (c.count > 0 && c.source == NULL && c.dest == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: the buffer is NULL", c.name);
    }
    c.count *= gsh_nccl_type_bytes(c.type);
    c.load.kind = GSH_NCCL_LOAD_TRANSFER;
    if (c.peer != c.comm->rank) {
        *(c.source != NULL ? &c.load.out_bytes : &c.load.in_bytes) = c.count;
    }
    return gsh_nccl_submit(&c);
}

ncclResult_t ncclSend(const void *sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    return submit((struct gsh_nccl_call){.name = "ncclSend",
                                         .run = run_send,
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
    char *many = is_gather ? c->dest : (char *)(uintptr_t)c->source;
    char *one = is_gather ? (char *)(uintptr_t)c->source : c->dest;
    ncclResult_t r = ncclSuccess;
    bool is_in_place = is_root && one == many + (size_t)c->peer * c->count;
    for (int peer = 0; is_root && r == ncclSuccess && peer < comm->n_ranks; peer++) {
        if (peer != comm->rank || !is_in_place) {
            r = gsh_nccl_transfer_add(c->name, comm, many + (size_t)peer * c->count, c->count, peer,
                                      !is_gather, c->stream);
        }
    }
    if (r == ncclSuccess && !is_in_place) {
        r = gsh_nccl_transfer_add(c->name, comm, one, c->count, c->peer, is_gather, c->stream);
    }
    return r;
}

static ncclResult_t rooted(struct gsh_nccl_call c)
{
    ncclResult_t r = gsh_nccl_check_data(&c);
    if (r != ncclSuccess) {
        return r;
    }
    bool is_root = c.comm->rank == c.peer;
    const void *one = c.a != 0 ? c.source : c.dest;
    if (c.count > 0 && (one == NULL || (is_root && (c.source == NULL || c.dest == NULL)))) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: a buffer is NULL", c.name);
    }
    c.count *= gsh_nccl_type_bytes(c.type);
    c.run = run_rooted;
    c.load.kind = GSH_NCCL_LOAD_TRANSFER;
    size_t bytes = is_root ? c.count * (size_t)(c.comm->n_ranks - 1) : c.count;
    *(is_root == (c.a != 0) ? &c.load.in_bytes : &c.load.out_bytes) = bytes;
    return gsh_nccl_submit(&c);
}

ncclResult_t ncclGather(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
                        int root, ncclComm_t comm, cudaStream_t stream)
{
    return rooted((struct gsh_nccl_call){.name = "ncclGather",
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
                                         .comm = comm,
                                         .source = sendbuff,
                                         .dest = recvbuff,
                                         .count = count,
                                         .type = datatype,
                                         .peer = root,
                                         .stream = stream});
}
