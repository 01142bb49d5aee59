/* SPDX-License-Identifier: Apache-2.0
 * Proves GSHMEM_THREAD_MULTIPLE for PEs that are processes: pthreads, or with USE_OPENMP OpenMP's
 * threads, make every kind of non-collective call at the same time, each with a partner of its
 * number on the next PE, while the main thread makes the collective ones.
 *
 *     many_threads [ROUNDS] */
#include <gshmemx.h>
#include <pthread.h>
#include "tests/test.h"

enum { n_threads = 4, n_elems = 200 };

/* For all threads; in the heap. */
static struct {
    long *data;        /* [n_threads][n_elems] */
    uint64_t *signals; /* [n_threads] */
    long *flags;       /* [n_threads][2] */
    long *sums;        /* [2]: of adds on PE 0, and of those under the lock */
    long *lock;
} shared;

static int me, next, rounds;
static long failures[n_threads]; /* only the main thread may CHECK */

static void expect(int t, int is_right)
{
    failures[t] += !is_right;
}

static void exchange(int t, long round)
{
    long *mine = shared.data + t * n_elems;
    long source[n_elems], back = -1;
    for (int i = 0; i < n_elems; i++) {
        source[i] = 1000 * round + i + t;
    }
    gshmem_long_put_signal(mine, source, n_elems / 2, shared.signals + t, 1, GSHMEM_SIGNAL_ADD,
                           next);
    gshmem_long_put_nbi(mine + n_elems / 2, source + n_elems / 2, n_elems / 2, next);
    gshmem_quiet();
    gshmem_long_get(&back, mine + n_elems - 1, 1, next);
    expect(t, back == source[n_elems - 1]);
    gshmem_long_p(shared.flags + 2 * t, round, next);
    gshmem_signal_wait_until(shared.signals + t, GSHMEM_CMP_GE, (uint64_t)round);
    expect(t, gshmem_long_wait_until_any(shared.flags + 2 * t, 1, NULL, GSHMEM_CMP_GE, round) == 0);
    expect(t, gshmem_long_g(mine, me) >= 1000 * round + t);
}

static void count(int t)
{
    gshmem_long_atomic_inc(shared.sums, 0);
    long before = gshmem_long_atomic_fetch_add(shared.sums, 2, 0);
    expect(t, before >= 1);
    gshmem_fence();
    gshmem_set_lock(shared.lock);
    gshmem_long_p(shared.sums + 1, gshmem_long_g(shared.sums + 1, 0) + 1, 0);
    gshmem_clear_lock(shared.lock);
}

static void use_context(int t, long round)
{
    gshmem_ctx_t ctx;
    long value = -1;
    expect(t, gshmem_ctx_create(GSHMEM_CTX_PRIVATE, &ctx) == 0);
    gshmem_ctx_long_p(ctx, shared.flags + 2 * t + 1, round, next);
    gshmem_ctx_quiet(ctx);
    gshmem_ctx_long_get(ctx, &value, shared.flags + 2 * t + 1, 1, next);
    expect(t, value == round);
    gshmem_ctx_destroy(ctx);
}

static void work(int t)
{
    for (long round = 1; round <= rounds; round++) {
        exchange(t, round);
        count(t);
        use_context(t, round);
        /* the partner has read what this thread is about to overwrite */
        gshmem_long_atomic_inc(shared.flags + 2 * n_threads + t,
                               (me + gshmem_n_pes() - 1) % gshmem_n_pes());
        gshmem_long_wait_until(shared.flags + 2 * n_threads + t, GSHMEM_CMP_GE, round);
    }
}

/* Collective calls, by this thread alone, alongside the others'. */
static void allocate(void)
{
    for (int i = 0; i < rounds; i++) {
        void *p = gshmem_malloc(1000 + (size_t)i * 5000);
        CHECK(p != NULL);
        gshmem_sync_all();
        gshmem_free(p);
    }
}

#ifdef USE_OPENMP
#include <omp.h>

static void run(void)
{
#pragma omp parallel num_threads(n_threads + 1)
    {
        int t = omp_get_thread_num();
        if (t == 0) {
            allocate();
        } else {
            work(t - 1);
        }
    }
}
#else
static void *start(void *argument)
{
    work((int)(intptr_t)argument);
    return NULL;
}

static void run(void)
{
    pthread_t threads[n_threads];
    for (int t = 0; t < n_threads; t++) {
        pthread_create(&threads[t], NULL, start, (void *)(intptr_t)t);
    }
    allocate();
    for (int t = 0; t < n_threads; t++) {
        pthread_join(threads[t], NULL);
    }
}
#endif

int main(int argc, char **argv)
{
    int provided = -1;
    rounds = argc > 1 ? atoi(argv[1]) : 50;
    if (!CHECK_EQ(gshmem_init_thread(GSHMEM_THREAD_MULTIPLE, &provided), 0)) {
        return 1;
    }
    CHECK_EQ(provided, GSHMEM_THREAD_MULTIPLE);
    me = gshmem_my_pe();
    next = (me + 1) % gshmem_n_pes();
    shared.data = gshmem_calloc(n_threads * n_elems, sizeof(long));
    shared.signals = gshmem_calloc(n_threads, sizeof(uint64_t));
    shared.flags = gshmem_calloc(3 * n_threads, sizeof(long));
    shared.sums = gshmem_calloc(2, sizeof(long));
    shared.lock = gshmem_calloc(1, sizeof(long));
    run();
    gshmem_barrier_all();
    const long n = (long)gshmem_n_pes() * n_threads * rounds;
    CHECK_EQ(gshmem_long_g(shared.sums, 0), 3 * n);
    CHECK_EQ(gshmem_long_g(shared.sums + 1, 0), n);
    for (int t = 0; t < n_threads; t++) {
        CHECK_EQ(failures[t], 0);
    }
    gshmem_finalize();
    return test_result();
}
