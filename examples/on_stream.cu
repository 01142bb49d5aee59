/* SPDX-License-Identifier: Apache-2.0
 * The host describes everything in advance: kernels, puts and waits are queued on a stream and take
 * their turns there, while the host goes on. Each PE makes numbers, sends them to the next PE, and
 * adds up what it received. */
#include <gshmem_device.cuh>
#include <stdint.h>
#include <stdio.h>

enum { steps = 4, count = 512, threads = 64 };

__global__ void make(int *out, int pe, int step)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = pe + step + i;
}

__global__ void add(const int *in, unsigned long long *sum)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        atomicAdd(sum, (unsigned long long)in[i]);
}

static int pe_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    gshmem_init();
    const int me = gshmem_my_pe(), n = gshmem_n_pes();
    const int next = (me + 1) % n, previous = (me + n - 1) % n;
    int *out = (int *)gshmem_malloc(count * sizeof *out);
    int *in = (int *)gshmem_malloc(count * sizeof *in);
    uint64_t *arrived = (uint64_t *)gshmem_calloc(1, sizeof *arrived);
    unsigned long long *sum = (unsigned long long *)gshmem_calloc(1, sizeof *sum);
    cudaStream_t stream;
    if (!out || !in || !arrived || !sum || cudaStreamCreate(&stream) != cudaSuccess)
        gshmem_global_exit(1);

    const dim3 grid(count / threads), block(threads);
    for (int step = 0; step < steps; step++) {
        gshmem_launch(make, grid, block, 0, stream, out, me, step);
        gshmemx_int_put_signal_on_stream(in, out, count, arrived, 1, GSHMEM_SIGNAL_ADD, next,
                                         stream);
        /* The stream waits here until the previous PE's numbers for this step have arrived. */
        gshmemx_signal_wait_until_on_stream(arrived, GSHMEM_CMP_GE, (uint64_t)step + 1, stream);
        gshmem_launch(add, grid, block, 0, stream, (const int *)in, sum);
        /* No PE sends the next step before all have read this one. */
        gshmemx_barrier_all_on_stream(stream);
    }
    if (cudaStreamSynchronize(stream) != cudaSuccess) /* the host's first wait */
        gshmem_global_exit(1);

    const unsigned long long found = gshmem_ulonglong_g(sum, me);
    unsigned long long expected = 0;
    for (int step = 0; step < steps; step++)
        expected += (unsigned long long)count * (previous + step) + count * (count - 1ull) / 2;
    if (found != expected)
        fprintf(stderr, "on_stream: PE %d: sum %llu, expected %llu\n", me, found, expected);
    else if (me == 0)
        printf("on_stream: %d steps of %d numbers between %d PEs: right\n", steps, count, n);

    cudaStreamDestroy(stream);
    gshmem_free(sum);
    gshmem_free(arrived);
    gshmem_free(in);
    gshmem_free(out);
    gshmem_finalize();
    return found == expected ? 0 : 1;
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
