/* SPDX-License-Identifier: Apache-2.0
 * Deprecated collectives over active sets: all PEs, halves, every second and fourth one; barrier
 * and sync; with pWrk and pSync of the standard's sizes, which must be unchanged afterwards. */
#include "conform.h"

enum { N = 6, MANY = 2000 };

struct set {
    int start, log_stride, size, me; /* me: this PE's number in it */
    long *sync;                      /* large enough for every collective */
};

static void ready(const struct set *s)
{
    shmem_barrier(s->start, s->log_stride, s->size, s->sync);
}

static int is_in(const struct conform *c, struct set *s)
{
    const int from = c->me - s->start;
    s->me = from >> s->log_stride;
    return from >= 0 && s->me < s->size && s->me << s->log_stride == from;
}

#define MOVE(BITS, T)                                                                            \
    static void check_move##BITS(const struct set *s, T *memory)                                 \
    {                                                                                            \
        T *source = memory, *dest = memory + 200;                                                \
        const int root = s->size / 2;                                                            \
        for (int i = 0; i < 200; i++) {                                                          \
            source[i] = (T)(1000 * s->me + i);                                                   \
            dest[i] = 77;                                                                        \
        }                                                                                        \
        ready(s);                                                                                \
        shmem_broadcast##BITS(dest, source, N, root, s->start, s->log_stride, s->size, s->sync); \
        CHECK(dest[N - 1] == (s->me == root ? (T)77 : (T)(1000 * root + N - 1)));                \
        CHECK(dest[N] == 77);                                                                    \
        ready(s);                                                                                \
        shmem_fcollect##BITS(dest, source, N, s->start, s->log_stride, s->size, s->sync);        \
        for (int i = 0; i < N * s->size; i++) {                                                  \
            CHECK(dest[i] == (T)(1000 * (i / N) + i % N));                                       \
        }                                                                                        \
        ready(s);                                                                                \
        shmem_collect##BITS(dest, source, (size_t)(s->me % 3), s->start, s->log_stride, s->size, \
                            s->sync);                                                            \
        for (int pe = 0, at = 0; pe < s->size; pe++) {                                           \
            for (int i = 0; i < pe % 3; i++, at++) {                                             \
                CHECK(dest[at] == (T)(1000 * pe + i));                                           \
            }                                                                                    \
        }                                                                                        \
        ready(s);                                                                                \
        shmem_alltoall##BITS(dest, source, 3, s->start, s->log_stride, s->size, s->sync);        \
        for (int i = 0; i < 3 * s->size; i++) {                                                  \
            CHECK(dest[i] == (T)(1000 * (i / 3) + 3 * s->me + i % 3));                           \
        }                                                                                        \
        ready(s);                                                                                \
        shmem_alltoalls##BITS(dest, source, 2, 3, 2, s->start, s->log_stride, s->size, s->sync); \
        for (int i = 0; i < 2 * s->size; i++) {                                                  \
            CHECK(dest[2 * i] == (T)(1000 * (i / 2) + 3 * (2 * s->me + i % 2)));                 \
        }                                                                                        \
        ready(s);                                                                                \
    }
MOVE(32, int32_t)
MOVE(64, int64_t)
#undef MOVE

#define BOTH(NAME, T, OP, COMBINE)                                                              \
    static void check_##NAME##_##OP(const struct set *s, void *memory)                          \
    {                                                                                           \
        T *source = memory, *work = source + N, want;                                           \
        T *dest =                                                                               \
            work + (N / 2 + 1 > SHMEM_REDUCE_MIN_WRKDATA_SIZE ? N / 2 + 1                       \
                                                              : SHMEM_REDUCE_MIN_WRKDATA_SIZE); \
        for (int i = 0; i < N; i++) {                                                           \
            source[i] = (T)(s->me + i + 1);                                                     \
        }                                                                                       \
        want = (T)N;                                                                            \
        for (int pe = 1; pe < s->size; pe++) {                                                  \
            const T a = want, b = (T)(pe + N);                                                  \
            want = (T)(COMBINE);                                                                \
        }                                                                                       \
        ready(s);                                                                               \
        shmem_##NAME##_##OP##_to_all(dest, source, N, s->start, s->log_stride, s->size, work,   \
                                     s->sync);                                                  \
        CHECK(dest[N - 1] == want && source[N - 1] == (T)(s->me + N));                          \
        ready(s);                                                                               \
        shmem_##NAME##_##OP##_to_all(source, source, N, s->start, s->log_stride, s->size, work, \
                                     s->sync);                                                  \
        CHECK(source[N - 1] == want);                                                           \
        ready(s);                                                                               \
    }
#define LOGIC(NAME, T)   BOTH(NAME, T, and, a &b) BOTH(NAME, T, or, a | b) BOTH(NAME, T, xor, a ^ b)
#define ORDERED(NAME, T) BOTH(NAME, T, min, a < b ? a : b) BOTH(NAME, T, max, a > b ? a : b)
#define ADDED(NAME, T)   BOTH(NAME, T, sum, a + b) BOTH(NAME, T, prod, a *b)
#define OLD_INTEGERS(M)  M(short, short) M(int, int) M(long, long) M(longlong, long long)
#define OLD_REALS(M)     M(float, float) M(double, double) M(longdouble, long double)
OLD_INTEGERS(LOGIC)
OLD_INTEGERS(ORDERED)
OLD_REALS(ORDERED)
OLD_INTEGERS(ADDED)
OLD_REALS(ADDED)
COMPLEX_TYPES(ADDED)
#undef LOGIC
#undef ORDERED
#undef ADDED

static void check_reductions(const struct set *s, void *memory)
{
#define LOGIC(NAME, T)             \
    check_##NAME##_and(s, memory); \
    check_##NAME##_or(s, memory);  \
    check_##NAME##_xor(s, memory);
#define ORDERED(NAME, T)           \
    check_##NAME##_min(s, memory); \
    check_##NAME##_max(s, memory);
#define ADDED(NAME, T)             \
    check_##NAME##_sum(s, memory); \
    check_##NAME##_prod(s, memory);
    OLD_INTEGERS(LOGIC)
    OLD_INTEGERS(ORDERED)
    OLD_REALS(ORDERED)
    OLD_INTEGERS(ADDED)
    OLD_REALS(ADDED)
    COMPLEX_TYPES(ADDED)
}

static void check_many(const struct set *s, double *memory)
{
    double *source = memory, *dest = memory + MANY, *work = dest + MANY;
    for (int i = 0; i < MANY; i++) {
        source[i] = s->me + i;
    }
    ready(s);
    shmem_double_sum_to_all(dest, source, MANY, s->start, s->log_stride, s->size, work, s->sync);
    for (int i = 0; i < MANY; i++) {
        CHECK(dest[i] == s->size * (s->size - 1) / 2 + s->size * i);
    }
    ready(s);
}

/* After a barrier an earlier put has arrived; after a sync PEs have only met. */
static void check_barriers(const struct set *s, long *words)
{
    const int next = s->start + ((s->me + 1) % s->size << s->log_stride);
    for (long round = 1; round <= 10; round++) {
        shmem_long_p(words, round, next);
        shmem_barrier(s->start, s->log_stride, s->size, s->sync);
        CHECK_EQ(words[0], round);
        shmem_sync(s->start, s->log_stride, s->size, s->sync);
    }
}

int conform_active_sets(const struct conform *c)
{
    const size_t n_sync = 256;
    long *sync = conform_memory(n_sync * sizeof(long));
    void *memory = conform_memory(4 * MANY * sizeof(double));
    CHECK(SHMEM_BARRIER_SYNC_SIZE <= 256 && SHMEM_BCAST_SYNC_SIZE <= 256 &&
          SHMEM_COLLECT_SYNC_SIZE <= 256 && SHMEM_REDUCE_SYNC_SIZE <= 256 &&
          SHMEM_ALLTOALL_SYNC_SIZE <= 256 && SHMEM_ALLTOALLS_SYNC_SIZE <= 256);
    for (size_t i = 0; i < n_sync; i++) {
        sync[i] = SHMEM_SYNC_VALUE;
    }
    shmem_barrier_all();
    struct set sets[] = {{.size = c->n},
                         {.log_stride = 1, .size = (c->n + 1) / 2},
                         {.start = c->n / 2, .size = c->n - c->n / 2},
                         {.start = c->n - 1, .size = 1},
                         {.log_stride = 2, .size = (c->n + 3) / 4}};
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        sets[i].sync = sync;
        if (is_in(c, &sets[i])) {
            check_barriers(&sets[i], memory);
            check_move32(&sets[i], memory);
            check_move64(&sets[i], memory);
            check_reductions(&sets[i], memory);
            check_many(&sets[i], memory);
        }
        shmem_barrier_all();
    }
    for (size_t i = 0; i < n_sync; i++) {
        CHECK_EQ(sync[i], SHMEM_SYNC_VALUE);
    }
    shmem_free(memory);
    shmem_free(sync);
    return test_result();
}
