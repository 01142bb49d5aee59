/* SPDX-License-Identifier: Apache-2.0
 * How GIN copies to ranks that loads and stores reach. */
#ifndef GSHMEM_NCCL_GIN_COPY_H
#define GSHMEM_NCCL_GIN_COPY_H

#include "coop.h"
#include "copy_ring.h"
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

/* From this many bytes on a thread's put goes through the copy engines; 0: never. Asking for a
 * copy, starting and reporting it takes 12 to 15 us. In that time a thread moves some 16 KiB by
 * loads and stores, and with an arena (GSHMEM_ARENA_BYTES), so with the bulk-copy engine, more than
 * 64 KiB.
 *
 * While such a kernel runs, no thread of the program may make a CUDA call that waits for a kernel
 * and keeps CUDA's lock, such as cudaFree, or cudaMemcpy to or from pageable memory. It would keep
 * the host thread from starting the copy, and the kernel would wait for ever. Waiting by
 * cudaStreamSynchronize or cudaDeviceSynchronize is safe. */
#if !defined(GSHMEM_NCCL_GIN_ENGINE_BYTES)
#define GSHMEM_NCCL_GIN_ENGINE_BYTES 0
#endif

/* Gives the copy to the engines and waits for its end: see copy_ring.h. False: nobody has copied.
 */
__device__ __noinline__ inline bool by_engine(const ncclDevComm *comm, char *mapped,
                                              const char *source, size_t bytes GSHMEM_SITE)
{
    gsh_nccl_copy_ring *const ring = comm->copies;
    if (detail::load_relaxed(&ring->is_broken) != 0)
        return false;
    const uint64_t ticket = detail::atomic_add(comm->copies_head, (uint64_t)1);
    const auto await_done = [&](uint64_t least) {
        (void)await_word(
            *comm, &ring->done, [=](uint64_t seen) { return seen >= least; }, least,
            GSH_REPORT_WAIT_TIMEOUT, "ncclGin::put", -1, 0 GSHMEM_PASS_SITE);
        detail::acquire_awaited(); /* pairs with the release of end_copies in window/copier.c */
    };
    if (ticket >= GSHMEM_NCCL_COPY_SLOTS)
        await_done(ticket + 1 - GSHMEM_NCCL_COPY_SLOTS);
    gsh_nccl_copy_slot *const slot = &ring->slots[ticket % GSHMEM_NCCL_COPY_SLOTS];
    detail::store_relaxed(&slot->dest, (uint64_t) reinterpret_cast<uintptr_t>(mapped));
    detail::store_relaxed(&slot->source, (uint64_t) reinterpret_cast<uintptr_t>(source));
    detail::store_relaxed(&slot->bytes, (uint64_t)bytes);
    detail::fence_release(); /* with the slot's words, and what its threads know of the source */
    detail::store_release(&slot->ticket, ticket + 1);
    await_done(ticket + 1);
    return detail::load_relaxed(&ring->is_broken) == 0;
}

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

/* The same, with the copy engines for much. */
template <class Group>
__device__ __forceinline__ void copy_by_any(const ncclDevComm &, Group g, char *mapped,
                                            const char *source, size_t bytes GSHMEM_SITE)
{
    copy_to(g, mapped, source, bytes);
}
__device__ __forceinline__ void copy_by_any(const ncclDevComm &comm, group_thread g, char *mapped,
                                            const char *source, size_t bytes GSHMEM_SITE)
{
    constexpr size_t from = GSHMEM_NCCL_GIN_ENGINE_BYTES;
    if (from != 0 && bytes >= from && comm.copies != nullptr &&
        by_engine(&comm, mapped, source, bytes GSHMEM_PASS_SITE))
        return;
    copy_to(g, mapped, source, bytes);
}

} // namespace nccl
} // namespace gshmem

#endif
