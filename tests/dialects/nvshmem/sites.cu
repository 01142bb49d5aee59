/* SPDX-License-Identifier: Apache-2.0
 * NVSHMEM's calls that wait for ever, for tests/multi/sites.py. Compiled with GSHMEM_CALL_SITES.
 *
 *     sites CASE */
#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdlib.h>
#include <unistd.h>

__global__ void wait_kernel(int number, long *words)
{
    switch (number) {
        /* clang-format off */
    case 1:
        /* 1 waits in gshmem_long_wait_until */
        nvshmem_long_wait_until(words, NVSHMEM_CMP_EQ, 1);
        break;
    case 2:
        /* 2 waits in gshmemx_barrier_all_block */
        nvshmemx_barrier_all_block();
        break;
        /* clang-format on */
    }
}

static void wait_on_host(int number, long *words)
{
    long *const from = words + 8;
    switch (number) {
        /* clang-format off */
    /* 3 waits in gshmem_barrier_all */
    case 3: nvshmem_barrier_all(); break;
    /* 4 waits in gshmem_long_sum_reduce */
    case 4: nvshmem_long_sum_reduce(NVSHMEM_TEAM_WORLD, words, from, 1); break;
    /* 5 waits in gshmemx_barrier_all_on_stream */
    case 5: nvshmemx_barrier_all_on_stream(0); break;
    /* 6 waits in gshmemx_signal_wait_until_on_stream */
    case 6: nvshmemx_signal_wait_until_on_stream((uint64_t *)words, NVSHMEM_CMP_EQ, 1, 0); break;
    /* 7 waits in gshmem_free */
    case 7: nvshmem_free(words); break;
        /* clang-format on */
    }
}

int main(int argc, char **argv)
{
    const int number = argc > 1 ? atoi(argv[1]) : 0;
    nvshmem_init();
    long *words = (long *)nvshmem_calloc(16, sizeof(*words));
    nvshmem_barrier_all();
    if (nvshmem_my_pe() == 0) {
        void *arguments[] = {(void *)&number, (void *)&words};
        nvshmemx_collective_launch((const void *)wait_kernel, 1, 1, arguments, 0, 0);
        cudaDeviceSynchronize();
        wait_on_host(number, words);
    }
    for (;;)
        pause();
}
