/* SPDX-License-Identifier: Apache-2.0
 * See buffers.h. */
#include "runtime/init/buffers.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/util.h"
#include "proxy/proxy.h"
#include "runtime/init/setup.h"

/* ---- symmetric ---- */

static enum gsh_result publish(struct gsh_instance *pe, enum gsh_result r)
{
    return r == GSH_OK ? gsh_setup_publish_allocations(pe) : r;
}

enum gsh_result gsh_buffers_add_symmetric(struct gsh_instance *pe, void *buffer, size_t bytes,
                                          void **out)
{
    enum gsh_result r = publish(pe, gsh_heap_register(pe->heap, buffer, bytes, out));
    /* no PE returns before all may use the memory */
    return r == GSH_OK ? pe->job_bootstrap->ops->barrier(pe->job_bootstrap) : r;
}

enum gsh_result gsh_buffers_remove_symmetric(struct gsh_instance *pe, void *out, size_t bytes)
{
    return publish(pe, gsh_heap_unregister(pe->heap, out, bytes));
}

/* Its last vote comes after all have mapped the memory, so any of them may then use it. */
enum gsh_result gsh_buffers_add_among(struct gsh_instance *pe, struct gsh_agreement *group,
                                      void *buffer, size_t bytes, void **out)
{
    return publish(pe, gsh_heap_register_among(pe->heap, group, buffer, bytes, out));
}

enum gsh_result gsh_buffers_remove_among(struct gsh_instance *pe, struct gsh_agreement *group,
                                         void *out, size_t bytes)
{
    return publish(pe, gsh_heap_unregister_among(pe->heap, group, out, bytes));
}

/* ---- for copies ---- */

struct buffer {
    uint8_t *start;
    size_t bytes;
    void *pin; /* the proxy's, or NULL */
};

struct gsh_buffers {
    pthread_mutex_t mutex;
    struct buffer *list;
    size_t n, room;
};

static struct gsh_buffers *buffers_of(struct gsh_instance *pe)
{
    struct gsh_buffers *made, *there = __atomic_load_n(&pe->buffers, __ATOMIC_ACQUIRE);
    if (there != NULL) {
        return there;
    }
    made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    pthread_mutex_init(&made->mutex, NULL);
    if (__atomic_compare_exchange_n(&pe->buffers, &there, made, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        return made;
    }
    pthread_mutex_destroy(&made->mutex);
    free(made); /* another thread came first */
    return there;
}

static enum gsh_result make_room(struct gsh_buffers *b)
{
    return gsh_array_reserve(&b->list, &b->room, b->n + 1, sizeof(*b->list))
               ? GSH_OK
               : gsh_note(GSH_ERR_NOMEM, "no host memory for a list of %zu buffers", b->n + 1);
}

static enum gsh_result add(struct gsh_instance *pe, struct gsh_buffers *b, struct buffer it)
{
    bool is_device = false;
    for (size_t i = 0; i < b->n; i++) {
        const struct buffer *other = &b->list[i];
        if (it.start < other->start + other->bytes && other->start < it.start + it.bytes) {
            return gsh_note(GSH_ERR_ARG, "it overlaps the registered one of %zu bytes at %p",
                            other->bytes, (void *)other->start);
        }
    }
    enum gsh_result r = make_room(b);
    if (r == GSH_OK) {
        r = pe->device_ops->pin(pe, it.start, it.bytes, &is_device);
    }
    if (r != GSH_OK) {
        return r;
    }
    if (pe->proxy != NULL && (!is_device || gsh_proxy_reads_device(pe->proxy))) {
        r = gsh_proxy_pin(pe->proxy, it.start, it.bytes, &it.pin);
    }
    if (r != GSH_OK) {
        pe->device_ops->unpin(pe, it.start, it.bytes);
        return r;
    }
    b->list[b->n++] = it;
    return GSH_OK;
}

enum gsh_result gsh_buffers_add(struct gsh_instance *pe, void *buffer, size_t bytes)
{
    static const char call[] = "gshmemx_buffer_register";
    const struct buffer it = {.start = buffer, .bytes = bytes};
    struct gsh_buffers *b = buffers_of(pe);
    if (buffer == NULL || bytes == 0 || (uintptr_t)buffer + bytes < (uintptr_t)buffer) {
        return gsh_fail(GSH_ERR_ARG, "%s: there is no memory of %zu bytes at %p", call, bytes,
                        buffer);
    }
    if (gsh_symmetric_off(pe, buffer) < pe->state.stride) {
        return gsh_fail(GSH_ERR_ARG, "%s: %p is symmetric, and needs no registration", call,
                        buffer);
    }
    if (b == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "%s: no host memory", call);
    }
    pthread_mutex_lock(&b->mutex);
    enum gsh_result r = add(pe, b, it);
    pthread_mutex_unlock(&b->mutex);
    return r == GSH_OK
               ? r
               : gsh_fail(r, "%s of %zu bytes at %p: %s", call, bytes, buffer, gsh_last_error());
}

static void let_go(struct gsh_instance *pe, struct buffer *it)
{
    if (it->pin != NULL) {
        gsh_proxy_unpin(pe->proxy, it->pin);
    }
    pe->device_ops->unpin(pe, it->start, it->bytes);
}

enum gsh_result gsh_buffers_remove(struct gsh_instance *pe, void *buffer)
{
    struct gsh_buffers *b = buffers_of(pe);
    enum gsh_result r = GSH_ERR_ARG;
    if (b != NULL) {
        pthread_mutex_lock(&b->mutex);
        for (size_t i = 0; i < b->n && r != GSH_OK; i++) {
            if (b->list[i].start == buffer) {
                let_go(pe, &b->list[i]);
                b->list[i] = b->list[--b->n];
                r = GSH_OK;
            }
        }
        pthread_mutex_unlock(&b->mutex);
    }
    return r == GSH_OK
               ? r
               : gsh_fail(r, "gshmemx_buffer_unregister: no buffer is registered at %p", buffer);
}

void gsh_buffers_end(struct gsh_instance *pe)
{
    struct gsh_buffers *b = pe->buffers;
    if (b == NULL) {
        return;
    }
    while (b->n > 0) {
        let_go(pe, &b->list[--b->n]);
    }
    pthread_mutex_destroy(&b->mutex);
    free(b->list);
    free(b);
    pe->buffers = NULL;
}
