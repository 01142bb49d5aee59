/* SPDX-License-Identifier: Apache-2.0
 * See reduction.h. */
#include "dialects/nccl/coll/reduction.h"

#include "gshmemx.h"
#include "runtime/layer.h"

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
static gsh_nccl_reduction *const reductions[ncclNumTypes][ncclAvg] = {TYPES(REDUCE_ROW)
                                                                          FLOAT8_TYPES(REDUCE_ROW)};
static gsh_nccl_reduction *const scatterings[ncclNumTypes][ncclAvg] = {
    TYPES(SCATTER_ROW) FLOAT8_TYPES(SCATTER_ROW)};
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

gsh_nccl_reduction *gsh_nccl_reduce_of(ncclDataType_t type, ncclRedOp_t op)
{
    return reductions[type][op];
}

gsh_nccl_reduction *gsh_nccl_reduce_scatter_of(ncclDataType_t type, ncclRedOp_t op)
{
    return scatterings[type][op];
}
