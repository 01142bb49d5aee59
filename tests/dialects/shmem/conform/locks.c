/* SPDX-License-Identifier: Apache-2.0
 * 9.12: one PE at a time holds a lock; test takes it or fails; several locks at a time; the next
 * holder sees what was put under a lock. */
#include "conform.h"

int conform_locks(const struct conform *c)
{
    long *locks = conform_memory(3 * sizeof(long)), *data = conform_memory(4 * sizeof(long));
    for (int i = 0; i < 30; i++) {
        shmem_set_lock(&locks[i % 2]);
        const long old = shmem_long_g(data + i % 2, 0);
        shmem_long_put_nbi(data + i % 2, &(long){old + 1}, 1, 0);
        shmem_clear_lock(&locks[i % 2]); /* completes it */
    }
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(data, 0), 15 * c->n);
    CHECK_EQ(shmem_long_g(data + 1, 0), 15 * c->n);

    /* no PE holds it: exactly one test succeeds until it is cleared */
    const int got = shmem_test_lock(&locks[2]) == 0;
    shmem_long_atomic_add(data + 2, got, 0);
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(data + 2, 0), 1);
    CHECK(got || shmem_test_lock(&locks[2]) != 0);
    shmem_barrier_all();
    if (got) {
        shmem_clear_lock(&locks[2]);
    }
    shmem_barrier_all();
    while (shmem_test_lock(&locks[2]) != 0) {
    }
    shmem_long_p(data + 3, shmem_long_g(data + 3, c->n - 1) + 1, c->n - 1);
    shmem_clear_lock(&locks[2]);
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(data + 3, c->n - 1), c->n);

    /* held together, taken and released in either order */
    shmem_set_lock(&locks[0]);
    shmem_set_lock(&locks[1]);
    shmem_clear_lock(&locks[0]);
    shmem_clear_lock(&locks[1]);
    shmem_barrier_all();
    for (int i = 0; i < 3; i++) {
        if (c->me == i % c->n) {
            CHECK_EQ(shmem_test_lock(&locks[i]), 0); /* no PE holds it */
        }
        shmem_barrier_all();
        CHECK(c->me == i % c->n || shmem_test_lock(&locks[i]) != 0);
        shmem_barrier_all();
        if (c->me == i % c->n) {
            shmem_clear_lock(&locks[i]);
        }
    }
    shmem_barrier_all();
    shmem_free(data);
    shmem_free(locks);
    return test_result();
}
