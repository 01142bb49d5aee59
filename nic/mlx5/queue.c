/* SPDX-License-Identifier: Apache-2.0
 * See queue.h. */
#include "nic/mlx5/queue.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include "base/memlock.h"

/* A page of completions, of which the adapter uses the first: a collapsed queue. */
#define LOG_COMPLETIONS 6u
#define DEVICE_PAGE     65536u /* what a dma-buf is made of */
#define LOG_MESSAGE     30u    /* GSH_WQ_BYTES_MAX */
#define LOG_READS       4u     /* READs and atomics under way at a time */
#define BUSY_DELAY      12u    /* 0.64 ms; no entry needs a receive */
#define BUSY_RETRIES    7u
#define HOPS            64u
#define ROCE_UDP_PORT   0xc000u /* the first that RoCE uses */

/* ---- where they lie ---- */

static uint64_t completions_off(const struct gsh_adapter_options *o)
{
    return gsh_align_up(24 * (uint64_t)o->n_queues, GSH_MLX5_PAGE);
}

static uint64_t completions_end(const struct gsh_adapter_options *o)
{
    return completions_off(o) + (uint64_t)o->n_queues * GSH_MLX5_PAGE;
}

/* In the device behind the records, which come first there. */
static uint64_t entries_off(const struct gsh_adapter_options *o)
{
    return o->in_device ? gsh_align_up(8 * (uint64_t)o->n_queues, GSH_MLX5_PAGE)
                        : completions_end(o);
}

static uint64_t entries_end(const struct gsh_adapter_options *o)
{
    return entries_off(o) + (uint64_t)o->n_queues * o->depth * GSH_WQ_BLOCK;
}

size_t gsh_mlx5_queues_bytes(const struct gsh_adapter_options *o)
{
    return o->in_device ? completions_end(o) : entries_end(o);
}

/* Of the records and the entries. */
static uint32_t queue_umem(const struct gsh_mlx5 *m)
{
    return (m->device_umem != NULL ? m->device_umem : m->umem)->umem_id;
}

struct gsh_adapter_site gsh_mlx5_site(const struct gsh_mlx5 *m, uint32_t index)
{
    const struct gsh_adapter_options *o = &m->base.options;
    const uint64_t n = o->n_queues;
    return (struct gsh_adapter_site){
        .record = (o->in_device ? 0 : 8 * n) + 8ull * index + 4,
        .doorbell = 16 * n + 8ull * index,
        .completion = completions_off(o) + (uint64_t)index * GSH_MLX5_PAGE,
        .entries = entries_off(o) + (uint64_t)index * o->depth * GSH_WQ_BLOCK,
        .doorbell_register = GSH_MLX5_REGISTER,
        .number = m->queues[index].number,
    };
}

/* ---- commands ---- */

static enum gsh_result fail(const struct gsh_mlx5 *m, const char *what, const uint8_t *out)
{
    return m->core->note(GSH_ERR_SYSTEM, "NIC %s: %s: %s (status 0x%02x, reason 0x%08x)",
                         m->base.name, what, strerror(errno),
                         (unsigned)gsh_mlx5_get(out, GSH_MLX5_OUT_STATUS),
                         (unsigned)gsh_mlx5_get(out, GSH_MLX5_OUT_REASON));
}

static enum gsh_result create(const struct gsh_mlx5 *m, const char *what, const uint8_t *in,
                              struct mlx5dv_devx_obj **object, uint32_t *number)
{
    uint8_t out[GSH_MLX5_OUT_BYTES] = {0};
    *object = m->v->mlx5dv_devx_obj_create(m->context, in, GSH_MLX5_IN_BYTES, out, sizeof(out));
    if (*object == NULL) {
        return fail(m, what, out);
    }
    *number = (uint32_t)gsh_mlx5_get(out, GSH_MLX5_OUT_NUMBER);
    return GSH_OK;
}

static enum gsh_result modify(const struct gsh_mlx5 *m, const struct gsh_mlx5_queue *queue,
                              enum gsh_mlx5_opcode opcode, const char *what, uint8_t *in)
{
    uint8_t out[GSH_MLX5_OUT_BYTES] = {0};
    gsh_mlx5_set(in, GSH_MLX5_OPCODE, opcode);
    gsh_mlx5_set(in, GSH_MLX5_QP_NUMBER, queue->number);
    int error = m->v->mlx5dv_devx_obj_modify(queue->pair, in, GSH_MLX5_IN_BYTES, out, sizeof(out));
    if (error != 0) {
        errno = error;
        return fail(m, what, out);
    }
    return GSH_OK;
}

/* ---- making ---- */

static uint32_t log2_of(uint32_t power)
{
    return (uint32_t)__builtin_ctz(power);
}

static enum gsh_result create_completions(struct gsh_mlx5 *m, uint32_t index, uint32_t *number)
{
    uint8_t in[GSH_MLX5_IN_BYTES] = {0}, *context = in + GSH_MLX5_CQ_CONTEXT;
    const struct gsh_adapter_site site = gsh_mlx5_site(m, index);
    struct gsh_wq_completion *first = (void *)((uint8_t *)m->base.memory + site.completion);
    first->op_own = GSH_WQ_INVALID << 4;
    gsh_mlx5_set(in, GSH_MLX5_OPCODE, GSH_MLX5_CREATE_CQ);
    gsh_mlx5_set(in, GSH_MLX5_CQ_UMEM_ID, m->umem->umem_id);
    gsh_mlx5_set(in, GSH_MLX5_CQ_UMEM_OFFSET, site.completion);
    gsh_mlx5_set(in, GSH_MLX5_CQ_UMEM_VALID, 1);
    gsh_mlx5_set(context, GSH_MLX5_CQC_COLLAPSED, 1);
    gsh_mlx5_set(context, GSH_MLX5_CQC_OVERRUN, 1);
    gsh_mlx5_set(context, GSH_MLX5_CQC_LOG_SIZE, LOG_COMPLETIONS);
    gsh_mlx5_set(context, GSH_MLX5_CQC_UAR, m->uar->page_id);
    gsh_mlx5_set(context, GSH_MLX5_CQC_EQ, m->eq_number);
    gsh_mlx5_set(context, GSH_MLX5_CQC_RECORD_UMEM, 1);
    gsh_mlx5_set(context, GSH_MLX5_CQC_RECORD_ID, m->umem->umem_id);
    gsh_mlx5_set(context, GSH_MLX5_CQC_RECORD, 8ull * index);
    return create(m, "no completion queue", in, &m->queues[index].completions, number);
}

static enum gsh_result create_pair(struct gsh_mlx5 *m, uint32_t index, uint32_t completions)
{
    uint8_t in[GSH_MLX5_IN_BYTES] = {0}, *context = in + GSH_MLX5_QP_CONTEXT;
    struct gsh_mlx5_queue *queue = &m->queues[index];
    const struct gsh_adapter_site site = gsh_mlx5_site(m, index);
    gsh_mlx5_set(in, GSH_MLX5_OPCODE, GSH_MLX5_CREATE_QP);
    gsh_mlx5_set(in, GSH_MLX5_QP_UMEM_ID, queue_umem(m));
    gsh_mlx5_set(in, GSH_MLX5_QP_UMEM_OFFSET, site.entries);
    gsh_mlx5_set(in, GSH_MLX5_QP_UMEM_VALID, 1);
    gsh_mlx5_set(context, GSH_MLX5_QPC_PATH_STATE, GSH_MLX5_PATH_MIGRATED);
    gsh_mlx5_set(context, GSH_MLX5_QPC_PD, m->pd_number);
    gsh_mlx5_set(context, GSH_MLX5_QPC_LOG_SEND, log2_of(m->base.options.depth));
    gsh_mlx5_set(context, GSH_MLX5_QPC_RECEIVES, GSH_MLX5_NO_RECEIVES);
    gsh_mlx5_set(context, GSH_MLX5_QPC_CLOCK, m->clock);
    gsh_mlx5_set(context, GSH_MLX5_QPC_UAR, m->uar->page_id);
    gsh_mlx5_set(context, GSH_MLX5_QPC_USER_INDEX, GSH_MLX5_NO_USER_INDEX);
    gsh_mlx5_set(context, GSH_MLX5_QPC_SEND_CQ, completions);
    gsh_mlx5_set(context, GSH_MLX5_QPC_RECEIVE_CQ, completions);
    gsh_mlx5_set(context, GSH_MLX5_QPC_RECORD_UMEM, 1);
    gsh_mlx5_set(context, GSH_MLX5_QPC_RECORD_ID, queue_umem(m));
    gsh_mlx5_set(context, GSH_MLX5_QPC_RECORD, site.record - 4);
    return create(m, "no queue pair", in, &queue->pair, &queue->number);
}

static enum gsh_result to_init(struct gsh_mlx5 *m, const struct gsh_mlx5_queue *queue)
{
    uint8_t in[GSH_MLX5_IN_BYTES] = {0}, *context = in + GSH_MLX5_QP_CONTEXT;
    gsh_mlx5_set(context, GSH_MLX5_QPC_PATH_STATE, GSH_MLX5_PATH_MIGRATED);
    gsh_mlx5_set(context, GSH_MLX5_QPC_MAY_READ, 1);
    gsh_mlx5_set(context, GSH_MLX5_QPC_MAY_WRITE, 1);
    gsh_mlx5_set(context, GSH_MLX5_QPC_MAY_ATOMIC, 1);
    gsh_mlx5_set(context, GSH_MLX5_QPC_ATOMICS, GSH_MLX5_ATOMICS_TO_8_BYTES);
    gsh_mlx5_set(context + GSH_MLX5_PATH, GSH_MLX5_PATH_PORT, (uint64_t)m->port);
    return modify(m, queue, GSH_MLX5_RESET_TO_INIT, "a queue pair does not become ready", in);
}

enum gsh_result gsh_mlx5_queue_create(struct gsh_mlx5 *m, uint32_t index)
{
    uint32_t completions = 0;
    enum gsh_result r = create_completions(m, index, &completions);
    if (r == GSH_OK) {
        r = create_pair(m, index, completions);
    }
    return r == GSH_OK ? to_init(m, &m->queues[index]) : r;
}

/* ---- joining ---- */

static void set_path(const struct gsh_mlx5 *m, const struct gsh_mlx5_peer *peer, uint8_t *path)
{
    const struct gsh_adapter_options *o = &m->base.options;
    const bool is_ethernet = m->address.is_ethernet != 0;
    gsh_mlx5_set(path, GSH_MLX5_PATH_PORT, (uint64_t)m->port);
    gsh_mlx5_set(path, GSH_MLX5_PATH_GID_INDEX, (uint64_t)m->gid_index);
    gsh_mlx5_set(path, GSH_MLX5_PATH_CLASS, (uint64_t)o->traffic_class);
    gsh_mlx5_set(path, GSH_MLX5_PATH_HOPS, HOPS);
    if (is_ethernet) {
        const uint8_t *mac = peer->mac;
        gsh_mlx5_set(path, GSH_MLX5_PATH_DSCP, (uint64_t)o->traffic_class >> 2);
        gsh_mlx5_set(path, GSH_MLX5_PATH_UDP_PORT, ROCE_UDP_PORT);
        gsh_mlx5_set(path, GSH_MLX5_PATH_PRIORITY, (uint64_t)o->service_level);
        gsh_mlx5_set(path, GSH_MLX5_PATH_MAC_HIGH, (uint64_t)mac[0] << 8 | mac[1]);
        gsh_mlx5_set(path, GSH_MLX5_PATH_MAC_LOW,
                     (uint64_t)mac[2] << 24 | mac[3] << 16 | mac[4] << 8 | mac[5]);
    } else {
        gsh_mlx5_set(path, GSH_MLX5_PATH_LEVEL, (uint64_t)o->service_level);
        gsh_mlx5_set(path, GSH_MLX5_PATH_LID, peer->address.lid);
    }
    /* a path by a router, and a port without a number, need the whole address */
    bool has_prefix = memcmp(peer->address.gid, m->address.gid, 8) != 0;
    if (is_ethernet || has_prefix || peer->address.lid == 0) {
        gsh_mlx5_set(path, GSH_MLX5_PATH_GRH, !is_ethernet);
        memcpy(path + GSH_MLX5_PATH_GID, peer->address.gid, sizeof(peer->address.gid));
    }
}

enum gsh_result gsh_mlx5_queue_connect(struct gsh_mlx5 *m, uint32_t index, int pe,
                                       uint32_t its_number)
{
    uint8_t in[GSH_MLX5_IN_BYTES] = {0}, *context = in + GSH_MLX5_QP_CONTEXT;
    struct gsh_mlx5_queue *queue = &m->queues[index];
    const struct gsh_mlx5_peer *peer = &m->peers[pe];
    const struct gsh_adapter_options *o = &m->base.options;
    gsh_mlx5_set(context, GSH_MLX5_QPC_MTU, gsh_min_u64(m->address.mtu, peer->address.mtu));
    gsh_mlx5_set(context, GSH_MLX5_QPC_LOG_MESSAGE, LOG_MESSAGE);
    gsh_mlx5_set(context, GSH_MLX5_QPC_REMOTE, its_number);
    gsh_mlx5_set(context, GSH_MLX5_QPC_LOG_RECEIVED, LOG_READS);
    gsh_mlx5_set(context, GSH_MLX5_QPC_BUSY_DELAY, BUSY_DELAY);
    gsh_mlx5_set(context, GSH_MLX5_QPC_ATOMICS, GSH_MLX5_ATOMICS_TO_8_BYTES);
    gsh_mlx5_set(context, GSH_MLX5_QPC_MAY_READ, 1);
    gsh_mlx5_set(context, GSH_MLX5_QPC_MAY_WRITE, 1);
    gsh_mlx5_set(context, GSH_MLX5_QPC_MAY_ATOMIC, 1);
    set_path(m, peer, context + GSH_MLX5_PATH);
    enum gsh_result r =
        modify(m, queue, GSH_MLX5_INIT_TO_RECEIVE, "a queue pair does not join another", in);
    if (r != GSH_OK) {
        return r;
    }
    memset(in, 0, sizeof(in));
    gsh_mlx5_set(context, GSH_MLX5_QPC_LOG_SENT, LOG_READS);
    gsh_mlx5_set(context, GSH_MLX5_QPC_RETRY, (uint64_t)o->retry);
    gsh_mlx5_set(context, GSH_MLX5_QPC_RETRY_BUSY, BUSY_RETRIES);
    gsh_mlx5_set(context + GSH_MLX5_PATH, GSH_MLX5_PATH_TIMEOUT, (uint64_t)o->timeout);
    gsh_mlx5_set(context + GSH_MLX5_PATH, GSH_MLX5_PATH_PORT, (uint64_t)m->port);
    r = modify(m, queue, GSH_MLX5_RECEIVE_TO_SEND, "a queue pair does not become able to send", in);
    if (r == GSH_OK) {
        queue->pe = pe;
    }
    return r;
}

/* ---- beginning and ending ---- */

/* What the adapter can do; 0 where it does not say. */
static void query_abilities(struct gsh_mlx5 *m)
{
    static const unsigned kinds[] = {GSH_MLX5_CAP_GENERAL, GSH_MLX5_CAP_ROCE};
    for (unsigned i = 0; i < 2; i++) {
        uint8_t in[16] = {0}, out[GSH_MLX5_CAP_BYTES] = {0};
        gsh_mlx5_set(in, GSH_MLX5_OPCODE, GSH_MLX5_QUERY_HCA_CAP);
        gsh_mlx5_set(in, GSH_MLX5_OP_MOD, kinds[i]);
        if (m->v->mlx5dv_devx_general_cmd(m->context, in, sizeof(in), out, sizeof(out)) != 0) {
            continue;
        }
        const uint8_t *context = out + GSH_MLX5_CAP_CONTEXT;
        if (kinds[i] == GSH_MLX5_CAP_GENERAL) {
            m->max_pieces = 1u << gsh_min_u64(gsh_mlx5_get(context, GSH_MLX5_CAP_LOG_LIST), 31);
        } else {
            m->clock = gsh_mlx5_get(context, GSH_MLX5_CAP_ROCE_CLOCK) != 0; /* 1: its default */
        }
    }
}

/* As dma-buf where it is a GPU's. */
static enum gsh_result register_device_memory(struct gsh_mlx5 *m, uint64_t bytes)
{
    const struct gsh_adapter_options *o = &m->base.options;
    struct mlx5dv_devx_umem_in in = {.size = bytes,
                                     .access = IBV_ACCESS_LOCAL_WRITE,
                                     .pgsz_bitmap = UINT64_MAX & ~(uint64_t)(GSH_MLX5_PAGE - 1),
                                     .comp_mask = MLX5DV_UMEM_MASK_DMABUF,
                                     .dmabuf_fd = -1};
    if (o->share == NULL) {
        m->device_umem = m->v->mlx5dv_devx_umem_reg(m->context, m->base.device_memory, bytes,
                                                    IBV_ACCESS_LOCAL_WRITE);
    } else if (m->v->mlx5dv_devx_umem_reg_ex == NULL) {
        errno = ENOSYS;
    } else if (o->share(o->context, m->base.device_memory, bytes, &in.dmabuf_fd) != GSH_OK) {
        return m->core->note(GSH_ERR_UNSUPPORTED, "NIC %s: no queues in GPU memory: %s",
                             m->base.name, m->core->last_error());
    } else {
        m->device_umem = m->v->mlx5dv_devx_umem_reg_ex(m->context, &in);
        int error = errno;
        close(in.dmabuf_fd);
        errno = error;
    }
    return m->device_umem != NULL
               ? GSH_OK
               : m->core->note(GSH_ERR_UNSUPPORTED, "NIC %s: no queues in GPU memory: %s",
                               m->base.name, strerror(errno));
}

static enum gsh_result allocate_in_device(struct gsh_mlx5 *m)
{
    const struct gsh_adapter_options *o = &m->base.options;
    const uint64_t bytes = gsh_align_up(entries_end(o), DEVICE_PAGE);
    enum gsh_result r = o->allocate(o->context, bytes, &m->base.device_memory);
    return r == GSH_OK ? register_device_memory(m, bytes) : r;
}

enum gsh_result gsh_mlx5_queues_begin(struct gsh_mlx5 *m)
{
    const struct gsh_verbs *v = m->v;
    struct mlx5dv_pd pd = {0};
    struct mlx5dv_obj object = {.pd = {.out = &pd}};
    query_abilities(m);
    m->pd = v->ibv_alloc_pd(m->context);
    object.pd.in = m->pd;
    int error = m->pd == NULL ? errno : v->mlx5dv_init_obj(&object, MLX5DV_OBJ_PD);
    if (error != 0) {
        return m->core->note(GSH_ERR_SYSTEM, "NIC %s: no protection domain: %s", m->base.name,
                             strerror(error));
    }
    m->pd_number = pd.pdn;
    error = v->mlx5dv_devx_query_eqn(m->context, 0, &m->eq_number);
    if (error != 0) {
        return m->core->note(GSH_ERR_SYSTEM, "NIC %s: no event queue: %s", m->base.name,
                             strerror(error));
    }
    m->uar = v->mlx5dv_devx_alloc_uar(m->context, MLX5DV_UAR_ALLOC_TYPE_NC);
    if (m->uar == NULL) { /* of the kernels that have no such kind */
        m->uar = v->mlx5dv_devx_alloc_uar(m->context, MLX5DV_UAR_ALLOC_TYPE_BF);
    }
    if (m->uar == NULL) {
        return m->core->note(GSH_ERR_SYSTEM, "NIC %s: no page of doorbells: %s", m->base.name,
                             strerror(errno));
    }
    m->base.registers = m->uar->base_addr;
    m->base.registers_bytes = GSH_MLX5_PAGE;
    char hint[GSH_MEMLOCK_TEXT];
    m->umem = v->mlx5dv_devx_umem_reg(m->context, m->base.memory, m->base.memory_bytes,
                                      IBV_ACCESS_LOCAL_WRITE);
    if (m->umem == NULL) {
        return m->core->note(GSH_ERR_NOMEM, "NIC %s: no memory of %zu bytes for its queues: %s%s",
                             m->base.name, m->base.memory_bytes, strerror(errno),
                             gsh_memlock_hint(hint));
    }
    return m->base.options.in_device ? allocate_in_device(m) : GSH_OK;
}

void gsh_mlx5_queues_end(struct gsh_mlx5 *m)
{
    const struct gsh_verbs *v = m->v;
    for (uint32_t i = 0; m->queues != NULL && i < m->base.options.n_queues; i++) {
        struct gsh_mlx5_queue *queue = &m->queues[i];
        if (queue->pair != NULL) {
            (void)v->mlx5dv_devx_obj_destroy(queue->pair);
        }
        if (queue->completions != NULL) {
            (void)v->mlx5dv_devx_obj_destroy(queue->completions);
        }
    }
    if (m->device_umem != NULL) {
        (void)v->mlx5dv_devx_umem_dereg(m->device_umem);
    }
    if (m->umem != NULL) {
        (void)v->mlx5dv_devx_umem_dereg(m->umem);
    }
    if (m->uar != NULL) {
        v->mlx5dv_devx_free_uar(m->uar);
    }
    if (m->pd != NULL) {
        (void)v->ibv_dealloc_pd(m->pd);
    }
}
