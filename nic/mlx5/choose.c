/* SPDX-License-Identifier: Apache-2.0
 * See choose.h. */
#include "nic/mlx5/choose.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAGIC        0x356c6d67u
#define DEVICES_MAX  64u
#define PEERMEM_PATH "/sys/module/nvidia_peermem"
#define DRIVER_PATH  "/sys/module/nvidia"

/* ---- near ---- */

unsigned gsh_mlx5_nearness(const char *one, const char *other)
{
    unsigned n = 0;
    for (size_t i = 0;; i++) {
        const bool ends = one[i] == '\0' || one[i] == '/';
        if (ends && (other[i] == '\0' || other[i] == '/')) {
            n += i > 0;
        }
        if (one[i] != other[i] || one[i] == '\0') {
            return n;
        }
    }
}

/* The same of an adapter and the device that has this bus number; 0: unknown. */
static unsigned nearness_by_sysfs(const struct ibv_device *device, const char *pci_bus)
{
    char path[PATH_MAX], mine[PATH_MAX], its[PATH_MAX];
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", pci_bus);
    bool is_known = realpath(path, its) != NULL;
    snprintf(path, sizeof(path), "%s/device", device->ibdev_path);
    is_known = realpath(path, mine) != NULL && is_known;
    return is_known ? gsh_mlx5_nearness(mine, its) : 0;
}

/* How near the adapters are to the PE's GPU, if that matters: as whoever made this one knows it. */
static void find_nearness(const struct gsh_adapter_options *o, struct ibv_device *const *devices,
                          unsigned n, unsigned near[DEVICES_MAX])
{
    const char *names[DEVICES_MAX];
    memset(near, 0, n * sizeof(*near));
    if (n < 2 || o->pci_bus[0] == '\0') {
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        names[i] = devices[i]->name;
    }
    if (o->nearness != NULL && o->nearness(o->context, o->pci_bus, names, n, near)) {
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        near[i] = nearness_by_sysfs(devices[i], o->pci_bus);
    }
}

/* Empty: the list has all. */
static bool is_listed(const char *list, const char *name)
{
    return list[0] == '\0' || gsh_list_has(list, name);
}

/* ---- ports and addresses ---- */

static enum gsh_result query_port(const struct gsh_mlx5 *m, int port, struct ibv_port_attr *attr)
{
    *attr = (struct ibv_port_attr){0};
    /* in parentheses: the header has a macro of that name */
    int error = (m->v->ibv_query_port)(m->context, (uint8_t)port, (void *)attr);
    return error == 0 ? GSH_OK
                      : m->core->note(GSH_ERR_SYSTEM, "NIC %s: port %d: %s", m->base.name, port,
                                      strerror(error));
}

static enum gsh_result choose_port(struct gsh_mlx5 *m, struct ibv_port_attr *attr)
{
    const int asked = m->base.options.port, first = asked > 0 ? asked : 1;
    for (int port = first; port == first || (asked == 0 && port <= UINT8_MAX); port++) {
        enum gsh_result r = query_port(m, port, attr);
        if (r != GSH_OK) {
            return port == first ? r
                                 : m->core->note(GSH_ERR_UNSUPPORTED, "NIC %s: no port is active",
                                                 m->base.name);
        }
        if (attr->state == IBV_PORT_ACTIVE) {
            m->port = port;
            return GSH_OK;
        }
    }
    return m->core->note(GSH_ERR_UNSUPPORTED, "NIC %s: port %d is not active", m->base.name, first);
}

static bool is_ipv4(const union ibv_gid *gid)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(gid->raw, prefix, sizeof(prefix)) == 0;
}

/* How well the entry suits RoCE; 0: not at all. */
static unsigned suits(const struct ibv_gid_entry *entry)
{
    if (entry->gid_type != IBV_GID_TYPE_ROCE_V2) {
        return 0;
    }
    return is_ipv4(&entry->gid) ? 2 : 1;
}

static bool query_gid(const struct gsh_mlx5 *m, int i, struct ibv_gid_entry *entry)
{
    *entry = (struct ibv_gid_entry){0};
    return m->v->_ibv_query_gid_ex(m->context, (uint32_t)m->port, (uint32_t)i, entry, 0,
                                   sizeof(*entry)) == 0;
}

static enum gsh_result choose_gid(struct gsh_mlx5 *m, const struct ibv_port_attr *attr)
{
    const bool is_ethernet = attr->link_layer == IBV_LINK_LAYER_ETHERNET;
    const int asked = m->base.options.gid;
    struct ibv_gid_entry entry;
    int best = asked < 0 && !is_ethernet ? 0 : asked;
    for (int i = 0; best < 0 && i < attr->gid_tbl_len; i++) {
        if (query_gid(m, i, &entry) && suits(&entry) == 2) {
            best = i;
        }
    }
    for (int i = 0; best < 0 && i < attr->gid_tbl_len; i++) {
        if (query_gid(m, i, &entry) && suits(&entry) == 1) {
            best = i;
        }
    }
    if (best < 0) {
        return m->core->note(GSH_ERR_UNSUPPORTED,
                             "NIC %s: port %d has no address of RoCE version 2", m->base.name,
                             m->port);
    }
    if (best >= attr->gid_tbl_len || !query_gid(m, best, &entry)) {
        return m->core->note(GSH_ERR_ARG, "NIC %s: port %d has no GID %d", m->base.name, m->port,
                             best);
    }
    m->gid_index = best;
    m->address = (struct gsh_mlx5_address){.magic = MAGIC,
                                           .version = GSH_MLX5_ADDRESS_VER,
                                           .lid = attr->lid,
                                           .is_ethernet = is_ethernet,
                                           .mtu = (uint8_t)attr->active_mtu,
                                           .n_queues = m->base.options.n_queues};
    memcpy(m->address.gid, entry.gid.raw, sizeof(m->address.gid));
    return GSH_OK;
}

/* ---- opening ---- */

static enum gsh_result open_device(struct gsh_mlx5 *m, struct ibv_device *device)
{
    struct mlx5dv_context_attr attr = {.flags = MLX5DV_CONTEXT_FLAGS_DEVX};
    struct ibv_port_attr port;
    snprintf(m->base.name, sizeof(m->base.name), "%s", device->name);
    m->context = m->v->mlx5dv_open_device(device, &attr);
    if (m->context == NULL) {
        return m->core->note(GSH_ERR_UNSUPPORTED, "NIC %s: it cannot be opened with DevX: %s",
                             m->base.name, strerror(errno));
    }
    enum gsh_result r = choose_port(m, &port);
    return r == GSH_OK ? choose_gid(m, &port) : r;
}

static void close_device(struct gsh_mlx5 *m)
{
    if (m->context != NULL) {
        m->v->ibv_close_device(m->context);
        m->context = NULL;
    }
}

int gsh_mlx5_choose_stripe(const unsigned *near, unsigned n, unsigned my_pe, unsigned stripe,
                           unsigned n_stripes)
{
    unsigned limit = UINT_MAX, group[DEVICES_MAX];
    for (;;) {
        unsigned n_group = 0, most = 0;
        for (unsigned i = 0; i < n; i++) { /* the nearest that are farther than those before */
            if (near[i] < limit && (n_group == 0 || near[i] > most)) {
                n_group = 0;
                most = near[i];
            }
            if (near[i] < limit && near[i] == most) {
                group[n_group++] = i;
            }
        }
        if (n_group == 0) {
            return -1;
        }
        if (stripe < n_group) {
            return (int)group[(my_pe * n_stripes + stripe) % n_group];
        }
        stripe -= n_group;
        limit = most;
    }
}

/* Whether it can be opened, and has a port and an address. */
static bool is_usable(const struct gsh_mlx5 *m, struct ibv_device *device)
{
    struct gsh_mlx5 other = {.core = m->core, .v = m->v, .base.options = m->base.options};
    const bool is_open = open_device(&other, device) == GSH_OK;
    close_device(&other);
    return is_open;
}

/* The NICs that GSHMEM_NIC names; if it names none, those that are usable, or all if none is: then
 * the first says why. */
static unsigned find_named(const struct gsh_mlx5 *m, struct ibv_device **devices, int n,
                           struct ibv_device **named)
{
    const bool is_any = m->base.options.name[0] == '\0';
    unsigned n_named = 0, n_usable = 0;
    for (int i = 0; i < n && n_named < DEVICES_MAX; i++) {
        if (is_listed(m->base.options.name, devices[i]->name) &&
            m->v->mlx5dv_is_supported(devices[i])) {
            named[n_named++] = devices[i];
        }
    }
    for (unsigned i = 0; is_any && i < n_named; i++) {
        if (is_usable(m, named[i])) {
            struct ibv_device *unusable = named[n_usable];
            named[n_usable++] = named[i];
            named[i] = unusable;
        }
    }
    return n_usable > 0 ? n_usable : n_named;
}

/* The one for this PE and stripe. *n_named: of how many. NULL: there are not as many. */
static struct ibv_device *nearest(const struct gsh_mlx5 *m, struct ibv_device **devices, int n,
                                  unsigned *n_named)
{
    const struct gsh_adapter_options *o = &m->base.options;
    struct ibv_device *named[DEVICES_MAX];
    unsigned near[DEVICES_MAX];
    *n_named = find_named(m, devices, n, named);
    find_nearness(o, named, *n_named, near);
    const int i = gsh_mlx5_choose_stripe(near, *n_named, (unsigned)o->my_pe, o->stripe,
                                         o->n_stripes > 0 ? o->n_stripes : 1);
    return i >= 0 ? named[i] : NULL;
}

/* NULL: there is none. It can fail otherwise, which is noted. */
static enum gsh_result list_devices(const struct gsh_mlx5_core *core, const struct gsh_verbs *v,
                                    struct ibv_device ***devices, int *n)
{
    *n = 0;
    *devices = v->ibv_get_device_list(n);
    return *devices != NULL || errno == ENOSYS /* the kernel has no verbs */
               ? GSH_OK
               : core->note(GSH_ERR_UNSUPPORTED, "adapters of verbs: no list of them: %s",
                            strerror(errno));
}

enum gsh_result gsh_mlx5_choose(struct gsh_mlx5 *m)
{
    int n = 0;
    struct ibv_device **devices = NULL;
    unsigned n_named = 0;
    enum gsh_result r = list_devices(m->core, m->v, &devices, &n);
    struct ibv_device *device = devices != NULL ? nearest(m, devices, n, &n_named) : NULL;
    if (r != GSH_OK) {
        return r;
    }
    if (device != NULL) {
        r = open_device(m, device);
    } else if (n_named > 0) {
        r = m->core->note(GSH_ERR_ARG,
                          "GSHMEM_NIC_STRIPES=%u is more than the NICs of this machine that "
                          "GSHMEM_NIC names: %u",
                          m->base.options.n_stripes, n_named);
    } else if (m->base.options.name[0] == '\0') {
        r = m->core->note(GSH_ERR_UNSUPPORTED,
                          "no NIC to which kernels can post by themselves was found, and "
                          "GSHMEM_NIC names none");
    } else {
        r = m->core->note(GSH_ERR_ARG,
                          "GSHMEM_NIC=%s: there is no such NIC; gshmem-info --nics lists them",
                          m->base.options.name);
    }
    if (devices != NULL) {
        m->v->ibv_free_device_list(devices); /* what is open stays so */
    }
    return r;
}

/* ---- the list ---- */

static void describe(const struct gsh_mlx5_core *core, const struct gsh_verbs *v,
                     struct ibv_device *device, struct gsh_adapter_listing *out)
{
    struct gsh_mlx5 m = {.core = core, .v = v, .base.options = {.gid = -1}};
    *out = (struct gsh_adapter_listing){0};
    snprintf(out->name, sizeof(out->name), "%.63s", device->name);
    if (!v->mlx5dv_is_supported(device)) {
        snprintf(out->what, sizeof(out->what), "another kind of adapter");
        snprintf(out->lacks, sizeof(out->lacks), "it is none of the mlx5 family");
        return;
    }
    out->is_there = true;
    enum gsh_result r = open_device(&m, device);
    if (r != GSH_OK) {
        snprintf(out->what, sizeof(out->what), "an mlx5 adapter");
        snprintf(out->lacks, sizeof(out->lacks), "%.191s", core->last_error());
    } else {
        snprintf(out->what, sizeof(out->what), "an mlx5 adapter: port %d, %s, GID %d", m.port,
                 m.address.is_ethernet ? "RoCE" : "InfiniBand", m.gid_index);
    }
    if (r == GSH_OK && access(DRIVER_PATH, F_OK) == 0 && access(PEERMEM_PATH, F_OK) != 0) {
        snprintf(out->lacks, sizeof(out->lacks), "%s",
                 v->ibv_reg_dmabuf_mr != NULL
                     ? "nvidia-peermem is not loaded: it reaches GPU memory only as dma-buf"
                     : "nvidia-peermem is not loaded, and this libibverbs has no dma-buf: it does "
                       "not reach GPU memory");
    }
    close_device(&m);
}

bool gsh_mlx5_list(const struct gsh_mlx5_core *core, unsigned i, struct gsh_adapter_listing *out)
{
    const struct gsh_verbs *v = gsh_verbs_open(core);
    int n = 0;
    struct ibv_device **devices = NULL;
    const bool has_list = v != NULL && list_devices(core, v, &devices, &n) == GSH_OK;
    const bool is_there = devices != NULL && i < (unsigned)n;
    if (is_there) {
        describe(core, v, devices[i], out);
    }
    if (devices != NULL) {
        v->ibv_free_device_list(devices);
    }
    if (has_list && !is_there) {
        (void)core->note(GSH_ERR_UNSUPPORTED, "there is none on this machine");
    }
    return is_there;
}
