/* SPDX-License-Identifier: Apache-2.0
 * A program from before OpenSHMEM 1.5: start_pes, shmalloc, old atomics and waits, and collectives
 * over active sets: all PEs, every second one, and those from PE 1 on. No finalize.
 *
 *     old [fill]       with fill the sets find the team pool full, and do without teams */
#include <mpp/shmem.h>
#include "tests/test.h"

enum { N = 5, BIG = 20000 };

static long sync_words[_SHMEM_REDUCE_SYNC_SIZE];

struct set {
    int start, log_stride, size;
};

static int pe_of(const struct set *s, int i)
{
    return s->start + (i << s->log_stride);
}

static void move(const struct set *s, int index, long *dest, long *source)
{
    const int root = s->size - 1;
    const size_t mine = (size_t)index + 1;
    long *p = sync_words;
    for (int i = 0; i < N * s->size; i++) {
        source[i] = 100 * index + i;
    }
    memset(dest, 0xff, 1000 * sizeof(long));
    shmem_barrier(s->start, s->log_stride, s->size, p);
    shmem_broadcast64(dest, source, N, root, s->start, s->log_stride, s->size, p);
    CHECK_EQ(dest[N - 1], index == root ? -1 : 100 * root + N - 1);
    shmem_barrier(s->start, s->log_stride, s->size, p);
    shmem_fcollect64(dest, source, N, s->start, s->log_stride, s->size, p);
    for (int i = 0; i < s->size; i++) {
        CHECK_EQ(dest[N * i + 1], 100 * i + 1);
    }
    shmem_barrier(s->start, s->log_stride, s->size, p);
    shmem_collect64(dest, source, mine, s->start, s->log_stride, s->size, p);
    for (int i = 0, at = 0; i < s->size; at += ++i) {
        CHECK_EQ(dest[at], 100 * i);
        CHECK_EQ(dest[at + i], 100 * i + i);
    }
    shmem_barrier(s->start, s->log_stride, s->size, p);
    shmem_alltoall64(dest, source, N, s->start, s->log_stride, s->size, p);
    for (int i = 0; i < s->size; i++) {
        CHECK_EQ(dest[N * i + 2], 100 * i + N * index + 2);
    }
    shmem_sync(s->start, s->log_stride, s->size, p);
    shmem_alltoalls32(dest, source, 2, 4, 1, s->start, s->log_stride, s->size, p);
    for (int i = 0; i < s->size; i++) { /* halves of longs */
        CHECK_EQ(((int *)dest)[2 * i], 100 * i + 2 * index);
    }
    shmem_barrier(s->start, s->log_stride, s->size, p);
}

static void reduce(const struct set *s, int index, long *dest, long *source)
{
    double *a = (double *)dest, *b = (double *)source;
    long double *c = (long double *)source;
    double _Complex *z = (double _Complex *)source;
    long sum = 0, *p = sync_words;
    for (int i = 0; i < s->size; i++) {
        sum += pe_of(s, i);
    }
    for (int i = 0; i < BIG; i++) {
        source[i] = pe_of(s, index) + i;
    }
    shmem_long_sum_to_all(dest, source, BIG, s->start, s->log_stride, s->size, NULL, p);
    CHECK_EQ(dest[0], sum);
    CHECK_EQ(dest[BIG - 1], sum + (long)s->size * (BIG - 1));
    shmem_long_max_to_all(source, source, BIG, s->start, s->log_stride, s->size, NULL, p);
    CHECK_EQ(source[BIG - 1], pe_of(s, s->size - 1) + BIG - 1);
    source[0] = 1L << index;
    shmem_long_or_to_all(dest, source, 1, s->start, s->log_stride, s->size, NULL, p);
    CHECK_EQ(dest[0], (1L << s->size) - 1);
    b[0] = 1.5;
    shmem_double_prod_to_all(a, b, 1, s->start, s->log_stride, s->size, NULL, p);
    double product = 1;
    for (int i = 0; i < s->size; i++) {
        product *= 1.5;
    }
    CHECK(a[0] == product);
    c[0] = -index;
    shmem_longdouble_min_to_all(c, c, 1, s->start, s->log_stride, s->size, NULL, p);
    CHECK(c[0] == 1 - s->size);
    z[0] = 1.0 + 2.0 * __extension__ 1.0i;
    shmem_complexd_sum_to_all(z, z, 1, s->start, s->log_stride, s->size, NULL, p);
    CHECK(__real__ z[0] == s->size && __imag__ z[0] == 2 * s->size);
}

static void atomics(int me, int n)
{
    long *word = shmalloc(2 * sizeof(long));
    float *real = shmemalign(64, sizeof(float));
    word[0] = word[1] = 0;
    *real = 0;
    shmem_barrier_all();
    shmem_long_inc(word, 0);
    shmem_long_add(word, 1, 0);
    CHECK(shmem_long_fadd(word + 1, 1, 0) < n);
    shmem_barrier_all();
    CHECK_EQ(shmem_long_fetch(word, 0), 2 * n);
    CHECK(shmem_float_swap(real, 2.5f, me) == 0);
    shmem_barrier_all();
    if (me == 0) {
        CHECK_EQ(shmem_long_cswap(word, 2 * n, 7, 0), 2 * n);
        CHECK_EQ(shmem_long_g(word, 0), 7);
    }
    shmem_barrier_all();
    word[1] = 0;
    shmem_barrier_all();
    shmem_long_p(word + 1, 3, (me + 1) % n);
    shmem_wait(word + 1, 0);
    shmem_wait_until(word + 1, _SHMEM_CMP_EQ, 3); /* in C99 a function, of long */
    shmem_barrier_all();
    shmem_clear_cache_inv();
    shfree(real);
    shfree(word);
}

/* The last of the calls reports that there is no room. */
static void fill_pool(void)
{
    shmem_team_t team;
    int n_teams = 0;
    while (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, _num_pes(), NULL, 0, &team) == 0) {
        n_teams++;
    }
    CHECK(n_teams < 1000);
}

int main(int argc, char **argv)
{
    start_pes(0);
    if (argc > 1 && strcmp(argv[1], "fill") == 0) {
        fill_pool();
    }
    const int me = _my_pe(), n = _num_pes();
    const struct set sets[] = {{0, 0, n}, {0, 1, (n + 1) / 2}, {1, 0, n - 1}, {n - 1, 3, 1}};
    long *dest = shmalloc(BIG * sizeof(long)), *source = shmalloc(BIG * sizeof(long));
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < 4; k++) {
            const struct set *s = &sets[k];
            const int from = me - s->start, index = from >> s->log_stride;
            if (from >= 0 && index < s->size && index << s->log_stride == from) {
                move(s, index, dest, source);
                reduce(s, index, dest, source);
            }
        }
    }
    atomics(me, n);
    return test_result();
}
