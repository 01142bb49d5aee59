/* SPDX-License-Identifier: Apache-2.0
 * Proves that kernels have OpenSHMEM's names, and that these are the calls of kernels: typed,
 * generic and with a context, and those of warps and blocks. A host's call made by threads of a
 * kernel would be refused or would not return. */
#include <gshmem_device.cuh>
#include <shmem.h>
#include <shmemx.h>
#include "tests/test.h"

enum { n_threads = 64, n_elems = 96 };

/* All in the heap. */
struct board {
    long *source, *dest, *words;
    uint64_t *signal;
    int *wrong; /* a bit for each step that failed */
};

__device__ static void expect(const board &b, int step, bool is_right)
{
    if (!is_right)
        atomicOr(b.wrong, 1 << step);
}

__device__ static void by_one_thread(const board &b, shmem_ctx_t ctx, int me, int n)
{
    const int next = (me + 1) % n, previous = (me + n - 1) % n;
    shmem_long_p(b.dest, 100 + me, next);
    shmem_barrier_all();
    expect(b, 0, b.dest[0] == 100 + previous && shmem_g(b.dest, me) == 100 + previous);
    for (int i = 0; i < n_elems; i++)
        b.source[i] = 1000 * me + i;
    shmem_sync(SHMEM_TEAM_WORLD); /* says nothing about data */
    shmem_barrier_all();          /* all have read dest */
    shmem_put(ctx, b.dest, b.source, n_elems, next);
    shmem_ctx_quiet(ctx);
    shmem_barrier(SHMEM_TEAM_WORLD);
    expect(b, 1, b.dest[n_elems - 1] == 1000 * previous + n_elems - 1);
    shmem_put_signal(b.dest, b.source + 1, 4, b.signal, 7, SHMEM_SIGNAL_SET, next);
    expect(b, 2, shmem_signal_wait_until(b.signal, SHMEM_CMP_EQ, 7) == 7);
    expect(b, 2, b.dest[0] == 1000 * previous + 1);
    shmem_barrier_all();
    shmem_atomic_add(b.words, 2L, 0);
    expect(b, 3, shmem_long_atomic_fetch_inc(b.words + 1, 0) < n);
    shmem_barrier_all();
    expect(b, 3, me != 0 || (b.words[0] == 2 * n && shmem_test(b.words, SHMEM_CMP_EQ, 2L * n)));
    shmem_sum_reduce(SHMEM_TEAM_WORLD, b.dest, b.source, 1);
    expect(b, 4, b.dest[0] == 1000 * (n * (n - 1) / 2));
    shmem_fcollect(SHMEM_TEAM_WORLD, b.dest, b.source, 1);
    expect(b, 5, b.dest[n - 1] == 1000 * (n - 1));
    expect(b, 6, shmem_team_my_pe(SHMEM_TEAM_WORLD) == me && shmem_n_pes() == n);
    shmem_barrier_all();
}

__global__ void kernel(board b, shmem_ctx_t ctx)
{
    const int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
    if (threadIdx.x == 0)
        by_one_thread(b, ctx, me, n);
    __syncthreads();
    shmemx_long_put_block(b.dest, b.source, n_elems, next);
    shmemx_barrier_all_block();
    for (int i = (int)threadIdx.x; i < n_elems; i += n_threads)
        expect(b, 7, b.dest[i] == 1000 * ((me + n - 1) % n) + i);
    shmemx_barrier_all_block();
    if (threadIdx.x < 32)
        shmemx_long_max_reduce_warp(SHMEM_TEAM_WORLD, b.dest, b.source, n_elems);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < n_elems; i += n_threads)
        expect(b, 8, b.dest[i] == 1000 * (n - 1) + i);
}

static void choose_gpu()
{
    int n_devices = 1;
    cudaGetDeviceCount(&n_devices);
    cudaSetDevice(shmem_my_pe() % n_devices);
}

static int pe_main(int, char **)
{
    shmem_init();
    choose_gpu();
    board b = {(long *)shmem_malloc(n_elems * sizeof(long)),
               (long *)shmem_malloc(n_elems * sizeof(long)), (long *)shmem_calloc(2, sizeof(long)),
               (uint64_t *)shmem_calloc(1, sizeof(uint64_t)), (int *)shmem_calloc(1, sizeof(int))};
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    void *args[] = {&b, &ctx};
    CHECK_EQ(gshmemx_collective_launch((const void *)kernel, 1, n_threads, args, 0, 0), 0);
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
    int wrong = -1;
    cudaMemcpy(&wrong, b.wrong, sizeof wrong, cudaMemcpyDefault);
    CHECK_EQ(wrong, 0);
    /* the same names on the host */
    shmem_long_p(b.words, 5, shmem_my_pe());
    shmem_quiet();
    CHECK_EQ(shmem_long_g(b.words, shmem_my_pe()), 5);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
    shmem_finalize();
    return test_result();
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
