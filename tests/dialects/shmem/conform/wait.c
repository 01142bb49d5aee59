/* SPDX-License-Identifier: Apache-2.0
 * 9.9: waiting for and testing one, all, any and some of several words, against one value and a
 * vector of them, with and without a mask; of no words, and of words that are all masked. */
#include "conform.h"

enum { N = 6 };

#define TYPE(NAME, T)                                                                             \
    static void check_##NAME(const struct conform *c, void *memory)                               \
    {                                                                                             \
        T *words = memory, values[N];                                                             \
        const int mask[N] = {0, 1, 0, 1, 0, 0}, all[N] = {1, 1, 1, 1, 1, 1};                      \
        size_t indices[N], n;                                                                     \
        for (int i = 0; i < N; i++) {                                                             \
            values[i] = (T)(i + 1);                                                               \
            words[i] = (T)0;                                                                      \
        }                                                                                         \
        shmem_barrier_all();                                                                      \
        CHECK_EQ(shmem_##NAME##_test(words, SHMEM_CMP_NE, (T)0), 0);                              \
        CHECK_EQ(shmem_##NAME##_test(words, SHMEM_CMP_LE, (T)0), 1);                              \
        CHECK_EQ(shmem_##NAME##_test_all(words, N, NULL, SHMEM_CMP_EQ, (T)1), 0);                 \
        CHECK(shmem_##NAME##_test_any(words, N, NULL, SHMEM_CMP_EQ, (T)1) == SIZE_MAX);           \
        CHECK(shmem_##NAME##_test_some(words, N, indices, NULL, SHMEM_CMP_EQ, (T)1) == 0);        \
        CHECK_EQ(shmem_##NAME##_test_all_vector(words, N, NULL, SHMEM_CMP_EQ, values), 0);        \
        CHECK(shmem_##NAME##_test_any_vector(words, N, all, SHMEM_CMP_NE, values) == SIZE_MAX);   \
        shmem_barrier_all();                                                                      \
        for (int i = 0; i < N; i++) {                                                             \
            shmem_##NAME##_p(words + i, values[i], c->next);                                      \
        }                                                                                         \
        shmem_##NAME##_wait_until(words, SHMEM_CMP_EQ, (T)1);                                     \
        shmem_##NAME##_wait_until_all(words, N, mask, SHMEM_CMP_GT, (T)0);                        \
        shmem_##NAME##_wait_until_all_vector(words, N, NULL, SHMEM_CMP_EQ, values);               \
        CHECK(shmem_##NAME##_wait_until_any(words, N, NULL, SHMEM_CMP_GE, (T)N) == N - 1);        \
        n = shmem_##NAME##_wait_until_any(words, N, mask, SHMEM_CMP_LT, (T)5);                    \
        CHECK(n == 0 || n == 2);                                                                  \
        n = shmem_##NAME##_wait_until_any_vector(words, N, mask, SHMEM_CMP_EQ, values);           \
        CHECK(n < N && mask[n] == 0);                                                             \
        n = shmem_##NAME##_wait_until_some(words, N, indices, mask, SHMEM_CMP_NE, (T)0);          \
        CHECK(n >= 1 && n <= 4 && mask[indices[0]] == 0);                                         \
        n = shmem_##NAME##_wait_until_some_vector(words, N, indices, NULL, SHMEM_CMP_EQ, values); \
        CHECK(n >= 1 && n <= N && indices[n - 1] < N);                                            \
        CHECK_EQ(shmem_##NAME##_test_all(words, N, NULL, SHMEM_CMP_GE, (T)1), 1);                 \
        CHECK(shmem_##NAME##_test_some(words, N, indices, mask, SHMEM_CMP_GE, (T)1) == 4);        \
        CHECK(shmem_##NAME##_test_some_vector(words, N, indices, NULL, SHMEM_CMP_EQ, values) ==   \
              N);                                                                                 \
        CHECK(shmem_##NAME##_test_all_vector(words, N, mask, SHMEM_CMP_EQ, values) == 1);         \
        CHECK(shmem_##NAME##_test_any_vector(words, N, all, SHMEM_CMP_EQ, values) == SIZE_MAX);   \
        /* nothing to wait for */                                                                 \
        shmem_##NAME##_wait_until_all(words, 0, NULL, SHMEM_CMP_EQ, (T)99);                       \
        shmem_##NAME##_wait_until_all(words, N, all, SHMEM_CMP_EQ, (T)99);                        \
        CHECK(shmem_##NAME##_wait_until_any(words, 0, NULL, SHMEM_CMP_EQ, (T)99) == SIZE_MAX);    \
        CHECK(shmem_##NAME##_wait_until_any(words, N, all, SHMEM_CMP_EQ, (T)99) == SIZE_MAX);     \
        CHECK(shmem_##NAME##_wait_until_some(words, N, indices, all, SHMEM_CMP_EQ, (T)99) == 0);  \
        CHECK(shmem_##NAME##_test_any(words, 0, NULL, SHMEM_CMP_EQ, (T)99) == SIZE_MAX);          \
        CHECK(shmem_##NAME##_test_all(words, 0, NULL, SHMEM_CMP_EQ, (T)99) == 1);                 \
        shmem_barrier_all();                                                                      \
    }
WAIT_TYPES(TYPE)
#undef TYPE

/* any and some must eventually return every word: all are handled in N turns. */
static void check_fair(const struct conform *c, long *words)
{
    int handled[N] = {0}, n_handled = 0;
    for (int i = 0; i < N; i++) {
        words[i] = 0;
    }
    shmem_barrier_all();
    for (int i = 0; i < N; i++) {
        shmem_long_p(words + (c->me + i) % N, 1, c->next);
    }
    while (n_handled < N) {
        const size_t i = shmem_long_wait_until_any(words, N, handled, SHMEM_CMP_EQ, 1);
        CHECK(i < N && handled[i] == 0);
        handled[i] = 1;
        n_handled++;
    }
    shmem_barrier_all();
    /* without a mask: not always the same one */
    int seen[N] = {0}, n_seen = 0;
    for (int i = 0; i < 1000 && n_seen < N; i++) {
        const size_t k = shmem_long_test_any(words, N, NULL, SHMEM_CMP_EQ, 1);
        CHECK(k < N);
        n_seen += seen[k] == 0;
        seen[k] = 1;
    }
    CHECK_EQ(n_seen, N);
    shmem_barrier_all();
}

int conform_wait(const struct conform *c)
{
    void *memory = conform_memory(N * sizeof(uint64_t));
#define CALL(NAME, T) check_##NAME(c, memory);
    WAIT_TYPES(CALL)
#undef CALL
    check_fair(c, memory);
    shmem_free(memory);
    return test_result();
}
