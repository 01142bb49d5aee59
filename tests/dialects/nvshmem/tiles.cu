/* SPDX-License-Identifier: Apache-2.0
 * Proves NVSHMEM's tile calls by each kind of group: tiles that are contiguous, in long or short
 * rows, along either dimension or in no row, in one layout on both sides or in two, of even, odd
 * and zero extents, with all beyond their boundary unchanged; tiles of one and of three dimensions;
 * that a NaN of any PE is the maximum and the minimum. And that four warps synchronise. NVSHMEM
 * itself has tile collectives only on NVLink multicast.
 */
#include "start.h"

#include <device_host/nvshmem_common.cuh>
#include <device_host/nvshmem_tensor.h>

enum { n_threads = 256, room = 4096 };

/* All in the heap. */
struct board {
    void *source, *dest;
    float *expected; /* of the array that a step changes */
    int *wrong;      /* a bit for each step that failed */
};

/* ---- the calls by each kind of group; not by its first threads ------------------------------- */

using nvshmemx::tile_algo_t;
using nvshmemx::tile_coll_algo_t;
constexpr tile_coll_algo_t pull = tile_coll_algo_t::NVLS_ONE_SHOT_PULL_NBI,
                           push = tile_coll_algo_t::NVLS_TWO_SHOT_PUSH_NBI,
                           one_push = tile_coll_algo_t::NVLS_ONE_SHOT_PUSH_NBI;

#define SCOPE(NAME, SUFFIX, IS_IN)                                                                 \
    struct NAME {                                                                                  \
        static __device__ bool is_in() { return IS_IN; }                                           \
        template <class X, class C> static __device__ int put(X s, X d, C start, C end, int pe)    \
        {                                                                                          \
            return nvshmemx::tile_put##SUFFIX<X, X, C, tile_algo_t::PEER_PUSH_NBI>(s, d, start,    \
                                                                                   end, pe, 0);    \
        }                                                                                          \
        template <class X, class C> static __device__ int get(X s, X d, C start, C end, int pe)    \
        {                                                                                          \
            return nvshmemx::tile_get##SUFFIX<X, X, C, tile_algo_t::PEER_PULL_NBI>(s, d, start,    \
                                                                                   end, pe, 0);    \
        }                                                                                          \
        template <class X, class C>                                                                \
        static __device__ int broadcast(X s, X d, C start, C end, int root)                        \
        {                                                                                          \
            return nvshmemx::tile_broadcast##SUFFIX<X, X, C, one_push>(NVSHMEM_TEAM_WORLD, s, d,   \
                                                                       start, end, root, 0) |      \
                   nvshmemx::tile_collective_wait##SUFFIX<one_push>(NVSHMEM_TEAM_WORLD, 0);        \
        }                                                                                          \
        template <class X, class C> static __device__ int allgather(X s, X d, C start, C end)      \
        {                                                                                          \
            return nvshmemx::tile_allgather##SUFFIX<X, X, C, one_push>(NVSHMEM_TEAM_WORLD, s, d,   \
                                                                       start, end, 0) |            \
                   nvshmemx::tile_collective_wait##SUFFIX<one_push>(NVSHMEM_TEAM_WORLD, 0);        \
        }                                                                                          \
        template <tile_coll_algo_t algorithm, class X, class C>                                    \
        static __device__ int sum(X s, X d, C start, C end)                                        \
        {                                                                                          \
            return nvshmemx::tile_sum_reduce##SUFFIX<X, X, C, algorithm>(NVSHMEM_TEAM_WORLD, s, d, \
                                                                         start, end, 0, 0) |       \
                   nvshmemx::tile_collective_wait##SUFFIX<algorithm>(NVSHMEM_TEAM_WORLD, 0);       \
        }                                                                                          \
        template <class X, class C> static __device__ int max_at(X s, X d, C start, C end, int pe) \
        {                                                                                          \
            return nvshmemx::tile_max_rooted_reduce##SUFFIX<X, X, C, pull>(NVSHMEM_TEAM_WORLD, s,  \
                                                                           d, start, end, pe, 0) | \
                   nvshmemx::tile_collective_wait##SUFFIX<pull>(NVSHMEM_TEAM_WORLD, 0);            \
        }                                                                                          \
        template <class X, class C> static __device__ int min(X s, X d, C start, C end)            \
        {                                                                                          \
            return nvshmemx::tile_min_reduce##SUFFIX<X, X, C, push>(NVSHMEM_TEAM_WORLD, s, d,      \
                                                                    start, end, 0, 0) |            \
                   nvshmemx::tile_collective_wait##SUFFIX<push>(NVSHMEM_TEAM_WORLD, 0);            \
        }                                                                                          \
    };
SCOPE(by_thread, , threadIdx.x == 77)
SCOPE(by_warp, _warp, threadIdx.x / 32 == 2)
SCOPE(by_warpgroup, _warpgroup, threadIdx.x / 128 == 1)
SCOPE(by_block, _block, true)

/* ---- what is expected ------------------------------------------------------------------------ */

__device__ static float value_of(int pe, int at)
{
    return (float)(pe + at % 29);
}

/* By all threads of the block: the elements of a tile within the boundary, laid out by `to` from an
 * offset on, are expected to be value(place in a layout by `from`). */
template <class L, class C, class F>
__device__ static void expect(const board &b, const L &to, const L &from, C start, C end,
                              int offset, F value)
{
    namespace t = nvshmemx::tuples;
    const int n_rows = (int)t::get<0>(to.shape()), n_columns = (int)t::get<1>(to.shape());
    const int to_row = (int)t::get<0>(to.stride()), to_column = (int)t::get<1>(to.stride());
    const int from_row = (int)t::get<0>(from.stride()), from_column = (int)t::get<1>(from.stride());
    const int rows_in = (int)t::get<0>(end) - (int)t::get<0>(start);
    const int columns_in = (int)t::get<1>(end) - (int)t::get<1>(start);
    for (int e = (int)threadIdx.x; e < n_rows * n_columns; e += n_threads) {
        const int i = e % n_rows, j = e / n_rows;
        if (i < rows_in && j < columns_in)
            b.expected[offset + i * to_row + j * to_column] = value(i * from_row + j * from_column);
    }
}

enum {
    PUT = 1,
    GET,
    BROADCAST,
    ALLGATHER,
    SUM_PULL,
    SUM_PUSH,
    SUM_IN_PLACE,
    MAX_AT,
    MIN,
    RANKS,
    WARPGROUPS,
    NANS
};

/* By all threads of the block. One NaN is as good as another. */
template <class T> __device__ static void compare(const board &b, const void *array, int step)
{
    for (int at = (int)threadIdx.x; at < room; at += n_threads) {
        const float found = (float)((const T *)array)[at], expected = b.expected[at];
        if (found != expected && (found == found || expected == expected))
            atomicOr(b.wrong, 1 << step);
    }
    nvshmemx_barrier_all_block();
}

/* By all threads of the block; nothing else is expected of either array yet. */
template <class T> __device__ static void fill(const board &b, bool is_in_place = false)
{
    for (int at = (int)threadIdx.x; at < room; at += n_threads) {
        const float value = value_of(nvshmem_my_pe(), at);
        ((T *)b.source)[at] = (T)value;
        ((T *)b.dest)[at] = (T)-1.0f;
        b.expected[at] = is_in_place ? value : -1.0f;
    }
    nvshmemx_barrier_all_block();
}

#define STEP(NUMBER, CALL, EXPECTED)                                               \
    fill<T>(b);                                                                    \
    expect(b, to, from, start, end, 0, [&](int at) { return (float)(EXPECTED); }); \
    if (S::is_in() && (CALL) != 0)                                                 \
        atomicOr(b.wrong, 1);                                                      \
    nvshmemx_barrier_all_block();                                                  \
    compare<T>(b, b.dest, NUMBER);

/* at: the element's place in source. */
template <class S, class T, class L, class C>
__device__ __noinline__ static void all_calls(const board &b, const L &from, const L &to, C start,
                                              C end)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    const int next = (me + 1) % n, previous = (me + n - 1) % n;
    const auto source = nvshmemx::Tensor<T, L>((T *)b.source, from),
               dest = nvshmemx::Tensor<T, L>((T *)b.dest, to);
    STEP(PUT, S::put(source, dest, start, end, next), value_of(previous, at))
    STEP(GET, S::get(source, dest, start, end, next), value_of(next, at))
    STEP(BROADCAST, S::broadcast(source, dest, start, end, n - 1), value_of(n - 1, at))
    const float all = (float)(n * (n - 1) / 2);
    STEP(SUM_PULL, S::template sum<pull>(source, dest, start, end), all + n * value_of(0, at))
    STEP(SUM_PUSH, S::template sum<push>(source, dest, start, end), all + n * value_of(0, at))
    STEP(MAX_AT, S::max_at(source, dest, start, end, n - 1), me == n - 1 ? value_of(n - 1, at) : -1)
    STEP(MIN, S::min(source, dest, start, end), value_of(0, at))
    fill<T>(b, true);
    expect(b, from, from, start, end, 0, [&](int at) { return all + n * value_of(0, at); });
    if (S::is_in() && S::template sum<push>(source, source, start, end) != 0)
        atomicOr(b.wrong, 1);
    nvshmemx_barrier_all_block();
    compare<T>(b, b.source, SUM_IN_PLACE);
    /* Side by side: the distance between tiles, if all of them fit. */
    namespace t = nvshmemx::tuples;
    const int apart = (int)t::get<0>(to.stride()),
              step = (int)t::get<1>(to.shape()) * (int)t::get<1>(to.stride());
    if (apart > (int)t::get<1>(to.stride()) && apart < n * step)
        return;
    fill<T>(b);
    for (int m = 0; m < n; m++)
        expect(b, to, from, start, end, m * step, [&](int at) { return value_of(m, at); });
    if (S::is_in() && S::allgather(source, dest, start, end) != 0)
        atomicOr(b.wrong, 1);
    nvshmemx_barrier_all_block();
    compare<T>(b, b.dest, ALLGATHER);
}

/* Each PE has other elements that are NaN; some are of no PE. */
template <class S, class T> __device__ static void nans(const board &b)
{
    using namespace nvshmemx;
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), at = (int)threadIdx.x;
    const auto layout = make_layout(make_shape(9, 5), make_stride(1, 9));
    const auto zero = make_shape(0, 0), none = make_shape(1000, 1000);
    typedef Tensor<T, decltype(make_layout(make_shape(9, 5), make_stride(1, 9)))> tile;
    const tile source((T *)b.source, layout), dest((T *)b.dest, layout);
    for (int is_max = 0; is_max <= 1; is_max++) {
        fill<T>(b);
        if (at < 9 * 5) {
            const float most = me == n - 1 ? value_of(n - 1, at) : -1, least = value_of(0, at);
            const bool is_nan = at % (n + 1) < n && (!is_max || me == n - 1);
            b.expected[at] = is_nan ? NAN : is_max ? most : least;
            if (at % (n + 1) == me)
                ((T *)b.source)[at] = (T)NAN;
        }
        nvshmemx_barrier_all_block();
        if (S::is_in() && (is_max ? S::max_at(source, dest, zero, none, n - 1)
                                  : S::min(source, dest, zero, none)) != 0)
            atomicOr(b.wrong, 1);
        nvshmemx_barrier_all_block();
        compare<T>(b, b.dest, NANS);
    }
}

/* Numbers known at compile time are a separate type; the other layouts share one, and so their
 * code. */
template <class S, class T, bool has_const> __device__ static void all_layouts(const board &b)
{
    using namespace nvshmemx;
    const auto zero = make_shape(0, 0);
    const auto none = make_shape(1000, 1000);
    /* in one piece, cut by the boundary */
    if constexpr (has_const) {
        const auto whole =
            make_layout(make_shape(ConstInt<64>{}, 5), make_stride(ConstInt<1>{}, 64));
        all_calls<S, T>(b, whole, whole, zero, none);
        all_calls<S, T>(b, whole, whole, make_shape(0, 2), make_shape(64, 6));
    }
    struct {
        int rows, columns, from[2], to[2], start[2], end[2];
    } const cases[] = {
        /* in one piece, in long rows, in short ones, which are cut, and in none */
        {64, 5, {1, 64}, {1, 64}, {0, 2}, {64, 6}},
        {150, 3, {1, 160}, {1, 160}, {0, 0}, {1000, 1000}},
        {8, 5, {1, 16}, {1, 16}, {1, 0}, {7, 5}},
        {3, 12, {64, 1}, {64, 1}, {0, 0}, {1000, 1000}},
        {4, 5, {2, 16}, {2, 16}, {0, 0}, {1000, 1000}},
        /* row by row: in one piece, with a gap, cut in both dimensions; odd */
        {7, 13, {13, 1}, {13, 1}, {0, 0}, {1000, 1000}},
        {9, 33, {40, 1}, {35, 1}, {0, 0}, {1000, 1000}},
        {9, 33, {40, 1}, {140, 1}, {3, 5}, {10, 31}},
        /* to the other order; and with a gap between the elements of one side, or both */
        {7, 13, {13, 1}, {1, 7}, {0, 0}, {1000, 1000}},
        {7, 13, {1, 7}, {60, 1}, {1, 2}, {7, 14}},
        {17, 3, {1, 17}, {3, 60}, {0, 0}, {1000, 1000}},
        {17, 3, {5, 90}, {1, 17}, {0, 0}, {1000, 1000}},
        {5, 5, {3, 19}, {16, 3}, {0, 0}, {4, 5}},
        /* one row, one column, one element, none; all beyond the boundary */
        {1, 37, {1, 2}, {1, 1}, {0, 0}, {1000, 1000}},
        {37, 1, {2, 100}, {1, 50}, {0, 0}, {1000, 1000}},
        {1, 1, {1, 1}, {1, 1}, {0, 0}, {1000, 1000}},
        {0, 5, {1, 8}, {1, 8}, {0, 0}, {1000, 1000}},
        {8, 5, {1, 8}, {1, 8}, {8, 0}, {8, 5}},
    };
    for (const auto &c : cases)
        all_calls<S, T>(
            b, make_layout(make_shape(c.rows, c.columns), make_stride(c.from[0], c.from[1])),
            make_layout(make_shape(c.rows, c.columns), make_stride(c.to[0], c.to[1])),
            make_shape(c.start[0], c.start[1]), make_shape(c.end[0], c.end[1]));
}

/* A row, and a 3 x 4 x 5 box with its dimensions permuted; the boundary cuts the last one. */
__device__ static void other_ranks(const board &b)
{
    using namespace nvshmemx;
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), next = (me + 1) % n;
    const int previous = (me + n - 1) % n;
    float *source = (float *)b.source, *dest = (float *)b.dest;
    const auto row = make_layout(make_shape(21), make_stride(1)),
               wide = make_layout(make_shape(21), make_stride(2));
    typedef decltype(row) L1;
    typedef decltype(make_shape(0)) C1;
    fill<float>(b);
    if (threadIdx.x < 20)
        b.expected[2 * threadIdx.x] = value_of(previous, (int)threadIdx.x);
    if (tile_put_block<Tensor<float, L1>, Tensor<float, L1>, C1, tile_algo_t::PEER_PUSH_NBI>(
            Tensor<float, L1>(source, row), Tensor<float, L1>(dest, wide), make_shape(1),
            make_shape(21), next, 0) != 0)
        atomicOr(b.wrong, 1);
    nvshmemx_barrier_all_block();
    compare<float>(b, dest, RANKS);
    const auto box = make_layout(make_shape(3, 4, 5), make_stride(1, 3, 12)),
               turned = make_layout(make_shape(3, 4, 5), make_stride(20, 5, 1));
    typedef decltype(box) L3;
    typedef decltype(make_shape(0, 0, 0)) C3;
    fill<float>(b);
    if (threadIdx.x < 3 * 4 * 4) {
        const int i = (int)threadIdx.x % 3, j = (int)threadIdx.x / 3 % 4, k = (int)threadIdx.x / 12;
        b.expected[20 * i + 5 * j + k] =
            (float)(n * (n - 1) / 2) + (float)n * value_of(0, i + 3 * j + 12 * k);
    }
    if (tile_sum_reduce_block<Tensor<float, L3>, Tensor<float, L3>, C3, push>(
            NVSHMEM_TEAM_WORLD, Tensor<float, L3>(source, box), Tensor<float, L3>(dest, turned),
            make_shape(0, 0, 0), make_shape(3, 4, 4), 0, 0) != 0 ||
        tile_collective_wait_block<push>(NVSHMEM_TEAM_WORLD, 0) != 0)
        atomicOr(b.wrong, 1);
    nvshmemx_barrier_all_block();
    compare<float>(b, dest, RANKS);
}

/* Four warps meet often, the block's others never; the barriers of the teams as well. */
__device__ static void warpgroups(const board &b)
{
    alignas(16) __shared__ int counts[2];
    if (threadIdx.x < 2)
        counts[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x >= 128)
        for (int round = 1; round <= 20; round++) {
            atomicAdd(&counts[1], 1);
            if (nvshmemx_barrier_warpgroup(NVSHMEM_TEAM_WORLD) != 0 ||
                *(volatile int *)&counts[1] != 128 * round)
                atomicOr(b.wrong, 1 << WARPGROUPS);
            nvshmemx_barrier_warpgroup(NVSHMEM_TEAM_WORLD);
        }
    __syncthreads();
}

__global__ void tile_kernel(board b, int scope)
{
    warpgroups(b);
    if (scope == 0) {
        all_layouts<by_thread, float, false>(b);
        nans<by_thread, float>(b);
    }
    if (scope == 1) {
        all_layouts<by_warp, half, false>(b);
        nans<by_warp, half>(b);
    }
    if (scope == 2) {
        all_layouts<by_warpgroup, float, false>(b);
        nans<by_warpgroup, float>(b);
    }
    if (scope == 3) {
        all_layouts<by_block, __nv_bfloat16, true>(b);
        nans<by_block, __nv_bfloat16>(b);
        other_ranks(b);
    }
}

static int pe_main(int, char **)
{
    start_pe();
    board b = {nvshmem_malloc(room * sizeof(float)), nvshmem_malloc(room * sizeof(float)),
               (float *)nvshmem_malloc(room * sizeof(float)),
               (int *)nvshmem_calloc(1, sizeof(int))};
    REQUIRE(b.source != NULL && b.dest != NULL && b.expected != NULL && b.wrong != NULL);
    for (int scope = 0; scope < 4; scope++) {
        void *args[] = {&b, &scope};
        int wrong = 0;
        CUDA(cudaMemset(b.wrong, 0, sizeof(int)));
        nvshmem_barrier_all();
        REQUIRE(nvshmemx_collective_launch((const void *)tile_kernel, 1, n_threads, args, 0, 0) ==
                0);
        CUDA(cudaDeviceSynchronize());
        CUDA(cudaMemcpy(&wrong, b.wrong, sizeof wrong, cudaMemcpyDefault));
        if (!CHECK_EQ(wrong, 0))
            fprintf(stderr, "PE %d: scope %d: steps 0x%x\n", nvshmem_my_pe(), scope, wrong);
    }
    nvshmem_finalize();
    return test_result();
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
