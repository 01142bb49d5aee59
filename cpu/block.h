/* SPDX-License-Identifier: Apache-2.0
 * Runs one block at a time on the calling OS thread. grid.c has the blocks of a grid and the OS
 * threads. */
#ifndef GSH_BLOCK_H
#define GSH_BLOCK_H

#include "block_state.h"
#include "run.h"

/* For the calling OS thread, which must be the one that runs the block. */
void gsh_block_init(struct gsh_cpu_block *block, const struct gsh_cpu_config *config);
void gsh_block_finish(struct gsh_cpu_block *block);
/* Runs block `index` of the run to its end. */
void gsh_block_run(struct gsh_cpu_block *block, struct gsh_cpu_run *run,
                   struct gsh_cpu_uint3 index);

/* Frees the device's stacks; it has no blocks any more. */
void gsh_block_drop_spare(struct gsh_cpu_device *device);

/* for barrier.c and warp.c: */

/* The calling thread waits until gsh_block_wake. */
void gsh_block_wait(struct gsh_cpu_block *block, struct gsh_block_thread *thread,
                    enum gsh_thread_state state);
void gsh_block_wake(struct gsh_cpu_block *block, struct gsh_block_thread *thread);
/* Something other than a yield happened. */
void gsh_block_progress(struct gsh_cpu_block *block);

#endif
