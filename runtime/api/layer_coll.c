/* SPDX-License-Identifier: Apache-2.0
 * Calls for dialects: reductions of 8-bit floating-point numbers, which the public API lacks, and
 * limits of launches. */
#include "runtime/layer.h"

#include "runtime/api/coll.h"
#include "runtime/instance/block_limit.h"

static const enum gsh_element elements[] = {
    [GSHMEMX_LAYER_E4M3] = GSH_ELEMENT_e4m3,
    [GSHMEMX_LAYER_E5M2] = GSH_ELEMENT_e5m2,
};
static const enum gsh_reduce_op ops[] = {
    [GSHMEMX_LAYER_SUM] = GSH_REDUCE_sum,
    [GSHMEMX_LAYER_PROD] = GSH_REDUCE_prod,
    [GSHMEMX_LAYER_MAX] = GSH_REDUCE_max,
    [GSHMEMX_LAYER_MIN] = GSH_REDUCE_min,
};

static int reduce(const char *call, struct gsh_coll_compute m, gshmemx_stream_t stream)
{
    return gsh_coll_compute((struct gsh_coll_site){call, true, stream}, &m);
}

int gshmemx_layer_reduce_on_stream(enum gshmemx_layer_float8 type, enum gshmemx_layer_op op,
                                   gshmem_team_t team, void *dest, const void *source,
                                   size_t nreduce, gshmemx_stream_t stream)
{
    return reduce("gshmemx_layer_reduce_on_stream",
                  (struct gsh_coll_compute){GSH_COLL_REDUCE, team, dest, source, nreduce, ops[op],
                                            elements[type]},
                  stream);
}

int gshmemx_layer_reducescatter_on_stream(enum gshmemx_layer_float8 type, enum gshmemx_layer_op op,
                                          gshmem_team_t team, void *dest, const void *source,
                                          size_t nreduce, gshmemx_stream_t stream)
{
    return reduce("gshmemx_layer_reducescatter_on_stream",
                  (struct gsh_coll_compute){GSH_COLL_REDUCESCATTER, team, dest, source, nreduce,
                                            ops[op], elements[type]},
                  stream);
}

void gshmemx_layer_limit_blocks(unsigned least, unsigned most)
{
    gsh_block_limit_set((struct gsh_block_limit){least, most});
}
