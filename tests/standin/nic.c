/* SPDX-License-Identifier: Apache-2.0
 * See standin.h: a model adapter for each opened device, whose thread looks at the register of
 * doorbells. */
#include "tests/standin/standin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/atomic.h"
#include "base/process.h"
#include "nic/model/round.h"

#define IDLE_NS 20000

static pthread_mutex_t fail_lock = PTHREAD_MUTEX_INITIALIZER;

bool standin_fails(const char *function)
{
    static char last[64]; /* under fail_lock; its calls are counted from when it was set */
    static unsigned n_calls;
    const char *text = getenv("STANDIN_FAIL");
    const size_t length = strlen(function);
    bool fails = false;
    pthread_mutex_lock(&fail_lock);
    if (strcmp(last, text != NULL ? text : "") != 0) {
        snprintf(last, sizeof(last), "%s", text != NULL ? text : "");
        n_calls = 0;
    }
    if (strncmp(last, function, length) == 0 && last[length] == ':') {
        fails = ++n_calls == strtoul(last + length + 1, NULL, 10);
    }
    pthread_mutex_unlock(&fail_lock);
    if (fails) {
        errno = EIO;
    }
    return fails;
}

/* ---- addresses ---- */

/* A GID: fd, the kind, process, descriptor of the sheet; number of the port, and of the kind. */
static void make_gid(struct standin_context *c)
{
    const struct gsh_model_address *a = &c->model.address;
    const uint32_t pid = (uint32_t)a->pid, id = (uint32_t)a->id;
    const uint16_t fd = (uint16_t)a->fd;
    c->gid.raw[0] = 0xfd;
    c->gid.raw[1] = (uint8_t)c->kind;
    memcpy(&c->gid.raw[2], &pid, sizeof(pid));
    memcpy(&c->gid.raw[6], &fd, sizeof(fd));
    memcpy(&c->gid.raw[8], &id, sizeof(id));
}

int32_t standin_identity(const union ibv_gid *gid)
{
    uint32_t pid, id;
    memcpy(&pid, &gid->raw[2], sizeof(pid));
    memcpy(&id, &gid->raw[8], sizeof(id));
    return (int32_t)((pid << 8 ^ id) & INT32_MAX);
}

void standin_mac(const uint8_t *gid, uint8_t *mac)
{
    mac[0] = 2;
    memcpy(mac + 1, gid + 2, 4);
    mac[5] = gid[8];
}

int standin_find_peer(struct standin_context *c, const uint8_t *gid)
{
    struct gsh_model_address address = {.n_links = STANDIN_QUEUES};
    uint32_t pid, id;
    uint16_t fd;
    for (unsigned i = 0; i < c->n_peers; i++) {
        if (memcmp(c->peers[i].raw, gid, 16) == 0) {
            return (int)i;
        }
    }
    if (c->n_peers == STANDIN_PEERS || gid[0] != 0xfd || gid[1] != c->kind) {
        return -1;
    }
    memcpy(&pid, gid + 2, sizeof(pid));
    memcpy(&fd, gid + 6, sizeof(fd));
    memcpy(&id, gid + 8, sizeof(id));
    address.pid = (int32_t)pid;
    address.fd = fd;
    address.id = id;
    address.process = address.pid == getpid() ? gsh_process_id() : 0;
    struct gsh_model_peer *peer = &c->model.peers[c->n_peers];
    if (gsh_model_view_open(&peer->view, (int)c->n_peers, &address) != GSH_OK) {
        return -1;
    }
    peer->is_known = true;
    memcpy(c->peers[c->n_peers].raw, gid, 16);
    return (int)c->n_peers++;
}

/* ---- the thread ---- */

static void look_at_records(struct standin_context *c)
{
    for (uint32_t i = 0; i < STANDIN_QUEUES; i++) {
        struct gsh_model_queue *queue = &c->model.queues[i];
        if (queue->pe >= 0) {
            uint32_t end = gsh_wq_be32(__atomic_load_n(queue->record, __ATOMIC_ACQUIRE));
            *queue->doorbell = gsh_wq_doorbell(end, queue->number);
        }
    }
}

static unsigned look(struct standin_context *c)
{
    unsigned n = 0;
    pthread_mutex_lock(&c->lock);
    if (c->page != NULL) {
        const uint64_t *bell = (const uint64_t *)(const void *)(c->page + 0x800);
        /* acquire: pairs with the fence of whoever rings */
        const uint64_t now = __atomic_load_n(bell, __ATOMIC_ACQUIRE);
        if (now != c->seen_bell) {
            c->seen_bell = now;
            look_at_records(c);
        }
        n = gsh_model_round(&c->model);
    }
    pthread_mutex_unlock(&c->lock);
    return n;
}

static void *thread_main(void *context)
{
    struct standin_context *c = context;
    const struct timespec nap = {.tv_nsec = IDLE_NS};
    while (gsh_load_acquire_u32(&c->is_stopping) == 0) {
        if (look(c) == 0) {
            nanosleep(&nap, NULL);
        }
    }
    return NULL;
}

/* Failures of entries the plug-in finds in the completions; broken rules nobody would. */
static void on_fail(void *context, int pe, bool is_silent, const char *text)
{
    static const char broken[] = "the model NIC: ";
    (void)context;
    (void)pe;
    (void)is_silent;
    if (strncmp(text, broken, sizeof(broken) - 1) == 0) {
        fprintf(stderr, "stand-in: %s\n", text);
        abort();
    }
}

/* ---- making and ending ---- */

static bool make_model(struct standin_context *c)
{
    struct gsh_model *model = &c->model;
    const char *settings = getenv("STANDIN_MODEL");
    model->base.options = (struct gsh_adapter_options){
        .n_pes = STANDIN_PEERS, .n_queues = STANDIN_QUEUES, .context = c, .fail = on_fail};
    model->peers = calloc(STANDIN_PEERS, sizeof(*model->peers));
    model->queues = calloc(STANDIN_QUEUES, sizeof(*model->queues));
    model->active = calloc(STANDIN_QUEUES, sizeof(*model->active));
    model->port = gsh_model_port_create(STANDIN_QUEUES, false);
    if (model->peers == NULL || model->queues == NULL || model->active == NULL ||
        model->port == NULL ||
        gsh_model_read_settings(settings != NULL ? settings : "", &model->settings) != GSH_OK) {
        return false;
    }
    for (uint32_t i = 0; i < STANDIN_QUEUES; i++) {
        model->queues[i] = (struct gsh_model_queue){.pe = -1,
                                                    .number = i + 1,
                                                    .link = &model->port->sheet->links[i],
                                                    .doorbell = &c->bells[i],
                                                    .deferred = UINT64_MAX};
    }
    model->own = (struct gsh_model_view){
        .port = model->port, .sheet = model->port->sheet, .n_links = STANDIN_QUEUES};
    model->address = (struct gsh_model_address){
        .id = model->port->id, .pid = (int32_t)getpid(), .fd = model->port->fd};
    make_gid(c);
    model->base.options.my_pe = standin_identity(&c->gid);
    model->random = model->settings.seed * 1000003u + model->port->id;
    return true;
}

static void free_model(struct standin_context *c)
{
    struct gsh_model *model = &c->model;
    if (model->port != NULL) {
        gsh_model_port_close(model->port);
    }
    for (unsigned i = 0; i < c->n_peers; i++) {
        gsh_model_view_close(&model->peers[i].view);
    }
    gsh_model_port_release(model->port);
    free(model->peers);
    free(model->queues);
    free(model->active);
}

struct standin_context *standin_open(enum standin_device_kind kind)
{
    struct standin_context *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return NULL;
    }
    c->kind = kind;
    pthread_mutex_init(&c->lock, NULL);
    if (!make_model(c) || pthread_create(&c->thread, NULL, thread_main, c) != 0) {
        free_model(c);
        free(c);
        return NULL;
    }
    return c;
}

unsigned standin_close(struct standin_context *c)
{
    gsh_store_release_u32(&c->is_stopping, 1);
    pthread_join(c->thread, NULL);
    unsigned n = c->n_objects;
    free_model(c);
    pthread_mutex_destroy(&c->lock);
    free(c);
    return n;
}
