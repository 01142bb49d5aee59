/* SPDX-License-Identifier: Apache-2.0
 * See standin.h: the commands of DevX. */
#include "tests/standin/standin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "nic/model/queue.h"

#define EXPORT     __attribute__((visibility("default")))
#define PAGE_BYTES 4096u
#define EQ         7u
#define UAR        3u
#define BAD        0x03u /* a status: a parameter is wrong */
#define LOG_LIST   16u

struct umem {
    struct mlx5dv_devx_umem base; /* first */
    struct standin_context *context;
    uint8_t *memory;
    uint64_t bytes;
    bool is_mapped;
    struct umem *next;
};

enum kind { COMPLETIONS, PAIR, KEY };

struct mlx5dv_devx_obj {
    struct standin_context *context;
    enum kind kind;
    uint32_t number;
    struct gsh_wq_completion *completions;
    struct mlx5dv_devx_obj *next;
};

/* A piece of a key in a registration. */
struct piece {
    struct standin_context *context;
    uint32_t key, registration;
    uint64_t off;
    struct piece *next;
};

/* Of the process. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct umem *umems;
static struct mlx5dv_devx_obj *objects;
static struct piece *pieces;
static uint32_t n_numbers = 100;

/* ---- umems and registers ---- */

EXPORT struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg(struct ibv_context *context, void *memory,
                                                     size_t bytes, uint32_t access)
{
    struct umem *umem = standin_fails(__func__) ? NULL : calloc(1, sizeof(*umem));
    if (umem == NULL || access != IBV_ACCESS_LOCAL_WRITE) {
        free(umem);
        return NULL;
    }
    umem->context = standin_of(context);
    umem->memory = memory;
    umem->bytes = bytes;
    pthread_mutex_lock(&lock);
    umem->base.umem_id = n_numbers++;
    umem->next = umems;
    umems = umem;
    umem->context->n_objects++;
    pthread_mutex_unlock(&lock);
    return &umem->base;
}

/* Of a dma-buf: here any file. */
EXPORT struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg_ex(struct ibv_context *context,
                                                        struct mlx5dv_devx_umem_in *in)
{
    if (standin_fails(__func__) || in->comp_mask != MLX5DV_UMEM_MASK_DMABUF || in->addr != NULL) {
        return NULL;
    }
    void *memory = mmap(NULL, in->size, PROT_READ | PROT_WRITE, MAP_SHARED, in->dmabuf_fd, 0);
    struct umem *umem =
        memory != MAP_FAILED
            ? (struct umem *)mlx5dv_devx_umem_reg(context, memory, in->size, in->access)
            : NULL;
    if (umem != NULL) {
        umem->is_mapped = true;
    } else if (memory != MAP_FAILED) {
        munmap(memory, in->size);
    }
    return (struct mlx5dv_devx_umem *)umem;
}

EXPORT int mlx5dv_devx_umem_dereg(struct mlx5dv_devx_umem *base)
{
    struct umem *umem = (struct umem *)base, **at = &umems;
    pthread_mutex_lock(&lock);
    while (*at != umem) {
        at = &(*at)->next;
    }
    *at = umem->next;
    umem->context->n_objects--;
    pthread_mutex_unlock(&lock);
    if (umem->is_mapped) {
        munmap(umem->memory, umem->bytes);
    }
    free(umem);
    return 0;
}

/* Where a command's umem has these bytes; NULL: nowhere, or not aligned so. */
static void *in_umem(const struct standin_context *c, uint64_t id, uint64_t off, uint64_t bytes,
                     uint64_t align)
{
    void *found = NULL;
    pthread_mutex_lock(&lock);
    for (const struct umem *umem = umems; umem != NULL; umem = umem->next) {
        if (umem->context == c && umem->base.umem_id == id && off % align == 0 &&
            off <= umem->bytes && bytes <= umem->bytes - off) {
            found = umem->memory + off;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

EXPORT struct mlx5dv_devx_uar *mlx5dv_devx_alloc_uar(struct ibv_context *context, uint32_t flags)
{
    struct standin_context *c = standin_of(context);
    struct mlx5dv_devx_uar *uar = NULL;
    if (!standin_fails(__func__) && flags == MLX5DV_UAR_ALLOC_TYPE_NC) {
        uar = calloc(1, sizeof(*uar) + sizeof(c));
    }
    if (uar != NULL) {
        uint8_t *page = aligned_alloc(PAGE_BYTES, PAGE_BYTES);
        memset(page, 0, PAGE_BYTES);
        *uar =
            (struct mlx5dv_devx_uar){.base_addr = page, .reg_addr = page + 0x800, .page_id = UAR};
        memcpy(uar + 1, &c, sizeof(c)); /* for free_uar */
        pthread_mutex_lock(&c->lock);
        c->page = page;
        c->n_objects++;
        pthread_mutex_unlock(&c->lock);
    }
    return uar;
}

EXPORT void mlx5dv_devx_free_uar(struct mlx5dv_devx_uar *uar)
{
    struct standin_context *c;
    memcpy(&c, uar + 1, sizeof(c));
    pthread_mutex_lock(&c->lock);
    c->page = NULL;
    c->n_objects--;
    pthread_mutex_unlock(&c->lock);
    free(uar->base_addr);
    free(uar);
}

EXPORT int mlx5dv_devx_query_eqn(struct ibv_context *context, uint32_t vector, uint32_t *number)
{
    (void)context;
    *number = EQ;
    return standin_fails(__func__) || vector != 0 ? EIO : 0;
}

EXPORT int mlx5dv_devx_general_cmd(struct ibv_context *context, const void *in, size_t in_bytes,
                                   void *out, size_t out_bytes)
{
    (void)context;
    uint8_t *abilities = (uint8_t *)out + GSH_MLX5_CAP_CONTEXT;
    if (standin_fails(__func__) || in_bytes != 16 || out_bytes != GSH_MLX5_CAP_BYTES ||
        gsh_mlx5_get(in, GSH_MLX5_OPCODE) != GSH_MLX5_QUERY_HCA_CAP) {
        return EINVAL;
    }
    if (gsh_mlx5_get(in, GSH_MLX5_OP_MOD) == GSH_MLX5_CAP_GENERAL) {
        gsh_mlx5_set(abilities, GSH_MLX5_CAP_LOG_LIST, LOG_LIST);
    } else {
        gsh_mlx5_set(abilities, GSH_MLX5_CAP_ROCE_CLOCK, 1);
    }
    return 0;
}

/* ---- objects ---- */

static struct mlx5dv_devx_obj *refuse(struct mlx5dv_devx_obj *object, uint8_t *out)
{
    gsh_mlx5_set(out, GSH_MLX5_OUT_STATUS, BAD);
    errno = EINVAL;
    free(object);
    return NULL;
}

static struct mlx5dv_devx_obj *find_completions(const struct standin_context *c, uint64_t number)
{
    struct mlx5dv_devx_obj *object = objects;
    pthread_mutex_lock(&lock);
    while (object != NULL &&
           (object->context != c || object->kind != COMPLETIONS || object->number != number)) {
        object = object->next;
    }
    pthread_mutex_unlock(&lock);
    return object;
}

static bool create_completions(struct mlx5dv_devx_obj *object, const uint8_t *in)
{
    const uint8_t *context = in + GSH_MLX5_CQ_CONTEXT;
    const uint64_t bytes = sizeof(struct gsh_wq_completion)
                           << gsh_mlx5_get(context, GSH_MLX5_CQC_LOG_SIZE);
    object->kind = COMPLETIONS;
    object->completions = in_umem(object->context, gsh_mlx5_get(in, GSH_MLX5_CQ_UMEM_ID),
                                  gsh_mlx5_get(in, GSH_MLX5_CQ_UMEM_OFFSET), bytes, PAGE_BYTES);
    return gsh_mlx5_get(in, GSH_MLX5_CQ_UMEM_VALID) == 1 && object->completions != NULL &&
           gsh_mlx5_get(context, GSH_MLX5_CQC_RECORD_UMEM) == 1 &&
           in_umem(object->context, gsh_mlx5_get(context, GSH_MLX5_CQC_RECORD_ID),
                   gsh_mlx5_get(context, GSH_MLX5_CQC_RECORD), 8, 8) != NULL &&
           gsh_mlx5_get(context, GSH_MLX5_CQC_UAR) == UAR &&
           gsh_mlx5_get(context, GSH_MLX5_CQC_EQ) == EQ &&
           gsh_mlx5_get(context, GSH_MLX5_CQC_COLLAPSED) == 1 &&
           gsh_mlx5_get(context, GSH_MLX5_CQC_OVERRUN) == 1;
}

static bool fill_queue(struct standin_context *c, struct gsh_model_queue *queue, const uint8_t *in)
{
    const uint8_t *context = in + GSH_MLX5_QP_CONTEXT;
    const struct mlx5dv_devx_obj *completions =
        find_completions(c, gsh_mlx5_get(context, GSH_MLX5_QPC_SEND_CQ));
    uint8_t *record = in_umem(c, gsh_mlx5_get(context, GSH_MLX5_QPC_RECORD_ID),
                              gsh_mlx5_get(context, GSH_MLX5_QPC_RECORD), 8, 8);
    queue->depth = 1u << gsh_mlx5_get(context, GSH_MLX5_QPC_LOG_SEND);
    queue->entries =
        in_umem(c, gsh_mlx5_get(in, GSH_MLX5_QP_UMEM_ID), gsh_mlx5_get(in, GSH_MLX5_QP_UMEM_OFFSET),
                (uint64_t)queue->depth * GSH_WQ_BLOCK, PAGE_BYTES);
    bool is_good = gsh_mlx5_get(in, GSH_MLX5_QP_UMEM_VALID) == 1 && queue->entries != NULL &&
                   gsh_mlx5_get(context, GSH_MLX5_QPC_RECORD_UMEM) == 1 && record != NULL &&
                   completions != NULL && gsh_mlx5_get(context, GSH_MLX5_QPC_KIND) == 0 &&
                   gsh_mlx5_get(context, GSH_MLX5_QPC_PATH_STATE) == GSH_MLX5_PATH_MIGRATED &&
                   gsh_mlx5_get(context, GSH_MLX5_QPC_RECEIVES) == GSH_MLX5_NO_RECEIVES &&
                   gsh_mlx5_get(context, GSH_MLX5_QPC_PD) == GSH_MODEL_DOMAIN &&
                   gsh_mlx5_get(context, GSH_MLX5_QPC_CLOCK) == 1 &&
                   gsh_mlx5_get(context, GSH_MLX5_QPC_UAR) == UAR;
    if (is_good) {
        queue->record = (uint32_t *)(void *)(record + 4);
        queue->completions = completions->completions;
        queue->n_completions = 1;
        queue->copies = aligned_alloc(GSH_WQ_BLOCK, (size_t)queue->depth * GSH_WQ_BLOCK);
        queue->link->domain = GSH_MODEL_DOMAIN;
    }
    return is_good && queue->copies != NULL;
}

static bool create_pair(struct mlx5dv_devx_obj *object, const uint8_t *in)
{
    struct standin_context *c = object->context;
    bool is_made = false;
    object->kind = PAIR;
    pthread_mutex_lock(&c->lock);
    for (uint32_t i = 0; i < STANDIN_QUEUES; i++) {
        struct gsh_model_queue *queue = &c->model.queues[i];
        const bool is_gap =
            c->kind == STANDIN_INFINIBAND && i % 7 == 3; /* its numbers are uneven */
        if (queue->copies == NULL && !is_gap) {
            object->number = queue->number;
            is_made = fill_queue(c, queue, in);
            break;
        }
    }
    pthread_mutex_unlock(&c->lock);
    return is_made;
}

/* Under the context's lock. False: the registration does not have it. */
static bool add_piece(struct standin_context *c, uint32_t key, uint64_t off, const uint8_t *entry)
{
    struct gsh_mlx5_piece p;
    memcpy(&p, entry, sizeof(p));
    const uint32_t registration = be32toh(p.key);
    struct piece *piece = calloc(1, sizeof(*piece));
    if (piece == NULL || gsh_model_bind(c->model.port, key, (void *)(uintptr_t)be64toh(p.address),
                                        off, be32toh(p.bytes)) != GSH_OK) {
        free(piece);
        return false;
    }
    *piece = (struct piece){.context = c, .key = key, .registration = registration, .off = off};
    pthread_mutex_lock(&lock);
    piece->next = pieces;
    pieces = piece;
    pthread_mutex_unlock(&lock);
    return true;
}

/* Under the context's lock. 0 for either: any. */
static void drop_pieces(struct standin_context *c, uint32_t key, uint32_t registration)
{
    pthread_mutex_lock(&lock);
    for (struct piece **at = &pieces; *at != NULL;) {
        struct piece *piece = *at;
        if (piece->context == c && (key == 0 || piece->key == key) &&
            (registration == 0 || piece->registration == registration)) {
            (void)!gsh_model_unbind(c->model.port, piece->key, piece->off);
            *at = piece->next;
            free(piece);
        } else {
            at = &piece->next;
        }
    }
    pthread_mutex_unlock(&lock);
}

void standin_drop_pieces(struct standin_context *c, uint32_t registration)
{
    drop_pieces(c, 0, registration);
}

static uint32_t add_key(struct standin_context *c, const uint8_t *context)
{
    const uint32_t rights = GSH_MODEL_LOCAL_WRITE | GSH_MODEL_REMOTE_WRITE | GSH_MODEL_REMOTE_READ |
                            GSH_MODEL_REMOTE_ATOMIC;
    uint32_t value = gsh_model_add_key(c->model.port, GSH_MODEL_DOMAIN, rights, false);
    if (value != 0) {
        const uint32_t index = value >> 8;
        value = index << 8 | (uint32_t)gsh_mlx5_get(context, GSH_MLX5_KEYC_VARIANT);
        c->model.port->sheet->keys[index - 1].value = value;
    }
    return value;
}

static bool create_key(struct mlx5dv_devx_obj *object, const uint8_t *in, size_t in_bytes)
{
    struct standin_context *c = object->context;
    const uint8_t *context = in + GSH_MLX5_KEY_CONTEXT;
    const uint64_t n = gsh_mlx5_get(in, GSH_MLX5_KEY_LIST_BYTES);
    uint64_t off = 0;
    if (gsh_mlx5_get(context, GSH_MLX5_KEYC_MODE) != GSH_MLX5_KEY_OF_KEYS || n % 4 != 0 ||
        gsh_mlx5_get(context, GSH_MLX5_KEYC_LIST_BYTES) != n ||
        in_bytes != GSH_MLX5_IN_BYTES + n * sizeof(struct gsh_mlx5_piece) ||
        gsh_mlx5_get(context, GSH_MLX5_KEYC_PD) != GSH_MODEL_DOMAIN ||
        gsh_mlx5_get(context, GSH_MLX5_KEYC_QP) != GSH_MLX5_ANY_QP ||
        gsh_mlx5_get(context, GSH_MLX5_KEYC_START) != 0) {
        return false;
    }
    object->kind = KEY;
    pthread_mutex_lock(&c->lock);
    const uint32_t value = add_key(c, context);
    object->number = value;
    bool is_good = value != 0;
    for (uint64_t i = 0; is_good && i < n; i++) {
        struct gsh_mlx5_piece piece;
        const uint8_t *entry = in + GSH_MLX5_IN_BYTES + i * sizeof(piece);
        memcpy(&piece, entry, sizeof(piece));
        if (piece.key != htobe32(MLX5_INVALID_LKEY) && piece.bytes != 0) {
            is_good = add_piece(c, value, off, entry);
        }
        off += be32toh(piece.bytes);
    }
    is_good = is_good && off == gsh_mlx5_get(context, GSH_MLX5_KEYC_BYTES);
    pthread_mutex_unlock(&c->lock);
    return is_good;
}

EXPORT struct mlx5dv_devx_obj *mlx5dv_devx_obj_create(struct ibv_context *context, const void *in,
                                                      size_t in_bytes, void *out, size_t out_bytes)
{
    struct mlx5dv_devx_obj *object = calloc(1, sizeof(*object));
    bool is_made = false;
    if (object == NULL || standin_fails(__func__) || in_bytes < GSH_MLX5_IN_BYTES ||
        out_bytes != GSH_MLX5_OUT_BYTES) {
        return refuse(object, out);
    }
    object->context = standin_of(context);
    pthread_mutex_lock(&lock);
    object->number = n_numbers++;
    pthread_mutex_unlock(&lock);
    switch (gsh_mlx5_get(in, GSH_MLX5_OPCODE)) {
    case GSH_MLX5_CREATE_CQ:
        is_made = create_completions(object, in);
        break;
    case GSH_MLX5_CREATE_QP:
        is_made = create_pair(object, in);
        break;
    case GSH_MLX5_CREATE_MKEY:
        is_made = create_key(object, in, in_bytes);
        break;
    default:
        break;
    }
    if (!is_made) {
        return refuse(object, out);
    }
    gsh_mlx5_set(out, GSH_MLX5_OUT_NUMBER,
                 object->kind == KEY ? object->number >> 8 : object->number);
    pthread_mutex_lock(&lock);
    object->next = objects;
    objects = object;
    object->context->n_objects++;
    pthread_mutex_unlock(&lock);
    return object;
}

EXPORT int mlx5dv_devx_obj_destroy(struct mlx5dv_devx_obj *object)
{
    struct standin_context *c = object->context;
    pthread_mutex_lock(&c->lock);
    if (object->kind == PAIR) {
        struct gsh_model_queue *queue = &c->model.queues[object->number - 1];
        (void)!gsh_model_set_state(queue, GSH_MODEL_RESET);
        queue->pe = -1;
        free(queue->copies);
        queue->copies = NULL;
    } else if (object->kind == KEY) {
        drop_pieces(c, object->number, 0);
        c->model.port->sheet->keys[(object->number >> 8) - 1].value = 0;
    }
    pthread_mutex_unlock(&c->lock);
    pthread_mutex_lock(&lock);
    struct mlx5dv_devx_obj **at = &objects;
    while (*at != object) {
        at = &(*at)->next;
    }
    *at = object->next;
    c->n_objects--;
    pthread_mutex_unlock(&lock);
    free(object);
    return 0;
}

/* ---- states ---- */

static bool has_rights(const uint8_t *context)
{
    return gsh_mlx5_get(context, GSH_MLX5_QPC_MAY_READ) == 1 &&
           gsh_mlx5_get(context, GSH_MLX5_QPC_MAY_WRITE) == 1 &&
           gsh_mlx5_get(context, GSH_MLX5_QPC_MAY_ATOMIC) == 1 &&
           gsh_mlx5_get(context, GSH_MLX5_QPC_ATOMICS) == GSH_MLX5_ATOMICS_TO_8_BYTES;
}

/* The path names the other end as its port's kind needs. */
static bool is_path_good(const struct standin_context *c, const uint8_t *path)
{
    uint8_t mac[6];
    if (c->kind == STANDIN_INFINIBAND) {
        return gsh_mlx5_get(path, GSH_MLX5_PATH_LID) == 9 &&
               gsh_mlx5_get(path, GSH_MLX5_PATH_GRH) == 1;
    }
    standin_mac(path + GSH_MLX5_PATH_GID, mac);
    return gsh_mlx5_get(path, GSH_MLX5_PATH_MAC_HIGH) == ((uint64_t)mac[0] << 8 | mac[1]) &&
           gsh_mlx5_get(path, GSH_MLX5_PATH_MAC_LOW) ==
               ((uint64_t)mac[2] << 24 | mac[3] << 16 | mac[4] << 8 | mac[5]) &&
           gsh_mlx5_get(path, GSH_MLX5_PATH_GID_INDEX) == 2 &&
           gsh_mlx5_get(path, GSH_MLX5_PATH_GRH) == 0;
}

/* STANDIN_PATH's number i; -1: it has none. */
static long wanted(unsigned i)
{
    const char *text = getenv("STANDIN_PATH");
    for (; text != NULL && i > 0; i--) {
        text = strchr(text, ',');
        text = text != NULL ? text + 1 : NULL;
    }
    return text != NULL ? strtol(text, NULL, 10) : -1;
}

static bool is_as_wanted(unsigned i, const uint8_t *context, uint32_t field, unsigned shift)
{
    return wanted(i) < 0 || gsh_mlx5_get(context, field) == (uint64_t)wanted(i) >> shift;
}

/* Class and level, in the places of the port's kind. */
static bool is_class_good(const struct standin_context *c, const uint8_t *path)
{
    const bool is_ethernet = c->kind == STANDIN_ROCE;
    return is_as_wanted(0, path, GSH_MLX5_PATH_CLASS, 0) &&
           (!is_ethernet || is_as_wanted(0, path, GSH_MLX5_PATH_DSCP, 2)) &&
           is_as_wanted(1, path, is_ethernet ? GSH_MLX5_PATH_PRIORITY : GSH_MLX5_PATH_LEVEL, 0);
}

static bool join(struct standin_context *c, struct gsh_model_queue *queue, const uint8_t *context)
{
    const uint8_t *path = context + GSH_MLX5_PATH;
    const int peer = standin_find_peer(c, path + GSH_MLX5_PATH_GID);
    if (peer < 0 || !is_path_good(c, path) || !is_class_good(c, path) || !has_rights(context) ||
        gsh_mlx5_get(context, GSH_MLX5_QPC_MTU) != IBV_MTU_4096 ||
        gsh_mlx5_get(context, GSH_MLX5_QPC_LOG_MESSAGE) != 30) {
        return false;
    }
    queue->link->pe = standin_identity(&c->peers[peer]);
    queue->link->peer_number = (uint32_t)gsh_mlx5_get(context, GSH_MLX5_QPC_REMOTE);
    c->bells[queue->number - 1] = 0;
    c->joined[queue->number - 1] = peer;
    return gsh_model_set_state(queue, GSH_MODEL_TO_RECEIVE) == GSH_OK;
}

static bool change(struct standin_context *c, struct gsh_model_queue *queue, const uint8_t *in)
{
    const uint8_t *context = in + GSH_MLX5_QP_CONTEXT, *path = context + GSH_MLX5_PATH;
    switch (gsh_mlx5_get(in, GSH_MLX5_OPCODE)) {
    case GSH_MLX5_RESET_TO_INIT:
        return has_rights(context) && gsh_mlx5_get(path, GSH_MLX5_PATH_PORT) == 1 &&
               gsh_model_set_state(queue, GSH_MODEL_INIT) == GSH_OK;
    case GSH_MLX5_INIT_TO_RECEIVE:
        return join(c, queue, context);
    case GSH_MLX5_RECEIVE_TO_SEND:
        if (gsh_mlx5_get(path, GSH_MLX5_PATH_TIMEOUT) == 0 ||
            !is_as_wanted(2, context, GSH_MLX5_QPC_RETRY, 0) ||
            !is_as_wanted(3, path, GSH_MLX5_PATH_TIMEOUT, 0) ||
            gsh_model_set_state(queue, GSH_MODEL_TO_SEND) != GSH_OK) {
            return false;
        }
        queue->pe = c->joined[queue->number - 1];
        return true;
    default:
        return false;
    }
}

EXPORT int mlx5dv_devx_obj_modify(struct mlx5dv_devx_obj *object, const void *in, size_t in_bytes,
                                  void *out, size_t out_bytes)
{
    struct standin_context *c = object->context;
    if (standin_fails(__func__) || in_bytes != GSH_MLX5_IN_BYTES ||
        out_bytes != GSH_MLX5_OUT_BYTES || object->kind != PAIR ||
        gsh_mlx5_get(in, GSH_MLX5_QP_NUMBER) != object->number) {
        gsh_mlx5_set(out, GSH_MLX5_OUT_STATUS, BAD);
        return EINVAL;
    }
    pthread_mutex_lock(&c->lock);
    const bool is_good = change(c, &c->model.queues[object->number - 1], in);
    pthread_mutex_unlock(&c->lock);
    gsh_mlx5_set(out, GSH_MLX5_OUT_STATUS, is_good ? 0 : BAD);
    return is_good ? 0 : EINVAL;
}
