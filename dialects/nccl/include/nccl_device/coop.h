/* SPDX-License-Identifier: Apache-2.0
 * Groups of threads that make a call together. A session or call takes any class with thread_rank,
 * size and sync, CUDA's cooperative groups among them. */
#ifndef GSHMEM_NCCL_COOP_H
#define GSHMEM_NCCL_COOP_H

#include <gshmem_device.cuh>

/* n threads of a warp, aligned; n is a power of two. */
template <int n> struct ncclCoopTile {
    static_assert(n >= 1 && n <= 32 && (n & (n - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 lanes");
    __device__ __forceinline__ int thread_rank() const { return (int)gshmem::detail::lane() % n; }
    __device__ __forceinline__ int size() const { return n; }
    __device__ __forceinline__ int num_threads() const { return n; }
    __device__ __forceinline__ uint32_t laneMask() const
    {
        return n == 32 ? ~0u : ((1u << (n % 32)) - 1) << (gshmem::detail::lane() & ~(n - 1u));
    }
    __device__ __forceinline__ void sync() const
    {
        if (n > 1)
            __syncwarp(laneMask());
    }
};
typedef ncclCoopTile<1> ncclCoopThread;
typedef ncclCoopTile<32> ncclCoopWarp;

/* Any lanes of the calling warp, the caller's among them. */
struct ncclCoopLanes {
    uint32_t mask;
    __device__ __forceinline__ explicit ncclCoopLanes(uint32_t mask_ = ~0u) : mask(mask_) {}
    __device__ __forceinline__ int thread_rank() const
    {
        return __popc(mask & ((1u << gshmem::detail::lane()) - 1));
    }
    __device__ __forceinline__ int size() const { return __popc(mask); }
    __device__ __forceinline__ int num_threads() const { return size(); }
    __device__ __forceinline__ uint32_t laneMask() const { return mask; }
    __device__ __forceinline__ void sync() const { __syncwarp(mask); }
};

/* Consecutive warps of the block; id, 0 to 14, tells spans apart that synchronise at the same time.
 * On the CPU device a span is the whole block. */
struct ncclCoopWarpSpan {
    uint32_t warp0, nWarps, id;
    __device__ __forceinline__ ncclCoopWarpSpan(int warp0_, int nWarps_, int id_)
        : warp0((uint32_t)warp0_), nWarps((uint32_t)nWarps_), id((uint32_t)id_)
    {
    }
    __device__ __forceinline__ int thread_rank() const
    {
        return (int)(gshmem::detail::rank_in_block() - 32 * warp0);
    }
    __device__ __forceinline__ int size() const { return (int)(32 * nWarps); }
    __device__ __forceinline__ int num_threads() const { return size(); }
    __device__ __forceinline__ void sync() const
    {
#if defined(__CUDACC__)
        asm volatile("barrier.sync %0, %1;" ::"r"(id + 1), "r"(32 * nWarps) : "memory");
#else
        if (warp0 != 0 || 32 * nWarps < gshmem::detail::block_size()) {
            fprintf(stderr, "gshmem: error: ncclCoopWarpSpan: on the CPU device a span is all of "
                            "its block's warps\n");
            gshmem_global_exit(1);
        }
        __syncthreads();
#endif
    }
};

struct ncclCoopCta {
    __device__ __forceinline__ int thread_rank() const
    {
        return (int)gshmem::detail::rank_in_block();
    }
    __device__ __forceinline__ int size() const { return (int)gshmem::detail::block_size(); }
    __device__ __forceinline__ int num_threads() const { return size(); }
    __device__ __forceinline__ void sync() const { __syncthreads(); }
};

/* Those of the calling warp's lanes that run together here. */
__device__ __forceinline__ ncclCoopLanes ncclCoopCoalesced()
{
    return ncclCoopLanes(__activemask());
}

template <class Coop> __device__ __forceinline__ ncclCoopLanes ncclCoopCoalesced(Coop)
{
    return ncclCoopLanes(__activemask());
}

template <class Coop> __device__ __forceinline__ constexpr bool ncclCoopIsThread(Coop)
{
    return false;
}

template <> __device__ __forceinline__ constexpr bool ncclCoopIsThread(ncclCoopThread)
{
    return true;
}

namespace gshmem
{
namespace nccl
{

/* A base group that does a call's work, and whether the caller's threads are all of it or only the
 * first: then the call synchronises before and after. */
template <class Coop> struct group_of {
    typedef group_thread type;
    static constexpr bool is_whole = false;
};
template <> struct group_of<ncclCoopThread> {
    typedef group_thread type;
    static constexpr bool is_whole = true;
};
template <> struct group_of<ncclCoopCta> {
    typedef group_block type;
    static constexpr bool is_whole = true;
};
/* On the CPU device a block's last warp may have fewer than 32 threads: as group_warp knows. */
template <> struct group_of<ncclCoopWarp> {
    typedef group_warp type;
    static constexpr bool is_whole = true;
};

/* Calls f with the base's group, by those threads that it consists of. */
template <class Coop, class F> __device__ __forceinline__ void by_group(Coop coop, F f)
{
    typename group_of<Coop>::type g;
    if constexpr (group_of<Coop>::is_whole) {
        f(g);
    } else {
        coop.sync();
        if (coop.thread_rank() == 0)
            f(g);
        coop.sync();
    }
}

/* Whether an order releases, or acquires. */
__device__ __forceinline__ bool is_release(cuda::memory_order order)
{
    return order == cuda::memory_order_release || order == cuda::memory_order_acq_rel ||
           order == cuda::memory_order_seq_cst;
}

__device__ __forceinline__ bool is_acquire(cuda::memory_order order)
{
    return order != cuda::memory_order_relaxed && order != cuda::memory_order_release;
}

/* On a GPU what came before a kernel is seen by all who hear from the kernel. On the CPU device a
 * fence says so, where a session begins. */
__device__ __forceinline__ void publish_earlier()
{
    if constexpr (detail::is_cpu_device)
        detail::fence_release();
}

} // namespace nccl
} // namespace gshmem

#endif
