/* SPDX-License-Identifier: Apache-2.0
 * See memory.h. */
#include "nic/mlx5/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/memlock.h"

#define PIECE_BYTES ((uint64_t)1 << 30)
#define PIECES_MAX  4064u /* a command has at most 64 KiB */

#define ACCESS                                                                   \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
     IBV_ACCESS_REMOTE_ATOMIC)

/* ---- registering ---- */

/* NULL: not as dma-buf; *why says what failed. */
static struct ibv_mr *register_shared(const struct gsh_mlx5 *m, void *memory, uint64_t bytes,
                                      char *why, size_t size)
{
    const struct gsh_adapter_options *o = &m->base.options;
    int fd = -1;
    if (m->v->ibv_reg_dmabuf_mr == NULL) {
        snprintf(why, size, "this libibverbs has no dma-buf");
        return NULL;
    }
    if (o->share(o->context, memory, bytes, &fd) != GSH_OK) {
        snprintf(why, size, "%s", m->core->last_error());
        return NULL;
    }
    struct ibv_mr *mr =
        m->v->ibv_reg_dmabuf_mr(m->pd, 0, bytes, (uint64_t)(uintptr_t)memory, fd, ACCESS);
    if (mr == NULL) {
        snprintf(why, size, "%s", strerror(errno));
    }
    close(fd);
    return mr;
}

static enum gsh_result register_memory(const struct gsh_mlx5 *m, void *memory, uint64_t bytes,
                                       struct ibv_mr **out)
{
    const bool is_gpu = m->base.options.share != NULL;
    char why[256] = "";
    *out = is_gpu ? register_shared(m, memory, bytes, why, sizeof(why)) : NULL;
    if (*out == NULL) { /* of a GPU: by nvidia-peermem */
        *out = m->v->ibv_reg_mr_iova2(m->pd, memory, bytes, (uint64_t)(uintptr_t)memory, ACCESS);
    }
    if (*out != NULL) {
        return GSH_OK;
    }
    int error = errno;
    char hint[GSH_MEMLOCK_TEXT];
    return is_gpu ? m->core->note(GSH_ERR_UNSUPPORTED,
                                  "NIC %s: it does not reach GPU memory, neither as dma-buf (%s) "
                                  "nor by nvidia-peermem (%s)",
                                  m->base.name, why, strerror(error))
                  : m->core->note(GSH_ERR_SYSTEM, "NIC %s: it does not reach %llu bytes: %s%s",
                                  m->base.name, (unsigned long long)bytes, strerror(error),
                                  gsh_memlock_hint(hint));
}

/* ---- the key ---- */

struct list {
    struct gsh_mlx5_piece *pieces;
    uint32_t n, max;
    uint64_t end; /* of what it covers */
};

/* False: there is no room. */
static bool add_pieces(struct list *l, uint64_t bytes, uint32_t key, uint64_t address)
{
    for (uint64_t done = 0; done < bytes;) {
        const uint64_t n = gsh_min_u64(bytes - done, PIECE_BYTES);
        if (l->n == l->max) {
            return false;
        }
        l->pieces[l->n++] = (struct gsh_mlx5_piece){
            .bytes = htobe32((uint32_t)n), .key = htobe32(key), .address = htobe64(address + done)};
        done += n;
    }
    l->end += bytes;
    return true;
}

static bool list_regions(const struct gsh_mlx5 *m, struct list *l)
{
    for (unsigned i = 0; i < m->n_regions; i++) {
        const struct gsh_mlx5_region *region = &m->regions[i];
        if (!add_pieces(l, region->off - l->end, MLX5_INVALID_LKEY, 0) ||
            !add_pieces(l, region->bytes, region->mr->lkey, region->address)) {
            return false;
        }
    }
    return true;
}

static enum gsh_result create_key(struct gsh_mlx5 *m, uint8_t *in, const struct list *l)
{
    uint8_t out[GSH_MLX5_OUT_BYTES] = {0}, *context = in + GSH_MLX5_KEY_CONTEXT;
    const uint32_t n = (uint32_t)gsh_align_up(l->n, 4), variant = (m->n_keys + 1) & 0xff;
    gsh_mlx5_set(in, GSH_MLX5_OPCODE, GSH_MLX5_CREATE_MKEY);
    gsh_mlx5_set(in, GSH_MLX5_KEY_LIST_BYTES, n);
    gsh_mlx5_set(context, GSH_MLX5_KEYC_ATOMIC, 1);
    gsh_mlx5_set(context, GSH_MLX5_KEYC_REMOTE_WRITE, 1);
    gsh_mlx5_set(context, GSH_MLX5_KEYC_REMOTE_READ, 1);
    gsh_mlx5_set(context, GSH_MLX5_KEYC_LOCAL_WRITE, 1);
    gsh_mlx5_set(context, GSH_MLX5_KEYC_LOCAL_READ, 1);
    gsh_mlx5_set(context, GSH_MLX5_KEYC_MODE, GSH_MLX5_KEY_OF_KEYS);
    gsh_mlx5_set(context, GSH_MLX5_KEYC_QP, GSH_MLX5_ANY_QP);
    gsh_mlx5_set(context, GSH_MLX5_KEYC_VARIANT, variant);
    gsh_mlx5_set(context, GSH_MLX5_KEYC_PD, m->pd_number);
    gsh_mlx5_set(context, GSH_MLX5_KEYC_BYTES, l->end);
    gsh_mlx5_set(context, GSH_MLX5_KEYC_LIST_BYTES, n);
    struct mlx5dv_devx_obj *key = m->v->mlx5dv_devx_obj_create(
        m->context, in, GSH_MLX5_IN_BYTES + n * sizeof(struct gsh_mlx5_piece), out, sizeof(out));
    if (key == NULL) {
        return m->core->note(
            GSH_ERR_SYSTEM, "NIC %s: no key of %u pieces: %s (status 0x%02x, reason 0x%08x)",
            m->base.name, l->n, strerror(errno), (unsigned)gsh_mlx5_get(out, GSH_MLX5_OUT_STATUS),
            (unsigned)gsh_mlx5_get(out, GSH_MLX5_OUT_REASON));
    }
    m->keys[m->n_keys++] = key;
    m->base.local_key = (uint32_t)gsh_mlx5_get(out, GSH_MLX5_OUT_NUMBER) << 8 | variant;
    return GSH_OK;
}

static enum gsh_result make_key(struct gsh_mlx5 *m)
{
    const uint32_t may = m->max_pieces > 1 ? m->max_pieces : PIECES_MAX;
    struct list l = {.max = (uint32_t)gsh_min_u64(may, PIECES_MAX)};
    uint8_t *in = calloc(1, GSH_MLX5_IN_BYTES + (l.max + 4) * sizeof(struct gsh_mlx5_piece));
    struct mlx5dv_devx_obj **keys = realloc(m->keys, (m->n_keys + 1) * sizeof(*keys));
    enum gsh_result r = GSH_ERR_NOMEM;
    m->keys = keys != NULL ? keys : m->keys;
    if (in == NULL || keys == NULL) {
        (void)m->core->note(r, "no memory for the NIC's keys");
    } else {
        l.pieces = (void *)(in + GSH_MLX5_IN_BYTES);
        r = list_regions(m, &l)
                ? create_key(m, in, &l)
                : m->core->note(GSH_ERR_UNSUPPORTED, "NIC %s: its memory takes more than %u pieces",
                                m->base.name, l.max);
    }
    free(in);
    return r;
}

/* ---- regions ---- */

static void drop(struct gsh_mlx5 *m, unsigned i)
{
    (void)m->v->ibv_dereg_mr(m->regions[i].mr);
    m->n_regions--;
    memmove(&m->regions[i], &m->regions[i + 1], (m->n_regions - i) * sizeof(*m->regions));
}

/* In order of the offsets. */
static unsigned insert(struct gsh_mlx5 *m, struct gsh_mlx5_region region)
{
    unsigned i = m->n_regions;
    while (i > 0 && m->regions[i - 1].off > region.off) {
        m->regions[i] = m->regions[i - 1];
        i--;
    }
    m->regions[i] = region;
    m->n_regions++;
    return i;
}

enum gsh_result gsh_mlx5_add_region(struct gsh_mlx5 *m, void *memory, uint64_t off, uint64_t bytes)
{
    struct gsh_mlx5_region region = {
        .off = off, .bytes = bytes, .address = (uint64_t)(uintptr_t)memory};
    struct gsh_mlx5_region *regions = realloc(m->regions, (m->n_regions + 1) * sizeof(*m->regions));
    if (regions == NULL) {
        return m->core->note(GSH_ERR_NOMEM, "no memory for the NIC's keys");
    }
    m->regions = regions;
    enum gsh_result r = register_memory(m, memory, bytes, &region.mr);
    if (r != GSH_OK) {
        return r;
    }
    const unsigned i = insert(m, region);
    r = make_key(m);
    if (r != GSH_OK) {
        drop(m, i);
    }
    return r;
}

enum gsh_result gsh_mlx5_remove_region(struct gsh_mlx5 *m, uint64_t off)
{
    for (unsigned i = 0; i < m->n_regions; i++) {
        if (m->regions[i].off == off) {
            drop(m, i); /* keys that have pieces of it have nothing there now */
            return GSH_OK;
        }
    }
    return m->core->note(GSH_ERR_ARG, "NIC %s: no region begins at offset %#llx", m->base.name,
                         (unsigned long long)off);
}

void gsh_mlx5_memory_end(struct gsh_mlx5 *m)
{
    while (m->n_keys > 0) {
        (void)m->v->mlx5dv_devx_obj_destroy(m->keys[--m->n_keys]);
    }
    while (m->n_regions > 0) {
        drop(m, m->n_regions - 1);
    }
    free(m->keys);
    free(m->regions);
}
