/* SPDX-License-Identifier: Apache-2.0
 * Runs launches on the device's OS threads, called workers. As many workers as there are cores wait
 * for a core at first (cores.h); one that gets a core sends the next worker to the queue, starts a
 * block, and takes another block when that has ended. So a block starts once all blocks before it
 * have been given a core and have ended or wait: a large grid of independent blocks needs few
 * threads, and blocks that wait for each other still all run. */
#include "cpu/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include "cpu/block.h"
#include "cpu/cores.h"
#include "cpu/fatal.h"
#include "cpu/grid_sync.h"
#include "cpu/sanitizer.h"

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

static void *worker_main(void *arg);

/* ---- the pool: under the device's lock ------------------------------------------------------- */

/* NULL: no memory or no thread. */
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

static bool add_worker(struct gsh_cpu_run *run)
{
    struct gsh_cpu_pool *pool = &run->device->pool;
    struct gsh_cpu_worker *w = pool->idle;
    if (w) {
        pool->idle = w->next_idle;
        w->run = run;
        pthread_cond_signal(&w->wake);
    } else if (!create_worker(run->device, run)) {
        return false;
    }
    __atomic_add_fetch(&run->n_workers, 1, __ATOMIC_RELAXED);
    return true;
}

/* ---- workers --------------------------------------------------------------------------------- */

static struct gsh_cpu_uint3 block_index(const struct gsh_cpu_run *run, uint64_t i)
{
    const struct gsh_cpu_uint3 *grid = &run->launch.grid;
    struct gsh_cpu_uint3 index = {(unsigned)(i % grid->x), (unsigned)(i / grid->x % grid->y),
                                  (unsigned)(i / grid->x / grid->y)};
    return index;
}

static uint64_t blocks_left(const struct gsh_cpu_run *run)
{
    uint64_t next = __atomic_load_n(&run->next_block, __ATOMIC_RELAXED);
    return next < run->n_blocks ? run->n_blocks - next : 0;
}

/* So few threads can be a fault of the system alone; all blocks may wait for one not started. */
static void fail_without_thread(const struct gsh_cpu_run *run, uint64_t got)
{
    char text[120];
    snprintf(text, sizeof(text), "the system gave only %llu of the %llu threads of a launch",
             (unsigned long long)got, (unsigned long long)run->n_blocks);
    gsh_device_fatal(&run->device->config, text);
}

/* The caller is about to start a block: another worker waits for a core in its place. */
static void send_next(struct gsh_cpu_run *run)
{
    if (blocks_left(run) < 2 || run->is_one_block_each) {
        return;
    }
    pthread_mutex_lock(&run->device->lock);
    uint64_t n_workers = run->n_workers;
    bool has_failed = n_workers < MAX_RESIDENT && !add_worker(run);
    pthread_mutex_unlock(&run->device->lock);
    /* Without it the blocks that there are go on, unless they wait for the others. */
    if (has_failed && run->launch.is_cooperative) {
        fail_without_thread(run, n_workers);
    }
}

/* When a block has ended: whether its worker starts another one itself. If there are more workers
 * than it takes to keep the cores busy, blocks wait for each other, and one of the workers in the
 * queue starts the next block: so no more blocks wait than have to. */
static bool may_go_on(const struct gsh_cpu_run *run)
{
    return !run->is_one_block_each &&
           __atomic_load_n(&run->n_workers, __ATOMIC_RELAXED) <= 2 * gsh_cores_count();
}

static void work(struct gsh_cpu_run *run, struct gsh_cpu_block *block)
{
    if (blocks_left(run) == 0 || !gsh_core_take_spare(&block->runner, run)) {
        return;
    }
    send_next(run);
    do {
        uint64_t i = __atomic_fetch_add(&run->next_block, 1, __ATOMIC_RELAXED);
        if (i + 1 >= run->n_blocks) {
            gsh_cores_cancel(run);
        }
        if (i >= run->n_blocks) {
            break;
        }
        gsh_block_run(block, run, block_index(run, i));
        if (run->launch.is_cooperative) {
            gsh_grid_leave(run);
        }
        if (gsh_cores_are_wanted()) {
            gsh_core_pass(&block->runner, false);
        }
    } while (may_go_on(run));
    gsh_core_leave(&block->runner);
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
        if (__atomic_sub_fetch(&run->n_workers, 1, __ATOMIC_RELAXED) == 0) {
            pthread_cond_signal(&run->ended);
        }
    }
    pthread_mutex_unlock(&device->lock);
    gsh_block_finish(&block);
    return NULL;
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

/* How many workers wait for a core at first. */
static uint64_t first_workers(const struct gsh_cpu_run *run)
{
    const struct gsh_cpu_uint3 *dim = &run->launch.block;
    uint64_t n_threads = (uint64_t)dim->x * dim->y * dim->z, n = gsh_cores_count();
    if (run->is_one_block_each) {
        return run->n_blocks;
    }
    if (gsh_tsan_is_on()) {
        n = (MAX_TSAN_THREADS + n_threads - 1) / n_threads;
    }
    return n < run->n_blocks ? n : run->n_blocks;
}

static void execute_wide(struct gsh_cpu_run *run)
{
    uint64_t wanted = first_workers(run), got = 0;
    pthread_cond_init(&run->ended, NULL);
    pthread_mutex_lock(&run->device->lock);
    while (got < wanted && add_worker(run)) {
        got++;
    }
    bool is_enough = run->is_one_block_each ? got == wanted : got > 0;
    while (is_enough && run->n_workers > 0) {
        pthread_cond_wait(&run->ended, &run->device->lock);
    }
    pthread_mutex_unlock(&run->device->lock);
    if (!is_enough) {
        fail_without_thread(run, got);
    }
    pthread_cond_destroy(&run->ended);
}

static void execute_alone(struct gsh_cpu_run *run, struct gsh_cpu_block *block)
{
    struct gsh_cpu_uint3 zero = {0, 0, 0};
    gsh_core_take(&block->runner);
    gsh_block_run(block, run, zero);
    gsh_core_leave(&block->runner);
}

void gsh_run_execute(struct gsh_cpu_run *run, struct gsh_cpu_block *block)
{
    const struct gsh_cpu_uint3 *grid = &run->launch.grid, *dim = &run->launch.block;
    run->number = __atomic_add_fetch(&run->device->n_runs, 1, __ATOMIC_RELAXED);
    run->n_blocks = (uint64_t)grid->x * grid->y * grid->z;
    run->is_one_block_each =
        gsh_tsan_is_on() &&
        (run->launch.is_cooperative ||
         run->n_blocks * ((uint64_t)dim->x * dim->y * dim->z) <= MAX_TSAN_THREADS);
    gsh_tsan_release(&run->tsan_start);
    if (run->n_blocks == 1) {
        execute_alone(run, block);
    } else {
        execute_wide(run);
    }
    gsh_tsan_acquire(&run->tsan_end);
}
