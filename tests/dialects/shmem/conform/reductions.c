/* SPDX-License-Identifier: Apache-2.0
 * 9.10: reductions on teams with every operation and type, also in place; from 1.6, scans. */
#include "conform.h"

enum { N = 13, MANY = 3000 };

struct members {
    shmem_team_t team;
    int n, me;
};

/* The results of the last call have been checked, and may be overwritten. */
static void ready(const struct members *m)
{
    CHECK_EQ(shmem_team_sync(m->team), 0);
}

#define LOGIC(NAME, T)                                                                        \
    static void check_logic_##NAME(const struct members *m, void *memory)                     \
    {                                                                                         \
        T *source = memory, *dest = source + N, all_and = (T) ~(T)0, all_or = 0, all_xor = 0; \
        for (int i = 0; i < N; i++) {                                                         \
            source[i] = (T)(m->me + 1 + i);                                                   \
        }                                                                                     \
        for (int pe = 0; pe < m->n; pe++) {                                                   \
            const T last = (T)(pe + N);                                                       \
            all_and = (T)(all_and & last);                                                    \
            all_or = (T)(all_or | last);                                                      \
            all_xor = (T)(all_xor ^ last);                                                    \
        }                                                                                     \
        ready(m);                                                                             \
        CHECK_EQ(shmem_##NAME##_and_reduce(m->team, dest, source, N), 0);                     \
        CHECK(dest[N - 1] == all_and);                                                        \
        ready(m);                                                                             \
        CHECK_EQ(shmem_##NAME##_or_reduce(m->team, dest, source, N), 0);                      \
        CHECK(dest[N - 1] == all_or);                                                         \
        ready(m);                                                                             \
        CHECK_EQ(shmem_##NAME##_xor_reduce(m->team, source, source, N), 0);                   \
        CHECK(source[N - 1] == all_xor);                                                      \
        CHECK_EQ(shmem_team_sync(m->team), 0);                                                \
    }
LOGIC_TYPES(LOGIC)
#undef LOGIC

#define ORDERED(NAME, T)                                                    \
    static void check_ordered_##NAME(const struct members *m, void *memory) \
    {                                                                       \
        T *source = memory, *dest = source + N;                             \
        for (int i = 0; i < N; i++) {                                       \
            source[i] = (T)((m->me * 5 + i) % 11);                          \
        }                                                                   \
        T least = (T)100, most = (T)0;                                      \
        for (int pe = 0; pe < m->n; pe++) {                                 \
            const T value = (T)((pe * 5 + 4) % 11);                         \
            least = value < least ? value : least;                          \
            most = value > most ? value : most;                             \
        }                                                                   \
        ready(m);                                                           \
        CHECK_EQ(shmem_##NAME##_min_reduce(m->team, dest, source, N), 0);   \
        CHECK(dest[4] == least);                                            \
        ready(m);                                                           \
        CHECK_EQ(shmem_##NAME##_max_reduce(m->team, source, source, N), 0); \
        CHECK(source[4] == most);                                           \
        CHECK_EQ(shmem_team_sync(m->team), 0);                              \
    }
RMA_TYPES(ORDERED)
#undef ORDERED

#define ADDED(NAME, T)                                                       \
    static void check_added_##NAME(const struct members *m, void *memory)    \
    {                                                                        \
        T *source = memory, *dest = source + N, sum = (T)0, product = (T)1;  \
        for (int i = 0; i < N; i++) {                                        \
            source[i] = (T)(m->me % 2 + 1 + (i == 6));                       \
        }                                                                    \
        for (int pe = 0; pe < m->n; pe++) {                                  \
            sum = (T)(sum + (T)(pe % 2 + 2));                                \
            product = (T)(product * (T)(pe % 2 + 1));                        \
        }                                                                    \
        ready(m);                                                            \
        CHECK_EQ(shmem_##NAME##_sum_reduce(m->team, dest, source, N), 0);    \
        CHECK(dest[6] == sum && dest[5] == (T)(sum - (T)m->n));              \
        ready(m);                                                            \
        CHECK_EQ(shmem_##NAME##_prod_reduce(m->team, source, source, N), 0); \
        CHECK(source[2] == product);                                         \
        CHECK_EQ(shmem_team_sync(m->team), 0);                               \
    }
RMA_TYPES(ADDED)
COMPLEX_TYPES(ADDED)
#undef ADDED

#define SCAN(NAME, T)                                                     \
    static void check_scan_##NAME(const struct members *m, void *memory)  \
    {                                                                     \
        T *source = memory, *dest = source + N;                           \
        for (int i = 0; i < N; i++) {                                     \
            source[i] = (T)(m->me + i % 3);                               \
        }                                                                 \
        T before = (T)0;                                                  \
        for (int pe = 0; pe < m->me; pe++) {                              \
            before = (T)(before + (T)(pe + 1));                           \
        }                                                                 \
        ready(m);                                                         \
        CHECK_EQ(shmem_##NAME##_sum_exscan(m->team, dest, source, N), 0); \
        CHECK(dest[4] == before);                                         \
        ready(m);                                                         \
        CHECK_EQ(shmem_##NAME##_sum_inscan(m->team, dest, source, N), 0); \
        CHECK(dest[4] == (T)(before + (T)(m->me + 1)));                   \
        CHECK_EQ(shmem_team_sync(m->team), 0);                            \
    }
RMA_TYPES(SCAN)
COMPLEX_TYPES(SCAN)
#undef SCAN

static void check_many(const struct members *m, long *memory)
{
    long *source = memory, *dest = memory + MANY, sum = 0;
    for (int i = 0; i < MANY; i++) {
        source[i] = m->me * 7 + i;
    }
    for (int pe = 0; pe < m->n; pe++) {
        sum += pe * 7;
    }
    ready(m);
    CHECK_EQ(shmem_sum_reduce(m->team, dest, source, MANY), 0);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(dest[i], sum + (long)i * m->n);
    }
    ready(m);
    CHECK_EQ(shmem_max_reduce(m->team, source, source, MANY), 0);
    CHECK_EQ(source[MANY - 1], (m->n - 1) * 7 + MANY - 1);
    ready(m);
    CHECK_EQ(shmem_long_sum_reduce(m->team, dest, source, 0), 0);
    CHECK_EQ(shmem_team_sync(m->team), 0);
}

static void check_on(shmem_team_t team, void *memory)
{
    if (team == SHMEM_TEAM_INVALID) {
        return;
    }
    const struct members m = {team, shmem_team_n_pes(team), shmem_team_my_pe(team)};
#define CALL(NAME, T) check_logic_##NAME(&m, memory);
    LOGIC_TYPES(CALL)
#undef CALL
#define CALL(NAME, T) check_ordered_##NAME(&m, memory);
    RMA_TYPES(CALL)
#undef CALL
#define CALL(NAME, T) check_added_##NAME(&m, memory);
    RMA_TYPES(CALL)
    COMPLEX_TYPES(CALL)
#undef CALL
#define CALL(NAME, T) check_scan_##NAME(&m, memory);
    RMA_TYPES(CALL)
    COMPLEX_TYPES(CALL)
#undef CALL
    check_many(&m, memory);
}

int conform_reductions(const struct conform *c)
{
    void *memory = conform_memory(2 * MANY * sizeof(long));
    shmem_team_t team = SHMEM_TEAM_INVALID;
    check_on(SHMEM_TEAM_WORLD, memory);
    CHECK_EQ(
        shmem_team_split_strided(SHMEM_TEAM_WORLD, c->n / 2, 1, c->n - c->n / 2, NULL, 0, &team),
        0);
    check_on(team, memory);
    shmem_barrier_all();
    shmem_team_destroy(team);
    shmem_free(memory);
    return test_result();
}
