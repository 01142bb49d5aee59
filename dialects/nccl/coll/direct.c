/* SPDX-License-Identifier: Apache-2.0
 * See direct.h. */
#include "dialects/nccl/coll/direct.h"

#include "dialects/nccl/base/type.h"
#include "dialects/nccl/coll/reduction.h"
#include "dialects/nccl/coll/scale.h"
#include "gshmemx.h"

static size_t bytes_of(const struct gsh_nccl_work *w)
{
    return w->count * gsh_nccl_type_bytes(w->type);
}

static ncclResult_t combine(const struct gsh_nccl_work *w, gsh_nccl_reduction *reduce)
{
    ncclResult_t r =
        gsh_nccl_base(w->name, reduce(w->comm->team, w->dest, w->source, w->count, w->stream));
    return r == ncclSuccess && w->op.is_divided ? gsh_nccl_divide(w, w->dest, w->count) : r;
}

ncclResult_t gsh_nccl_direct_all_reduce(const struct gsh_nccl_work *w)
{
    return combine(w, gsh_nccl_reduce_of(w->type, w->op.base));
}

ncclResult_t gsh_nccl_direct_reduce_scatter(const struct gsh_nccl_work *w)
{
    return combine(w, gsh_nccl_reduce_scatter_of(w->type, w->op.base));
}

ncclResult_t gsh_nccl_direct_all_gather(const struct gsh_nccl_work *w)
{
    return gsh_nccl_base(w->name, gshmemx_fcollectmem_on_stream(w->comm->team, w->dest, w->source,
                                                                bytes_of(w), w->stream));
}

ncclResult_t gsh_nccl_direct_all_to_all(const struct gsh_nccl_work *w)
{
    return gsh_nccl_base(w->name, gshmemx_alltoallmem_on_stream(w->comm->team, w->dest, w->source,
                                                                bytes_of(w), w->stream));
}

ncclResult_t gsh_nccl_direct_broadcast(const struct gsh_nccl_work *w)
{
    if (w->comm->rank == w->root && !w->is_in_place) {
        gshmemx_putmem_on_stream(w->dest, w->source, bytes_of(w), w->comm->job->my_pe, w->stream);
    }
    return gsh_nccl_base(w->name, gshmemx_broadcastmem_on_stream(w->comm->team, w->dest, w->dest,
                                                                 bytes_of(w), w->root, w->stream));
}
