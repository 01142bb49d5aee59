/* SPDX-License-Identifier: Apache-2.0
 * Sends and receives in kernels: which part of a transfer goes over which channel of the rings
 * (args.h), where that lies in them, and how a sender learns what has been taken out. Compiled for
 * both devices. */
#ifndef GSH_NCCL_RINGS_CUH
#define GSH_NCCL_RINGS_CUH

#include <gshmem_device.cuh>
#include "dialects/nccl/kernels/args.h"

/* One library has this text for both devices. */
namespace
{
namespace transfer
{

/* A block that moves pieces has copiers, and on GPUs two warps more: while the others copy a piece,
 * the first thread of one signals the piece before, and that of the other waits for the next.
 * Blocks with nothing but lines have small_threads. Behind the blocks with paths are those that
 * copy what the rank sends to itself: as fast as the link is, and meanwhile. */
#if defined(__CUDACC__)
constexpr unsigned copiers = 512, signaller = copiers, waiter = copiers + 32;
constexpr unsigned threads = copiers + 64, max_blocks = 64, max_own_blocks = 32;
constexpr unsigned small_threads = GSH_NCCL_SMALL_BYTES / 8;
constexpr uint32_t n_channels = GSH_NCCL_MAX_CHANNELS, channel_bytes = 16 << 10;
constexpr uint32_t offered_bytes = 1 << 20;
#else
constexpr unsigned copiers = 32, signaller = 0, waiter = 0;
constexpr unsigned threads = copiers, max_blocks = 4, max_own_blocks = 3, small_threads = threads;
constexpr uint32_t n_channels = max_blocks, channel_bytes = 64 << 10;
constexpr uint32_t offered_bytes = 128 << 10;
#endif

constexpr const char *name = "ncclSend or ncclRecv"; /* in reports */

using gshmem::context;
namespace detail = gshmem::detail;

/* ---- a channel's part of a transfer ---- */

/* A row's part of one channel, and its progress. */
struct path {
    uint64_t piece;
    uint64_t next, end; /* bytes of the transfer that are still to be moved */
    uint32_t at;        /* the transfer; past the row's last one: finished */
};

struct stripe {
    uint64_t begin, end;
};

/* How many of the launch's blocks have paths. */
__host__ __device__ inline uint32_t path_blocks(const gsh_nccl_transfers_head &a)
{
    const uint32_t n_paths = a.n_rows * a.n_channels;
    return n_paths < max_blocks ? n_paths : max_blocks;
}

template <class A> __device__ bool is_in_lsa(const A &a, const gsh_nccl_transfer &t)
{
    return (uint32_t)(t.peer - a.lsa_first) < (uint32_t)a.lsa_size;
}

template <class A> __device__ bool has_lines(const A &a, const gsh_nccl_transfer &t)
{
    return gsh_nccl_has_lines(&a.rings, is_in_lsa(a, t), t.bytes);
}

template <class A>
__device__ stripe stripe_of(const A &a, const gsh_nccl_transfer &t, uint32_t channel)
{
    const uint32_t shift = gsh_nccl_channels_shift(&a.rings, is_in_lsa(a, t), t.bytes);
    const uint64_t each = shift == 0 ? t.bytes : (((t.bytes - 1) >> shift) + 16) / 16 * 16;
    const uint64_t begin = each * channel, rest = t.bytes - begin;
    if (channel >> shift != 0 || begin >= t.bytes)
        return {0, 0};
    return {begin, begin + (rest < each ? rest : each)};
}

/* The first transfer from `at` on in which the channel has a share, *s; or the row's end. */
template <class A>
__device__ uint32_t next_of(const A &a, uint32_t row, uint32_t channel, uint32_t at, stripe *s)
{
    for (; at < a.row_begin[row + 1]; at++) {
        *s = stripe_of(a, a.transfers[at], channel);
        if (s->begin < s->end)
            break;
    }
    return at;
}

/* ---- places in the rings ---- */

/* The counter of a rank in a channel. */
__device__ uint64_t *counter(const gsh_nccl_rings &r, uint64_t *counters, uint32_t channel,
                             int rank)
{
    return counters + (size_t)channel * r.n_ranks + rank;
}

/* The number of the piece's slot among all of the receiver's. */
__device__ uint64_t slot_index(const gsh_nccl_rings &r, uint32_t channel, int sender,
                               uint64_t piece)
{
    return ((uint64_t)channel * r.n_ranks + sender) * r.n_slots + (piece & (r.n_slots - 1));
}

__device__ char *slot_of(const gsh_nccl_rings &r, uint32_t channel, int sender, uint64_t piece)
{
    return r.slots + slot_index(r, channel, sender, piece) * r.slot_bytes;
}

/* What the sender puts with the piece into the slot's word. */
__device__ uint64_t arrival_of(const gsh_nccl_transfer &t, uint64_t piece)
{
    return t.bytes << 32 | (uint32_t)(piece + 1);
}

/* The same, if the sender offers its part of the transfer. */
__device__ uint64_t offer_of(const gsh_nccl_transfer &t, uint64_t piece)
{
    return t.bytes << 32 | (uint32_t) ~(piece + 1);
}

/* Whether the slot's word is one of these two, of a transfer of any length. */
__device__ bool is_arrival(uint64_t word, uint64_t piece)
{
    return (uint32_t)word == (uint32_t)(piece + 1) || (uint32_t)word == (uint32_t) ~(piece + 1);
}

/* The least value of `freed` with which the sender may put the piece. */
__device__ uint64_t least_freed(const gsh_nccl_rings &r, uint64_t piece)
{
    return piece < r.n_slots ? 0 : piece + 1 - r.n_slots;
}

/* The same place on a rank of the LSA team. */
template <class A, class T> __device__ T *on_peer(const A &a, int peer, T *symmetric)
{
    const int64_t away = (int64_t)(peer - a.rings.rank) * a.lsa_stride;
    return detail::as_global(
        reinterpret_cast<T *>(reinterpret_cast<uint64_t>(symmetric) + (uint64_t)away));
}

/* By one thread: tells a sender of the LSA team that `taken` pieces have been read. */
template <class A>
__device__ void tell_freed(const A &a, const context &c, uint32_t channel, int peer, uint64_t taken)
{
    const uint32_t has_left = detail::load_has_left(c); /* the fence waits for it in any case */
    detail::fence_release(); /* all has been read before the sender is told */
    detail::leave_if_given_up(c, has_left);
    detail::store_relaxed(on_peer(a, peer, counter(a.rings, a.rings.freed, channel, a.rings.rank)),
                          taken);
}

/* By one thread: waits until so many pieces have been freed. Returns how many have. */
__device__ uint64_t await_taken(const context &c, const gsh_nccl_rings &r,
                                const gsh_nccl_transfer &t, uint32_t channel, uint64_t least)
{
    /* pairs with the fence of tell_freed, or of move_piece, there */
    const uint64_t seen = detail::spin_on(
        c, counter(r, r.freed, channel, t.peer),
        [](const uint64_t *p) { return detail::load_awaited(p); },
        [=](uint64_t freed) { return freed >= least; }, GSH_REPORT_WAIT_TIMEOUT, name, -1,
        GSH_REPORT_CMP_AT(GSHMEM_CMP_GE, t.site), least);
    detail::acquire_awaited();
    return seen;
}

/* The same, until there is room for the piece at the receiver. */
__device__ uint64_t await_freed(const context &c, const gsh_nccl_rings &r,
                                const gsh_nccl_transfer &t, uint32_t channel, uint64_t piece)
{
    return await_taken(c, r, t, channel, least_freed(r, piece));
}

/* By the copiers of a block. */
template <detail::direction D>
__device__ void copy_piece(char *dest, const char *source, uint64_t bytes)
{
    if (threadIdx.x < copiers)
        detail::copy<D, false, gshmem::group_block>(detail::rank_in_group{threadIdx.x, copiers},
                                                    dest, source, bytes);
}

} // namespace transfer
} // namespace

#endif
