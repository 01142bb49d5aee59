/* SPDX-License-Identifier: Apache-2.0
 * This dialect's own kernels: scaling of what a reduction takes in, and sends and receives. The
 * build compiles it twice; GSH_NCCL_KERNELS names the table. */
#include "dialects/nccl/src/kernels.h"
#include <gshmem_device.cuh>
#include "dialects/nccl/include/nccl.h"

namespace
{

#if defined(__CUDACC__)
constexpr unsigned threads = 256, max_blocks = 32;
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

template <class T> __device__ void scale_elements(const gsh_nccl_scale &a)
{
    typedef typename number<T>::type V;
    T *dest = static_cast<T *>(a.dest);
    const T *source = static_cast<const T *>(a.source);
    T bits;
    memcpy(static_cast<void *>(&bits), &a.scalar, sizeof bits);
    const V by = static_cast<V>(bits);
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.nelems; i += step) {
        const V x = static_cast<V>(source[i]);
        dest[i] = static_cast<T>(static_cast<V>(a.is_division ? x / by : x * by));
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
    case ncclFloat32:
        return scale_elements<float>(a);
    default:
        return scale_elements<double>(a);
    }
}

/* ---- sends and receives ---- */

/* How far a row is. A block's rows take turns, and none waits in its turn: so whatever other ranks
 * wait for first, proceeds. */
struct progress {
    uint64_t piece, done_bytes;
    uint32_t at; /* the transfer; behind the row's last one: finished */
};

__device__ char *slot_of(const gsh_nccl_rings &r, int sender, uint64_t piece)
{
    return r.slots + ((uint64_t)sender * r.n_slots + piece % r.n_slots) * r.slot_bytes;
}

/* Thread 0: what this row waits for, and whether it is there. */
struct look {
    const uint64_t *word;
    uint64_t least, seen;
    __device__ bool is_enough() const { return seen >= least; }
};

__device__ look look_at(const gshmem::context &c, const gsh_nccl_rings &r, bool is_send, int peer,
                        uint64_t piece)
{
    look l;
    l.word = is_send ? &r.freed[peer] : &r.arrived[peer];
    l.least = !is_send ? piece + 1 : piece < r.n_slots ? 0 : piece + 1 - r.n_slots;
    l.seen = gshmem::signal_fetch(c, l.word);
    return l;
}

/* The whole block: one piece. */
__device__ void move_piece(const gshmem::context &c, const gsh_nccl_rings &r,
                           const gsh_nccl_transfer &t, const progress &p, uint64_t bytes)
{
    const int pe = r.pe_of[t.peer];
    char *mine = static_cast<char *>(t.buffer) + p.done_bytes;
    if (t.is_send) {
        /* Far pieces could overtake each other; the put's synchronisation has the fence first. */
        if (threadIdx.x == 0 && gshmem::detail::has_far(c))
            gshmem::fence(c);
        gshmem::put_signal(c, gshmem::group_block(), slot_of(r, r.rank, p.piece),
                           static_cast<const char *>(mine), bytes, &r.arrived[r.rank], p.piece + 1,
                           GSHMEM_SIGNAL_SET, pe, "ncclSend");
        return;
    }
    gshmem::get(c, gshmem::group_block(), mine,
                static_cast<const char *>(slot_of(r, t.peer, p.piece)), bytes, c.state.my_pe,
                "ncclRecv");
    if (threadIdx.x == 0) {
        gshmem::fence(c); /* the slot has been read before its sender learns of it */
        gshmem::signal_op(c, &r.freed[r.rank], p.piece + 1, GSHMEM_SIGNAL_SET, pe, "ncclRecv");
    }
}

__global__ void transfer_kernel(gsh_nccl_transfers a)
{
    alignas(16) __shared__ progress rows[GSH_NCCL_MAX_TRANSFERS];
    __shared__ bool is_ready;
    const gshmem::context c = {*a.state, 0};
    const gsh_nccl_rings &r = a.rings;
    for (uint32_t row = blockIdx.x + gridDim.x * threadIdx.x; row < a.n_rows;
         row += gridDim.x * blockDim.x) {
        const gsh_nccl_transfer &t = a.transfers[a.row_begin[row]];
        rows[row] = {t.is_send ? r.sent[t.peer] : r.taken[t.peer], 0, a.row_begin[row]};
    }
    __syncthreads();
    gshmem::detail::spin spin;
    for (uint32_t n_open = 1; n_open > 0;) {
        n_open = 0;
        bool has_moved = false;
        look in_vain = {};
        int in_vain_of = -1;
        for (uint32_t row = blockIdx.x; row < a.n_rows; row += gridDim.x) {
            const progress p = rows[row];
            if (p.at == a.row_begin[row + 1])
                continue;
            n_open++;
            const gsh_nccl_transfer &t = a.transfers[p.at];
            if (threadIdx.x == 0) {
                const look l = look_at(c, r, t.is_send, t.peer, p.piece);
                is_ready = l.is_enough();
                if (!l.is_enough()) {
                    in_vain = l;
                    in_vain_of = t.peer;
                }
            }
            __syncthreads();
            if (is_ready) {
                const uint64_t rest = t.bytes - p.done_bytes;
                const uint64_t bytes = rest < r.slot_bytes ? rest : r.slot_bytes;
                move_piece(c, r, t, p, bytes);
                has_moved = true;
                if (threadIdx.x == 0) {
                    const bool is_end = bytes == rest;
                    rows[row] = {p.piece + 1, is_end ? 0 : p.done_bytes + bytes, p.at + is_end};
                    (t.is_send ? r.sent : r.taken)[t.peer] = p.piece + 1;
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
    const unsigned grid = a->n_rows < max_blocks ? a->n_rows : max_blocks;
    return (int)gshmem_launch(transfer_kernel, dim3(grid), dim3(threads), 0, stream, *a);
}

} // namespace

extern "C" const struct gsh_nccl_kernels GSH_NCCL_KERNELS = {launch_scale, launch_transfer};
