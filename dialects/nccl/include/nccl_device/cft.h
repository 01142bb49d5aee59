/* SPDX-License-Identifier: Apache-2.0
 * The names of NCCL's transfers through logical endpoints ("CFT"), which no device here has:
 * ncclCommQueryProperties says so, ncclDevCommCreate refuses requirements that ask for them, and a
 * kernel that makes such a call ends with a message. */
#ifndef GSHMEM_NCCL_CFT_H
#define GSHMEM_NCCL_CFT_H

#include "coop.h"
#include "ptr.h"

enum class ncclMemProxyType : uint32_t { Generic = 1, Fabric = 2 };
enum class ncclMemFenceScope : uint32_t { Cta = 1, Sys = 2 };

struct alignas(16) ncclCftSmem {
    uint64_t bar;
};

template <class Type> struct ncclCftOpSum {
};
template <class Type> struct ncclCftOpAnd {
};
template <class Type> struct ncclCftOpXor {
};
template <class Type> struct ncclCftOpOr {
};
template <class Type> struct ncclCftOpMin {
};
template <class Type> struct ncclCftOpMax {
};

namespace gshmem
{
namespace nccl
{

__device__ __noinline__ inline void no_endpoints(const char *call)
{
#if defined(__CUDACC__)
    __assert_fail("the device has logical endpoints", "nccl_device/cft.h", __LINE__, call);
#else
    fprintf(stderr, "gshmem: error: %s: no device here has logical endpoints\n", call);
    gshmem_global_exit(1);
#endif
}

} // namespace nccl
} // namespace gshmem

/* ---- teams and endpoints: none --------------------------------------------------------------- */

__device__ __forceinline__ ncclTeam ncclTeamCft(const ncclDevComm &,
                                                ncclCftTeamMode_t = NCCL_CFT_TEAM_FLAT)
{
    return gshmem_nccl_team(0, 0, 1);
}

__device__ __forceinline__ ncclTeam ncclTeamCftMultimem(const ncclDevComm &)
{
    return gshmem_nccl_team(0, 0, 1);
}

__device__ __forceinline__ void ncclGetCftLeInfo(ncclWindow_t, size_t, int, ncclTeam,
                                                 const ncclDevComm &, ncclCftLeId *leId,
                                                 size_t *leOffset)
{
    *leId = NCCL_LE_ID_INVALID;
    *leOffset = 0;
}

__device__ __forceinline__ void ncclGetPeerLeInfo(ncclWindow_t, size_t, int, const ncclDevComm &,
                                                  ncclCftLeId *leId, size_t *leOffset)
{
    *leId = NCCL_LE_ID_INVALID;
    *leOffset = 0;
}

__device__ __forceinline__ void ncclGetMultimemLeInfo(ncclWindow_t, size_t, const ncclDevComm &,
                                                      ncclCftLeId *leId, size_t *leOffset)
{
    *leId = NCCL_LE_ID_INVALID;
    *leOffset = 0;
}

__device__ __forceinline__ void ncclGetResourceBufferCftLeInfo(const ncclDevComm &,
                                                               ncclDevResourceHandle, int,
                                                               ncclCftLeId *leId, size_t *leOffset)
{
    *leId = NCCL_LE_ID_INVALID;
    *leOffset = 0;
}

__device__ __forceinline__ void ncclGetResourceBufferPeerLeInfo(const ncclDevComm &,
                                                                ncclDevResourceHandle, int,
                                                                ncclCftLeId *leId, size_t *leOffset)
{
    *leId = NCCL_LE_ID_INVALID;
    *leOffset = 0;
}

__device__ __forceinline__ void ncclGetResourceBufferMultimemLeInfo(const ncclDevComm &,
                                                                    ncclDevResourceHandle,
                                                                    ncclCftLeId *leId,
                                                                    size_t *leOffset)
{
    *leId = NCCL_LE_ID_INVALID;
    *leOffset = 0;
}

/* ---- transfers ------------------------------------------------------------------------------- */

template <class Coop>
__device__ __forceinline__ void ncclMemFence(Coop, cuda::memory_order, ncclMemProxyType,
                                             ncclMemProxyType, ncclMemFenceScope)
{
    gshmem::nccl::no_endpoints("ncclMemFence");
}

template <class Coop> struct ncclCft {
    __device__ __forceinline__ ncclCft(Coop, ncclCftSmem &)
    {
        gshmem::nccl::no_endpoints("ncclCft");
    }
    template <class Group> __device__ __forceinline__ void submit(Group) {}
    template <class Group> __device__ __forceinline__ void flushSmem(Group) {}
    template <class Group>
    __device__ __forceinline__ void flush(Group, bool * = nullptr, uint32_t * = nullptr)
    {
    }
    template <class Group>
    __device__ __forceinline__ void waitCounted(Group, cuda::memory_order, ncclMemProxyType,
                                                uint64_t *, size_t, uint32_t *)
    {
    }
    template <class Group>
    __device__ __forceinline__ ncclResult_t waitCounted(Group, cuda::memory_order, ncclMemProxyType,
                                                        uint64_t *, size_t, uint64_t)
    {
        return ncclInvalidUsage;
    }
    template <class Group>
    __device__ __forceinline__ void put(Group, ncclCftLeId, size_t, void *, uint32_t)
    {
    }
    template <class Group>
    __device__ __forceinline__ void putCounted(Group, ncclCftLeId, size_t, size_t, void *, uint32_t)
    {
    }
    template <class Group>
    __device__ __forceinline__ void putCpMask(Group, ncclCftLeId, size_t, void *, uint32_t,
                                              uint16_t)
    {
    }
    template <class Group>
    __device__ __forceinline__ void putMultimem(Group, ncclCftLeId, size_t, void *, uint32_t)
    {
    }
    template <class Group>
    __device__ __forceinline__ void putMultimemCounted(Group, ncclCftLeId, size_t, size_t, void *,
                                                       uint32_t)
    {
    }
    template <class Group>
    __device__ __forceinline__ void putMultimemCpMask(Group, ncclCftLeId, size_t, void *, uint32_t,
                                                      uint16_t)
    {
    }
    template <class Group>
    __device__ __forceinline__ void get(Group, ncclCftLeId, size_t, void *, uint32_t)
    {
    }
    template <class Op, class Group>
    __device__ __forceinline__ void red(Group, ncclCftLeId, size_t, const Op &, void *, uint32_t)
    {
    }
    template <class Op, class Group>
    __device__ __forceinline__ void redCounted(Group, ncclCftLeId, size_t, size_t, const Op &,
                                               void *, uint32_t)
    {
    }
    template <class Op, class Group>
    __device__ __forceinline__ void redMultimem(Group, ncclCftLeId, size_t, const Op &, void *,
                                                uint32_t)
    {
    }
    template <class Op, class Group>
    __device__ __forceinline__ void redMultimemCounted(Group, ncclCftLeId, size_t, size_t,
                                                       const Op &, void *, uint32_t)
    {
    }
    template <class Op, class Group>
    __device__ __forceinline__ void pullRed(Group, ncclCftLeId, size_t, const Op &, void *,
                                            uint32_t)
    {
    }
};

template <class Coop> struct ncclCftBarrierSession {
    __device__ __forceinline__ ncclCftBarrierSession(Coop, const ncclDevComm &, uint32_t,
                                                     bool = false)
    {
        gshmem::nccl::no_endpoints("ncclCftBarrierSession");
    }
    ncclCftBarrierSession(const ncclCftBarrierSession &) = delete;
    __device__ __forceinline__ void arrive(Coop, cuda::memory_order, ncclMemProxyType,
                                           ncclMemProxyType)
    {
    }
    __device__ __forceinline__ void wait(Coop, cuda::memory_order, ncclMemProxyType,
                                         ncclMemProxyType)
    {
    }
    __device__ __forceinline__ void sync(Coop, cuda::memory_order, ncclMemProxyType,
                                         ncclMemProxyType)
    {
    }
    __device__ __forceinline__ ncclResult_t wait(Coop, cuda::memory_order, ncclMemProxyType,
                                                 ncclMemProxyType, uint64_t)
    {
        return ncclInvalidUsage;
    }
    __device__ __forceinline__ ncclResult_t sync(Coop, cuda::memory_order, ncclMemProxyType,
                                                 ncclMemProxyType, uint64_t)
    {
        return ncclInvalidUsage;
    }
};

#endif
