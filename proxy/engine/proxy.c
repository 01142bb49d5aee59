/* SPDX-License-Identifier: Apache-2.0
 * The proxy as its users see it: making and ending it, connections and memory. Requests of host
 * threads are host.c's. */
#include "proxy/proxy.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/util.h"
#include "proxy/engine/drop.h"
#include "proxy/engine/failure.h"
#include "proxy/engine/inbox.h"
#include "proxy/engine/learn.h"
#include "proxy/engine/outbox.h"
#include "proxy/engine/rings.h"
#include "proxy/engine/round.h"
#include "proxy/engine/spin.h"
#include "proxy/engine/stage.h"
#include "proxy/engine/thread.h"

/* How long destroy waits for messages to leave. */
#define CLOSE_NS 1000000000u

/* Stands for the key of a region that the network does not reach. */
static const uint8_t no_key[1];

/* ---- making and ending ---- */

static enum gsh_result create_transport(struct gsh_proxy *proxy)
{
    const struct gsh_proxy_options *o = &proxy->options;
    struct gsh_transport_options options = {
        .my_pe = o->my_pe,
        .n_pes = o->n_pes,
        .name = o->transport,
        .plugin = o->plugin,
        .timeout_ns = o->timeout_ns,
        .loop_seed = o->loop_seed,
        .events = {.context = proxy,
                   .message = gsh_inbox_arrived,
                   .lost = gsh_engine_lost,
                   .learn = o->look_up != NULL ? gsh_learn_peer : NULL,
                   .learn_region = o->look_up != NULL ? gsh_learn_region : NULL}};
    memcpy(options.key, o->key, sizeof(options.key));
    if (strcmp(o->transport, "auto") == 0) {
        options.name = o->is_one_process ? "loop" : "ucx";
    }
    enum gsh_result r =
        strcmp(options.name, "loop") == 0 ? gsh_transport_loop_create(&options, &proxy->transport)
        : strcmp(options.name, "ucx") == 0
            ? gsh_transport_ucx_create(&options, &proxy->transport)
            : gsh_note(GSH_ERR_ARG, "transport \"%s\" is none of auto, ucx, loop", o->transport);
    explicit_bzero(options.key, sizeof(options.key));
    return r;
}

static enum gsh_result build(struct gsh_proxy *proxy)
{
    proxy->peers[GSH_CONTEXT_DEFAULT] =
        calloc((size_t)proxy->options.n_pes, sizeof(*proxy->peers[0]));
    proxy->losses = calloc((size_t)proxy->options.n_pes, sizeof(*proxy->losses));
    if (proxy->peers[GSH_CONTEXT_DEFAULT] == NULL || proxy->losses == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for %d far PEs", proxy->options.n_pes);
    }
    enum gsh_result r = gsh_thread_create_event(proxy);
    if (r == GSH_OK) {
        r = create_transport(proxy);
    }
    if (r != GSH_OK) {
        return r;
    }
    proxy->data_max = proxy->transport->ops->message_max - sizeof(struct gsh_message);
    gsh_pool_init(&proxy->tasks, sizeof(struct gsh_task), 64);
    gsh_outbox_init(proxy);
    gsh_pool_init(&proxy->stage_outs, sizeof(struct gsh_stage_out), 32);
    gsh_pool_init(&proxy->stage_ins, sizeof(struct gsh_stage_in), 32);
    return GSH_OK;
}

enum gsh_result gsh_proxy_create(const struct gsh_proxy_options *options, struct gsh_proxy **out)
{
    struct gsh_proxy *proxy = calloc(1, sizeof(*proxy));
    if (proxy == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for the proxy");
    }
    proxy->options = *options;
    proxy->event_fd = -1;
    proxy->lost_pe = -1;
    gsh_link_init(&proxy->active);
    gsh_link_init(&proxy->waiting);
    gsh_link_init(&proxy->acking);
    for (gsh_context ctx = 0; ctx < GSH_CONTEXTS; ctx++) {
        gsh_link_init(&proxy->in_flight[ctx]);
    }
    gsh_stage_init(&proxy->stage);
    enum gsh_result r = build(proxy);
    if (r != GSH_OK) {
        gsh_proxy_destroy(&proxy);
        return r;
    }
    *out = proxy;
    return GSH_OK;
}

/* Lets messages that this PE has sent leave; if they cannot, reports no error. */
static void close_down(struct gsh_proxy *proxy)
{
    uint64_t start_ns = gsh_now_ns();
    unsigned backoff = 0;
    gsh_lock_take(&proxy->lock);
    proxy->is_closing = true;
    while (proxy->n_outs > 0 && proxy->failure == GSH_OK && gsh_now_ns() - start_ns < CLOSE_NS) {
        gsh_engine_round(proxy, 1);
        gsh_spin(&backoff);
    }
    gsh_lock_give(&proxy->lock);
}

void gsh_proxy_destroy(struct gsh_proxy **handle)
{
    struct gsh_proxy *proxy = *handle;
    if (proxy == NULL) {
        return;
    }
    *handle = NULL;
    gsh_thread_stop(proxy);
    if (proxy->transport != NULL) {
        close_down(proxy);
        gsh_stage_destroy(proxy);
        proxy->transport->ops->destroy(proxy->transport);
    }
    gsh_thread_destroy_event(proxy);
    gsh_rings_destroy(proxy);
    gsh_mailbox_finish(&proxy->mailbox);
    gsh_outstanding_finish(&proxy->asked);
    gsh_learn_finish(proxy);
    free(proxy->apart);
    free(proxy->losses);
    for (gsh_context ctx = 0; ctx < GSH_CONTEXTS; ctx++) {
        for (int pe = 0; proxy->peers[ctx] != NULL && pe < proxy->options.n_pes; pe++) {
            free(proxy->peers[ctx][pe]);
        }
        free(proxy->peers[ctx]);
    }
    gsh_pool_empty(&proxy->tasks);
    gsh_pool_empty(&proxy->small_outs);
    gsh_pool_empty(&proxy->large_outs);
    gsh_pool_empty(&proxy->stage_outs);
    gsh_pool_empty(&proxy->stage_ins);
    explicit_bzero(proxy->options.key, sizeof(proxy->options.key));
    free(proxy);
}

enum gsh_result gsh_proxy_start(struct gsh_proxy *proxy)
{
    return gsh_thread_start(proxy);
}

static enum gsh_result affinity_result(int error)
{
    return error == 0 ? GSH_OK : gsh_note(GSH_ERR_SYSTEM, "%s", strerror(error));
}

enum gsh_result gsh_proxy_get_cpus(const struct gsh_proxy *proxy, void *mask, size_t bytes)
{
    return affinity_result(pthread_getaffinity_np(proxy->thread, bytes, mask));
}

enum gsh_result gsh_proxy_set_cpus(struct gsh_proxy *proxy, const void *mask, size_t bytes)
{
    return affinity_result(pthread_setaffinity_np(proxy->thread, bytes, mask));
}

const char *gsh_proxy_transport_name(const struct gsh_proxy *proxy)
{
    return proxy->transport->ops->name;
}

const struct gsh_ring_wake *gsh_proxy_ring_wake(struct gsh_proxy *proxy)
{
    return &proxy->wake;
}

/* ---- losses ---- */

void gsh_proxy_lose(struct gsh_proxy *proxy, int pe)
{
    gsh_lock_take(&proxy->lock);
    gsh_drop_peer(proxy, pe);
    gsh_lock_give(&proxy->lock);
    gsh_thread_wake(proxy); /* the transport has operations to end */
}

void gsh_proxy_stop(struct gsh_proxy *proxy)
{
    gsh_lock_take(&proxy->lock);
    if (proxy->failure == GSH_OK) {
        proxy->failure = GSH_ERR_PEER;
    }
    gsh_lock_give(&proxy->lock);
}

uint64_t gsh_proxy_n_dropped(const struct gsh_proxy *proxy)
{
    return __atomic_load_n(&proxy->n_dropped, __ATOMIC_RELAXED);
}

struct gsh_proxy_sent gsh_proxy_sent(const struct gsh_proxy *proxy)
{
    return (struct gsh_proxy_sent){.messages =
                                       __atomic_load_n(&proxy->sent.messages, __ATOMIC_RELAXED),
                                   .bytes = __atomic_load_n(&proxy->sent.bytes, __ATOMIC_RELAXED)};
}

void gsh_proxy_await_calls(struct gsh_proxy *proxy)
{
    gsh_lock_take(&proxy->lock);
    gsh_lock_give(&proxy->lock);
}

/* ---- connections and memory ---- */

enum gsh_result gsh_proxy_address(struct gsh_proxy *proxy, const void **blob, size_t *bytes)
{
    gsh_lock_take(&proxy->lock);
    enum gsh_result r = proxy->transport->ops->address(proxy->transport, blob, bytes);
    gsh_lock_give(&proxy->lock);
    return r;
}

enum gsh_result gsh_proxy_set_peer(struct gsh_proxy *proxy, int pe, const void *blob, size_t bytes)
{
    gsh_lock_take(&proxy->lock);
    enum gsh_result r = proxy->transport->ops->set_peer(proxy->transport, pe, blob, bytes);
    gsh_lock_give(&proxy->lock);
    return r;
}

bool gsh_proxy_learns_late(const struct gsh_proxy *proxy)
{
    return proxy->options.look_up != NULL && proxy->transport->ops->learns_late;
}

static enum gsh_result set_memory(struct gsh_proxy *proxy, const struct gsh_proxy_memory *memory,
                                  void *heap_base)
{
    bool is_reached = memory->is_host || proxy->transport->reads_cuda;
    bool is_always = proxy->options.stages_always && memory->copy_stream_ops != NULL;
    if (!memory->is_host && memory->copy_stream_ops == NULL) {
        return gsh_fail(GSH_ERR_ARG, "no way to the memory");
    }
    gsh_stage_destroy(proxy); /* of a set-up that failed */
    proxy->memory = *memory;
    proxy->heap_base = heap_base;
    proxy->is_native = is_reached && !is_always;
    enum gsh_result r = GSH_OK;
    if (is_always || !memory->is_host) {
        r = gsh_stage_create(proxy);
    }
    proxy->has_memory = r == GSH_OK;
    return r;
}

enum gsh_result gsh_proxy_set_memory(struct gsh_proxy *proxy, const struct gsh_proxy_memory *memory,
                                     void *heap_base)
{
    gsh_lock_take(&proxy->lock);
    enum gsh_result r = set_memory(proxy, memory, heap_base);
    gsh_lock_give(&proxy->lock);
    return r;
}

void gsh_proxy_forget_copy_streams(struct gsh_proxy *proxy)
{
    gsh_lock_take(&proxy->lock);
    if (proxy->stage.ops != NULL) {
        gsh_stage_destroy(proxy);
        proxy->has_memory = false;
    }
    gsh_lock_give(&proxy->lock);
}

static enum gsh_result note_region(struct gsh_proxy *proxy, uint64_t off, uint64_t bytes)
{
    if (off == proxy->heap_bytes) {
        proxy->heap_bytes += bytes;
        return GSH_OK;
    }
    const size_t n = proxy->n_apart + 1;
    if (!gsh_array_reserve(&proxy->apart, &proxy->apart_room, n, sizeof(*proxy->apart))) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for a list of %zu regions", n);
    }
    proxy->apart[proxy->n_apart++] = (struct gsh_proxy_apart){off, bytes};
    return GSH_OK;
}

static void forget_region(struct gsh_proxy *proxy, uint64_t off)
{
    for (size_t i = 0; i < proxy->n_apart; i++) {
        if (proxy->apart[i].off == off) {
            proxy->apart[i] = proxy->apart[--proxy->n_apart];
            return;
        }
    }
    proxy->heap_bytes = gsh_min_u64(proxy->heap_bytes, off);
}

enum gsh_result gsh_proxy_add_region(struct gsh_proxy *proxy, uint64_t off, uint64_t bytes,
                                     const void **key, size_t *key_bytes)
{
    enum gsh_result r = GSH_OK;
    gsh_lock_take(&proxy->lock);
    if (proxy->is_native) {
        r = proxy->transport->ops->add_region(proxy->transport, proxy->heap_base + off, off, bytes,
                                              key, key_bytes);
    } else {
        *key = no_key;
        *key_bytes = sizeof(no_key);
    }
    if (r == GSH_OK) {
        r = note_region(proxy, off, bytes);
        if (r != GSH_OK && proxy->is_native) {
            (void)!proxy->transport->ops->remove_region(proxy->transport, off);
        }
    }
    gsh_lock_give(&proxy->lock);
    return r;
}

enum gsh_result gsh_proxy_remove_region(struct gsh_proxy *proxy, uint64_t off)
{
    gsh_lock_take(&proxy->lock);
    enum gsh_result r =
        proxy->is_native ? proxy->transport->ops->remove_region(proxy->transport, off) : GSH_OK;
    forget_region(proxy, off);
    gsh_lock_give(&proxy->lock);
    return r;
}

enum gsh_result gsh_proxy_add_peer_region(struct gsh_proxy *proxy, int pe, uint64_t off,
                                          uint64_t bytes, const void *key, size_t key_bytes)
{
    gsh_lock_take(&proxy->lock);
    enum gsh_result r = GSH_OK;
    if (proxy->is_native) {
        r = proxy->transport->ops->add_peer_region(proxy->transport, pe, off, bytes, key,
                                                   key_bytes);
    }
    gsh_lock_give(&proxy->lock);
    return r;
}

enum gsh_result gsh_proxy_remove_peer_region(struct gsh_proxy *proxy, int pe, uint64_t off)
{
    gsh_lock_take(&proxy->lock);
    enum gsh_result r = GSH_OK;
    if (proxy->is_native) {
        r = proxy->transport->ops->remove_peer_region(proxy->transport, pe, off);
    }
    gsh_lock_give(&proxy->lock);
    return r;
}

enum gsh_result gsh_proxy_add_told_region(struct gsh_proxy *proxy, uint64_t off, uint64_t bytes)
{
    gsh_lock_take(&proxy->lock);
    enum gsh_result r = gsh_learn_add_region(proxy, off, bytes);
    gsh_lock_give(&proxy->lock);
    return r;
}

void gsh_proxy_remove_told_region(struct gsh_proxy *proxy, uint64_t off)
{
    gsh_lock_take(&proxy->lock);
    gsh_learn_remove_region(proxy, off);
    gsh_lock_give(&proxy->lock);
}

bool gsh_proxy_reads_device(const struct gsh_proxy *proxy)
{
    return proxy->memory.is_host || proxy->transport->reads_cuda;
}

enum gsh_result gsh_proxy_pin(struct gsh_proxy *proxy, void *memory, uint64_t bytes, void **pin)
{
    const struct gsh_transport_ops *ops = proxy->transport->ops;
    *pin = NULL;
    if (ops->pin == NULL) {
        return GSH_OK;
    }
    gsh_lock_take(&proxy->lock);
    enum gsh_result r = ops->pin(proxy->transport, memory, bytes, pin);
    gsh_lock_give(&proxy->lock);
    return r;
}

void gsh_proxy_unpin(struct gsh_proxy *proxy, void *pin)
{
    if (pin != NULL) {
        gsh_lock_take(&proxy->lock);
        proxy->transport->ops->unpin(proxy->transport, pin);
        gsh_lock_give(&proxy->lock);
    }
}

enum gsh_result gsh_proxy_add_ring(struct gsh_proxy *proxy, gsh_context ctx,
                                   struct gsh_ring_slot *slots, uint64_t n_slots,
                                   struct gsh_ring_cpu *cpu)
{
    gsh_lock_take(&proxy->lock);
    enum gsh_result r = gsh_rings_add(proxy, ctx, slots, n_slots, cpu);
    gsh_lock_give(&proxy->lock);
    if (r == GSH_OK) {
        gsh_thread_wake(proxy);
    }
    return r;
}
