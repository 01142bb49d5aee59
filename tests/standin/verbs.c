/* SPDX-License-Identifier: Apache-2.0
 * See standin.h: the functions of libibverbs. */
#include "tests/standin/standin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static struct ibv_device devices[] = {{.name = "mlx5_0", .ibdev_path = "/sys"},
                                      {.name = "mlx5_1", .ibdev_path = "/sys"},
                                      {.name = "mlx5_2", .ibdev_path = "/sys"},
                                      {.name = "qib_0", .ibdev_path = "/sys"}};

enum { N_DEVICES = sizeof(devices) / sizeof(devices[0]) };

/* ---- devices ---- */

EXPORT struct ibv_device **ibv_get_device_list(int *n)
{
    struct ibv_device **list =
        standin_fails(__func__) ? NULL : calloc(N_DEVICES + 1, sizeof(*list));
    for (int i = 0; list != NULL && i < N_DEVICES; i++) {
        list[i] = &devices[i];
    }
    *n = list != NULL ? N_DEVICES : 0;
    return list;
}

EXPORT void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

EXPORT bool mlx5dv_is_supported(struct ibv_device *device)
{
    return device - devices != STANDIN_FOREIGN;
}

EXPORT struct ibv_context *mlx5dv_open_device(struct ibv_device *device,
                                              struct mlx5dv_context_attr *attr)
{
    if (standin_fails(__func__) || attr->flags != MLX5DV_CONTEXT_FLAGS_DEVX) {
        return NULL;
    }
    return (struct ibv_context *)standin_open((enum standin_device_kind)(device - devices));
}

EXPORT int ibv_close_device(struct ibv_context *context)
{
    unsigned n = standin_close(standin_of(context));
    if (n > 0) {
        fprintf(stderr, "stand-in: a device is closed that has %u objects\n", n);
        abort();
    }
    return 0;
}

EXPORT int(ibv_query_port)(struct ibv_context *context, uint8_t port,
                           struct _compat_ibv_port_attr *attr)
{
    const enum standin_device_kind kind = standin_of(context)->kind;
    struct ibv_port_attr *out = (void *)attr;
    if (standin_fails("ibv_query_port") || port != 1) {
        return EINVAL;
    }
    out->state = kind == STANDIN_DOWN ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
    out->active_mtu = IBV_MTU_4096;
    out->gid_tbl_len = kind == STANDIN_INFINIBAND ? 1 : 3;
    out->lid = kind == STANDIN_INFINIBAND ? 9 : 0;
    out->link_layer =
        kind == STANDIN_INFINIBAND ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
    return 0;
}

/* With RoCE the last entry is the one to take: version 1, then version 2 of nobody, and the own. */
EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
                             struct ibv_gid_entry *entry, uint32_t flags, size_t bytes)
{
    const struct standin_context *c = standin_of(context);
    const bool is_ib = c->kind == STANDIN_INFINIBAND;
    if (port != 1 || flags != 0 || bytes != sizeof(*entry) || index >= (is_ib ? 1 : 3)) {
        return EINVAL;
    }
    if (index == 1) {
        return ENODATA; /* an empty place */
    }
    entry->gid = c->gid;
    entry->gid_index = index;
    entry->port_num = port;
    entry->gid_type = is_ib        ? IBV_GID_TYPE_IB
                      : index == 0 ? IBV_GID_TYPE_ROCE_V1
                                   : IBV_GID_TYPE_ROCE_V2;
    return 0;
}

/* ---- domains, memory, addresses ---- */

static void count(struct standin_context *c, int by)
{
    pthread_mutex_lock(&c->lock);
    c->n_objects += (unsigned)by;
    pthread_mutex_unlock(&c->lock);
}

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *pd = standin_fails(__func__) ? NULL : calloc(1, sizeof(*pd));
    if (pd != NULL) {
        pd->context = context;
        count(standin_of(context), 1);
    }
    return pd;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
    count(standin_of(pd->context), -1);
    free(pd);
    return 0;
}

static struct ibv_mr *register_memory(struct ibv_pd *pd, void *address, size_t bytes)
{
    static uint32_t n_registrations;
    struct standin_mr *mr = calloc(1, sizeof(*mr));
    if (mr == NULL) {
        return NULL;
    }
    mr->context = standin_of(pd->context);
    mr->base = (struct ibv_mr){.context = pd->context, .pd = pd, .addr = address, .length = bytes};
    mr->base.lkey = (__atomic_add_fetch(&n_registrations, 1, __ATOMIC_RELAXED) + 0x1000) << 8;
    mr->base.rkey = mr->base.lkey;
    count(mr->context, 1);
    return &mr->base;
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t bytes,
                                       uint64_t iova, unsigned access)
{
    (void)access;
    if (standin_fails(__func__) || iova != (uint64_t)(uintptr_t)address) {
        return NULL;
    }
    return register_memory(pd, address, bytes);
}

EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t off, size_t bytes,
                                        uint64_t iova, int fd, int access)
{
    (void)access;
    if (standin_fails(__func__) || off != 0 || fd < 0) {
        return NULL;
    }
    return register_memory(pd, (void *)(uintptr_t)iova, bytes);
}

EXPORT int ibv_dereg_mr(struct ibv_mr *base)
{
    struct standin_mr *mr = (struct standin_mr *)base;
    pthread_mutex_lock(&mr->context->lock);
    standin_drop_pieces(mr->context, base->lkey);
    mr->context->n_objects--;
    pthread_mutex_unlock(&mr->context->lock);
    free(mr);
    return 0;
}

struct standin_ah {
    struct ibv_ah base; /* first */
    struct mlx5_wqe_av av;
};

EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    struct standin_ah *ah = standin_fails(__func__) ? NULL : calloc(1, sizeof(*ah));
    if (ah == NULL || attr->is_global == 0 || attr->port_num != 1 || attr->grh.sgid_index != 2) {
        free(ah);
        return NULL;
    }
    ah->base.context = pd->context;
    standin_mac(attr->grh.dgid.raw, ah->av.rmac);
    count(standin_of(pd->context), 1);
    return &ah->base;
}

EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
    count(standin_of(ah->context), -1);
    free(ah);
    return 0;
}

EXPORT int mlx5dv_init_obj(struct mlx5dv_obj *object, uint64_t kind)
{
    if (standin_fails(__func__)) {
        return EIO;
    }
    if (kind == MLX5DV_OBJ_PD) {
        object->pd.out->pdn = GSH_MODEL_DOMAIN;
    } else if (kind == MLX5DV_OBJ_AH) {
        object->ah.out->av = &((struct standin_ah *)object->ah.in)->av;
    }
    return kind == MLX5DV_OBJ_PD || kind == MLX5DV_OBJ_AH ? 0 : EINVAL;
}
