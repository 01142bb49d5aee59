/* SPDX-License-Identifier: Apache-2.0
 * A library that needs another, whose names are found in it: see meson.build. */
#include <infiniband/mlx5dv.h>

extern bool (*const standin_need)(struct ibv_device *device);
bool (*const standin_need)(struct ibv_device *device) = mlx5dv_is_supported;
