/* SPDX-License-Identifier: Apache-2.0
 * Proves the calls that NVSHMEM's benchmarks and examples make in kernels, each by type and group
 * as they make it, in the same order on all PEs: atomics and waits, puts and gets, signals,
 * collectives. calls.py checks that these programs miss none of their calls. */
#include "start.h"

enum { n_threads = 64, room = 1024, n_elems = 40, max_pes = 8 };

/* All in the heap. */
struct board {
    char *source, *dest; /* [room * max_pes] each, of any type */
    uint64_t *word, *signal;
    double2 *pair, *greatest;
    int *wrong, *line; /* how many checks failed, and where the first failed */
};

#define EXPECT(what)                     \
    do {                                 \
        if (!(what)) {                   \
            atomicAdd(b.wrong, 1);       \
            atomicMax(b.line, __LINE__); \
        }                                \
    } while (0)

/* ---- one thread: atomics of the next PE's word, which nobody else touches ---------------------
 */

#define ATOMIC(NAME, T)                                                           \
    nvshmem_##NAME##_atomic_set((T *)b.word, 5, next);                            \
    nvshmem_##NAME##_atomic_inc((T *)b.word, next);                               \
    nvshmem_##NAME##_atomic_add((T *)b.word, 4, next);                            \
    EXPECT(nvshmem_##NAME##_atomic_fetch_inc((T *)b.word, next) == 10);           \
    EXPECT(nvshmem_##NAME##_atomic_fetch_add((T *)b.word, 9, next) == 11);        \
    EXPECT(nvshmem_##NAME##_atomic_swap((T *)b.word, 7, next) == 20);             \
    EXPECT(nvshmem_##NAME##_atomic_compare_swap((T *)b.word, 7, 100, next) == 7); \
    EXPECT(nvshmem_##NAME##_atomic_fetch((T *)b.word, next) == 100);              \
    nvshmem_barrier_all();                                                        \
    nvshmem_##NAME##_wait_until((T *)b.word, NVSHMEM_CMP_EQ, 100);                \
    EXPECT(nvshmem_##NAME##_test((T *)b.word, NVSHMEM_CMP_GE, 100) != 0);         \
    nvshmem_barrier_all();
#define ATOMIC_BITS(NAME, T)                                               \
    nvshmem_##NAME##_atomic_set((T *)b.word, 12, next);                    \
    nvshmem_##NAME##_atomic_and((T *)b.word, 10, next);                    \
    nvshmem_##NAME##_atomic_or((T *)b.word, 1, next);                      \
    nvshmem_##NAME##_atomic_xor((T *)b.word, 2, next);                     \
    EXPECT(nvshmem_##NAME##_atomic_fetch_and((T *)b.word, 3, next) == 11); \
    EXPECT(nvshmem_##NAME##_atomic_fetch_or((T *)b.word, 4, next) == 3);   \
    EXPECT(nvshmem_##NAME##_atomic_fetch_xor((T *)b.word, 1, next) == 7);  \
    EXPECT(nvshmem_##NAME##_atomic_fetch((T *)b.word, next) == 6);         \
    nvshmem_barrier_all();

__device__ static void atomics(const board &b, int next)
{
    ATOMIC(int, int)
    ATOMIC(long, long)
    ATOMIC(size, size_t)
    ATOMIC(int32, int32_t)
    ATOMIC(uint, unsigned)
    ATOMIC(ulong, unsigned long)
    ATOMIC(ulonglong, unsigned long long)
    ATOMIC(uint32, uint32_t)
    ATOMIC(uint64, uint64_t)
#if !defined(TEST_NVSHMEM) /* it does not link these */
    ATOMIC(int64, int64_t)
#endif
    ATOMIC_BITS(uint, unsigned)
    ATOMIC_BITS(ulong, unsigned long)
    ATOMIC_BITS(ulonglong, unsigned long long)
    ATOMIC_BITS(uint32, uint32_t)
    ATOMIC_BITS(uint64, uint64_t)
    ATOMIC_BITS(int32, int32_t)
    ATOMIC_BITS(int64, int64_t)
#if !defined(TEST_NVSHMEM) /* of 3.7 */
    nvshmem_float_atomic_set((float *)b.word, 1, next);
    nvshmem_float_atomic_add((float *)b.word, 0.5f, next);
    EXPECT(nvshmem_float_atomic_fetch_add((float *)b.word, 1, next) == 1.5f);
    nvshmem_double_atomic_set((double *)b.word, 1, next);
    nvshmem_double_atomic_add((double *)b.word, 0.25, next);
    EXPECT(nvshmem_double_atomic_fetch_add((double *)b.word, 1, next) == 1.25);
    EXPECT(nvshmem_double_atomic_fetch((double *)b.word, next) == 2.25);
    nvshmemx_flush();
    nvshmem_barrier_all();
#endif
}

/* ---- one thread: elements, vectors of waits ----------------------------------------------------
 */

#define ELEMENT(NAME, T)                                           \
    nvshmem_##NAME##_p((T *)b.dest, (T)(10 + me), next);           \
    nvshmem_quiet();                                               \
    nvshmem_barrier_all();                                         \
    EXPECT(*(volatile T *)b.dest == (T)(10 + previous));           \
    EXPECT(nvshmem_##NAME##_g((T *)b.dest, next) == (T)(10 + me)); \
    nvshmem_barrier_all();

__device__ static void elements(const board &b, int me, int next, int previous)
{
    ELEMENT(uint8, uint8_t)
    ELEMENT(uint16, uint16_t)
    ELEMENT(uint32, uint32_t)
    ELEMENT(double, double)
    ELEMENT(int, int)
    ELEMENT(int64, int64_t)

    uint64_t *words = (uint64_t *)b.dest, values[3] = {21, 22, 23};
    size_t which[3] = {9, 9, 9};
    for (int i = 0; i < 3; i++)
        words[i] = 0;
    nvshmem_barrier_all();
    for (int i = 0; i < 3; i++)
        nvshmem_uint64_p(words + i, values[i], next);
    nvshmem_uint64_wait_until_all_vector(words, 3, NULL, NVSHMEM_CMP_EQ, values);
    EXPECT(nvshmem_uint64_wait_until_any_vector(words, 3, NULL, NVSHMEM_CMP_EQ, values) < 3);
    EXPECT(nvshmem_uint64_wait_until_some_vector(words, 3, which, NULL, NVSHMEM_CMP_EQ, values) ==
           3);
    EXPECT(nvshmem_uint64_test_all_vector(words, 3, NULL, NVSHMEM_CMP_EQ, values) != 0);
    nvshmem_uint64_wait_until_all(words, 3, NULL, NVSHMEM_CMP_GT, 20);
    EXPECT(nvshmem_uint64_wait_until_any(words, 3, NULL, NVSHMEM_CMP_EQ, 22) == 1);
    EXPECT(nvshmem_uint64_wait_until_some(words, 3, which, NULL, NVSHMEM_CMP_EQ, 23) == 1 &&
           which[0] == 2);
    nvshmem_barrier_all();
}

/* ---- copies by each kind of group -------------------------------------------------------------
 */

enum { THREAD, WARP, BLOCK };

__device__ static bool is_in(int scope)
{
    return scope == THREAD ? threadIdx.x == 0 : scope == WARP ? threadIdx.x < 32 : true;
}

/* By all threads; those of the scope make the call, a put to the next PE or a get from it. */
#define COPY(T, SCOPE, CALL, FROM)                                \
    for (int i = (int)threadIdx.x; i < n_elems; i += n_threads) { \
        ((T *)b.source)[i] = (T)(100 * me + i);                   \
        ((T *)b.dest)[i] = 0;                                     \
    }                                                             \
    nvshmemx_barrier_all_block();                                 \
    if (is_in(SCOPE)) {                                           \
        T *dest = (T *)b.dest;                                    \
        const T *source = (const T *)b.source;                    \
        CALL;                                                     \
        nvshmem_quiet();                                          \
    }                                                             \
    nvshmemx_barrier_all_block();                                 \
    for (int i = (int)threadIdx.x; i < n_elems; i += n_threads)   \
        EXPECT(((T *)b.dest)[i] == (T)(100 * (FROM) + i));        \
    nvshmemx_barrier_all_block();

#define SIGNALLED(SCOPE, CALL) \
    if (threadIdx.x == 0)      \
        *b.signal = 0;         \
    COPY(int, SCOPE, CALL;     \
         if (threadIdx.x == 0) nvshmem_uint64_wait_until(b.signal, NVSHMEM_CMP_EQ, 3), previous)

__device__ static void copies(const board &b, int me, int next, int previous)
{
    COPY(double, THREAD, nvshmem_double_put_nbi(dest, source, n_elems, next), previous)
    COPY(double, WARP, nvshmemx_double_put_nbi_warp(dest, source, n_elems, next), previous)
    COPY(double, BLOCK, nvshmemx_double_put_nbi_block(dest, source, n_elems, next), previous)
    COPY(double, BLOCK, nvshmemx_double_get_nbi_block(dest, source, n_elems, next), next)
    COPY(int, THREAD, nvshmem_int_put(dest, source, n_elems, next), previous)
    COPY(int, THREAD, nvshmem_int_put_nbi(dest, source, n_elems, next), previous)
    COPY(int, WARP, nvshmemx_int_put_warp(dest, source, n_elems, next), previous)
    COPY(int, BLOCK, nvshmemx_int_put_block(dest, source, n_elems, next), previous)
    COPY(int, THREAD, nvshmem_int_get_nbi(dest, source, n_elems, next), next)
    COPY(int, WARP, nvshmemx_int_get_nbi_warp(dest, source, n_elems, next), next)
    COPY(int, BLOCK, nvshmemx_int_get_nbi_block(dest, source, n_elems, next), next)
    COPY(float, BLOCK, nvshmemx_float_put_block(dest, source, n_elems, next), previous)
    COPY(float, WARP, nvshmemx_float_put_nbi_warp(dest, source, n_elems, next), previous)
    COPY(float, BLOCK, nvshmemx_float_put_nbi_block(dest, source, n_elems, next), previous)
    SIGNALLED(THREAD, nvshmem_int_put_signal_nbi(dest, source, n_elems, b.signal, 3,
                                                 NVSHMEM_SIGNAL_SET, next))
    SIGNALLED(WARP, nvshmemx_int_put_signal_nbi_warp(dest, source, n_elems, b.signal, 3,
                                                     NVSHMEM_SIGNAL_SET, next))
    SIGNALLED(BLOCK, nvshmemx_int_put_signal_nbi_block(dest, source, n_elems, b.signal, 3,
                                                       NVSHMEM_SIGNAL_SET, next))
    if (threadIdx.x == 0) {
        *b.signal = 0;
        nvshmem_barrier_all();
        nvshmem_int_put_nbi((int *)b.dest, (const int *)b.source, n_elems, next);
        nvshmem_fence();
        nvshmemx_signal_op(b.signal, 2, NVSHMEM_SIGNAL_ADD, next);
        nvshmem_signal_wait_until(b.signal, NVSHMEM_CMP_EQ, 2);
        nvshmem_barrier_all();
        EXPECT(nvshmem_signal_fetch(b.signal) == 2);
        const int *mapped = (const int *)nvshmem_ptr(b.source, next);
        EXPECT(mapped == NULL || *(volatile const int *)mapped == 100 * next);
    }
    __syncthreads();
}

/* ---- collectives ------------------------------------------------------------------------------
 */

/* With elements from each member: source has 2 * me + i at i. n_got is how many dest has. */
#define COLLECTIVE(T, SCOPE, CALL, N_GOT, EXPECTED)                           \
    for (int i = (int)threadIdx.x; i < n * n_elems; i += n_threads) {         \
        ((T *)b.source)[i] = (T)(2 * me + i % 5);                             \
        ((T *)b.dest)[i] = 77;                                                \
    }                                                                         \
    nvshmemx_barrier_all_block();                                             \
    if (is_in(SCOPE))                                                         \
        EXPECT((CALL(team, (T *)b.dest, (const T *)b.source, n_elems)) == 0); \
    nvshmemx_barrier_all_block();                                             \
    for (int i = (int)threadIdx.x; i < (N_GOT); i += n_threads)               \
        EXPECT(((T *)b.dest)[i] == (T)(EXPECTED));                            \
    nvshmemx_barrier_all_block();

/* The expected reduction of all members' 2 * pe + at, element by element. */
template <class T, class F> __device__ static T fold(int n, int at, F of)
{
    T sum = (T)(at % 5);
    for (int pe = 1; pe < n; pe++)
        sum = of(sum, (T)(2 * pe + at % 5));
    return sum;
}

#define REDUCE(NAME, T, OP, SCOPE, X, SUFFIX, EXPRESSION)                                    \
    {                                                                                        \
        auto of = [](T x, T y) { return (T)(EXPRESSION); };                                  \
        COLLECTIVE(T, SCOPE, X##_##NAME##_##OP##_reduce##SUFFIX, n_elems, fold<T>(n, i, of)) \
        COLLECTIVE(T, SCOPE, X##_##NAME##_##OP##_reducescatter##SUFFIX, n_elems,             \
                   fold<T>(n, me * n_elems + i, of))                                         \
    }
#define REDUCES(NAME, T, SCOPE, X, SUFFIX)                \
    REDUCE(NAME, T, sum, SCOPE, X, SUFFIX, x + y)         \
    REDUCE(NAME, T, prod, SCOPE, X, SUFFIX, x *y)         \
    REDUCE(NAME, T, min, SCOPE, X, SUFFIX, x < y ? x : y) \
    REDUCE(NAME, T, max, SCOPE, X, SUFFIX, x < y ? y : x) \
    REDUCE(NAME, T, and, SCOPE, X, SUFFIX, x &y)          \
    REDUCE(NAME, T, or, SCOPE, X, SUFFIX, x | y)          \
    REDUCE(NAME, T, xor, SCOPE, X, SUFFIX, x ^ y)
#define MOVES(NAME, T, SCOPE, X, SUFFIX)                                                 \
    COLLECTIVE(T, SCOPE, X##_##NAME##_alltoall##SUFFIX, n *n_elems,                      \
               2 * (i / n_elems) + (me * n_elems + i % n_elems) % 5)                     \
    COLLECTIVE(T, SCOPE, X##_##NAME##_fcollect##SUFFIX, n *n_elems,                      \
               2 * (i / n_elems) + i % n_elems % 5)                                      \
    {                                                                                    \
        auto from_last = [&](nvshmem_team_t t, T *dest, const T *source, size_t count) { \
            return X##_##NAME##_broadcast##SUFFIX(t, dest, source, count, n - 1);        \
        };                                                                               \
        COLLECTIVE(T, SCOPE, from_last, n_elems, 2 * (n - 1) + i % 5)                    \
    }
#define EACH_SCOPE(WHAT, NAME, T)        \
    WHAT(NAME, T, THREAD, nvshmem, )     \
    WHAT(NAME, T, WARP, nvshmemx, _warp) \
    WHAT(NAME, T, BLOCK, nvshmemx, _block)

__device__ static void barriers(const board &b, nvshmem_team_t team)
{
    if (is_in(THREAD)) {
        nvshmem_barrier(team);
        nvshmem_barrier_all();
        EXPECT(nvshmem_team_sync(team) == 0);
        nvshmem_sync_all();
    }
    if (is_in(WARP)) {
        nvshmemx_barrier_warp(team);
        nvshmemx_barrier_all_warp();
        nvshmemx_team_sync_warp(team);
        nvshmemx_sync_all_warp();
    }
    __syncthreads();
    nvshmemx_barrier_block(team);
    nvshmemx_barrier_all_block();
    nvshmemx_team_sync_block(team);
    nvshmemx_sync_all_block();
}

__global__ void point_to_point(board b)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    const int next = (me + 1) % n, previous = (me + n - 1) % n;
    if (threadIdx.x == 0) {
        atomics(b, next);
        elements(b, me, next, previous);
    }
    __syncthreads();
    copies(b, me, next, previous);
}

__global__ void moves(board b, nvshmem_team_t team)
{
    const int me = nvshmem_team_my_pe(team), n = nvshmem_team_n_pes(team);
    barriers(b, team);
    EACH_SCOPE(MOVES, int32, int32_t)
    EACH_SCOPE(MOVES, int64, int64_t)
    COLLECTIVE(int, THREAD, nvshmem_int_fcollect, n *n_elems, 2 * (i / n_elems) + i % n_elems % 5)
    COLLECTIVE(int, BLOCK, nvshmemx_int_fcollect_block, n *n_elems,
               2 * (i / n_elems) + i % n_elems % 5)
#if !defined(TEST_NVSHMEM) /* which may not link */
    if (threadIdx.x == 0)
        *b.pair = make_double2(me == n / 2 ? 100 : me, me);
    __syncthreads();
    nvshmemx_double2_maxloc_reduce_block(team, b.greatest, b.pair, 1);
    EXPECT(b.greatest->x == 100 && b.greatest->y == n / 2);
#endif
}

__global__ void reduces_32(board b, nvshmem_team_t team)
{
    const int me = nvshmem_team_my_pe(team), n = nvshmem_team_n_pes(team);
    EACH_SCOPE(REDUCES, int32, int32_t)
}

__global__ void reduces_64(board b, nvshmem_team_t team)
{
    const int me = nvshmem_team_my_pe(team), n = nvshmem_team_n_pes(team);
    EACH_SCOPE(REDUCES, int64, int64_t)
}

/* ---- the host ---------------------------------------------------------------------------------
 */

template <class T> static T *zeros(size_t n)
{
    T *p = (T *)nvshmem_calloc(n, sizeof(T));
    REQUIRE(p != NULL);
    return p;
}

static void check(const board &b, const char *kernel)
{
    int wrong = -1, line = 0;
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(&wrong, b.wrong, sizeof wrong, cudaMemcpyDefault));
    CUDA(cudaMemcpy(&line, b.line, sizeof line, cudaMemcpyDefault));
    nvshmem_barrier_all();
    if (!CHECK_EQ(wrong, 0))
        fprintf(stderr, "PE %d: %s: the last check to fail is in line %d\n", nvshmem_my_pe(),
                kernel, line);
}

static int pe_main(int, char **)
{
    start_pe();
    REQUIRE(nvshmem_n_pes() <= max_pes);
    board b = {zeros<char>(room * max_pes),
               zeros<char>(room * max_pes),
               zeros<uint64_t>(1),
               zeros<uint64_t>(1),
               zeros<double2>(1),
               zeros<double2>(1),
               zeros<int>(1),
               zeros<int>(1)};
    nvshmem_team_t team = NVSHMEM_TEAM_WORLD;
    void *args[] = {&b, &team};
    int grid = 0;
    REQUIRE(nvshmemx_collective_launch_query_gridsize((const void *)moves, n_threads, args, 0,
                                                      &grid) == 0);
    REQUIRE(grid > 0);
    REQUIRE(nvshmemx_collective_launch((const void *)point_to_point, 1, n_threads, args, 0, 0) ==
            0);
    check(b, "point_to_point");
    REQUIRE(nvshmemx_collective_launch((const void *)moves, 1, n_threads, args, 0, 0) == 0);
    check(b, "moves");
    REQUIRE(nvshmemx_collective_launch((const void *)reduces_32, 1, n_threads, args, 0, 0) == 0);
    check(b, "reduces_32");
    REQUIRE(nvshmemx_collective_launch((const void *)reduces_64, 1, n_threads, args, 0, 0) == 0);
    check(b, "reduces_64");
    nvshmem_finalize();
    return test_result();
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
