/* SPDX-License-Identifier: Apache-2.0
 * See rings.h. */
#include "proxy/engine/rings.h"

#include <stdlib.h>
#include "base/util.h"
#include "proxy/engine/failure.h"
#include "proxy/engine/order.h"

/* Requests taken from one ring before the other rings and the transport have their turn. */
#define BATCH 64
/* Tasks of one ring at once. More would not be faster, since transports have their own windows, and
 * would only take memory. */
#define WINDOW_MAX 512

static void ring_task_done(struct gsh_request *request)
{
    struct gsh_task *task = GSH_HOLDER(struct gsh_task, request, request);
    struct gsh_ring_entry *entry = GSH_HOLDER(struct gsh_ring_entry, task, task);
    if (request->is_fetch) {
        gsh_ring_reader_reply(&entry->window->reader, request->ticket, request->value);
    }
    task->is_done = true;
}

static unsigned drain_ring(struct gsh_proxy *proxy, struct gsh_ring_window *window, unsigned source)
{
    unsigned n = 0;
    while (n < BATCH && window->tail - window->head < window->n_entries) {
        struct gsh_ring_entry *entry = &window->entry[window->tail & (window->n_entries - 1)];
        struct gsh_task *task = &entry->task;
        bool has;
        enum gsh_result r = gsh_ring_reader_next(&window->reader, &task->request, &has);
        if (r != GSH_OK) {
            gsh_engine_fail(proxy, proxy->options.my_pe, r, "a request of a kernel", NULL);
        }
        if (r != GSH_OK || !has) {
            return n;
        }
        window->tail++;
        proxy->n_ring_tasks++;
        n++;
        entry->window = window;
        task->proxy = proxy;
        task->source = (uint8_t)source;
        task->is_done = false;
        task->request.ctx = window->ctx;
        task->request.done = ring_task_done;
        gsh_order_submit(proxy, task);
    }
    gsh_ring_reader_publish(&window->reader);
    return n;
}

unsigned gsh_rings_drain(struct gsh_proxy *proxy)
{
    unsigned n = 0;
    for (int r = 0; r < proxy->n_rings; r++) {
        if (gsh_ring_reader_may_be_ready(&proxy->rings[r]->reader)) {
            n += drain_ring(proxy, proxy->rings[r], (unsigned)r);
        }
    }
    return n;
}

unsigned gsh_rings_retire(struct gsh_proxy *proxy)
{
    unsigned n = 0;
    for (int r = 0; r < proxy->n_rings && proxy->n_ring_tasks > 0; r++) {
        struct gsh_ring_window *window = proxy->rings[r];
        const struct gsh_ring_entry *entry = NULL;
        unsigned n_done = 0;
        while (window->head != window->tail) {
            struct gsh_ring_entry *oldest = &window->entry[window->head & (window->n_entries - 1)];
            if (!oldest->task.is_done) {
                break;
            }
            entry = oldest;
            window->head++;
            n_done++;
        }
        proxy->n_ring_tasks -= n_done;
        n += n_done;
        if (entry != NULL) {
            gsh_ring_reader_done(&window->reader, entry->task.request.position);
        }
    }
    return n;
}

enum gsh_result gsh_rings_add(struct gsh_proxy *proxy, gsh_context ctx, struct gsh_ring_slot *slots,
                              uint64_t n_slots, struct gsh_ring_cpu *cpu)
{
    if (proxy->n_rings == GSH_ENGINE_RINGS_MAX) {
        return gsh_fail(GSH_ERR_ARG, "more than %u rings", GSH_ENGINE_RINGS_MAX);
    }
    struct gsh_ring_window *window = calloc(1, sizeof(*window));
    uint64_t n = gsh_min_u64(n_slots, WINDOW_MAX);
    struct gsh_ring_entry *entry = calloc(n, sizeof(*entry));
    enum gsh_result r = GSH_OK;
    if (window == NULL || entry == NULL) {
        r = gsh_fail(GSH_ERR_NOMEM, "no memory for a ring's requests");
    } else {
        r = gsh_ring_reader_init(&window->reader, slots, n_slots, cpu, proxy->heap_base,
                                 proxy->options.n_pes);
    }
    if (r != GSH_OK) {
        free(entry);
        free(window);
        return r;
    }
    window->entry = entry;
    window->n_entries = n;
    window->ctx = ctx;
    proxy->rings[proxy->n_rings++] = window;
    return GSH_OK;
}

void gsh_rings_destroy(struct gsh_proxy *proxy)
{
    for (int r = 0; r < proxy->n_rings; r++) {
        free(proxy->rings[r]->entry);
        free(proxy->rings[r]);
    }
    proxy->n_rings = 0;
}
