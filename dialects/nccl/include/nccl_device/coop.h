/* SPDX-License-Identifier: Apache-2.0
 * Groups of threads that make a call together. A session or call takes any class with thread_rank,
 * size and sync, including CUDA's cooperative groups. */
#ifndef GSHMEM_NCCL_COOP_H
#define GSHMEM_NCCL_COOP_H

#if !defined(GSHMEM_ARENA_BYTES)
#define GSHMEM_ARENA_BYTES 0 /* the program may need all of the 48 KiB itself */
#endif
#include <gshmem_device.cuh>

/* n threads of a warp, aligned; n is a power of two. */
template <int n> struct ncclCoopTile {
    static_assert(n >= 1 && n <= 32 && (n & (n - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 lanes");
    __device__ __forceinline__ int thread_rank() const { return (int)gshmem::detail::lane() % n; }
    __device__ __forceinline__ constexpr int size() const { return n; }
    __device__ __forceinline__ constexpr int num_threads() const { return n; }
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

/* Any lanes of the calling warp, including the caller's. */
struct ncclCoopLanes {
    uint32_t lmask;
    __device__ __forceinline__ constexpr explicit ncclCoopLanes(uint32_t mask = ~0u) : lmask(mask)
    {
    }
    __device__ __forceinline__ int thread_rank() const
    {
        return __popc(lmask & ((1u << gshmem::detail::lane()) - 1));
    }
    __device__ __forceinline__ int size() const { return __popc(lmask); }
    __device__ __forceinline__ int num_threads() const { return size(); }
    __device__ __forceinline__ void sync() const { __syncwarp(lmask); }
};

namespace gshmem
{
namespace nccl
{

/* Named barriers that spans of warps use on a GPU, beside the block's own. */
constexpr int n_span_barriers = 15;

#if defined(__CUDACC__)
__device__ __forceinline__ void sync_span(uint32_t id, int n_threads)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(id + 1), "r"(n_threads) : "memory");
}
#else
/* Threads of a block take turns on one OS thread, to which these words belong: the last of them to
 * arrive begins the next round. */
struct span_barrier {
    int arrived;
    uint32_t round;
};

inline void sync_span(uint32_t id, int n_threads)
{
    static thread_local span_barrier barriers[n_span_barriers];
    span_barrier &b = barriers[id % n_span_barriers];
    const uint32_t round = __atomic_load_n(&b.round, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&b.arrived, 1, __ATOMIC_ACQ_REL) == n_threads) {
        __atomic_store_n(&b.arrived, 0, __ATOMIC_RELAXED);
        /* pairs with the acquire below, of the threads that wait */
        __atomic_store_n(&b.round, round + 1, __ATOMIC_RELEASE);
    } else {
        while (__atomic_load_n(&b.round, __ATOMIC_ACQUIRE) == round)
            detail::spin_pause();
    }
    detail::spin_done();
}
#endif

} // namespace nccl
} // namespace gshmem

/* Consecutive warps of the block; id, 0 to 14, distinguishes spans that synchronise at the same
 * time. */
struct ncclCoopWarpSpan {
    uint32_t warp0 : 8, nWarps : 8, id : 8;
    __device__ __forceinline__ constexpr ncclCoopWarpSpan(int warp0_, int nWarps_, int id_)
        : warp0((uint32_t)warp0_ & 255), nWarps((uint32_t)nWarps_ & 255), id((uint32_t)id_ & 255)
    {
    }
    __device__ __forceinline__ int thread_rank() const
    {
        return (int)gshmem::detail::rank_in_block() - (int)(32 * warp0);
    }
    __device__ __forceinline__ int size() const
    {
        /* On the CPU device the block's last warp may be short. */
        const int n = (int)(32 * nWarps);
        const int left = (int)gshmem::detail::block_size() - (int)(32 * warp0);
        return gshmem::detail::is_cpu_device && left < n ? left : n;
    }
    __device__ __forceinline__ int num_threads() const { return size(); }
    __device__ __forceinline__ void sync() const { gshmem::nccl::sync_span(id, size()); }
};

struct ncclCoopCta {
    __device__ __forceinline__ int thread_rank() const
    {
        return (int)gshmem::detail::rank_in_block();
    }
    __device__ __forceinline__ int size() const { return (int)gshmem::detail::block_size(); }
    __device__ __forceinline__ int num_threads() const { return size(); }
    __device__ __forceinline__ void sync() const { gshmem::group_block().sync(); }
};

/* One of the groups above; which one is known only when the kernel runs. */
struct ncclCoopAny {
    enum kind_of_group : uint32_t { tile, lanes, span, cta };
    kind_of_group kind;
    uint32_t n;   /* lanes of a tile, or warps of a span */
    uint32_t who; /* a mask of lanes, or a span's first warp */
    uint32_t id;  /* of a span */

    template <int lanes_of_tile>
    __device__ __forceinline__ ncclCoopAny(ncclCoopTile<lanes_of_tile>)
        : kind(tile), n(lanes_of_tile), who(ncclCoopTile<lanes_of_tile>().laneMask()), id(0)
    {
    }
    __device__ __forceinline__ ncclCoopAny(ncclCoopLanes g) : kind(lanes), n(0), who(g.lmask), id(0)
    {
    }
    __device__ __forceinline__ ncclCoopAny(ncclCoopWarpSpan g)
        : kind(span), n(g.nWarps), who(g.warp0), id(g.id)
    {
    }
    __device__ __forceinline__ ncclCoopAny(ncclCoopCta = {}) : kind(cta), n(0), who(0), id(0) {}

    __device__ __forceinline__ int thread_rank() const
    {
        return kind == tile    ? (int)(gshmem::detail::lane() % n)
               : kind == lanes ? ncclCoopLanes(who).thread_rank()
               : kind == span  ? as_span().thread_rank()
                               : ncclCoopCta().thread_rank();
    }
    __device__ __forceinline__ int size() const
    {
        return kind == tile    ? (int)n
               : kind == lanes ? ncclCoopLanes(who).size()
               : kind == span  ? as_span().size()
                               : ncclCoopCta().size();
    }
    __device__ __forceinline__ int num_threads() const { return size(); }
    __device__ __forceinline__ void sync() const
    {
        if (kind == span)
            as_span().sync();
        else if (kind == cta)
            gshmem::group_block().sync();
        else if (kind == lanes || n > 1)
            __syncwarp(who);
    }

  private:
    __device__ __forceinline__ ncclCoopWarpSpan as_span() const
    {
        return ncclCoopWarpSpan((int)who, (int)n, (int)id);
    }
};

/* ---- what a group is ------------------------------------------------------------------------- */

/* The group's lanes in the calling warp. */
template <int n> __device__ __forceinline__ uint32_t ncclCoopGetLaneMask(ncclCoopTile<n> coop)
{
    return coop.laneMask();
}
__device__ __forceinline__ uint32_t ncclCoopGetLaneMask(ncclCoopLanes coop)
{
    return coop.lmask;
}
__device__ __forceinline__ uint32_t ncclCoopGetLaneMask(ncclCoopWarpSpan)
{
    return ~0u;
}
__device__ __forceinline__ uint32_t ncclCoopGetLaneMask(ncclCoopCta)
{
    return ~0u;
}

template <class Coop> __device__ __forceinline__ constexpr bool ncclCoopIsThread(Coop)
{
    return false;
}
template <int n> __device__ __forceinline__ constexpr bool ncclCoopIsThread(ncclCoopTile<n>)
{
    return n == 1;
}

template <int n> __device__ __forceinline__ constexpr bool ncclCoopWithinWarp(ncclCoopTile<n>)
{
    return true;
}
__device__ __forceinline__ constexpr bool ncclCoopWithinWarp(ncclCoopLanes)
{
    return true;
}
__device__ __forceinline__ constexpr bool ncclCoopWithinWarp(ncclCoopWarpSpan)
{
    return false;
}
__device__ __forceinline__ constexpr bool ncclCoopWithinWarp(ncclCoopCta)
{
    return false;
}

/* The lanes of the calling warp that run together here; for a group, its lanes in the warp. */
__device__ __forceinline__ ncclCoopLanes ncclCoopCoalesced()
{
    return ncclCoopLanes(__activemask());
}
template <class Coop> __device__ __forceinline__ ncclCoopWarp ncclCoopCoalesced(Coop)
{
    return ncclCoopWarp();
}
__device__ __forceinline__ ncclCoopLanes ncclCoopCoalesced(ncclCoopLanes coop)
{
    return coop;
}
template <int n> __device__ __forceinline__ ncclCoopTile<n> ncclCoopCoalesced(ncclCoopTile<n> coop)
{
    return coop;
}

/* ---- one thread's value to the group --------------------------------------------------------- */

namespace gshmem
{
namespace nccl
{

template <class Type>
__device__ __forceinline__ Type bcast_lanes(uint32_t mask, Type value, int lane, int width)
{
    constexpr int n = (int)((sizeof(Type) + 3) / 4);
    uint32_t words[n] = {};
    memcpy(words, &value, sizeof(Type));
    GSHMEM_UNROLL
    for (int i = 0; i < n; i++)
        words[i] = __shfl_sync(mask, words[i], lane, width);
    memcpy(&value, words, sizeof(Type));
    return value;
}

struct alignas(16) stash {
    char bytes[16];
};

/* stash [i] of the block: of its spans by their ids, then the block's own */
__device__ __forceinline__ stash *stash_of(uint32_t i)
{
    __shared__ stash of_block[n_span_barriers + 1];
    return &of_block[i];
}

template <class Type, class Coop>
__device__ __forceinline__ Type bcast_through(stash *s, Coop coop, Type value, int root,
                                              bool entrySync)
{
    static_assert(sizeof(Type) <= sizeof(stash), "a group of warps broadcasts at most 16 bytes");
    if (entrySync)
        coop.sync();
    if (coop.thread_rank() == root)
        memcpy(s->bytes, &value, sizeof(Type));
    coop.sync();
    memcpy(&value, s->bytes, sizeof(Type));
    return value;
}

} // namespace nccl
} // namespace gshmem

/* Returns thread `root`'s value on all threads of the group. Without entrySync the group must have
 * synchronised since its last broadcast. */
template <int n, class Type>
__device__ __forceinline__ Type ncclCoopBcast(ncclCoopTile<n> coop, Type value, int root,
                                              bool entrySync = true)
{
    (void)entrySync;
    if (n == 1)
        return value;
    return gshmem::nccl::bcast_lanes(coop.laneMask(), value, root, n);
}

template <class Type>
__device__ __forceinline__ Type ncclCoopBcast(ncclCoopLanes coop, Type value, int root,
                                              bool entrySync = true)
{
    (void)entrySync;
    uint32_t left = coop.lmask; /* the first root of these lanes are removed */
    for (int i = 0; i < root; i++)
        left &= left - 1;
    return gshmem::nccl::bcast_lanes(coop.lmask, value, __ffs((int)left) - 1, 32);
}

template <class Type>
__device__ __forceinline__ Type ncclCoopBcast(ncclCoopWarpSpan coop, Type value, int root,
                                              bool entrySync = true)
{
    return gshmem::nccl::bcast_through(gshmem::nccl::stash_of(coop.id), coop, value, root,
                                       entrySync);
}

template <class Type>
__device__ __forceinline__ Type ncclCoopBcast(ncclCoopCta coop, Type value, int root,
                                              bool entrySync = true)
{
    return gshmem::nccl::bcast_through(gshmem::nccl::stash_of(gshmem::nccl::n_span_barriers), coop,
                                       value, root, entrySync);
}

/* ---- how the base's groups do the work ------------------------------------------------------- */

namespace gshmem
{
namespace nccl
{

/* A gshmem group that does a call's work, and whether it consists of all of the caller's threads or
 * only of the first: then the call synchronises before and after. */
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

/* Calls f with the gshmem group, on the threads that form it. */
template <class Coop, class Function>
__device__ __forceinline__ void by_group(Coop coop, Function f)
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

/* On a GPU, a thread that sees a kernel's signal sees what came before the kernel, too. On the CPU
 * device a fence at the beginning of a session ensures this. */
__device__ __forceinline__ void publish_earlier()
{
    if constexpr (detail::is_cpu_device)
        detail::fence_release();
}

} // namespace nccl
} // namespace gshmem

#endif
