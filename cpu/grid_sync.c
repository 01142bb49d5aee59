/* SPDX-License-Identifier: Apache-2.0
 * Blocks arrive at the grid's barrier, and sleep until the last has come or one has exited. */
#include "cpu/grid_sync.h"

#include "cpu/report.h"

/* Under the device's lock. */
static void wake_all(struct gsh_cpu_run *run)
{
    while (run->sleepers) {
        struct gsh_cpu_block *block = run->sleepers;
        run->sleepers = block->next_sleeper;
        gsh_core_wake(&block->runner);
    }
}

bool gsh_grid_sync(struct gsh_cpu_run *run, struct gsh_cpu_block *block)
{
    if (run->n_blocks == 1) {
        return true;
    }
    pthread_mutex_lock(&run->device->lock);
    uint64_t lap = run->sync_lap;
    if (++run->n_at_sync == run->n_blocks) {
        run->n_at_sync = 0;
        run->sync_lap++;
        wake_all(run);
    } else if (run->n_left_blocks == 0) { /* a block that has exited will never arrive */
        block->next_sleeper = run->sleepers;
        run->sleepers = block;
        pthread_mutex_unlock(&run->device->lock);
        gsh_core_sleep(&block->runner);
        pthread_mutex_lock(&run->device->lock);
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

void gsh_grid_leave(struct gsh_cpu_run *run)
{
    pthread_mutex_lock(&run->device->lock);
    run->n_left_blocks++;
    wake_all(run);
    pthread_mutex_unlock(&run->device->lock);
}
