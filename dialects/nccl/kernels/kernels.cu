/* SPDX-License-Identifier: Apache-2.0
 * This dialect's own kernels: scaling of a reduction's input, and sends and receives, whose text is
 * in transfer.cuh. The build compiles it twice; GSH_NCCL_KERNELS names the table. */
#include "dialects/nccl/kernels/args.h"
#include <cuda_fp8.h>
#include <gshmem_device.cuh>
#include "dialects/nccl/include/nccl.h"
#include "dialects/nccl/kernels/transfer.cuh"

namespace
{

/* ---- scaling ---- */

constexpr unsigned threads = transfer::copiers;
constexpr unsigned max_blocks = transfer::max_blocks;

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

/* ---- where a launch has its transfers ---- */

using transfer::path;

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
    path *paths; /* of all blocks */
};

__host__ __device__ constexpr uint32_t paths_of_block(uint32_t n_paths, uint32_t n_blocks)
{
    return (n_paths + n_blocks - 1) / n_blocks;
}

template <class A> __device__ void run_in_arguments(const A &a)
{
    alignas(16) __shared__ path paths[paths_of_block(A::most * GSH_NCCL_MAX_CHANNELS, max_blocks)];
    transfer::run(a, paths);
}

__global__ void __launch_bounds__(transfer::threads) few_transfers_kernel(few_transfers a)
{
    run_in_arguments(a);
}

__global__ void __launch_bounds__(transfer::threads) some_transfers_kernel(some_transfers a)
{
    run_in_arguments(a);
}

__global__ void __launch_bounds__(transfer::threads) many_transfers_kernel(many_transfers a)
{
    const uint32_t n_blocks = transfer::path_blocks(a);
    const uint32_t of_block = n_blocks > 0 ? paths_of_block(a.n_rows * a.n_channels, n_blocks) : 0;
    transfer::run(a, a.paths + blockIdx.x * of_block);
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
__global__ void check_kernel(gsh_nccl_check a)
{
    const gshmem::context c = {*a.state, 0};
    if (gshmem::detail::is_given_up(c))
        return;
    uint64_t *const all = a.words + GSH_NCCL_CHECK_FIELDS;
    for (uint32_t f = threadIdx.x; f < GSH_NCCL_CHECK_FIELDS; f += blockDim.x)
        a.words[f] = a.values[f];
    gshmem::group_block().sync();
    gshmem::fcollectmem(c, gshmem::group_block(), a.team, all, a.words, sizeof a.values);
    const auto k = gshmem::detail::begin_coll(c, a.team, 0, "");
    for (int i = (int)threadIdx.x; i < k.n * GSH_NCCL_CHECK_FIELDS; i += (int)blockDim.x) {
        const int f = i % GSH_NCCL_CHECK_FIELDS, member = i / GSH_NCCL_CHECK_FIELDS;
        auto named = k;
        named.name = a.names[f];
        if (all[i] != a.values[f])
            gshmem::detail::report_difference(named, member, 2, a.values[f], all[i]);
    }
}

int launch_compare(const gsh_nccl_check *a, gshmemx_stream_t stream)
{
    return (int)gshmem_launch(check_kernel, dim3(1), dim3(32), 0, stream, *a);
}
#else
int launch_compare(const gsh_nccl_check *, gshmemx_stream_t)
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
    uint32_t n;
    size_t n_paths; /* that there is space for */
    dim3 grid, block;
};

/* How many blocks copy what the rank sends to itself. */
uint32_t own_blocks(const gsh_nccl_transfers *a)
{
    const gsh_nccl_transfer *const own = a->transfers + a->row_begin[a->head.n_rows];
    uint64_t n = 0;
    for (uint32_t i = 0; i < a->head.n_own && n < transfer::max_own_blocks; i++)
        n += (own[i].bytes + transfer::least_part - 1) / transfer::least_part;
    return n < transfer::max_own_blocks ? (uint32_t)n : transfer::max_own_blocks;
}

shape shape_of(const gsh_nccl_transfers *a)
{
    const uint32_t n = a->row_begin[a->head.n_rows] + 2 * a->head.n_own;
    const uint32_t n_paths = a->head.n_rows * a->head.n_channels;
    const uint32_t n_blocks = transfer::path_blocks(a->head);
    unsigned n_threads = transfer::small_threads;
    for (uint32_t i = 0; i < n && n_threads < transfer::threads; i++)
        n_threads = gsh_nccl_has_lines(&a->head.rings, 1, a->transfers[i].bytes)
                        ? n_threads
                        : transfer::threads;
    const size_t room = n_blocks > 0 ? (size_t)paths_of_block(n_paths, n_blocks) * n_blocks : 0;
    return {n, room, dim3(n_blocks + own_blocks(a)), dim3(n_threads)};
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
        r = (int)gshmem_launch(load_kernel, dim3(1), dim3(transfer::small_threads), 0, stream,
                               args);
    }
    return r;
}

size_t transfer_memory(const gsh_nccl_transfers *a)
{
    const shape s = shape_of(a);
    if (s.n <= some_transfers::most)
        return 0;
    return sizeof(uint64_t) *
           (words_of(s.n * sizeof(gsh_nccl_transfer)) +
            words_of((a->head.n_rows + 1) * sizeof(uint32_t)) + words_of(s.n_paths * sizeof(path)));
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
    args.paths = reinterpret_cast<path *>(rows + words_of(rows_bytes));
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
        (const void *)check_kernel,
#endif
    };
    cudaFuncAttributes attributes;
    for (const void *kernel : all)
        r = r != 0 ? r : (int)cudaFuncGetAttributes(&attributes, kernel);
#endif
    return r;
}

} // namespace

extern "C" const struct gsh_nccl_kernels GSH_NCCL_KERNELS = {
    {transfer::n_channels, transfer::channel_bytes, transfer::offered_bytes},
    prepare,
    launch_scale,
    transfer_memory,
    launch_transfer,
    launch_compare};
