/* SPDX-License-Identifier: Apache-2.0
 * Sends and receives in kernels: what a rank of the LSA team has in symmetric memory, and lets the
 * receiver read there (args.h). */
#ifndef GSH_NCCL_OFFERS_CUH
#define GSH_NCCL_OFFERS_CUH

#include "dialects/nccl/kernels/ring_lines.cuh"

namespace
{
namespace transfer
{

/* By one thread: offers the channel's part of the transfer as a piece. */
template <class A>
__device__ void offer(const A &a, const context &c, const gsh_nccl_transfer &t, uint32_t channel,
                      uint64_t piece)
{
    const gsh_nccl_rings &r = a.rings;
    await_freed(c, r, t, channel, piece);
    const uint32_t has_left = detail::load_has_left(c);
    if (channel == 0)
        announce_length(a, t, piece);
    detail::store_relaxed(
        reinterpret_cast<uint64_t *>(on_peer(a, t.peer, slot_of(r, channel, r.rank, piece))),
        reinterpret_cast<uint64_t>(t.buffer) - c.state.base);
    detail::fence_release(); /* the data, and where they lie; pairs with await_arrived there */
    detail::leave_if_given_up(c, has_left);
    detail::store_relaxed(on_peer(a, t.peer, r.arrived + slot_index(r, channel, r.rank, piece)),
                          offer_of(t, piece));
}

/* By the whole block: takes what has been offered. */
template <class A>
__device__ void read_offered(const A &a, const context &c, const gsh_nccl_transfer &t,
                             uint32_t channel, const stripe &s, uint64_t piece)
{
    const uint64_t off = detail::load_relaxed(
        reinterpret_cast<const uint64_t *>(slot_of(a.rings, channel, t.peer, piece)));
    const uint8_t *const there =
        on_peer(a, t.peer, detail::said_address(c, "ncclRecv", a.rings.pe_of[t.peer], off, s.end));
    copy_piece<detail::direction::get>(static_cast<char *>(t.buffer) + s.begin,
                                       reinterpret_cast<const char *>(there + s.begin),
                                       s.end - s.begin);
    gshmem::group_block().sync();
    if (threadIdx.x == signaller)
        tell_freed(a, c, channel, t.peer, piece + 1);
}

} // namespace transfer
} // namespace

#endif
