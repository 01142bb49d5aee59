/* SPDX-License-Identifier: Apache-2.0
 * 9.11: fence orders puts, atomics and stores to a PE; quiet completes all of them. */
#include "conform.h"

enum { N = 200 };

/* A PE that sees the flag sees what was put before the fence. */
static void check_fence(const struct conform *c, long *data, long *flag)
{
    long source[N];
    for (long round = 1; round <= 50; round++) {
        for (int i = 0; i < N; i++) {
            source[i] = round * 1000 + i;
        }
        shmem_long_put(data, source, N, c->next);
        shmem_long_atomic_add(data + N, 1, c->next);
        shmem_fence();
        shmem_long_p(flag, round, c->next);
        shmem_long_wait_until(flag, SHMEM_CMP_EQ, round);
        CHECK_EQ(data[0], round * 1000);
        CHECK_EQ(data[N - 1], round * 1000 + N - 1);
        CHECK_EQ(data[N], round);
        shmem_barrier_all();
    }
}

/* To several PEs; a third one that is told reads the data. */
static void check_quiet(const struct conform *c, long *data, long *flag)
{
    long mine[N];
    *flag = 0;
    shmem_barrier_all();
    for (int i = 0; i < N; i++) {
        mine[i] = c->me * 10000 + i;
    }
    if (c->me == 0) {
        for (int pe = 0; pe < c->n; pe++) {
            shmem_long_put_nbi(data, mine, N, pe);
        }
        shmem_quiet();
        shmem_long_p(flag, 1, c->n - 1);
    }
    if (c->me == c->n - 1) {
        shmem_long_wait_until(flag, SHMEM_CMP_EQ, 1);
        for (int pe = 0; pe < c->n; pe++) {
            CHECK_EQ(shmem_long_g(data + N - 1, pe), N - 1);
        }
    }
    shmem_barrier_all();
    shmem_fence();
    shmem_quiet();
    shmem_pe_quiet(NULL, 0);
    shmem_long_put_nbi(data, mine, N, c->next);
    shmem_pe_quiet(&c->next, 1);
    CHECK_EQ(shmem_long_g(data + 1, c->next), c->me * 10000 + 1);
    shmem_barrier_all();
}

int conform_order(const struct conform *c)
{
    long *data = conform_memory((N + 2) * sizeof(long));
    check_fence(c, data, data + N + 1);
    check_quiet(c, data, data + N + 1);
    shmem_free(data);
    return test_result();
}
