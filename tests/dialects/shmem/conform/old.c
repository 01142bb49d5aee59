/* SPDX-License-Identifier: Apache-2.0
 * The deprecated names: set-up and heap, atomics and waits by type and generic, caches. */
#include "conform.h"

#define AMO(NAME, T)                                                \
    static void check_##NAME(const struct conform *c, void *memory) \
    {                                                               \
        T *word = memory;                                           \
        shmem_##NAME##_inc(word, c->next);                          \
        shmem_##NAME##_add(word, 5, c->next);                       \
        CHECK_EQ(shmem_##NAME##_finc(word, c->next), 6);            \
        CHECK_EQ(shmem_##NAME##_fadd(word, 3, c->next), 7);         \
        CHECK_EQ(shmem_##NAME##_cswap(word, 10, 20, c->next), 10);  \
        CHECK_EQ(shmem_##NAME##_cswap(word, 10, 30, c->next), 20);  \
        CHECK_EQ(shmem_##NAME##_swap(word, 40, c->next), 20);       \
        CHECK_EQ(shmem_##NAME##_fetch(word, c->next), 40);          \
        shmem_##NAME##_set(word, 41, c->next);                      \
        shmem_inc(word, c->next);                                   \
        shmem_add(word, (T)1, c->next);                             \
        CHECK_EQ(shmem_finc(word, c->next), 43);                    \
        CHECK_EQ(shmem_fadd(word, (T)1, c->next), 44);              \
        CHECK_EQ(shmem_cswap(word, (T)45, (T)1, c->next), 45);      \
        CHECK_EQ(shmem_swap(word, (T)2, c->next), 1);               \
        CHECK_EQ(shmem_fetch(word, c->next), 2);                    \
        shmem_barrier_all();                                        \
        CHECK_EQ(*word, 2);                                         \
        shmem_barrier_all();                                        \
        shmem_set(word, (T)7, c->next);                             \
        shmem_##NAME##_wait(word, 2);                               \
        shmem_##NAME##_wait_until(word, _SHMEM_CMP_EQ, 7);          \
        shmem_barrier_all();                                        \
        *word = 0;                                                  \
        shmem_barrier_all();                                        \
    }
AMO(int, int)
AMO(long, long)
AMO(longlong, long long)
#undef AMO

int conform_old(const struct conform *c)
{
    CHECK_EQ(_my_pe(), c->me);
    CHECK_EQ(_num_pes(), c->n);
    start_pes(0); /* init was before: no effect */
    CHECK(_SHMEM_SYNC_VALUE == SHMEM_SYNC_VALUE && _SHMEM_CMP_GE == SHMEM_CMP_GE);
    CHECK(_SHMEM_MAX_NAME_LEN == SHMEM_MAX_NAME_LEN);
    long *word = shmalloc(sizeof(long));
    *word = 0;
    shmem_barrier_all();
    check_int(c, word);
    check_long(c, word);
    check_longlong(c, word);
    shmem_long_p(word, 5, c->next);
    shmem_wait(word, 0);
    CHECK_EQ(*word, 5);
    float *real = shmemalign(256, sizeof(float));
    CHECK((uintptr_t)real % 256 == 0);
    *real = 1;
    shmem_barrier_all();
    CHECK(shmem_float_swap(real, 2.5f, c->next) == 1);
    CHECK(shmem_float_fetch(real, c->next) == 2.5f);
    shmem_float_set(real, 3, c->next);
    CHECK(shmem_fetch(real, c->next) == 3);
    real = shrealloc(real, 100 * sizeof(float));
    CHECK(real != NULL);
    shmem_set_cache_inv();
    shmem_clear_cache_inv();
    shmem_set_cache_line_inv(word);
    shmem_clear_cache_line_inv(word);
    shmem_udcflush();
    shmem_udcflush_line(word);
    shfree(real);
    shfree(word);
    return test_result();
}
