/* SPDX-License-Identifier: Apache-2.0
 * What the adapters to which kernels post need while the job runs: the heap's memory under their
 * keys, the tables that kernels read, and the host's quiet. Host calls go through the proxy all the
 * same. */
#include <stdlib.h>
#include "base/util.h"
#include "nic/nic.h"
#include "runtime/far/far.h"
#include "runtime/far/nic_queues.h"
#include "runtime/instance/end.h"
#include "runtime/instance/host_wait.h"
#include "runtime/instance/instance.h"

/* ---- memory ---- */

static enum gsh_result write_word(struct gsh_instance *pe, uint64_t address, uint32_t value)
{
    return pe->device_ops->proxy_copy(pe, (void *)(uintptr_t)address, &value, sizeof(value));
}

/* Writes the keys into the tables of kernels, if they are there. Kernels that run may still use the
 * earlier ones, which are good for all memory that they can know of. */
static enum gsh_result write_keys(struct gsh_far_nic *nic)
{
    struct gsh_instance *pe = nic->pe;
    enum gsh_result r = GSH_OK;
    if (nic->table == 0) {
        return GSH_OK;
    }
    for (int peer = 0; r == GSH_OK && peer < pe->n_pes; peer++) {
        for (uint32_t k = 0; r == GSH_OK && gsh_is_far(pe, peer) && k < gsh_nic_n_queues_to(nic);
             k++) {
            struct gsh_adapter *a = gsh_nic_stripe_of(nic, k)->adapter;
            const uint64_t queue = nic->table + sizeof(struct gsh_nic) +
                                   gsh_nic_queue_to(nic, peer, k) * sizeof(struct gsh_nic_queue);
            r = write_word(pe, queue + offsetof(struct gsh_nic_queue, remote_key),
                           a->ops->remote_key(a, peer));
            if (r == GSH_OK) {
                r = write_word(pe, queue + offsetof(struct gsh_nic_queue, local_key), a->local_key);
            }
        }
    }
    return r;
}

/* Collective over the members, also after a failure. */
static enum gsh_result exchange_keys(struct gsh_far_nic *nic, enum gsh_result mine,
                                     const struct gsh_heap_members *members)
{
    struct own_keys {
        int32_t result;
        uint32_t key[GSH_NIC_STRIPES_MAX];
    } own = {.result = (int32_t)mine}, *all = calloc((size_t)members->n, sizeof(*all));
    struct gsh_bootstrap *b = members->bootstrap;
    if (all == NULL) {
        gsh_abort(nic->pe, 1, "no host memory for the NICs of %d PEs", members->n);
    }
    for (uint32_t i = 0; i < nic->n_stripes; i++) {
        own.key[i] = nic->stripes[i].adapter->ops->own_key(nic->stripes[i].adapter);
    }
    enum gsh_result r = b->ops->allgather(b, &own, sizeof(own), all);
    for (int i = 0; r == GSH_OK && i < members->n; i++) {
        const int member = gsh_heap_member_pe(members, i);
        const bool is_told = all[i].result == GSH_OK && gsh_is_far(nic->pe, member);
        for (uint32_t k = 0; is_told && k < nic->n_stripes; k++) {
            struct gsh_adapter *a = nic->stripes[k].adapter;
            a->ops->set_remote_key(a, member, all[i].key[k]);
        }
    }
    free(all);
    r = r == GSH_OK ? write_keys(nic) : r;
    return mine != GSH_OK ? mine : r;
}

/* From the first n stripes. */
static void remove_region(struct gsh_far_nic *nic, uint32_t n, uint64_t off)
{
    for (uint32_t i = 0; i < n; i++) {
        (void)!nic->stripes[i].adapter->ops->remove_region(nic->stripes[i].adapter, off);
    }
}

static enum gsh_result add_region(struct gsh_far_nic *nic, void *memory, uint64_t off,
                                  uint64_t bytes)
{
    enum gsh_result r = GSH_OK;
    for (uint32_t i = 0; r == GSH_OK && i < nic->n_stripes; i++) {
        struct gsh_adapter *a = nic->stripes[i].adapter;
        r = a->ops->add_region(a, memory, off, bytes);
        if (r != GSH_OK) {
            remove_region(nic, i, off);
        }
    }
    return r;
}

static enum gsh_result came(void *context, void *memory, uint64_t off, uint64_t bytes,
                            enum gsh_result prior, const struct gsh_heap_members *members)
{
    struct gsh_far_nic *nic = context;
    const enum gsh_result added = prior == GSH_OK ? add_region(nic, memory, off, bytes) : prior;
    enum gsh_result r = added;
    if (nic->stripes[0].adapter->ops->own_key != NULL) {
        r = exchange_keys(nic, added, members);
    }
    if (added == GSH_OK && r != GSH_OK) {
        remove_region(nic, nic->n_stripes, off);
    }
    return r;
}

static void goes(void *context, uint64_t off, const struct gsh_heap_members *members)
{
    struct gsh_far_nic *nic = context;
    (void)members;
    remove_region(nic, nic->n_stripes, off);
}

struct gsh_heap_events gsh_far_nic_heap_events(struct gsh_instance *pe)
{
    return (struct gsh_heap_events){.came = came, .goes = goes, .context = pe->far->nic};
}

/* ---- tables ---- */

uint64_t gsh_far_nic_bytes(const struct gsh_instance *pe)
{
    const struct gsh_far_nic *nic = gsh_far_has_nic(pe) ? pe->far->nic : NULL;
    return nic != NULL ? sizeof(struct gsh_nic) +
                             (uint64_t)gsh_nic_n_all_queues(nic) * sizeof(struct gsh_nic_queue)
                       : 0;
}

static struct gsh_nic_queue queue_at(const struct gsh_far_nic *nic, int peer, uint32_t k)
{
    const struct gsh_nic_stripe *stripe = gsh_nic_stripe_of(nic, k);
    const struct gsh_adapter_site *site = &nic->sites[gsh_nic_queue_to(nic, peer, k)];
    struct gsh_adapter *a = stripe->adapter;
    const bool has_registers = stripe->device_registers != 0;
    const uint64_t memory =
        a->device_memory != NULL ? (uint64_t)(uintptr_t)a->device_memory : stripe->device_memory;
    return (struct gsh_nic_queue){
        .entries = memory + site->entries,
        .record = site->record != GSH_ADAPTER_NO_RECORD ? memory + site->record : 0,
        .doorbell = has_registers ? stripe->device_registers + site->doorbell_register
                                  : stripe->device_memory + site->doorbell,
        .completion = stripe->device_memory + site->completion,
        .number = site->number,
        .depth = a->options.depth,
        .remote_key = a->ops->remote_key(a, peer),
        .local_key = a->local_key,
        .pe = peer,
    };
}

void gsh_far_nic_fill(const struct gsh_instance *pe, void *table, uint64_t device_table)
{
    struct gsh_far_nic *nic = pe->far->nic;
    struct gsh_nic_queue *queues = (struct gsh_nic_queue *)((struct gsh_nic *)table + 1);
    const bool is_woken = pe->device_ops->can_wake && nic->stripes[0].adapter->wake != NULL;
    *(struct gsh_nic *)table = (struct gsh_nic){
        .wake = is_woken ? (uint64_t)(uintptr_t)&nic->wake : 0,
        .used_queues = nic->used.device_queues,
        .used_groups = nic->used.device_groups,
    };
    nic->table = device_table;
    for (int peer = 0; peer < pe->n_pes; peer++) {
        for (uint32_t k = 0; gsh_is_far(pe, peer) && k < gsh_nic_n_queues_to(nic); k++) {
            queues[gsh_nic_queue_to(nic, peer, k)] = queue_at(nic, peer, k);
        }
    }
}

uint64_t gsh_far_nic_state(const struct gsh_instance *pe, uint64_t device_table,
                           const struct gsh_state *state)
{
    const struct gsh_far_nic *nic = pe->far->nic;
    uint32_t flags = nic->stripes[0].adapter->flags | GSH_NIC_ALL_OTHERS;
    for (int i = 0; i < pe->n_pes; i++) {
        const bool is_of_run = (uint32_t)(i - state->run_first_pe) < (uint32_t)state->run_n;
        flags &=
            is_of_run || gsh_route_to(pe, i) == GSH_ROUTE_NIC ? ~0u : ~(uint32_t)GSH_NIC_ALL_OTHERS;
    }
    return GSH_NIC_STATE(device_table, flags, nic->n_queues);
}

/* ---- while kernels post ---- */

/* Whether those of the context's queues are that kernels have used. */
static bool is_idle(const struct gsh_far_nic *nic, gsh_context ctx)
{
    const uint32_t n_pes = (uint32_t)nic->pe->n_pes, n_default = n_pes * nic->n_queues;
    const bool is_default = ctx == GSH_CONTEXT_DEFAULT;
    uint32_t queue = is_default ? 0 : n_default + n_pes * ((uint32_t)ctx - 1);
    const uint32_t end = queue + (is_default ? n_default : n_pes);
    for (; gsh_nic_used_next(&nic->used, &queue, end); queue++) {
        const uint32_t k = is_default ? queue % nic->n_queues : queue / n_pes;
        const uint32_t peer = is_default ? queue / nic->n_queues : queue % n_pes;
        struct gsh_adapter *a = gsh_nic_stripe_of(nic, k)->adapter;
        if (!a->ops->is_idle(a, gsh_nic_in_stripe(nic, (int)peer, k), 1)) {
            return false;
        }
    }
    return true;
}

void gsh_far_nic_quiet(struct gsh_instance *pe, gsh_context ctx)
{
    unsigned backoff = 0;
    uint64_t start_ns = 0;
    while (!is_idle(pe->far->nic, ctx)) {
        gsh_far_nic_help(pe);
        gsh_host_wait_poll(pe, &backoff, &start_ns, NULL);
    }
}

void gsh_far_nic_help(struct gsh_instance *pe)
{
    const struct gsh_far_nic *nic = pe->far->nic;
    for (uint32_t i = 0; i < nic->n_stripes; i++) {
        struct gsh_adapter *a = nic->stripes[i].adapter;
        if (a->ops->help != NULL) {
            a->ops->help(a);
        }
    }
}
