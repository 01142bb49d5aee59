/* SPDX-License-Identifier: Apache-2.0
 * Large copies by a thread or a warp with the bulk-copy engine of compute capability 9.0 or newer:
 * from global memory to a buffer in shared memory and on to global memory, in pieces, so that one
 * thread moves nearly the buffer's size in one latency. Only copy.cuh calls this, and it decides
 * whether the engine may be used.
 *
 * The buffer is what the block has lent (lend_shared), else the arena: each block of a kernel with
 * such calls has GSHMEM_ARENA_BYTES of static shared memory for it (0: none; copies use loads and
 * stores). With GSHMEM_LENDING it takes 128 bytes even then, so that a block may lend. Shared
 * memory is never initialised, so the lock counts as held exactly when it has one particular value.
 * A thread that does not get it at once copies by loads and stores, so no thread waits for another.
 *
 * How much is on the way. 2 KiB of a GPU's own memory are in shared memory after 0.18 us, of a
 * peer's after 0.93; the engine reads shared memory for a store at 56 bytes in a nanosecond. A
 * piece costs its thread 0.1 us and more, whatever its size, and a multiprocessor moves 46 bytes in
 * a nanosecond. So a put has four stages: through the arena's 16 KiB it moves 26 bytes in a
 * nanosecond, with eight 15. A get needs as much as possible on its way, and has eight:
 * in each 0.93 us come seven of them. A copy that fits into its buffer goes by pieces of no less
 * than least_piece.
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

constexpr uint32_t put_stages = 4, get_stages = 8, most_stages = 8;
constexpr uint32_t bulk_unit = 16 * most_stages; /* buffer sizes are multiples of this */
static_assert(GSHMEM_ARENA_BYTES >= 0 && GSHMEM_ARENA_BYTES % bulk_unit == 0,
              "GSHMEM_ARENA_BYTES is a multiple of 128, or 0");

#if defined(GSHMEM_HAS_BULK)

constexpr uint32_t arena_bytes = GSHMEM_ARENA_BYTES;
constexpr uint32_t least_piece = 16384; /* of copies that fit into their buffer */

/* A copy by the holder of the lock. Vectors are 16 bytes. It lies in shared memory, at an address
 * that is the same for all threads, so the compiler knows that what is read there is, too: the
 * engine's operands are registers of the warp. Values that may differ between threads it would move
 * there in a loop, for each operand of each piece, which takes as long as the rest of the piece. */
struct bulk_task {
    uint64_t dest, source;
    uint32_t vectors, piece, buffer; /* a piece has so many vectors; the buffer's address */
};

/* Apart from the arena, so that a kernel which uses lent memory alone has no arena. */
struct bulk_words {
    uint64_t full[most_stages]; /* the stages' barriers; valid while the lock is held */
    unsigned long long lock;
    /* Memory that the block has lent; valid only if lender is this block's key. */
    uint64_t lender;
    uint32_t lent, lent_bytes;
    bulk_task task; /* valid while the lock is held */
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

__device__ __forceinline__ void bulk_load(uint32_t to, uint64_t from, uint32_t bytes,
                                          uint32_t barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
        "[%3];" ::"r"(to),
        "l"(from), "r"(bytes), "r"(barrier)
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

__device__ __forceinline__ void bulk_store(uint64_t to, uint32_t from, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\t"
                 "cp.async.bulk.commit_group;" ::"l"(to),
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

/* What the block has lent; 0: nothing. */
__device__ __forceinline__ uint32_t bytes_lent(const bulk_words *w)
{
    return w->lender == block_key() ? w->lent_bytes : 0;
}

template <uint32_t stages, uint32_t least_bytes>
__device__ __forceinline__ void write_task(bulk_words *w, char *dest, const char *source,
                                           size_t bytes)
{
    uint32_t size = bytes_lent(w), buffer = w->lent;
    if constexpr (arena_bytes >= least_bytes) {
        if (size < least_bytes) {
            size = arena_bytes;
            buffer = shared_address(own_arena());
        }
    }
    uint32_t piece = size / stages;
    if (bytes <= size && piece < least_piece)
        piece = least_piece;
    volatile bulk_task *t = &w->task;
    t->dest = __cvta_generic_to_global(dest);
    t->source = __cvta_generic_to_global(source);
    t->vectors = (uint32_t)(bytes / 16);
    t->piece = piece / 16;
    t->buffer = buffer;
}

/* The task's pieces. Piece k begins at vector k * piece. */
template <uint32_t stages> struct pieces {
    uint64_t dest, source;
    uint32_t vectors, piece, buffer, barriers;

    __device__ __forceinline__ uint32_t bytes_at(uint32_t first) const
    {
        return 16 * (vectors - first < piece ? vectors - first : piece);
    }
    __device__ __forceinline__ uint32_t stage(uint32_t k) const
    {
        return buffer + k % stages * piece * 16;
    }
    __device__ __forceinline__ uint32_t barrier(uint32_t k) const
    {
        return barriers + k % stages * 8;
    }
    __device__ __forceinline__ void load(uint32_t k, uint32_t first) const
    {
        bulk_load(stage(k), source + (uint64_t)first * 16, bytes_at(first), barrier(k));
    }
    __device__ __forceinline__ void await(uint32_t k) const
    {
        await_load(barrier(k), k / stages & 1);
    }
    __device__ __forceinline__ void store(uint32_t k, uint32_t first) const
    {
        bulk_store(dest + (uint64_t)first * 16, stage(k), bytes_at(first));
    }
};

template <uint32_t stages> __device__ __forceinline__ pieces<stages> read_task()
{
    const volatile bulk_task *t = &own_words()->task;
    return {t->dest, t->source, t->vectors, t->piece, t->buffer, shared_address(own_words()->full)};
}

/* By the holder: the first pieces are on their way. Returns how many. */
template <uint32_t stages> __device__ __forceinline__ uint32_t start_pieces(const pieces<stages> &p)
{
    uint32_t n = 0;
    GSHMEM_NO_UNROLL
    for (uint32_t first = 0; n < stages && first < p.vectors; n++, first += p.piece)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(p.barrier(n)) : "memory");
    /* The engine sees the barriers and what this thread wrote or has seen of the source; its writes
     * come after the earlier reads and writes. */
    fence_proxy();
    GSHMEM_NO_UNROLL
    for (uint32_t k = 0; k < n; k++)
        p.load(k, k * p.piece);
    return n;
}

/* Called by one thread, the holder: the engine stores what it has loaded. */
template <uint32_t stages, uint32_t least_bytes>
__device__ __noinline__ void run_pieces(char *dest, const char *source, size_t bytes)
{
    write_task<stages, least_bytes>(own_words(), dest, source, bytes);
    const pieces<stages> p = read_task<stages>();
    const uint32_t n = start_pieces(p);
    uint32_t next = n * p.piece; /* to be loaded */
    GSHMEM_NO_UNROLL
    for (uint32_t k = 0, first = 0; first < p.vectors; k++, first += p.piece) {
        p.await(k);
        p.store(k, first);
        if (k > 0 && next < p.vectors) { /* the store before this one has been read by now */
            asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
            p.load(k - 1, next);
            next += p.piece;
        }
    }
    await_stores();
    GSHMEM_NO_UNROLL
    for (uint32_t k = 0; k < n; k++)
        asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(p.barrier(k)) : "memory");
}

/* Copies if the buffer is free, and has at least least_bytes. size is 1, or 32: a whole warp, all
 * of whose threads come here. dest, source and bytes are multiples of 16; bytes is above 0 and
 * below 32 GiB. */
template <uint32_t size, uint32_t stages, uint32_t least_bytes>
__device__ __forceinline__ bool bulk_copy(uint32_t rank, char *dest, const char *source,
                                          size_t bytes)
{
    if (!__isGlobal(dest) || !__isGlobal(source))
        return false;
    bulk_words *w = own_words();
    if (arena_bytes < least_bytes && bytes_lent(w) < least_bytes)
        return false;
    uint32_t is_mine = rank == 0 && take_buffer(w);
    /* Orders the warp's stores and what its threads saw before rank 0's proxy fence. */
    if (size > 1)
        is_mine = __shfl_sync(0xffffffffu, is_mine, 0);
    if (!is_mine)
        return false;
    if (rank == 0) {
        run_pieces<stages, least_bytes>(dest, source, bytes);
        give_buffer(w);
    }
    return true;
}

#else

template <uint32_t size, uint32_t stages, uint32_t least_bytes>
__device__ __forceinline__ bool bulk_copy(uint32_t, char *, const char *, size_t)
{
    return false;
}

#endif

/* A put by a thread. */
__device__ __forceinline__ bool bulk_copy(uint32_t, uint32_t, char *dest, const char *source,
                                          size_t bytes)
{
    return bulk_copy<1, put_stages, 1>(0, dest, source, bytes);
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
 * a whole multiprocessor; a warp puts through it if it is at least 8 KiB. All threads of
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
