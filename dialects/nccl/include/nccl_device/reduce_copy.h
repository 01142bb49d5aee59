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

/* The type in which elements of T are added. */
template <class T> struct accumulator {
    typedef T type;
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
    template <class A> __device__ __forceinline__ A operator()(A a, A b) const { return a + b; }
};

/* The widest vector of T that one access moves. */
template <class T, int n> struct alignas(n * sizeof(T)) elements {
    T at[n];
};

/* Combines element or vector i of the sources and stores it to all destinations. */
template <class T, int n, class Sources, class Dests, class Reduce>
__device__ __forceinline__ void reduce_one(size_t i, Sources sources, int n_sources, Dests dests,
                                           int n_dests, Reduce reduce)
{
    typedef typename accumulator<T>::type A;
    typedef elements<T, n> V;
    V v = reinterpret_cast<const V *>(sources(0))[i];
    if (n_sources > 1) {
        A sum[n];
        GSHMEM_UNROLL
        for (int k = 0; k < n; k++)
            sum[k] = static_cast<A>(v.at[k]);
        for (int s = 1; s < n_sources; s++) {
            const V w = reinterpret_cast<const V *>(sources(s))[i];
            GSHMEM_UNROLL
            for (int k = 0; k < n; k++)
                sum[k] = reduce(sum[k], static_cast<A>(w.at[k]));
        }
        GSHMEM_UNROLL
        for (int k = 0; k < n; k++)
            v.at[k] = static_cast<T>(sum[k]);
    }
    for (int d = 0; d < n_dests; d++)
        reinterpret_cast<V *>(dests(d))[i] = v;
}

template <class T, class Coop, class Sources, class Dests, class Reduce>
__device__ __forceinline__ void reduce_copy(Coop coop, Sources sources, int n_sources, Dests dests,
                                            int n_dests, Reduce reduce, size_t count)
{
    constexpr int wide = sizeof(T) < 16 ? (int)(16 / sizeof(T)) : 1;
    uintptr_t bits = 0;
    for (int s = 0; s < n_sources; s++)
        bits |= reinterpret_cast<uintptr_t>(sources(s));
    for (int d = 0; d < n_dests; d++)
        bits |= reinterpret_cast<uintptr_t>(dests(d));
    const size_t n_vectors = bits % (wide * sizeof(T)) == 0 ? count / wide : 0;
    const size_t first = (size_t)coop.thread_rank(), step = (size_t)coop.size();
    for (size_t i = first; i < n_vectors; i += step)
        reduce_one<T, wide>(i, sources, n_sources, dests, n_dests, reduce);
    for (size_t i = n_vectors * wide + first; i < count; i += step)
        reduce_one<T, 1>(i, sources, n_sources, dests, n_dests, reduce);
}

/* Buffer i: of a team's ranks in order, of several local buffers, or the only one. */
template <class T> struct of_team {
    ncclSymPtr<T> p;
    ncclTeam team;
    __device__ __forceinline__ T *operator()(int i) const
    {
        return p.lsaPtr(p.window->lsa_rank + gshmem_nccl_distance(team, i));
    }
};
template <class T> struct of_local {
    T *base;
    size_t apart_bytes;
    __device__ __forceinline__ T *operator()(int i) const
    {
        return reinterpret_cast<T *>(reinterpret_cast<uintptr_t>(base) +
                                     (uintptr_t)i * apart_bytes);
    }
};

/* True for anything but a symmetric pointer: a function. */
template <class F> struct only_function {
    typedef void type;
};
template <class T> struct only_function<ncclSymPtr<T>> {
};

/* Stores the sum of the sources to all destinations. */
template <class T, class Coop, class Sources, class Dests>
__device__ __forceinline__ void sum_copy(Coop coop, Sources sources, int n_sources, Dests dests,
                                         int n_dests, size_t count)
{
    reduce_copy<T>(coop, sources, n_sources, dests, n_dests, add(), count);
}

} // namespace nccl
} // namespace gshmem

/* ---- any layout: functions from a number to a buffer ----------------------------------------- */

template <class T, class Coop, class Src, class Dst, class RedOp, class IntCount,
          int UNROLL = 4 * 16 / sizeof(T)>
__device__ __forceinline__ void ncclLsaReduceLsaCopy(Coop coop, Src src, int nSrc, Dst dst,
                                                     int nDst, const RedOp &redOp, IntCount count)
{
    gshmem::nccl::reduce_copy<T>(coop, src, nSrc, dst, nDst, redOp, (size_t)count);
}

template <class T, class Coop, class Src, class Dst, class IntCount,
          int UNROLL = 4 * 16 / sizeof(T)>
__device__ __forceinline__ void ncclLsaReduceSumLsaCopy(Coop coop, Src src, int nSrc, Dst dst,
                                                        int nDst, IntCount count)
{
    gshmem::nccl::sum_copy<T>(coop, src, nSrc, dst, nDst, (size_t)count);
}

/* ---- N to 1 ---------------------------------------------------------------------------------- */

template <class T, class Coop, class Src, class IntCount, int UNROLL = 4 * 16 / sizeof(T)>
__device__ __forceinline__ typename gshmem::nccl::only_function<Src>::type
ncclLsaReduceSum(Coop coop, Src src, int nSrc, T *dstPtr, IntCount count)
{
    gshmem::nccl::sum_copy<T>(coop, src, nSrc, gshmem::nccl::of_local<T>{dstPtr, 0}, 1,
                              (size_t)count);
}

template <class T, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(T)>
__device__ __forceinline__ void ncclLsaReduceSum(Coop coop, ncclSymPtr<T> src, T *dstPtr,
                                                 IntCount count, ncclTeam team)
{
    gshmem::nccl::sum_copy<T>(coop, gshmem::nccl::of_team<T>{src, team}, team.nRanks,
                              gshmem::nccl::of_local<T>{dstPtr, 0}, 1, (size_t)count);
}

template <class T, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(T)>
__device__ __forceinline__ void ncclLsaReduceSum(Coop coop, ncclSymPtr<T> src, T *dstPtr,
                                                 IntCount count, const ncclDevComm &devComm)
{
    ncclLsaReduceSum<T>(coop, src, dstPtr, count, ncclTeamLsa(devComm));
}

/* ends: a team or a device communicator. */
template <class T, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(T), class Ends>
__device__ __forceinline__ void ncclLsaReduceSum(Coop coop, ncclWindow_t window, size_t offset,
                                                 T *dstPtr, IntCount count, const Ends &ends)
{
    ncclLsaReduceSum<T>(coop, ncclSymPtr<T>(window, offset), dstPtr, count, ends);
}

template <class T, class Coop, class Src, class IntCount, int UNROLL = 4 * 16 / sizeof(T)>
__device__ __forceinline__ void ncclLocalReduceSum(Coop coop, Src src, int nSrc, T *dstPtr,
                                                   IntCount count)
{
    gshmem::nccl::sum_copy<T>(coop, src, nSrc, gshmem::nccl::of_local<T>{dstPtr, 0}, 1,
                              (size_t)count);
}

/* Sources at basePtr + i * displ bytes. */
template <class T, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(T)>
__device__ __forceinline__ void ncclLocalReduceSum(Coop coop, int nSrc, T *basePtr, size_t displ,
                                                   T *dstPtr, IntCount count)
{
    gshmem::nccl::sum_copy<T>(coop, gshmem::nccl::of_local<T>{basePtr, displ}, nSrc,
                              gshmem::nccl::of_local<T>{dstPtr, 0}, 1, (size_t)count);
}

/* ---- 1 to N ---------------------------------------------------------------------------------- */

template <class T, class Coop, class Dst, class IntCount, int UNROLL = 4 * 16 / sizeof(T)>
__device__ __forceinline__ typename gshmem::nccl::only_function<Dst>::type
ncclLsaCopy(Coop coop, T *srcPtr, Dst dst, int nDst, IntCount count)
{
    gshmem::nccl::sum_copy<T>(coop, gshmem::nccl::of_local<T>{srcPtr, 0}, 1, dst, nDst,
                              (size_t)count);
}

template <class T, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(T)>
__device__ __forceinline__ void ncclLsaCopy(Coop coop, T *srcPtr, ncclSymPtr<T> dst, IntCount count,
                                            ncclTeam team)
{
    gshmem::nccl::sum_copy<T>(coop, gshmem::nccl::of_local<T>{srcPtr, 0}, 1,
                              gshmem::nccl::of_team<T>{dst, team}, team.nRanks, (size_t)count);
}

template <class T, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(T)>
__device__ __forceinline__ void ncclLsaCopy(Coop coop, T *srcPtr, ncclSymPtr<T> dst, IntCount count,
                                            const ncclDevComm &devComm)
{
    ncclLsaCopy<T>(coop, srcPtr, dst, count, ncclTeamLsa(devComm));
}

template <class T, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(T), class Ends>
__device__ __forceinline__ void ncclLsaCopy(Coop coop, T *srcPtr, ncclWindow_t window,
                                            size_t offset, IntCount count, const Ends &ends)
{
    ncclLsaCopy<T>(coop, srcPtr, ncclSymPtr<T>(window, offset), count, ends);
}

template <class T, class Coop, class Dst, class IntCount, int UNROLL = 4 * 16 / sizeof(T)>
__device__ __forceinline__ void ncclLocalCopy(Coop coop, T *srcPtr, Dst dst, int nDst,
                                              IntCount count)
{
    gshmem::nccl::sum_copy<T>(coop, gshmem::nccl::of_local<T>{srcPtr, 0}, 1, dst, nDst,
                              (size_t)count);
}

template <class T, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(T)>
__device__ __forceinline__ void ncclLocalCopy(Coop coop, T *srcPtr, int nDst, T *basePtr,
                                              size_t displ, IntCount count)
{
    gshmem::nccl::sum_copy<T>(coop, gshmem::nccl::of_local<T>{srcPtr, 0}, 1,
                              gshmem::nccl::of_local<T>{basePtr, displ}, nDst, (size_t)count);
}

/* ---- N to N ---------------------------------------------------------------------------------- */

template <class T, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(T)>
__device__ __forceinline__ void ncclLsaReduceSumCopy(Coop coop, ncclSymPtr<T> src, ncclTeam srcTeam,
                                                     ncclSymPtr<T> dst, ncclTeam dstTeam,
                                                     IntCount count)
{
    gshmem::nccl::sum_copy<T>(coop, gshmem::nccl::of_team<T>{src, srcTeam}, srcTeam.nRanks,
                              gshmem::nccl::of_team<T>{dst, dstTeam}, dstTeam.nRanks,
                              (size_t)count);
}

template <class T, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(T)>
__device__ __forceinline__ void
ncclLsaReduceSumCopy(Coop coop, ncclSymPtr<T> src, ncclSymPtr<T> dst, IntCount count, ncclTeam team)
{
    gshmem::nccl::sum_copy<T>(coop, gshmem::nccl::of_team<T>{src, team}, team.nRanks,
                              gshmem::nccl::of_team<T>{dst, team}, team.nRanks, (size_t)count);
}

template <class T, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(T)>
__device__ __forceinline__ void ncclLsaReduceSumCopy(Coop coop, ncclSymPtr<T> src,
                                                     ncclSymPtr<T> dst, IntCount count,
                                                     const ncclDevComm &devComm)
{
    ncclLsaReduceSumCopy<T>(coop, src, dst, count, ncclTeamLsa(devComm));
}

template <class T, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(T), class Ends>
__device__ __forceinline__ void
ncclLsaReduceSumCopy(Coop coop, ncclWindow_t srcWindow, size_t srcOffset, ncclWindow_t dstWindow,
                     size_t dstOffset, IntCount count, const Ends &ends)
{
    ncclLsaReduceSumCopy<T>(coop, ncclSymPtr<T>(srcWindow, srcOffset),
                            ncclSymPtr<T>(dstWindow, dstOffset), count, ends);
}

template <class T, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(T)>
__device__ __forceinline__ void ncclLocalReduceSumCopy(Coop coop, int nSrc, T *srcBasePtr,
                                                       size_t srcDispl, int nDst, T *dstBasePtr,
                                                       size_t dstDispl, IntCount count)
{
    gshmem::nccl::sum_copy<T>(coop, gshmem::nccl::of_local<T>{srcBasePtr, srcDispl}, nSrc,
                              gshmem::nccl::of_local<T>{dstBasePtr, dstDispl}, nDst, (size_t)count);
}

#endif
