/* SPDX-License-Identifier: Apache-2.0
 * Wire between the host library and kernels that post to a network adapter by themselves: where the
 * queues lie, and what kernels note of them. wq.h has the entries, and the invariants of a queue.
 * Compiles as C17, C++17 and CUDA; wire headers only. Pointers are uint64_t.
 *
 * Invariants
 * - A PE's queues are numbered: in the default context n_queues to each PE, those to PE p from
 *   p * n_queues on; a block uses the one that its number names, modulo n_queues. Each other
 * context has one to each PE: context i those from n_pes * (n_queues + i - 1) on. Queues to PEs
 * that are not reached this way have no entries, and stay empty. A PE may have several adapters:
 *   queue k of those to a PE is of the adapter k modulo their number.
 * - Remote addresses are offsets in the heap: a PE has one key for its whole heap with each of its
 *   adapters, and memory comes and goes under it. So do local addresses, unless all memory of the
 * process has a key.
 * - The thread that reserves position 0 of a queue puts the queue into the list of its context's
 *   used queues before it publishes, and so before any call that has posted there returns. Queues
 *   stay in the list. So a fence or quiet looks at the queues that have been used, and at no
 *   others.
 * - A value that comes back goes to a cell in this PE's heap. A thread takes ticket t, waits until
 *   cell t % GSH_NIC_CELLS serves t / GSH_NIC_CELLS, posts, waits for the entry's completion, reads
 *   the cell, and lets it serve the next: +1. Only the holder of that ticket has the cell. */
#ifndef GSHMEM_NIC_H
#define GSHMEM_NIC_H

#include <stddef.h>
#include <stdint.h>
#include "wq.h"

#define GSH_NIC_QUEUES_MAX 16
#define GSH_NIC_CELLS      256
#define GSH_NIC_CONTEXTS   48 /* at most, the default one counted */
#define GSH_NIC_USED_GROUP 64 /* queues with one mark */

#define GSH_NIC_RINGING ((uint64_t)1 << 63) /* of gpu_ready: a thread rings */

/* As kernels see it, in their PE's own device memory. The host writes the first line before the
 * first kernel; only kernels write the words after it. */
struct gsh_nic_queue {
    uint64_t entries;    /* struct gsh_wq_block[depth], device-writable */
    uint64_t record;     /* the doorbell record's send word, 4 bytes; 0: it has none */
    uint64_t doorbell;   /* 8 bytes */
    uint64_t completion; /* struct gsh_wq_completion, device-readable */
    uint32_t number;     /* the adapter's, of 24 bits */
    uint32_t depth;      /* blocks; 0: no queue */
    uint32_t remote_key; /* of the PE's heap */
    int32_t pe;
    uint32_t local_key; /* of this PE's memory, for the queue's adapter */
    uint32_t reserved;
    uint64_t reserved0[9];
    uint64_t gpu_head; /* the next position to reserve */
    uint64_t reserved1[15];
    uint64_t gpu_ready; /* a position, and GSH_NIC_RINGING */
    uint64_t gpu_rung;
    uint64_t reserved2[14];
    uint64_t gpu_done;
    /* How many reservations have had READs or atomics, and how many of them come before an entry
     * with the fence bit that has been reserved. Equal: a WRITE that comes now overtakes none. */
    uint64_t gpu_loose;
    uint64_t gpu_fenced;
    uint64_t gpu_next; /* of the context's used queues: its index, plus 1; 0: the last */
    uint64_t reserved3[12];
};
GSH_WQ_ASSERT(sizeof(struct gsh_nic_queue) == 512, "gsh_nic_queue is wire");

/* What the adapter does not promise, or does besides. */
enum gsh_nic_flags {
    /* The local key takes any address of the process, and not only offsets in the heap. */
    GSH_NIC_ALL_MEMORY = 1,
    /* Its atomics are atomic with the target device's own. Else AMOs go to the proxy, as does a
     * signal that adds, with its data. */
    GSH_NIC_AMOS = 2,
    /* Each PE outside the run (state.h) is reached this way. */
    GSH_NIC_ALL_OTHERS = 4,
};

/* What gsh_state says of it, so that kernels read no memory to know it: where struct gsh_nic lies,
 * the flags, and the number of queues to each PE in the default context. */
#define GSH_NIC_ALIGNMENT                       256u
#define GSH_NIC_STATE(address, flags, n_queues) ((address) | (uint64_t)(flags) << 5 | (n_queues))
#define GSH_NIC_ADDRESS(state)                  ((state) & ~(uint64_t)(GSH_NIC_ALIGNMENT - 1))
#define GSH_NIC_FLAGS(state)                    ((uint32_t)(state) >> 5 & 7u)
#define GSH_NIC_N_QUEUES(state)                 ((uint32_t)(state)&31u)

/* In the PE's own device memory, followed by its queues; it lies in the heap. */
struct gsh_nic {
    uint64_t wake;  /* CPU device: const struct gsh_nic_wake; else 0 */
    uint64_t scrap; /* former values that nobody wants go there */
    /* In host memory: a byte for each queue, and one for each GSH_NIC_USED_GROUP of them. Kernels
     * set both to 1 at a queue's first post; the host looks at queues that are marked. */
    uint64_t used_queues, used_groups;
    uint64_t reserved0[12];
    uint64_t gpu_ticket; /* of the next cell */
    uint64_t reserved1[15];
    /* By context: the used queue that came last, its index, plus 1; 0: none. */
    uint64_t gpu_used[GSH_NIC_CONTEXTS];
    uint64_t gpu_serving[GSH_NIC_CELLS];
    uint64_t cell[GSH_NIC_CELLS]; /* the adapter writes them */
};
GSH_WQ_ASSERT(sizeof(struct gsh_nic) == 256 + 8 * GSH_NIC_CONTEXTS + 16 * GSH_NIC_CELLS,
              "gsh_nic is wire");

/* The CPU device's kernels wake a model adapter that sleeps, after they have rung. */
struct gsh_nic_wake {
    void (*call)(void *context);
    void *context;
};

#endif
