/* SPDX-License-Identifier: Apache-2.0
 * The rings that this PE's kernels fill: requests become tasks in a window of fixed size, which
 * they leave in the ring's order. When the window is full nothing more is read, so the ring fills,
 * and the kernels wait. ring/reader.c reads rings. */
#ifndef GSH_RINGS_H
#define GSH_RINGS_H

#include "proxy/engine/state.h"
#include "proxy/ring/reader.h"

struct gsh_ring_entry {
    struct gsh_task task;
    struct gsh_ring_window *window;
};

struct gsh_ring_window {
    struct gsh_ring_reader reader;
    struct gsh_ring_entry *entry; /* requests [head, tail), at i % n_entries */
    uint64_t n_entries, head, tail;
    gsh_context ctx; /* of its requests */
};

/* As gsh_proxy_add_ring, under the lock. */
GSH_CHECK_RESULT enum gsh_result gsh_rings_add(struct gsh_proxy *proxy, gsh_context ctx,
                                               struct gsh_ring_slot *slots, uint64_t n_slots,
                                               struct gsh_ring_cpu *cpu);
/* Submits kernels' requests; returns how many. */
unsigned gsh_rings_drain(struct gsh_proxy *proxy);
/* Tells the kernels what is done; returns how much. */
unsigned gsh_rings_retire(struct gsh_proxy *proxy);
void gsh_rings_destroy(struct gsh_proxy *proxy);

#endif
