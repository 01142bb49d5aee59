/* SPDX-License-Identifier: Apache-2.0
 * Stamps the collectives of the host and on a stream from the type table (gshmem/collectives.h),
 * through the bodies in coll.c. */
#include <limits.h>
#include "gshmem.h"
#include "gshmemx.h"
#include "runtime/api/coll.h"

/* How kernels compute with elements of a C type. */
#define INTEGER(BYTES, SIGN)                                     \
    ((BYTES) == 1   ? (SIGN) ? GSH_ELEMENT_i8 : GSH_ELEMENT_u8   \
     : (BYTES) == 2 ? (SIGN) ? GSH_ELEMENT_i16 : GSH_ELEMENT_u16 \
     : (BYTES) == 4 ? (SIGN) ? GSH_ELEMENT_i32 : GSH_ELEMENT_u32 \
     : (SIGN)       ? GSH_ELEMENT_i64                            \
                    : GSH_ELEMENT_u64)
#define ELEMENT(T) \
    _Generic((T *)NULL,                              \
        gshmem_half_t *: GSH_ELEMENT_half,           \
        gshmem_bfloat16_t *: GSH_ELEMENT_bfloat16,   \
        float *: GSH_ELEMENT_float,                  \
        double *: GSH_ELEMENT_double,                \
        long double *: GSH_ELEMENT_longdouble,       \
        gshmem_complexf_t *: GSH_ELEMENT_complexf,      \
        gshmem_complexd_t *: GSH_ELEMENT_complexd,     \
        char *: INTEGER(1, CHAR_MIN < 0),            \
        signed char *: INTEGER(1, true),             \
        short *: INTEGER(sizeof(short), true),       \
        int *: INTEGER(sizeof(int), true),           \
        long *: INTEGER(sizeof(long), true),         \
        long long *: INTEGER(sizeof(long long), true), \
        default: INTEGER(sizeof(T), false))

#define HERE(CALL)          ((struct gsh_coll_site){.call = #CALL})
#define THERE(CALL, STREAM) ((struct gsh_coll_site){#CALL, true, STREAM})

/* Each of these defines the host call, and its STREAM form the one on a stream. */
#define PLAIN(NAME, COLL, P, BYTES, E)                                                  \
    int gshmem_##NAME(gshmem_team_t team, P *dest, const P *source, size_t nelems)      \
    {                                                                                   \
        struct gsh_coll_move m = {COLL, team, dest, source, nelems, BYTES, E, 0, 0, 0}; \
        return gsh_coll_move(HERE(gshmem_##NAME), &m);                                  \
    }
#define STREAM_PLAIN(NAME, COLL, P, BYTES, E)                                                   \
    int gshmemx_##NAME##_on_stream(gshmem_team_t team, P *dest, const P *source, size_t nelems, \
                                   gshmemx_stream_t stream)                                     \
    {                                                                                           \
        struct gsh_coll_move m = {COLL, team, dest, source, nelems, BYTES, E, 0, 0, 0};         \
        return gsh_coll_move(THERE(gshmemx_##NAME##_on_stream, stream), &m);                    \
    }
#define ROOTED(NAME, P, BYTES, E)                                                               \
    int gshmem_##NAME(gshmem_team_t team, P *dest, const P *source, size_t nelems, int PE_root) \
    {                                                                                           \
        struct gsh_coll_move m = {                                                              \
            GSH_COLL_BROADCAST, team, dest, source, nelems, BYTES, E, 0, 0, PE_root};           \
        return gsh_coll_move(HERE(gshmem_##NAME), &m);                                          \
    }
#define STREAM_ROOTED(NAME, P, BYTES, E)                                                        \
    int gshmemx_##NAME##_on_stream(gshmem_team_t team, P *dest, const P *source, size_t nelems, \
                                   int PE_root, gshmemx_stream_t stream)                        \
    {                                                                                           \
        struct gsh_coll_move m = {                                                              \
            GSH_COLL_BROADCAST, team, dest, source, nelems, BYTES, E, 0, 0, PE_root};           \
        return gsh_coll_move(THERE(gshmemx_##NAME##_on_stream, stream), &m);                    \
    }
#define STRIDED(NAME, P, BYTES, E)                                                                \
    int gshmem_##NAME(gshmem_team_t team, P *dest, const P *source, ptrdiff_t dst, ptrdiff_t sst, \
                      size_t nelems)                                                              \
    {                                                                                             \
        struct gsh_coll_move m = {                                                                \
            GSH_COLL_ALLTOALLS, team, dest, source, nelems, BYTES, E, dst, sst, 0};               \
        return gsh_coll_move(HERE(gshmem_##NAME), &m);                                            \
    }
#define STREAM_STRIDED(NAME, P, BYTES, E)                                                       \
    int gshmemx_##NAME##_on_stream(gshmem_team_t team, P *dest, const P *source, ptrdiff_t dst, \
                                   ptrdiff_t sst, size_t nelems, gshmemx_stream_t stream)       \
    {                                                                                           \
        struct gsh_coll_move m = {                                                              \
            GSH_COLL_ALLTOALLS, team, dest, source, nelems, BYTES, E, dst, sst, 0};             \
        return gsh_coll_move(THERE(gshmemx_##NAME##_on_stream, stream), &m);                    \
    }
#define MOVE(OF, PREFIX, SUFFIX, P, BYTES, E)                                       \
    OF##ROOTED(PREFIX##broadcast##SUFFIX, P, BYTES, E)                              \
        OF##PLAIN(PREFIX##collect##SUFFIX, GSH_COLL_COLLECT, P, BYTES, E)           \
            OF##PLAIN(PREFIX##fcollect##SUFFIX, GSH_COLL_FCOLLECT, P, BYTES, E)     \
                OF##PLAIN(PREFIX##alltoall##SUFFIX, GSH_COLL_ALLTOALL, P, BYTES, E) \
                    OF##STRIDED(PREFIX##alltoalls##SUFFIX, P, BYTES, E)

#define HOST_MOVE(NAME, T)   MOVE(, NAME##_, , T, sizeof(T), ELEMENT(T))
#define STREAM_MOVE(NAME, T) MOVE(STREAM_, NAME##_, , T, sizeof(T), ELEMENT(T))
GSHMEM_TYPES_RMA(HOST_MOVE)
GSHMEM_TYPES_GPU(STREAM_MOVE)
MOVE(, , mem, void, 1, GSH_ELEMENT_bits)
MOVE(STREAM_, , mem, void, 1, GSH_ELEMENT_bits)

#define COMPUTE(NAME, T, COLL, OP)                                                       \
    int gshmem_##NAME(gshmem_team_t team, T *dest, const T *source, size_t nreduce)      \
    {                                                                                    \
        struct gsh_coll_compute m = {COLL, team, dest, source, nreduce, OP, ELEMENT(T)}; \
        return gsh_coll_compute(HERE(gshmem_##NAME), &m);                                \
    }
#define STREAM_COMPUTE(NAME, T, COLL, OP)                                                        \
    int gshmemx_##NAME##_on_stream(gshmem_team_t team, T *dest, const T *source, size_t nreduce, \
                                   gshmemx_stream_t stream)                                      \
    {                                                                                            \
        struct gsh_coll_compute m = {COLL, team, dest, source, nreduce, OP, ELEMENT(T)};         \
        return gsh_coll_compute(THERE(gshmemx_##NAME##_on_stream, stream), &m);                  \
    }
#define REDUCE(OF, NAME, T, OP)                                            \
    OF##COMPUTE(NAME##_##OP##_reduce, T, GSH_COLL_REDUCE, GSH_REDUCE_##OP) \
        OF##COMPUTE(NAME##_##OP##_reducescatter, T, GSH_COLL_REDUCESCATTER, GSH_REDUCE_##OP)
#define LOGIC(OF, NAME, T) REDUCE(OF, NAME, T, and) REDUCE(OF, NAME, T, or) REDUCE(OF, NAME, T, xor)
#define ARITH(OF, NAME, T)                                             \
    REDUCE(OF, NAME, T, min)                                           \
    REDUCE(OF, NAME, T, max)                                           \
    REDUCE(OF, NAME, T, sum)                                           \
    REDUCE(OF, NAME, T, prod)                                          \
    OF##COMPUTE(NAME##_sum_inscan, T, GSH_COLL_INSCAN, GSH_REDUCE_sum) \
        OF##COMPUTE(NAME##_sum_exscan, T, GSH_COLL_EXSCAN, GSH_REDUCE_sum)
#define HOST_LOGIC(NAME, T)   LOGIC(, NAME, T)
#define STREAM_LOGIC(NAME, T) LOGIC(STREAM_, NAME, T)
#define HOST_ARITH(NAME, T)   ARITH(, NAME, T)
#define STREAM_ARITH(NAME, T) ARITH(STREAM_, NAME, T)
#define COMPLEX(NAME, T)   \
    REDUCE(, NAME, T, sum) \
    REDUCE(, NAME, T, prod) REDUCE(STREAM_, NAME, T, sum) REDUCE(STREAM_, NAME, T, prod)
GSHMEM_TYPES_LOGIC(HOST_LOGIC)
GSHMEM_TYPES_LOGIC(STREAM_LOGIC)
GSHMEM_TYPES_ARITH(HOST_ARITH)
GSHMEM_TYPES_GPU_ARITH(STREAM_ARITH)
COMPLEX(complexf, gshmem_complexf_t)
COMPLEX(complexd, gshmem_complexd_t)
