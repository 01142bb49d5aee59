/* SPDX-License-Identifier: Apache-2.0
 * See staged.h. */
#include "dialects/nccl/coll/staged.h"

#include "dialects/nccl/base/type.h"
#include "dialects/nccl/coll/reduction.h"
#include "dialects/nccl/coll/scale.h"
#include "gshmemx.h"

/* ---- in and out of scratch ---- */

/* The bits of 1. */
enum { E4M3_ONE = 0x38, E5M2_ONE = 0x3c, FLOAT_ONE = 0x3f800000 };

static void copy_in(const struct gsh_nccl_work *w, void *scratch, const void *source, size_t bytes)
{
    gshmemx_putmem_on_stream(scratch, source, bytes, w->comm->job->my_pe, w->stream);
}

static void copy_out(const struct gsh_nccl_work *w, void *dest, const void *scratch, size_t bytes)
{
    gshmemx_getmem_on_stream(dest, scratch, bytes, w->comm->job->my_pe, w->stream);
}

/* The type of a reduction's elements in scratch. */
static ncclDataType_t scratch_type(const struct gsh_nccl_work *w)
{
    return gsh_nccl_combined_type(&w->op, w->type);
}

/* Copies the input of a reduction into scratch. */
static ncclResult_t take_in(const struct gsh_nccl_work *w, void *scratch, const void *source,
                            size_t nelems)
{
    if (!w->op.is_premul && !w->op.is_wide) {
        copy_in(w, scratch, source, nelems * gsh_nccl_type_bytes(w->type));
        return ncclSuccess;
    }
    return gsh_nccl_scale(w,
                          (struct gsh_nccl_scale){.dest = scratch,
                                                  .source = source,
                                                  .nelems = nelems,
                                                  .scalar_at = w->op.scalar_at,
                                                  .scalar = w->op.is_premul ? w->op.scalar
                                                            : w->type == ncclFloat8e4m3 ? E4M3_ONE
                                                                                        : E5M2_ONE,
                                                  .type = (int32_t)w->type,
                                                  .dest_type = (int32_t)scratch_type(w)});
}

/* Copies the result of a reduction out of scratch. */
static ncclResult_t take_out(const struct gsh_nccl_work *w, void *dest, void *scratch,
                             size_t nelems)
{
    if (w->op.is_wide) {
        return gsh_nccl_scale(
            w, (struct gsh_nccl_scale){.dest = dest,
                                       .source = scratch,
                                       .nelems = nelems,
                                       .scalar = w->op.is_divided ? w->op.scalar : FLOAT_ONE,
                                       .type = ncclFloat32,
                                       .dest_type = (int32_t)w->type,
                                       .is_division = w->op.is_divided});
    }
    ncclResult_t r = w->op.is_divided ? gsh_nccl_divide(w, scratch, nelems) : ncclSuccess;
    if (r == ncclSuccess) {
        copy_out(w, dest, scratch, nelems * gsh_nccl_type_bytes(w->type));
    }
    return r;
}

/* The elements of a piece if `parts` such pieces are in scratch at once, as numbers of the type. */
static size_t piece_nelems(const struct gsh_nccl_work *w, size_t parts, ncclDataType_t type)
{
    size_t bytes = w->comm->scratch_bytes / parts / GSH_NCCL_PIECE_UNIT * GSH_NCCL_PIECE_UNIT;
    return bytes / gsh_nccl_type_bytes(type);
}

static const char *source_at(const struct gsh_nccl_work *w, size_t i)
{
    return (const char *)w->source + i * gsh_nccl_type_bytes(w->type);
}

static char *dest_at(const struct gsh_nccl_work *w, size_t i)
{
    return (char *)w->dest + i * gsh_nccl_type_bytes(w->type);
}

/* ---- the collectives ---- */

ncclResult_t gsh_nccl_staged_reduce(const struct gsh_nccl_work *w)
{
    struct ncclComm *comm = w->comm;
    ncclDataType_t type = scratch_type(w);
    gsh_nccl_reduction *reduce = gsh_nccl_reduce_of(type, w->op.base);
    size_t most = piece_nelems(w, 1, type);
    ncclResult_t r = ncclSuccess;
    for (size_t done = 0; r == ncclSuccess && done < w->count; done += most) {
        size_t n = gsh_nccl_smaller(w->count - done, most);
        r = take_in(w, comm->scratch, source_at(w, done), n);
        if (r == ncclSuccess) {
            r = gsh_nccl_base(w->name,
                              reduce(comm->team, comm->scratch, comm->scratch, n, w->stream));
        }
        if (r == ncclSuccess && w->has_result) {
            r = take_out(w, dest_at(w, done), comm->scratch, n);
        }
    }
    return r;
}

ncclResult_t gsh_nccl_staged_reduce_scatter(const struct gsh_nccl_work *w)
{
    struct ncclComm *comm = w->comm;
    ncclDataType_t type = scratch_type(w);
    size_t n_ranks = (size_t)comm->n_ranks, width = gsh_nccl_type_bytes(type);
    gsh_nccl_reduction *scatter = gsh_nccl_reduce_scatter_of(type, w->op.base);
    size_t most = piece_nelems(w, n_ranks + 1, type);
    char *result = comm->scratch + n_ranks * most * width;
    ncclResult_t r = ncclSuccess;
    for (size_t done = 0; r == ncclSuccess && done < w->count; done += most) {
        size_t n = gsh_nccl_smaller(w->count - done, most);
        for (size_t i = 0; r == ncclSuccess && i < n_ranks; i++) {
            r = take_in(w, comm->scratch + i * n * width, source_at(w, i * w->count + done), n);
        }
        if (r == ncclSuccess) {
            r = gsh_nccl_base(w->name, scatter(comm->team, result, comm->scratch, n, w->stream));
        }
        if (r == ncclSuccess) {
            r = take_out(w, dest_at(w, done), result, n);
        }
    }
    return r;
}

/* Each rank has n_sources blocks, and gets one of each rank. */
static ncclResult_t spread(const struct gsh_nccl_work *w, size_t n_sources,
                           int (*move)(gshmem_team_t, void *, const void *, size_t,
                                       gshmemx_stream_t))
{
    struct ncclComm *comm = w->comm;
    size_t n_ranks = (size_t)comm->n_ranks, width = gsh_nccl_type_bytes(w->type);
    size_t most = piece_nelems(w, n_sources + n_ranks, w->type);
    char *result = comm->scratch + n_sources * most * width;
    ncclResult_t r = ncclSuccess;
    for (size_t done = 0; r == ncclSuccess && done < w->count; done += most) {
        size_t n = gsh_nccl_smaller(w->count - done, most);
        for (size_t i = 0; i < n_sources; i++) {
            copy_in(w, comm->scratch + i * n * width, source_at(w, i * w->count + done), n * width);
        }
        r = gsh_nccl_base(w->name, move(comm->team, result, comm->scratch, n * width, w->stream));
        for (size_t i = 0; r == ncclSuccess && i < n_ranks; i++) {
            copy_out(w, dest_at(w, i * w->count + done), result + i * n * width, n * width);
        }
    }
    return r;
}

ncclResult_t gsh_nccl_staged_all_gather(const struct gsh_nccl_work *w)
{
    return spread(w, 1, gshmemx_fcollectmem_on_stream);
}

ncclResult_t gsh_nccl_staged_all_to_all(const struct gsh_nccl_work *w)
{
    return spread(w, (size_t)w->comm->n_ranks, gshmemx_alltoallmem_on_stream);
}

ncclResult_t gsh_nccl_staged_broadcast(const struct gsh_nccl_work *w)
{
    struct ncclComm *comm = w->comm;
    bool is_root = comm->rank == w->root;
    size_t bytes = w->count * gsh_nccl_type_bytes(w->type);
    size_t most = piece_nelems(w, 1, ncclUint8);
    ncclResult_t r = ncclSuccess;
    for (size_t done = 0; r == ncclSuccess && done < bytes; done += most) {
        size_t n = gsh_nccl_smaller(bytes - done, most);
        if (is_root) {
            copy_in(w, comm->scratch, (const char *)w->source + done, n);
        }
        r = gsh_nccl_base(w->name,
                          gshmemx_broadcastmem_on_stream(comm->team, comm->scratch, comm->scratch,
                                                         n, w->root, w->stream));
        if (r == ncclSuccess && !(is_root && w->is_in_place)) {
            copy_out(w, (char *)w->dest + done, comm->scratch, n);
        }
    }
    return r;
}
