/* SPDX-License-Identifier: Apache-2.0
 * Collectives: on symmetric windows directly by gshmem's collectives; other buffers pass through
 * the communicator's scratch, piece by piece. */
#include "dialects/nccl/coll/coll.h"

#include "dialects/nccl/coll/compare.h"
#include "dialects/nccl/coll/op.h"
#include "dialects/nccl/window/window.h"
#include "gshmem.h"
#include "gshmemx.h"
#include "runtime/layer.h"

/* ---- operators ---- */

/* The bits of 1. */
enum { E4M3_ONE = 0x38, E5M2_ONE = 0x3c, FLOAT_ONE = 0x3f800000 };

typedef int reduction(gshmem_team_t team, void *dest, const void *source, size_t nelems,
                      gshmemx_stream_t stream);

#define OPS(M, NAME) M(NAME, sum, SUM) M(NAME, prod, PROD) M(NAME, max, MAX) M(NAME, min, MIN)
#define TYPES(M) \
    M(int8) M(uint8) M(int32) M(uint32) M(int64) M(uint64) M(half) M(float) M(double) M(bfloat16)
#define DEFINE(NAME, OP, NUMBER)                                                             \
    static int reduce_##NAME##_##OP(gshmem_team_t team, void *dest, const void *source,      \
                                    size_t nelems, gshmemx_stream_t stream)                  \
    {                                                                                        \
        return gshmemx_##NAME##_##OP##_reduce_on_stream(team, dest, source, nelems, stream); \
    }                                                                                        \
    static int scatter_##NAME##_##OP(gshmem_team_t team, void *dest, const void *source,     \
                                     size_t nelems, gshmemx_stream_t stream)                 \
    {                                                                                        \
        return gshmemx_##NAME##_##OP##_reducescatter_on_stream(team, dest, source, nelems,   \
                                                               stream);                      \
    }
#define DEFINE_ALL(NAME) OPS(DEFINE, NAME)
TYPES(DEFINE_ALL)
#define FLOAT8_TYPES(M) M(E4M3) M(E5M2)
#define DEFINE_FLOAT8(NAME, OP, NUMBER)                                                            \
    static int reduce_##NAME##_##OP(gshmem_team_t team, void *dest, const void *source,            \
                                    size_t nelems, gshmemx_stream_t stream)                        \
    {                                                                                              \
        return gshmemx_layer_reduce_on_stream(GSHMEMX_LAYER_##NAME, GSHMEMX_LAYER_##NUMBER, team,  \
                                              dest, source, nelems, stream);                       \
    }                                                                                              \
    static int scatter_##NAME##_##OP(gshmem_team_t team, void *dest, const void *source,           \
                                     size_t nelems, gshmemx_stream_t stream)                       \
    {                                                                                              \
        return gshmemx_layer_reducescatter_on_stream(GSHMEMX_LAYER_##NAME, GSHMEMX_LAYER_##NUMBER, \
                                                     team, dest, source, nelems, stream);          \
    }
#define DEFINE_ALL_FLOAT8(NAME) OPS(DEFINE_FLOAT8, NAME)
FLOAT8_TYPES(DEFINE_ALL_FLOAT8)
#define REDUCE_ENTRY(NAME, OP, NUMBER)  reduce_##NAME##_##OP,
#define SCATTER_ENTRY(NAME, OP, NUMBER) scatter_##NAME##_##OP,
#define REDUCE_ROW(NAME)                {OPS(REDUCE_ENTRY, NAME)},
#define SCATTER_ROW(NAME)               {OPS(SCATTER_ENTRY, NAME)},
/* In the order of ncclDataType_t and ncclRedOp_t. */
static reduction *const reductions[ncclNumTypes][ncclAvg] = {TYPES(REDUCE_ROW)
                                                                 FLOAT8_TYPES(REDUCE_ROW)};
static reduction *const scatterings[ncclNumTypes][ncclAvg] = {TYPES(SCATTER_ROW)
                                                                  FLOAT8_TYPES(SCATTER_ROW)};
#undef SCATTER_ROW
#undef REDUCE_ROW
#undef SCATTER_ENTRY
#undef REDUCE_ENTRY
#undef DEFINE_ALL_FLOAT8
#undef DEFINE_FLOAT8
#undef FLOAT8_TYPES
#undef DEFINE_ALL
#undef DEFINE
#undef TYPES
#undef OPS

/* ---- checks ---- */

ncclResult_t gsh_nccl_check_data(const struct gsh_nccl_call *c)
{
    ncclResult_t r = gsh_nccl_need(c->name, c->comm);
    if (r != ncclSuccess) {
        return r;
    }
    if ((unsigned)c->type >= ncclNumTypes) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: there is no type %d", c->name, (int)c->type);
    }
    if (c->peer < 0 || c->peer >= c->comm->n_ranks) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: there is no rank %d among %d", c->name,
                             c->peer, c->comm->n_ranks);
    }
    if (c->count > SIZE_MAX / 16 / (size_t)c->comm->n_ranks) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: %zu elements", c->name, c->count);
    }
    return ncclSuccess;
}

static ncclResult_t check_buffers(const struct gsh_nccl_call *c, bool has_source, bool has_dest)
{
    if (c->count > 0 && ((has_source && c->source == NULL) || (has_dest && c->dest == NULL))) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: a buffer is NULL", c->name);
    }
    return ncclSuccess;
}

/* ---- steps on the stream ---- */

static void copy_in(const struct gsh_nccl_call *c, void *scratch, const void *source, size_t bytes)
{
    gshmemx_putmem_on_stream(scratch, source, bytes, c->comm->job->my_pe, c->stream);
}

static void copy_out(const struct gsh_nccl_call *c, void *dest, const void *scratch, size_t bytes)
{
    gshmemx_getmem_on_stream(dest, scratch, bytes, c->comm->job->my_pe, c->stream);
}

static ncclResult_t scale(const struct gsh_nccl_call *c, struct gsh_nccl_scale args)
{
    return gsh_nccl_launched(c->name, gsh_nccl_kernels()->scale(&args, c->stream));
}

/* The type of a reduction's elements in scratch. */
static ncclDataType_t scratch_type(const struct gsh_nccl_call *c,
                                   const struct gsh_nccl_combining *op)
{
    return op->is_wide ? ncclFloat32 : c->type;
}

/* Copies the input of a reduction into scratch. */
static ncclResult_t take_in(const struct gsh_nccl_call *c, const struct gsh_nccl_combining *op,
                            void *scratch, const void *source, size_t nelems)
{
    if (!op->is_premul && !op->is_wide) {
        copy_in(c, scratch, source, nelems * gsh_nccl_type_bytes(c->type));
        return ncclSuccess;
    }
    return scale(c, (struct gsh_nccl_scale){.dest = scratch,
                                            .source = source,
                                            .nelems = nelems,
                                            .scalar_at = op->scalar_at,
                                            .scalar = op->is_premul               ? op->scalar
                                                      : c->type == ncclFloat8e4m3 ? E4M3_ONE
                                                                                  : E5M2_ONE,
                                            .type = (int32_t)c->type,
                                            .dest_type = (int32_t)scratch_type(c, op)});
}

static ncclResult_t divide(const struct gsh_nccl_call *c, const struct gsh_nccl_combining *op,
                           void *elements, size_t nelems)
{
    return scale(c, (struct gsh_nccl_scale){.dest = elements,
                                            .source = elements,
                                            .nelems = nelems,
                                            .scalar = op->scalar,
                                            .type = (int32_t)c->type,
                                            .dest_type = (int32_t)c->type,
                                            .is_division = true});
}

/* Copies the result of a reduction out of scratch. */
static ncclResult_t take_out(const struct gsh_nccl_call *c, const struct gsh_nccl_combining *op,
                             void *dest, void *scratch, size_t nelems)
{
    if (op->is_wide) {
        return scale(c, (struct gsh_nccl_scale){.dest = dest,
                                                .source = scratch,
                                                .nelems = nelems,
                                                .scalar = op->is_divided ? op->scalar : FLOAT_ONE,
                                                .type = ncclFloat32,
                                                .dest_type = (int32_t)c->type,
                                                .is_division = op->is_divided});
    }
    ncclResult_t r = op->is_divided ? divide(c, op, scratch, nelems) : ncclSuccess;
    if (r == ncclSuccess) {
        copy_out(c, dest, scratch, nelems * gsh_nccl_type_bytes(c->type));
    }
    return r;
}

/* The elements of a piece if `parts` such pieces are in scratch at once, as numbers of the type. */
static size_t piece_nelems(const struct gsh_nccl_call *c, size_t parts, ncclDataType_t type)
{
    size_t bytes = c->comm->scratch_bytes / parts / GSH_NCCL_PIECE_UNIT * GSH_NCCL_PIECE_UNIT;
    return bytes / gsh_nccl_type_bytes(type);
}

/* The load of a collective in which this rank sends that many elements of the type. */
static struct gsh_nccl_load load_of(ncclDataType_t type, size_t nelems)
{
    return (struct gsh_nccl_load){.kind = GSH_NCCL_LOAD_CALL,
                                  .out_bytes = nelems * gsh_nccl_type_bytes(type)};
}

static ncclDataType_t type_on_links(const struct gsh_nccl_call *c)
{
    struct gsh_nccl_combining op = gsh_nccl_combining(c);
    return scratch_type(c, &op);
}

/* An AllReduce's load: each rank's part to its owner, each result to all; the same for Reduce. */
static ncclResult_t submit_reduce(ncclResult_t checked, struct gsh_nccl_call *c)
{
    if (checked == ncclSuccess) {
        size_t n = (size_t)c->comm->n_ranks;
        c->load = load_of(type_on_links(c), (c->count + n - 1) / n * 2 * (n - 1));
    }
    return gsh_nccl_submit(checked, c);
}

/* NULL: the buffers pass through scratch. */
static void *direct(const struct gsh_nccl_call *c, const void *buffer, size_t nelems)
{
    return gsh_nccl_symmetric(c->comm, buffer, nelems * gsh_nccl_type_bytes(c->type));
}

static const char *element(const void *base, size_t i, const struct gsh_nccl_call *c)
{
    return (const char *)base + i * gsh_nccl_type_bytes(c->type);
}

static char *element_out(void *base, size_t i, const struct gsh_nccl_call *c)
{
    return (char *)base + i * gsh_nccl_type_bytes(c->type);
}

/* ---- AllReduce, Reduce ---- */

static ncclResult_t run_reduce(const struct gsh_nccl_call *c)
{
    struct ncclComm *comm = c->comm;
    struct gsh_nccl_combining op = gsh_nccl_combining(c);
    ncclDataType_t type = scratch_type(c, &op);
    reduction *reduce = reductions[type][op.base];
    bool has_result = c->a == 0 || comm->rank == c->peer; /* a: only the root has */
    ncclResult_t r = ncclSuccess;
    const void *source = direct(c, c->source, c->count);
    void *dest = direct(c, c->dest, c->count);
    bool is_direct = c->a == 0 && !op.is_premul && !op.is_wide && source != NULL && dest != NULL;
    gsh_nccl_enter_stream(comm, c->stream);
    r = gsh_nccl_compare_ranks(c, is_direct ? source : NULL, is_direct ? dest : NULL);
    if (r == ncclSuccess && is_direct) {
        r = gsh_nccl_base(c->name, reduce(comm->team, dest, source, c->count, c->stream));
        return r == ncclSuccess && op.is_divided ? divide(c, &op, c->dest, c->count) : r;
    }
    size_t most = piece_nelems(c, 1, type);
    for (size_t done = 0; r == ncclSuccess && done < c->count; done += most) {
        size_t n = gsh_nccl_smaller(c->count - done, most);
        r = take_in(c, &op, comm->scratch, element(c->source, done, c), n);
        if (r == ncclSuccess) {
            r = gsh_nccl_base(c->name,
                              reduce(comm->team, comm->scratch, comm->scratch, n, c->stream));
        }
        if (r == ncclSuccess && has_result) {
            r = take_out(c, &op, element_out(c->dest, done, c), comm->scratch, n);
        }
    }
    return r;
}

ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream)
{
    struct gsh_nccl_call c = {.name = "ncclAllReduce",
                              .kind = GSH_NCCL_ALL_REDUCE,
                              .run = run_reduce,
                              .comm = comm,
                              .source = sendbuff,
                              .dest = recvbuff,
                              .count = count,
                              .type = datatype,
                              .op = op,
                              .stream = stream};
    ncclResult_t r = gsh_nccl_check_data(&c);
    r = r != ncclSuccess ? r : gsh_nccl_check_op(&c);
    r = r != ncclSuccess ? r : check_buffers(&c, true, true);
    return submit_reduce(r, &c);
}

ncclResult_t ncclReduce(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
    struct gsh_nccl_call c = {.name = "ncclReduce",
                              .kind = GSH_NCCL_REDUCE,
                              .run = run_reduce,
                              .comm = comm,
                              .source = sendbuff,
                              .dest = recvbuff,
                              .count = count,
                              .type = datatype,
                              .op = op,
                              .peer = root,
                              .stream = stream,
                              .a = 1};
    ncclResult_t r = gsh_nccl_check_data(&c);
    r = r != ncclSuccess ? r : gsh_nccl_check_op(&c);
    r = r != ncclSuccess ? r : check_buffers(&c, true, comm->rank == root);
    return submit_reduce(r, &c);
}

/* If `part` is this rank's block of `whole`, each rank names another place in the same buffer: use
 * `whole`. */
static const void *whole_of(const struct gsh_nccl_call *c, const void *part, const void *whole)
{
    size_t block = c->count * gsh_nccl_type_bytes(c->type);
    bool is_in_place = (const char *)part == (const char *)whole + (size_t)c->comm->rank * block;
    return is_in_place ? whole : part;
}

/* ---- ReduceScatter ---- */

static ncclResult_t run_reduce_scatter(const struct gsh_nccl_call *c)
{
    struct ncclComm *comm = c->comm;
    struct gsh_nccl_combining op = gsh_nccl_combining(c);
    ncclDataType_t type = scratch_type(c, &op);
    size_t n_ranks = (size_t)comm->n_ranks, width = gsh_nccl_type_bytes(type);
    reduction *scatter = scatterings[type][op.base];
    ncclResult_t r = ncclSuccess;
    const void *source = direct(c, c->source, n_ranks * c->count);
    void *dest = direct(c, c->dest, c->count);
    bool is_direct = !op.is_premul && !op.is_wide && source != NULL && dest != NULL;
    gsh_nccl_enter_stream(comm, c->stream);
    r = gsh_nccl_compare_ranks(c, is_direct ? source : NULL,
                               is_direct ? whole_of(c, dest, source) : NULL);
    if (r == ncclSuccess && is_direct) {
        r = gsh_nccl_base(c->name, scatter(comm->team, dest, source, c->count, c->stream));
        return r == ncclSuccess && op.is_divided ? divide(c, &op, c->dest, c->count) : r;
    }
    size_t most = piece_nelems(c, n_ranks + 1, type);
    char *result = comm->scratch + n_ranks * most * width;
    for (size_t done = 0; r == ncclSuccess && done < c->count; done += most) {
        size_t n = gsh_nccl_smaller(c->count - done, most);
        for (size_t i = 0; r == ncclSuccess && i < n_ranks; i++) {
            r = take_in(c, &op, comm->scratch + i * n * width,
                        element(c->source, i * c->count + done, c), n);
        }
        if (r == ncclSuccess) {
            r = gsh_nccl_base(c->name, scatter(comm->team, result, comm->scratch, n, c->stream));
        }
        if (r == ncclSuccess) {
            r = take_out(c, &op, element_out(c->dest, done, c), result, n);
        }
    }
    return r;
}

ncclResult_t ncclReduceScatter(const void *sendbuff, void *recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream)
{
    struct gsh_nccl_call c = {.name = "ncclReduceScatter",
                              .kind = GSH_NCCL_REDUCE_SCATTER,
                              .run = run_reduce_scatter,
                              .comm = comm,
                              .source = sendbuff,
                              .dest = recvbuff,
                              .count = recvcount,
                              .type = datatype,
                              .op = op,
                              .stream = stream};
    ncclResult_t r = gsh_nccl_check_data(&c);
    r = r != ncclSuccess ? r : gsh_nccl_check_op(&c);
    r = r != ncclSuccess ? r : check_buffers(&c, true, true);
    if (r == ncclSuccess) {
        c.load = load_of(type_on_links(&c), recvcount * (size_t)(comm->n_ranks - 1));
    }
    return gsh_nccl_submit(r, &c);
}

/* ---- AllGather, AlltoAll ---- */

static ncclResult_t run_spread(const struct gsh_nccl_call *c)
{
    struct ncclComm *comm = c->comm;
    bool is_alltoall = c->a != 0;
    int (*spread)(gshmem_team_t, void *, const void *, size_t, gshmemx_stream_t) =
        is_alltoall ? gshmemx_alltoallmem_on_stream : gshmemx_fcollectmem_on_stream;
    size_t n_ranks = (size_t)comm->n_ranks, n_sources = is_alltoall ? n_ranks : 1;
    size_t width = gsh_nccl_type_bytes(c->type);
    ncclResult_t r = ncclSuccess;
    const void *source = direct(c, c->source, n_sources * c->count);
    void *dest = direct(c, c->dest, n_ranks * c->count);
    bool is_direct = source != NULL && dest != NULL && !(is_alltoall && source == dest);
    gsh_nccl_enter_stream(comm, c->stream);
    r = gsh_nccl_compare_ranks(c, is_direct ? whole_of(c, source, dest) : NULL,
                               is_direct ? dest : NULL);
    if (r == ncclSuccess && is_direct) {
        return gsh_nccl_base(c->name,
                             spread(comm->team, dest, source, c->count * width, c->stream));
    }
    size_t most = piece_nelems(c, n_sources + n_ranks, c->type);
    char *result = element_out(comm->scratch, n_sources * most, c);
    for (size_t done = 0; r == ncclSuccess && done < c->count; done += most) {
        size_t n = gsh_nccl_smaller(c->count - done, most);
        for (size_t i = 0; i < n_sources; i++) {
            copy_in(c, element_out(comm->scratch, i * n, c),
                    element(c->source, i * c->count + done, c), n * width);
        }
        r = gsh_nccl_base(c->name, spread(comm->team, result, comm->scratch, n * width, c->stream));
        for (size_t i = 0; r == ncclSuccess && i < n_ranks; i++) {
            copy_out(c, element_out(c->dest, i * c->count + done, c), element(result, i * n, c),
                     n * width);
        }
    }
    return r;
}

static ncclResult_t spread(const char *name, const void *source, void *dest, size_t count,
                           ncclDataType_t type, ncclComm_t comm, cudaStream_t stream,
                           bool is_alltoall)
{
    struct gsh_nccl_call c = {.name = name,
                              .kind = is_alltoall ? GSH_NCCL_ALL_TO_ALL : GSH_NCCL_ALL_GATHER,
                              .run = run_spread,
                              .comm = comm,
                              .source = source,
                              .dest = dest,
                              .count = count,
                              .type = type,
                              .stream = stream,
                              .a = is_alltoall};
    ncclResult_t r = gsh_nccl_check_data(&c);
    r = r != ncclSuccess ? r : check_buffers(&c, true, true);
    if (r == ncclSuccess) {
        c.load = load_of(type, count * (size_t)(comm->n_ranks - 1));
    }
    return gsh_nccl_submit(r, &c);
}

ncclResult_t ncclAllGather(const void *sendbuff, void *recvbuff, size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream)
{
    return spread("ncclAllGather", sendbuff, recvbuff, sendcount, datatype, comm, stream, false);
}

ncclResult_t ncclAlltoAll(const void *sendbuff, void *recvbuff, size_t count,
                          ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream)
{
    return spread("ncclAlltoAll", sendbuff, recvbuff, count, datatype, comm, stream, true);
}

/* ---- Broadcast ---- */

static ncclResult_t run_broadcast(const struct gsh_nccl_call *c)
{
    struct ncclComm *comm = c->comm;
    bool is_root = comm->rank == c->peer, is_in_place = c->source == c->dest;
    size_t bytes = c->count * gsh_nccl_type_bytes(c->type);
    ncclResult_t r = ncclSuccess;
    void *dest = direct(c, c->dest, c->count);
    gsh_nccl_enter_stream(comm, c->stream);
    r = gsh_nccl_compare_ranks(c, NULL, dest);
    if (r == ncclSuccess && dest != NULL) {
        if (is_root && !is_in_place) {
            copy_in(c, dest, c->source, bytes);
        }
        return gsh_nccl_base(c->name, gshmemx_broadcastmem_on_stream(comm->team, dest, dest, bytes,
                                                                     c->peer, c->stream));
    }
    size_t most = piece_nelems(c, 1, ncclUint8);
    for (size_t done = 0; r == ncclSuccess && done < bytes; done += most) {
        size_t n = gsh_nccl_smaller(bytes - done, most);
        if (is_root) {
            copy_in(c, comm->scratch, (const char *)c->source + done, n);
        }
        r = gsh_nccl_base(c->name,
                          gshmemx_broadcastmem_on_stream(comm->team, comm->scratch, comm->scratch,
                                                         n, c->peer, c->stream));
        if (r == ncclSuccess && !(is_root && is_in_place)) {
            copy_out(c, (char *)c->dest + done, comm->scratch, n);
        }
    }
    return r;
}

ncclResult_t ncclBroadcast(const void *sendbuff, void *recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream)
{
    struct gsh_nccl_call c = {.name = "ncclBroadcast",
                              .kind = GSH_NCCL_BROADCAST,
                              .run = run_broadcast,
                              .comm = comm,
                              .source = sendbuff,
                              .dest = recvbuff,
                              .count = count,
                              .type = datatype,
                              .peer = root,
                              .stream = stream};
    ncclResult_t r = gsh_nccl_check_data(&c);
    r = r != ncclSuccess ? r : check_buffers(&c, comm->rank == root, true);
    if (r == ncclSuccess) {
        c.load = load_of(datatype, comm->n_ranks > 1 ? count : 0);
    }
    return gsh_nccl_submit(r, &c);
}

ncclResult_t ncclBcast(void *buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream)
{
    return ncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}
