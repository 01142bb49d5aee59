/* SPDX-License-Identifier: Apache-2.0
 * Calls in kernels, and calls of the host in a file with kernels, that wait for ever, for sites.py.
 * Compiled with GSHMEM_CALL_SITES. What calls of both sides do is in hang.cu.
 *
 *     sites CASE */
#include "tests/rig/pe.cuh"
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

__global__ void wait_kernel(int number, long *words, gshmem_ctx_t context)
{
    long *const from = words + 8;
    switch (number) {
        /* clang-format off */
    case 1:
        /* 1 waits in gshmem_long_wait_until */
        gshmem_wait_until(words, GSHMEM_CMP_EQ, 1L);
        break;
    case 2:
        /* 2 waits in gshmem_long_wait_until_all */
        gshmem_wait_until_all(words, 2, nullptr, GSHMEM_CMP_EQ, 1L);
        break;
    case 3:
        /* 3 waits in gshmem_long_sum_reduce */
        gshmem_sum_reduce(GSHMEM_TEAM_WORLD, words, from, 1);
        break;
    case 4:
        /* 4 waits for the network in gshmem_ctx_long_atomic_fetch */
        for (;;)
            gshmem_ctx_long_atomic_fetch(
                context, words, 1);
    case 5:
        /* 5 waits for the network in gshmem_ctx_long_atomic_fetch */
        for (;;)
            gshmem_atomic_fetch(context, words,
                                1);
    case 6:
        /* 6 waits for the network in gshmem_ctx_quiet */
        for (;;) {
            gshmem_ctx_long_atomic_add(context, words, 1, 1);
            gshmem_ctx_quiet(context);
        }
        /* clang-format on */
    }
}

static void wait_on_host(int number, long *words)
{
    long *const from = words + 8;
    switch (number) {
        /* clang-format off */
    /* 7 waits in gshmem_long_wait_until */
    case 7: gshmem_wait_until(words, GSHMEM_CMP_EQ, 1L); break;
    /* 8 waits in gshmem_long_fcollect */
    case 8: gshmem_long_fcollect(GSHMEM_TEAM_WORLD, words, from, 1); break;
    /* 9 waits in gshmem_long_max_reduce */
    case 9: gshmem_max_reduce(GSHMEM_TEAM_WORLD, words, from, 1); break;
    /* 10 waits in gshmemx_barrier_on_stream */
    case 10: gshmemx_barrier_on_stream(GSHMEM_TEAM_WORLD, 0); break;
    /* 11 waits in gshmemx_signal_wait_until_on_stream */
    case 11: gshmemx_signal_wait_until_on_stream((uint64_t *)words, GSHMEM_CMP_EQ, 1, 0); break;
    /* 12 waits in gshmemx_long_broadcast_on_stream */
    case 12: gshmemx_long_broadcast_on_stream(GSHMEM_TEAM_WORLD, words, from, 1, 0, 0); break;
    /* 13 waits in gshmem_malloc */
    case 13: gshmem_malloc(64); break;
        /* clang-format on */
    }
}

static int pe_main(int argc, char **argv)
{
    test_pe pe = test_begin();
    const int number = argc > 1 ? atoi(argv[1]) : 0;
    long *words = (long *)test_heap(16 * sizeof(long));
    gshmem_ctx_t context = GSHMEM_CTX_INVALID;
    CHECK_EQ(gshmem_ctx_create(0, &context), 0);
    gshmem_barrier_all();
    if (pe.me == 1 && getenv("GSHMEM_NODE_PES"))
        raise(SIGSTOP);
    if (pe.me == 0) {
        test_collective(&pe, wait_kernel, 1, 1, number, words, context);
        test_sync(&pe);
        wait_on_host(number, words);
    }
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
