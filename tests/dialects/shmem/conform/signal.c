/* SPDX-License-Identifier: Apache-2.0
 * 9.8: puts with a signal of every type and size, set and added, with and without waiting; a PE
 * that sees the signal sees the data. */
#include "conform.h"

enum { N = 11 };

#define TYPE(NAME, T)                                                                         \
    static void check_##NAME(const struct conform *c, void *memory, uint64_t *signal)         \
    {                                                                                         \
        T *dest = memory, source[N];                                                          \
        for (int i = 0; i < N; i++) {                                                         \
            source[i] = (T)(c->me + i);                                                       \
        }                                                                                     \
        shmem_##NAME##_put_signal(dest, source, N, signal, 5, SHMEM_SIGNAL_SET, c->next);     \
        CHECK_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 5), 5);                        \
        for (int i = 0; i < N; i++) {                                                         \
            CHECK(dest[i] == (T)(c->previous + i));                                           \
        }                                                                                     \
        shmem_barrier_all();                                                                  \
        source[0] = (T)(c->me + 50);                                                          \
        shmem_##NAME##_put_signal_nbi(dest, source, N, signal, 3, SHMEM_SIGNAL_ADD, c->next); \
        CHECK_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_GT, 7), 8);                        \
        CHECK(dest[0] == (T)(c->previous + 50) && dest[N - 1] == (T)(c->previous + N - 1));   \
        shmem_barrier_all();                                                                  \
        *signal = 0;                                                                          \
        shmem_barrier_all();                                                                  \
    }
RMA_TYPES(TYPE)
#undef TYPE

#define SIZE(BITS, BYTES)                                                                    \
    static void check_size##BITS(const struct conform *c, char *dest, uint64_t *signal)      \
    {                                                                                        \
        char source[N * BYTES];                                                              \
        memset(source, c->me + 1, sizeof(source));                                           \
        shmem_put##BITS##_signal(dest, source, N, signal, 1, SHMEM_SIGNAL_ADD, c->next);     \
        shmem_signal_wait_until(signal, SHMEM_CMP_GE, 1);                                    \
        CHECK(dest[0] == c->previous + 1 && dest[sizeof(source) - 1] == c->previous + 1);    \
        shmem_barrier_all();                                                                 \
        memset(source, c->me + 2, sizeof(source));                                           \
        shmem_put##BITS##_signal_nbi(dest, source, N, signal, 9, SHMEM_SIGNAL_SET, c->next); \
        shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 9);                                    \
        CHECK(dest[sizeof(source) - 1] == c->previous + 2);                                  \
        shmem_barrier_all();                                                                 \
        *signal = 0;                                                                         \
        shmem_barrier_all();                                                                 \
    }
SIZES(SIZE)
#undef SIZE

int conform_signal(const struct conform *c)
{
    uint64_t *signal = conform_memory(2 * sizeof(uint64_t));
    char *memory = conform_memory(100000), *source = calloc(1, 100000);
#define CALL(NAME, T) check_##NAME(c, memory, signal);
    RMA_TYPES(CALL)
#undef CALL
#define CALL(BITS, BYTES) check_size##BITS(c, memory, signal);
    SIZES(CALL)
#undef CALL
    memset(source, 'a' + c->me, 100000);
    shmem_putmem_signal(memory, source, 100000, signal, 1, SHMEM_SIGNAL_ADD, c->next);
    shmem_signal_wait_until(signal, SHMEM_CMP_NE, 0);
    CHECK(memory[0] == 'a' + c->previous && memory[99999] == 'a' + c->previous);
    shmem_barrier_all();
    shmem_putmem_signal_nbi(memory, source, 0, signal, 1, SHMEM_SIGNAL_ADD, c->next); /* alone */
    shmem_quiet();
    shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 2);
    CHECK_EQ(shmem_signal_fetch(signal), 2);
    shmem_signal_add(signal + 1, 4, c->next);
    shmem_signal_wait_until(signal + 1, SHMEM_CMP_EQ, 4);
    shmem_barrier_all();
    shmem_signal_set(signal + 1, 1, c->next);
    shmem_signal_wait_until(signal + 1, SHMEM_CMP_LT, 4);
    shmem_barrier_all();
    /* one signal counts all PEs' puts */
    *signal = 0;
    shmem_barrier_all();
    for (int pe = 0; pe < c->n; pe++) {
        shmem_putmem_signal(memory + c->me, source, 1, signal, 1, SHMEM_SIGNAL_ADD, pe);
    }
    shmem_signal_wait_until(signal, SHMEM_CMP_GE, (uint64_t)c->n);
    for (int pe = 0; pe < c->n; pe++) {
        CHECK_EQ(memory[pe], 'a' + pe);
    }
    shmem_barrier_all();
    free(source);
    shmem_free(memory);
    shmem_free(signal);
    return test_result();
}
