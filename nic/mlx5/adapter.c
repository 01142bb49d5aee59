/* SPDX-License-Identifier: Apache-2.0
 * The plug-in libgshmem_mlx5.so: an adapter's life, its peers, and its table. Not yet run on a real
 * adapter: tests run it on a stand-in for both libraries, tests/standin. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "nic/mlx5/choose.h"
#include "nic/mlx5/memory.h"
#include "nic/mlx5/queue.h"
#include "nic/mlx5/watch.h"

#define HOPS 64

/* ---- peers ---- */

static enum gsh_result mlx5_address(struct gsh_adapter *a, const void **blob, size_t *bytes)
{
    *blob = &gsh_mlx5_of(a)->address;
    *bytes = sizeof(gsh_mlx5_of(a)->address);
    return GSH_OK;
}

/* RoCE: the Ethernet address that the PE's GID has, which the kernel finds out. */
static enum gsh_result find_mac(const struct gsh_mlx5 *m, int pe, struct gsh_mlx5_peer *peer)
{
    struct ibv_ah_attr attr = {.is_global = 1,
                               .port_num = (uint8_t)m->port,
                               .sl = (uint8_t)m->base.options.service_level,
                               .grh = {.sgid_index = (uint8_t)m->gid_index,
                                       .hop_limit = HOPS,
                                       .traffic_class = (uint8_t)m->base.options.traffic_class}};
    struct mlx5dv_ah found = {0};
    struct mlx5dv_obj object = {.ah = {.out = &found}};
    memcpy(attr.grh.dgid.raw, peer->address.gid, sizeof(peer->address.gid));
    object.ah.in = m->v->ibv_create_ah(m->pd, &attr);
    const bool is_found =
        object.ah.in != NULL && m->v->mlx5dv_init_obj(&object, MLX5DV_OBJ_AH) == 0;
    if (is_found) {
        memcpy(peer->mac, found.av->rmac, sizeof(peer->mac));
    }
    if (object.ah.in != NULL) {
        (void)m->v->ibv_destroy_ah(object.ah.in);
    }
    return is_found
               ? GSH_OK
               : m->core->note(GSH_ERR_UNSUPPORTED, "NIC %s: no way to the NIC of PE %d was found",
                               m->base.name, pe);
}

static const char *network_name(bool is_ethernet)
{
    return is_ethernet ? "RoCE" : "InfiniBand";
}

static enum gsh_result mlx5_set_peer(struct gsh_adapter *a, int pe, const void *blob, size_t bytes)
{
    struct gsh_mlx5 *m = gsh_mlx5_of(a);
    struct gsh_mlx5_peer *peer = &m->peers[pe];
    if (bytes != sizeof(peer->address)) {
        return m->core->note(GSH_ERR_ARG, "NIC %s: PE %d has another kind of NIC", m->base.name,
                             pe);
    }
    memcpy(&peer->address, blob, bytes);
    if (peer->address.is_ethernet != m->address.is_ethernet &&
        peer->address.magic == m->address.magic) {
        return m->core->note(GSH_ERR_ARG,
                             "NIC %s: it is of %s, and PE %d's of %s: GSHMEM_NIC must name NICs "
                             "of one network",
                             m->base.name, network_name(m->address.is_ethernet), pe,
                             network_name(peer->address.is_ethernet));
    }
    if (peer->address.magic != m->address.magic || peer->address.version != m->address.version ||
        peer->address.n_queues != m->address.n_queues || peer->address.mtu < IBV_MTU_256 ||
        peer->address.mtu > IBV_MTU_4096) {
        return m->core->note(GSH_ERR_ARG, "NIC %s: PE %d has another kind of NIC", m->base.name,
                             pe);
    }
    peer->is_known = true;
    return m->address.is_ethernet ? find_mac(m, pe, peer) : GSH_OK;
}

static uint32_t mlx5_remote_key(struct gsh_adapter *a, int pe)
{
    return gsh_mlx5_of(a)->peers[pe].key;
}

static void mlx5_set_remote_key(struct gsh_adapter *a, int pe, uint32_t key)
{
    gsh_mlx5_of(a)->peers[pe].key = key;
}

static uint32_t mlx5_own_key(struct gsh_adapter *a)
{
    return a->local_key;
}

/* ---- the rest of the table ---- */

static enum gsh_result mlx5_create_queue(struct gsh_adapter *a, uint32_t index,
                                         struct gsh_adapter_site *out)
{
    enum gsh_result r = gsh_mlx5_queue_create(gsh_mlx5_of(a), index);
    *out = gsh_mlx5_site(gsh_mlx5_of(a), index);
    return r;
}

static enum gsh_result mlx5_connect_queue(struct gsh_adapter *a, uint32_t index, int pe,
                                          uint32_t its_index, uint32_t its_number)
{
    (void)its_index;
    return gsh_mlx5_queue_connect(gsh_mlx5_of(a), index, pe, its_number);
}

static enum gsh_result mlx5_add_region(struct gsh_adapter *a, void *memory, uint64_t off,
                                       uint64_t bytes)
{
    return gsh_mlx5_add_region(gsh_mlx5_of(a), memory, off, bytes);
}

static enum gsh_result mlx5_remove_region(struct gsh_adapter *a, uint64_t off)
{
    return gsh_mlx5_remove_region(gsh_mlx5_of(a), off);
}

static enum gsh_result mlx5_start(struct gsh_adapter *a, bool rings_for_kernels)
{
    return gsh_mlx5_watch_start(gsh_mlx5_of(a), rings_for_kernels);
}

static bool mlx5_is_idle(struct gsh_adapter *a, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++) {
        if (gsh_mlx5_of(a)->queues[i].pe >= 0 && !gsh_mlx5_is_idle(gsh_mlx5_of(a), i)) {
            return false;
        }
    }
    return true;
}

static void mlx5_destroy(struct gsh_adapter *a)
{
    struct gsh_mlx5 *m = gsh_mlx5_of(a);
    gsh_mlx5_watch_stop(m);
    if (m->context != NULL) {
        gsh_mlx5_memory_end(m);
        gsh_mlx5_queues_end(m);
        (void)m->v->ibv_close_device(m->context);
    }
    if (a->memory != NULL) {
        munmap(a->memory, a->memory_bytes);
    }
    if (a->device_memory != NULL) {
        a->options.release(a->options.context, a->device_memory);
    }
    free(m->queues);
    free(m->peers);
    free(m);
}

static const struct gsh_adapter_ops mlx5_ops = {
    .name = "mlx5",
    .address = mlx5_address,
    .set_peer = mlx5_set_peer,
    .remote_key = mlx5_remote_key,
    .create_queue = mlx5_create_queue,
    .connect_queue = mlx5_connect_queue,
    .add_region = mlx5_add_region,
    .remove_region = mlx5_remove_region,
    .own_key = mlx5_own_key,
    .set_remote_key = mlx5_set_remote_key,
    .start = mlx5_start,
    .is_idle = mlx5_is_idle,
    .destroy = mlx5_destroy,
};

/* ---- making it ---- */

static enum gsh_result check_options(const struct gsh_mlx5_core *core,
                                     const struct gsh_adapter_options *o)
{
    const struct {
        const char *name;
        int value, most;
    } numbers[] = {{"GSHMEM_NIC_PORT", o->port, UINT8_MAX},
                   {"GSHMEM_NIC_GID", o->gid, UINT8_MAX},
                   {"GSHMEM_NIC_TRAFFIC_CLASS", o->traffic_class, UINT8_MAX},
                   {"GSHMEM_NIC_SERVICE_LEVEL", o->service_level, 15},
                   {"GSHMEM_NIC_RETRY", o->retry, 7},
                   {"GSHMEM_NIC_TIMEOUT", o->timeout, 31}};
    for (size_t i = 0; i < GSH_ARRAY_LEN(numbers); i++) {
        if (numbers[i].value > numbers[i].most) {
            return core->note(GSH_ERR_ARG, "%s=%d is more than %d", numbers[i].name,
                              numbers[i].value, numbers[i].most);
        }
    }
    return GSH_OK;
}

static enum gsh_result allocate(struct gsh_mlx5 *m)
{
    const struct gsh_adapter_options *o = &m->base.options;
    const size_t bytes = gsh_mlx5_queues_bytes(o);
    m->queues = calloc(o->n_queues, sizeof(*m->queues));
    m->peers = calloc((size_t)o->n_pes, sizeof(*m->peers));
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) {
        m->base.memory = p;
        m->base.memory_bytes = bytes;
    }
    if (m->queues == NULL || m->peers == NULL || p == MAP_FAILED) {
        return m->core->note(GSH_ERR_NOMEM, "no memory for the NIC's %u queues of %u blocks",
                             o->n_queues, o->depth);
    }
    for (uint32_t i = 0; i < o->n_queues; i++) {
        m->queues[i].pe = -1;
        m->queues[i].number = GSH_MLX5_NO_NUMBER;
    }
    return GSH_OK;
}

static enum gsh_result create(const struct gsh_mlx5_core *core,
                              const struct gsh_adapter_options *options, struct gsh_adapter **out)
{
    const struct gsh_verbs *v = gsh_verbs_open(core);
    struct gsh_mlx5 *m = v != NULL ? calloc(1, sizeof(*m)) : NULL;
    if (m == NULL) {
        return v == NULL ? GSH_ERR_UNSUPPORTED : core->note(GSH_ERR_NOMEM, "no memory for the NIC");
    }
    m->base.ops = &mlx5_ops;
    m->base.options = *options;
    m->base.reads_cuda = true;
    m->base.tells_numbers = true;
    m->core = core;
    m->v = v;
    enum gsh_result r = check_options(core, options);
    if (r == GSH_OK) {
        r = gsh_mlx5_choose(m);
    }
    if (r == GSH_OK) {
        r = allocate(m);
    }
    if (r == GSH_OK) {
        r = gsh_mlx5_queues_begin(m);
    }
    if (r != GSH_OK) {
        mlx5_destroy(&m->base);
        return r;
    }
    *out = &m->base;
    return GSH_OK;
}

__attribute__((visibility("default"))) const struct gsh_mlx5_plugin *gsh_mlx5_plugin_1(void)
{
    static const struct gsh_mlx5_plugin plugin = {
        .version = GSHMEM_VENDOR_STRING, .create = create, .list = gsh_mlx5_list};
    return &plugin;
}
