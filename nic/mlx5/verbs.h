/* SPDX-License-Identifier: Apache-2.0
 * libibverbs and libmlx5, opened by name: a machine without an adapter need not have them. */
#ifndef GSH_MLX5_VERBS_H
#define GSH_MLX5_VERBS_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include "nic/mlx5/plugin.h"

/* Names in the libraries; a row of OPTIONAL may be NULL. */
#define GSH_VERBS_FUNCTIONS(FUNCTION, OPTIONAL) \
    FUNCTION(ibv_get_device_list)               \
    FUNCTION(ibv_free_device_list)              \
    FUNCTION(ibv_close_device)                  \
    FUNCTION(ibv_query_port)                    \
    FUNCTION(_ibv_query_gid_ex)                 \
    FUNCTION(ibv_alloc_pd)                      \
    FUNCTION(ibv_dealloc_pd)                    \
    FUNCTION(ibv_reg_mr_iova2)                  \
    OPTIONAL(ibv_reg_dmabuf_mr)                 \
    FUNCTION(ibv_dereg_mr)                      \
    FUNCTION(ibv_create_ah)                     \
    FUNCTION(ibv_destroy_ah)
#define GSH_MLX5DV_FUNCTIONS(FUNCTION, OPTIONAL) \
    FUNCTION(mlx5dv_is_supported)                \
    FUNCTION(mlx5dv_open_device)                 \
    FUNCTION(mlx5dv_init_obj)                    \
    FUNCTION(mlx5dv_devx_obj_create)             \
    FUNCTION(mlx5dv_devx_obj_modify)             \
    FUNCTION(mlx5dv_devx_obj_destroy)            \
    FUNCTION(mlx5dv_devx_general_cmd)            \
    FUNCTION(mlx5dv_devx_umem_reg)               \
    OPTIONAL(mlx5dv_devx_umem_reg_ex)            \
    FUNCTION(mlx5dv_devx_umem_dereg)             \
    FUNCTION(mlx5dv_devx_alloc_uar)              \
    FUNCTION(mlx5dv_devx_free_uar)               \
    FUNCTION(mlx5dv_devx_query_eqn)

struct gsh_verbs {
#define GSH_VERBS_MEMBER(name) __typeof__(&name) name;
    GSH_VERBS_FUNCTIONS(GSH_VERBS_MEMBER, GSH_VERBS_MEMBER)
    GSH_MLX5DV_FUNCTIONS(GSH_VERBS_MEMBER, GSH_VERBS_MEMBER)
#undef GSH_VERBS_MEMBER
};

/* Once for the process. NULL, noted: they are not there, or lack something. Any thread. */
const struct gsh_verbs *gsh_verbs_open(const struct gsh_mlx5_core *core);

#endif
