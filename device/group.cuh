/* SPDX-License-Identifier: Apache-2.0
 * The threads that make a call together: one, a warp, four warps, a block. Each group has rank(),
 * size() and sync(). sync also orders: all threads see after it what any of them did before it.
 *
 * Most groups consist of whole warps and, for a block, extend along x alone. For these groups
 * irregular() is 0, and early() returns rank and size. Reading them takes long, and early() reads
 * them where it is called, so that a sync hides that time. */
#ifndef GSHMEM_GROUP_CUH
#define GSHMEM_GROUP_CUH

#include <stdint.h>

namespace gshmem
{
namespace detail
{

/* Of the calling thread in its block, whatever the block's shape. */
__device__ __forceinline__ uint32_t rank_in_block()
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

__device__ __forceinline__ uint32_t block_size()
{
    return blockDim.x * blockDim.y * blockDim.z;
}

/* Barriers of a block. Not __syncthreads, which is aligned: where threads of a warp come to it one
 * after another, as after a loop with another number of rounds for each, the warp counts as
 * several, and others leave before all have come. ptxas 13.0 lets them come so in code of this
 * library. */
__device__ __forceinline__ void sync_block()
{
#if defined(__CUDACC__)
    asm volatile("barrier.sync 0;" ::: "memory");
#else
    __syncthreads();
#endif
}
/* The same; whether any of the threads gives true. */
__device__ __forceinline__ bool any_of_block(bool is_true)
{
#if defined(__CUDACC__)
    uint32_t any;
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "setp.ne.u32 p, %1, 0;\n\t"
                 "barrier.red.or.pred p, 0, p;\n\t"
                 "selp.u32 %0, 1, 0, p;\n\t"
                 "}"
                 : "=r"(any)
                 : "r"((uint32_t)is_true)
                 : "memory");
    return any != 0;
#else
    return __syncthreads_or(is_true) != 0;
#endif
}

/* The same; whether all of the block's threads have come, none of them having left the kernel. */
__device__ __forceinline__ bool all_have_come()
{
#if defined(__CUDACC__)
    uint32_t n;
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "setp.eq.u32 p, 0, 0;\n\t"
                 "barrier.red.popc.u32 %0, 0, p;\n\t"
                 "}"
                 : "=r"(n)
                 :
                 : "memory");
    return n == blockDim.x * blockDim.y * blockDim.z;
#else
    return (unsigned)__syncthreads_count(1) == blockDim.x * blockDim.y * blockDim.z;
#endif
}

/* Lets the threads of a warp go on together, and lets the compiler know. Barriers above do not: the
 * threads may leave one apart, and then run what follows one after another. Where they might, ptxas
 * also moves the descriptor of each memory access to a uniform register anew, and loops that load,
 * add up and store take up to a quarter longer. All threads of the warp call this, behind a barrier
 * above in the same function. The instruction has no effect, and ptxas leaves it out. But it is
 * aligned, so ptxas makes the threads wait for each other before it. Only speed depends on that. In
 * a warp that is not full PTX says nothing of the instruction; there, too, only the wait is left.
 */
__device__ __forceinline__ void converge_warp()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
    uint32_t nothing = 0;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(nothing));
#endif
}

/* A thread's rank and its group's size. */
struct rank_in_group {
    uint32_t rank, size;
};

template <class Group> __device__ __forceinline__ rank_in_group rank_in_group_of(Group g)
{
    return {g.rank(), g.size()};
}

/* x, as a value that the optimiser knows nothing about: it is in a register from here on, and is
 * not computed again. */
__device__ __forceinline__ uint32_t hide_value(uint32_t x)
{
#if defined(__CUDACC__)
    asm volatile("" : "+r"(x));
#endif
    return x;
}

__device__ __forceinline__ uint64_t hide_value(uint64_t x)
{
#if defined(__CUDACC__)
    asm volatile("" : "+l"(x));
#endif
    return x;
}

template <class Type> __device__ __forceinline__ Type *hide_value(Type *x)
{
#if defined(__CUDACC__)
    asm volatile("" : "+l"(x));
#endif
    return x;
}

/* Of the calling thread in its warp. */
__device__ __forceinline__ uint32_t lane()
{
#if defined(__CUDACC__)
    uint32_t n;
    asm("mov.u32 %0, %%laneid;" : "=r"(n));
    return n;
#else
    return rank_in_block() % 32;
#endif
}

} // namespace detail

/* For collectives: the group's part in the calling block, this block's number among the group's
 * blocks, and how many blocks the group has. */
#define GSHMEM_ONE_BLOCK(GROUP)                          \
    __device__ __forceinline__ GROUP block_part() const  \
    {                                                    \
        return *this;                                    \
    }                                                    \
    __device__ __forceinline__ uint32_t n_blocks() const \
    {                                                    \
        return 1;                                        \
    }                                                    \
    __device__ __forceinline__ uint32_t block() const    \
    {                                                    \
        return 0;                                        \
    }

/* The calling thread alone. */
struct group_thread {
    __device__ __forceinline__ uint32_t rank() const { return 0; }
    __device__ __forceinline__ uint32_t size() const { return 1; }
    __device__ __forceinline__ uint32_t irregular() const { return 0; }
    __device__ __forceinline__ detail::rank_in_group early() const { return {0, 1}; }
    __device__ __forceinline__ void sync() const {}
    GSHMEM_ONE_BLOCK(group_thread)
};

/* All threads of the calling warp: 32 consecutive ranks of the block, fewer in its last warp. Its
 * synchronisation then names lanes that do not exist; CUDA treats them as threads that have ended.
 * A computed mask would cost 40 instructions more. */
struct group_warp {
    __device__ __forceinline__ uint32_t rank() const { return detail::lane(); }
    __device__ __forceinline__ uint32_t size() const
    {
        if (detail::block_size() % 32 == 0)
            return 32;
        uint32_t rest = detail::block_size() - (detail::rank_in_block() & ~31u);
        return rest < 32 ? rest : 32;
    }
    __device__ __forceinline__ uint32_t irregular() const { return detail::block_size() % 32; }
    __device__ __forceinline__ detail::rank_in_group early() const
    {
        return {detail::hide_value(rank()), 32};
    }
    __device__ __forceinline__ void sync() const { __syncwarp(); }
    GSHMEM_ONE_BLOCK(group_warp)
};

/* Four warps: 128 consecutive ranks of the block, the first a multiple of 128, fewer at the block's
 * end. Each group synchronises at a hardware barrier of its own, numbered from the last one down;
 * the block's other code does not use these, and CUDA itself uses number 0. */
struct group_warpgroup {
    __device__ __forceinline__ uint32_t rank() const { return detail::rank_in_block() % 128; }
    __device__ __forceinline__ uint32_t size() const
    {
        uint32_t rest = detail::block_size() - (detail::rank_in_block() & ~127u);
        return rest < 128 ? rest : 128;
    }
    __device__ __forceinline__ uint32_t irregular() const { return detail::block_size() % 128; }
    /* Its hardware barrier, and how many threads that waits for: whole warps. */
    __device__ __forceinline__ uint32_t barrier() const
    {
        return 15 - detail::rank_in_block() / 128;
    }
    __device__ __forceinline__ uint32_t threads() const { return (size() + 31) & ~31u; }
    __device__ __forceinline__ detail::rank_in_group early() const
    {
        return {detail::hide_value(rank()), 128};
    }
    __device__ __forceinline__ void sync() const
    {
#if defined(__CUDACC__)
        /* the form that lets threads arrive one by one */
        asm volatile("barrier.sync %0, %1;" ::"r"(barrier()), "r"(threads()) : "memory");
#else
        gshmemx_cpu_warpgroup();
#endif
    }
    GSHMEM_ONE_BLOCK(group_warpgroup)
};

/* All threads of the calling block. */
struct group_block {
    __device__ __forceinline__ uint32_t rank() const { return detail::rank_in_block(); }
    __device__ __forceinline__ uint32_t size() const { return detail::block_size(); }
    __device__ __forceinline__ uint32_t irregular() const
    {
        return ((blockDim.y | blockDim.z) ^ 1) | blockDim.x % 32;
    }
    __device__ __forceinline__ detail::rank_in_group early() const
    {
        return {detail::hide_value(threadIdx.x), detail::hide_value(blockDim.x)};
    }
    __device__ __forceinline__ void sync() const { detail::sync_block(); }
    GSHMEM_ONE_BLOCK(group_block)
};
#undef GSHMEM_ONE_BLOCK

namespace detail
{

/* g.sync(), by an aligned barrier, if there is one for the group. See sync_together. */
template <class Group> __device__ __forceinline__ void sync_aligned(Group g)
{
    g.sync();
}
#if defined(__CUDACC__)
template <> __device__ __forceinline__ void sync_aligned(group_block)
{
    __syncthreads();
}
template <> __device__ __forceinline__ void sync_aligned(group_warpgroup g)
{
    asm volatile("bar.sync %0, %1;" ::"r"(g.barrier()), "r"(g.threads()) : "memory");
}
#endif

} // namespace detail

} // namespace gshmem

#endif
