/* SPDX-License-Identifier: Apache-2.0
 * The C names of the collectives in kernels, stamped from the type table: the thread forms, which
 * have their host forms' names, and then
 *     gshmemx_NAME_{broadcast,collect,fcollect,alltoall,alltoalls}_{warp,block,grid}
 *     gshmemx_NAME_{and,or,xor,min,max,sum,prod}_{reduce,reducescatter}_{warp,block,grid}
 *     gshmemx_NAME_sum_{inscan,exscan}_{warp,block,grid}
 * and the mem forms; grid is all blocks of a collective launch. Contracts:
 * gshmem/collectives.h, and for groups device/coll/coll.cuh. Included by api.cuh. */

/* ---- data that only move -----------------------------------------------------------------------
 */

#define GSHMEM_MEM(CALL)                                                                        \
    GSHMEM_LAZY GSHMEM_HD int gshmem_##CALL##mem(gshmem_team_t team, void *dest,                \
                                                 const void *source, size_t bytes GSHMEM_SITE)  \
    {                                                                                           \
        return GSHMEM_EITHER(CALL##mem(GSHMEM_HERE, gshmem::group_thread(), team, dest, source, \
                                       bytes, 0, "gshmem_" #CALL "mem"),                        \
                             gshmem_##CALL##mem(team, dest, source, bytes));                    \
    }
GSHMEM_MEM(collect)
GSHMEM_MEM(fcollect)
GSHMEM_MEM(alltoall)
#undef GSHMEM_MEM

GSHMEM_LAZY GSHMEM_HD int gshmem_broadcastmem(gshmem_team_t team, void *dest, const void *source,
                                              size_t bytes, int PE_root GSHMEM_SITE)
{
    return GSHMEM_EITHER(broadcastmem(GSHMEM_HERE, gshmem::group_thread(), team, dest, source,
                                      bytes, PE_root, 0, "gshmem_broadcastmem"),
                         gshmem_broadcastmem(team, dest, source, bytes, PE_root));
}

GSHMEM_LAZY GSHMEM_HD int gshmem_alltoallsmem(gshmem_team_t team, void *dest, const void *source,
                                              ptrdiff_t dst, ptrdiff_t sst,
                                              size_t bytes GSHMEM_SITE)
{
    return GSHMEM_EITHER(
        alltoalls(GSHMEM_HERE, gshmem::group_thread(), team, static_cast<uint8_t *>(dest),
                  static_cast<const uint8_t *>(source), dst, sst, bytes, 0, "gshmem_alltoallsmem"),
        gshmem_alltoallsmem(team, dest, source, dst, sst, bytes));
}

#define GSHMEM_MOVE(NAME, T)                                                                       \
    GSHMEM_LAZY GSHMEM_HD int gshmem_##NAME##_broadcast(                                           \
        gshmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root GSHMEM_SITE)      \
    {                                                                                              \
        return GSHMEM_EITHER(broadcastmem(GSHMEM_HERE, gshmem::group_thread(), team, dest, source, \
                                          nelems * sizeof(T), PE_root, 0,                          \
                                          "gshmem_" #NAME "_broadcast",                            \
                                          gshmem::detail::element_of<T>::is),                      \
                             gshmem_##NAME##_broadcast(team, dest, source, nelems, PE_root));      \
    }                                                                                              \
    GSHMEM_LAZY GSHMEM_HD int gshmem_##NAME##_collect(gshmem_team_t team, T *dest,                 \
                                                      const T *source, size_t nelems GSHMEM_SITE)  \
    {                                                                                              \
        return GSHMEM_EITHER(collectmem(GSHMEM_HERE, gshmem::group_thread(), team, dest, source,   \
                                        nelems * sizeof(T), 0, "gshmem_" #NAME "_collect",         \
                                        gshmem::detail::element_of<T>::is),                        \
                             gshmem_##NAME##_collect(team, dest, source, nelems));                 \
    }                                                                                              \
    GSHMEM_LAZY GSHMEM_HD int gshmem_##NAME##_fcollect(gshmem_team_t team, T *dest,                \
                                                       const T *source, size_t nelems GSHMEM_SITE) \
    {                                                                                              \
        return GSHMEM_EITHER(fcollectmem(GSHMEM_HERE, gshmem::group_thread(), team, dest, source,  \
                                         nelems * sizeof(T), 0, "gshmem_" #NAME "_fcollect",       \
                                         gshmem::detail::element_of<T>::is),                       \
                             gshmem_##NAME##_fcollect(team, dest, source, nelems));                \
    }                                                                                              \
    GSHMEM_LAZY GSHMEM_HD int gshmem_##NAME##_alltoall(gshmem_team_t team, T *dest,                \
                                                       const T *source, size_t nelems GSHMEM_SITE) \
    {                                                                                              \
        return GSHMEM_EITHER(alltoallmem(GSHMEM_HERE, gshmem::group_thread(), team, dest, source,  \
                                         nelems * sizeof(T), 0, "gshmem_" #NAME "_alltoall",       \
                                         gshmem::detail::element_of<T>::is),                       \
                             gshmem_##NAME##_alltoall(team, dest, source, nelems));                \
    }                                                                                              \
    GSHMEM_LAZY GSHMEM_HD int gshmem_##NAME##_alltoalls(gshmem_team_t team, T *dest,               \
                                                        const T *source, ptrdiff_t dst,            \
                                                        ptrdiff_t sst, size_t nelems GSHMEM_SITE)  \
    {                                                                                              \
        return GSHMEM_EITHER(alltoalls(GSHMEM_HERE, gshmem::group_thread(), team, dest, source,    \
                                       dst, sst, nelems, 0, "gshmem_" #NAME "_alltoalls"),         \
                             gshmem_##NAME##_alltoalls(team, dest, source, dst, sst, nelems));     \
    }
GSHMEM_TYPES_RMA(GSHMEM_MOVE)
#undef GSHMEM_MOVE

/* ---- reductions and scans ----------------------------------------------------------------------
 */

#define GSHMEM_OP(NAME, T, OP)                                                                     \
    GSHMEM_LAZY GSHMEM_HD int gshmem_##NAME##_##OP##_reduce(                                       \
        gshmem_team_t team, T *dest, const T *source, size_t nreduce GSHMEM_SITE)                  \
    {                                                                                              \
        return GSHMEM_EITHER(reduce<gshmem::op_##OP>(GSHMEM_HERE, gshmem::group_thread(), team,    \
                                                     dest, source, nreduce, 0,                     \
                                                     "gshmem_" #NAME "_" #OP "_reduce"),           \
                             gshmem_##NAME##_##OP##_reduce(team, dest, source, nreduce));          \
    }                                                                                              \
    GSHMEM_LAZY GSHMEM_HD int gshmem_##NAME##_##OP##_reducescatter(                                \
        gshmem_team_t team, T *dest, const T *source, size_t nreduce GSHMEM_SITE)                  \
    {                                                                                              \
        return GSHMEM_EITHER(reducescatter<gshmem::op_##OP>(                                       \
                                 GSHMEM_HERE, gshmem::group_thread(), team, dest, source, nreduce, \
                                 0, "gshmem_" #NAME "_" #OP "_reducescatter"),                     \
                             gshmem_##NAME##_##OP##_reducescatter(team, dest, source, nreduce));   \
    }
#define GSHMEM_LOGIC(NAME, T) \
    GSHMEM_OP(NAME, T, and)   \
    GSHMEM_OP(NAME, T, or)    \
    GSHMEM_OP(NAME, T, xor)
#define GSHMEM_ARITH(NAME, T) \
    GSHMEM_OP(NAME, T, min)   \
    GSHMEM_OP(NAME, T, max)   \
    GSHMEM_OP(NAME, T, sum)   \
    GSHMEM_OP(NAME, T, prod)
GSHMEM_TYPES_LOGIC(GSHMEM_LOGIC)
GSHMEM_TYPES_ARITH(GSHMEM_ARITH)
#undef GSHMEM_OP

#define GSHMEM_SCANS(NAME, T)                                                                     \
    GSHMEM_LAZY GSHMEM_HD int gshmem_##NAME##_sum_inscan(                                         \
        gshmem_team_t team, T *dest, const T *source, size_t nelems GSHMEM_SITE)                  \
    {                                                                                             \
        return GSHMEM_EITHER(scan<true>(GSHMEM_HERE, gshmem::group_thread(), team, dest, source,  \
                                        nelems, 0, "gshmem_" #NAME "_sum_inscan"),                \
                             gshmem_##NAME##_sum_inscan(team, dest, source, nelems));             \
    }                                                                                             \
    GSHMEM_LAZY GSHMEM_HD int gshmem_##NAME##_sum_exscan(                                         \
        gshmem_team_t team, T *dest, const T *source, size_t nelems GSHMEM_SITE)                  \
    {                                                                                             \
        return GSHMEM_EITHER(scan<false>(GSHMEM_HERE, gshmem::group_thread(), team, dest, source, \
                                         nelems, 0, "gshmem_" #NAME "_sum_exscan"),               \
                             gshmem_##NAME##_sum_exscan(team, dest, source, nelems));             \
    }
GSHMEM_TYPES_ARITH(GSHMEM_SCANS)
#undef GSHMEM_SCANS

/* ---- for a warp, a block, a grid ---------------------------------------------------------------
 */

#define GSHMEM_MEM(GROUP)                                                                          \
    GSHMEM_LAZY GSHMEM_D int gshmemx_broadcastmem_##GROUP(                                         \
        gshmem_team_t team, void *dest, const void *source, size_t bytes, int PE_root GSHMEM_SITE) \
    {                                                                                              \
        return gshmem::broadcastmem(GSHMEM_HERE, gshmem::group_##GROUP(), team, dest, source,      \
                                    bytes, PE_root, 0, "gshmemx_broadcastmem_" #GROUP);            \
    }                                                                                              \
    GSHMEM_LAZY GSHMEM_D int gshmemx_collectmem_##GROUP(                                           \
        gshmem_team_t team, void *dest, const void *source, size_t bytes GSHMEM_SITE)              \
    {                                                                                              \
        return gshmem::collectmem(GSHMEM_HERE, gshmem::group_##GROUP(), team, dest, source, bytes, \
                                  0, "gshmemx_collectmem_" #GROUP);                                \
    }                                                                                              \
    GSHMEM_LAZY GSHMEM_D int gshmemx_fcollectmem_##GROUP(                                          \
        gshmem_team_t team, void *dest, const void *source, size_t bytes GSHMEM_SITE)              \
    {                                                                                              \
        return gshmem::fcollectmem(GSHMEM_HERE, gshmem::group_##GROUP(), team, dest, source,       \
                                   bytes, 0, "gshmemx_fcollectmem_" #GROUP);                       \
    }                                                                                              \
    GSHMEM_LAZY GSHMEM_D int gshmemx_alltoallmem_##GROUP(                                          \
        gshmem_team_t team, void *dest, const void *source, size_t bytes GSHMEM_SITE)              \
    {                                                                                              \
        return gshmem::alltoallmem(GSHMEM_HERE, gshmem::group_##GROUP(), team, dest, source,       \
                                   bytes, 0, "gshmemx_alltoallmem_" #GROUP);                       \
    }                                                                                              \
    GSHMEM_LAZY GSHMEM_D int gshmemx_alltoallsmem_##GROUP(gshmem_team_t team, void *dest,          \
                                                          const void *source, ptrdiff_t dst,       \
                                                          ptrdiff_t sst, size_t bytes GSHMEM_SITE) \
    {                                                                                              \
        return gshmem::alltoalls(GSHMEM_HERE, gshmem::group_##GROUP(), team,                       \
                                 static_cast<uint8_t *>(dest),                                     \
                                 static_cast<const uint8_t *>(source), dst, sst, bytes, 0,         \
                                 "gshmemx_alltoallsmem_" #GROUP);                                  \
    }
GSHMEM_MEM(warp)
GSHMEM_MEM(block)
GSHMEM_MEM(grid)
#undef GSHMEM_MEM

#define GSHMEM_MOVE_BY(NAME, T, GROUP)                                                             \
    GSHMEM_LAZY GSHMEM_D int gshmemx_##NAME##_broadcast_##GROUP(                                   \
        gshmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root GSHMEM_SITE)      \
    {                                                                                              \
        return gshmem::broadcastmem(                                                               \
            GSHMEM_HERE, gshmem::group_##GROUP(), team, dest, source, nelems * sizeof(T), PE_root, \
            0, "gshmemx_" #NAME "_broadcast_" #GROUP, gshmem::detail::element_of<T>::is);          \
    }                                                                                              \
    GSHMEM_LAZY GSHMEM_D int gshmemx_##NAME##_collect_##GROUP(                                     \
        gshmem_team_t team, T *dest, const T *source, size_t nelems GSHMEM_SITE)                   \
    {                                                                                              \
        return gshmem::collectmem(GSHMEM_HERE, gshmem::group_##GROUP(), team, dest, source,        \
                                  nelems * sizeof(T), 0, "gshmemx_" #NAME "_collect_" #GROUP,      \
                                  gshmem::detail::element_of<T>::is);                              \
    }                                                                                              \
    GSHMEM_LAZY GSHMEM_D int gshmemx_##NAME##_fcollect_##GROUP(                                    \
        gshmem_team_t team, T *dest, const T *source, size_t nelems GSHMEM_SITE)                   \
    {                                                                                              \
        return gshmem::fcollectmem(GSHMEM_HERE, gshmem::group_##GROUP(), team, dest, source,       \
                                   nelems * sizeof(T), 0, "gshmemx_" #NAME "_fcollect_" #GROUP,    \
                                   gshmem::detail::element_of<T>::is);                             \
    }                                                                                              \
    GSHMEM_LAZY GSHMEM_D int gshmemx_##NAME##_alltoall_##GROUP(                                    \
        gshmem_team_t team, T *dest, const T *source, size_t nelems GSHMEM_SITE)                   \
    {                                                                                              \
        return gshmem::alltoallmem(GSHMEM_HERE, gshmem::group_##GROUP(), team, dest, source,       \
                                   nelems * sizeof(T), 0, "gshmemx_" #NAME "_alltoall_" #GROUP,    \
                                   gshmem::detail::element_of<T>::is);                             \
    }                                                                                              \
    GSHMEM_LAZY GSHMEM_D int gshmemx_##NAME##_alltoalls_##GROUP(                                   \
        gshmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,                \
        size_t nelems GSHMEM_SITE)                                                                 \
    {                                                                                              \
        return gshmem::alltoalls(GSHMEM_HERE, gshmem::group_##GROUP(), team, dest, source, dst,    \
                                 sst, nelems, 0, "gshmemx_" #NAME "_alltoalls_" #GROUP);           \
    }
#define GSHMEM_OP_BY(NAME, T, GROUP, OP)                                                         \
    GSHMEM_LAZY GSHMEM_D int gshmemx_##NAME##_##OP##_reduce_##GROUP(                             \
        gshmem_team_t team, T *dest, const T *source, size_t nreduce GSHMEM_SITE)                \
    {                                                                                            \
        return gshmem::reduce<gshmem::op_##OP>(GSHMEM_HERE, gshmem::group_##GROUP(), team, dest, \
                                               source, nreduce, 0,                               \
                                               "gshmemx_" #NAME "_" #OP "_reduce_" #GROUP);      \
    }                                                                                            \
    GSHMEM_LAZY GSHMEM_D int gshmemx_##NAME##_##OP##_reducescatter_##GROUP(                      \
        gshmem_team_t team, T *dest, const T *source, size_t nreduce GSHMEM_SITE)                \
    {                                                                                            \
        return gshmem::reducescatter<gshmem::op_##OP>(                                           \
            GSHMEM_HERE, gshmem::group_##GROUP(), team, dest, source, nreduce, 0,                \
            "gshmemx_" #NAME "_" #OP "_reducescatter_" #GROUP);                                  \
    }
#define GSHMEM_LOGIC_BY(NAME, T, GROUP) \
    GSHMEM_OP_BY(NAME, T, GROUP, and)   \
    GSHMEM_OP_BY(NAME, T, GROUP, or)    \
    GSHMEM_OP_BY(NAME, T, GROUP, xor)
#define GSHMEM_ARITH_BY(NAME, T, GROUP)                                                      \
    GSHMEM_OP_BY(NAME, T, GROUP, min)                                                        \
    GSHMEM_OP_BY(NAME, T, GROUP, max)                                                        \
    GSHMEM_OP_BY(NAME, T, GROUP, sum)                                                        \
    GSHMEM_OP_BY(NAME, T, GROUP, prod)                                                       \
    GSHMEM_LAZY GSHMEM_D int gshmemx_##NAME##_sum_inscan_##GROUP(                            \
        gshmem_team_t team, T *dest, const T *source, size_t nelems GSHMEM_SITE)             \
    {                                                                                        \
        return gshmem::scan<true>(GSHMEM_HERE, gshmem::group_##GROUP(), team, dest, source,  \
                                  nelems, 0, "gshmemx_" #NAME "_sum_inscan_" #GROUP);        \
    }                                                                                        \
    GSHMEM_LAZY GSHMEM_D int gshmemx_##NAME##_sum_exscan_##GROUP(                            \
        gshmem_team_t team, T *dest, const T *source, size_t nelems GSHMEM_SITE)             \
    {                                                                                        \
        return gshmem::scan<false>(GSHMEM_HERE, gshmem::group_##GROUP(), team, dest, source, \
                                   nelems, 0, "gshmemx_" #NAME "_sum_exscan_" #GROUP);       \
    }

#define GSHMEM_MOVE(NAME, T)       \
    GSHMEM_MOVE_BY(NAME, T, warp)  \
    GSHMEM_MOVE_BY(NAME, T, block) \
    GSHMEM_MOVE_BY(NAME, T, grid)
GSHMEM_TYPES_RMA(GSHMEM_MOVE)
#undef GSHMEM_MOVE
#undef GSHMEM_LOGIC
#undef GSHMEM_ARITH
#define GSHMEM_LOGIC(NAME, T)       \
    GSHMEM_LOGIC_BY(NAME, T, warp)  \
    GSHMEM_LOGIC_BY(NAME, T, block) \
    GSHMEM_LOGIC_BY(NAME, T, grid)
#define GSHMEM_ARITH(NAME, T)       \
    GSHMEM_ARITH_BY(NAME, T, warp)  \
    GSHMEM_ARITH_BY(NAME, T, block) \
    GSHMEM_ARITH_BY(NAME, T, grid)
GSHMEM_TYPES_LOGIC(GSHMEM_LOGIC)
GSHMEM_TYPES_ARITH(GSHMEM_ARITH)
#undef GSHMEM_LOGIC
#undef GSHMEM_ARITH
#undef GSHMEM_LOGIC_BY
#undef GSHMEM_ARITH_BY
#undef GSHMEM_OP_BY
#undef GSHMEM_MOVE_BY
