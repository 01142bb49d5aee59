/* SPDX-License-Identifier: Apache-2.0
 * The reference transport: PEs that are threads of one process. It promises what transport.h says
 * and nothing more: operations complete at some later progress, in an order shuffled by a seed; a
 * put is often complete, its source reusable, long before it is applied.
 *
 * Threads meet in ports only: one for each PE, kept until every thread that knows it has gone. A
 * port has a lock for its messages, and another that keeps its PE's memory from going away during a
 * copy. Copies take that one shared, so it orders no copy before another: the thread sanitizer
 * still sees code that relies on more than the order of messages and flushes. Words are copied by
 * atomic release and acquire, since networks write and read them whole; all else by memcpy. */
#include <stdlib.h>
#include <string.h>
#include "base/process.h"
#include "proxy/loop/port.h"
#include "proxy/loop/region.h"
#include "proxy/loop/work.h"
#include "proxy/transport.h"

#define MESSAGE_MAX 8192

static int loop_event_fd(struct gsh_transport *t)
{
    return gsh_loop_of(t)->port->event_fd;
}

/* ---- addresses and regions ---- */

static enum gsh_result loop_address(struct gsh_transport *t, const void **blob, size_t *bytes)
{
    *blob = &gsh_loop_of(t)->address;
    *bytes = sizeof(gsh_loop_of(t)->address);
    return GSH_OK;
}

static enum gsh_result loop_set_peer(struct gsh_transport *t, int pe, const void *blob,
                                     size_t bytes)
{
    struct gsh_loop_address address = {0};
    if (bytes == sizeof(address)) {
        memcpy(&address, blob, sizeof(address));
    }
    struct gsh_loop_port *port = (struct gsh_loop_port *)(uintptr_t)address.port;
    if (address.process != gsh_process_id() || port->magic != GSH_LOOP_PORT_MAGIC) {
        return gsh_note(GSH_ERR_UNSUPPORTED,
                        "GSHMEM_TRANSPORT=loop: the loop transport joins threads of one process; "
                        "PE %d is in another",
                        pe);
    }
    gsh_loop_port_hold(port);
    gsh_loop_of(t)->peers[pe].port = port;
    return GSH_OK;
}

static enum gsh_result give_key(struct gsh_loop_region *region, const void **key, size_t *key_bytes)
{
    if (region == NULL) {
        return GSH_ERR_NOMEM;
    }
    *key = &region->memory;
    *key_bytes = sizeof(region->memory);
    return GSH_OK;
}

static enum gsh_result loop_add_region(struct gsh_transport *t, void *memory, uint64_t off,
                                       uint64_t bytes, const void **key, size_t *key_bytes)
{
    return give_key(gsh_loop_region_add(&gsh_loop_of(t)->regions, memory, off, bytes), key,
                    key_bytes);
}

static enum gsh_result loop_make_region(struct gsh_transport *t, uint64_t off, uint64_t bytes,
                                        void **memory, const void **key, size_t *key_bytes)
{
    struct gsh_loop_region *region = gsh_loop_region_make(&gsh_loop_of(t)->regions, off, bytes);
    if (region != NULL) {
        *memory = region->memory;
    }
    return give_key(region, key, key_bytes);
}

static enum gsh_result loop_remove_region(struct gsh_transport *t, uint64_t off)
{
    return gsh_loop_region_remove(&gsh_loop_of(t)->regions, off);
}

static enum gsh_result loop_add_peer_region(struct gsh_transport *t, int pe, uint64_t off,
                                            uint64_t bytes, const void *key, size_t key_bytes)
{
    uint8_t *memory;
    if (key_bytes != sizeof(memory)) {
        return gsh_fail(GSH_ERR_ARG, "PE %d: its key has %zu bytes", pe, key_bytes);
    }
    memcpy(&memory, key, sizeof(memory));
    return gsh_loop_region_add(&gsh_loop_of(t)->peers[pe].regions, memory, off, bytes) != NULL
               ? GSH_OK
               : GSH_ERR_NOMEM;
}

static enum gsh_result loop_remove_peer_region(struct gsh_transport *t, int pe, uint64_t off)
{
    const enum gsh_result r = gsh_loop_region_remove(&gsh_loop_of(t)->peers[pe].regions, off);
    return t->options.events.learn_region != NULL ? GSH_OK : r;
}

/* ---- making and ending ---- */

static void loop_destroy(struct gsh_transport *t)
{
    struct gsh_loop *loop = gsh_loop_of(t);
    if (loop->port != NULL) {
        gsh_loop_port_close(loop->port);
    }
    gsh_loop_port_release(loop->port);
    for (int pe = 0; pe < t->options.n_pes; pe++) {
        gsh_loop_free_works(&loop->peers[pe].sends);
        gsh_loop_region_remove_all(&loop->peers[pe].regions);
        gsh_loop_port_release(loop->peers[pe].port);
    }
    gsh_loop_free_works(&loop->works);
    gsh_loop_free_works(&loop->told);
    gsh_loop_region_remove_all(&loop->regions);
    explicit_bzero(t->options.key, sizeof(t->options.key));
    free(loop);
}

static const struct gsh_transport_ops loop_ops = {
    .name = "loop",
    .message_max = MESSAGE_MAX,
    .address = loop_address,
    .learns_late = true,
    .set_peer = loop_set_peer,
    .add_region = loop_add_region,
    .make_region = loop_make_region,
    .remove_region = loop_remove_region,
    .add_peer_region = loop_add_peer_region,
    .remove_peer_region = loop_remove_peer_region,
    .put = gsh_loop_put,
    .get = gsh_loop_get,
    .flush = gsh_loop_flush,
    .send = gsh_loop_send,
    .lose = gsh_loop_lose,
    .progress = gsh_loop_progress,
    .event_fd = loop_event_fd,
    .arm = gsh_loop_arm,
    .destroy = loop_destroy,
};

enum gsh_result gsh_transport_loop_create(const struct gsh_transport_options *options,
                                          struct gsh_transport **out)
{
    size_t n = (size_t)options->n_pes;
    struct gsh_loop *loop = calloc(1, sizeof(*loop) + n * sizeof(loop->peers[0]));
    if (loop == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for the loop transport");
    }
    loop->base.ops = &loop_ops;
    loop->base.options = *options;
    loop->random = options->loop_seed * 1000003u + (uint64_t)options->my_pe;
    gsh_link_init(&loop->works);
    gsh_link_init(&loop->told);
    for (size_t pe = 0; pe < n; pe++) {
        gsh_link_init(&loop->peers[pe].sends);
    }
    loop->port = gsh_loop_port_create(options->n_pes);
    if (loop->port == NULL) {
        loop_destroy(&loop->base);
        return gsh_fail_errno(GSH_ERR_SYSTEM, "the loop transport");
    }
    loop->address = (struct gsh_loop_address){.port = (uint64_t)(uintptr_t)loop->port,
                                              .process = gsh_process_id()};
    *out = &loop->base;
    return GSH_OK;
}
