/* SPDX-License-Identifier: Apache-2.0
 * Runs launches, block by block (block.h), on the device's OS threads. stream.c orders launches
 * against each other. */
#ifndef GSH_GRID_H
#define GSH_GRID_H

#include "block_state.h"
#include "run.h"

/* Runs the launch to its end. `block` belongs to the calling OS thread, a stream's, which runs
 * grids of one block by itself. */
void gsh_run_execute(struct gsh_cpu_run *run, struct gsh_cpu_block *block);

/* Ends the pool's threads; nothing may be running. */
void gsh_pool_finish(struct gsh_cpu_device *device);

#endif
