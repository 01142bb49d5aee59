/* SPDX-License-Identifier: Apache-2.0
 * OpenSHMEM's calls that wait for ever, for tests/multi/sites.py. Compiled with GSHMEM_CALL_SITES.
 *
 *     sites CASE */
#include <shmemx.h>
#include <stdlib.h>
#include <unistd.h>

static long sync_words[SHMEM_SYNC_SIZE];

static void wait_in(int number, long *words)
{
    long *const from = words + 8;
    switch (number) {
    case 1:
        /* 1 waits in gshmem_barrier_all */
        shmem_barrier_all();
        break;
    case 2:
        /* 2 waits in gshmem_long_wait_until */
        shmem_wait_until(words, SHMEM_CMP_EQ, 1);
        break;
    case 3:
        /* 3 waits in gshmem_long_sum_reduce */
        (void)shmem_sum_reduce(SHMEM_TEAM_WORLD, words, from, 1);
        break;
    case 4:
        /* 4 waits in gshmem_long_broadcast */
        (void)shmem_long_broadcast(SHMEM_TEAM_WORLD, words, from, 1, 0);
        break;
    case 5:
        /* 5 waits in gshmem_free */
        shmem_free(words);
        break;
    case 6:
        /* 6 waits in gshmem_team_sync */
        shmem_sync(SHMEM_TEAM_WORLD);
        break;
    case 7:
        /* 7 waits in gshmemx_team_create_at */
        shmem_barrier(0, 0, 2, sync_words);
        break;
    }
}

int main(int argc, char **argv)
{
    shmem_init();
    long *words = (long *)shmem_calloc(16, sizeof(*words));
    shmem_barrier_all();
    if (shmem_my_pe() == 0 && argc > 1) {
        wait_in(atoi(argv[1]), words);
    }
    for (;;) {
        pause();
    }
}
