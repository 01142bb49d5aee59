/* SPDX-License-Identifier: Apache-2.0
 * 9.6: strided puts and gets, and from 1.6 those of blocks, of every type and size. */
#include <mpp/shmemx.h>
#include "conform.h"

enum { N = 9, ROOM = 64 };

#define TYPE(NAME, T)                                                                       \
    static void check_##NAME(const struct conform *c, char *memory)                         \
    {                                                                                       \
        T *dest = (T *)(void *)memory, source[ROOM], back[ROOM];                            \
        for (int i = 0; i < ROOM; i++) {                                                    \
            source[i] = (T)(c->me + i);                                                     \
            dest[i] = back[i] = (T)99;                                                      \
        }                                                                                   \
        shmem_barrier_all();                                                                \
        shmem_##NAME##_iput(dest, source, 3, 2, N, c->next);                                \
        shmem_iput(dest + 40, source, 1, 4, N, c->next);                                    \
        shmem_barrier_all();                                                                \
        for (int i = 0; i < 3 * N; i++) {                                                   \
            CHECK(dest[i] == (i % 3 == 0 ? (T)(c->previous + i / 3 * 2) : (T)99));          \
        }                                                                                   \
        CHECK(dest[40 + N - 1] == (T)(c->previous + 4 * (N - 1)) && dest[40 + N] == (T)99); \
        shmem_##NAME##_iget(back, dest, 2, 3, N, c->next);                                  \
        shmem_iget(back + 40, dest, 1, 3, N, c->next);                                      \
        for (int i = 0; i < N; i++) {                                                       \
            CHECK(back[2 * i] == (T)(c->me + 2 * i) && back[40 + i] == back[2 * i]);        \
            CHECK(back[2 * i + 1] == (T)99);                                                \
        }                                                                                   \
        shmem_barrier_all();                                                                \
        shmem_##NAME##_ibput(dest, source, 7, 5, 3, 4, c->next);                            \
        shmem_barrier_all();                                                                \
        CHECK(dest[0] == (T)c->previous && dest[2] == (T)(c->previous + 2));                \
        CHECK(dest[7 * 3 + 2] == (T)(c->previous + 5 * 3 + 2));                             \
        shmem_##NAME##_ibget(back, dest, 4, 7, 3, 4, c->next);                              \
        CHECK(back[4 * 3 + 1] == (T)(c->me + 5 * 3 + 1));                                   \
        shmem_barrier_all();                                                                \
    }
RMA_TYPES(TYPE)
#undef TYPE

#define SIZE(BITS, BYTES)                                                                \
    static void check_size##BITS(const struct conform *c, char *dest)                    \
    {                                                                                    \
        char source[ROOM * BYTES], back[ROOM * BYTES];                                   \
        for (int i = 0; i < ROOM * BYTES; i++) {                                         \
            source[i] = (char)(c->me + i);                                               \
        }                                                                                \
        shmem_barrier_all();                                                             \
        shmem_iput##BITS(dest, source, 2, 3, N, c->next);                                \
        shmem_quiet();                                                                   \
        shmem_iget##BITS(back, dest, 1, 2, N, c->next);                                  \
        for (int i = 0; i < N; i++) {                                                    \
            CHECK(memcmp(back + i * BYTES, source + 3 * i * BYTES, BYTES) == 0);         \
        }                                                                                \
        shmemx_ibput##BITS(dest, source, 4, 5, 2, 6, c->next);                           \
        shmem_quiet();                                                                   \
        shmemx_ibget##BITS(back, dest, 2, 4, 2, 6, c->next);                             \
        for (int i = 0; i < 6; i++) {                                                    \
            CHECK(memcmp(back + 2 * i * BYTES, source + 5 * i * BYTES, 2 * BYTES) == 0); \
        }                                                                                \
        shmem_barrier_all();                                                             \
    }
SIZES(SIZE)
#undef SIZE

int conform_rma_strided(const struct conform *c)
{
    char *memory = conform_memory(ROOM * 16);
#define TYPE(NAME, T) check_##NAME(c, memory);
    RMA_TYPES(TYPE)
#undef TYPE
#define SIZE(BITS, BYTES) check_size##BITS(c, memory);
    SIZES(SIZE)
#undef SIZE
    shmem_free(memory);
    return test_result();
}
