/* SPDX-License-Identifier: Apache-2.0
 * 9.7: every atomic of every type, fetching, not fetching and fetching without waiting: returned
 * values, and counts to which all PEs add. */
#include "conform.h"

#define SWAP(NAME, T)                                                              \
    static void check_swap_##NAME(const struct conform *c, void *memory)           \
    {                                                                              \
        T *words = memory, old = (T)0;                                             \
        shmem_##NAME##_atomic_set(words, (T)(c->me + 1), c->next);                 \
        CHECK(shmem_##NAME##_atomic_fetch(words, c->next) == (T)(c->me + 1));      \
        CHECK(shmem_##NAME##_atomic_swap(words, (T)7, c->next) == (T)(c->me + 1)); \
        shmem_##NAME##_atomic_fetch_nbi(&old, words, c->next);                     \
        shmem_quiet();                                                             \
        CHECK(old == (T)7);                                                        \
        shmem_##NAME##_atomic_swap_nbi(&old, words, (T)8, c->next);                \
        shmem_quiet();                                                             \
        CHECK(old == (T)7 && shmem_atomic_fetch(words, c->next) == (T)8);          \
        shmem_atomic_set(words, (T)0, c->next);                                    \
        shmem_barrier_all();                                                       \
    }
SWAP_TYPES(SWAP)
#undef SWAP

#define COUNT(NAME, T)                                                                   \
    static void check_##NAME(const struct conform *c, void *memory)                      \
    {                                                                                    \
        T *words = memory, old = (T)0;                                                   \
        for (int pe = 0; pe < c->n; pe++) {                                              \
            shmem_##NAME##_atomic_inc(words, pe);                                        \
            shmem_##NAME##_atomic_add(words, (T)2, pe);                                  \
            CHECK(shmem_##NAME##_atomic_fetch_inc(words + 1, pe) < (T)(4 * c->n));       \
            CHECK(shmem_##NAME##_atomic_fetch_add(words + 1, (T)3, pe) < (T)(4 * c->n)); \
            shmem_##NAME##_atomic_fetch_inc_nbi(&old, words + 2, pe);                    \
            shmem_quiet();                                                               \
            CHECK(old < (T)(5 * c->n));                                                  \
            shmem_##NAME##_atomic_fetch_add_nbi(&old, words + 2, (T)4, pe);              \
            shmem_quiet();                                                               \
            CHECK(old < (T)(5 * c->n));                                                  \
        }                                                                                \
        shmem_barrier_all();                                                             \
        CHECK(words[0] == (T)(3 * c->n) && words[1] == (T)(4 * c->n));                   \
        CHECK(words[2] == (T)(5 * c->n));                                                \
        shmem_barrier_all();                                                             \
        CHECK(shmem_##NAME##_atomic_compare_swap(words, (T)(3 * c->n), (T)1, c->next) == \
              (T)(3 * c->n));                                                            \
        CHECK(shmem_##NAME##_atomic_compare_swap(words, (T)5, (T)2, c->next) == (T)1);   \
        shmem_##NAME##_atomic_compare_swap_nbi(&old, words, (T)1, (T)9, c->next);        \
        shmem_quiet();                                                                   \
        CHECK(old == (T)1 && shmem_##NAME##_g(words, c->next) == (T)9);                  \
        shmem_barrier_all();                                                             \
        words[0] = words[1] = words[2] = (T)0;                                           \
        shmem_barrier_all();                                                             \
    }
AMO_TYPES(COUNT)
#undef COUNT

#define BITS(NAME, T)                                                                      \
    static void check_bits_##NAME(const struct conform *c, void *memory)                   \
    {                                                                                      \
        T *words = memory, old = (T)0;                                                     \
        const T mine = (T)((T)1 << c->me), all = (T)(((T)1 << c->n) - 1);                  \
        for (int pe = 0; pe < c->n; pe++) {                                                \
            shmem_##NAME##_atomic_or(words, mine, pe);                                     \
            CHECK((shmem_##NAME##_atomic_fetch_or(words + 1, mine, pe) & mine) == 0);      \
            shmem_##NAME##_atomic_fetch_or_nbi(&old, words + 2, mine, pe);                 \
            shmem_##NAME##_atomic_xor(words + 3, mine, pe);                                \
        }                                                                                  \
        shmem_barrier_all();                                                               \
        CHECK(words[0] == all && words[1] == all && words[2] == all && words[3] == all);   \
        shmem_barrier_all();                                                               \
        for (int pe = 0; pe < c->n; pe++) {                                                \
            shmem_##NAME##_atomic_and(words, (T)~mine, pe);                                \
            CHECK((shmem_##NAME##_atomic_fetch_and(words + 1, (T)~mine, pe) & mine) != 0); \
            shmem_##NAME##_atomic_fetch_and_nbi(&old, words + 2, (T)~mine, pe);            \
            CHECK((shmem_##NAME##_atomic_fetch_xor(words + 3, mine, pe) & mine) != 0);     \
            shmem_##NAME##_atomic_fetch_xor_nbi(&old, words + 4, mine, pe);                \
        }                                                                                  \
        shmem_barrier_all();                                                               \
        CHECK(words[0] == 0 && words[1] == 0 && words[2] == 0 && words[3] == 0);           \
        CHECK(words[4] == all);                                                            \
        shmem_barrier_all();                                                               \
        words[4] = (T)0;                                                                   \
        shmem_barrier_all();                                                               \
    }
BIT_TYPES(BITS)
#undef BITS

int conform_amo(const struct conform *c)
{
    void *memory = conform_memory(8 * sizeof(uint64_t));
#define CALL(NAME, T) check_swap_##NAME(c, memory);
    SWAP_TYPES(CALL)
#undef CALL
#define CALL(NAME, T) check_##NAME(c, memory);
    AMO_TYPES(CALL)
#undef CALL
#define CALL(NAME, T) check_bits_##NAME(c, memory);
    BIT_TYPES(CALL)
#undef CALL
    shmem_free(memory);
    return test_result();
}
