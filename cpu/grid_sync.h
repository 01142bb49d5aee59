/* SPDX-License-Identifier: Apache-2.0
 * The barrier of a grid, in cooperative launches. A block that waits there has no core, and costs
 * nothing. */
#ifndef GSH_GRID_SYNC_H
#define GSH_GRID_SYNC_H

#include "block_state.h"
#include "run.h"

/* Called by one thread of each block. false: it will never complete, since another block has
 * left. */
bool gsh_grid_sync(struct gsh_cpu_run *run, struct gsh_cpu_block *block);
/* The block has exited. */
void gsh_grid_leave(struct gsh_cpu_run *run);

#endif
