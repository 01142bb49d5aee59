/* SPDX-License-Identifier: Apache-2.0
 * 9.3: malloc, align, calloc, realloc, hints, free; sizes of 0. */
#include "conform.h"

static void check_symmetric(const struct conform *c, long *p, size_t nelems)
{
    for (size_t i = 0; i < nelems; i++) {
        p[i] = 1000 * c->me + (long)i;
    }
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(p + nelems - 1, c->next), 1000 * c->next + (long)nelems - 1);
    shmem_barrier_all();
}

int conform_memory_calls(const struct conform *c)
{
    long *p = shmem_malloc(100 * sizeof(long));
    CHECK(p != NULL && (uintptr_t)p % sizeof(long) == 0);
    check_symmetric(c, p, 100);

    p = shmem_realloc(p, 1000 * sizeof(long));
    CHECK(p != NULL && p[0] == 1000 * c->me && p[99] == 1000 * c->me + 99);
    check_symmetric(c, p, 1000);
    p = shmem_realloc(p, 10 * sizeof(long));
    CHECK(p != NULL && p[9] == 1000 * c->me + 9);
    CHECK(shmem_realloc(p, 0) == NULL); /* frees it */
    p = shmem_realloc(NULL, 64 * sizeof(long));
    CHECK(p != NULL);
    check_symmetric(c, p, 64);
    shmem_free(p);

    for (size_t alignment = sizeof(void *); alignment <= 1 << 16; alignment *= 4) {
        p = shmem_align(alignment, 24);
        CHECK(p != NULL && (uintptr_t)p % alignment == 0);
        check_symmetric(c, p, 3);
        shmem_free(p);
    }
    p = shmem_calloc(77, sizeof(long));
    for (int i = 0; i < 77; i++) {
        CHECK_EQ(p[i], 0);
    }
    shmem_free(p);
    const long hints[] = {0, SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE,
                          SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE,
                          1L << 20}; /* the last one has no meaning */
    for (int i = 0; i < 5; i++) {
        p = shmem_malloc_with_hints(5 * sizeof(long), hints[i]);
        CHECK(p != NULL);
        check_symmetric(c, p, 5);
        shmem_free(p);
    }
    CHECK(shmem_malloc(0) == NULL && shmem_calloc(0, 8) == NULL && shmem_calloc(8, 0) == NULL);
    CHECK(shmem_align(64, 0) == NULL && shmem_malloc_with_hints(0, 0) == NULL);
    shmem_free(NULL);

    /* free is a barrier: what was put before has arrived, and blocks are reused in any order */
    long *blocks[20];
    for (int i = 0; i < 20; i++) {
        blocks[i] = shmem_malloc((size_t)(i + 1) * 4096);
        CHECK(blocks[i] != NULL);
    }
    for (int i = 0; i < 20; i++) {
        shmem_free(blocks[(i * 7) % 20]);
    }
    return test_result();
}
