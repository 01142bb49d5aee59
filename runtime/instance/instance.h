/* SPDX-License-Identifier: Apache-2.0
 * One PE's state, members in order of construction. Visible to runtime/ only; other directories get
 * what they need as arguments. binding.h says for which PE a thread acts. */
#ifndef GSH_INSTANCE_H
#define GSH_INSTANCE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "bootstrap/bootstrap.h"
#include "bootstrap/fdpass.h"
#include "wire/state.h"
#include "heap/heap.h"
#include "runtime/instance/device_ops.h"
#include "base/lock.h"
#include "base/env.h"
#include "base/keys.h"
#include "base/coll_table.h"

struct gsh_bell;
struct gsh_book;
struct gsh_buffers;
struct gsh_contexts;
struct gsh_deaths;
struct gsh_far;
struct gsh_host_page;
struct gsh_net;
struct gsh_node_pes;
struct gsh_proxy;
struct gsh_shm_area;
struct gsh_teams;
struct gsh_trace;
struct gsh_trace_kernels;
struct gsh_monitor;

/* What a PE keeps of each PE of the job: few bytes, since there may be very many. */
struct gsh_peer {
    int node;   /* index of its node, in order of first appearance */
    int domain; /* from device set-up on: PEs of equal number have mapped each other's heaps; never
                   beyond a node */
    unsigned node_index : 23;   /* its place in its node, by PE number */
    unsigned is_of_process : 1; /* this PE's, whatever its node */
    uint8_t death;              /* enum gsh_death of death.h; atomic */
};
_Static_assert(sizeof(struct gsh_peer) == 12, "docs/internals/many-nodes.md");

/* What a PE keeps besides of each PE of its host. */
struct gsh_host_pe {
    uint64_t process; /* gsh_process_id */
    int pe;
};

/* What a PE keeps besides of each PE of its node. */
struct gsh_near {
    struct gsh_instance *instance; /* valid only in the same process, else NULL */
    struct gsh_host_page *page;    /* its page's head, mapped here; NULL: not yet */
    uint8_t *page_words;           /* what follows that (team/page.h) */
    struct gsh_shm_area *area;     /* for a bootstrap over pages */
    uint32_t bell;                 /* the name of its bell, in init */
    /* from device set-up on */
    const char *route_name; /* how its memory is reached; NULL: it is far */
    int32_t slot;           /* -1: no mapping here */
};

/* What all PEs have told of their devices, all CPUs, before anything else. */
struct gsh_device_told {
    struct gsh_device_attr mine;
    uint64_t memory_bytes;       /* the greatest of all */
    struct gsh_device_attr *all; /* [n_pes], without sizes and names; NULL: all are alike */
};

struct gsh_instance {
    /* Counts the PEs that have ended in this memory, which is never returned to the system: so a
     * thread sees that another one has ended its PE. Atomic; first. */
    uint64_t serial;
    uint32_t number; /* of this memory in its process, from 1 on; stays */
    struct gsh_env env;
    struct gsh_bootstrap *bootstrap; /* the launcher's */
    int my_pe, n_pes;
    int n_nodes;

    /* of the job; only what keys.h derives from it leaves this process */
    uint8_t secret[GSH_SECRET_BYTES];

    bool is_of_dialect;           /* made by a dialect, not by the program */
    bool is_one_process;          /* all PEs are threads of this process */
    bool needs_no_choice;         /* all devices are CPUs, so init sets them up */
    struct gsh_peer *peers;       /* [n_pes] */
    struct gsh_near *near;        /* by node_index; gsh_near_of */
    uint64_t *host_of_node;       /* [n_nodes] equal where nodes are of one host */
    struct gsh_host_pe *host_pes; /* [n_host_pes], by PE number; gsh_process_of */
    int n_host_pes;
    struct gsh_bell *bell;      /* while init waits for others of the node, else NULL */
    struct gsh_fdpass *fdpass;  /* NULL when the whole job is this process */
    struct gsh_host_page *page; /* own shared page: control, host sync */
    int page_fd;
    void *node_pages; /* the pages of all PEs of the node, if they are in one file, or NULL */
    uint64_t node_pages_bytes;
    struct gsh_book *book;               /* what far PEs have told; NULL: nothing */
    struct gsh_proxy *proxy;             /* the way to far PEs; NULL when every peer is near */
    struct gsh_net *net;                 /* start-up and end over it, or NULL */
    struct gsh_bootstrap *job_bootstrap; /* over the shared pages, or over the network */
    struct gsh_bootstrap
        *node_bootstrap;           /* over the pages of this node; NULL: the job is one node */
    int node_width;                /* as bootstrap/leg.h has it, of nodes */
    struct gsh_node_pes *node_pes; /* init/node.c's */
    struct gsh_monitor *monitor;   /* notices death of other processes; NULL: none to watch */
    struct gsh_deaths *deaths;     /* the same if the job outlives it */
    bool outlives_deaths;          /* death.h */
    bool is_small; /* the library's part of the heap is: one of many jobs of its processes, the same
                      on all PEs */
    uint32_t n_deaths;              /* their steps so far; atomic */
    uint32_t n_lost;                /* page->control.lost, also what kernels do not know yet */
    struct gsh_teams *teams;        /* team/team.h */
    struct gsh_contexts *contexts;  /* context/context.h */
    bool wants_static_data;         /* GSHMEMX_INIT_STATIC_DATA */
    struct gsh_static_data statics; /* zeroes: not symmetric */
    int thread_level;
    int n_locks_held;                      /* by set_lock and test_lock of the host; atomic */
    struct gsh_lock_holders *lock_holders; /* api/lock.c's, one block; NULL: none noted so far */
    struct gsh_instance *next_in_process;  /* binding.c's */

    /* second phase: from here on made by gsh_setup_device */
    bool is_device_ready;
    struct gsh_device_told *told; /* in init, if needs_no_choice */
    const struct gsh_device_ops *device_ops;
    void *device;     /* the row's own state */
    int cuda_ordinal; /* -1: CPU device */
    char device_name[64];
    uint64_t module_generation; /* gsh_modules_fill's: what had registered at the last fill */
    int *pe_of_slot;            /* [n_slots] */
    int n_slots, my_slot;
    int my_domain;            /* as peers[my_pe].domain */
    enum gsh_route far_route; /* to PEs that are not mapped here */
    bool has_whole_lines;     /* all PEs whose heaps are mapped reach each other over NVLink */
    struct gsh_far *far;      /* what the proxy has of this PE's memory, and the rings, or NULL */
    struct gsh_heap *heap;
    struct gsh_coll_table coll_table;
    struct gsh_state state;              /* as uploaded */
    struct gsh_alloc_range *alloc_table; /* checking builds; device-readable */
    struct gsh_lock alloc_table_lock;    /* of those who write it */
    uint32_t is_set_up;                  /* all of this is there; atomic: for hang/'s thread */
    struct gsh_buffers *buffers;         /* init/buffers.h; made by any thread, atomically */

    struct gsh_trace *trace;                 /* trace/record.h; NULL: no timeline is asked for */
    struct gsh_trace_kernels *trace_kernels; /* trace/kernels.h; NULL: as above */
    uint64_t trace_rounds;                   /* exchanges that have compared clocks */
};

/* NULL: the PE is on another node. */
static inline struct gsh_near *gsh_near_of(const struct gsh_instance *pe, int other)
{
    const struct gsh_peer *p = &pe->peers[other];
    return pe->near != NULL && p->node == pe->peers[pe->my_pe].node ? &pe->near[p->node_index]
                                                                    : NULL;
}
/* Its page; NULL: the PE is on another node, or the page is not yet mapped. */
static inline struct gsh_host_page *gsh_page_of(const struct gsh_instance *pe, int other)
{
    const struct gsh_near *near = gsh_near_of(pe, other);
    return near != NULL ? near->page : NULL;
}
/* NULL: the PE is of another process, or node. */
static inline struct gsh_instance *gsh_instance_of(const struct gsh_instance *pe, int other)
{
    const struct gsh_near *near = gsh_near_of(pe, other);
    return near != NULL ? near->instance : NULL;
}
static inline uint64_t gsh_host_of(const struct gsh_instance *pe, int other)
{
    return pe->host_of_node[pe->peers[other].node];
}
/* Whatever its node. */
static inline bool gsh_is_of_process(const struct gsh_instance *pe, int other)
{
    return pe->peers[other].is_of_process;
}
/* 0: the PE is on another host. */
static inline uint64_t gsh_process_of(const struct gsh_instance *pe, int other)
{
    int low = 0, high = pe->n_host_pes;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (pe->host_pes[middle].pe < other) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < pe->n_host_pes && pe->host_pes[low].pe == other ? pe->host_pes[low].process : 0;
}

/* Whether PEs look up each other's addresses and keys one by one, where they first need them; the
 * same on all PEs. Else all tell all (book.h). */
static inline bool gsh_looks_up(const struct gsh_instance *pe)
{
    return pe->n_nodes > 1 && pe->bootstrap->asking != NULL;
}

/* Whether target, which has been checked, is not mapped here. Then gsh_peer_address returns NULL,
 * and far.h has the calls. */
static inline bool gsh_is_far(const struct gsh_instance *pe, int target)
{
    return pe->peers[target].domain != pe->my_domain;
}
static inline enum gsh_route gsh_route_to(const struct gsh_instance *pe, int target)
{
    return gsh_is_far(pe, target) ? pe->far_route : GSH_ROUTE_NEAR;
}
/* -1: the PE is not mapped here. */
static inline int32_t gsh_heap_slot_of(const struct gsh_instance *pe, int target)
{
    return gsh_is_far(pe, target) ? -1 : pe->near[pe->peers[target].node_index].slot;
}

/* The rest of gsh_symmetric_off: an address outside the heap. */
static inline uint64_t gsh_statics_off(const struct gsh_instance *pe, uint64_t address)
{
    uint64_t inside = address - pe->statics.base;
    return inside < pe->statics.bytes ? pe->statics.off + inside : address - pe->state.base;
}
/* From the heap's base to the object at a symmetric address, in the heap or a global of the
 * program; at least the stride when the address is not symmetric. */
static inline uint64_t gsh_symmetric_off(const struct gsh_instance *pe, const void *symmetric)
{
    uint64_t address = (uint64_t)(uintptr_t)symmetric, off = address - pe->state.base;
    return __builtin_expect(off < pe->state.stride, 1) ? off : gsh_statics_off(pe, address);
}

#endif
