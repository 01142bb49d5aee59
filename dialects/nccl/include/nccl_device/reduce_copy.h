/* SPDX-License-Identifier: Apache-2.0
 * Reductions and copies by loads and stores, as parts for building kernels: from the same place on
 * all ranks of an LSA team, or from local buffers, to the same place on all, or to one buffer. A
 * group makes the call; other ranks need not. The calls do not synchronise ranks. Sources are added
 * in rank order, so all ranks get the same bits; half, bfloat16 and 8-bit floating-point numbers
 * are added in float and rounded once. UNROLL is a hint. */
#ifndef GSHMEM_NCCL_REDUCE_COPY_H
#define GSHMEM_NCCL_REDUCE_COPY_H

#include <cuda_fp8.h>
#include "coop.h"
#include "ptr.h"

namespace gshmem
{
namespace nccl
{

/* The type in which elements of Type are added. */
template <class Type> struct accumulator {
    typedef Type type;
};
template <> struct accumulator<__half> {
    typedef float type;
};
template <> struct accumulator<__nv_bfloat16> {
    typedef float type;
};
template <> struct accumulator<__nv_fp8_e4m3> {
    typedef float type;
};
template <> struct accumulator<__nv_fp8_e5m2> {
    typedef float type;
};

struct add {
    template <class Value> __device__ __forceinline__ Value operator()(Value a, Value b) const
    {
        return a + b;
    }
};

/* The widest vector of Type that one access moves. */
template <class Type, int n> struct alignas(n * sizeof(Type)) elements {
    Type at[n];
};

/* Combines element or vector i of the sources and stores it to all destinations. */
template <class Type, int n, class Sources, class Dests, class Reduce>
__device__ __forceinline__ void reduce_one(size_t i, Sources sources, int n_sources, Dests dests,
                                           int n_dests, Reduce reduce)
{
    typedef typename accumulator<Type>::type Accumulator;
    typedef elements<Type, n> Vector;
    Vector v = reinterpret_cast<const Vector *>(sources(0))[i];
    if (n_sources > 1) {
        Accumulator sum[n];
        GSHMEM_UNROLL
        for (int k = 0; k < n; k++)
            sum[k] = static_cast<Accumulator>(v.at[k]);
        for (int s = 1; s < n_sources; s++) {
            const Vector w = reinterpret_cast<const Vector *>(sources(s))[i];
            GSHMEM_UNROLL
            for (int k = 0; k < n; k++)
                sum[k] = reduce(sum[k], static_cast<Accumulator>(w.at[k]));
        }
        GSHMEM_UNROLL
        for (int k = 0; k < n; k++)
            v.at[k] = static_cast<Type>(sum[k]);
    }
    for (int d = 0; d < n_dests; d++)
        reinterpret_cast<Vector *>(dests(d))[i] = v;
}

template <class Type, class Coop, class Sources, class Dests, class Reduce>
__device__ __forceinline__ void reduce_copy(Coop coop, Sources sources, int n_sources, Dests dests,
                                            int n_dests, Reduce reduce, size_t count)
{
    constexpr int wide = sizeof(Type) < 16 ? (int)(16 / sizeof(Type)) : 1;
    uintptr_t bits = 0;
    for (int s = 0; s < n_sources; s++)
        bits |= reinterpret_cast<uintptr_t>(sources(s));
    for (int d = 0; d < n_dests; d++)
        bits |= reinterpret_cast<uintptr_t>(dests(d));
    const size_t n_vectors = bits % (wide * sizeof(Type)) == 0 ? count / wide : 0;
    const size_t first = (size_t)coop.thread_rank(), step = (size_t)coop.size();
    for (size_t i = first; i < n_vectors; i += step)
        reduce_one<Type, wide>(i, sources, n_sources, dests, n_dests, reduce);
    for (size_t i = n_vectors * wide + first; i < count; i += step)
        reduce_one<Type, 1>(i, sources, n_sources, dests, n_dests, reduce);
}

/* Buffer i: of a team's ranks in order, of several local buffers, or the only one. */
template <class Type> struct of_team {
    ncclSymPtr<Type> p;
    ncclTeam team;
    __device__ __forceinline__ Type *operator()(int i) const
    {
        return p.lsaPtr(p.window->lsa_rank + gshmem_nccl_distance(team, i));
    }
};
template <class Type> struct of_local {
    Type *base;
    size_t apart_bytes;
    __device__ __forceinline__ Type *operator()(int i) const
    {
        return reinterpret_cast<Type *>(reinterpret_cast<uintptr_t>(base) +
                                        (uintptr_t)i * apart_bytes);
    }
};

/* True for anything but a symmetric pointer: a function. */
template <class Function> struct only_function {
    typedef void type;
};
template <class Type> struct only_function<ncclSymPtr<Type>> {
};

/* Stores the sum of the sources to all destinations. */
template <class Type, class Coop, class Sources, class Dests>
__device__ __forceinline__ void sum_copy(Coop coop, Sources sources, int n_sources, Dests dests,
                                         int n_dests, size_t count)
{
    reduce_copy<Type>(coop, sources, n_sources, dests, n_dests, add(), count);
}

} // namespace nccl
} // namespace gshmem

/* ---- any layout: functions from a number to a buffer ----------------------------------------- */

template <class Type, class Coop, class Src, class Dst, class RedOp, class IntCount,
          int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLsaReduceLsaCopy(Coop coop, Src src, int nSrc, Dst dst,
                                                     int nDst, const RedOp &redOp, IntCount count)
{
    gshmem::nccl::reduce_copy<Type>(coop, src, nSrc, dst, nDst, redOp, (size_t)count);
}

template <class Type, class Coop, class Src, class Dst, class IntCount,
          int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLsaReduceSumLsaCopy(Coop coop, Src src, int nSrc, Dst dst,
                                                        int nDst, IntCount count)
{
    gshmem::nccl::sum_copy<Type>(coop, src, nSrc, dst, nDst, (size_t)count);
}

/* ---- N to 1 ---------------------------------------------------------------------------------- */

template <class Type, class Coop, class Src, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ typename gshmem::nccl::only_function<Src>::type
ncclLsaReduceSum(Coop coop, Src src, int nSrc, Type *dstPtr, IntCount count)
{
    gshmem::nccl::sum_copy<Type>(coop, src, nSrc, gshmem::nccl::of_local<Type>{dstPtr, 0}, 1,
                                 (size_t)count);
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLsaReduceSum(Coop coop, ncclSymPtr<Type> src, Type *dstPtr,
                                                 IntCount count, ncclTeam team)
{
    gshmem::nccl::sum_copy<Type>(coop, gshmem::nccl::of_team<Type>{src, team}, team.nRanks,
                                 gshmem::nccl::of_local<Type>{dstPtr, 0}, 1, (size_t)count);
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLsaReduceSum(Coop coop, ncclSymPtr<Type> src, Type *dstPtr,
                                                 IntCount count, const ncclDevComm &devComm)
{
    ncclLsaReduceSum<Type>(coop, src, dstPtr, count, ncclTeamLsa(devComm));
}

/* ends: a team or a device communicator. */
template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type), class Ends>
__device__ __forceinline__ void ncclLsaReduceSum(Coop coop, ncclWindow_t window, size_t offset,
                                                 Type *dstPtr, IntCount count, const Ends &ends)
{
    ncclLsaReduceSum<Type>(coop, ncclSymPtr<Type>(window, offset), dstPtr, count, ends);
}

template <class Type, class Coop, class Src, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLocalReduceSum(Coop coop, Src src, int nSrc, Type *dstPtr,
                                                   IntCount count)
{
    gshmem::nccl::sum_copy<Type>(coop, src, nSrc, gshmem::nccl::of_local<Type>{dstPtr, 0}, 1,
                                 (size_t)count);
}

/* Sources at basePtr + i * displ bytes. */
template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLocalReduceSum(Coop coop, int nSrc, Type *basePtr, size_t displ,
                                                   Type *dstPtr, IntCount count)
{
    gshmem::nccl::sum_copy<Type>(coop, gshmem::nccl::of_local<Type>{basePtr, displ}, nSrc,
                                 gshmem::nccl::of_local<Type>{dstPtr, 0}, 1, (size_t)count);
}

/* ---- 1 to N ---------------------------------------------------------------------------------- */

template <class Type, class Coop, class Dst, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ typename gshmem::nccl::only_function<Dst>::type
ncclLsaCopy(Coop coop, Type *srcPtr, Dst dst, int nDst, IntCount count)
{
    gshmem::nccl::sum_copy<Type>(coop, gshmem::nccl::of_local<Type>{srcPtr, 0}, 1, dst, nDst,
                                 (size_t)count);
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLsaCopy(Coop coop, Type *srcPtr, ncclSymPtr<Type> dst,
                                            IntCount count, ncclTeam team)
{
    gshmem::nccl::sum_copy<Type>(coop, gshmem::nccl::of_local<Type>{srcPtr, 0}, 1,
                                 gshmem::nccl::of_team<Type>{dst, team}, team.nRanks,
                                 (size_t)count);
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLsaCopy(Coop coop, Type *srcPtr, ncclSymPtr<Type> dst,
                                            IntCount count, const ncclDevComm &devComm)
{
    ncclLsaCopy<Type>(coop, srcPtr, dst, count, ncclTeamLsa(devComm));
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type), class Ends>
__device__ __forceinline__ void ncclLsaCopy(Coop coop, Type *srcPtr, ncclWindow_t window,
                                            size_t offset, IntCount count, const Ends &ends)
{
    ncclLsaCopy<Type>(coop, srcPtr, ncclSymPtr<Type>(window, offset), count, ends);
}

template <class Type, class Coop, class Dst, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLocalCopy(Coop coop, Type *srcPtr, Dst dst, int nDst,
                                              IntCount count)
{
    gshmem::nccl::sum_copy<Type>(coop, gshmem::nccl::of_local<Type>{srcPtr, 0}, 1, dst, nDst,
                                 (size_t)count);
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLocalCopy(Coop coop, Type *srcPtr, int nDst, Type *basePtr,
                                              size_t displ, IntCount count)
{
    gshmem::nccl::sum_copy<Type>(coop, gshmem::nccl::of_local<Type>{srcPtr, 0}, 1,
                                 gshmem::nccl::of_local<Type>{basePtr, displ}, nDst, (size_t)count);
}

/* ---- N to N ---------------------------------------------------------------------------------- */

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLsaReduceSumCopy(Coop coop, ncclSymPtr<Type> src,
                                                     ncclTeam srcTeam, ncclSymPtr<Type> dst,
                                                     ncclTeam dstTeam, IntCount count)
{
    gshmem::nccl::sum_copy<Type>(coop, gshmem::nccl::of_team<Type>{src, srcTeam}, srcTeam.nRanks,
                                 gshmem::nccl::of_team<Type>{dst, dstTeam}, dstTeam.nRanks,
                                 (size_t)count);
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLsaReduceSumCopy(Coop coop, ncclSymPtr<Type> src,
                                                     ncclSymPtr<Type> dst, IntCount count,
                                                     ncclTeam team)
{
    gshmem::nccl::sum_copy<Type>(coop, gshmem::nccl::of_team<Type>{src, team}, team.nRanks,
                                 gshmem::nccl::of_team<Type>{dst, team}, team.nRanks,
                                 (size_t)count);
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLsaReduceSumCopy(Coop coop, ncclSymPtr<Type> src,
                                                     ncclSymPtr<Type> dst, IntCount count,
                                                     const ncclDevComm &devComm)
{
    ncclLsaReduceSumCopy<Type>(coop, src, dst, count, ncclTeamLsa(devComm));
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type), class Ends>
__device__ __forceinline__ void
ncclLsaReduceSumCopy(Coop coop, ncclWindow_t srcWindow, size_t srcOffset, ncclWindow_t dstWindow,
                     size_t dstOffset, IntCount count, const Ends &ends)
{
    ncclLsaReduceSumCopy<Type>(coop, ncclSymPtr<Type>(srcWindow, srcOffset),
                               ncclSymPtr<Type>(dstWindow, dstOffset), count, ends);
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLocalReduceSumCopy(Coop coop, int nSrc, Type *srcBasePtr,
                                                       size_t srcDispl, int nDst, Type *dstBasePtr,
                                                       size_t dstDispl, IntCount count)
{
    gshmem::nccl::sum_copy<Type>(coop, gshmem::nccl::of_local<Type>{srcBasePtr, srcDispl}, nSrc,
                                 gshmem::nccl::of_local<Type>{dstBasePtr, dstDispl}, nDst,
                                 (size_t)count);
}

#endif
