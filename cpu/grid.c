/* SPDX-License-Identifier: Apache-2.0
 * Runs launches on the device's OS threads. Starts only as many blocks as there are cores; one more
 * whenever a block can only spin, and twice as many when nothing has ended for a while (a kernel
 * may spin undetected). So a large grid of independent blocks costs few threads, and blocks that
 * wait for each other still all run. */
#include "cpu/grid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "cpu/stream.h"

/* How long a launch may go without starting a block before more threads are brought in. */
#define LOOK_EVERY_NS 1000000

/* The same under the thread sanitizer, which slows everything down and makes threads expensive. */
#define LOOK_EVERY_TSAN_S 2

/* The most blocks at a time of a launch that is not collective; a GPU has a limit as well. */
#define MAX_RESIDENT 2048u

/* Under the thread sanitizer two blocks on one OS thread look ordered: each gets its own, up to the
 * sanitizer's limit (device/memory_cpu.cuh may take two more for each of these). */
#define MAX_TSAN_THREADS 1024u

struct gsh_cpu_worker {
    struct gsh_cpu_device *device;
    pthread_t thread;
    pthread_cond_t wake;
    struct gsh_cpu_run *run; /* what to work on; NULL: idle */
    struct gsh_cpu_worker *next_idle, *next;
};

/* ---- workers --------------------------------------------------------------------------------- */

static struct gsh_cpu_uint3 block_index(const struct gsh_cpu_run *run, uint64_t i)
{
    const struct gsh_cpu_uint3 *grid = &run->launch.grid;
    struct gsh_cpu_uint3 index = {(unsigned)(i % grid->x), (unsigned)(i / grid->x % grid->y),
                                  (unsigned)(i / grid->x / grid->y)};
    return index;
}

static void leave_cooperative(struct gsh_cpu_run *run)
{
    pthread_mutex_lock(&run->device->lock);
    run->n_left_blocks++;
    pthread_cond_broadcast(&run->synced);
    pthread_mutex_unlock(&run->device->lock);
}

static void work(struct gsh_cpu_run *run, struct gsh_cpu_block *block)
{
    for (;;) {
        uint64_t i = __atomic_fetch_add(&run->next_block, 1, __ATOMIC_RELAXED);
        if (i >= run->n_blocks) {
            return;
        }
        gsh_block_run(block, run, block_index(run, i));
        if (run->launch.is_cooperative) {
            leave_cooperative(run);
        }
        if (run->is_one_block_each) {
            return;
        }
    }
}

static void *worker_main(void *arg)
{
    struct gsh_cpu_worker *w = arg;
    struct gsh_cpu_device *device = w->device;
    struct gsh_cpu_block block;
    gsh_device_enter_thread(device);
    gsh_block_init(&block, &device->config);
    pthread_mutex_lock(&device->lock);
    while (w->run || !device->pool.is_closing) {
        struct gsh_cpu_run *run = w->run;
        if (!run) {
            pthread_cond_wait(&w->wake, &device->lock);
            continue;
        }
        pthread_mutex_unlock(&device->lock);
        work(run, &block);
        pthread_mutex_lock(&device->lock);
        w->run = NULL;
        w->next_idle = device->pool.idle;
        device->pool.idle = w;
        if (--run->n_workers == 0) {
            pthread_cond_signal(&run->left);
        }
    }
    pthread_mutex_unlock(&device->lock);
    gsh_block_finish(&block);
    return NULL;
}

/* NULL: no memory or no thread. Under the lock. */
static struct gsh_cpu_worker *create_worker(struct gsh_cpu_device *device, struct gsh_cpu_run *run)
{
    struct gsh_cpu_worker *w = calloc(1, sizeof(*w));
    if (!w) {
        return NULL;
    }
    w->device = device;
    w->run = run;
    pthread_cond_init(&w->wake, NULL);
    if (pthread_create(&w->thread, NULL, worker_main, w) != 0) {
        pthread_cond_destroy(&w->wake);
        free(w);
        return NULL;
    }
    w->next = device->pool.all;
    device->pool.all = w;
    return w;
}

/* Adds up to n workers to the run. Returns how many it added. Under the lock. */
static uint64_t add_workers(struct gsh_cpu_run *run, uint64_t n)
{
    struct gsh_cpu_pool *pool = &run->device->pool;
    uint64_t limit = run->n_blocks < MAX_RESIDENT ? run->n_blocks : MAX_RESIDENT;
    for (uint64_t i = 0; i < n; i++) {
        struct gsh_cpu_worker *w = pool->idle;
        if (run->n_workers >= limit) {
            return i;
        }
        if (w) {
            pool->idle = w->next_idle;
            w->run = run;
            pthread_cond_signal(&w->wake);
        } else if (!create_worker(run->device, run)) {
            return i;
        }
        run->n_workers++;
        run->n_started++;
    }
    return n;
}

void gsh_pool_finish(struct gsh_cpu_device *device)
{
    pthread_mutex_lock(&device->lock);
    device->pool.is_closing = true;
    for (struct gsh_cpu_worker *w = device->pool.all; w; w = w->next) {
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&device->lock);
    while (device->pool.all) {
        struct gsh_cpu_worker *w = device->pool.all;
        device->pool.all = w->next;
        pthread_join(w->thread, NULL);
        pthread_cond_destroy(&w->wake);
        free(w);
    }
}

/* ---- launches -------------------------------------------------------------------------------- */

static uint64_t blocks_left(const struct gsh_cpu_run *run)
{
    uint64_t next = __atomic_load_n(&run->next_block, __ATOMIC_RELAXED);
    return next < run->n_blocks ? run->n_blocks - next : 0;
}

void gsh_run_want_block(struct gsh_cpu_run *run)
{
    if (blocks_left(run) == 0) {
        return;
    }
    pthread_mutex_lock(&run->device->lock);
    add_workers(run, 1);
    pthread_mutex_unlock(&run->device->lock);
}

/* How many blocks to start at once. */
static uint64_t first_workers(const struct gsh_cpu_run *run)
{
    const struct gsh_cpu_uint3 *dim = &run->launch.block;
    uint64_t n_threads = (uint64_t)dim->x * dim->y * dim->z;
    uint64_t n_cores = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    if (run->is_one_block_each) {
        return run->n_blocks;
    }
    if (gsh_tsan_is_on()) {
        n_cores = (MAX_TSAN_THREADS + n_threads - 1) / n_threads;
    }
    return n_cores < run->n_blocks ? n_cores : run->n_blocks;
}

/* Until the run is over, starts more blocks if the running ones do not end. Under the lock. */
static void watch(struct gsh_cpu_run *run)
{
    uint64_t seen = 0;
    while (run->n_workers > 0) {
        uint64_t left = blocks_left(run);
        if (left == 0 || run->is_one_block_each) {
            pthread_cond_wait(&run->left, &run->device->lock);
            continue;
        }
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK_EVERY_NS;
        if (gsh_tsan_is_on()) {
            until.tv_sec += LOOK_EVERY_TSAN_S;
        }
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&run->left, &run->device->lock, &until) == ETIMEDOUT &&
            blocks_left(run) == left && seen == left) {
            add_workers(run, left < run->n_started ? left : run->n_started);
        }
        seen = left;
    }
}

static void execute_wide(struct gsh_cpu_run *run)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&run->left, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_cond_init(&run->synced, NULL);
    pthread_mutex_lock(&run->device->lock);
    uint64_t wanted = first_workers(run), got = add_workers(run, wanted);
    bool is_enough = run->is_one_block_each ? got == wanted : got > 0;
    if (is_enough) {
        watch(run);
    }
    pthread_mutex_unlock(&run->device->lock);
    if (!is_enough) {
        char text[120];
        snprintf(text, sizeof(text), "the system gave only %llu of the %llu threads of a launch",
                 (unsigned long long)got, (unsigned long long)wanted);
        gsh_device_fatal(&run->device->config, text);
    }
    pthread_cond_destroy(&run->left);
    pthread_cond_destroy(&run->synced);
}

void gsh_run_execute(struct gsh_cpu_run *run, struct gsh_cpu_block *block)
{
    const struct gsh_cpu_uint3 *grid = &run->launch.grid, *dim = &run->launch.block;
    run->number = __atomic_add_fetch(&run->device->n_runs, 1, __ATOMIC_RELAXED);
    run->n_blocks = (uint64_t)grid->x * grid->y * grid->z;
    /* A worker between two blocks of a collective launch would keep the others waiting. */
    run->is_one_block_each =
        run->launch.is_cooperative ||
        (gsh_tsan_is_on() &&
         run->n_blocks * ((uint64_t)dim->x * dim->y * dim->z) <= MAX_TSAN_THREADS);
    gsh_tsan_release(&run->tsan_start);
    if (run->n_blocks == 1) {
        struct gsh_cpu_uint3 zero = {0, 0, 0};
        run->next_block = 1; /* leave no block for a worker that gsh_run_want_block would add */
        gsh_block_run(block, run, zero);
    } else {
        execute_wide(run);
    }
    gsh_tsan_acquire(&run->tsan_end);
}

/* ---- the grid's barrier ---------------------------------------------------------------------- */

bool gsh_run_sync(struct gsh_cpu_run *run, struct gsh_cpu_block *block)
{
    if (run->n_blocks == 1) {
        return true;
    }
    pthread_mutex_lock(&run->device->lock);
    uint64_t lap = run->sync_lap;
    if (++run->n_at_sync == run->n_blocks) {
        run->n_at_sync = 0;
        run->sync_lap++;
        pthread_cond_broadcast(&run->synced);
    }
    /* A block that has exited will never arrive. */
    while (run->sync_lap == lap && run->n_left_blocks == 0) {
        pthread_cond_wait(&run->synced, &run->device->lock);
    }
    bool is_synced = run->sync_lap != lap;
    uint64_t n_at_sync = run->n_at_sync, n_left = run->n_left_blocks;
    pthread_mutex_unlock(&run->device->lock);
    if (!is_synced && !__atomic_load_n(&run->is_left, __ATOMIC_RELAXED)) {
        gsh_block_fatal(block,
                        "%llu of %llu blocks wait at this_grid().sync() while %llu have "
                        "exited",
                        (unsigned long long)n_at_sync, (unsigned long long)run->n_blocks,
                        (unsigned long long)n_left);
    }
    return is_synced;
}
