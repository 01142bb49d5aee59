/* SPDX-License-Identifier: Apache-2.0
 * A real adapter of the mlx5 family, of which each PE has one, by DevX commands: queues whose
 * memory is the plug-in's own (collapsed completion queues exist in no other way), and keys of
 * keys, so that a PE has one key for all its memory, by offsets.
 *
 * The memory of the queues, one umem: for each queue 8 bytes of its completion queue's record; 8 of
 * its own, of which the second 4 are for sends; 8 of its doorbell if a thread rings; a page of
 * completions; then the entries of all. With queues in the device a second umem has the records and
 * the entries. */
#ifndef GSH_MLX5_H
#define GSH_MLX5_H

#include <pthread.h>
#include <string.h>
#include "base/util.h"
#include "nic/mlx5/command.h"
#include "nic/mlx5/verbs.h"

#define GSH_MLX5_PAGE        4096u
#define GSH_MLX5_NO_NUMBER   UINT32_MAX
#define GSH_MLX5_REGISTER    0x800u /* of doorbells, in their page */
#define GSH_MLX5_ADDRESS_VER 1u

/* What a PE tells the others. All checked when it comes. */
struct gsh_mlx5_address {
    uint32_t magic, version;
    uint16_t lid;
    uint8_t is_ethernet, mtu; /* enum ibv_mtu */
    uint32_t n_queues;
    uint8_t gid[16];
};

struct gsh_mlx5_peer {
    struct gsh_mlx5_address address;
    uint8_t mac[6]; /* RoCE */
    uint32_t key;
    bool is_known;
};

struct gsh_mlx5_queue {
    struct mlx5dv_devx_obj *completions, *pair;
    uint32_t number; /* of the pair; GSH_MLX5_NO_NUMBER: none */
    int pe;          /* -1: not connected */
    uint64_t rung;   /* the last doorbell that the thread has passed on */
    bool has_failed; /* told */
};

struct gsh_mlx5_region {
    uint64_t off, bytes;
    uint64_t address;
    struct ibv_mr *mr;
};

struct gsh_mlx5 {
    struct gsh_adapter base; /* first */
    const struct gsh_mlx5_core *core;
    const struct gsh_verbs *v;
    struct ibv_context *context;
    struct ibv_pd *pd;
    uint32_t pd_number, eq_number, clock, max_pieces;
    int port, gid_index;
    struct gsh_mlx5_address address;
    struct mlx5dv_devx_uar *uar;
    struct mlx5dv_devx_umem *umem, *device_umem; /* device_umem: NULL: no queues in the device */
    struct gsh_mlx5_queue *queues;               /* [n_queues] */
    struct gsh_mlx5_peer *peers;                 /* [n_pes] */
    struct gsh_mlx5_region *regions;
    unsigned n_regions;
    struct mlx5dv_devx_obj **keys; /* all so far; the last is in use */
    unsigned n_keys;
    pthread_t thread;
    bool has_thread, rings;
    uint32_t is_stopping; /* atomic */
};

static inline struct gsh_mlx5 *gsh_mlx5_of(struct gsh_adapter *a)
{
    return (struct gsh_mlx5 *)a;
}

#endif
