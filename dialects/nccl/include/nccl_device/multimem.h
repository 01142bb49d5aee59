/* SPDX-License-Identifier: Apache-2.0
 * The names of reductions and copies by multicast memory, which is not supported:
 * ncclCommQueryProperties says so, and a kernel that makes such a call ends with a message. */
#ifndef GSHMEM_NCCL_MULTIMEM_H
#define GSHMEM_NCCL_MULTIMEM_H

#include "ptr.h"

namespace gshmem
{
namespace nccl
{

__device__ __noinline__ inline void no_multimem(const char *call)
{
#if defined(__CUDACC__)
    __assert_fail("multimem is supported", "nccl_device/multimem.h", __LINE__, call);
#else
    fprintf(stderr, "gshmem: error: %s: multimem is not supported\n", call);
    gshmem_global_exit(1);
#endif
}

} // namespace nccl
} // namespace gshmem

/* ---- N to 1 ---- */

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclMultimemReduceSum(Coop, ncclSymPtr<Type>, Type *, IntCount,
                                                      ncclMultimemHandle)
{
    gshmem::nccl::no_multimem("ncclMultimemReduceSum");
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclMultimemReduceSum(Coop, Type *, Type *, IntCount)
{
    gshmem::nccl::no_multimem("ncclMultimemReduceSum");
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclMultimemReduceSum(Coop, ncclWindow_t, size_t, Type *, IntCount,
                                                      ncclMultimemHandle)
{
    gshmem::nccl::no_multimem("ncclMultimemReduceSum");
}

/* ---- 1 to N ---- */

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclMultimemCopy(Coop, Type *, ncclSymPtr<Type>, IntCount,
                                                 ncclMultimemHandle)
{
    gshmem::nccl::no_multimem("ncclMultimemCopy");
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclMultimemCopy(Coop, Type *, Type *, IntCount)
{
    gshmem::nccl::no_multimem("ncclMultimemCopy");
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclMultimemCopy(Coop, Type *, ncclWindow_t, size_t, IntCount,
                                                 ncclMultimemHandle)
{
    gshmem::nccl::no_multimem("ncclMultimemCopy");
}

/* ---- N to N ---- */

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclMultimemReduceSumCopy(Coop, ncclSymPtr<Type>,
                                                          ncclMultimemHandle, ncclSymPtr<Type>,
                                                          ncclMultimemHandle, IntCount)
{
    gshmem::nccl::no_multimem("ncclMultimemReduceSumCopy");
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclMultimemReduceSumCopy(Coop, Type *, Type *, IntCount)
{
    gshmem::nccl::no_multimem("ncclMultimemReduceSumCopy");
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclMultimemReduceSumCopy(Coop, ncclWindow_t, size_t,
                                                          ncclMultimemHandle, ncclWindow_t, size_t,
                                                          ncclMultimemHandle, IntCount)
{
    gshmem::nccl::no_multimem("ncclMultimemReduceSumCopy");
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLsaReduceSumMultimemCopy(Coop, ncclSymPtr<Type>, ncclTeam,
                                                             ncclSymPtr<Type>, ncclMultimemHandle,
                                                             IntCount)
{
    gshmem::nccl::no_multimem("ncclLsaReduceSumMultimemCopy");
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLsaReduceSumMultimemCopy(Coop, ncclSymPtr<Type>, ncclTeam,
                                                             Type *, IntCount)
{
    gshmem::nccl::no_multimem("ncclLsaReduceSumMultimemCopy");
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclMultimemReduceSumLsaCopy(Coop, ncclSymPtr<Type>,
                                                             ncclMultimemHandle, ncclSymPtr<Type>,
                                                             ncclTeam, IntCount)
{
    gshmem::nccl::no_multimem("ncclMultimemReduceSumLsaCopy");
}

template <class Type, class Coop, class IntCount, int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclMultimemReduceSumLsaCopy(Coop, Type *, ncclSymPtr<Type>,
                                                             ncclTeam, IntCount)
{
    gshmem::nccl::no_multimem("ncclMultimemReduceSumLsaCopy");
}

/* ---- any layout ---- */

template <class Type, class Coop, class Src, class Dst, class IntCount,
          int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLsaReduceSumMultimemCopy(Coop, Src, int, Dst, int, IntCount)
{
    gshmem::nccl::no_multimem("ncclLsaReduceSumMultimemCopy");
}

template <class Type, class Coop, class Src, class Dst, class IntCount,
          int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclMultimemReduceSumLsaCopy(Coop, Src, int, Dst, int, IntCount)
{
    gshmem::nccl::no_multimem("ncclMultimemReduceSumLsaCopy");
}

template <class Type, class Coop, class Src, class Dst, class IntCount,
          int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclMultimemReduceSumMultimemCopy(Coop, Src, int, Dst, int,
                                                                  IntCount)
{
    gshmem::nccl::no_multimem("ncclMultimemReduceSumMultimemCopy");
}

template <class Type, class Coop, class Src, class Dst, class RedOp, class IntCount,
          int UNROLL = 4 * 16 / sizeof(Type)>
__device__ __forceinline__ void ncclLsaReduceMultimemCopy(Coop, Src, int, Dst, int, const RedOp &,
                                                          IntCount)
{
    gshmem::nccl::no_multimem("ncclLsaReduceMultimemCopy");
}

#endif
