/* SPDX-License-Identifier: Apache-2.0
 * The cost of OpenSHMEM calls between two PEs: plain OpenSHMEM 1.5, so any implementation can run
 * it (compare_shmem.py). PE 0 calls PE 1; barriers involve all. A row: what, bytes, the median of
 * samples in ns; a sample is the mean of as many calls as take some 0.3 ms. */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES = 41, MOST = 1 << 20 };

struct what {
    char *remote, *local;
    long *word, *lock;
    size_t bytes;
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- the calls ---- */

static void put(const struct what *w)
{
    shmem_putmem(w->remote, w->local, w->bytes, 1);
    shmem_quiet();
}

static void get(const struct what *w)
{
    shmem_getmem(w->local, w->remote, w->bytes, 1);
}

static void p(const struct what *w)
{
    shmem_long_p(w->word, 1, 1);
}

static void g(const struct what *w)
{
    *(volatile long *)w->local = shmem_long_g(w->word, 1);
}

static void atomic_add(const struct what *w)
{
    shmem_long_atomic_add(w->word, 1, 1);
}

static void atomic_fetch_add(const struct what *w)
{
    *(volatile long *)w->local = shmem_long_atomic_fetch_add(w->word, 1, 1);
}

static void atomic_swap(const struct what *w)
{
    *(volatile long *)w->local = shmem_long_atomic_swap(w->word, 1, 1);
}

static void lock(const struct what *w)
{
    shmem_set_lock(w->lock);
    shmem_clear_lock(w->lock);
}

static void barrier(const struct what *w)
{
    (void)w;
    shmem_barrier_all();
}

/* ---- measuring ---- */

static double mean_ns(void (*call)(const struct what *w), const struct what *w, long n)
{
    const double start = now_ns();
    for (long i = 0; i < n; i++) {
        call(w);
    }
    shmem_quiet();
    return (now_ns() - start) / (double)n;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *name, size_t bytes, double *samples)
{
    qsort(samples, SAMPLES, sizeof(*samples), compare);
    printf("%-18s %8zu %10.1f\n", name, bytes, samples[SAMPLES / 2]);
    fflush(stdout);
}

/* By PE 0 alone. */
static void measure(const char *name, void (*call)(const struct what *w), const struct what *w)
{
    double samples[SAMPLES];
    const double once = mean_ns(call, w, 20);
    const long n = once > 3e5 ? 1 : (long)(3e5 / once) + 1;
    for (int i = 0; i < SAMPLES; i++) {
        samples[i] = mean_ns(call, w, n);
    }
    report(name, w->bytes, samples);
}

/* Equally often on all PEs. */
static void measure_all(const char *name, void (*call)(const struct what *w), const struct what *w)
{
    double samples[SAMPLES];
    mean_ns(call, w, 100);
    for (int i = 0; i < SAMPLES; i++) {
        samples[i] = mean_ns(call, w, 200);
    }
    if (shmem_my_pe() == 0) {
        report(name, w->bytes, samples);
    }
}

static int check(const struct what *w)
{
    memset(w->local, 7, MOST);
    shmem_putmem(w->remote, w->local, MOST, 1);
    memset(w->local, 0, MOST);
    shmem_quiet();
    shmem_getmem(w->local, w->remote, MOST, 1);
    return w->local[0] == 7 && w->local[MOST - 1] == 7;
}

int main(void)
{
    int is_right = 1;
    shmem_init();
    struct what w = {.remote = shmem_malloc(MOST),
                     .local = malloc(MOST),
                     .word = shmem_calloc(1, sizeof(long)),
                     .lock = shmem_calloc(1, sizeof(long))};
    if (shmem_n_pes() < 2 || w.remote == NULL || w.local == NULL || w.word == NULL ||
        w.lock == NULL) {
        fprintf(stderr, "shmem: needs two PEs and memory\n");
        shmem_global_exit(1);
    }
    memset(w.remote, 0, MOST);
    memset(w.local, 0, MOST);
    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
        for (w.bytes = 8; w.bytes <= MOST; w.bytes *= 8) {
            measure("put, quiet", put, &w);
            measure("get", get, &w);
        }
        is_right = check(&w);
        w.bytes = sizeof(long);
        measure("p", p, &w);
        measure("g", g, &w);
        measure("atomic_add", atomic_add, &w);
        measure("atomic_fetch_add", atomic_fetch_add, &w);
        measure("atomic_swap", atomic_swap, &w);
        w.bytes = 0;
        measure("set, clear_lock", lock, &w);
    }
    shmem_barrier_all();
    w.bytes = 0;
    measure_all("barrier_all", barrier, &w);
    if (!is_right) {
        fprintf(stderr, "shmem: what was put is not what is there\n");
    }
    shmem_finalize();
    return is_right ? 0 : 1;
}
