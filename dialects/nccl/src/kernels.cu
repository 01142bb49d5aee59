/* SPDX-License-Identifier: Apache-2.0
 * This dialect's own kernels: scaling of what a reduction takes in, and sends and receives. The
 * build compiles it twice; GSH_NCCL_KERNELS names the table. */
#include "dialects/nccl/src/kernels.h"
#include <cuda_fp8.h>
#include <gshmem_device.cuh>
#include "dialects/nccl/include/nccl.h"

namespace
{

#if defined(__CUDACC__)
constexpr unsigned threads = 512, max_blocks = 64;
#else
constexpr unsigned threads = 32, max_blocks = 4;
#endif

/* ---- scaling ---- */

/* What numbers of T are computed in. */
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
    memcpy(static_cast<void *>(&bits), &a.scalar, sizeof bits);
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

/* A row's part of one channel, and how far it is. A block's lanes take turns, and none waits in its
 * turn: so whatever other ranks wait for first, proceeds. */
struct lane {
    uint64_t piece, done_bytes;
    uint32_t at; /* the transfer; behind the row's last one: finished */
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

/* The first transfer from `at` on of which the channel has a share; or the row's end. */
__device__ uint32_t next_of(const gsh_nccl_transfers &a, uint32_t row, uint32_t channel,
                            uint32_t at)
{
    while (at < a.row_begin[row + 1] && stripe_of(a.rings, a.transfers[at], channel).bytes == 0)
        at++;
    return at;
}

/* A channel's counter of a rank. */
__device__ uint64_t *counter(const gsh_nccl_rings &r, uint64_t *counters, uint32_t channel,
                             int rank)
{
    return counters + (size_t)channel * r.n_ranks + rank;
}

__device__ char *slot_of(const gsh_nccl_rings &r, uint32_t channel, int sender, uint64_t piece)
{
    return r.slots + (((uint64_t)channel * r.n_ranks + sender) * r.n_slots + piece % r.n_slots) *
                         r.slot_bytes;
}

/* Thread 0: what this lane waits for, and whether it is there. */
struct look {
    const uint64_t *word;
    uint64_t least, seen;
    __device__ bool is_enough() const { return seen >= least; }
};

__device__ look look_at(const gshmem::context &c, const gsh_nccl_rings &r, bool is_send,
                        uint32_t channel, int peer, uint64_t piece)
{
    look l;
    l.word = counter(r, is_send ? r.freed : r.arrived, channel, peer);
    l.least = !is_send ? piece + 1 : piece < r.n_slots ? 0 : piece + 1 - r.n_slots;
    l.seen = gshmem::signal_fetch(c, l.word);
    return l;
}

/* The whole block: one piece. */
__device__ void move_piece(const gshmem::context &c, const gsh_nccl_rings &r,
                           const gsh_nccl_transfer &t, uint32_t channel, uint64_t begin,
                           uint64_t piece, uint64_t bytes)
{
    const int pe = r.pe_of[t.peer];
    char *mine = static_cast<char *>(t.buffer) + begin;
    if (t.is_send) {
        /* Far pieces could overtake each other; the put's synchronisation has the fence first. */
        if (threadIdx.x == 0 && gshmem::detail::has_far(c))
            gshmem::fence(c);
        gshmem::put_signal(c, gshmem::group_block(), slot_of(r, channel, r.rank, piece),
                           static_cast<const char *>(mine), bytes,
                           counter(r, r.arrived, channel, r.rank), piece + 1, GSHMEM_SIGNAL_SET, pe,
                           "ncclSend");
        return;
    }
    gshmem::get(c, gshmem::group_block(), mine,
                static_cast<const char *>(slot_of(r, channel, t.peer, piece)), bytes, c.state.my_pe,
                "ncclRecv");
    if (threadIdx.x == 0) {
        gshmem::fence(c); /* the slot has been read before its sender learns of it */
        gshmem::signal_op(c, counter(r, r.freed, channel, r.rank), piece + 1, GSHMEM_SIGNAL_SET, pe,
                          "ncclRecv");
    }
}

__global__ void __launch_bounds__(threads) transfer_kernel(gsh_nccl_transfers a)
{
    /* This block's, of all lanes: row by row, one for each channel. */
    alignas(16) __shared__ lane
        lanes[(GSH_NCCL_MAX_TRANSFERS * GSH_NCCL_MAX_CHANNELS + max_blocks - 1) / max_blocks];
    __shared__ bool is_ready;
    const gshmem::context c = {*a.state, 0};
    const gsh_nccl_rings &r = a.rings;
    const uint32_t n_all = a.n_rows * a.n_channels;
    const uint32_t n_lanes = (n_all - blockIdx.x + gridDim.x - 1) / gridDim.x;
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
            if (threadIdx.x == 0) {
                const look l = look_at(c, r, t.is_send, channel, t.peer, p.piece);
                is_ready = l.is_enough();
                if (!l.is_enough()) {
                    in_vain = l;
                    in_vain_of = t.peer;
                }
            }
            __syncthreads();
            if (is_ready) {
                const stripe s = stripe_of(r, t, channel);
                const uint64_t rest = s.bytes - p.done_bytes;
                const uint64_t bytes = rest < r.slot_bytes ? rest : r.slot_bytes;
                move_piece(c, r, t, channel, s.begin + p.done_bytes, p.piece, bytes);
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
                      GSHMEM_CMP_GE, in_vain.word, in_vain.least, in_vain.seen);
    }
    spin.done();
}

/* ---- launches ---- */

int launch_scale(const gsh_nccl_scale *a, gshmemx_stream_t stream)
{
    const uint64_t blocks = (a->nelems + threads - 1) / threads;
    const unsigned grid = blocks < 1 ? 1 : blocks < max_blocks ? (unsigned)blocks : max_blocks;
    return (int)gshmem_launch(scale_kernel, dim3(grid), dim3(threads), 0, stream, *a);
}

int launch_transfer(const gsh_nccl_transfers *a, gshmemx_stream_t stream)
{
    const unsigned n_lanes = a->n_rows * a->n_channels;
    const unsigned grid = n_lanes < max_blocks ? n_lanes : max_blocks;
    return (int)gshmem_launch(transfer_kernel, dim3(grid), dim3(threads), 0, stream, *a);
}

} // namespace

extern "C" const struct gsh_nccl_kernels GSH_NCCL_KERNELS = {launch_scale, launch_transfer};
