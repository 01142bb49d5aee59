/* SPDX-License-Identifier: Apache-2.0
 * Addresses from a window and an offset in bytes. */
#ifndef GSHMEM_NCCL_PTR_H
#define GSHMEM_NCCL_PTR_H

#include "team.h"
#include "window_record.h"

GSHMEM_NCCL_BOTH size_t ncclGetResourceBufferOffset(ncclDevResourceHandle h)
{
    return (size_t)h * GSHMEM_NCCL_RESOURCE_UNIT;
}

#if defined(GSHMEM_NCCL_KERNELS)

namespace gshmem
{
namespace nccl
{

/* A field of a window's record. It never changes after the host wrote it, so a load of it waits for
 * no store, and in a loop with stores one load is enough. */
template <class Type> __device__ __forceinline__ Type fixed(const Type &field)
{
#if defined(__CUDACC__)
    return __ldg(&field);
#else
    return field;
#endif
}

/* Kernels with checks: ends the job unless the number, which `what` names with its call, is at
 * least 0 and below the limit. */
__device__ __forceinline__ void check_below(const gsh_state *state, const char *what, int64_t value,
                                            uint64_t limit)
{
#if defined(GSHMEM_CHECKS)
    if ((uint64_t)value >= limit)
        detail::report(context{*state, 0}, GSH_REPORT_OUT_OF_RANGE, what, -1, 0, 0, limit,
                       (uint64_t)value, 0);
#else
    (void)state, (void)what, (void)value, (void)limit;
#endif
}

/* The same for the end of so many bytes of a window. */
__device__ __forceinline__ void check_offset(ncclWindow_t w, const char *what, size_t offset,
                                             size_t bytes)
{
#if defined(GSHMEM_CHECKS)
    const uint64_t end = offset + bytes < offset ? UINT64_MAX : offset + bytes;
    check_below(w->state, what, (int64_t)end, fixed(w->bytes) + 1);
#else
    (void)w, (void)what, (void)offset, (void)bytes;
#endif
}

__device__ __forceinline__ void check_lsa_peer(ncclWindow_t w, const char *what, int peer)
{
#if defined(GSHMEM_CHECKS)
    check_below(w->state, what, peer, (uint64_t)fixed(w->lsa_size));
#else
    (void)w, (void)what, (void)peer;
#endif
}

/* The window's beginning on an LSA rank: one multiply-add of what loads, side by side, bring. */
__device__ __forceinline__ char *window_on(ncclWindow_t w, int lsa_peer)
{
    const uint64_t base = fixed(w->lsa_base);
    if constexpr (detail::is_cpu_device)
        return reinterpret_cast<char *>(base + (uint64_t)lsa_peer * (uint64_t)w->lsa_stride);
    const uint32_t high = (uint32_t)(base >> 32) + (uint32_t)lsa_peer * fixed(w->stride_4g);
    return reinterpret_cast<char *>((uint64_t)high << 32 | (uint32_t)base);
}

} // namespace nccl
} // namespace gshmem

__device__ __forceinline__ void *ncclGetLocalPointer(ncclWindow_t w, size_t offset)
{
    using namespace gshmem;
    nccl::check_offset(w, "ncclGetLocalPointer, offset", offset, 0);
    return detail::as_global(reinterpret_cast<char *>(nccl::fixed(w->local)) + offset);
}

/* lsaPeer is in the LSA team. */
__device__ __forceinline__ void *ncclGetLsaPointer(ncclWindow_t w, size_t offset, int lsaPeer)
{
    gshmem::nccl::check_lsa_peer(w, "ncclGetLsaPointer, lsaPeer", lsaPeer);
    gshmem::nccl::check_offset(w, "ncclGetLsaPointer, offset", offset, 0);
    return gshmem::detail::as_global(gshmem::nccl::window_on(w, lsaPeer) + offset);
}

/* NULL if the rank is not in the LSA team. */
__device__ __forceinline__ void *ncclGetPeerPointer(ncclWindow_t w, size_t offset, int peer)
{
    using gshmem::nccl::fixed;
    const int i = peer - (fixed(w->rank) - fixed(w->lsa_rank));
    return i < 0 || i >= fixed(w->lsa_size) ? nullptr : ncclGetLsaPointer(w, offset, i);
}

__device__ __forceinline__ void *ncclGetPeerPointer(ncclWindow_t w, size_t offset, ncclTeam team,
                                                    int peer)
{
    return ncclGetPeerPointer(w, offset,
                              gshmem::nccl::fixed(w->rank) + gshmem_nccl_distance(team, peer));
}

/* NULL: multimem is not supported, as ncclCommQueryProperties says. */
__device__ __forceinline__ void *ncclGetMultimemPointer(ncclWindow_t, size_t, ncclMultimemHandle)
{
    return nullptr;
}

__device__ __forceinline__ void *ncclGetLsaMultimemPointer(ncclWindow_t, size_t,
                                                           const ncclDevComm &)
{
    return nullptr;
}

/* ---- buffers of a device communicator -------------------------------------------------------- */

__device__ __forceinline__ void *ncclGetResourceBufferLocalPointer(const ncclDevComm &comm,
                                                                   ncclDevResourceHandle h)
{
    gshmem::nccl::check_offset(comm.resourceWindow, "ncclGetResourceBufferLocalPointer, handle",
                               ncclGetResourceBufferOffset(h), 0);
    return gshmem::detail::as_global(comm.resources + ncclGetResourceBufferOffset(h));
}

__device__ __forceinline__ void *
ncclGetResourceBufferLsaPointer(const ncclDevComm &comm, ncclDevResourceHandle h, int lsaPeer)
{
    gshmem::nccl::check_below(comm.state, "ncclGetResourceBufferLsaPointer, lsaPeer", lsaPeer,
                              (uint64_t)comm.lsaSize);
    gshmem::nccl::check_offset(comm.resourceWindow, "ncclGetResourceBufferLsaPointer, handle",
                               ncclGetResourceBufferOffset(h), 0);
    return gshmem::detail::as_global(comm.resources + ncclGetResourceBufferOffset(h) +
                                     (lsaPeer - comm.lsaRank) * comm.lsa_stride);
}

__device__ __forceinline__ void *ncclGetResourceBufferPeerPointer(const ncclDevComm &comm,
                                                                  ncclDevResourceHandle h,
                                                                  ncclTeam team, int peer)
{
    const int i = ncclTeamRankToLsa(comm, team, peer);
    return i < 0 || i >= comm.lsaSize ? nullptr : ncclGetResourceBufferLsaPointer(comm, h, i);
}

__device__ __forceinline__ void *
ncclGetResourceBufferMultimemPointer(const ncclDevComm &, ncclDevResourceHandle, ncclMultimemHandle)
{
    return nullptr;
}

__device__ __forceinline__ void *ncclGetResourceBufferLsaMultimemPointer(const ncclDevComm &,
                                                                         ncclDevResourceHandle)
{
    return nullptr;
}

#endif

#ifdef __cplusplus

/* ---- symmetric pointers ---------------------------------------------------------------------- */

/* A window and an offset in bytes, with pointer arithmetic in elements of Type. Without a window
 * the offset is an address. */
template <class Type> struct ncclSymPtr {
    typedef Type ElementType;
    ncclWindow_t window;
    size_t offset;

    GSHMEM_NCCL_BOTH ncclSymPtr(ncclWindow_t w = nullptr, size_t off = 0) : window(w), offset(off)
    {
    }
    template <class Other> GSHMEM_NCCL_BOTH operator ncclSymPtr<Other>() const
    {
        return {window, offset};
    }
    template <class Integer> GSHMEM_NCCL_BOTH ncclSymPtr &operator+=(Integer n)
    {
        offset += (size_t)n * sizeof(Type);
        return *this;
    }
    template <class Integer> GSHMEM_NCCL_BOTH ncclSymPtr &operator-=(Integer n)
    {
        offset -= (size_t)n * sizeof(Type);
        return *this;
    }

#if defined(GSHMEM_NCCL_KERNELS)
    __device__ __forceinline__ Type *localPtr() const
    {
        return static_cast<Type *>(window == nullptr ? reinterpret_cast<void *>(offset)
                                                     : ncclGetLocalPointer(window, offset));
    }
    __device__ __forceinline__ Type *lsaPtr(int peer) const
    {
        return static_cast<Type *>(ncclGetLsaPointer(window, offset, peer));
    }
    __device__ __forceinline__ Type *peerPtr(int peer) const
    {
        return static_cast<Type *>(ncclGetPeerPointer(window, offset, peer));
    }
    __device__ __forceinline__ Type *peerPtr(ncclTeam team, int peer) const
    {
        return static_cast<Type *>(ncclGetPeerPointer(window, offset, team, peer));
    }
    __device__ __forceinline__ Type *multimemPtr(ncclMultimemHandle) const
    {
        return nullptr;
    }
    __device__ __forceinline__ Type *lsaMultimemPtr(const ncclDevComm &) const
    {
        return nullptr;
    }
#endif
};

template <class Type, class Integer>
GSHMEM_NCCL_BOTH ncclSymPtr<Type> operator+(ncclSymPtr<Type> p, Integer n)
{
    return p += n;
}

template <class Type, class Integer>
GSHMEM_NCCL_BOTH ncclSymPtr<Type> operator-(ncclSymPtr<Type> p, Integer n)
{
    return p -= n;
}

template <class Type> GSHMEM_NCCL_BOTH ptrdiff_t operator-(ncclSymPtr<Type> a, ncclSymPtr<Type> b)
{
    return ((ptrdiff_t)a.offset - (ptrdiff_t)b.offset) / (ptrdiff_t)sizeof(Type);
}

template <class Type> GSHMEM_NCCL_BOTH bool operator==(ncclSymPtr<Type> a, ncclSymPtr<Type> b)
{
    return a.window == b.window && a.offset == b.offset;
}

template <class Type> GSHMEM_NCCL_BOTH bool operator!=(ncclSymPtr<Type> a, ncclSymPtr<Type> b)
{
    return !(a == b);
}

#if defined(GSHMEM_NCCL_KERNELS)
/* The buffer that the handle names. */
__device__ __forceinline__ ncclSymPtr<char> ncclGetResourceBuffer(const ncclDevComm &comm,
                                                                  ncclDevResourceHandle h)
{
    return {comm.resourceWindow, ncclGetResourceBufferOffset(h)};
}

/* The communicator's window that contains the address, or NULL; all threads of the group search. */
template <class Coop>
__device__ __forceinline__ ncclWindow_t ncclFindWindow(Coop coop, const ncclDevComm &comm,
                                                       const void *ptr)
{
    (void)coop;
    const uint64_t address = reinterpret_cast<uint64_t>(ptr);
    for (uint32_t i = 0; i < comm.nWindows; i++) {
        ncclWindow_t w = comm.windows + i;
        if (w->owner == 0) /* records are taken in order: no later one was ever used */
            break;
        if (w->owner == comm.id && address - w->local < w->bytes)
            return w;
    }
    return nullptr;
}

#endif
#endif

#endif
