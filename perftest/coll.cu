/* SPDX-License-Identifier: Apache-2.0
 * How long collectives of all PEs take, called repeatedly by a thread, a warp, a block, all blocks
 * of a grid, on a stream (modes as in sync.cu) and by the host. `bytes` is what each PE gives to
 * each other: the vector of a reduce or scan, the source of a collect, fcollect or broadcast, a
 * block of an alltoall or reducescatter, the elements of a block of an alltoalls, which takes every
 * second one. Elements are floats; reductions and scans are sums. Rows of the group "ordinary" are
 * calls on a stream on memory that is not symmetric, as dialects make them.
 *
 * With PERFTEST_NCCL the calls on a stream are NCCL's (nccl.h below), with PERFTEST_MPI the host's
 * are MPI's, and there are no others. Only gshmem has the last four operations. */
#include "perftest/common.h"
#include "perftest/stream.h"
#if defined(PERFTEST_NCCL)
#include "perftest/nccl.h"
#elif defined(PERFTEST_MPI)
#include "perftest/mpi_peer.h"
#endif
/* Another library's calls of one kind. */
#if defined(PERFTEST_NCCL) || defined(PERFTEST_MPI)
#define HAS_PEER 1
#else
#define HAS_PEER 0
#endif
#if !HAS_PEER && !defined(PERFTEST_NVSHMEM)
#include "runtime/layer.h"
#endif

namespace
{

using namespace perftest;

enum operation {
    REDUCE,
    REDUCESCATTER,
    FCOLLECT,
    ALLTOALL,
    BROADCAST,
    COLLECT,
    ALLTOALLS,
    INSCAN,
    EXSCAN
};
const char *const names[] = {"reduce",  "reducescatter", "fcollect", "alltoall", "broadcast",
                             "collect", "alltoalls",     "inscan",   "exscan"};
enum { stride = 2 }; /* of an alltoalls, for both sides */
#if defined(PERFTEST_NVSHMEM)
#define WORLD NVSHMEM_TEAM_WORLD
#else
#define WORLD GSHMEM_TEAM_WORLD
#endif

enum caller { BY_THREAD, BY_WARP, BY_BLOCK, BY_GRID };

/* The calls that other libraries share, and those that they lack, as one caller makes them. */
#define CALLS(FORM, SUFFIX)                                             \
    if constexpr (op == REDUCE)                                         \
        FORM##_float_sum_reduce##SUFFIX(WORLD, dest, source, n);        \
    else if constexpr (op == REDUCESCATTER)                             \
        FORM##_float_sum_reducescatter##SUFFIX(WORLD, dest, source, n); \
    else if constexpr (op == FCOLLECT)                                  \
        FORM##_float_fcollect##SUFFIX(WORLD, dest, source, n);          \
    else if constexpr (op == ALLTOALL)                                  \
        FORM##_float_alltoall##SUFFIX(WORLD, dest, source, n);          \
    else if constexpr (op == BROADCAST)                                 \
        FORM##_float_broadcast##SUFFIX(WORLD, dest, source, n, 0);      \
    else                                                                \
        OWN_CALLS(FORM, SUFFIX)
#if defined(PERFTEST_NVSHMEM)
#define OWN_CALLS(FORM, SUFFIX) (void)0;
#else
#define OWN_CALLS(FORM, SUFFIX)                                                     \
    {                                                                               \
        if constexpr (op == COLLECT)                                                \
            FORM##_float_collect##SUFFIX(WORLD, dest, source, n);                   \
        else if constexpr (op == ALLTOALLS)                                         \
            FORM##_float_alltoalls##SUFFIX(WORLD, dest, source, stride, stride, n); \
        else if constexpr (op == INSCAN)                                            \
            FORM##_float_sum_inscan##SUFFIX(WORLD, dest, source, n);                \
        else                                                                        \
            FORM##_float_sum_exscan##SUFFIX(WORLD, dest, source, n);                \
    }
#endif

#if !HAS_PEER
template <operation op, caller by>
__device__ inline void call(float *dest, const float *source, size_t n)
{
    if constexpr (by == BY_THREAD) {
        CALLS(gshmem, )
    } else if constexpr (by == BY_WARP) {
        CALLS(gshmemx, _warp)
    } else if constexpr (by == BY_BLOCK) {
        CALLS(gshmemx, _block)
    } else {
#if !defined(PERFTEST_NVSHMEM)
        CALLS(gshmemx, _grid)
#endif
    }
}

constexpr int threads_of(caller by)
{
    return by == BY_THREAD ? 1 : by == BY_WARP ? 32 : is_cpu ? 64 : 512;
}

template <operation op, caller by>
__global__ void __launch_bounds__(threads_of(by))
    repeat(timing t, float *dest, const float *source, size_t n)
{
    for (int r = t.first(); r < t.rounds; r++) {
        t.begin(r);
        call<op, by>(dest, source, n);
    }
    t.end();
}

template <operation op> void call_by_host(const bench &, float *dest, const float *source, size_t n)
{
#if !defined(PERFTEST_NVSHMEM)
    CALLS(gshmem, )
#else
    (void)dest, (void)source, (void)n;
#endif
}

template <operation op>
void call_on_stream(float *dest, const float *source, size_t n, cudaStream_t stream)
{
    if constexpr (op == REDUCE)
        gshmemx_float_sum_reduce_on_stream(WORLD, dest, source, n, stream);
    else if constexpr (op == REDUCESCATTER)
        gshmemx_float_sum_reducescatter_on_stream(WORLD, dest, source, n, stream);
    else if constexpr (op == FCOLLECT)
        gshmemx_float_fcollect_on_stream(WORLD, dest, source, n, stream);
    else if constexpr (op == ALLTOALL)
        gshmemx_float_alltoall_on_stream(WORLD, dest, source, n, stream);
    else if constexpr (op == BROADCAST)
        gshmemx_float_broadcast_on_stream(WORLD, dest, source, n, 0, stream);
#if !defined(PERFTEST_NVSHMEM)
    else if constexpr (op == COLLECT)
        gshmemx_float_collect_on_stream(WORLD, dest, source, n, stream);
    else if constexpr (op == ALLTOALLS)
        gshmemx_float_alltoalls_on_stream(WORLD, dest, source, stride, stride, n, stream);
    else if constexpr (op == INSCAN)
        gshmemx_float_sum_inscan_on_stream(WORLD, dest, source, n, stream);
    else
        gshmemx_float_sum_exscan_on_stream(WORLD, dest, source, n, stream);
#endif
}
#elif defined(PERFTEST_NCCL)
template <operation op>
void call_on_stream(float *dest, const float *source, size_t n, cudaStream_t stream)
{
    if constexpr (op == REDUCE)
        nccl.all_reduce(dest, source, n, stream);
    else if constexpr (op == REDUCESCATTER)
        nccl.reduce_scatter(dest, source, n, stream);
    else if constexpr (op == FCOLLECT)
        nccl.all_gather(dest, source, n, stream);
    else if constexpr (op == ALLTOALL)
        nccl.all_to_all(dest, source, n, stream);
    else
        nccl.broadcast(dest, source, n, stream);
}
#else
template <operation op>
void call_by_host(const bench &b, float *dest, const float *source, size_t n)
{
    if constexpr (op == REDUCE)
        mpi.all_reduce(dest, source, n);
    else if constexpr (op == REDUCESCATTER)
        mpi.reduce_scatter(dest, source, n);
    else if constexpr (op == FCOLLECT)
        mpi.all_gather(dest, source, n);
    else if constexpr (op == ALLTOALL)
        mpi.all_to_all(dest, source, n);
    else
        mpi.broadcast(b, dest, source, n);
}
#endif

/* ---- data and proof -------------------------------------------------------------------------- */

/* Element i of PE pe's source: small whole numbers, so that sums are exact. */
__host__ __device__ inline float element(int pe, size_t i)
{
    return (float)((uint32_t)(i % 1021) + 7u * (uint32_t)pe + 1u);
}

__global__ void fill_floats(float *to, size_t n, int pe)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        to[i] = pe < 0 ? -1.0f : element(pe, i);
}

/* The expected dest[i]. */
template <operation op>
__host__ __device__ inline float expected(int me, int n_pes, size_t n, size_t i)
{
    if constexpr (op == REDUCE || op == REDUCESCATTER || op == INSCAN || op == EXSCAN) {
        const size_t at = op == REDUCESCATTER ? (size_t)me * n + i : i;
        const int end = op == INSCAN ? me + 1 : op == EXSCAN ? me : n_pes;
        float sum = 0;
        for (int pe = 0; pe < end; pe++)
            sum += element(pe, at);
        return sum;
    } else if constexpr (op == FCOLLECT || op == COLLECT) {
        return element((int)(i / n), i % n);
    } else if constexpr (op == ALLTOALL) {
        return element((int)(i / n), (size_t)me * n + i % n);
    } else if constexpr (op == ALLTOALLS) {
        const size_t at = i / stride; /* elements between them stay unchanged */
        return i % stride ? -1.0f : element((int)(at / n), stride * ((size_t)me * n + at % n));
    } else {
        return element(0, i);
    }
}

template <operation op>
__global__ void count_wrong_floats(const float *dest, size_t n, int me, int n_pes,
                                   unsigned long long *n_wrong)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    const bool is_of_all = op == FCOLLECT || op == COLLECT || op == ALLTOALL || op == ALLTOALLS;
    const size_t all = (is_of_all ? n * (size_t)n_pes : n) * (op == ALLTOALLS ? (int)stride : 1);
    unsigned long long mine = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < all; i += step)
        mine += dest[i] != expected<op>(me, n_pes, n, i);
    if (mine)
        atomicAdd(n_wrong, mine);
}

/* The floats of each side that a call of n elements may touch. */
size_t room(const bench &b, operation op, size_t n)
{
    return n * (size_t)b.n * (op == ALLTOALLS ? (int)stride : 1);
}

void prepare_floats(bench *b, operation op, size_t n)
{
    run(*b, fill_floats, detail::sweep_blocks(*b), detail::sweep_threads, (float *)b->source,
        room(*b, op, n), b->me);
    run(*b, fill_floats, detail::sweep_blocks(*b), detail::sweep_threads, (float *)b->dest,
        room(*b, op, n), -1);
    gshmem_barrier_all();
}

template <operation op> void verify_floats(bench *b, size_t n)
{
    gshmem_barrier_all();
#if defined(PERFTEST_NVSHMEM) || defined(PERFTEST_MPI)
    if (op == BROADCAST && b->me == 0)
        return; /* these leave the root's dest alone */
#endif
    verify_none(b, names[op], count_wrong_floats<op>, (const float *)b->dest, n, b->me, b->n);
}

/* ---- measuring ------------------------------------------------------------------------------- */

double guess(const bench &b, size_t bytes, caller by, int blocks)
{
    const double gb_per_s = is_cpu            ? 1
                            : by == BY_THREAD ? 0.05
                            : by == BY_WARP   ? 0.5
                                              : std::min(15.0 * blocks, 200.0);
    return (is_cpu ? 20 : 4) + (double)bytes * (b.n > 1 ? b.n - 1 : 1) / gb_per_s / 1e3;
}

void add(bench *b, operation op, const char *group, const char *mode, int blocks, size_t bytes,
         const plan &p, const std::vector<double> &us)
{
    row r;
    r.operation = names[op];
    r.group = group;
    r.mode = mode;
    r.blocks = blocks;
    r.bytes = bytes;
    r.moved = (double)bytes;
    r.made = p;
    if (b->leads())
        b->out.add(r, us);
}

std::vector<size_t> sizes_up_to(const bench &b, operation op, size_t most)
{
    std::vector<size_t> some;
    for (size_t bytes : sizes(b, 8, most))
        if (bytes <= most && room(b, op, bytes) <= b.bytes)
            some.push_back(bytes);
    return some;
}

#if !HAS_PEER
template <operation op, caller by>
void measure_kernel(bench *b, const char *name, int blocks, size_t most)
{
    for (size_t bytes : sizes_up_to(*b, op, most)) {
        const size_t n = bytes / sizeof(float);
        const plan p = make_plan(*b, guess(*b, bytes, by, blocks));
        prepare_floats(b, op, n);
        add(b, op, name, "kernel", blocks, bytes, p,
            samples(*b, p, blocks, threads_of(by), repeat<op, by>, (float *)b->dest,
                    (const float *)b->source, n));
        verify_floats<op>(b, n);
    }
}

template <operation op> void measure_kernels(bench *b)
{
    if (wants(*b, THREAD))
        measure_kernel<op, BY_THREAD>(b, "thread", 1, 64u << 10);
    if (wants(*b, WARP))
        measure_kernel<op, BY_WARP>(b, "warp", 1, 1u << 20);
    if (wants(*b, BLOCK))
        measure_kernel<op, BY_BLOCK>(b, "block", 1, 16u << 20);
#if !defined(PERFTEST_NVSHMEM)
    if (b->o.groups.empty())
        for (int blocks : block_counts(b, is_cpu ? std::vector<int>{2} : std::vector<int>{8, 32}))
            measure_kernel<op, BY_GRID>(b, "grid", blocks, 256u << 20);
#endif
}

#endif

#if !defined(PERFTEST_NCCL) && !defined(PERFTEST_NVSHMEM)
template <operation op> void measure_host(bench *b)
{
    for (size_t bytes : sizes_up_to(*b, op, (size_t)1 << 30)) {
        const size_t n = bytes / sizeof(float);
        const plan p =
            make_plan(*b, is_cpu ? 1 + (double)bytes / 2000 : guess(*b, bytes, BY_GRID, 16));
        prepare_floats(b, op, n);
        add(b, op, "host", "host", 1, bytes, p, host_samples(p, [&](int rounds) {
                for (int i = 0; i < rounds; i++)
                    call_by_host<op>(*b, (float *)b->dest, (const float *)b->source, n);
            }));
        verify_floats<op>(b, n);
    }
}
#endif

#if !defined(PERFTEST_MPI)
template <operation op, class Call>
void measure_calls(bench *b, const char *group, size_t most, Call call)
{
    for (size_t bytes : sizes_up_to(*b, op, most))
        for (stream_mode mode : stream_modes) {
            const size_t n = bytes / sizeof(float);
            const plan p = make_plan(*b, guess(*b, bytes, BY_GRID, 16));
            prepare_floats(b, op, n);
            const std::vector<double> us = stream_samples(*b, p, mode, [&](cudaStream_t stream) {
                call((float *)b->dest, (const float *)b->source, n, stream);
            });
            CUDA(cudaStreamSynchronize(b->stream));
            if (us.empty())
                continue;
            add(b, op, group, stream_mode_names[mode], 1, bytes, p, us);
            verify_floats<op>(b, n);
        }
}

template <operation op> void measure_stream(bench *b)
{
    measure_calls<op>(b, "stream", (size_t)1 << 30, call_on_stream<op>);
}

#if !HAS_PEER && !defined(PERFTEST_NVSHMEM)
/* The same on memory that is not symmetric, as dialects call them. */
template <operation op> void measure_ordinary(bench *b)
{
    static const gshmemx_layer_coll_kind kinds[] = {
        GSHMEMX_LAYER_ALL_REDUCE, GSHMEMX_LAYER_REDUCE_SCATTER, GSHMEMX_LAYER_ALL_GATHER,
        GSHMEMX_LAYER_ALL_TO_ALL, GSHMEMX_LAYER_BROADCAST};
    char *const dest = b->dest, *const source = b->source;
    const size_t bytes = b->bytes;
    if (!gshmemx_layer_has_colls(WORLD, nullptr))
        return;
    b->bytes = std::min(bytes, (size_t)1 << 30);
    CUDA(cudaMalloc((void **)&b->dest, b->bytes));
    CUDA(cudaMalloc((void **)&b->source, b->bytes));
    measure_calls<op>(b, "ordinary", b->bytes,
                      [](float *to, const float *from, size_t n, cudaStream_t stream) {
                          gshmemx_layer_coll c = {};
                          c.kind = kinds[op];
                          c.type = GSHMEMX_LAYER_TYPE_FLOAT;
                          c.op = GSHMEMX_LAYER_SUM;
                          c.source = from;
                          c.dest = to;
                          c.count = n;
                          gshmemx_layer_colls_on_stream("coll", WORLD, nullptr, &c, 1, stream);
                      });
    CUDA(cudaFree(b->dest));
    CUDA(cudaFree(b->source));
    b->dest = dest;
    b->source = source;
    b->bytes = bytes;
}
#endif

#endif

template <operation op> void measure(bench *b)
{
    if (!wants(*b, names[op]))
        return;
#if !HAS_PEER
    if (!b->o.is_host && !b->o.is_stream)
        measure_kernels<op>(b);
#endif
    if (!b->o.groups.empty())
        return;
#if !defined(PERFTEST_MPI)
    if (!b->o.is_host)
        measure_stream<op>(b);
#if !HAS_PEER && !defined(PERFTEST_NVSHMEM)
    if constexpr (op <= BROADCAST)
        if (!b->o.is_host)
            measure_ordinary<op>(b);
#endif
#endif
#if !defined(PERFTEST_NCCL) && !defined(PERFTEST_NVSHMEM)
    if (!b->o.is_stream)
        measure_host<op>(b);
#endif
}

/* --sizes are what one PE gives to another; the buffers hold that for all. */
void make_room(bench *b)
{
    if (b->o.sizes.empty())
        return;
    gshmem_free(b->dest);
    gshmem_free(b->source);
    b->bytes = room(*b, wants(*b, names[ALLTOALLS]) && !HAS_PEER ? ALLTOALLS : ALLTOALL, b->bytes);
    b->source = (char *)gshmem_malloc(b->bytes);
    b->dest = (char *)gshmem_malloc(b->bytes);
    if (!b->source || !b->dest) {
        fprintf(stderr, "perftest: no memory for two buffers of %zu bytes\n", b->bytes);
        gshmem_global_exit(1);
    }
}

int pe_main(int argc, char **argv)
{
    const program p = {"coll",
                       "how long collectives take",
                       {std::begin(names), std::end(names)},
                       true,
                       true,
                       true,
                       false,
                       true};
    bench b = {};
    const int status = begin(&b, p, argc, argv, (size_t)2 << 30);
    if (status >= 0)
        return status;
    make_room(&b);
#if defined(PERFTEST_NCCL)
    nccl.begin(&b);
#elif defined(PERFTEST_MPI)
    mpi.begin(&b);
#endif
    measure<REDUCE>(&b);
    measure<REDUCESCATTER>(&b);
    measure<FCOLLECT>(&b);
    measure<ALLTOALL>(&b);
    measure<BROADCAST>(&b);
#if !HAS_PEER && !defined(PERFTEST_NVSHMEM)
    measure<COLLECT>(&b);
    measure<ALLTOALLS>(&b);
    measure<INSCAN>(&b);
    measure<EXSCAN>(&b);
#endif
#if defined(PERFTEST_NCCL)
    nccl.end(&b);
#endif
    const int result = end(&b);
#if defined(PERFTEST_MPI)
    mpi.end();
#endif
    return result;
}

} // namespace

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
