/* SPDX-License-Identifier: Apache-2.0
 * Sends and receives in kernels: what a block does for its share of a launch's transfers. The wire
 * between two ranks is in args.h. Compiled for both devices, by kernels.cu. */
#ifndef GSH_NCCL_TRANSFER_CUH
#define GSH_NCCL_TRANSFER_CUH

#include "dialects/nccl/kernels/offers.cuh"
#include "dialects/nccl/kernels/own_copies.cuh"
#include "dialects/nccl/kernels/ring_lines.cuh"

namespace
{
namespace transfer
{

/* ---- a block with one path, to or from a rank of the LSA team ---- */

/* move(piece, offset, bytes) is for the whole block; before it await(piece) is for the waiter, and
 * after it tell(piece) for the signaller. Returns the next piece. */
template <class Move, class Await, class Tell>
__device__ uint64_t in_pieces(const stripe &s, uint32_t slot_bytes, uint64_t piece, Move move,
                              Await await, Tell tell)
{
    if (threadIdx.x == waiter)
        await(piece);
    gshmem::group_block().sync();
    for (uint64_t at = s.begin; at < s.end;) {
        const uint64_t bytes = s.end - at < slot_bytes ? s.end - at : slot_bytes;
        move(piece, at, bytes);
        if (threadIdx.x == signaller && at > s.begin)
            tell(piece - 1);
        if (threadIdx.x == waiter && at + bytes < s.end)
            await(piece + 1);
        gshmem::group_block().sync();
        at += bytes;
        piece++;
    }
    if (threadIdx.x == signaller)
        tell(piece - 1);
    return piece;
}

template <class A>
__device__ uint64_t send_pieces(const A &a, const context &c, const gsh_nccl_transfer &t,
                                uint32_t channel, const stripe &s, uint64_t piece)
{
    const gsh_nccl_rings &r = a.rings;
    const uint64_t first = piece;
    uint64_t freed = 0; /* the waiter's: at least so many are */
    return in_pieces(
        s, r.slot_bytes, piece,
        [&](uint64_t p, uint64_t at, uint64_t bytes) {
            copy_piece<detail::direction::put>(on_peer(a, t.peer, slot_of(r, channel, r.rank, p)),
                                               static_cast<const char *>(t.buffer) + at, bytes);
        },
        [&](uint64_t p) {
            if (freed < least_freed(r, p))
                freed = await_freed(c, r, t, channel, p);
        },
        [&](uint64_t p) {
            const uint32_t has_left = detail::load_has_left(c);
            if (channel == 0 && p == first)
                announce_length(a, t, p);
            detail::fence_release(); /* pairs with await_arrived there */
            detail::leave_if_given_up(c, has_left);
            detail::store_relaxed(on_peer(a, t.peer, r.arrived + slot_index(r, channel, r.rank, p)),
                                  arrival_of(t, p));
        });
}

/* Whether the piece is an offer. A piece of a transfer of another length ends the job, and so does
 * the length itself, which comes where pieces of this channel may not. */
template <class A>
__device__ bool await_arrived(const A &a, const context &c, const gsh_nccl_transfer &t,
                              uint32_t channel, uint64_t piece, bool is_first)
{
    const gsh_nccl_rings &r = a.rings;
    const uint64_t *word = r.arrived + slot_index(r, channel, t.peer, piece);
    const uint64_t expected = arrival_of(t, piece);
    bool is_offer = false;
    detail::spin spin;
    for (;;) {
        /* pairs with the fence of send_pieces, or of offer */
        const uint64_t seen = detail::load_awaited(word);
        if (seen == expected || seen == offer_of(t, piece)) {
            is_offer = seen != expected;
            break;
        }
        if (is_arrival(seen, piece))
            detail::report(c, GSH_REPORT_COLL_DIFFERS, "ncclRecv", r.pe_of[t.peer], 1, 0, t.bytes,
                           t.bytes >> 32 << 32 | seen >> 32, 0);
        if (channel == 0 && is_first)
            (void)check_length(a, c, t, piece);
        spin.keep_polling(c, GSH_REPORT_WAIT_TIMEOUT, name, r.pe_of[t.peer],
                          GSH_REPORT_CMP_AT(GSHMEM_CMP_EQ, t.site), word, expected, seen);
    }
    spin.done();
    detail::acquire_awaited();
    return is_offer;
}

template <class A>
__device__ uint64_t receive_pieces(const A &a, const context &c, const gsh_nccl_transfer &t,
                                   uint32_t channel, const stripe &s, uint64_t piece)
{
    __shared__ bool is_offer;
    const gsh_nccl_rings &r = a.rings;
    const uint64_t first = piece;
    if (threadIdx.x == waiter)
        is_offer = await_arrived(a, c, t, channel, first, true);
    gshmem::group_block().sync();
    if (is_offer) {
        read_offered(a, c, t, channel, s, first);
        return first + 1;
    }
    return in_pieces(
        s, r.slot_bytes, piece,
        [&](uint64_t p, uint64_t at, uint64_t bytes) {
            copy_piece<detail::direction::get>(static_cast<char *>(t.buffer) + at,
                                               slot_of(r, channel, t.peer, p), bytes);
        },
        [&](uint64_t p) {
            if (p != first)
                await_arrived(a, c, t, channel, p, false);
        },
        [&](uint64_t p) { tell_freed(a, c, channel, t.peer, p + 1); });
}

/* The row's part of the channel. Such a block may wait, since nothing on this rank waits for it. If
 * only some of its threads find the kernel given up, what these have not copied is not told of. */
template <class A>
__device__ void run_alone(const A &a, const context &c, uint32_t row, uint32_t channel)
{
    const uint32_t has_left = detail::load_has_left(c); /* early */
    const gsh_nccl_rings &r = a.rings;
    const gsh_nccl_transfer &one = a.transfers[a.row_begin[row]];
    uint64_t *count = counter(r, one.is_send ? r.sent : r.taken, channel, one.peer);
    const uint64_t first = *count;
    uint64_t piece = first;
    stripe s = {};
    uint32_t offered = 0;     /* the last one, and */
    uint64_t least_taken = 0; /* the pieces so far, with that one; 0: there is none */
    /* Threads that see this differ: those that go on must not wait for the others at a barrier. */
    detail::leave_if_given_up(c, has_left);
    for (uint32_t at = next_of(a, row, channel, a.row_begin[row], &s); at < a.row_begin[row + 1];
         at = next_of(a, row, channel, at + 1, &s)) {
        const gsh_nccl_transfer &t = a.transfers[at];
        if (t.is_offered) {
            if (threadIdx.x == signaller)
                offer(a, c, t, channel, piece);
            offered = at;
            least_taken = ++piece;
            continue;
        }
        if (!has_lines(a, t)) {
            piece = t.is_send ? send_pieces(a, c, t, channel, s, piece)
                              : receive_pieces(a, c, t, channel, s, piece);
            continue;
        }
        if (t.is_send)
            send_lines(a, t, channel, s, piece, [&] { await_freed(c, r, t, channel, piece); });
        else
            receive_lines(a, c, t, channel, s, piece);
        piece++;
    }
    if (least_taken != 0 && threadIdx.x == signaller) /* the program may then change the source */
        await_taken(c, r, a.transfers[offered], channel, least_taken);
    if (piece != first) {
        gshmem::group_block().sync(); /* all threads have read the count */
        if (threadIdx.x == 0)
            *count = piece;
    }
}

/* ---- any number of paths ---- */

/* By thread 0: what this path waits for, and whether it is there. */
struct look {
    const uint64_t *word;
    uint64_t expected, seen;
    int cmp; /* of seen with expected */
    bool is_there;
};

/* For a send: whether the slot is free. */
__device__ look look_at_freed(const context &c, const gsh_nccl_rings &r, uint32_t channel, int peer,
                              uint64_t piece)
{
    const uint64_t *word = counter(r, r.freed, channel, peer);
    const uint64_t least = least_freed(r, piece), seen = gshmem::signal_fetch(c, word);
    return {word, least, seen, GSHMEM_CMP_GE, seen >= least};
}

/* For a receive: whether its piece, or an offer, has arrived. One of a transfer of another length
 * ends the job. */
__device__ look look_at_arrived(const context &c, const gsh_nccl_rings &r,
                                const gsh_nccl_transfer &t, uint32_t channel, uint64_t piece)
{
    const uint64_t *word = r.arrived + slot_index(r, channel, t.peer, piece);
    const uint64_t expected = arrival_of(t, piece), seen = gshmem::signal_fetch(c, word);
    const bool is_there = is_arrival(seen, piece);
    if (is_there && seen != expected && seen != offer_of(t, piece))
        detail::report(c, GSH_REPORT_COLL_DIFFERS, "ncclRecv", r.pe_of[t.peer], 1, 0, t.bytes,
                       t.bytes >> 32 << 32 | seen >> 32, 0);
    return {word, expected, seen, GSHMEM_CMP_EQ, is_there};
}

/* The same for a receive by lines: the first line's flag. */
__device__ look look_at_lines(const gsh_nccl_rings &r, uint32_t channel, int peer, uint64_t piece)
{
    const line *first = lines_of(r, channel, peer, piece);
    const bool is_there = has_come(detail::load_relaxed_words(first), (uint32_t)(piece + 1));
    return {&first->low, 1, is_there, GSHMEM_CMP_GE, is_there};
}

/* By the whole block: moves one piece. */
__device__ void move_piece(const context &c, const gsh_nccl_rings &r, const gsh_nccl_transfer &t,
                           uint32_t channel, uint64_t begin, uint64_t piece, uint64_t bytes)
{
    const int pe = r.pe_of[t.peer];
    char *mine = static_cast<char *>(t.buffer) + begin;
    if (t.is_send) {
        /* A far piece may overtake another: each has its slot's word. */
        gshmem::put_signal(c, gshmem::group_block(), slot_of(r, channel, r.rank, piece),
                           static_cast<const char *>(mine), bytes,
                           r.arrived + slot_index(r, channel, r.rank, piece), arrival_of(t, piece),
                           GSHMEM_SIGNAL_SET, pe, "ncclSend");
        return;
    }
    gshmem::get(c, gshmem::group_block(), mine,
                static_cast<const char *>(slot_of(r, channel, t.peer, piece)), bytes, c.state.my_pe,
                "ncclRecv");
    if (threadIdx.x == 0) {
        gshmem::fence(c); /* the slot has been read before the sender is told */
        gshmem::signal_op(c, counter(r, r.freed, channel, r.rank), piece + 1, GSHMEM_SIGNAL_SET, pe,
                          "ncclRecv");
    }
}

/* By thread 0: the next path, from `from` on, that can move a piece; n_paths: all are done. Waits
 * until one can. The other threads wait meanwhile at the block's barrier. */
template <class A, class RowOf, class ChannelOf>
__device__ uint32_t choose_path(const A &a, const context &c, const path *paths, uint32_t n_paths,
                                uint32_t from, RowOf row_of, ChannelOf channel_of)
{
    const gsh_nccl_rings &r = a.rings;
    detail::spin spin;
    for (;;) {
        look in_vain = {};
        int in_vain_of = -1;
        for (uint32_t k = 0; k < n_paths; k++) {
            const uint32_t i = from + k < n_paths ? from + k : from + k - n_paths;
            const uint32_t row = row_of(i), channel = channel_of(i);
            const path p = paths[i];
            if (p.at == a.row_begin[row + 1])
                continue;
            const gsh_nccl_transfer &t = a.transfers[p.at];
            const look l = t.is_send         ? look_at_freed(c, r, channel, t.peer, p.piece)
                           : has_lines(a, t) ? look_at_lines(r, channel, t.peer, p.piece)
                                             : look_at_arrived(c, r, t, channel, p.piece);
            if (!t.is_send && channel == 0 && p.next == 0 && is_in_lsa(a, t))
                (void)check_length(a, c, t, p.piece);
            if (l.is_there) {
                spin.done();
                return i;
            }
            in_vain = l;
            in_vain.cmp = GSH_REPORT_CMP_AT(l.cmp, t.site);
            in_vain_of = t.peer;
        }
        if (in_vain_of < 0) {
            spin.done();
            return n_paths;
        }
        spin.keep_polling(c, GSH_REPORT_WAIT_TIMEOUT, name, r.pe_of[in_vain_of], in_vain.cmp,
                          in_vain.word, in_vain.expected, in_vain.seen);
    }
}

/* The block's paths take turns, and no path waits during its turn: whatever other ranks wait for
 * first makes progress. paths: space for them. */
template <class A>
__device__ void run_interleaved(const A &a, const context &c, path *paths, uint32_t n_paths)
{
    __shared__ uint32_t chosen;
    if (detail::is_given_up(c)) /* all threads alike: thread 0 looks for the others */
        return;
    const gsh_nccl_rings &r = a.rings;
    const uint32_t n_blocks = path_blocks(a);
    auto row_of = [&](uint32_t i) { return (blockIdx.x + i * n_blocks) / a.n_channels; };
    auto channel_of = [&](uint32_t i) { return (blockIdx.x + i * n_blocks) % a.n_channels; };
    for (uint32_t i = threadIdx.x; i < n_paths; i += blockDim.x) {
        const uint32_t row = row_of(i), channel = channel_of(i);
        const gsh_nccl_transfer &t = a.transfers[a.row_begin[row]];
        stripe s = {};
        const uint32_t at = next_of(a, row, channel, a.row_begin[row], &s);
        paths[i] = {*counter(r, t.is_send ? r.sent : r.taken, channel, t.peer), s.begin, s.end, at};
    }
    gshmem::group_block().sync();
    for (uint32_t from = 0;;) {
        if (threadIdx.x == 0)
            chosen = choose_path(a, c, paths, n_paths, from, row_of, channel_of);
        gshmem::group_block().sync();
        const uint32_t i = chosen;
        if (i == n_paths)
            break;
        from = i + 1 < n_paths ? i + 1 : 0;
        const uint32_t row = row_of(i), channel = channel_of(i);
        const path p = paths[i];
        const gsh_nccl_transfer &t = a.transfers[p.at];
        const bool by_lines = has_lines(a, t);
        const stripe rest = {p.next, p.end};
        /* thread 0 has seen the word, and it stays as it is until the piece is taken */
        const bool is_offer =
            !t.is_send && !by_lines &&
            detail::load_relaxed(r.arrived + slot_index(r, channel, t.peer, p.piece)) ==
                offer_of(t, p.piece);
        uint64_t bytes = p.end - p.next;
        if (!by_lines && !is_offer && bytes > r.slot_bytes)
            bytes = r.slot_bytes;
        if (by_lines && t.is_send)
            send_lines(a, t, channel, rest, p.piece, [] {}); /* there is room */
        else if (by_lines)
            receive_lines(a, c, t, channel, rest, p.piece);
        else if (is_offer)
            read_offered(a, c, t, channel, rest, p.piece);
        else {
            /* the put's signal has a fence before it */
            if (threadIdx.x == 0 && t.is_send && channel == 0 && p.next == 0 && is_in_lsa(a, t))
                announce_length(a, t, p.piece);
            move_piece(c, r, t, channel, p.next, p.piece, bytes);
        }
        gshmem::group_block().sync(); /* all threads have read the path and what is chosen */
        if (threadIdx.x == 0) {
            stripe s = {p.next + bytes, p.end};
            const uint32_t at = s.begin < s.end ? p.at : next_of(a, row, channel, p.at + 1, &s);
            paths[i] = {p.piece + 1, s.begin, s.end, at};
            *counter(r, t.is_send ? r.sent : r.taken, channel, t.peer) = p.piece + 1;
        }
    }
}

/* ---- a launch ---- */

/* A block's part of a launch. Its paths are every path_blocks-th of all: row by row, one per
 * channel. paths: space for them. */
template <class A> __device__ void run(const A &a, path *paths)
{
    const context c = {*a.state, 0};
    const uint32_t n_blocks = path_blocks(a);
    if (blockIdx.x >= n_blocks)
        return copy_own(a, blockIdx.x - n_blocks, gridDim.x - n_blocks);
    const uint32_t n_paths = (a.n_rows * a.n_channels - blockIdx.x + n_blocks - 1) / n_blocks;
    const uint32_t row = blockIdx.x / a.n_channels;
    if (n_paths == 1 && is_in_lsa(a, a.transfers[a.row_begin[row]]))
        run_alone(a, c, row, blockIdx.x % a.n_channels);
    else
        run_interleaved(a, c, paths, n_paths);
}

} // namespace transfer
} // namespace

#endif
