/* SPDX-License-Identifier: Apache-2.0
 * 9.6: blocking and non-blocking puts and gets of every type, size and by bytes, and single
 * elements; to every PE, itself included; of no elements. */
#include "conform.h"

enum { N = 37 };

#define TYPE(NAME, T)                                               \
    static void check_##NAME(const struct conform *c, char *memory) \
    {                                                               \
        T *dest = (T *)(void *)memory, source[N], back[N];          \
        for (int pe = c->next, k = 0; k < 2; pe = c->me, k++) {     \
            const int from = k == 0 ? c->previous : c->me;          \
            for (int i = 0; i < N; i++) {                           \
                source[i] = (T)(c->me * 3 + i + k);                 \
                dest[i] = (T)0;                                     \
            }                                                       \
            shmem_barrier_all();                                    \
            shmem_##NAME##_put(dest, source, 10, pe);               \
            shmem_##NAME##_put_nbi(dest + 10, source + 10, 10, pe); \
            shmem_put(dest + 20, source + 20, 5, pe);               \
            shmem_put_nbi(dest + 25, source + 25, N - 27, pe);      \
            shmem_##NAME##_p(dest + N - 2, source[N - 2], pe);      \
            shmem_p(dest + N - 1, source[N - 1], pe);               \
            shmem_##NAME##_put(dest, source + 1, 0, pe);            \
            shmem_barrier_all();                                    \
            for (int i = 0; i < N; i++) {                           \
                CHECK(dest[i] == (T)(from * 3 + i + k));            \
            }                                                       \
            memset(back, 0, sizeof(back));                          \
            shmem_##NAME##_get(back, dest, 10, pe);                 \
            shmem_##NAME##_get_nbi(back + 10, dest + 10, 10, pe);   \
            shmem_get(back + 20, dest + 20, 5, pe);                 \
            shmem_get_nbi(back + 25, dest + 25, N - 25, pe);        \
            shmem_##NAME##_get(back, dest + 1, 0, pe);              \
            shmem_quiet();                                          \
            CHECK(shmem_##NAME##_g(dest + 3, pe) == source[3]);     \
            CHECK(shmem_g(dest + 4, pe) == source[4]);              \
            for (int i = 0; i < N; i++) {                           \
                CHECK(back[i] == source[i]);                        \
            }                                                       \
            shmem_barrier_all();                                    \
        }                                                           \
    }
RMA_TYPES(TYPE)
#undef TYPE

#define SIZE(BITS, BYTES)                                                                        \
    static void check_size##BITS(const struct conform *c, char *dest)                            \
    {                                                                                            \
        char source[N * BYTES], back[N * BYTES];                                                 \
        for (int i = 0; i < N * BYTES; i++) {                                                    \
            source[i] = (char)(c->me + i);                                                       \
        }                                                                                        \
        memset(dest, -1, sizeof(source) + 1);                                                    \
        shmem_barrier_all();                                                                     \
        shmem_put##BITS(dest, source, N / 2, c->next);                                           \
        shmem_put##BITS##_nbi(dest + N / 2 * BYTES, source + N / 2 * BYTES, N - N / 2, c->next); \
        shmem_quiet();                                                                           \
        memset(back, 0, sizeof(back));                                                           \
        shmem_get##BITS(back, dest, N / 2, c->next);                                             \
        shmem_get##BITS##_nbi(back + N / 2 * BYTES, dest + N / 2 * BYTES, N - N / 2, c->next);   \
        shmem_quiet();                                                                           \
        CHECK(memcmp(back, source, sizeof(back)) == 0);                                          \
        shmem_barrier_all();                                                                     \
        CHECK(dest[0] == (char)c->previous && dest[sizeof(source)] == -1);                       \
        shmem_barrier_all();                                                                     \
    }
SIZES(SIZE)
#undef SIZE

/* Lengths around which copies may change their method, to and from every place. */
static void check_bytes(const struct conform *c, char *memory)
{
    static const size_t lengths[] = {1, 7, 15, 16, 17, 63, 64, 65, 255, 1000, 4095, 4097, 70001};
    char *source = malloc(80000), *back = malloc(80000);
    for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
        const size_t bytes = lengths[k], at = k % 9;
        for (size_t i = 0; i < bytes; i++) {
            source[i] = (char)(c->me * 31 + (int)(i * 7 + k));
        }
        for (int pe = 0; pe < c->n; pe++) { /* each writes at its own place */
            char *dest = memory + (size_t)c->me * 80000 + at;
            shmem_putmem(dest, source, bytes, pe);
            shmem_quiet();
            memset(back, 0, bytes);
            shmem_getmem(back, dest, bytes, pe);
            CHECK(memcmp(back, source, bytes) == 0);
            shmem_putmem_nbi(dest + 1, source, bytes, pe);
            shmem_quiet();
            shmem_getmem_nbi(back, dest + 1, bytes, pe);
            shmem_quiet();
            CHECK(memcmp(back, source, bytes) == 0);
        }
    }
    free(source);
    free(back);
}

int conform_rma(const struct conform *c)
{
    char *memory = conform_memory((size_t)c->n * 80000);
#define TYPE(NAME, T) check_##NAME(c, memory);
    RMA_TYPES(TYPE)
#undef TYPE
#define SIZE(BITS, BYTES) check_size##BITS(c, memory);
    SIZES(SIZE)
#undef SIZE
    check_bytes(c, memory);
    shmem_barrier_all();
    shmem_free(memory);
    return test_result();
}
