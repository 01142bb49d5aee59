/* SPDX-License-Identifier: Apache-2.0
 * Proves that collectives captured into a graph can be replayed any number of times: each replay
 * works on other data, kernels of the graph compute them and check each result, and calls outside
 * the graph come in between. Sizes are on both sides of each change of algorithm. On the CPU
 * device, which has no graphs, the same calls go onto a stream each time.
 *
 *     coll_graph [--count=REPLAYS] */
#include "tests/rig/pe.cuh"

/* Elements that each member gives to each other, and the kinds of calls with them. */
constexpr uint32_t sizes[] = {1, 60, 1000, 4000, 30000, 70000};
constexpr int n_sizes = sizeof sizes / sizeof *sizes;
constexpr uint32_t largest = sizes[n_sizes - 1];

struct buffers {
    uint32_t *round; /* of this PE: replays so far */
    uint32_t *n_wrong;
    uint32_t *source, *dest; /* symmetric, [n_pes * largest] */
};

/* Element i of what a member gives to another in that round. */
__device__ __host__ static inline uint32_t value(uint32_t round, int from, int to, uint32_t i)
{
    return round * 1000003u + (uint32_t)from * 7919u + (uint32_t)to * 104729u + i * 31u;
}

__global__ void begin_round(buffers b, int me, int n)
{
    __shared__ uint32_t round;
    if (threadIdx.x == 0)
        round = *b.round + 1;
    __syncthreads();
    for (int to = 0; to < n; to++)
        for (uint32_t i = threadIdx.x; i < largest; i += blockDim.x)
            b.source[(uint32_t)to * largest + i] = value(round, me, to, i);
    __syncthreads();
    if (threadIdx.x == 0)
        *b.round = round;
}

enum kind { k_reduce, k_reducescatter, k_fcollect, k_alltoall, k_broadcast, n_kinds };

/* The expected dest after the call of that kind with that many elements. */
__global__ void check(buffers b, kind k, uint32_t n_each, int me, int n)
{
    const uint32_t round = *b.round;
    const bool has_parts = k == k_fcollect || k == k_alltoall;
    for (uint32_t at = threadIdx.x; at < (has_parts ? n * n_each : n_each); at += blockDim.x) {
        const uint32_t i = at % n_each;
        const int part = (int)(at / n_each);
        /* reducescatter and alltoall: parts lie n_each apart in source, whose rows are longer */
        auto given = [=](int from, uint32_t place) {
            return value(round, from, (int)(place / largest), place % largest);
        };
        uint32_t expected = 0;
        if (k == k_reduce || k == k_reducescatter)
            for (int from = 0; from < n; from++)
                expected += given(from, k == k_reduce ? i : (uint32_t)me * n_each + i);
        else if (k == k_fcollect)
            expected = given(part, i);
        else if (k == k_alltoall)
            expected = given(part, (uint32_t)me * n_each + i);
        else
            expected = given(n - 1, i);
        if (b.dest[at] != expected)
            atomicAdd(b.n_wrong, 1u);
    }
}

static void call(const test_pe &pe, const buffers &b, kind k, uint32_t n_each)
{
    const gshmem_team_t team = GSHMEM_TEAM_WORLD;
    const cudaStream_t stream = pe.stream;
    int error = 0;
    if (k == k_reduce)
        error = gshmemx_uint32_sum_reduce_on_stream(team, b.dest, b.source, n_each, stream);
    else if (k == k_reducescatter)
        error = gshmemx_uint32_sum_reducescatter_on_stream(team, b.dest, b.source, n_each, stream);
    else if (k == k_fcollect)
        error = gshmemx_uint32_fcollect_on_stream(team, b.dest, b.source, n_each, stream);
    else if (k == k_alltoall)
        error = gshmemx_uint32_alltoall_on_stream(team, b.dest, b.source, n_each, stream);
    else
        error =
            gshmemx_uint32_broadcast_on_stream(team, b.dest, b.source, n_each, pe.n - 1, stream);
    CHECK_EQ(error, 0);
    CUDA(gshmem_launch(check, dim3(1), dim3(256), 0, stream, b, k, n_each, pe.me, pe.n));
}

static void all_calls(const test_pe &pe, const buffers &b)
{
    CUDA(gshmem_launch(begin_round, dim3(1), dim3(256), 0, pe.stream, b, pe.me, pe.n));
    for (uint32_t n_each : sizes)
        for (int k = 0; k < n_kinds; k++)
            call(pe, b, (kind)k, n_each);
}

static int pe_main(int argc, char **argv)
{
    test_pe pe = test_begin();
    const int count = test_rounds(&pe, argc, argv, 3, 400);
    buffers b = {};
    b.round = (uint32_t *)gshmem_calloc(2, sizeof(uint32_t));
    b.n_wrong = b.round + 1;
    b.source = (uint32_t *)gshmem_malloc((size_t)pe.n * largest * sizeof(uint32_t));
    b.dest = (uint32_t *)gshmem_malloc((size_t)pe.n * largest * sizeof(uint32_t));
    all_calls(pe, b); /* loads the kernels */
    test_sync(&pe);
    gshmem_barrier_all();
#if defined(__CUDACC__)
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    CUDA(cudaStreamBeginCapture(pe.stream, cudaStreamCaptureModeThreadLocal));
    all_calls(pe, b);
    CUDA(cudaStreamEndCapture(pe.stream, &graph));
    CUDA(cudaGraphInstantiate(&replay, graph, 0));
    auto play = [&] { CUDA(cudaGraphLaunch(replay, pe.stream)); };
#else
    auto play = [&] { all_calls(pe, b); };
#endif
    for (int i = 0; i < count; i++) {
        play();
        if (i % 50 == 49) { /* outside the graph; also bounds the queue */
            call(pe, b, (kind)(i / 50 % n_kinds), sizes[i / 50 % n_sizes]);
            test_sync(&pe);
        }
    }
    test_sync(&pe);
    uint32_t words[2] = {};
    test_copy(words, b.round, sizeof words);
    CHECK_EQ((int)words[0], count + 1);
    CHECK_EQ((int)words[1], 0);
    gshmem_barrier_all();
#if defined(__CUDACC__)
    CUDA(cudaGraphExecDestroy(replay));
    CUDA(cudaGraphDestroy(graph));
#endif
    gshmem_free(b.dest);
    gshmem_free(b.source);
    gshmem_free(b.round);
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
