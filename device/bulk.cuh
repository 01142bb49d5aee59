/* SPDX-License-Identifier: Apache-2.0
 * Large copies by a thread or a warp with the bulk-copy engine of compute capability 9.0 or newer:
 * from global memory to a buffer in shared memory and on to global memory, in pieces, so that one
 * thread moves nearly the buffer's size in one latency. Only copy.cuh calls this, and it decides
 * whether the engine may be used.
 *
 * The buffer is what the block has lent (lend_shared), else the arena: each block of a kernel with
 * such calls has GSHMEM_ARENA_BYTES of static shared memory for it (0: none; copies use loads and
 * stores). With GSHMEM_LENDING it takes 96 bytes even then, so that a block may lend. Shared memory
 * is never initialised, so the lock counts as held exactly when it has one particular value. A
 * thread that does not get it at once copies by loads and stores, so no thread waits for another.
 *
 * How much is on the way. A piece of a peer's memory takes 1.45 us to come and go, and a
 * multiprocessor moves 46 bytes in a nanosecond: 65 KiB under way use all of it, the arena's 16 KiB
 * a quarter. A piece costs its thread 0.1 us, in which 4.6 KiB pass. So a buffer of 64 KiB has
 * eight stages of 8 KiB, and a copy that fits into its buffer goes by pieces of no less than that.
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

#if !defined(GSHMEM_LENDING)
#define GSHMEM_LENDING (GSHMEM_ARENA_BYTES > 0)
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && (GSHMEM_ARENA_BYTES > 0 || GSHMEM_LENDING)
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

constexpr uint32_t least_piece = 8192; /* of copies that fit into their buffer */

/* Apart from the arena, so that a kernel which uses lent memory alone has no arena. */
struct bulk_words {
    uint64_t full[bulk_stages]; /* the stages' barriers; valid while the lock is held */
    unsigned long long lock;
    /* Memory that the block has lent; valid only if lender is this block's key. */
    uint64_t lender;
    uint32_t lent, lent_bytes;
};

__device__ __forceinline__ bulk_words *own_words()
{
    __shared__ bulk_words words;
    return &words;
}

__device__ __forceinline__ const void *own_arena()
{
    __shared__ alignas(128) char bytes[GSHMEM_ARENA_BYTES > 0 ? GSHMEM_ARENA_BYTES : 1];
    return bytes;
}

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* ---- the lock -------------------------------------------------------------------------------- */

constexpr unsigned long long buffer_is_held = 0x6773686d656d2121u;

__device__ __forceinline__ bool take_buffer(bulk_words *w)
{
    unsigned long long before;
    /* acquire: pairs with give_buffer of the last holder */
    asm volatile("atom.acquire.cta.shared.exch.b64 %0, [%1], %2;"
                 : "=l"(before)
                 : "r"(shared_address(&w->lock)), "l"(buffer_is_held)
                 : "memory");
    return before != buffer_is_held;
}

__device__ __forceinline__ void give_buffer(bulk_words *w)
{
    /* Not a store, which compute-sanitizer would report as a race with take_buffer. */
    asm volatile(
        "{\n\t.reg .b64 before;\n\t"
        "atom.release.cta.shared.exch.b64 before, [%0], %1;\n\t}" ::"r"(shared_address(&w->lock)),
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

/* ---- one copy -------------------------------------------------------------------------------- */

struct pieces {
    char *dest;
    const char *source;
    uint32_t n, last_bytes; /* number of pieces; size of the last one */
    uint32_t buffer, piece_bytes, barriers;

    __device__ __forceinline__ uint32_t bytes_of(uint32_t k) const
    {
        return k + 1 < n ? piece_bytes : last_bytes;
    }
    __device__ __forceinline__ uint32_t stage(uint32_t k) const
    {
        return buffer + k % bulk_stages * piece_bytes;
    }
    __device__ __forceinline__ uint32_t barrier(uint32_t k) const
    {
        return barriers + k % bulk_stages * 8;
    }
    __device__ __forceinline__ uint32_t n_first() const
    {
        return n < bulk_stages ? n : bulk_stages;
    }
    __device__ __forceinline__ void load(uint32_t k) const
    {
        bulk_load(stage(k), source + (size_t)k * piece_bytes, bytes_of(k), barrier(k));
    }
    __device__ __forceinline__ void await(uint32_t k) const
    {
        await_load(barrier(k), k / bulk_stages & 1);
    }
};

/* What the block has lent; 0: nothing. */
__device__ __forceinline__ uint32_t bytes_lent(const bulk_words *w)
{
    return w->lender == block_key() ? w->lent_bytes : 0;
}

template <bool has_arena>
__device__ __forceinline__ pieces cut(const bulk_words *w, char *dest, const char *source,
                                      size_t bytes)
{
    uint32_t size = bytes_lent(w), buffer = w->lent;
    if constexpr (has_arena) {
        if (size == 0) {
            size = GSHMEM_ARENA_BYTES;
            buffer = shared_address(own_arena());
        }
    }
    uint32_t piece = size / bulk_stages;
    if (bytes <= size && piece < least_piece)
        piece = least_piece;
    /* in vectors: a division of 64 bits would be a call */
    const uint32_t n = ((uint32_t)(bytes / 16) + piece / 16 - 1) / (piece / 16);
    return {dest,
            source,
            n,
            (uint32_t)(bytes - (size_t)(n - 1) * piece),
            buffer,
            piece,
            shared_address(w->full)};
}

/* By the holder: the first pieces are on their way. */
__device__ __forceinline__ void start_pieces(const pieces &p)
{
    GSHMEM_NO_UNROLL
    for (uint32_t k = 0; k < p.n_first(); k++)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(p.barrier(k)) : "memory");
    /* The engine sees the barriers and what this thread wrote or has seen of the source; its writes
     * come after the earlier reads and writes. */
    fence_proxy();
    GSHMEM_NO_UNROLL
    for (uint32_t k = 0; k < p.n_first(); k++)
        p.load(k);
}

__device__ __forceinline__ void end_pieces(const pieces &p)
{
    GSHMEM_NO_UNROLL
    for (uint32_t k = 0; k < p.n_first(); k++)
        asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(p.barrier(k)) : "memory");
}

/* Called by one thread, the holder: the engine stores what it has loaded. */
template <bool has_arena>
__device__ __noinline__ void run_pieces(const bulk_words *w, char *dest, const char *source,
                                        size_t bytes)
{
    const pieces p = cut<has_arena>(w, dest, source, bytes);
    start_pieces(p);
    GSHMEM_NO_UNROLL
    for (uint32_t k = 0; k < p.n; k++) {
        p.await(k);
        bulk_store(dest + (size_t)k * p.piece_bytes, p.stage(k), p.bytes_of(k));
        if (k > 0 &&
            k - 1 + bulk_stages < p.n) { /* the store before this one has been read by now */
            asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
            p.load(k - 1 + bulk_stages);
        }
    }
    await_stores();
    end_pieces(p);
}

/* Copies if the buffer is free, and the block has lent at least least_lent bytes. size is 1, or 32:
 * a whole warp, all of whose threads come here. dest, source and bytes are multiples of 16, and
 * bytes is below 32 GiB. */
template <uint32_t size, uint32_t least_lent>
__device__ __forceinline__ bool bulk_copy(uint32_t rank, char *dest, const char *source,
                                          size_t bytes)
{
    constexpr bool has_arena = GSHMEM_ARENA_BYTES > 0 && least_lent == 0;
    if (!__isGlobal(dest) || !__isGlobal(source))
        return false;
    bulk_words *w = own_words();
    if (!has_arena && bytes_lent(w) < (least_lent > 0 ? least_lent : 1))
        return false;
    uint32_t is_mine = rank == 0 && take_buffer(w);
    /* Orders the warp's stores and what its threads saw before rank 0's proxy fence. */
    if (size > 1)
        is_mine = __shfl_sync(0xffffffffu, is_mine, 0);
    if (!is_mine)
        return false;
    if (rank == 0) {
        run_pieces<has_arena>(w, dest, source, bytes);
        give_buffer(w);
    }
    return true;
}

#else

template <uint32_t size, uint32_t least_lent>
__device__ __forceinline__ bool bulk_copy(uint32_t, char *, const char *, size_t)
{
    return false;
}

#endif

/* A put by a thread. */
__device__ __forceinline__ bool bulk_copy(uint32_t, uint32_t, char *dest, const char *source,
                                          size_t bytes)
{
    return bulk_copy<1, 0>(0, dest, source, bytes);
}

/* By one thread of the block, whose other threads synchronise with it afterwards. bytes 0: nothing
 * is lent any more. */
__device__ __forceinline__ void note_lent(void *shared, size_t bytes)
{
#if defined(GSHMEM_HAS_BULK)
    bulk_words *w = own_words();
    w->lent = shared_address(shared);
    w->lent_bytes = (uint32_t)bytes / bulk_unit * bulk_unit;
    w->lender = w->lent_bytes > 0 ? block_key() : 0;
#else
    (void)shared;
    (void)bytes;
#endif
}

} // namespace detail

/* Lends shared memory of the calling block to the library for large copies by its threads and
 * warps, until the block takes it back. With 64 KiB a single thread reaches nearly the bandwidth of
 * a whole multiprocessor, and a warp puts through it, too, if it is at least 32 KiB. All threads of
 * the block must call it, while none of them is inside another gshmem call, and must call
 * take_back_shared before the block ends. shared is aligned to 16, bytes is at least 128 and below
 * 256 KiB. On devices without the bulk-copy engine it has no effect. */
__device__ __forceinline__ void lend_shared(void *shared, size_t bytes)
{
    group_block block;
    block.sync();
    if (block.rank() == 0)
        detail::note_lent(shared, bytes);
    block.sync();
}

__device__ __forceinline__ void take_back_shared()
{
    group_block block;
    block.sync();
    if (block.rank() == 0)
        detail::note_lent(nullptr, 0);
    block.sync();
}

} // namespace gshmem

#endif
