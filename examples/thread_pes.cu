/* SPDX-License-Identifier: Apache-2.0
 * PEs as threads of one process, started by the program itself: on the CPU device, or with one GPU
 * per thread. Every PE's kernel writes into every other PE's memory.
 *
 *     ./thread_pes [number of PEs] */
#include <gshmem_device.cuh>
#include <stdio.h>
#include <stdlib.h>
#include <thread>
#include <vector>

/* table[p] on every PE becomes p's number squared. */
__global__ void tell_all(int *table)
{
    const int me = gshmem_my_pe();
    for (int pe = threadIdx.x; pe < gshmem_n_pes(); pe += blockDim.x)
        gshmem_int_p(&table[me], me * me, pe);
}

/* One PE. All PEs share static data, so each keeps its state in local variables. */
static int run_pe(int me, int n, const void *key)
{
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    int error = gshmemx_set_attr_thread_args(me, n, key, &attr);
    if (error == 0)
        error = gshmemx_init_attr(GSHMEMX_INIT_THREAD_PES, &attr);
    if (error != 0) {
        fprintf(stderr, "thread_pes: PE %d: %s\n", me, gshmemx_error_string(error));
        return 1;
    }

    int *table = (int *)gshmem_calloc(n, sizeof *table);
    if (table == NULL)
        gshmem_global_exit(1);
    gshmem_launch(tell_all, dim3(1), dim3(32), 0, (cudaStream_t)0, table);
    /* The barrier takes its turn on the stream, after the kernel. */
    gshmemx_barrier_all_on_stream((cudaStream_t)0);
    if (cudaStreamSynchronize((cudaStream_t)0) != cudaSuccess)
        gshmem_global_exit(1);

    int wrong = 0;
    for (int pe = 0; pe < n; pe++)
        wrong += gshmem_int_g(&table[pe], me) != pe * pe;
    if (wrong)
        fprintf(stderr, "thread_pes: PE %d: %d of %d entries are wrong\n", me, wrong, n);
    gshmem_free(table);
    gshmem_finalize();
    return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 2;
    if (n < 1 || n > 1024) {
        fprintf(stderr, "thread_pes: the number of PEs must be between 1 and 1024\n");
        return 2;
    }

    /* Threads that pass the same address belong to the same job. */
    const int key = 0;
    std::vector<int> failed(n, 1);
    std::vector<std::thread> threads;
    for (int pe = 0; pe < n; pe++)
        threads.emplace_back([&, pe] { failed[pe] = run_pe(pe, n, &key); });
    for (std::thread &thread : threads)
        thread.join();

    for (int pe = 0; pe < n; pe++)
        if (failed[pe])
            return 1;
    printf("thread_pes: %d PEs as threads: right\n", n);
    return 0;
}
