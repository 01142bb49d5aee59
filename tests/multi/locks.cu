/* SPDX-License-Identifier: Apache-2.0
 * Proves the distributed locks, on the host, in kernels, and both at once: only one holder at a
 * time, which sees what the previous holder did; test_lock fails while the lock is held; locks are
 * granted in request order; threads of one PE share a position in the queue.
 *
 *     locks [--count=ROUNDS] */
#include "tests/rig/pe.cuh"

#include <pthread.h>
#include <unistd.h>
#include "wire/lock.h"

enum { n_locks = 3 };

/* In the heap: each lock has a counter, which is on the last PE and changed by plain puts. */
struct guarded {
    long *locks, *counts;
};

static HD void add_one(const guarded &g, int i, int last)
{
    long count = -1;
    gshmem_set_lock(g.locks + i);
    gshmem_long_get(&count, g.counts + i, 1, last);
    count++;
    gshmem_long_put(g.counts + i, &count, 1, last);
    gshmem_clear_lock(g.locks + i);
}

static HD void add_all(const guarded &g, int rounds, int last)
{
    for (int round = 0; round < rounds; round++)
        add_one(g, round % n_locks, last);
}

__global__ void add_kernel(guarded g, int rounds, int last)
{
    add_all(g, rounds, last);
}

static guarded make_guarded(void)
{
    return {(long *)test_heap(n_locks * sizeof(long)), (long *)test_heap(n_locks * sizeof(long))};
}

static void check_guarded(const test_pe *pe, guarded g, long each)
{
    gshmem_barrier_all();
    for (int i = 0; i < n_locks; i++) {
        CHECK_EQ(gshmem_long_g(g.counts + i, pe->n - 1), each);
        CHECK_EQ(gshmem_long_g(g.locks + i, pe->me), 0); /* as if never used */
    }
    gshmem_barrier_all();
    gshmem_free(g.counts);
    gshmem_free(g.locks);
}

static void test_host(const test_pe *pe, int rounds)
{
    guarded g = make_guarded();
    add_all(g, rounds * n_locks, pe->n - 1);
    check_guarded(pe, g, (long)pe->n * rounds);
}

static void test_kernels(const test_pe *pe, int rounds)
{
    guarded g = make_guarded();
    test_collective(pe, add_kernel, 1, 1, g, rounds * n_locks, pe->n - 1);
    test_sync(pe);
    check_guarded(pe, g, (long)pe->n * rounds);
}

/* The host and a kernel of the same PE act as two of its threads. */
static void test_both(const test_pe *pe, int rounds)
{
    guarded g = make_guarded();
    test_collective(pe, add_kernel, 1, 1, g, rounds * n_locks, pe->n - 1);
    add_all(g, rounds * n_locks, pe->n - 1);
    test_sync(pe);
    check_guarded(pe, g, 2L * pe->n * rounds);
}

struct worker {
    pthread_t thread;
    guarded g;
    int rounds, last;
};

static void *work(void *argument)
{
    const worker *w = (const worker *)argument;
    add_all(w->g, w->rounds, w->last);
    return NULL;
}

static void test_threads(const test_pe *pe, int rounds)
{
    enum { n_workers = 3 };
    worker workers[n_workers];
    guarded g = make_guarded();
    for (worker &w : workers) {
        w = {pthread_t(), g, rounds * n_locks, pe->n - 1};
        pthread_create(&w.thread, NULL, work, &w);
    }
    for (worker &w : workers)
        pthread_join(w.thread, NULL);
    check_guarded(pe, g, (long)n_workers * pe->n * rounds);
}

/* ---- test_lock ------------------------------------------------------------------------------- */

__global__ void try_kernel(long *lock, int *result)
{
    result[0] = gshmem_test_lock(lock);
    result[1] = gshmem_test_lock(lock); /* held by this PE or another */
    if (result[0] == 0)
        gshmem_clear_lock(lock);
}

static void test_trying(const test_pe *pe)
{
    long *lock = (long *)test_heap(sizeof *lock), *winners = (long *)test_heap(sizeof *winners);
    int *result = (int *)test_device(2 * sizeof(int)), host[2];
    const bool won = gshmem_test_lock(lock) == 0;
    gshmem_long_atomic_add(winners, won, 0);
    gshmem_barrier_all();
    CHECK_EQ(gshmem_long_atomic_fetch(winners, 0), 1);
    CHECK(gshmem_test_lock(lock) != 0);
    gshmem_barrier_all();
    if (won)
        gshmem_clear_lock(lock);
    gshmem_barrier_all();
    for (int pe_in_turn = 0; pe_in_turn < pe->n; pe_in_turn++) {
        if (pe->me == pe_in_turn) {
            test_collective(pe, try_kernel, 1, 1, lock, result);
            test_sync(pe);
            test_copy(host, result, sizeof host);
            CHECK_EQ(host[0], 0);
            CHECK_EQ(host[1], 1);
        }
        gshmem_barrier_all();
    }
    test_free(result);
    gshmem_free(winners);
    gshmem_free(lock);
}

/* ---- the order of asking --------------------------------------------------------------------- */

/* The last PE in the queue, by number + 1. */
static uint32_t last_in_queue(const long *lock)
{
    for (int pe = 0;; pe++) {
        const uint32_t *words = (const uint32_t *)lock;
        const uint32_t tail = gshmem_uint32_atomic_fetch(words + GSH_LOCK_TAIL, pe);
        if (tail != 0 || pe + 1 == gshmem_n_pes())
            return tail;
    }
}

static void test_order(const test_pe *pe)
{
    long *lock = (long *)test_heap(sizeof *lock), *turn = (long *)test_heap(sizeof *turn);
    for (int round = 0; round < 3; round++) {
        const int position = (pe->me + round) % pe->n; /* in the queue */
        const int front = (pe->me + pe->n - 1) % pe->n, rear = (2 * pe->n - 1 - round) % pe->n;
        while (position != 0 && last_in_queue(lock) != (uint32_t)front + 1)
            usleep(100);
        gshmem_set_lock(lock);
        while (position == 0 && last_in_queue(lock) != (uint32_t)rear + 1)
            usleep(100);
        CHECK_EQ(gshmem_long_atomic_fetch_inc(turn, 0), round * pe->n + position);
        gshmem_clear_lock(lock);
        gshmem_barrier_all();
    }
    gshmem_free(turn);
    gshmem_free(lock);
}

static int pe_main(int argc, char **argv)
{
    test_pe pe = test_begin();
    const int rounds = test_rounds(&pe, argc, argv, 100, 100);
    test_host(&pe, rounds);
    test_kernels(&pe, rounds);
    test_both(&pe, rounds);
    if (getenv("GSHMEM_THREADS") == NULL) /* otherwise only the PE's own thread makes calls */
        test_threads(&pe, rounds);
    test_trying(&pe);
    test_order(&pe);
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
