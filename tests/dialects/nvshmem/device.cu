/* SPDX-License-Identifier: Apache-2.0
 * Proves that NVSHMEM's names in kernels do what they say: the calls of its pt-to-pt, collective
 * and tile programs, in one kernel of one block. When NVSHMEM itself is compiled, calls that it
 * lacks are left out. */
#if !defined(TEST_NVSHMEM) /* with complex numbers, NVSHMEM 3.4.5's own headers are no C++ */
#define NVSHMEM_COMPLEX_SUPPORT 1
#endif
#include "start.h"

enum { n_threads = 64, n_elems = 96, stride = 128 };

/* All in the heap. */
struct board {
    int *source, *dest, *words;
    float *tile, *reduced;
    double2 *pair, *greatest;
    uint64_t *signals;
    int *wrong; /* a bit for each step that failed */
};

/* ---- steps, each by all threads of the block ------------------------------------------------- */

__device__ static void expect(const board &b, int step, bool is_right)
{
    if (!is_right)
        atomicOr(b.wrong, 1 << step);
}

/* Elements i of the part `part` of what PE pe sends. */
__device__ static int value_of(int pe, int part, int i)
{
    return pe * 10000 + part * 1000 + i;
}

__device__ static void fill(const board &b, int part)
{
    for (int i = threadIdx.x; i < n_elems; i += blockDim.x)
        b.source[i] = value_of(nvshmem_my_pe(), part, i);
    __syncthreads();
}

__device__ static void compare(const board &b, int step, int from, int part, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        expect(b, step, b.dest[i] == value_of(from, part, i));
    nvshmemx_barrier_all_block();
}

__device__ static void puts_and_gets(const board &b, int next, int previous)
{
    const bool is_first = threadIdx.x == 0;
    fill(b, 1);
    if (is_first)
        for (int i = 0; i < n_elems; i++)
            nvshmem_int_p(b.dest + i, b.source[i], next);
    nvshmemx_barrier_all_block();
    compare(b, 0, previous, 1, n_elems);

    fill(b, 2);
    nvshmemx_int_put_nbi_block(b.dest, b.source, n_elems, next);
    nvshmem_quiet();
    nvshmemx_barrier_all_block();
    compare(b, 1, previous, 2, n_elems);

    fill(b, 3);
    if (threadIdx.x < 32)
        nvshmemx_int_put_signal_warp(b.dest, b.source, n_elems, b.signals, 3, NVSHMEM_SIGNAL_SET,
                                     next);
    if (is_first)
        nvshmem_signal_wait_until(b.signals, NVSHMEM_CMP_EQ, 3);
    __syncthreads();
    compare(b, 2, previous, 3, n_elems);

    /* Of 128 bits each. */
    fill(b, 4);
    nvshmemx_put128_signal_nbi_block(b.dest, b.source, n_elems / 4, b.signals, 1,
                                     NVSHMEM_SIGNAL_ADD, next);
    if (is_first)
        nvshmem_uint64_wait_until(b.signals, NVSHMEM_CMP_GE, 4);
    __syncthreads();
    compare(b, 3, previous, 4, n_elems);

    fill(b, 5);
    nvshmemx_barrier_all_block();
    nvshmemx_getmem_block(b.dest, b.source, n_elems * sizeof(int), next);
    compare(b, 4, next, 5, n_elems);
    if (is_first) {
        expect(b, 5, nvshmem_int_g(b.source + 7, previous) == value_of(previous, 5, 7));
        const int *mapped = (const int *)nvshmem_ptr(b.source, next);
        expect(b, 5, mapped == NULL || mapped[1] == value_of(next, 5, 1));
        expect(b, 5, nvshmemx_mc_ptr(NVSHMEM_TEAM_WORLD, b.source) == NULL);
    }
    nvshmemx_barrier_all_block();
}

/* By all PEs' threads, on PE 0's words. */
__device__ static void atomics(const board &b, int me, int n)
{
    nvshmem_int_atomic_add(b.words, 3, 0);
    nvshmem_int_atomic_inc(b.words + 1, 0);
    expect(b, 6, nvshmem_int_atomic_fetch_inc(b.words + 2, 0) < n * n_threads);
    if (threadIdx.x == 0) {
        nvshmem_uint32_atomic_or((uint32_t *)b.words + 3, 1u << me, 0);
        nvshmem_fence();
        nvshmemx_signal_op(b.signals + 1, 1, NVSHMEM_SIGNAL_ADD, 0);
    }
    nvshmemx_barrier_all_block();
    if (me == 0 && threadIdx.x == 0) {
        const int all = n * n_threads;
        expect(b, 6, b.words[0] == 3 * all && b.words[1] == all && b.words[2] == all);
        expect(b, 6, b.words[3] == (1 << n) - 1);
        expect(b, 6, nvshmem_signal_fetch(b.signals + 1) == (uint64_t)n);
        expect(b, 6, nvshmem_int_atomic_compare_swap(b.words, 3 * all, 1, 0) == 3 * all);
        expect(b, 6, nvshmem_int_atomic_swap(b.words, 2, 0) == 1);
        expect(b, 6, nvshmem_int_test(b.words, NVSHMEM_CMP_EQ, 2) != 0);
    }
    nvshmemx_barrier_all_block();
}

__device__ static void collectives(const board &b, int me, int n)
{
    const nvshmem_team_t team = NVSHMEM_TEAM_WORLD;
    fill(b, 6);
    nvshmemx_int_sum_reduce_block(team, b.dest, b.source, n_elems);
    for (int i = threadIdx.x; i < n_elems; i += blockDim.x)
        expect(b, 7, b.dest[i] == n * (n - 1) / 2 * 10000 + n * (6000 + i));
    nvshmemx_barrier_all_block();
    if (threadIdx.x < 32)
        nvshmemx_int_broadcast_warp(team, b.dest, b.source, n_elems, n - 1);
    __syncthreads();
    compare(b, 8, n - 1, 6, n_elems);
    if (threadIdx.x == 0) {
        nvshmem_int_fcollect(team, b.dest, b.source, 2);
        nvshmem_team_sync(team);
        for (int pe = 0; pe < n; pe++)
            expect(b, 9, b.dest[2 * pe + 1] == value_of(pe, 6, 1));
    }
    if (threadIdx.x == 0)
        *b.pair = make_double2(me == n / 2 ? 100 : me, me);
    __syncthreads();
#if !defined(TEST_NVSHMEM) /* which may not link */
    nvshmemx_double2_maxloc_reduce_block(team, b.greatest, b.pair, 1);
    expect(b, 10, b.greatest->x == 100 && b.greatest->y == n / 2);
#endif
    nvshmemx_barrier_all_block();
}

#if NVSHMEM_VENDOR_VERSION >= 30500
__device__ static void queue_pairs(const board &b, nvshmemx_qp_handle_t *qps, int next,
                                   int previous)
{
    for (int q = 0; q < 2; q++) {
        fill(b, 7);
        nvshmemx_qp_int_put_nbi_block(b.dest, b.source, n_elems, next, qps[q]);
        nvshmemx_qp_quiet_block(next, qps, 2);
        nvshmemx_barrier_all_block();
        compare(b, 11, previous, 7, n_elems);
        if (threadIdx.x == 0) {
            nvshmemx_qp_int_p(b.dest, 4 + q, next, qps[q]);
            nvshmemx_qp_fence(next, qps, 2);
            nvshmemx_qp_signal_op(b.signals + 2, 1, NVSHMEM_SIGNAL_ADD, next, qps[q]);
            nvshmem_signal_wait_until(b.signals + 2, NVSHMEM_CMP_GE, q + 1);
            expect(b, 12, b.dest[0] == 4 + q);
        }
        nvshmemx_barrier_all_block();
    }
    /* All at once: on a queue pair that the call does not name. */
    nvshmemx_qp_handle_t all = NVSHMEMX_QP_ALL;
    if (threadIdx.x == 0) {
        nvshmemx_qp_int_p(b.dest, 8, next, qps[0]);
        nvshmemx_qp_int_p(b.dest + 1, 9, next, qps[1]);
        nvshmemx_qp_fence(NVSHMEMX_PE_ALL, &all, 1);
        nvshmemx_qp_quiet(NVSHMEMX_PE_ALL, &all, 1);
        nvshmemx_signal_op(b.signals + 3, 1, NVSHMEM_SIGNAL_SET, next);
        nvshmem_signal_wait_until(b.signals + 3, NVSHMEM_CMP_EQ, 1);
        expect(b, 15, b.dest[0] == 8 && b.dest[1] == 9);
    }
    nvshmemx_barrier_all_block();
}
#endif

#if !defined(TEST_NVSHMEM)
#if !defined(TEST_NVSHMEM)
/* With complex numbers: (1 + i) from each member. */
__device__ static void complex_numbers(const board &b, int n)
{
    double2 *pair = b.pair, *sum = b.greatest;
    if (threadIdx.x == 0)
        *pair = make_double2(1, 1);
    nvshmemx_barrier_all_block();
    nvshmemx_complexd_sum_reduce_block(NVSHMEM_TEAM_WORLD, sum, pair, 1);
    expect(b, 16, sum->x == n && sum->y == n);
    nvshmemx_barrier_all_block();
    if (threadIdx.x == 0) {
        nvshmem_complexd_prod_reduce(NVSHMEM_TEAM_WORLD, sum, pair, 1);
        double x = 1, y = 1;
        for (int pe = 1; pe < n; pe++) {
            const double re = x - y;
            y += x;
            x = re;
        }
        expect(b, 16, sum->x == x && sum->y == y);
    }
    nvshmemx_barrier_all_block();
}
#endif
#endif

#if !defined(TEST_NVSHMEM) /* which reduces tiles only by NVLink multicast */
/* Rows of 8 of a matrix that is wider; the last row is beyond the boundary. */
__device__ static void tiles(const board &b, int me, int n)
{
    const auto layout = nvshmemx::make_layout(nvshmemx::make_shape(ConstInt<8>{}, 5),
                                              nvshmemx::make_stride(ConstInt<1>{}, 16));
    const auto source = nvshmemx::Tensor(b.tile, layout);
    const auto dest = nvshmemx::Tensor(b.reduced, layout);
    const auto start = nvshmemx::make_shape(0, 2), boundary = nvshmemx::make_shape(8, 6);
    constexpr auto algorithm = nvshmemx::tile_coll_algo_t::NVLS_ONE_SHOT_PULL_NBI;
    for (int i = threadIdx.x; i < stride; i += blockDim.x) {
        b.tile[i] = (float)(me + i);
        b.reduced[i] = -1;
    }
    __syncthreads();
    const int error = nvshmemx::tile_sum_reduce_block<decltype(source), decltype(dest),
                                                      decltype(start), algorithm>(
        NVSHMEM_TEAM_WORLD, source, dest, start, boundary, 0, 0);
    nvshmemx::tile_collective_wait_block<algorithm>(NVSHMEM_TEAM_WORLD, 0);
    expect(b, 13, error == 0);
    for (int i = threadIdx.x; i < stride; i += blockDim.x) {
        const bool is_in = i % 16 < 8 && i / 16 < 4;
        expect(b, 13, b.reduced[i] == (is_in ? (float)(n * (n - 1) / 2 + n * i) : -1));
    }
    __syncthreads();
    struct empty {
    };
    if (threadIdx.x < 32) {
        nvshmemx::tile_max_rooted_reduce_warp<decltype(source), decltype(dest), empty, algorithm>(
            NVSHMEM_TEAM_WORLD, source, dest, {}, {}, n - 1, 0);
        nvshmemx::tile_collective_wait_warp<algorithm>(NVSHMEM_TEAM_WORLD, 0);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        expect(b, 14, (b.reduced[64] == (float)(n - 1 + 64)) == (me == n - 1));
    nvshmemx_barrier_all_block();
}
#endif

#if NVSHMEM_VENDOR_VERSION >= 30800
/* Regions, given memory, flush, sums of floats and halves. */
__device__ static void newer(const board &b, int me, int next, int previous)
{
    alignas(16) __shared__ char given[8192];
    const bool is_first = threadIdx.x == 0;
    nvshmemx_region_attrs_t attrs = NVSHMEMX_REGION_ATTRS_INITIALIZER;
    nvshmemx_region_handle_t region = 0;
    int is_active = -1;
    attrs.hints = NVSHMEMX_REGION_HINT_BATCH_RMA;
    expect(b, 20, nvshmemx_region_start_block(&region, &attrs) == 0);
    expect(b, 20, nvshmemx_region_is_active(attrs.hints, &is_active) == 0 && is_active == 1);
    nvshmemx_give_smem(given, sizeof given);
    __syncthreads();
    fill(b, 6);
    for (int k = 0; is_first && k < n_elems / 2; k++)
        nvshmem_int_put_nbi(b.dest + k, b.source + k, 1, next);
    nvshmemx_flush_block();
    for (int k = n_elems / 2; is_first && k < n_elems; k++) /* published by the stop */
        nvshmem_int_put_nbi(b.dest + k, b.source + k, 1, next);
    expect(b, 21, nvshmemx_region_stop_block(region) == 0);
    expect(b, 21, nvshmemx_region_stop_block(region) != 0);
    expect(b, 21, nvshmemx_region_is_active(0, &is_active) == 0 && is_active == 0);
    nvshmemx_barrier_all_block();
    nvshmemx_release_smem();
    compare(b, 22, previous, 6, n_elems);

    if (is_first)
        b.tile[0] = b.tile[1] = 0;
    nvshmemx_barrier_all_block();
    half *const halves = reinterpret_cast<half *>(&b.tile[1]);
    nvshmemx_float_atomic_add(&b.tile[0], 0.5f, next);
    nvshmemx_half_atomic_add(&halves[1], __float2half(0.25f), next);
    if (is_first)
        nvshmem_half_atomic_set(&halves[0], __float2half((float)me), next);
    nvshmemx_barrier_all_block();
    expect(b, 23, b.tile[0] == 0.5f * blockDim.x);
    expect(b, 23, __half2float(halves[1]) == 0.25f * blockDim.x);
    expect(b, 23, __half2float(nvshmem_half_atomic_fetch(&halves[0], me)) == previous);
    nvshmemx_barrier_all_block();
}
#endif

__global__ void all_steps(board b, int *qps)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    const int next = (me + 1) % n, previous = (me + n - 1) % n;
    puts_and_gets(b, next, previous);
    atomics(b, me, n);
    collectives(b, me, n);
#if NVSHMEM_VENDOR_VERSION >= 30500
    queue_pairs(b, qps, next, previous);
#endif
#if !defined(TEST_NVSHMEM)
    tiles(b, me, n);
#if NVSHMEM_VENDOR_VERSION >= 30800
    newer(b, me, next, previous);
#endif
#if !defined(TEST_NVSHMEM)
    complex_numbers(b, n);
#endif
#endif
}

/* A kernel that takes all static shared memory that CUDA allows, and puts by a warp and a thread.
 */
constexpr int n_tile = 48 * 1024 / (int)sizeof(double);
__global__ void fill_shared(double *source, double *dest, int *wrong)
{
    alignas(16) __shared__ double tile[n_tile];
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    for (int i = threadIdx.x; i < n_tile; i += blockDim.x)
        tile[i] = value_of(me, 1, i);
    __syncthreads();
    for (int i = threadIdx.x; i < n_tile; i += blockDim.x)
        source[i] = tile[n_tile - 1 - i];
    __syncthreads();
    if (threadIdx.x < 32)
        nvshmemx_double_put_warp(dest, source, n_tile / 2, (me + 1) % n);
    else if (threadIdx.x == 32)
        nvshmem_double_put(dest + n_tile / 2, source + n_tile / 2, n_tile / 2, (me + 1) % n);
    nvshmemx_barrier_all_block();
    for (int i = threadIdx.x; i < n_tile; i += blockDim.x)
        if (dest[i] != value_of((me + n - 1) % n, 1, n_tile - 1 - i))
            atomicOr(wrong, 1 << 17);
}

/* ---- the host -------------------------------------------------------------------------------- */

template <class T> static T *zeros(size_t n)
{
    T *p = (T *)nvshmem_calloc(n, sizeof(T));
    REQUIRE(p != NULL);
    return p;
}

static int pe_main(int, char **)
{
    start_pe();
    board b = {zeros<int>(n_elems),  zeros<int>(n_elems),  zeros<int>(4),
               zeros<float>(stride), zeros<float>(stride), zeros<double2>(1),
               zeros<double2>(1),    zeros<uint64_t>(4),   zeros<int>(1)};
    int *qps = zeros<int>(2);
#if NVSHMEM_VENDOR_VERSION >= 30500
    nvshmemx_qp_handle_t *made = NULL;
    REQUIRE(nvshmemx_qp_create(2, &made) == 0 && made[0] != made[1]);
    CUDA(cudaMemcpy(qps, made, 2 * sizeof *made, cudaMemcpyDefault));
    free(made);
#endif
    void *args[] = {&b, &qps};
    REQUIRE(nvshmemx_collective_launch((const void *)all_steps, 1, n_threads, args, 0, 0) == 0);
    CUDA(cudaDeviceSynchronize());
    double *sent = zeros<double>(n_tile), *received = zeros<double>(n_tile);
    void *more[] = {&sent, &received, &b.wrong};
    REQUIRE(nvshmemx_collective_launch((const void *)fill_shared, 1, n_threads, more, 0, 0) == 0);
    CUDA(cudaDeviceSynchronize());
    int wrong = 0;
    CUDA(cudaMemcpy(&wrong, b.wrong, sizeof wrong, cudaMemcpyDefault));
    nvshmem_barrier_all();
    for (int step = 0; step < 18; step++)
        if (!CHECK(!(wrong >> step & 1)))
            fprintf(stderr, "PE %d: step %d\n", nvshmem_my_pe(), step);
    nvshmem_finalize();
    return test_result();
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
