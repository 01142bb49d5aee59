/* SPDX-License-Identifier: Apache-2.0
 * See scale.h. */
#include "dialects/nccl/coll/scale.h"

#include "dialects/nccl/comm/launch.h"

ncclResult_t gsh_nccl_scale(const struct gsh_nccl_work *w, struct gsh_nccl_scale args)
{
    return gsh_nccl_launched(w->name, gsh_nccl_kernels()->scale(&args, w->stream));
}

ncclResult_t gsh_nccl_divide(const struct gsh_nccl_work *w, void *elements, size_t nelems)
{
    return gsh_nccl_scale(w, (struct gsh_nccl_scale){.dest = elements,
                                                     .source = elements,
                                                     .nelems = nelems,
                                                     .scalar = w->op.scalar,
                                                     .type = (int32_t)w->type,
                                                     .dest_type = (int32_t)w->type,
                                                     .is_division = true});
}
