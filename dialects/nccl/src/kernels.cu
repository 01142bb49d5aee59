/* SPDX-License-Identifier: Apache-2.0
 * This dialect's own kernels: scaling of a reduction's input, and sends and receives. The build
 * compiles it twice; GSH_NCCL_KERNELS names the table. */
#include "dialects/nccl/src/kernels.h"
#include <cuda_fp8.h>
#include <gshmem_device.cuh>
#include "dialects/nccl/include/nccl.h"

namespace
{

#if defined(__CUDACC__)
constexpr unsigned threads = 512, max_blocks = 64;
constexpr unsigned small_threads = GSH_NCCL_SMALL_BYTES / 8;
#else
constexpr unsigned threads = 32, max_blocks = 4, small_threads = threads;
#endif

/* ---- scaling ---- */

/* The type in which numbers T are computed. */
template <class T> struct number {
    typedef T type;
};
template <> struct number<__half> {
    typedef float type;
};
template <> struct number<__nv_bfloat16> {
    typedef float type;
};
template <> struct number<__nv_fp8_e4m3> {
    typedef float type;
};
template <> struct number<__nv_fp8_e5m2> {
    typedef float type;
};

template <class T, class To = T> __device__ void scale_elements(const gsh_nccl_scale &a)
{
    typedef typename number<T>::type V;
    To *dest = static_cast<To *>(a.dest);
    const T *source = static_cast<const T *>(a.source);
    T bits;
    memcpy(static_cast<void *>(&bits), a.scalar_at != nullptr ? a.scalar_at : &a.scalar,
           sizeof bits);
    const V by = static_cast<V>(bits);
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.nelems; i += step) {
        const V x = static_cast<V>(source[i]);
        dest[i] = static_cast<To>(static_cast<V>(a.is_division ? x / by : x * by));
    }
}

__global__ void scale_kernel(gsh_nccl_scale a)
{
    switch (a.type) {
    case ncclInt8:
        return scale_elements<int8_t>(a);
    case ncclUint8:
        return scale_elements<uint8_t>(a);
    case ncclInt32:
        return scale_elements<int32_t>(a);
    case ncclUint32:
        return scale_elements<uint32_t>(a);
    case ncclInt64:
        return scale_elements<int64_t>(a);
    case ncclUint64:
        return scale_elements<uint64_t>(a);
    case ncclFloat16:
        return scale_elements<__half>(a);
    case ncclBfloat16:
        return scale_elements<__nv_bfloat16>(a);
    case ncclFloat8e4m3:
        return scale_elements<__nv_fp8_e4m3, float>(a);
    case ncclFloat8e5m2:
        return scale_elements<__nv_fp8_e5m2, float>(a);
    case ncclFloat32:
        return a.dest_type == ncclFloat8e4m3   ? scale_elements<float, __nv_fp8_e4m3>(a)
               : a.dest_type == ncclFloat8e5m2 ? scale_elements<float, __nv_fp8_e5m2>(a)
                                               : scale_elements<float>(a);
    default:
        return scale_elements<double>(a);
    }
}

/* ---- sends and receives ---- */

/* A row's part of one channel, and its progress. A block's lanes take turns, and no lane waits
 * during its turn: whatever other ranks wait for first makes progress. */
struct lane {
    uint64_t piece, done_bytes;
    uint32_t at; /* the transfer; past the row's last one: finished */
};

/* A channel's share of a transfer. */
struct stripe {
    uint64_t begin, bytes;
};

__device__ stripe stripe_of(const gsh_nccl_rings &r, const gsh_nccl_transfer &t, uint32_t channel)
{
    const uint64_t wanted = (t.bytes + GSH_NCCL_CHANNEL_BYTES - 1) / GSH_NCCL_CHANNEL_BYTES;
    const uint64_t n = wanted < r.n_channels ? wanted : r.n_channels;
    const uint64_t each = ((t.bytes + n - 1) / n + 15) / 16 * 16, begin = each * channel;
    if (begin >= t.bytes)
        return {0, 0};
    return {begin, t.bytes - begin < each ? t.bytes - begin : each};
}

/* The first transfer from `at` on in which the channel has a share; or the row's end. */
template <class A>
__device__ uint32_t next_of(const A &a, uint32_t row, uint32_t channel, uint32_t at)
{
    while (at < a.row_begin[row + 1] && stripe_of(a.rings, a.transfers[at], channel).bytes == 0)
        at++;
    return at;
}

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

/* ---- small ones: data that carry flags (kernels.h) ---- */

template <class A> __device__ bool is_in_lsa(const A &a, const gsh_nccl_transfer &t)
{
    return (uint32_t)(t.peer - a.lsa_first) < (uint32_t)a.lsa_size;
}

template <class A> __device__ bool is_small(const A &a, const gsh_nccl_transfer &t)
{
    return t.bytes <= GSH_NCCL_SMALL_BYTES && is_in_lsa(a, t);
}

template <class A, class T> __device__ T *on_peer(const A &a, int peer, T *symmetric)
{
    const int64_t away = (int64_t)(peer - a.rings.rank) * a.lsa_stride;
    return gshmem::detail::as_global(
        reinterpret_cast<T *>(reinterpret_cast<uint64_t>(symmetric) + (uint64_t)away));
}

typedef gshmem::detail::words2 line;

__device__ line *lines_of(const gsh_nccl_rings &r, int sender, uint64_t piece)
{
    return reinterpret_cast<line *>(
        r.lines + ((uint64_t)(uint32_t)sender * r.n_slots + (piece & (r.n_slots - 1))) *
                      GSH_NCCL_LINES_BYTES);
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
    line *there = on_peer(a, t.peer, lines_of(a.rings, a.rings.rank, piece));
    const uint64_t flag = (uint64_t)(uint32_t)(piece + 1) << 32;
    /* pairs with the load of check_length there */
    gshmem::detail::store_relaxed_words(there + GSH_NCCL_LENGTH_LINE,
                                        {(uint32_t)t.bytes | flag, t.bytes >> 32 | flag});
}

/* Whether the sender has announced its length; a length other than this side's ends the job. */
template <class A>
__device__ bool check_length(const A &a, const gshmem::context &c, const gsh_nccl_transfer &t,
                             uint64_t piece)
{
    const line l =
        gshmem::detail::load_relaxed_words(lines_of(a.rings, t.peer, piece) + GSH_NCCL_LENGTH_LINE);
    if (!has_come(l, (uint32_t)(piece + 1)))
        return false;
    const uint64_t its = (uint32_t)l.low | l.high << 32;
    if (its != t.bytes)
        gshmem::detail::report(c, GSH_REPORT_COLL_DIFFERS, "ncclRecv", a.rings.pe_of[t.peer], 1, 0,
                               t.bytes, its, 0);
    return true;
}

/* By the whole block. Calls wait() between loading the data and storing them: the receiver has then
 * taken what the lines held before. */
template <class A, class Wait>
__device__ void send_small(const A &a, const gsh_nccl_transfer &t, uint64_t piece, Wait wait)
{
    const char *source = static_cast<const char *>(t.buffer);
    line *there = on_peer(a, t.peer, lines_of(a.rings, a.rings.rank, piece));
    const uint64_t flag = (uint64_t)(uint32_t)(piece + 1) << 32;
    for (uint32_t i = threadIdx.x; 8 * i < t.bytes; i += blockDim.x) {
        const uint32_t rest = (uint32_t)t.bytes - 8 * i;
        const uint64_t v = load_bytes(source + 8 * i, rest < 8 ? rest : 8);
        if (i == threadIdx.x)
            wait();
        /* pairs with the loads of receive_small there */
        gshmem::detail::store_relaxed_words(there + i, {(uint32_t)v | flag, v >> 32 | flag});
    }
    if (threadIdx.x == blockDim.x - 1) { /* usually it has no data */
        if (8 * threadIdx.x >= t.bytes)
            wait();
        announce_length(a, t, piece);
    }
}

/* By the whole block. May wait for lines under way: the sender does not wait between two lines. */
template <class A>
__device__ void receive_small(const A &a, const gshmem::context &c, const gsh_nccl_transfer &t,
                              uint64_t piece)
{
    char *dest = static_cast<char *>(t.buffer);
    const line *here = lines_of(a.rings, t.peer, piece);
    const uint64_t flag = (uint32_t)(piece + 1);
    if (threadIdx.x == blockDim.x - 1) {
        gshmem::detail::spin spin;
        while (!check_length(a, c, t, piece))
            spin.turn(c, GSH_REPORT_WAIT_TIMEOUT, "ncclSend or ncclRecv", a.rings.pe_of[t.peer],
                      GSHMEM_CMP_EQ, &here[GSH_NCCL_LENGTH_LINE].low, flag << 32, (uint64_t)0);
        spin.done();
    }
    for (uint32_t i = threadIdx.x; 8 * i < t.bytes; i += blockDim.x) {
        const uint32_t rest = (uint32_t)t.bytes - 8 * i;
        gshmem::detail::spin spin;
        line l = gshmem::detail::load_relaxed_words(here + i);
        while (!has_come(l, flag)) {
            spin.turn(c, GSH_REPORT_WAIT_TIMEOUT, "ncclSend or ncclRecv", a.rings.pe_of[t.peer],
                      GSHMEM_CMP_EQ, &here[i].low, flag << 32, l.low);
            l = gshmem::detail::load_relaxed_words(here + i);
        }
        spin.done();
        store_bytes(dest + 8 * i, (uint32_t)l.low | l.high << 32, rest < 8 ? rest : 8);
    }
    __syncthreads();
    if (threadIdx.x == 0 && piece % 2 != 0) {
        gshmem::detail::fence_release(); /* all has been read before the sender is told */
        gshmem::detail::store_relaxed(on_peer(a, t.peer, a.rings.freed + a.rings.rank), piece + 1);
    }
}

/* The only lane of a block whose row is one small transfer: it may wait, since nothing on this rank
 * waits for the block. No load depends on another before the data leave. */
template <class A>
__device__ void transfer_small(const A &a, const gshmem::context &c, const gsh_nccl_transfer &t)
{
    const gsh_nccl_rings &r = a.rings;
    uint64_t *count = (t.is_send ? r.sent : r.taken) + t.peer;
    const uint64_t piece = *count;
    if (t.is_send) {
        send_small(a, t, piece, [&] {
            /* pairs with the fence of receive_small, or of move_piece, there */
            gshmem::detail::spin_on(
                c, r.freed + t.peer,
                [](const uint64_t *p) { return gshmem::detail::load_awaited(p); },
                [=](uint64_t freed) { return piece < freed + r.n_slots; }, GSH_REPORT_WAIT_TIMEOUT,
                "ncclSend or ncclRecv", -1, GSHMEM_CMP_GE, piece + 1 - r.n_slots);
            gshmem::detail::acquire_awaited();
        });
        __syncthreads();
    } else {
        receive_small(a, c, t, piece);
    }
    if (threadIdx.x == 0)
        *count = piece + 1;
}

/* ---- any number of them ---- */

/* By thread 0: what this lane waits for, and whether it is there. */
struct look {
    const uint64_t *word;
    uint64_t expected, seen;
    int cmp; /* of seen with expected */
    bool is_there;
};

/* For a send: whether the slot is free. */
__device__ look look_at_freed(const gshmem::context &c, const gsh_nccl_rings &r, uint32_t channel,
                              int peer, uint64_t piece)
{
    const uint64_t *word = counter(r, r.freed, channel, peer);
    const uint64_t least = piece < r.n_slots ? 0 : piece + 1 - r.n_slots;
    const uint64_t seen = gshmem::signal_fetch(c, word);
    return {word, least, seen, GSHMEM_CMP_GE, seen >= least};
}

/* For a receive: whether its piece has arrived. One of a transfer of another length ends the job.
 */
__device__ look look_at_arrived(const gshmem::context &c, const gsh_nccl_rings &r,
                                const gsh_nccl_transfer &t, uint32_t channel, uint64_t piece)
{
    const uint64_t *word = r.arrived + slot_index(r, channel, t.peer, piece);
    const uint64_t expected = arrival_of(t, piece), seen = gshmem::signal_fetch(c, word);
    const bool is_there = (uint32_t)seen == (uint32_t)expected;
    if (is_there && seen != expected)
        gshmem::detail::report(c, GSH_REPORT_COLL_DIFFERS, "ncclRecv", r.pe_of[t.peer], 1, 0,
                               t.bytes, t.bytes >> 32 << 32 | seen >> 32, 0);
    return {word, expected, seen, GSHMEM_CMP_EQ, is_there};
}

/* The same for a small receive: the first line's flag. */
__device__ look look_at_lines(const gsh_nccl_rings &r, int peer, uint64_t piece)
{
    const line *first = lines_of(r, peer, piece);
    const bool is_there =
        has_come(gshmem::detail::load_relaxed_words(first), (uint32_t)(piece + 1));
    return {&first->low, 1, is_there, GSHMEM_CMP_GE, is_there};
}

/* By the whole block: moves one piece. */
__device__ void move_piece(const gshmem::context &c, const gsh_nccl_rings &r,
                           const gsh_nccl_transfer &t, uint32_t channel, uint64_t begin,
                           uint64_t piece, uint64_t bytes)
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

/* lanes: space for this block's share of all lanes: row by row, one per channel. */
template <class A> __device__ void run_transfers(const A &a, lane *lanes)
{
    __shared__ bool is_ready;
    const gshmem::context c = {*a.state, 0};
    const gsh_nccl_rings &r = a.rings;
    const uint32_t n_all = a.n_rows * a.n_channels;
    const uint32_t n_lanes = (n_all - blockIdx.x + gridDim.x - 1) / gridDim.x;
    if (a.n_channels == 1 && n_lanes == 1) {
        const uint32_t first = a.row_begin[blockIdx.x];
        if (a.row_begin[blockIdx.x + 1] == first + 1 && is_small(a, a.transfers[first]))
            return transfer_small(a, c, a.transfers[first]);
    }
    auto row_of = [&](uint32_t i) { return (blockIdx.x + i * gridDim.x) / a.n_channels; };
    auto channel_of = [&](uint32_t i) { return (blockIdx.x + i * gridDim.x) % a.n_channels; };
    for (uint32_t i = threadIdx.x; i < n_lanes; i += blockDim.x) {
        const uint32_t row = row_of(i), channel = channel_of(i);
        const gsh_nccl_transfer &t = a.transfers[a.row_begin[row]];
        lanes[i] = {*counter(r, t.is_send ? r.sent : r.taken, channel, t.peer), 0,
                    next_of(a, row, channel, a.row_begin[row])};
    }
    __syncthreads();
    gshmem::detail::spin spin;
    for (uint32_t n_open = 1; n_open > 0;) {
        n_open = 0;
        bool has_moved = false;
        look in_vain = {};
        int in_vain_of = -1;
        for (uint32_t i = 0; i < n_lanes; i++) {
            const uint32_t row = row_of(i), channel = channel_of(i);
            const lane p = lanes[i];
            if (p.at == a.row_begin[row + 1])
                continue;
            n_open++;
            const gsh_nccl_transfer &t = a.transfers[p.at];
            const bool has_lines = is_small(a, t);
            if (threadIdx.x == 0) {
                const look l = t.is_send   ? look_at_freed(c, r, channel, t.peer, p.piece)
                               : has_lines ? look_at_lines(r, t.peer, p.piece)
                                           : look_at_arrived(c, r, t, channel, p.piece);
                is_ready = l.is_there;
                if (!t.is_send && channel == 0 && p.done_bytes == 0 && is_in_lsa(a, t))
                    (void)check_length(a, c, t, p.piece);
                if (!l.is_there) {
                    in_vain = l;
                    in_vain_of = t.peer;
                }
            }
            __syncthreads();
            if (is_ready) {
                const stripe s = stripe_of(r, t, channel);
                const uint64_t rest = s.bytes - p.done_bytes;
                const uint64_t bytes = has_lines || rest < r.slot_bytes ? rest : r.slot_bytes;
                if (has_lines && t.is_send)
                    send_small(a, t, p.piece, [] {}); /* there is room */
                else if (has_lines)
                    receive_small(a, c, t, p.piece);
                else {
                    /* the put's signal has a fence before it */
                    if (threadIdx.x == 0 && t.is_send && channel == 0 && p.done_bytes == 0 &&
                        is_in_lsa(a, t))
                        announce_length(a, t, p.piece);
                    move_piece(c, r, t, channel, s.begin + p.done_bytes, p.piece, bytes);
                }
                has_moved = true;
                if (threadIdx.x == 0) {
                    const bool is_end = bytes == rest;
                    lanes[i] = {p.piece + 1, is_end ? 0 : p.done_bytes + bytes,
                                is_end ? next_of(a, row, channel, p.at + 1) : p.at};
                    *counter(r, t.is_send ? r.sent : r.taken, channel, t.peer) = p.piece + 1;
                }
            }
            __syncthreads();
        }
        if (threadIdx.x == 0 && n_open > 0 && !has_moved)
            spin.turn(c, GSH_REPORT_WAIT_TIMEOUT, "ncclSend or ncclRecv", r.pe_of[in_vain_of],
                      in_vain.cmp, in_vain.word, in_vain.expected, in_vain.seen);
    }
    spin.done();
}

/* ---- where a launch has its transfers ---- */

/* In its arguments, which hold 4 KiB; the more there are, the longer the launch takes. */
template <unsigned N> struct transfers_in_arguments : gsh_nccl_transfers_head {
    static constexpr unsigned most = N;
    uint8_t row_begin[N + 1];
    gsh_nccl_transfer transfers[N];
};
typedef transfers_in_arguments<15> few_transfers;
typedef transfers_in_arguments<144> some_transfers;

/* In memory, in this order, each part at a multiple of 8 bytes. */
struct many_transfers : gsh_nccl_transfers_head {
    const gsh_nccl_transfer *transfers;
    const uint32_t *row_begin;
    lane *lanes; /* of all blocks */
};

__host__ __device__ constexpr uint32_t lanes_of_block(uint32_t n_lanes, uint32_t n_blocks)
{
    return (n_lanes + n_blocks - 1) / n_blocks;
}

template <class A> __device__ void run_in_arguments(const A &a)
{
    alignas(16) __shared__ lane lanes[lanes_of_block(A::most * GSH_NCCL_MAX_CHANNELS, max_blocks)];
    run_transfers(a, lanes);
}

__global__ void __launch_bounds__(threads) few_transfers_kernel(few_transfers a)
{
    run_in_arguments(a);
}

__global__ void __launch_bounds__(threads) some_transfers_kernel(some_transfers a)
{
    run_in_arguments(a);
}

__global__ void __launch_bounds__(threads) many_transfers_kernel(many_transfers a)
{
    run_transfers(a, a.lanes + blockIdx.x * lanes_of_block(a.n_rows * a.n_channels, gridDim.x));
}

/* Writes words to memory through a launch's arguments, so graphs capture them, too. */
struct words_to_load {
    uint64_t *dest;
    uint32_t n, reserved;
    uint64_t words[500];
};

__global__ void load_kernel(words_to_load a)
{
    for (uint32_t i = threadIdx.x; i < a.n; i += blockDim.x)
        a.dest[i] = a.words[i];
}

/* ---- what ranks must agree on ---- */

#if defined(GSHMEM_CHECKS)
__global__ void alike_kernel(gsh_nccl_alike a)
{
    const gshmem::context c = {*a.state, 0};
    uint64_t *const all = a.words + GSH_NCCL_ALIKE_FIELDS;
    for (uint32_t f = threadIdx.x; f < GSH_NCCL_ALIKE_FIELDS; f += blockDim.x)
        a.words[f] = a.values[f];
    __syncthreads();
    gshmem::fcollectmem(c, gshmem::group_block(), a.team, all, a.words, sizeof a.values);
    const auto k = gshmem::detail::begin_coll(c, a.team, 0, "");
    for (int i = (int)threadIdx.x; i < k.n * GSH_NCCL_ALIKE_FIELDS; i += (int)blockDim.x) {
        const int f = i % GSH_NCCL_ALIKE_FIELDS, member = i / GSH_NCCL_ALIKE_FIELDS;
        auto named = k;
        named.name = a.names[f];
        if (all[i] != a.values[f])
            gshmem::detail::report_difference(named, member, 2, a.values[f], all[i]);
    }
}

int launch_compare(const gsh_nccl_alike *a, gshmemx_stream_t stream)
{
    return (int)gshmem_launch(alike_kernel, dim3(1), dim3(32), 0, stream, *a);
}
#else
int launch_compare(const gsh_nccl_alike *, gshmemx_stream_t)
{
    return 0;
}
#endif

/* ---- launches ---- */

int launch_scale(const gsh_nccl_scale *a, gshmemx_stream_t stream)
{
    const uint64_t blocks = (a->nelems + threads - 1) / threads;
    const unsigned grid = blocks < 1 ? 1 : blocks < max_blocks ? (unsigned)blocks : max_blocks;
    return (int)gshmem_launch(scale_kernel, dim3(grid), dim3(threads), 0, stream, *a);
}

/* For a launch of transfers: what the arguments say, and its shape. */
struct shape {
    uint32_t n, n_lanes;
    dim3 grid, block;
};

shape shape_of(const gsh_nccl_transfers *a)
{
    const uint32_t n = a->row_begin[a->head.n_rows];
    const uint32_t n_lanes = a->head.n_rows * a->head.n_channels;
    unsigned n_threads = small_threads;
    for (uint32_t i = 0; i < n && n_threads < threads; i++)
        n_threads = a->transfers[i].bytes <= GSH_NCCL_SMALL_BYTES ? n_threads : threads;
    return {n, n_lanes, dim3(n_lanes < max_blocks ? n_lanes : max_blocks), dim3(n_threads)};
}

template <class A>
int launch_in_arguments(void (*kernel)(A), const gsh_nccl_transfers *a, const shape &s,
                        gshmemx_stream_t stream)
{
    A args;
    static_cast<gsh_nccl_transfers_head &>(args) = a->head;
    for (uint32_t i = 0; i <= a->head.n_rows; i++)
        args.row_begin[i] = (uint8_t)a->row_begin[i];
    memcpy(args.transfers, a->transfers, s.n * sizeof *args.transfers);
    return (int)gshmem_launch(kernel, s.grid, s.block, 0, stream, args);
}

constexpr size_t words_of(size_t bytes)
{
    return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
}

int launch_load(uint64_t *dest, const void *source, size_t bytes, gshmemx_stream_t stream)
{
    words_to_load args = {};
    int r = 0;
    for (size_t done = 0; r == 0 && done < bytes; done += sizeof args.words) {
        const size_t rest = bytes - done, n = rest < sizeof args.words ? rest : sizeof args.words;
        args.dest = dest + done / sizeof(uint64_t);
        args.n = (uint32_t)words_of(n);
        memcpy(args.words, static_cast<const char *>(source) + done, n);
        r = (int)gshmem_launch(load_kernel, dim3(1), dim3(small_threads), 0, stream, args);
    }
    return r;
}

size_t transfer_memory(const gsh_nccl_transfers *a)
{
    const shape s = shape_of(a);
    if (s.n <= some_transfers::most)
        return 0;
    const size_t lanes = (size_t)lanes_of_block(s.n_lanes, s.grid.x) * s.grid.x;
    return sizeof(uint64_t) *
           (words_of(s.n * sizeof(gsh_nccl_transfer)) +
            words_of((a->head.n_rows + 1) * sizeof(uint32_t)) + words_of(lanes * sizeof(lane)));
}

int launch_many(const gsh_nccl_transfers *a, const shape &s, gshmemx_stream_t stream)
{
    many_transfers args;
    const size_t bytes = s.n * sizeof *a->transfers;
    const size_t rows_bytes = (a->head.n_rows + 1) * sizeof *a->row_begin;
    uint64_t *const list = static_cast<uint64_t *>(a->memory);
    uint64_t *const rows = list + words_of(bytes);
    static_cast<gsh_nccl_transfers_head &>(args) = a->head;
    args.transfers = reinterpret_cast<const gsh_nccl_transfer *>(list);
    args.row_begin = reinterpret_cast<const uint32_t *>(rows);
    args.lanes = reinterpret_cast<lane *>(rows + words_of(rows_bytes));
    int r = launch_load(list, a->transfers, bytes, stream);
    if (r == 0)
        r = launch_load(rows, a->row_begin, rows_bytes, stream);
    return r != 0 ? r : (int)gshmem_launch(many_transfers_kernel, s.grid, s.block, 0, stream, args);
}

int launch_transfer(const gsh_nccl_transfers *a, gshmemx_stream_t stream)
{
    const shape s = shape_of(a);
    return s.n <= few_transfers::most    ? launch_in_arguments(few_transfers_kernel, a, s, stream)
           : s.n <= some_transfers::most ? launch_in_arguments(some_transfers_kernel, a, s, stream)
                                         : launch_many(a, s, stream);
}

int prepare()
{
    int r = 0;
#if defined(__CUDACC__)
    const void *const all[] = {
        (const void *)scale_kernel,
        (const void *)few_transfers_kernel,
        (const void *)some_transfers_kernel,
        (const void *)many_transfers_kernel,
        (const void *)load_kernel,
#if defined(GSHMEM_CHECKS)
        (const void *)alike_kernel,
#endif
    };
    cudaFuncAttributes attributes;
    for (const void *kernel : all)
        r = r != 0 ? r : (int)cudaFuncGetAttributes(&attributes, kernel);
#endif
    return r;
}

} // namespace

extern "C" const struct gsh_nccl_kernels GSH_NCCL_KERNELS = {prepare, launch_scale, transfer_memory,
                                                             launch_transfer, launch_compare};
