/* SPDX-License-Identifier: Apache-2.0
 * The same sum over all PEs in four ways: by the host, on a stream, by a block of a kernel, and by
 * all blocks of one. Every PE contributes a vector and gets the sum of all vectors, with the same
 * bits on every PE. */
#include <gshmem_device.cuh>
#include <gshmemx.h>
#include <stdio.h>
#include <stdlib.h>

enum { count = 20000, threads = 128, blocks = 4 };

__global__ void fill(double *source, double *dest, int pe)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        source[i] = (pe + 1) * (i + 0.5);
        dest[i] = -1;
    }
}

/* All threads of the block make the call; when it returns, each of them can use the sum. */
__global__ void sum_by_block(double *dest, const double *source)
{
    gshmemx_double_sum_reduce_block(GSHMEM_TEAM_WORLD, dest, source, count);
}

/* The same by all blocks, which must run at the same time: a collective launch. */
__global__ void sum_by_grid(double *dest, const double *source)
{
    gshmemx_double_sum_reduce_grid(GSHMEM_TEAM_WORLD, dest, source, count);
}

static void launch(void (*kernel)(double *, const double *), int grid, double *dest,
                   const double *source, cudaStream_t stream)
{
    void *args[] = {&dest, &source};
    const int failed =
        gshmemx_collective_launch(kernel, dim3(grid), dim3(threads), args, 0, stream);
    if (failed) {
        fprintf(stderr, "allreduce: launch: %s\n", gshmemx_error_string(failed));
        gshmem_global_exit(1);
    }
}

/* How many elements of dest are wrong. */
static int count_wrong(const double *dest, int me, int n)
{
    double *found = (double *)malloc(count * sizeof *found);
    int wrong = 0;
    gshmem_double_get(found, dest, count, me);
    for (int i = 0; i < count; i++)
        wrong += found[i] != n * (n + 1) / 2 * (i + 0.5);
    free(found);
    return wrong;
}

static int pe_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    gshmem_init();
    const int me = gshmem_my_pe(), n = gshmem_n_pes();
    double *source = (double *)gshmem_malloc(count * sizeof *source);
    double *dest = (double *)gshmem_malloc(count * sizeof *dest);
    cudaStream_t stream;
    if (!source || !dest || cudaStreamCreate(&stream) != cudaSuccess)
        gshmem_global_exit(1);

    const char *const ways[] = {"host", "stream", "block", "grid"};
    int n_wrong = 0;
    for (int way = 0; way < 4; way++) {
        gshmem_launch(fill, dim3(blocks), dim3(threads), 0, stream, source, dest, me);
        if (way == 0) {
            cudaStreamSynchronize(stream); /* the host's call does not wait for the stream */
            gshmem_double_sum_reduce(GSHMEM_TEAM_WORLD, dest, source, count);
        } else if (way == 1) {
            gshmemx_double_sum_reduce_on_stream(GSHMEM_TEAM_WORLD, dest, source, count, stream);
        } else {
            launch(way == 2 ? sum_by_block : sum_by_grid, way == 2 ? 1 : blocks, dest, source,
                   stream);
        }
        if (cudaStreamSynchronize(stream) != cudaSuccess)
            gshmem_global_exit(1);
        const int wrong = count_wrong(dest, me, n);
        if (wrong)
            fprintf(stderr, "allreduce: PE %d, by %s: %d sums are wrong\n", me, ways[way], wrong);
        n_wrong += wrong;
    }
    if (me == 0 && n_wrong == 0)
        printf("allreduce: %d sums over %d PEs, by host, stream, block and grid: right\n", count,
               n);

    cudaStreamDestroy(stream);
    gshmem_free(dest);
    gshmem_free(source);
    gshmem_finalize();
    return n_wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
