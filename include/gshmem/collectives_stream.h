/* SPDX-License-Identifier: Apache-2.0
 * Collectives on a stream: prototypes stamped from the type table. The contracts of the host calls
 * (gshmem/collectives.h) hold, in the stream's order. The calls may be captured into a graph. Each
 * launch of the graph repeats them, so all members must launch their graphs in the same order.
 * Arguments are taken when the call is made. On a GPU a call may take up to half of the
 * multiprocessors until all members have come: PEs that have more than two calls under way on
 * different streams must enqueue them in the same order. */
#ifndef GSHMEM_COLLECTIVES_STREAM_H
#define GSHMEM_COLLECTIVES_STREAM_H

#include "gshmem/collectives.h"

#ifdef __cplusplus
extern "C" {
#endif

int gshmemx_broadcastmem_on_stream(gshmem_team_t team, void *dest, const void *source, size_t bytes,
                                   int PE_root, gshmemx_stream_t stream);
int gshmemx_collectmem_on_stream(gshmem_team_t team, void *dest, const void *source, size_t bytes,
                                 gshmemx_stream_t stream);
int gshmemx_fcollectmem_on_stream(gshmem_team_t team, void *dest, const void *source, size_t bytes,
                                  gshmemx_stream_t stream);
int gshmemx_alltoallmem_on_stream(gshmem_team_t team, void *dest, const void *source, size_t bytes,
                                  gshmemx_stream_t stream);
int gshmemx_alltoallsmem_on_stream(gshmem_team_t team, void *dest, const void *source,
                                   ptrdiff_t dst, ptrdiff_t sst, size_t bytes,
                                   gshmemx_stream_t stream);

#define MOVE(NAME, T)                                                                              \
    int gshmemx_##NAME##_broadcast_on_stream(gshmem_team_t team, T *dest, const T *source,         \
                                             size_t nelems, int PE_root, gshmemx_stream_t stream); \
    int gshmemx_##NAME##_collect_on_stream(gshmem_team_t team, T *dest, const T *source,           \
                                           size_t nelems, gshmemx_stream_t stream);                \
    int gshmemx_##NAME##_fcollect_on_stream(gshmem_team_t team, T *dest, const T *source,          \
                                            size_t nelems, gshmemx_stream_t stream);               \
    int gshmemx_##NAME##_alltoall_on_stream(gshmem_team_t team, T *dest, const T *source,          \
                                            size_t nelems, gshmemx_stream_t stream);               \
    int gshmemx_##NAME##_alltoalls_on_stream(gshmem_team_t team, T *dest, const T *source,         \
                                             ptrdiff_t dst, ptrdiff_t sst, size_t nelems,          \
                                             gshmemx_stream_t stream);
GSHMEM_TYPES_GPU(MOVE)
#undef MOVE

#define REDUCE(NAME, T, OP)                                                                    \
    int gshmemx_##NAME##_##OP##_reduce_on_stream(gshmem_team_t team, T *dest, const T *source, \
                                                 size_t nreduce, gshmemx_stream_t stream);     \
    int gshmemx_##NAME##_##OP##_reducescatter_on_stream(                                       \
        gshmem_team_t team, T *dest, const T *source, size_t nreduce, gshmemx_stream_t stream);
#define SCAN(NAME, T)                                                                       \
    int gshmemx_##NAME##_sum_inscan_on_stream(gshmem_team_t team, T *dest, const T *source, \
                                              size_t nelems, gshmemx_stream_t stream);      \
    int gshmemx_##NAME##_sum_exscan_on_stream(gshmem_team_t team, T *dest, const T *source, \
                                              size_t nelems, gshmemx_stream_t stream);
#define LOGIC(NAME, T) REDUCE(NAME, T, and) REDUCE(NAME, T, or) REDUCE(NAME, T, xor)
#define ARITH(NAME, T)   \
    REDUCE(NAME, T, min) \
    REDUCE(NAME, T, max) REDUCE(NAME, T, sum) REDUCE(NAME, T, prod) SCAN(NAME, T)
GSHMEM_TYPES_LOGIC(LOGIC)
GSHMEM_TYPES_GPU_ARITH(ARITH)
#undef ARITH
#undef LOGIC
#undef SCAN
#if defined(GSHMEM_HAS_COMPLEX)
REDUCE(complexf, gshmem_complexf_t, sum)
REDUCE(complexf, gshmem_complexf_t, prod)
REDUCE(complexd, gshmem_complexd_t, sum)
REDUCE(complexd, gshmem_complexd_t, prod)
#endif
#undef REDUCE

#ifdef __cplusplus
}
#endif

/* For classes of complex numbers. */
#include "gshmem/complex.h"
#if defined(GSH_COMPLEX_CLASSES) && defined(GSHMEM_HAS_COMPLEX)
#define OF_CLASS(NAME, PART, CALL)                                                 \
    template <class Complex>                                                       \
    static inline GSHMEM_IF_COMPLEX(int, PART, Complex)                            \
        gshmemx_##NAME##_##CALL##_on_stream(gshmem_team_t team, Complex *dest,     \
                                            const Complex *source, size_t nreduce, \
                                            gshmemx_stream_t stream)               \
    {                                                                              \
        return gshmemx_##NAME##_##CALL##_on_stream(                                \
            team, reinterpret_cast<gshmem_##NAME##_t *>(dest),                     \
            reinterpret_cast<const gshmem_##NAME##_t *>(source), nreduce, stream); \
    }
OF_CLASS(complexf, float, sum_reduce)
OF_CLASS(complexf, float, sum_reducescatter)
OF_CLASS(complexf, float, prod_reduce)
OF_CLASS(complexf, float, prod_reducescatter)
OF_CLASS(complexd, double, sum_reduce)
OF_CLASS(complexd, double, sum_reducescatter)
OF_CLASS(complexd, double, prod_reduce)
OF_CLASS(complexd, double, prod_reducescatter)
#undef OF_CLASS
#endif

#endif
