/* SPDX-License-Identifier: Apache-2.0
 * The memory that an mlx5 adapter reaches: each region has a registration of its own, and the PE
 * one key for all of them, a list of pieces of theirs by offsets, where nothing lies between them.
 * Such a list cannot be changed in place without a queue and a receiver of its completions, so each
 * added region makes a new key; what has been told of the old ones stays true. */
#ifndef GSH_MLX5_MEMORY_H
#define GSH_MLX5_MEMORY_H

#include "nic/mlx5/mlx5.h"

GSH_CHECK_RESULT enum gsh_result gsh_mlx5_add_region(struct gsh_mlx5 *m, void *memory, uint64_t off,
                                                     uint64_t bytes);
GSH_CHECK_RESULT enum gsh_result gsh_mlx5_remove_region(struct gsh_mlx5 *m, uint64_t off);
void gsh_mlx5_memory_end(struct gsh_mlx5 *m);

#endif
