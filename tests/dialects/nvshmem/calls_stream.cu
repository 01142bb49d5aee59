/* SPDX-License-Identifier: Apache-2.0
 * Proves the calls that NVSHMEM's benchmarks and examples make on the host and on streams, each by
 * type as they make it; on GPUs also the collectives on streams in a captured graph, which is
 * launched again. And the ways to register memory and to make modules usable. */
#include <vector>
#include "start.h"

#if !defined(TEST_NVSHMEM)
#undef CUDA
#include "tests/rig/own_memory.cuh"
#endif

enum { n_elems = 24, max_pes = 8 };

/* All in the heap; of any type. */
struct board {
    void *source, *dest;
};

typedef void (*step)(const board &b, nvshmem_team_t team, cudaStream_t stream);

/* Captured if possible; the graph is launched several times. */
static void run(step body, const board &b, nvshmem_team_t team, cudaStream_t stream)
{
    body(b, team, stream);
    CUDA(cudaStreamSynchronize(stream));
#if defined(__CUDACC__)
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    body(b, team, stream);
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++)
        CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
#endif
}

/* source[i] is 1 + (pe + i) % 3, in every type. */
template <class T> static T value_of(int pe, int i)
{
    return (T)(float)(1 + (pe + i) % 3);
}

template <class T> static void fill(const board &b, int me, int n)
{
    T values[n_elems * max_pes];
    for (int i = 0; i < n * n_elems; i++)
        values[i] = value_of<T>(me, i);
    CUDA(cudaMemcpy(b.source, values, (size_t)(n * n_elems) * sizeof(T), cudaMemcpyDefault));
    CUDA(cudaMemset(b.dest, 0, (size_t)(n * n_elems) * sizeof(T)));
    nvshmem_barrier_all();
}

template <class T, class F>
static void compare(const board &b, int n_got, const char *call, F expected)
{
    T values[n_elems * max_pes];
    CUDA(cudaMemcpy(values, b.dest, (size_t)n_got * sizeof(T), cudaMemcpyDefault));
    for (int i = 0; i < n_got; i++)
        if (!CHECK((double)(float)values[i] == expected(i))) {
            fprintf(stderr, "%s: element %d\n", call, i);
            break;
        }
    nvshmem_barrier_all();
}

#define ON_STREAM(NAME, T, CALL, N_GOT, EXPECTED)                                                \
    fill<T>(b, me, n);                                                                           \
    run(                                                                                         \
        [](const board &b_, nvshmem_team_t t, cudaStream_t s) {                                  \
            CHECK_EQ(nvshmemx_##NAME##_##CALL##_on_stream(t, (T *)b_.dest, (const T *)b_.source, \
                                                          n_elems, s),                           \
                     0);                                                                         \
        },                                                                                       \
        b, team, stream);                                                                        \
    compare<T>(b, N_GOT, #NAME "_" #CALL, [=](int i) { return (double)(EXPECTED); });

#define VALUE(PE, AT) (1.0 + ((PE) + (AT)) % 3)
#define MOVES(NAME, T)                                                                           \
    static void moves_##NAME(const board &b, nvshmem_team_t team, cudaStream_t stream)           \
    {                                                                                            \
        const int me = nvshmem_my_pe(), n = nvshmem_n_pes();                                     \
        ON_STREAM(NAME, T, alltoall, n *n_elems, VALUE(i / n_elems, me * n_elems + i % n_elems)) \
        ON_STREAM(NAME, T, fcollect, n *n_elems, VALUE(i / n_elems, i % n_elems))                \
        fill<T>(b, me, n);                                                                       \
        run(                                                                                     \
            [](const board &b_, nvshmem_team_t t, cudaStream_t s) {                              \
                CHECK_EQ(nvshmemx_##NAME##_broadcast_on_stream(t, (T *)b_.dest,                  \
                                                               (const T *)b_.source, n_elems,    \
                                                               nvshmem_n_pes() - 1, s),          \
                         0);                                                                     \
            },                                                                                   \
            b, team, stream);                                                                    \
        compare<T>(b, n_elems, #NAME "_broadcast", [=](int i) { return VALUE(n - 1, i); });      \
    }
#define REDUCE(NAME, T, OP, EXPRESSION)                                        \
    {                                                                          \
        auto fold = [=](int at) {                                              \
            double x = VALUE(0, at);                                           \
            for (int pe = 1; pe < n; pe++) {                                   \
                const double y = VALUE(pe, at);                                \
                x = (double)(EXPRESSION);                                      \
            }                                                                  \
            return x;                                                          \
        };                                                                     \
        ON_STREAM(NAME, T, OP##_reduce, n_elems, fold(i))                      \
        ON_STREAM(NAME, T, OP##_reducescatter, n_elems, fold(me *n_elems + i)) \
    }
#define ARITH(NAME, T)                                                                 \
    static void arith_##NAME(const board &b, nvshmem_team_t team, cudaStream_t stream) \
    {                                                                                  \
        const int me = nvshmem_my_pe(), n = nvshmem_n_pes();                           \
        REDUCE(NAME, T, sum, x + y)                                                    \
        REDUCE(NAME, T, prod, x *y)                                                    \
        REDUCE(NAME, T, min, x < y ? x : y)                                            \
        REDUCE(NAME, T, max, x < y ? y : x)                                            \
    }
#define LOGIC(NAME, T)                                                                 \
    static void logic_##NAME(const board &b, nvshmem_team_t team, cudaStream_t stream) \
    {                                                                                  \
        const int me = nvshmem_my_pe(), n = nvshmem_n_pes();                           \
        REDUCE(NAME, T, and, (int)x &(int)y)                                           \
        REDUCE(NAME, T, or, (int)x | (int)y)                                           \
        REDUCE(NAME, T, xor, (int)x ^ (int)y)                                          \
    }
#define NUMBERS(M)             \
    M(bfloat16, __nv_bfloat16) \
    M(half, half)              \
    M(float, float)            \
    M(double, double)          \
    M(int, int)                \
    M(int32, int32_t)          \
    M(int64, int64_t)          \
    M(long, long)              \
    M(longlong, long long)     \
    M(size, size_t)            \
    M(uint, unsigned)          \
    M(uint32, uint32_t)        \
    M(uint64, uint64_t)        \
    M(ulonglong, unsigned long long)
#define BITS(M)         \
    M(int32, int32_t)   \
    M(int64, int64_t)   \
    M(uint32, uint32_t) \
    M(uint64, uint64_t) \
    M(size, size_t)     \
    M(uint, unsigned)
NUMBERS(MOVES)
MOVES(ptrdiff, ptrdiff_t)
NUMBERS(ARITH)
BITS(LOGIC)

static void collectives(const board &b, nvshmem_team_t team, cudaStream_t stream)
{
#define CALL(NAME, T) moves_##NAME(b, team, stream);
    NUMBERS(CALL)
    CALL(ptrdiff, ptrdiff_t)
#undef CALL
#define CALL(NAME, T) arith_##NAME(b, team, stream);
    NUMBERS(CALL)
#undef CALL
#define CALL(NAME, T) logic_##NAME(b, team, stream);
    BITS(CALL)
#undef CALL
    run(
        [](const board &, nvshmem_team_t t, cudaStream_t s) {
            nvshmemx_barrier_on_stream(t, s);
            nvshmemx_team_sync_on_stream(t, s);
            nvshmemx_barrier_all_on_stream(s);
            nvshmemx_sync_all_on_stream(s);
        },
        b, team, stream);
}

static void copies(const board &b, cudaStream_t stream)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    const int next = (me + 1) % n, previous = (me + n - 1) % n;
    const size_t bytes = n_elems * sizeof(float);
#define COPY(CALL, FROM)                 \
    fill<float>(b, me, n);               \
    CALL;                                \
    nvshmemx_quiet_on_stream(stream);    \
    CUDA(cudaStreamSynchronize(stream)); \
    nvshmem_quiet();                     \
    nvshmem_barrier_all();               \
    compare<float>(b, n_elems, #CALL, [=](int i) { return VALUE(FROM, i); });
    COPY(nvshmem_putmem(b.dest, b.source, bytes, next), previous)
    COPY(nvshmem_putmem_nbi(b.dest, b.source, bytes, next), previous)
    COPY(nvshmem_getmem(b.dest, b.source, bytes, next), next)
    COPY(nvshmem_getmem_nbi(b.dest, b.source, bytes, next), next)
    COPY(nvshmemx_putmem_on_stream(b.dest, b.source, bytes, next, stream), previous)
    COPY(nvshmemx_putmem_nbi_on_stream(b.dest, b.source, bytes, next, stream), previous)
    COPY(nvshmemx_getmem_on_stream(b.dest, b.source, bytes, next, stream), next)
    COPY(nvshmemx_getmem_nbi_on_stream(b.dest, b.source, bytes, next, stream), next)

    fill<float>(b, me, n);
    CHECK_EQ(nvshmem_float_sum_reduce(NVSHMEM_TEAM_WORLD, (float *)b.dest, (const float *)b.source,
                                      n_elems),
             0);
    fill<double>(b, me, n);
    CHECK_EQ(nvshmem_double_sum_reduce(NVSHMEM_TEAM_WORLD, (double *)b.dest,
                                       (const double *)b.source, n_elems),
             0);
    compare<double>(b, n_elems, "double_sum_reduce", [=](int i) {
        double sum = 0;
        for (int pe = 0; pe < n; pe++)
            sum += VALUE(pe, i);
        return sum;
    });
}

#if !defined(TEST_NVSHMEM) /* its memory must be in pieces of 512 MiB */
/* The program's own memory becomes symmetric. */
static void registration_memory(const board &b, cudaStream_t stream)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    const size_t bytes = 4 << 20;
    test_pe pe = {};
    pe.me = me;
    pe.n = n;
    own_memory own = own_memory_make(&pe, bytes, 1);
    board registration = {nvshmemx_buffer_register_symmetric(own.p, bytes, 0), b.dest};
    REQUIRE(registration.source != NULL);
    fill<float>(registration, me, n);
    nvshmemx_float_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, (float *)registration.dest,
                                        (const float *)registration.source, 1, stream);
    CUDA(cudaStreamSynchronize(stream));
    nvshmem_getmem(b.dest, registration.source, n_elems * sizeof(float), (me + 1) % n);
    compare<float>(b, n_elems, "getmem of registered memory",
                   [=](int i) { return VALUE((me + 1) % n, i); });
    CHECK_EQ(nvshmemx_buffer_unregister_symmetric(registration.source, bytes), 0);
    own_memory_free(&own);

    std::vector<char> local(n_elems * sizeof(float));
    CHECK_EQ(nvshmemx_buffer_register(local.data(), local.size()), 0);
    nvshmem_getmem(local.data(), b.source, local.size(), me);
    CHECK_EQ(nvshmemx_buffer_unregister(local.data()), 0);
    nvshmemx_buffer_unregister_all();
}
#endif

/* With modules of the driver: there are none on the CPU device, and no such module here. */
static void modules()
{
#if !defined(__CUDACC__)
    int none = 0;
    CHECK(nvshmemx_cumodule_init(&none) != 0);
    CHECK(nvshmemx_culibrary_init(&none) != 0);
#endif
}

static int pe_main(int, char **)
{
    start_pe();
    REQUIRE(nvshmem_n_pes() <= max_pes);
    const size_t bytes = n_elems * max_pes * sizeof(double);
    const board b = {nvshmem_align(128, bytes), nvshmem_malloc(bytes)};
    REQUIRE(b.source != NULL && b.dest != NULL);
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    collectives(b, NVSHMEM_TEAM_WORLD, stream);
    copies(b, stream);
#if !defined(TEST_NVSHMEM)
    registration_memory(b, stream);
#endif
    modules();
    CUDA(cudaStreamDestroy(stream));
    nvshmem_finalize();
    return test_result();
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
