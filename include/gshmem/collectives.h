/* SPDX-License-Identifier: Apache-2.0
 * Collectives (OpenSHMEM 1.5, 9.11): prototypes stamped from the type table. NAME ranges over the
 * table's names.
 *
 * Collective over the team: all members make the same calls on it in the same order, with the same
 * count (except collect), root and types. dest and source are symmetric and must not overlap unless
 * the call allows it. Calls on different teams may be under way at the same time, from other
 * streams and blocks. Calls on one team may not, unless kernels use different lanes of it.
 *
 * A member's call must meet calls of the same kind on the other members: host calls meet host calls
 * and calls on a stream; calls in kernels meet calls in kernels made by the same kind of group. In
 * a kernel these calls are made by one thread of each PE. Their forms gshmemx_..._warp, _block and
 * _grid (gshmem_device.cuh) are made by all threads of a warp, of a block, or of all blocks of a
 * collective launch, with the same arguments, and share the work among them. (Barriers differ:
 * those on a stream meet those in kernels.)
 *
 * On return, or when the stream goes on, this PE's dest is complete and its source may be changed.
 * That says nothing about other members' calls or other puts; use a barrier for those. The calls
 * return 0, or an error on all members if the team or root does not exist.
 *
 * Results have the same bits on every PE and in every run with the same team, whatever the size.
 * Elements are combined in the order of the members; in a team on several nodes first within each
 * node, then node by node (scans: where the members of each node come one after the other). half
 * and bfloat16 are added up in float and rounded once, on several nodes once more for each node. */
#ifndef GSHMEM_COLLECTIVES_H
#define GSHMEM_COLLECTIVES_H

#include "gshmem/types.h"

/* The types of complex numbers, in host code, for compilers that have C's. They have reductions by
 * sum and prod, which in C++ also take std::complex<float> and the like (complex.h). */
#if !defined(__CUDACC__) && (defined(__GNUC__) || !defined(__cplusplus))
#define GSHMEM_HAS_COMPLEX 1
#if defined(__cplusplus)
__extension__ typedef __complex__ float gshmem_complexf_t;
__extension__ typedef __complex__ double gshmem_complexd_t;
#else
__extension__ typedef float _Complex gshmem_complexf_t;
__extension__ typedef double _Complex gshmem_complexd_t;
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif
#if defined(GSHMEM_HAS_COMPLEX)
/* gshmem_NAME_OP_reduce: dest[i] on every member is the reduction of all members' source[i], for i
 * below nreduce; dest == source is allowed. gshmem_NAME_OP_reducescatter: dest[i] on member m is
 * the reduction of all members' source[m * nreduce + i]; dest may be this PE's place in source.
 *
 * OP is one of these:
 *
 *  sum, prod       all types; complexf and complexd have only these, and only in host code
 *  min, max        all types but the complex ones; NaN if any member's element is NaN, whichever
 *                  member has it
 *  and, or, xor    bitwise: uchar, ushort, uint, ulong, ulonglong, size, and the types with a width
 *                  in their names (int8 to int64, uint8 to uint64)
 */
#define COMPLEX(NAME, T, OP)                                                               \
    int gshmem_##NAME##_##OP##_reduce(gshmem_team_t team, T *dest, const T *source,        \
                                      size_t nreduce);                                     \
    int gshmem_##NAME##_##OP##_reducescatter(gshmem_team_t team, T *dest, const T *source, \
                                             size_t nreduce);
COMPLEX(complexf, gshmem_complexf_t, sum)
COMPLEX(complexf, gshmem_complexf_t, prod)
COMPLEX(complexd, gshmem_complexd_t, sum)
COMPLEX(complexd, gshmem_complexd_t, prod)
#undef COMPLEX
#endif
#ifdef __cplusplus
}
#endif

GSHMEM_HD_BEGIN

/* Copies the root's source to dest on every member. PE_root is its number in the team. dest may
 * equal source. */
int gshmem_broadcastmem(gshmem_team_t team, void *dest, const void *source, size_t bytes,
                        int PE_root);
/* Concatenates all members' sources in the order of the team. In collect each member may contribute
 * a different number of elements; in fcollect all contribute the same number. In fcollect source
 * may be this PE's place in dest. */
int gshmem_collectmem(gshmem_team_t team, void *dest, const void *source, size_t bytes);
int gshmem_fcollectmem(gshmem_team_t team, void *dest, const void *source, size_t bytes);
/* Block j of member i's source goes to block i of member j's dest. The count is the size of one
 * block, in bytes or elements. */
int gshmem_alltoallmem(gshmem_team_t team, void *dest, const void *source, size_t bytes);
/* Like alltoall, for elements (here bytes) that are dst apart in dest and sst apart in source; both
 * strides are at least 1. */
int gshmem_alltoallsmem(gshmem_team_t team, void *dest, const void *source, ptrdiff_t dst,
                        ptrdiff_t sst, size_t bytes);

/* The same by type: nelems elements instead of bytes. */
#define MOVE(NAME, T)                                                                          \
    int gshmem_##NAME##_broadcast(gshmem_team_t team, T *dest, const T *source, size_t nelems, \
                                  int PE_root);                                                \
    int gshmem_##NAME##_collect(gshmem_team_t team, T *dest, const T *source, size_t nelems);  \
    int gshmem_##NAME##_fcollect(gshmem_team_t team, T *dest, const T *source, size_t nelems); \
    int gshmem_##NAME##_alltoall(gshmem_team_t team, T *dest, const T *source, size_t nelems); \
    int gshmem_##NAME##_alltoalls(gshmem_team_t team, T *dest, const T *source, ptrdiff_t dst, \
                                  ptrdiff_t sst, size_t nelems);
GSHMEM_TYPES_RMA(MOVE)
#undef MOVE

/* As the reductions of complex numbers, for the other types. */
#define REDUCE(NAME, T, OP)                                                                \
    int gshmem_##NAME##_##OP##_reduce(gshmem_team_t team, T *dest, const T *source,        \
                                      size_t nreduce);                                     \
    int gshmem_##NAME##_##OP##_reducescatter(gshmem_team_t team, T *dest, const T *source, \
                                             size_t nreduce);
/* gshmem_NAME_sum_inscan, _exscan: dest[i] on member m is the sum of source[i] of the members
 * before m, with (in) or without (ex) m's own; dest == source is allowed. */
#define SCAN(NAME, T)                                                                            \
    int gshmem_##NAME##_sum_inscan(gshmem_team_t team, T *dest, const T *source, size_t nelems); \
    int gshmem_##NAME##_sum_exscan(gshmem_team_t team, T *dest, const T *source, size_t nelems);
#define LOGIC(NAME, T) REDUCE(NAME, T, and) REDUCE(NAME, T, or) REDUCE(NAME, T, xor)
#define ARITH(NAME, T)   \
    REDUCE(NAME, T, min) \
    REDUCE(NAME, T, max) REDUCE(NAME, T, sum) REDUCE(NAME, T, prod) SCAN(NAME, T)
GSHMEM_TYPES_LOGIC(LOGIC)
GSHMEM_TYPES_ARITH(ARITH)
#undef ARITH
#undef LOGIC
#undef SCAN
#undef REDUCE

GSHMEM_HD_END

#endif
