/* SPDX-License-Identifier: Apache-2.0
 * An mlx5 adapter's thread: it tells of entries that have failed, which no kernel does, and rings
 * for kernels that do not reach the doorbells' registers. */
#ifndef GSH_MLX5_WATCH_H
#define GSH_MLX5_WATCH_H

#include "nic/mlx5/mlx5.h"

/* Looks once at all queues. Returns whether it has rung. */
bool gsh_mlx5_watch_once(struct gsh_mlx5 *m);
GSH_CHECK_RESULT enum gsh_result gsh_mlx5_watch_start(struct gsh_mlx5 *m, bool rings);
void gsh_mlx5_watch_stop(struct gsh_mlx5 *m); /* accepts none */

/* Whether what the queue's record covers is complete. An acquire. */
bool gsh_mlx5_is_idle(const struct gsh_mlx5 *m, uint32_t index);

#endif
