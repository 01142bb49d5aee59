/* SPDX-License-Identifier: Apache-2.0
 * Conformance to OpenSHMEM 1.5, 9.1: every thread level that can be requested, several times in one
 * process; exit with a status; and, from 1.6, inits that the same number of finalizes end. */
#include "conform.h"

static int levels[] = {SHMEM_THREAD_SINGLE, SHMEM_THREAD_FUNNELED, SHMEM_THREAD_SERIALIZED,
                       SHMEM_THREAD_MULTIPLE};

int main(int argc, char **argv)
{
    int is_initialized = -1;
    shmem_query_initialized(&is_initialized);
    CHECK_EQ(is_initialized, 0);
    for (int i = 0; i < 4; i++) {
        int provided = -1, again = -2;
        CHECK_EQ(shmem_init_thread(levels[i], &provided), 0);
        CHECK(provided >= levels[i] && provided <= SHMEM_THREAD_MULTIPLE);
        shmem_query_thread(&again);
        CHECK_EQ(again, provided);
        long *word = conform_memory(sizeof(long));
        shmem_long_atomic_inc(word, 0);
        shmem_barrier_all();
        CHECK_EQ(shmem_long_g(word, 0), shmem_n_pes());
        shmem_query_initialized(&is_initialized);
        CHECK_EQ(is_initialized, 1);
        shmem_finalize();
        shmem_query_initialized(&is_initialized);
        CHECK_EQ(is_initialized, 0);
    }
    shmem_init();
    int provided = -1;
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_SERIALIZED, &provided), 0);
    CHECK(provided >= SHMEM_THREAD_SERIALIZED);
    long *word = conform_memory(sizeof(long));
    shmem_long_atomic_inc(word, 0);
    shmem_finalize(); /* also a barrier */
    CHECK_EQ(shmem_long_g(word, 0), shmem_n_pes());
    shmem_query_initialized(&is_initialized);
    CHECK_EQ(is_initialized, 1);
    shmem_finalize();
    shmem_query_initialized(&is_initialized);
    CHECK_EQ(is_initialized, 0);
    CHECK(shmem_init_thread(-1, NULL) != 0);
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE + 1, NULL) != 0);
    if (argc > 1 && test_result() == 0) { /* the job's status is that of one PE */
        shmem_init();
        if (shmem_my_pe() == shmem_n_pes() - 1) {
            shmem_global_exit(atoi(argv[1]));
        }
        shmem_barrier_all();
        return 99;
    }
    return test_result();
}
