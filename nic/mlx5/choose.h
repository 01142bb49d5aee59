/* SPDX-License-Identifier: Apache-2.0
 * Which adapter, port and address of its a PE uses, and what is there. */
#ifndef GSH_MLX5_CHOOSE_H
#define GSH_MLX5_CHOOSE_H

#include "nic/mlx5/mlx5.h"

/* How many folders two paths of sysfs begin with in common: the more, the nearer their devices. */
unsigned gsh_mlx5_nearness(const char *one, const char *other);

/* Of n adapters, whose nearness to the GPU this is, the one for a PE's stripe: those of one PE
 * differ, near ones come first, and PEs share out what is as near. -1: there are not as many. */
int gsh_mlx5_choose_stripe(const unsigned *near, unsigned n, unsigned my_pe, unsigned stripe,
                           unsigned n_stripes);

/* Opens the adapter that GSHMEM_NIC and the GPU say, and chooses its port and address: name,
 * context, port, gid_index and address of m. Noted: there is none, or not as asked for. */
GSH_CHECK_RESULT enum gsh_result gsh_mlx5_choose(struct gsh_mlx5 *m);

bool gsh_mlx5_list(const struct gsh_mlx5_core *core, unsigned i, struct gsh_adapter_listing *out);

#endif
