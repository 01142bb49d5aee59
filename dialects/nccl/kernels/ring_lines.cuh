/* SPDX-License-Identifier: Apache-2.0
 * Sends and receives in kernels: small transfers by lines, which are data that carry flags, and the
 * length that a receiver compares with its own (args.h). */
#ifndef GSH_NCCL_RING_LINES_CUH
#define GSH_NCCL_RING_LINES_CUH

#include "dialects/nccl/kernels/rings.cuh"

namespace
{
namespace transfer
{

typedef detail::words2 line;

__device__ line *lines_of(const gsh_nccl_rings &r, uint32_t channel, int sender, uint64_t piece)
{
    return reinterpret_cast<line *>(r.lines +
                                    slot_index(r, channel, sender, piece) * GSH_NCCL_LINES_BYTES);
}

__device__ bool has_come(const line &l, uint64_t flag)
{
    return l.low >> 32 == flag && l.high >> 32 == flag;
}

/* At most 8 bytes, at any address. */
__device__ uint64_t load_bytes(const char *p, uint32_t n)
{
    if (n == 8 && reinterpret_cast<uintptr_t>(p) % 8 == 0)
        return *reinterpret_cast<const uint64_t *>(p);
    uint64_t v = 0;
    GSHMEM_NO_UNROLL
    for (uint32_t i = 0; i < n; i++)
        v |= (uint64_t)(uint8_t)p[i] << 8 * i;
    return v;
}

__device__ void store_bytes(char *p, uint64_t v, uint32_t n)
{
    if (n == 8 && reinterpret_cast<uintptr_t>(p) % 8 == 0)
        *reinterpret_cast<uint64_t *>(p) = v;
    else
        GSHMEM_NO_UNROLL
    for (uint32_t i = 0; i < n; i++)
        p[i] = (char)(v >> 8 * i);
}

/* By one thread: announces the length of the transfer that begins with this piece of channel 0. */
template <class A>
__device__ void announce_length(const A &a, const gsh_nccl_transfer &t, uint64_t piece)
{
    line *there = on_peer(a, t.peer, lines_of(a.rings, 0, a.rings.rank, piece));
    const uint64_t flag = (uint64_t)(uint32_t)(piece + 1) << 32;
    /* pairs with the load of check_length there */
    detail::store_relaxed_words(there + GSH_NCCL_LENGTH_LINE,
                                {(uint32_t)t.bytes | flag, t.bytes >> 32 | flag});
}

/* Whether the sender has announced its length; a length other than this side's ends the job. */
template <class A>
__device__ bool check_length(const A &a, const context &c, const gsh_nccl_transfer &t,
                             uint64_t piece)
{
    const line l =
        detail::load_relaxed_words(lines_of(a.rings, 0, t.peer, piece) + GSH_NCCL_LENGTH_LINE);
    if (!has_come(l, (uint32_t)(piece + 1)))
        return false;
    const uint64_t its = (uint32_t)l.low | l.high << 32;
    if (its != t.bytes)
        detail::report(c, GSH_REPORT_COLL_DIFFERS, "ncclRecv", a.rings.pe_of[t.peer], 1, 0, t.bytes,
                       its, 0);
    return true;
}

/* By the whole block. Calls wait() between loading the data and storing them: the receiver has then
 * taken what the lines held before. */
template <class A, class Wait>
__device__ void send_lines(const A &a, const gsh_nccl_transfer &t, uint32_t channel,
                           const stripe &s, uint64_t piece, Wait wait)
{
    const char *source = static_cast<const char *>(t.buffer) + s.begin;
    const uint32_t bytes = (uint32_t)(s.end - s.begin);
    line *there = on_peer(a, t.peer, lines_of(a.rings, channel, a.rings.rank, piece));
    const uint64_t flag = (uint64_t)(uint32_t)(piece + 1) << 32;
    for (uint32_t i = threadIdx.x; 8 * i < bytes; i += blockDim.x) {
        const uint32_t rest = bytes - 8 * i;
        const uint64_t v = load_bytes(source + 8 * i, rest < 8 ? rest : 8);
        if (i == threadIdx.x)
            wait();
        /* pairs with the loads of receive_lines there */
        detail::store_relaxed_words(there + i, {(uint32_t)v | flag, v >> 32 | flag});
    }
    if (channel == 0 && threadIdx.x == blockDim.x - 1) { /* usually it has no data */
        if (8 * threadIdx.x >= bytes)
            wait();
        announce_length(a, t, piece);
    }
}

/* By the whole block. May wait for lines under way: the sender does not wait between two lines. */
template <class A>
__device__ void receive_lines(const A &a, const context &c, const gsh_nccl_transfer &t,
                              uint32_t channel, const stripe &s, uint64_t piece)
{
    char *dest = static_cast<char *>(t.buffer) + s.begin;
    const uint32_t bytes = (uint32_t)(s.end - s.begin);
    const line *here = lines_of(a.rings, channel, t.peer, piece);
    const uint64_t flag = (uint32_t)(piece + 1);
    if (channel == 0 && threadIdx.x == blockDim.x - 1) {
        detail::spin spin;
        while (!check_length(a, c, t, piece))
            spin.keep_polling(c, GSH_REPORT_WAIT_TIMEOUT, name, a.rings.pe_of[t.peer],
                              GSH_REPORT_CMP_AT(GSHMEM_CMP_EQ, t.site),
                              &here[GSH_NCCL_LENGTH_LINE].low, flag << 32, (uint64_t)0);
        spin.done();
    }
    for (uint32_t i = threadIdx.x; 8 * i < bytes; i += blockDim.x) {
        const uint32_t rest = bytes - 8 * i;
        detail::spin spin;
        line l = detail::load_relaxed_words(here + i);
        while (!has_come(l, flag)) {
            spin.keep_polling(c, GSH_REPORT_WAIT_TIMEOUT, name, a.rings.pe_of[t.peer],
                              GSH_REPORT_CMP_AT(GSHMEM_CMP_EQ, t.site), &here[i].low, flag << 32,
                              l.low);
            l = detail::load_relaxed_words(here + i);
        }
        spin.done();
        store_bytes(dest + 8 * i, (uint32_t)l.low | l.high << 32, rest < 8 ? rest : 8);
    }
    gshmem::group_block().sync();
    if (threadIdx.x == 0 && piece % 2 != 0)
        tell_freed(a, c, channel, t.peer, piece + 1);
}

} // namespace transfer
} // namespace

#endif
