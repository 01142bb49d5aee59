/* SPDX-License-Identifier: Apache-2.0
 * The adapters of a PE whose kernels post by themselves, and which of their queues leads where.
 * Stripe r of a PE is joined to stripe r of each other. */
#ifndef GSH_NIC_QUEUES_H
#define GSH_NIC_QUEUES_H

#include <stdint.h>
#include "nic/nic.h"
#include "runtime/far/nic_used.h"
#include "runtime/instance/instance.h"
#include "wire/wq.h"

#define GSH_NIC_STRIPES_MAX 4

struct gsh_nic_stripe {
    struct gsh_adapter *adapter;
    uint64_t device_memory;    /* of its queues */
    uint64_t device_registers; /* 0: kernels do not reach its registers, or it has none */
};

/* What was seen of a queue when somebody last looked: see nic_unfinished.c. */
struct gsh_nic_look {
    uint16_t done;     /* the position after the newest completed entry */
    uint64_t since_ns; /* 0: there was nothing else */
};

struct gsh_nic_count {
    uint64_t done; /* the position after the newest completed entry */
    uint16_t rung; /* the index */
};

struct gsh_far_nic {
    struct gsh_instance *pe;
    struct gsh_nic_stripe stripes[GSH_NIC_STRIPES_MAX];
    uint32_t n_stripes;
    uint64_t table;                 /* struct gsh_nic in device memory; 0: not written yet */
    uint32_t n_queues;              /* to each PE, in the default context */
    struct gsh_adapter_site *sites; /* [gsh_nic_n_all_queues]; of far PEs alone */
    struct gsh_nic_look *looks;     /* as sites; NULL: nobody has looked */
    struct gsh_nic_count *counted;  /* as sites: what nic_counts.c has seen; or NULL */
    uint64_t n_posted;              /* up to these */
    struct gsh_nic_used used;
    struct gsh_nic_wake wake; /* of all stripes */
};

_Static_assert(GSH_NIC_CONTEXTS >= GSH_CONTEXTS, "kernels list the used queues of each context");

/* How many lead to each PE. */
static inline uint32_t gsh_nic_n_queues_to(const struct gsh_far_nic *nic)
{
    return nic->n_queues + (uint32_t)nic->pe->env.contexts;
}

/* Queue k of those to peer: first the default context's, then one of each other. With another PE in
 * place of peer: that PE's queue. */
static inline uint32_t gsh_nic_queue_to(const struct gsh_far_nic *nic, int peer, uint32_t k)
{
    return k < nic->n_queues ? (uint32_t)peer * nic->n_queues + k
                             : (uint32_t)nic->pe->n_pes * k + (uint32_t)peer;
}

static inline uint32_t gsh_nic_n_all_queues(const struct gsh_far_nic *nic)
{
    return (uint32_t)nic->pe->n_pes * gsh_nic_n_queues_to(nic);
}

/* Queue k of those to a PE is its stripe's; there, it is one of gsh_nic_stripe_queues_to to that
 * PE. */
static inline const struct gsh_nic_stripe *gsh_nic_stripe_of(const struct gsh_far_nic *nic,
                                                             uint32_t k)
{
    return &nic->stripes[k % nic->n_stripes];
}

static inline uint32_t gsh_nic_stripe_queues_to(const struct gsh_far_nic *nic)
{
    return (gsh_nic_n_queues_to(nic) + nic->n_stripes - 1) / nic->n_stripes;
}

static inline uint32_t gsh_nic_in_stripe(const struct gsh_far_nic *nic, int peer, uint32_t k)
{
    return (uint32_t)peer * gsh_nic_stripe_queues_to(nic) + k / nic->n_stripes;
}

/* ---- what memory says of a queue, since it is reported, and nothing is done by it ---- */

static inline uint32_t gsh_nic_word_at(const struct gsh_adapter *a, uint64_t off)
{
    return __atomic_load_n((const uint32_t *)(const void *)((const uint8_t *)a->memory + off),
                           __ATOMIC_RELAXED);
}

static inline uint64_t gsh_nic_first_word(const struct gsh_adapter *a,
                                          const struct gsh_adapter_site *site, uint16_t position)
{
    const uint64_t block = position & (a->options.depth - 1);
    uint64_t word = 0;
    (void)!gsh_adapter_read(a, site->entries + block * GSH_WQ_BLOCK, &word, sizeof(word));
    return gsh_wq_be64(word);
}

/* The index that kernels have rung for; a queue without a record has its doorbell in memory. */
static inline uint16_t gsh_nic_rung_index(const struct gsh_adapter *a,
                                          const struct gsh_adapter_site *site)
{
    if (site->record != GSH_ADAPTER_NO_RECORD) {
        uint32_t record = 0;
        (void)!gsh_adapter_read(a, site->record, &record, sizeof(record));
        return (uint16_t)gsh_wq_be32(record);
    }
    const uint8_t *doorbell = (const uint8_t *)a->memory + site->doorbell;
    return (uint16_t)gsh_wq_rung_index(
        __atomic_load_n((const uint64_t *)(const void *)doorbell, __ATOMIC_RELAXED));
}

/* How many entries are at positions from .. to - 1. They have not been written anew, or only part
 * of them is counted. */
static inline uint32_t gsh_nic_count_entries(const struct gsh_adapter *a,
                                             const struct gsh_adapter_site *site, uint16_t from,
                                             uint16_t to)
{
    uint32_t n = 0;
    for (uint16_t at = from; (uint16_t)(to - at) != 0 && (uint16_t)(to - at) <= a->options.depth;
         n++) {
        const uint32_t ds = (uint32_t)gsh_nic_first_word(a, site, at) & 0x3f;
        at = (uint16_t)(at + (ds > 4 ? 2 : 1));
    }
    return n;
}

#endif
