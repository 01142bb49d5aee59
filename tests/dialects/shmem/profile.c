/* SPDX-License-Identifier: Apache-2.0
 * The profiling interface: a program's own shmem_putmem and shmem_long_p replace the library's, are
 * what the generic interfaces call, and forward to the pshmem_ names. */
#include <pshmem.h>
#include "tests/test.h"

static int n_puts, n_ps, n_sums;
static long sync_words[SHMEM_REDUCE_SYNC_SIZE];

void shmem_putmem(void *dest, const void *source, size_t nelems, int pe)
{
    n_puts++;
    pshmem_putmem(dest, source, nelems, pe);
}

void shmem_long_p(long *dest, long value, int pe)
{
    n_ps++;
    pshmem_long_p(dest, value, pe);
}

/* The old calls have profiling names, too. */
void shmem_long_sum_to_all(long *dest, const long *source, int nreduce, int PE_start,
                           int logPE_stride, int PE_size, long *pWrk, long *pSync)
{
    n_sums++;
    pshmem_long_sum_to_all(dest, source, nreduce, PE_start, logPE_stride, PE_size, pWrk, pSync);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe();
    long *word = shmem_calloc(1, sizeof(long)), value = 5;
    shmem_putmem(word, &value, sizeof(value), me);
    CHECK_EQ(*word, 5);
    shmem_p(word, 6L, me);
    shmem_quiet();
    CHECK_EQ(*word, 6);
    pshmem_barrier(0, 0, shmem_n_pes(), sync_words);
    shmem_long_sum_to_all(word, word, 1, 0, 0, shmem_n_pes(), NULL, sync_words);
    CHECK_EQ(*word, 6 * shmem_n_pes());
    CHECK_EQ(n_sums, 1);
    CHECK_EQ(n_puts, 1);
    CHECK_EQ(n_ps, 1);
    shmem_finalize();
    return test_result();
}
