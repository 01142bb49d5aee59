/* SPDX-License-Identifier: Apache-2.0
 * Barriers of all threads of a block, of a whole grid, and of four warps. */
#include "cpu/block.h"
#include "cpu/grid_sync.h"
#include "cpu/report.h"
#include "cpu/sanitizer.h"
#include "cpu/thread.h"

/* The last thread, t, has arrived: all others can go on. Returns false if other blocks of the grid
 * will never arrive. */
GSH_NO_TSAN static bool finish_barrier(struct gsh_cpu_block *b, struct gsh_block_thread *t)
{
    if (b->is_mixed) {
        gsh_block_fatal_stuck(b);
    }
    if (b->kind == GSH_CPU_GRID_SYNC) {
        gsh_tsan_become(b->main.tsan); /* its lock orders nothing in the kernel */
        bool is_synced = gsh_grid_sync(b->run, b);
        gsh_tsan_become(b->running->tsan);
        if (!is_synced) {
            return false;
        }
        b->grid_parity ^= 1;
    }
    b->result = b->kind == GSH_CPU_SYNCTHREADS_COUNT ? (int)b->n_true
                : b->kind == GSH_CPU_SYNCTHREADS_AND ? b->n_true == b->n_threads
                                                     : b->n_true > 0;
    b->n_waiting = 0;
    b->n_true = 0;
    b->parity ^= 1;
    for (uint32_t i = 0; i < b->n_threads; i++) {
        if (&b->threads[i] != t) {
            gsh_block_wake(b, &b->threads[i]);
        }
    }
    return true;
}

GSH_NO_TSAN int gshmemx_cpu_barrier(enum gsh_cpu_barrier kind, int predicate)
{
    struct gsh_cpu_thread *self = gsh_need_thread("a barrier of threads");
    struct gsh_cpu_block *b = self->block;
    if (!b) {
        return predicate != 0;
    }
    struct gsh_block_thread *t = &b->threads[self->rank];
    /* Two addresses in turn: a thread already at the next barrier must not be ordered before one
     * that is still leaving this one. */
    char *sync = &b->tsan_sync[b->parity], *grid = &b->run->tsan_grid[b->grid_parity];
    if (kind == GSH_CPU_GRID_SYNC && !b->run->launch.is_cooperative) {
        gsh_block_fatal(b, "this_grid().sync() in a launch that is not collective; use "
                           "gshmemx_collective_launch");
    }
    gsh_tsan_release(sync);
    if (kind == GSH_CPU_GRID_SYNC) {
        gsh_tsan_release(grid);
    }
    if (b->n_waiting++ == 0) {
        b->kind = (uint8_t)kind;
        b->is_mixed = false;
    } else if (b->kind != kind) {
        b->is_mixed = true;
    }
    b->n_true += predicate != 0;
    t->kind = (uint8_t)kind;
    gsh_block_progress(b);
    if (b->n_waiting == b->n_threads) {
        t->state = GSH_THREAD_AT_BARRIER;
        if (!finish_barrier(b, t)) {
            gshmemx_cpu_leave();
        }
        t->state = GSH_THREAD_READY;
    } else {
        gsh_block_wait(b, t, GSH_THREAD_AT_BARRIER);
    }
    gsh_tsan_acquire(sync);
    if (kind == GSH_CPU_GRID_SYNC) {
        gsh_tsan_acquire(grid);
    }
    return b->result;
}

GSH_NO_TSAN void gshmemx_cpu_warpgroup(void)
{
    struct gsh_cpu_thread *self = gsh_need_thread("a barrier of four warps");
    struct gsh_cpu_block *b = self->block;
    if (!b) {
        return;
    }
    struct gsh_block_thread *t = &b->threads[self->rank];
    uint32_t group = self->rank / GSH_CPU_GROUP, first = group * GSH_CPU_GROUP;
    uint32_t rest = b->n_threads - first, n = rest < GSH_CPU_GROUP ? rest : GSH_CPU_GROUP;
    char *sync = &b->tsan_group[group][b->group_parity[group]]; /* in turn, as above */
    gsh_tsan_release(sync);
    gsh_block_progress(b);
    if (++b->group_waiting[group] < n) {
        gsh_block_wait(b, t, GSH_THREAD_AT_GROUP);
    } else {
        b->group_waiting[group] = 0;
        b->group_parity[group] ^= 1;
        for (uint32_t i = first; i < first + n; i++) {
            if (&b->threads[i] != t) {
                gsh_block_wake(b, &b->threads[i]);
            }
        }
    }
    gsh_tsan_acquire(sync);
}
