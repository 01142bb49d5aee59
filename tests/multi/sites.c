/* SPDX-License-Identifier: Apache-2.0
 * Calls of the host in C that wait for ever, for sites.py. Compiled with GSHMEM_CALL_SITES, as C11
 * and as C++.
 *
 *     sites CASE */
#include <gshmemx.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static long *words;

static void wait_in(int number)
{
    long *const from = words + 8;
    switch (number) {
    case 1:
        /* 1 waits in gshmem_barrier_all */
        gshmem_barrier_all();
        break;
    case 2:
        /* 2 waits in gshmem_long_wait_until */
        gshmem_long_wait_until(words, GSHMEM_CMP_EQ, 1);
        break;
    case 3:
        /* 3 waits in gshmem_long_wait_until */
        gshmem_wait_until(words, GSHMEM_CMP_EQ, 1);
        break;
    case 4:
        /* 4 waits in gshmem_long_broadcast */
        (void)gshmem_long_broadcast(GSHMEM_TEAM_WORLD, words, from, 1, 0);
        break;
    case 5:
        /* 5 waits in gshmem_long_sum_reduce */
        (void)gshmem_sum_reduce(GSHMEM_TEAM_WORLD, words, from, 1);
        break;
    case 6:
        /* 6 waits in gshmemx_barrier_all_on_stream */
        gshmemx_barrier_all_on_stream(0);
        break;
    case 7:
        /* 7 waits in gshmemx_long_wait_until_on_stream */
        gshmemx_long_wait_until_on_stream(words, GSHMEM_CMP_EQ, 1, 0);
        break;
    case 8:
        /* 8 waits in gshmemx_long_alltoall_on_stream */
        (void)gshmemx_long_alltoall_on_stream(GSHMEM_TEAM_WORLD, words, from, 1, 0);
        break;
    case 9:
        /* 9 waits in gshmem_malloc */
        gshmem_free(gshmem_malloc(64));
        break;
    case 10:
        /* 10 waits for the network in gshmem_long_atomic_fetch */
        for (;;)
            (void)gshmem_long_atomic_fetch(words, 1);
    case 11:
        /* 11 waits for the network in gshmem_ctx_long_atomic_fetch */
        for (;;)
            (void)gshmem_atomic_fetch(GSHMEM_CTX_DEFAULT, words, 1);
    case 12:
        /* 12 waits in gshmem_long_wait_until_any */
        (void)gshmem_wait_until_any(words, 1, NULL, GSHMEM_CMP_NE, 0);
        break;
    case 13:
        /* 13 waits in gshmem_finalize */
        gshmem_finalize();
        break;
    }
}

int main(int argc, char **argv)
{
    gshmem_init();
    words = (long *)gshmem_calloc(16, sizeof(*words));
    gshmem_barrier_all();
    if (gshmem_my_pe() == 1 && getenv("GSHMEM_NODE_PES") != NULL) {
        raise(SIGSTOP);
    }
    if (gshmem_my_pe() == 0 && argc > 1) {
        wait_in(atoi(argv[1]));
    }
    for (;;) {
        pause();
    }
}
