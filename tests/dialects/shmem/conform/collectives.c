/* SPDX-License-Identifier: Apache-2.0
 * 9.10: barriers and syncs, and on teams broadcast, collect, fcollect, alltoall and alltoalls of
 * every type and by bytes; different teams at a time; of no elements. */
#include "conform.h"

enum { N = 7 };

struct members {
    shmem_team_t team;
    int n, me;
};

/* The results of the last call have been checked, and may be overwritten. */
static void ready(const struct members *m)
{
    CHECK_EQ(shmem_team_sync(m->team), 0);
}

#define TYPE(NAME, T)                                                                          \
    static void check_##NAME(const struct members *m, void *memory)                            \
    {                                                                                          \
        T *source = memory, *dest = source + 2 * N * m->n;                                     \
        const int root = m->n - 1;                                                             \
        for (int i = 0; i < 2 * N * m->n; i++) {                                               \
            source[i] = (T)(m->me * 2 + i);                                                    \
            dest[i] = (T)100;                                                                  \
        }                                                                                      \
        CHECK_EQ(shmem_team_sync(m->team), 0);                                                 \
        ready(m);                                                                              \
        CHECK_EQ(shmem_##NAME##_broadcast(m->team, dest, source, N, root), 0);                 \
        CHECK(dest[0] == (T)(root * 2) && dest[N - 1] == (T)(root * 2 + N - 1));               \
        CHECK(dest[N] == (T)100);                                                              \
        ready(m);                                                                              \
        CHECK_EQ(shmem_##NAME##_fcollect(m->team, dest, source, N), 0);                        \
        for (int i = 0; i < N * m->n; i++) {                                                   \
            CHECK(dest[i] == (T)(i / N * 2 + i % N));                                          \
        }                                                                                      \
        const size_t mine = (size_t)(m->me % 3); /* some bring nothing */                      \
        ready(m);                                                                              \
        CHECK_EQ(shmem_##NAME##_collect(m->team, dest, source, mine), 0);                      \
        for (int pe = 0, at = 0; pe < m->n; pe++) {                                            \
            for (int i = 0; i < pe % 3; i++, at++) {                                           \
                CHECK(dest[at] == (T)(pe * 2 + i));                                            \
            }                                                                                  \
        }                                                                                      \
        ready(m);                                                                              \
        CHECK_EQ(shmem_##NAME##_alltoall(m->team, dest, source, N), 0);                        \
        for (int i = 0; i < N * m->n; i++) {                                                   \
            CHECK(dest[i] == (T)(i / N * 2 + m->me * N + i % N));                              \
        }                                                                                      \
        for (int i = 0; i < 2 * N * m->n; i++) {                                               \
            dest[i] = (T)100;                                                                  \
        }                                                                                      \
        CHECK_EQ(shmem_team_sync(m->team), 0);                                                 \
        ready(m);                                                                              \
        CHECK_EQ(shmem_##NAME##_alltoalls(m->team, dest, source, 2, 1, N), 0);                 \
        for (int i = 0; i < 2 * N * m->n; i++) {                                               \
            CHECK(dest[i] ==                                                                   \
                  (i % 2 != 0 ? (T)100 : (T)(i / (2 * N) * 2 + m->me * N + i % (2 * N) / 2))); \
        }                                                                                      \
        ready(m);                                                                              \
        CHECK_EQ(shmem_##NAME##_broadcast(m->team, dest, source, 0, 0), 0);                    \
        ready(m);                                                                              \
        CHECK_EQ(shmem_##NAME##_fcollect(m->team, dest, source, 0), 0);                        \
        ready(m);                                                                              \
        CHECK_EQ(shmem_##NAME##_alltoall(m->team, dest, source, 0), 0);                        \
        CHECK_EQ(shmem_team_sync(m->team), 0);                                                 \
    }
RMA_TYPES(TYPE)
#undef TYPE

static void check_bytes(const struct members *m, char *memory)
{
    const size_t bytes = 3001;
    char *source = memory, *dest = memory + bytes * (size_t)m->n;
    for (size_t i = 0; i < bytes * (size_t)m->n; i++) {
        source[i] = (char)(m->me + (int)i);
    }
    ready(m);
    CHECK_EQ(shmem_broadcastmem(m->team, dest, source, bytes, 0), 0);
    CHECK(dest[bytes - 1] == (char)(bytes - 1));
    ready(m);
    CHECK_EQ(shmem_fcollectmem(m->team, dest, source, bytes), 0);
    CHECK(dest[bytes * (size_t)m->n - 1] == (char)(m->n - 1 + (int)bytes - 1));
    ready(m);
    CHECK_EQ(shmem_collectmem(m->team, dest, source, bytes), 0);
    CHECK(dest[bytes * (size_t)(m->n - 1)] == (char)(m->n - 1));
    ready(m);
    CHECK_EQ(shmem_alltoallmem(m->team, dest, source, bytes), 0);
    CHECK(dest[0] == (char)((int)bytes * m->me));
    ready(m);
    CHECK_EQ(shmem_alltoallsmem(m->team, dest, source, 1, 1, bytes), 0);
    CHECK(dest[0] == (char)((int)bytes * m->me));
    CHECK_EQ(shmem_team_sync(m->team), 0);
}

static void check_on(shmem_team_t team, void *memory)
{
    if (team == SHMEM_TEAM_INVALID) {
        return;
    }
    const struct members m = {team, shmem_team_n_pes(team), shmem_team_my_pe(team)};
#define CALL(NAME, T) check_##NAME(&m, memory);
    RMA_TYPES(CALL)
#undef CALL
    check_bytes(&m, memory);
}

static void check_barriers(const struct conform *c)
{
    long *words = conform_memory(2 * sizeof(long));
    for (long round = 1; round <= 20; round++) {
        shmem_long_p(words, round, c->next);
        shmem_barrier_all(); /* completes the put */
        CHECK_EQ(words[0], round);
        shmem_sync_all();
        shmem_long_put_nbi(words + 1, &round, 1, c->next);
        shmem_quiet();
        shmem_sync_all();
        CHECK_EQ(shmem_long_atomic_fetch(words + 1, c->me), round);
        CHECK_EQ(shmem_team_sync(SHMEM_TEAM_WORLD), 0);
    }
    CHECK(shmem_team_sync(SHMEM_TEAM_INVALID) != 0);
    CHECK(shmem_int_broadcast(SHMEM_TEAM_INVALID, (int *)words, (int *)words, 1, 0) != 0);
    shmem_free(words);
}

int conform_collectives(const struct conform *c)
{
    void *memory = conform_memory(16 * 4 * N * (size_t)c->n + 6100 * (size_t)c->n);
    shmem_team_t half = SHMEM_TEAM_INVALID, other = SHMEM_TEAM_INVALID;
    check_barriers(c);
    check_on(SHMEM_TEAM_WORLD, memory);
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (c->n + 1) / 2, NULL, 0, &half), 0);
    if (c->n > 1) {
        CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, c->n / 2, NULL, 0, &other), 0);
    }
    check_on(half, memory); /* both teams at the same time */
    check_on(other, memory);
    shmem_barrier_all();
    shmem_team_destroy(half);
    shmem_team_destroy(other);
    shmem_free(memory);
    return test_result();
}
