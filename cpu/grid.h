/* SPDX-License-Identifier: Apache-2.0
 * A device's OS threads and the launches they run, block by block (block.c). stream.c orders
 * launches against each other. */
#ifndef GSH_GRID_H
#define GSH_GRID_H

#include <pthread.h>
#include "block.h"

struct gsh_cpu_worker;

/* A launch while it runs. Lives until its last worker has left it. */
struct gsh_cpu_run {
    struct gsh_cpu_launch launch;  /* args: the copy */
    struct gsh_cpu_device *device; /* whose threads carry it out */
    struct gsh_cpu_device *owner;  /* whose state it sees; usually the same */
    const struct gsh_state *state;
    uint64_t number; /* of the device's launches, from 1 */
    uint64_t n_blocks;
    uint64_t next_block;    /* the first one not started; workers increment it */
    uint64_t n_left_blocks; /* cooperative: blocks that have exited; under the device's lock */
    bool is_one_block_each; /* a worker leaves after one block */
    bool is_left;           /* a thread has left its function midway; atomic */
    uint32_t n_workers;     /* now in the run; under the lock, like what follows */
    uint32_t n_started;     /* workers so far */
    pthread_cond_t left;    /* n_workers has become 0 */
    uint64_t n_at_sync;     /* blocks that wait at the grid's barrier */
    uint64_t sync_lap;      /* grid barriers done */
    pthread_cond_t synced;
    char tsan_start, tsan_end, tsan_grid[2]; /* addresses for the thread sanitizer */
};

/* The device's pool of OS threads. */
struct gsh_cpu_pool {
    struct gsh_cpu_worker *idle; /* most recent first, to use warm stacks first */
    struct gsh_cpu_worker *all;
    bool is_closing;
};

/* Runs the launch to its end. `block` belongs to the calling OS thread, a stream's, which runs
 * grids of one block by itself. */
void gsh_run_execute(struct gsh_cpu_run *run, struct gsh_cpu_block *block);

/* Called by a block whose threads all spin: starts one more block, if one is left. */
void gsh_run_want_block(struct gsh_cpu_run *run);
/* The grid's barrier, called by one thread of each block. false: it will never complete, since
 * another block has left. */
bool gsh_run_sync(struct gsh_cpu_run *run, struct gsh_cpu_block *block);

/* Ends the pool's threads; nothing may be running. */
void gsh_pool_finish(struct gsh_cpu_device *device);

#endif
