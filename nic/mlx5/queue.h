/* SPDX-License-Identifier: Apache-2.0
 * The queues of an mlx5 adapter: where they lie, making, joining and ending them. */
#ifndef GSH_MLX5_QUEUE_H
#define GSH_MLX5_QUEUE_H

#include "nic/mlx5/mlx5.h"

size_t gsh_mlx5_queues_bytes(const struct gsh_adapter_options *o);
struct gsh_adapter_site gsh_mlx5_site(const struct gsh_mlx5 *m, uint32_t index);

/* The umem, the doorbells' page, and what queues need to know of the adapter. */
GSH_CHECK_RESULT enum gsh_result gsh_mlx5_queues_begin(struct gsh_mlx5 *m);
GSH_CHECK_RESULT enum gsh_result gsh_mlx5_queue_create(struct gsh_mlx5 *m, uint32_t index);
/* The peer is known. */
GSH_CHECK_RESULT enum gsh_result gsh_mlx5_queue_connect(struct gsh_mlx5 *m, uint32_t index, int pe,
                                                        uint32_t its_number);
/* All of them, and what begin has made. Accepts what is half made. */
void gsh_mlx5_queues_end(struct gsh_mlx5 *m);

#endif
