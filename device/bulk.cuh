/* SPDX-License-Identifier: Apache-2.0
 * Large copies by a thread or a warp with the bulk-copy engine of compute capability 9.0 or newer:
 * from global memory to an arena of shared memory and on to global memory, in stages, so that one
 * thread moves nearly the arena's size in one latency. Only copy.cuh calls this, and it decides
 * whether the engine may be used.
 *
 * Each block of a kernel with such calls has GSHMEM_ARENA_BYTES of static shared memory for it (0:
 * none; copies use loads and stores). Shared memory is never initialised, so the lock counts as
 * held exactly when it has one particular value. A thread that does not get it at once copies by
 * loads and stores, so no thread waits for another.
 *
 * Invariants: only the holder touches what the lock protects. A stage's barrier completes once for
 * each piece that arrives in the stage, so piece k is there when phase k / stages ends; the piece
 * has been read once at most the store after its own is still being read. The engine is an
 * asynchronous proxy: a proxy fence precedes its reads of what threads have written, and its writes
 * are complete, for the calling thread and so for its fences, before bulk_copy returns. */
#ifndef GSHMEM_BULK_CUH
#define GSHMEM_BULK_CUH

#include "group.cuh"
#include "memory.cuh"

#if !defined(GSHMEM_ARENA_BYTES)
#define GSHMEM_ARENA_BYTES 16384
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && GSHMEM_ARENA_BYTES > 0
#define GSHMEM_HAS_BULK 1
#endif

namespace gshmem
{
namespace detail
{

constexpr uint32_t bulk_stages = 8;
constexpr uint32_t bulk_unit = 16 * bulk_stages; /* buffer sizes are multiples of this */
static_assert(GSHMEM_ARENA_BYTES >= 0 && GSHMEM_ARENA_BYTES % bulk_unit == 0,
              "GSHMEM_ARENA_BYTES is a multiple of 128, or 0");

#if defined(GSHMEM_HAS_BULK)

struct arena {
    alignas(128) char bytes[GSHMEM_ARENA_BYTES];
    uint64_t full[bulk_stages]; /* the stages' barriers; valid while the lock is held */
    unsigned long long lock;
    /* Memory that the block has lent; valid only if lender is this block's key. */
    uint64_t lender;
    uint32_t lent, lent_bytes;
};

__device__ __forceinline__ arena *own_arena()
{
    __shared__ arena a;
    return &a;
}

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* A key that no other block of any kernel has: values that an earlier block left in the memory are
 * not taken for this block's. */
__device__ __forceinline__ uint64_t block_key()
{
    uint64_t grid;
    asm("mov.u64 %0, %%gridid;" : "=l"(grid));
    uint64_t block =
        blockIdx.x + (uint64_t)gridDim.x * (blockIdx.y + (uint64_t)gridDim.y * blockIdx.z);
    return 0x9e3779b97f4a7c15u * (grid + 1) ^ (block + 1) << 20;
}

/* ---- the lock -------------------------------------------------------------------------------- */

constexpr unsigned long long arena_is_held = 0x6773686d656d2121u;

__device__ __forceinline__ bool take_arena(arena *a)
{
    unsigned long long before;
    /* acquire: pairs with give_arena of the last holder */
    asm volatile("atom.acquire.cta.shared.exch.b64 %0, [%1], %2;"
                 : "=l"(before)
                 : "r"(shared_address(&a->lock)), "l"(arena_is_held)
                 : "memory");
    return before != arena_is_held;
}

__device__ __forceinline__ void give_arena(arena *a)
{
    /* Not a store, which compute-sanitizer would report as a race with take_arena. */
    asm volatile(
        "{\n\t.reg .b64 before;\n\t"
        "atom.release.cta.shared.exch.b64 before, [%0], %1;\n\t}" ::"r"(shared_address(&a->lock)),
        "l"(0ull)
        : "memory");
}

/* ---- the engine ------------------------------------------------------------------------------ */

__device__ __forceinline__ void bulk_load(uint32_t to, const char *from, uint32_t bytes,
                                          uint32_t barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
        "[%3];" ::"r"(to),
        "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
        : "memory");
}

__device__ __forceinline__ void await_load(uint32_t barrier, uint32_t parity)
{
    uint32_t is_done;
    do {
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(is_done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    } while (!is_done);
}

__device__ __forceinline__ void bulk_store(char *to, uint32_t from, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\t"
                 "cp.async.bulk.commit_group;" ::"l"(__cvta_generic_to_global(to)),
                 "r"(from), "r"(bytes)
                 : "memory");
}

/* Orders the generic proxy's earlier accesses before the engine's later ones. */
__device__ __forceinline__ void fence_proxy()
{
    asm volatile("fence.proxy.async;" ::: "memory");
}

/* Waits until this thread's stores are complete, not merely read from the stages. They then count
 * as its own stores. */
__device__ __forceinline__ void await_stores()
{
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/* The stages of one copy. */
struct pieces {
    char *dest;
    const char *source;
    uint32_t n, last_bytes; /* number of pieces; size of the last one */
    uint32_t buffer, stage_bytes, barriers;

    __device__ __forceinline__ uint32_t bytes_of(uint32_t k) const
    {
        return k + 1 < n ? stage_bytes : last_bytes;
    }
    __device__ __forceinline__ uint32_t stage(uint32_t k) const
    {
        return buffer + k % bulk_stages * stage_bytes;
    }
    __device__ __forceinline__ uint32_t barrier(uint32_t k) const
    {
        return barriers + k % bulk_stages * 8;
    }
    __device__ __forceinline__ void load(uint32_t k) const
    {
        bulk_load(stage(k), source + (size_t)k * stage_bytes, bytes_of(k), barrier(k));
    }
    __device__ __forceinline__ void store(uint32_t k) const
    {
        await_load(barrier(k), k / bulk_stages & 1);
        bulk_store(dest + (size_t)k * stage_bytes, stage(k), bytes_of(k));
    }
};

/* Called by one thread, the holder. */
__device__ __noinline__ inline void run_pieces(const arena *a, char *dest, const char *source,
                                               size_t bytes)
{
    bool is_lent = a->lender == block_key();
    uint32_t stage_bytes = (is_lent ? a->lent_bytes : GSHMEM_ARENA_BYTES) / bulk_stages;
    /* in vectors: a division of 64 bits would be a call */
    uint32_t n = ((uint32_t)(bytes / 16) + stage_bytes / 16 - 1) / (stage_bytes / 16);
    pieces p = {dest,
                source,
                n,
                (uint32_t)(bytes - (size_t)(n - 1) * stage_bytes),
                is_lent ? a->lent : shared_address(a->bytes),
                stage_bytes,
                shared_address(a->full)};
    uint32_t first = n < bulk_stages ? n : bulk_stages;
    GSHMEM_NO_UNROLL
    for (uint32_t k = 0; k < first; k++)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(p.barrier(k)) : "memory");
    /* The engine sees the barriers and what this thread wrote or has seen of the source; its writes
     * come after the earlier reads and writes. */
    fence_proxy();
    GSHMEM_NO_UNROLL
    for (uint32_t k = 0; k < first; k++)
        p.load(k);
    GSHMEM_NO_UNROLL
    for (uint32_t k = 0; k < n; k++) {
        p.store(k);
        if (k > 0 && k - 1 + bulk_stages < n) { /* the store before this one has been read by now */
            asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
            p.load(k - 1 + bulk_stages);
        }
    }
    await_stores();
    GSHMEM_NO_UNROLL
    for (uint32_t k = 0; k < first; k++)
        asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(p.barrier(k)) : "memory");
}

/* Copies if the arena is free. size is 1, or the size of the whole warp, all of whose threads come
 * here. dest, source and bytes are multiples of 16, and bytes is below 32 GiB. */
__device__ __forceinline__ bool bulk_copy(uint32_t rank, uint32_t size, char *dest,
                                          const char *source, size_t bytes)
{
    if (!__isGlobal(dest) || !__isGlobal(source))
        return false;
    arena *a = own_arena();
    uint32_t is_mine = rank == 0 && take_arena(a);
    /* Orders the warp's stores and what its threads saw before rank 0's proxy fence. Lanes that a
     * block's last warp lacks count as ended. */
    if (size > 1)
        is_mine = __shfl_sync(0xffffffffu, is_mine, 0);
    if (!is_mine)
        return false;
    if (rank == 0) {
        run_pieces(a, dest, source, bytes);
        give_arena(a);
    }
    return true;
}

#else

__device__ __forceinline__ bool bulk_copy(uint32_t, uint32_t, char *, const char *, size_t)
{
    return false;
}

#endif

} // namespace detail

/* Lends shared memory of the calling block to the library for large copies by its threads and
 * warps, until the block takes it back. With 64 KiB a single thread reaches nearly the bandwidth of
 * a whole multiprocessor. All threads of the block must call it, while none of them is inside
 * another gshmem call, and must call take_back_shared before the block ends. shared is aligned to
 * 128, bytes is at least 128 and below 256 KiB. On devices without the bulk-copy engine it has no
 * effect. */
__device__ __forceinline__ void lend_shared(void *shared, size_t bytes)
{
#if defined(GSHMEM_HAS_BULK)
    group_block block;
    block.sync();
    if (block.rank() == 0) {
        detail::arena *a = detail::own_arena();
        a->lent = detail::shared_address(shared);
        a->lent_bytes = (uint32_t)bytes / detail::bulk_unit * detail::bulk_unit;
        a->lender = detail::block_key();
    }
    block.sync();
#else
    (void)shared;
    (void)bytes;
#endif
}

__device__ __forceinline__ void take_back_shared()
{
#if defined(GSHMEM_HAS_BULK)
    group_block block;
    block.sync();
    if (block.rank() == 0)
        detail::own_arena()->lender = 0;
    block.sync();
#endif
}

} // namespace gshmem

#endif
