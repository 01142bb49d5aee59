/* SPDX-License-Identifier: Apache-2.0
 * How GIN copies to ranks that loads and stores reach. */
#ifndef GSHMEM_NCCL_GIN_COPY_H
#define GSHMEM_NCCL_GIN_COPY_H

#include "coop.h"
#include "copy_units.h"
#include "lsa_barrier.h"

namespace gshmem
{
namespace nccl
{

/* Copies to mapped memory by the group's threads, which synchronise before and after. */
template <class Group>
__device__ __forceinline__ void copy_to(Group g, char *mapped, const char *source, size_t bytes)
{
    detail::copy<detail::direction::put, false, Group>({g.rank(), g.size()}, mapped, source, bytes);
}

/* ---- a single thread ---- */

/* From this many bytes on a thread's put is one that blocks of another kernel may join
 * (copy_slots.h); 0: never. They begin to copy 3 us after the put has asked for them if an earlier
 * put has brought them. If none has for 50 us, they come some 15 us later, or up to 1 ms later
 * after a long time, if a multiprocessor has room for them. With an arena (GSHMEM_ARENA_BYTES), so
 * with the bulk-copy engine, a thread alone moves 64 KiB in 15 us. */
#if !defined(GSHMEM_NCCL_GIN_HELP_BYTES)
#if defined(GSHMEM_ARENA_BYTES) && GSHMEM_ARENA_BYTES
#define GSHMEM_NCCL_GIN_HELP_BYTES 131072
#else
#define GSHMEM_NCCL_GIN_HELP_BYTES 4096
#endif
#endif

/* Waits a little for the bulk-copy engine, which moves as much as some 20 threads. Another thread
 * has it, often one of the same warp, which advances only while this one sleeps. */
__device__ __forceinline__ bool wait_for_bulk(char *mapped, const char *source, size_t bytes)
{
#if defined(GSHMEM_HAS_BULK)
    GSHMEM_NO_UNROLL
    for (int i = 0; i < 32; i++) {
        if (detail::bulk_copy(0, 1, mapped, source, bytes))
            return true;
        __nanosleep(250);
    }
#else
    (void)mapped, (void)source, (void)bytes;
#endif
    return false;
}

/* A thread's put: if each thread of a block puts to a peer, one at a time has the bulk-copy engine.
 * The others wait for it; after some microseconds they copy a piece by loads and stores, and wait
 * again. */
template <>
__device__ __forceinline__ void copy_to(group_thread, char *mapped, const char *source,
                                        size_t bytes)
{
    constexpr size_t piece = 1024;
    if constexpr (!detail::is_cpu_device) {
        GSHMEM_NO_UNROLL
        while (bytes > 2 * piece && detail::unlike_vectors(mapped, source, bytes) == 0) {
            if (wait_for_bulk(mapped, source, bytes))
                return;
            detail::copy_rows<detail::direction::put, group_thread, 8, false>(0, 1, mapped, source,
                                                                              piece / 16);
            mapped += piece;
            source += piece;
            bytes -= piece;
        }
    }
    if (detail::is_word<1>(mapped, source, bytes))
        detail::copy_word<detail::direction::put>(mapped, source, bytes);
    else
        detail::copy<detail::direction::put, false, group_thread>({0, 1}, mapped, source, bytes);
}

/* A copy of whole vectors, both sides aligned, that blocks of another kernel may join. */
struct joint_copy {
    char *dest;
    const char *source;
    size_t bytes;
};

/* A slot that this thread has for itself now; GSHMEM_NCCL_COPY_SLOTS: none of a few is free. */
__device__ __forceinline__ uint32_t take_slot(gsh_nccl_copy_slots *copies)
{
    uint32_t i = threadIdx.x + 5 * blockIdx.x;
    GSHMEM_NO_UNROLL
    for (int k = 0; k < 8; k++, i++) {
        i %= GSHMEM_NCCL_COPY_SLOTS;
        if (detail::atomic_exch(&copies->slots[i].is_taken, 1u) == 0)
            return i;
    }
    return GSHMEM_NCCL_COPY_SLOTS;
}

/* Lets others join it. The slot's number; GSHMEM_NCCL_COPY_SLOTS: none is free, or none helps. */
__device__ __forceinline__ uint32_t ask_for_help(gsh_nccl_copy_slots *copies, uint64_t *asked,
                                                 const joint_copy *c)
{
    const uint32_t is_over = detail::load_relaxed(&copies->is_over); /* in flight with the next */
    const uint32_t i = take_slot(copies);
    if (i == GSHMEM_NCCL_COPY_SLOTS)
        return i;
    gsh_nccl_copy_slot *const slot = &copies->slots[i];
    if (is_over != 0) {
        detail::store_relaxed(&slot->is_taken, 0u);
        return GSHMEM_NCCL_COPY_SLOTS;
    }
    /* These stores come after the release of copy_jointly: no store passes a branch. */
    detail::store_relaxed(&slot->dest, (uint64_t) reinterpret_cast<uintptr_t>(c->dest));
    detail::store_relaxed(&slot->source, (uint64_t) reinterpret_cast<uintptr_t>(c->source));
    detail::store_relaxed(&slot->bytes, (uint64_t)c->bytes);
    detail::store_relaxed(&slot->helped, 0u);
    detail::fence_gpu(); /* with the slot's words, and what its threads know of the source */
    detail::store_relaxed(&copies->left[i], units_of(c->bytes));
    /* Blocks that leave later, and a kernel launched for it, find left. */
    detail::fence_release();
    const uint64_t number = detail::atomic_add(&copies->n_asked, (uint64_t)1);
    detail::store_relaxed(asked, number + 1);
    return i;
}

/* By one thread, with half the vectors in flight, and so half the registers, of copy_to. */
__device__ __forceinline__ void copy_few_units(copy_part part)
{
    if constexpr (detail::is_cpu_device)
        detail::copy<detail::direction::put, false, group_thread>({0, 1}, part.dest, part.source,
                                                                  part.bytes);
    else
        detail::copy_rows<detail::direction::put, group_thread, 4, false>(
            0, 1, part.dest, part.source, (int)(part.bytes / 16));
}

/* Units that a thread which has asked copies by itself before it gives up: some 3 ms. */
constexpr uint32_t copy_patience = 512;
/* Looks, of some 0.7 us, for which it leaves the units to blocks that are there. */
constexpr int copy_looks = 12;

/* Whether a block has taken units of the slot, of which there were so many. */
__device__ __forceinline__ bool await_block(const gsh_nccl_copy_slots *copies, uint32_t slot,
                                            uint32_t all)
{
    if (detail::load_relaxed(&copies->n_here) == 0)
        return false;
    GSHMEM_NO_UNROLL
    for (int k = 0; k < copy_looks; k++) {
        if (detail::load_relaxed(&copies->left[slot]) != all)
            return true;
        detail::spin_pause();
    }
    return false;
}

/* The bytes that remain to be copied, from the beginning on. Until help has come this thread copies
 * units, from the end on, with few registers. Blocks that have come leave no unit: then it waits
 * for them. If none comes, which is so where the program's own kernels fill the GPU, it takes all
 * that is left, and returns. */
__device__ __noinline__ inline size_t copy_jointly(gsh_nccl_copy_slots *copies, uint64_t *asked,
                                                   char *dest, const char *source, size_t bytes)
{
    const size_t end = bytes & 15;
    /* In local memory: the units have the registers. */
    const joint_copy memory = {dest, source, bytes - end}, *const c = detail::hide_pointee(&memory);
    const uint32_t i = ask_for_help(copies, asked, c);
    if (i == GSHMEM_NCCL_COPY_SLOTS)
        return bytes;
    const uint32_t all = units_of(c->bytes);
    uint32_t left = all, helped = 0, alone = 0;
    if (await_block(copies, i, all)) {
        helped = all;
        left = 0;
    }
    GSHMEM_NO_UNROLL
    while (left > 0 && helped == 0) {
        const bool gives_up = all - left >= copy_patience;
        const copy_units mine = take_units(&copies->left[i], gives_up ? left : 1);
        helped = left - (mine.first + mine.count);
        left = mine.first;
        if (gives_up)
            alone = mine.count;
        else if (mine.count > 0)
            copy_few_units(part_of(c->dest, c->source, c->bytes, mine));
    }
    helped += left;
    if (end > 0)
        detail::copy_small<detail::direction::put>(0, 1, c->dest + c->bytes, c->source + c->bytes,
                                                   end);
    gsh_nccl_copy_slot *const slot = &copies->slots[i];
    while (detail::load_awaited(&slot->helped) != helped)
        detail::spin_pause();
    detail::spin_done();
    detail::acquire_awaited(); /* pairs with the fence of help in kernels/copier.cu */
    detail::store_release(&slot->is_taken, 0u);
    return (size_t)alone * GSHMEM_NCCL_COPY_UNIT;
}

/* Any group's copy. */
template <class Group>
__device__ __forceinline__ void copy_by_any(const ncclDevComm &, Group g, char *mapped,
                                            const char *source, size_t bytes)
{
    copy_to(g, mapped, source, bytes);
}
__device__ __forceinline__ void copy_by_any(const ncclDevComm &comm, group_thread g, char *mapped,
                                            const char *source, size_t bytes)
{
    constexpr size_t from = GSHMEM_NCCL_GIN_HELP_BYTES;
    if (from != 0 && bytes >= from && detail::unlike_vectors(mapped, source, 0) == 0 &&
        comm.copies != nullptr)
        bytes = copy_jointly(comm.copies, comm.copies_asked, mapped, source, bytes);
    copy_to(g, mapped, source, bytes);
}

} // namespace nccl
} // namespace gshmem

#endif
