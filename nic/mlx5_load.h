/* SPDX-License-Identifier: Apache-2.0
 * Real adapters: finds and opens their plug-in. Only the plug-in knows verbs. */
#ifndef GSH_MLX5_LOAD_H
#define GSH_MLX5_LOAD_H

#include "nic/nic.h"

/* As gsh_adapter_create. */
GSH_CHECK_RESULT enum gsh_result gsh_mlx5_create(const struct gsh_adapter_options *options,
                                                 struct gsh_adapter **out);
/* As gsh_adapter_list; if there is none at all, adapter 0 is the whole family, and lacks says why.
 */
bool gsh_mlx5_list_all(const char *plugin, unsigned i, struct gsh_adapter_listing *out);

#endif
