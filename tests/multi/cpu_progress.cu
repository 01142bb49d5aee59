/* SPDX-License-Identifier: Apache-2.0
 * Proves that blocks which spin on each other all make progress with any number of cores: 64 blocks
 * on each PE wait for flags from blocks of another PE, in an order that running whole blocks in any
 * sequence cannot satisfy; and that the user's own loops end: on CUDA atomics between blocks, and
 * on gets of any kind within one. With --rows: that a launch of thousands of blocks, each of which
 * meets its twins on all PEs twice, ends; it needs neither all of them at one time nor a core for
 * each.
 *
 *     cpu_progress [--count=ROUNDS]
 *     cpu_progress --rows=ROWS */
#include "tests/rig/pe.cuh"

enum { blocks = 64, threads = 4, columns = 128 };

/* flag[b] is set by block `partner` of the previous PE. */
__global__ void spin_kernel(long *flag, verdict *v, long rounds)
{
    const int next = (gshmem_my_pe() + 1) % gshmem_n_pes();
    const int partner = blocks - 1 - (int)blockIdx.x;
    __shared__ long seen[threads];
    for (long r = 1; r <= rounds; r++) {
        /* In odd rounds the upper half speaks first, in even ones the lower half. */
        const bool speaks_first = ((int)blockIdx.x < blocks / 2) == (r % 2 == 0);
        if (speaks_first && threadIdx.x == 0)
            gshmem_long_p(&flag[partner], r, next);
        gshmem_long_wait_until(&flag[blockIdx.x], GSHMEM_CMP_GE, r);
        seen[threadIdx.x] = r;
        __syncthreads();
        for (long s : seen)
            EXPECT_AT(v, s, r, blockIdx.x);
        __syncthreads();
        if (!speaks_first && threadIdx.x == 0)
            gshmem_long_p(&flag[partner], r, next);
    }
}

/* A user's own spin, on CUDA atomics. */
__global__ void own_spin_kernel(unsigned *turn, verdict *v, unsigned rounds)
{
    for (unsigned r = 0; r < rounds; r++) {
        const unsigned mine = r * gridDim.x + (gridDim.x - 1 - blockIdx.x);
        if (threadIdx.x == 0) {
            while (atomicAdd(turn, 0u) != mine)
                __nanosleep(100);
            const unsigned before = atomicAdd(turn, 1u);
            EXPECT_AT(v, before, mine, blockIdx.x);
        }
        __syncthreads();
    }
}

/* The first thread gets a word, a vector and three words until the second thread, which runs when
 * the first yields, has put there. */
__global__ void get_spin_kernel(long *data, verdict *v)
{
    const int me = gshmem_my_pe();
#ifdef GSHMEM_CPU_TSAN
    const size_t most = 1; /* larger gets use plain loads: races with p */
#else
    const size_t most = 3;
#endif
    for (size_t nelems = 1; nelems <= most; nelems++, data += 4) {
        alignas(16) long seen[4] = {}; /* 2: a whole vector */
        if (threadIdx.x == 1)
            gshmem_long_p(&data[nelems - 1], 5, me);
        while (threadIdx.x == 0 && seen[nelems - 1] != 5)
            gshmem_long_get(seen, data, nelems, me);
        EXPECT_EQ(v, seen[nelems - 1], threadIdx.x == 0 ? 5 : 0);
        __syncthreads();
    }
}

/* The block meets its twins on all other PEs: a PE counts arrivals for each of its blocks. */
__device__ static void meet(long *arrived, long round)
{
    const int n = gshmem_n_pes();
    __threadfence_system();
    __syncthreads();
    if ((int)threadIdx.x < n)
        gshmem_long_atomic_inc(arrived, (int)threadIdx.x);
    if (threadIdx.x == 0)
        gshmem_long_wait_until(arrived, GSHMEM_CMP_GE, round * n);
    __syncthreads();
}

__device__ static float sum_of_block(float x)
{
    __shared__ float of_warp[columns / 32];
    for (int delta = 16; delta > 0; delta /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, delta);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0;
    for (float w : of_warp)
        x += w;
    return x;
}

/* The root-mean-square norm of the sum of all PEs' rows, fused with the reduction before it and the
 * gathering after it: each block has a row. On odd PEs the first of each `blocks` blocks is the
 * twin of the last, so that many must live at a time. */
__global__ void rows_kernel(const float *in, float *out, long *arrived)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes();
    const unsigned row = me % 2 == 0 ? blockIdx.x : blockIdx.x ^ (blocks - 1);
    const size_t at = ((size_t)me * gridDim.x + row) * columns + threadIdx.x;
    meet(&arrived[row], 1);
    float x = 0;
    for (int pe = 0; pe < n; pe++)
        x += static_cast<const float *>(gshmem_ptr(in, pe))[at];
    x *= rsqrtf(sum_of_block(x * x) / columns);
    for (int pe = 0; pe < n; pe++)
        static_cast<float *>(gshmem_ptr(out, pe))[at] = x;
    meet(&arrived[row], 2);
}

/* rows: a multiple of `blocks` for each PE. On PE p all numbers of row r are (r % 7 + 1) * (p + 1),
 * with one sign for each column. */
static void test_rows(test_pe *pe, size_t rows)
{
    const size_t n_values = rows * columns, n_blocks = rows / (size_t)pe->n;
    float *in = (float *)test_heap(n_values * sizeof *in);
    float *out = (float *)test_heap(n_values * sizeof *out);
    long *arrived = (long *)test_heap(n_blocks * sizeof *arrived);
    for (size_t i = 0; i < n_values; i++)
        in[i] = (float)((i / columns % 7 + 1) * (size_t)(pe->me + 1)) * (i % 3 == 0 ? -1.f : 1.f);
    gshmem_barrier_all();
    CUDA(gshmem_launch(rows_kernel, dim3((unsigned)n_blocks), dim3(columns), 0, pe->stream, in, out,
                       arrived));
    test_sync(pe);
    size_t n_wrong = 0;
    for (size_t i = 0; i < n_values; i++)
        n_wrong += !(fabsf(out[i] - (i % 3 == 0 ? -1.f : 1.f)) < 1e-5f);
    CHECK_EQ(n_wrong, 0u);
    gshmem_barrier_all();
    gshmem_free(arrived);
    gshmem_free(out);
    gshmem_free(in);
}

static int pe_main(int argc, char **argv)
{
    test_pe pe = test_begin();
    const size_t rows = (size_t)test_number(argc, argv, "rows", 0);
    if (rows > 0) {
        test_rows(&pe, rows);
        return test_end(&pe);
    }
    const int rounds = test_rounds(&pe, argc, argv, 10, 1000);
    long *flag = (long *)test_heap(blocks * sizeof *flag);
    unsigned *turn = (unsigned *)test_heap(sizeof *turn);
    verdict *v = test_verdict();
    test_collective(&pe, spin_kernel, blocks, threads, flag, v, (long)rounds);
    test_sync(&pe);
    JUDGE(&pe, v, "waits across PEs");
    test_collective(&pe, own_spin_kernel, blocks, threads, turn, v, (unsigned)rounds / 5 + 1);
    test_sync(&pe);
    JUDGE(&pe, v, "waits within a PE");
    long *data = (long *)test_heap(12 * sizeof *data);
    test_collective(&pe, get_spin_kernel, 1, 2, data, v);
    test_sync(&pe);
    JUDGE(&pe, v, "gets until another thread has put");
    gshmem_barrier_all();
    test_free(v);
    gshmem_free(data);
    gshmem_free(turn);
    gshmem_free(flag);
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
