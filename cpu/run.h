/* SPDX-License-Identifier: Apache-2.0
 * A launch while it runs: what its blocks share. Lives until its last worker has left it. */
#ifndef GSH_RUN_H
#define GSH_RUN_H

#include "device.h"

struct gsh_cpu_block;

struct gsh_cpu_run {
    struct gsh_cpu_launch launch;  /* args: the copy */
    struct gsh_cpu_device *device; /* whose threads carry it out */
    struct gsh_cpu_device *owner;  /* whose state it sees; usually the same */
    const struct gsh_state *state;
    uint64_t number; /* of the device's launches, from 1 */
    uint64_t n_blocks;
    uint64_t next_block;    /* the first one not started; workers increment it */
    bool is_one_block_each; /* a worker leaves after one block */
    bool is_left;           /* a thread has left its function midway; atomic */
    uint32_t n_workers;     /* now in the run; atomic, written under the device's lock */
    pthread_cond_t ended;   /* n_workers has become 0 */
    /* the grid's barrier, under the device's lock: */
    uint64_t n_at_sync;                      /* blocks that wait there */
    uint64_t sync_lap;                       /* barriers done */
    uint64_t n_left_blocks;                  /* cooperative: blocks that have exited */
    struct gsh_cpu_block *sleepers;          /* list of those blocks */
    char tsan_start, tsan_end, tsan_grid[2]; /* addresses for the thread sanitizer */
};

#endif
