/* SPDX-License-Identifier: Apache-2.0
 * The generic collectives of OpenSHMEM 1.5: gshmem_broadcast(team, dest, source, nelems, root) and
 * the rest choose the typed call (contracts in gshmem/collectives.h) by what dest points to.
 * Included by gshmem/generic.h, whose macros it uses. Since 0.1. */

#include "gshmem/collectives.h"

#define GSHMEM_GENERIC_SEL_LOGIC(M, distinct, std, ext, bit, wait, logic, arith, name, type) \
    GSHMEM_IF_##distinct##logic(M, name, type)
#define GSHMEM_GENERIC_SEL_ARITH(M, distinct, std, ext, bit, wait, logic, arith, name, type) \
    GSHMEM_IF_##distinct##arith(M, name, type)
/* Signed integers exist as fixed-width types only: see types.h. */
#define GSHMEM_GENERIC_LOGIC(M)                    \
    GSHMEM_TYPE_TABLE(GSHMEM_GENERIC_SEL_LOGIC, M) \
    M(int8, int8_t) M(int16, int16_t) M(int32, int32_t) M(int64, int64_t)
#define GSHMEM_GENERIC_ARITH(M) GSHMEM_TYPE_TABLE(GSHMEM_GENERIC_SEL_ARITH, M)
/* Sums and products also exist for complex numbers. */
#if defined(GSHMEM_HAS_COMPLEX)
#define GSHMEM_GENERIC_ADDED(M) \
    GSHMEM_GENERIC_ARITH(M) M(complexf, gshmem_complexf_t) M(complexd, gshmem_complexd_t)
#else
#define GSHMEM_GENERIC_ADDED(M) GSHMEM_GENERIC_ARITH(M)
#endif

#if defined(__cplusplus)

/* In files with kernels these are templates, so those not called are not compiled. */
#if defined(GSHMEM_DEVICE_CODE)
#define GSHMEM_COLL template <int unused = 0> static inline __host__ __device__
#else
#define GSHMEM_COLL static inline
#endif

#define GSHMEM_OVERLOADS(NAME, T)                                                                 \
    GSHMEM_COLL int gshmem_broadcast(gshmem_team_t team, T *dest, const T *source, size_t nelems, \
                                     int root GSHMEM_SITE)                                        \
    {                                                                                             \
        return gshmem_##NAME##_broadcast(team, dest, source, nelems, root GSHMEM_PASS_SITE);      \
    }                                                                                             \
    GSHMEM_COLL int gshmem_collect(gshmem_team_t team, T *dest, const T *source,                  \
                                   size_t nelems GSHMEM_SITE)                                     \
    {                                                                                             \
        return gshmem_##NAME##_collect(team, dest, source, nelems GSHMEM_PASS_SITE);              \
    }                                                                                             \
    GSHMEM_COLL int gshmem_fcollect(gshmem_team_t team, T *dest, const T *source,                 \
                                    size_t nelems GSHMEM_SITE)                                    \
    {                                                                                             \
        return gshmem_##NAME##_fcollect(team, dest, source, nelems GSHMEM_PASS_SITE);             \
    }                                                                                             \
    GSHMEM_COLL int gshmem_alltoall(gshmem_team_t team, T *dest, const T *source,                 \
                                    size_t nelems GSHMEM_SITE)                                    \
    {                                                                                             \
        return gshmem_##NAME##_alltoall(team, dest, source, nelems GSHMEM_PASS_SITE);             \
    }                                                                                             \
    GSHMEM_COLL int gshmem_alltoalls(gshmem_team_t team, T *dest, const T *source, ptrdiff_t dst, \
                                     ptrdiff_t sst, size_t nelems GSHMEM_SITE)                    \
    {                                                                                             \
        return gshmem_##NAME##_alltoalls(team, dest, source, dst, sst, nelems GSHMEM_PASS_SITE);  \
    }
GSHMEM_GENERIC_RMA(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS

#define GSHMEM_OVERLOADS(NAME, T)                                                               \
    GSHMEM_COLL int gshmem_and_reduce(gshmem_team_t team, T *dest, const T *source,             \
                                      size_t nreduce GSHMEM_SITE)                               \
    {                                                                                           \
        return gshmem_##NAME##_and_reduce(team, dest, source, nreduce GSHMEM_PASS_SITE);        \
    }                                                                                           \
    GSHMEM_COLL int gshmem_and_reducescatter(gshmem_team_t team, T *dest, const T *source,      \
                                             size_t nreduce GSHMEM_SITE)                        \
    {                                                                                           \
        return gshmem_##NAME##_and_reducescatter(team, dest, source, nreduce GSHMEM_PASS_SITE); \
    }                                                                                           \
    GSHMEM_COLL int gshmem_or_reduce(gshmem_team_t team, T *dest, const T *source,              \
                                     size_t nreduce GSHMEM_SITE)                                \
    {                                                                                           \
        return gshmem_##NAME##_or_reduce(team, dest, source, nreduce GSHMEM_PASS_SITE);         \
    }                                                                                           \
    GSHMEM_COLL int gshmem_or_reducescatter(gshmem_team_t team, T *dest, const T *source,       \
                                            size_t nreduce GSHMEM_SITE)                         \
    {                                                                                           \
        return gshmem_##NAME##_or_reducescatter(team, dest, source, nreduce GSHMEM_PASS_SITE);  \
    }                                                                                           \
    GSHMEM_COLL int gshmem_xor_reduce(gshmem_team_t team, T *dest, const T *source,             \
                                      size_t nreduce GSHMEM_SITE)                               \
    {                                                                                           \
        return gshmem_##NAME##_xor_reduce(team, dest, source, nreduce GSHMEM_PASS_SITE);        \
    }                                                                                           \
    GSHMEM_COLL int gshmem_xor_reducescatter(gshmem_team_t team, T *dest, const T *source,      \
                                             size_t nreduce GSHMEM_SITE)                        \
    {                                                                                           \
        return gshmem_##NAME##_xor_reducescatter(team, dest, source, nreduce GSHMEM_PASS_SITE); \
    }
GSHMEM_GENERIC_LOGIC(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS

#define GSHMEM_OVERLOADS(NAME, T)                                                               \
    GSHMEM_COLL int gshmem_min_reduce(gshmem_team_t team, T *dest, const T *source,             \
                                      size_t nreduce GSHMEM_SITE)                               \
    {                                                                                           \
        return gshmem_##NAME##_min_reduce(team, dest, source, nreduce GSHMEM_PASS_SITE);        \
    }                                                                                           \
    GSHMEM_COLL int gshmem_min_reducescatter(gshmem_team_t team, T *dest, const T *source,      \
                                             size_t nreduce GSHMEM_SITE)                        \
    {                                                                                           \
        return gshmem_##NAME##_min_reducescatter(team, dest, source, nreduce GSHMEM_PASS_SITE); \
    }                                                                                           \
    GSHMEM_COLL int gshmem_max_reduce(gshmem_team_t team, T *dest, const T *source,             \
                                      size_t nreduce GSHMEM_SITE)                               \
    {                                                                                           \
        return gshmem_##NAME##_max_reduce(team, dest, source, nreduce GSHMEM_PASS_SITE);        \
    }                                                                                           \
    GSHMEM_COLL int gshmem_max_reducescatter(gshmem_team_t team, T *dest, const T *source,      \
                                             size_t nreduce GSHMEM_SITE)                        \
    {                                                                                           \
        return gshmem_##NAME##_max_reducescatter(team, dest, source, nreduce GSHMEM_PASS_SITE); \
    }                                                                                           \
    GSHMEM_COLL int gshmem_sum_inscan(gshmem_team_t team, T *dest, const T *source,             \
                                      size_t nelems GSHMEM_SITE)                                \
    {                                                                                           \
        return gshmem_##NAME##_sum_inscan(team, dest, source, nelems GSHMEM_PASS_SITE);         \
    }                                                                                           \
    GSHMEM_COLL int gshmem_sum_exscan(gshmem_team_t team, T *dest, const T *source,             \
                                      size_t nelems GSHMEM_SITE)                                \
    {                                                                                           \
        return gshmem_##NAME##_sum_exscan(team, dest, source, nelems GSHMEM_PASS_SITE);         \
    }
GSHMEM_GENERIC_ARITH(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS

#define GSHMEM_OVERLOADS_FOR(NAME, T, SIDE)                                                      \
    GSHMEM_COLL int gshmem_sum_reduce(gshmem_team_t team, T *dest, const T *source,              \
                                      size_t nreduce GSHMEM_SITE)                                \
    {                                                                                            \
        return gshmem_##NAME##_sum_reduce(team, dest, source, nreduce GSH_PASS_SITE_TO_##SIDE);  \
    }                                                                                            \
    GSHMEM_COLL int gshmem_sum_reducescatter(gshmem_team_t team, T *dest, const T *source,       \
                                             size_t nreduce GSHMEM_SITE)                         \
    {                                                                                            \
        return gshmem_##NAME##_sum_reducescatter(team, dest, source,                             \
                                                 nreduce GSH_PASS_SITE_TO_##SIDE);               \
    }                                                                                            \
    GSHMEM_COLL int gshmem_prod_reduce(gshmem_team_t team, T *dest, const T *source,             \
                                       size_t nreduce GSHMEM_SITE)                               \
    {                                                                                            \
        return gshmem_##NAME##_prod_reduce(team, dest, source, nreduce GSH_PASS_SITE_TO_##SIDE); \
    }                                                                                            \
    GSHMEM_COLL int gshmem_prod_reducescatter(gshmem_team_t team, T *dest, const T *source,      \
                                              size_t nreduce GSHMEM_SITE)                        \
    {                                                                                            \
        return gshmem_##NAME##_prod_reducescatter(team, dest, source,                            \
                                                  nreduce GSH_PASS_SITE_TO_##SIDE);              \
    }
#define GSHMEM_OVERLOADS(NAME, T) GSHMEM_OVERLOADS_FOR(NAME, T, both)
GSHMEM_GENERIC_ARITH(GSHMEM_OVERLOADS)
#if defined(GSHMEM_HAS_COMPLEX)
GSHMEM_OVERLOADS_FOR(complexf, gshmem_complexf_t, host)
GSHMEM_OVERLOADS_FOR(complexd, gshmem_complexd_t, host)
#endif
#undef GSHMEM_OVERLOADS_FOR
#undef GSHMEM_OVERLOADS
#undef GSHMEM_COLL
#include "gshmem/detail/generic_complex.h"

#else

#define GSHMEM_ARM_broadcast(NAME, T) , T : gshmem_##NAME##_broadcast
#define gshmem_broadcast(team, dest, source, nelems, root) \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_RMA, \
                                 GSHMEM_ARM_broadcast)(team, dest, source, nelems, root))
#define GSHMEM_ARM_collect(NAME, T) , T : gshmem_##NAME##_collect
#define gshmem_collect(team, dest, source, nelems) \
    GSHMEM_AT_SITE(                                \
        GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_RMA, GSHMEM_ARM_collect)(team, dest, source, nelems))
#define GSHMEM_ARM_fcollect(NAME, T) , T : gshmem_##NAME##_fcollect
#define gshmem_fcollect(team, dest, source, nelems) \
    GSHMEM_AT_SITE(                                 \
        GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_RMA, GSHMEM_ARM_fcollect)(team, dest, source, nelems))
#define GSHMEM_ARM_alltoall(NAME, T) , T : gshmem_##NAME##_alltoall
#define gshmem_alltoall(team, dest, source, nelems) \
    GSHMEM_AT_SITE(                                 \
        GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_RMA, GSHMEM_ARM_alltoall)(team, dest, source, nelems))
#define GSHMEM_ARM_alltoalls(NAME, T) , T : gshmem_##NAME##_alltoalls
#define gshmem_alltoalls(team, dest, source, dst, sst, nelems) \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_RMA,     \
                                 GSHMEM_ARM_alltoalls)(team, dest, source, dst, sst, nelems))
#define GSHMEM_ARM_and_reduce(NAME, T) , T : gshmem_##NAME##_and_reduce
#define gshmem_and_reduce(team, dest, source, nreduce)       \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_LOGIC, \
                                 GSHMEM_ARM_and_reduce)(team, dest, source, nreduce))
#define GSHMEM_ARM_and_reducescatter(NAME, T) , T : gshmem_##NAME##_and_reducescatter
#define gshmem_and_reducescatter(team, dest, source, nreduce) \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_LOGIC,  \
                                 GSHMEM_ARM_and_reducescatter)(team, dest, source, nreduce))
#define GSHMEM_ARM_or_reduce(NAME, T) , T : gshmem_##NAME##_or_reduce
#define gshmem_or_reduce(team, dest, source, nreduce)        \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_LOGIC, \
                                 GSHMEM_ARM_or_reduce)(team, dest, source, nreduce))
#define GSHMEM_ARM_or_reducescatter(NAME, T) , T : gshmem_##NAME##_or_reducescatter
#define gshmem_or_reducescatter(team, dest, source, nreduce) \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_LOGIC, \
                                 GSHMEM_ARM_or_reducescatter)(team, dest, source, nreduce))
#define GSHMEM_ARM_xor_reduce(NAME, T) , T : gshmem_##NAME##_xor_reduce
#define gshmem_xor_reduce(team, dest, source, nreduce)       \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_LOGIC, \
                                 GSHMEM_ARM_xor_reduce)(team, dest, source, nreduce))
#define GSHMEM_ARM_xor_reducescatter(NAME, T) , T : gshmem_##NAME##_xor_reducescatter
#define gshmem_xor_reducescatter(team, dest, source, nreduce) \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_LOGIC,  \
                                 GSHMEM_ARM_xor_reducescatter)(team, dest, source, nreduce))
#define GSHMEM_ARM_min_reduce(NAME, T) , T : gshmem_##NAME##_min_reduce
#define gshmem_min_reduce(team, dest, source, nreduce)       \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_ARITH, \
                                 GSHMEM_ARM_min_reduce)(team, dest, source, nreduce))
#define GSHMEM_ARM_min_reducescatter(NAME, T) , T : gshmem_##NAME##_min_reducescatter
#define gshmem_min_reducescatter(team, dest, source, nreduce) \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_ARITH,  \
                                 GSHMEM_ARM_min_reducescatter)(team, dest, source, nreduce))
#define GSHMEM_ARM_max_reduce(NAME, T) , T : gshmem_##NAME##_max_reduce
#define gshmem_max_reduce(team, dest, source, nreduce)       \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_ARITH, \
                                 GSHMEM_ARM_max_reduce)(team, dest, source, nreduce))
#define GSHMEM_ARM_max_reducescatter(NAME, T) , T : gshmem_##NAME##_max_reducescatter
#define gshmem_max_reducescatter(team, dest, source, nreduce) \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_ARITH,  \
                                 GSHMEM_ARM_max_reducescatter)(team, dest, source, nreduce))
#define GSHMEM_ARM_sum_reduce(NAME, T) , T : gshmem_##NAME##_sum_reduce
#define gshmem_sum_reduce(team, dest, source, nreduce)       \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_ADDED, \
                                 GSHMEM_ARM_sum_reduce)(team, dest, source, nreduce))
#define GSHMEM_ARM_sum_reducescatter(NAME, T) , T : gshmem_##NAME##_sum_reducescatter
#define gshmem_sum_reducescatter(team, dest, source, nreduce) \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_ADDED,  \
                                 GSHMEM_ARM_sum_reducescatter)(team, dest, source, nreduce))
#define GSHMEM_ARM_prod_reduce(NAME, T) , T : gshmem_##NAME##_prod_reduce
#define gshmem_prod_reduce(team, dest, source, nreduce)      \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_ADDED, \
                                 GSHMEM_ARM_prod_reduce)(team, dest, source, nreduce))
#define GSHMEM_ARM_prod_reducescatter(NAME, T) , T : gshmem_##NAME##_prod_reducescatter
#define gshmem_prod_reducescatter(team, dest, source, nreduce) \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_ADDED,   \
                                 GSHMEM_ARM_prod_reducescatter)(team, dest, source, nreduce))
#define GSHMEM_ARM_sum_inscan(NAME, T) , T : gshmem_##NAME##_sum_inscan
#define gshmem_sum_inscan(team, dest, source, nelems)        \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_ARITH, \
                                 GSHMEM_ARM_sum_inscan)(team, dest, source, nelems))
#define GSHMEM_ARM_sum_exscan(NAME, T) , T : gshmem_##NAME##_sum_exscan
#define gshmem_sum_exscan(team, dest, source, nelems)        \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_ARITH, \
                                 GSHMEM_ARM_sum_exscan)(team, dest, source, nelems))

#endif
