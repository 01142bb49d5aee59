/* SPDX-License-Identifier: Apache-2.0
 * See create.h: a model adapter's life, and its table. */
#include "nic/model/create.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/atomic.h"
#include "base/process.h"
#include "base/util.h"
#include "nic/model/model.h"
#include "nic/model/queue.h"
#include "nic/model/thread.h"

#define PAGE_BYTES 4096u

static bool model_is_idle(struct gsh_adapter *a, uint32_t first, uint32_t n)
{
    const struct gsh_model *model = gsh_model_of(a);
    for (uint32_t i = first; i < first + n; i++) {
        const struct gsh_model_queue *queue = &model->queues[i];
        uint64_t completed = gsh_load_acquire_u64(&queue->completed);
        uint32_t end = gsh_model_rung_index(queue);
        if (((end - (uint32_t)completed) & 0xffff) != 0) {
            return false;
        }
    }
    return true;
}

/* ---- queues, keys and peers ---- */

/* The memory of the queues: all doorbells, all completions; then, or in the device, all records,
 * and the entries. */
static uint64_t records_off(const struct gsh_adapter_options *o)
{
    return o->in_device ? 0 : (uint64_t)o->n_queues * (8 + sizeof(struct gsh_wq_completion));
}

static uint64_t entries_off(const struct gsh_adapter_options *o)
{
    return gsh_align_up(records_off(o) + 8ull * o->n_queues, PAGE_BYTES);
}

static uint64_t entries_end(const struct gsh_adapter_options *o)
{
    return gsh_align_up(entries_off(o) + (uint64_t)o->n_queues * o->depth * GSH_WQ_BLOCK,
                        PAGE_BYTES);
}

/* Where entries and records are. */
static uint8_t *queue_memory(const struct gsh_adapter *a)
{
    return a->options.in_device ? a->device_memory : a->memory;
}

static struct gsh_adapter_site site_of(const struct gsh_adapter_options *o, uint32_t index)
{
    const uint64_t n = o->n_queues;
    return (struct gsh_adapter_site){
        .doorbell = 8ull * index,
        .record = records_off(o) + 8ull * index + 4,
        .completion = 8 * n + sizeof(struct gsh_wq_completion) * (uint64_t)index,
        .entries = entries_off(o) + (uint64_t)index * o->depth * GSH_WQ_BLOCK,
        .number = index + 1,
    };
}

static enum gsh_result model_create_queue(struct gsh_adapter *a, uint32_t index,
                                          struct gsh_adapter_site *out)
{
    struct gsh_model *model = gsh_model_of(a);
    struct gsh_model_queue *queue = &model->queues[index];
    uint8_t *memory = a->memory;
    queue->copies = aligned_alloc(GSH_WQ_BLOCK, (size_t)a->options.depth * GSH_WQ_BLOCK);
    if (queue->copies == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "the model NIC: no memory for a queue of %u blocks",
                        a->options.depth);
    }
    *out = site_of(&a->options, index);
    out->record = queue->record != NULL ? out->record : GSH_ADAPTER_NO_RECORD;
    queue->entries = (struct gsh_wq_block *)(void *)(queue_memory(a) + out->entries);
    queue->completions = (struct gsh_wq_completion *)(void *)(memory + out->completion);
    queue->completions[0].op_own = GSH_WQ_INVALID << 4;
    queue->link->domain = GSH_MODEL_DOMAIN;
    return gsh_model_set_state(queue, GSH_MODEL_INIT);
}

static enum gsh_result model_connect_queue(struct gsh_adapter *a, uint32_t index, int pe,
                                           uint32_t its_index, uint32_t its_number)
{
    (void)its_number; /* it follows from the index */
    struct gsh_model_queue *queue = &gsh_model_of(a)->queues[index];
    queue->link->pe = pe;
    queue->link->peer_number = its_index + 1;
    enum gsh_result r = gsh_model_set_state(queue, GSH_MODEL_TO_RECEIVE);
    if (r == GSH_OK) {
        r = gsh_model_set_state(queue, GSH_MODEL_TO_SEND);
    }
    queue->pe = r == GSH_OK ? pe : queue->pe;
    return r;
}

static enum gsh_result model_address(struct gsh_adapter *a, const void **blob, size_t *bytes)
{
    *blob = &gsh_model_of(a)->address;
    *bytes = sizeof(gsh_model_of(a)->address);
    return GSH_OK;
}

static enum gsh_result model_set_peer(struct gsh_adapter *a, int pe, const void *blob, size_t bytes)
{
    struct gsh_model_peer *peer = &gsh_model_of(a)->peers[pe];
    struct gsh_model_address address;
    if (bytes != sizeof(address)) {
        return gsh_note(GSH_ERR_ARG, "the model NIC: PE %d has another kind of NIC", pe);
    }
    memcpy(&address, blob, sizeof(address));
    peer->key = address.key;
    peer->is_known = true;
    return gsh_model_view_open(&peer->view, pe, &address);
}

static uint32_t model_remote_key(struct gsh_adapter *a, int pe)
{
    return gsh_model_of(a)->peers[pe].key;
}

static enum gsh_result model_add_region(struct gsh_adapter *a, void *memory, uint64_t off,
                                        uint64_t bytes)
{
    return gsh_model_bind(gsh_model_of(a)->port, gsh_model_of(a)->heap_key, memory, off, bytes);
}

static enum gsh_result model_remove_region(struct gsh_adapter *a, uint64_t off)
{
    return gsh_model_unbind(gsh_model_of(a)->port, gsh_model_of(a)->heap_key, off);
}

/* ---- making and ending ---- */

static void model_destroy(struct gsh_adapter *a)
{
    struct gsh_model *model = gsh_model_of(a);
    gsh_model_thread_stop(model);
    if (model->port != NULL) {
        gsh_model_port_close(model->port);
    }
    for (int pe = 0; model->peers != NULL && pe < a->options.n_pes; pe++) {
        gsh_model_view_close(&model->peers[pe].view);
    }
    for (uint32_t i = 0; model->queues != NULL && i < a->options.n_queues; i++) {
        free(model->queues[i].copies);
    }
    if (a->memory != NULL) {
        munmap(a->memory, a->memory_bytes);
    }
    if (a->device_memory != NULL) {
        a->options.release(a->options.context, a->device_memory);
    }
    gsh_model_thread_destroy(model);
    gsh_model_port_release(model->port);
    free(model->peers);
    free(model->queues);
    free(model->active);
    free(model);
}

static enum gsh_result model_start(struct gsh_adapter *a, bool rings_for_kernels)
{
    (void)rings_for_kernels; /* it has no registers */
    return gsh_model_thread_start(gsh_model_of(a));
}

static void model_help(struct gsh_adapter *a)
{
    gsh_model_thread_help(gsh_model_of(a));
}

static const struct gsh_adapter_ops model_ops = {
    .name = "model",
    .address = model_address,
    .set_peer = model_set_peer,
    .remote_key = model_remote_key,
    .create_queue = model_create_queue,
    .connect_queue = model_connect_queue,
    .add_region = model_add_region,
    .remove_region = model_remove_region,
    .start = model_start,
    .is_idle = model_is_idle,
    .help = model_help,
    .destroy = model_destroy,
};

/* Each fault is of a PE that there is. */
static enum gsh_result check_faults(const struct gsh_model_settings *s, int n_pes)
{
    const int last =
        (int)gsh_max_u64((uint64_t)(s->lose_pe + 1),
                         gsh_max_u64((uint64_t)(s->deny_pe + 1), (uint64_t)(s->break_pe + 1))) -
        1;
    if (last >= n_pes) {
        return gsh_note(GSH_ERR_ARG,
                        "GSHMEM_NIC_MODEL: there is no PE %d for a fault: the job has PEs 0 to %d",
                        last, n_pes - 1);
    }
    return GSH_OK;
}

static bool allocate(struct gsh_model *model)
{
    const struct gsh_adapter_options *o = &model->base.options;
    const uint64_t host_bytes = (uint64_t)o->n_queues * (8 + sizeof(struct gsh_wq_completion));
    const size_t bytes = o->in_device ? gsh_align_up(host_bytes, PAGE_BYTES) : entries_end(o);
    model->peers = calloc((size_t)o->n_pes, sizeof(*model->peers));
    model->queues = calloc(o->n_queues, sizeof(*model->queues));
    model->active = calloc(o->n_queues, sizeof(*model->active));
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) {
        model->base.memory = p;
        model->base.memory_bytes = bytes;
    }
    return model->peers != NULL && model->queues != NULL && model->active != NULL &&
           p != MAP_FAILED;
}

static void init_queue(struct gsh_model *model, uint32_t index)
{
    struct gsh_model_queue *queue = &model->queues[index];
    struct gsh_adapter_site site = site_of(&model->base.options, index);
    uint8_t *memory = model->base.memory;
    queue->number = site.number;
    queue->depth = model->base.options.depth;
    queue->pe = -1;
    queue->link = &model->port->sheet->links[index];
    if (model->settings.has_records) {
        queue->record = (uint32_t *)(void *)(queue_memory(&model->base) + site.record);
    }
    queue->doorbell = (uint64_t *)(void *)(memory + site.doorbell);
    queue->n_completions = 1;
    queue->deferred = UINT64_MAX;
}

static bool make_keys(struct gsh_model *model)
{
    const uint32_t remote =
        GSH_MODEL_REMOTE_WRITE | GSH_MODEL_REMOTE_READ | GSH_MODEL_REMOTE_ATOMIC;
    model->everything_key =
        gsh_model_add_key(model->port, GSH_MODEL_DOMAIN, GSH_MODEL_LOCAL_WRITE, true);
    model->heap_key =
        gsh_model_add_key(model->port, GSH_MODEL_DOMAIN, GSH_MODEL_LOCAL_WRITE | remote, false);
    /* Of a device it reaches what it is told of, and has no atomics there. */
    const bool is_host = model->base.options.copy == NULL;
    model->base.local_key = is_host ? model->everything_key : model->heap_key;
    model->base.flags = (is_host ? GSH_NIC_ALL_MEMORY : 0) |
                        (is_host && model->settings.has_amos ? GSH_NIC_AMOS : 0);
    model->own = (struct gsh_model_view){
        .port = model->port, .sheet = model->port->sheet, .n_links = model->base.options.n_queues};
    model->address = (struct gsh_model_address){.process = gsh_process_id(),
                                                .id = model->port->id,
                                                .key = model->heap_key,
                                                .n_links = model->base.options.n_queues,
                                                .pid = (int32_t)getpid(),
                                                .fd = model->port->fd};
    return model->address.process != 0;
}

enum gsh_result gsh_model_create(const struct gsh_adapter_options *options,
                                 struct gsh_adapter **out)
{
    struct gsh_model *model = calloc(1, sizeof(*model));
    if (model == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for the model NIC");
    }
    model->base.ops = &model_ops;
    model->base.options = *options;
    gsh_copy_name(model->base.name, sizeof(model->base.name), model_ops.name);
    model->base.reads_cuda = options->copy != NULL;
    enum gsh_result r = gsh_model_read_settings(options->settings, &model->settings);
    r = r == GSH_OK ? check_faults(&model->settings, options->n_pes) : r;
    if (r == GSH_OK && options->copy != NULL && !options->is_one_process) {
        r = gsh_note(GSH_ERR_UNSUPPORTED,
                     "the model NIC reaches GPUs only of PEs that are threads of one process");
    }
    /* A GPU would await each record on its way to the host's memory. */
    model->settings.has_records = model->settings.has_records && options->copy == NULL;
    model->random = model->settings.seed * 1000003u + (uint64_t)options->my_pe;
    if (r == GSH_OK && !allocate(model)) {
        r = gsh_note(GSH_ERR_NOMEM, "no memory for the model NIC: %u queues of %u blocks",
                     options->n_queues, options->depth);
    }
    if (r == GSH_OK && options->in_device) {
        r = options->allocate(options->context, entries_end(options), &model->base.device_memory);
    }
    if (r == GSH_OK) {
        r = gsh_model_thread_create(model);
    }
    if (r == GSH_OK) {
        model->port = gsh_model_port_create(options->n_queues, options->is_one_process);
        r = model->port != NULL ? GSH_OK : GSH_ERR_NOMEM;
    }
    if (r == GSH_OK) {
        model->port->copy = options->copy;
        model->port->context = options->context;
    }
    for (uint32_t i = 0; r == GSH_OK && i < options->n_queues; i++) {
        init_queue(model, i);
    }
    if (r == GSH_OK && !make_keys(model)) {
        r = gsh_note(GSH_ERR_SYSTEM, "the model NIC: no random numbers");
    }
    if (r != GSH_OK) {
        model_destroy(&model->base);
        return r;
    }
    *out = &model->base;
    return GSH_OK;
}
