/* SPDX-License-Identifier: Apache-2.0
 * The model adapter: an mlx5 adapter in software, of which each PE has one. It executes the entries
 * that kernels write, late, in order in each queue and in an order shuffled by a seed over the
 * queues; and it checks what a real adapter would silently get wrong. Each such thing ends the job
 * by a line that names queue, index and byte.
 *
 * All of it is under the adapter's lock but the doorbells, the records and what is_idle reads. Its
 * thread executes, as do threads that wait. When it is idle it sleeps until a kernel wakes it.
 *
 * What makes it a reference: with delays it promises what wire/wq.h says and nothing more. A WRITE
 * may overtake an earlier READ or atomic of its queue, unless an entry with the fence bit is
 * between them. Without delays, which is the default, it carries out what a queue has at once. */
#ifndef GSH_MODEL_H
#define GSH_MODEL_H

#include "nic/model/sheet.h"
#include "nic/model/settings.h"
#include "nic/nic.h"

#define GSH_MODEL_DOMAIN 1u /* the protection domain of what nic.h makes */

/* An entry that has been taken by its doorbell. */
struct gsh_model_queue {
    uint32_t number, depth;
    int pe; /* of the other end; -1: not connected */
    struct gsh_model_link *link;
    struct gsh_wq_block *entries; /* a device's, if the adapter copies from one */
    uint32_t *record;             /* the send word; NULL: it has none */
    uint64_t *doorbell;
    struct gsh_wq_completion *completions; /* [n_completions]; 1: collapsed */
    uint32_t n_completions, n_completed;   /* n_completed: written so far */
    uint32_t *consumed; /* of several completions: how many the host has taken, big-endian */
    struct gsh_wq_block *copies; /* [depth]: as they were when the doorbell rang */
    uint64_t seen_doorbell;
    uint64_t taken, executed; /* positions: after what the doorbell covered, and was executed */
    uint64_t deferred;  /* a READ or atomic that has not been executed yet; UINT64_MAX: none */
    uint64_t completed; /* atomic; release */
    unsigned delay;     /* rounds before its next step */
    bool has_failed;
    uint32_t n_letters; /* delivered here, of the link's */
};

struct gsh_model_peer {
    struct gsh_model_view view;
    bool is_known, is_lost;
    uint32_t key;
};

struct gsh_model {
    struct gsh_adapter base; /* first */
    struct gsh_model_settings settings;
    struct gsh_model_port *port;
    struct gsh_model_view own; /* of the port */
    struct gsh_model_address address;
    struct gsh_model_peer *peers;   /* [n_pes] */
    struct gsh_model_queue *queues; /* [n_queues] */
    uint64_t *doorbells;            /* [n_queues], one beside the other */
    uint32_t *active;               /* [n_queues]: scratch of a round */
    uint32_t everything_key, heap_key;
    uint64_t random;
    uint64_t n_executed; /* entries, for faults that come after some */
    struct gsh_model_thread *thread;
};

static inline struct gsh_model *gsh_model_of(struct gsh_adapter *a)
{
    return (struct gsh_model *)a;
}

/* The index that kernels have rung for. */
static inline uint32_t gsh_model_rung_index(const struct gsh_model_queue *queue)
{
    return queue->record != NULL
               ? gsh_wq_be32(__atomic_load_n(queue->record, __ATOMIC_RELAXED))
               : gsh_wq_rung_index(__atomic_load_n(queue->doorbell, __ATOMIC_RELAXED));
}

/* A number below n, of the seeded series. */
static inline unsigned gsh_model_any_below(struct gsh_model *model, unsigned n)
{
    model->random = model->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(model->random >> 33) % n;
}

#endif
