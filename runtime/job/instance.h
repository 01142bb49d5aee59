/* SPDX-License-Identifier: Apache-2.0
 * One PE's state, members in order of construction. Visible to runtime/ only; other folders get
 * what they need as arguments. A PE is found through a thread-local binding; threads that never
 * called init use the process's only PE when it has just one. */
#ifndef GSH_INSTANCE_H
#define GSH_INSTANCE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "bootstrap/bootstrap.h"
#include "bootstrap/fdpass.h"
#include "device/state.h"
#include "heap/heap.h"
#include "runtime/base/env.h"
#include "runtime/backend/device.h"

struct gsh_far;
struct gsh_host_page;
struct gsh_net;
struct gsh_proxy;
struct gsh_shm_area;
struct gsh_teams;
struct gsh_watch;

/* What every PE tells the others at start-up. */
struct gsh_peer {
    int pid;
    int node;                      /* index of its node, by first appearance */
    int node_index;                /* its place in its node, by PE number */
    uint64_t host_hash;            /* boot id and network namespace */
    bool is_same_process;          /* whatever its node */
    struct gsh_instance *instance; /* valid only in the same process and node, else NULL */
    struct gsh_host_page *page;    /* its page, mapped here; NULL when not on this node */
    /* from device set-up on */
    int domain;        /* PEs of equal number have mapped each other's heaps; never beyond a node */
    int cuda_ordinal;  /* as that PE counts; -1: CPU device */
    const char *route; /* what gshmemx_route_name says */
    char device_name[64];
};

struct gsh_instance {
    struct gsh_env env;
    struct gsh_bootstrap *bootstrap; /* the launcher's */
    int my_pe, n_pes;
    int n_nodes;
    bool is_one_process;        /* all PEs are threads of this process */
    struct gsh_peer *peers;     /* [n_pes] */
    struct gsh_fdpass *fdpass;  /* NULL when the whole job is this process */
    struct gsh_host_page *page; /* own shared page: control, host sync */
    int page_fd;
    struct gsh_proxy *proxy;             /* the way to far PEs; NULL when every peer is near */
    struct gsh_net *net;                 /* start-up and end over it; or NULL */
    struct gsh_bootstrap *job_bootstrap; /* over the shared pages, or over the network */
    struct gsh_shm_area **page_areas;    /* [n_pes], for a job_bootstrap over pages */
    struct gsh_watch *watch;             /* death of other processes; NULL when nothing to watch */
    struct gsh_teams *teams;             /* team/team.h */
    int thread_level;
    struct gsh_instance *next_in_process; /* instance.c's */

    /* two-stage: from here on made by gsh_instance_setup_device */
    bool is_device_ready;
    const struct gsh_device_ops *device_ops;
    void *device;               /* the row's own state */
    uint64_t module_generation; /* gsh_modules_fill's: what had registered at the last fill */
    int *pe_of_slot;            /* [n_slots] */
    int32_t *slot_of;           /* [n_pes], -1: far, reached by the proxy */
    int n_slots, my_slot;
    struct gsh_far *far; /* what the proxy has of this PE's memory, and the rings; or NULL */
    struct gsh_heap *heap;
    struct gsh_state state;              /* as uploaded */
    struct gsh_alloc_range *alloc_table; /* checking builds; device-readable */
};

/* The calling thread's PE, NULL before init and after finalize. */
struct gsh_instance *gsh_instance_current(void);
/* The PE the calling thread itself made, or NULL. */
struct gsh_instance *gsh_instance_bound(void);
/* One of the process's PEs, the latest; NULL: none. */
struct gsh_instance *gsh_instance_first(void);
/* The same for public calls: prints "<call>: called before gshmem_init" (or after finalize) and
 * ends the process when there is none. */
struct gsh_instance *gsh_instance_need(const char *call);
/* As above, and completes device set-up (collective at the first such call). */
struct gsh_instance *gsh_instance_need_device(const char *call);

/* Public front ends' checks. Each ends the job with one line naming call, PE and reason when the
 * promise is broken. */
void *gsh_peer_address(struct gsh_instance *pe, const char *call, const void *symmetric,
                       uint64_t bytes,
                       int target); /* also checks target; in checking builds range */
/* Whether target, a PE that has been checked, has no address here: gsh_peer_address gives NULL, and
 * far.h has the calls. */
static inline bool gsh_is_far(const struct gsh_instance *pe, int target)
{
    return pe->slot_of[target] < 0;
}

/* Ends the job: one line "gshmem: PE n: <message>", tells the other PEs, exits with status. */
void gsh_abort(struct gsh_instance *pe, int status, const char *format, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
/* Ends the job with the last error. */
void gsh_give_up(struct gsh_instance *pe, const char *call) __attribute__((noreturn));
/* For results a void public call cannot return: gsh_abort with the last error when r is not OK. */
static inline void gsh_require(struct gsh_instance *pe, const char *call, enum gsh_result r)
{
    if (r != GSH_OK) {
        gsh_give_up(pe, call);
    }
}
/* The public code of r. */
int gsh_public_error(enum gsh_result r);

/* One turn of a host wait: backs off; ends the job when another PE died or aborted. Returns true
 * once GSHMEM_WAIT_TIMEOUT has passed since *start_ns (0: set it now). */
bool gsh_host_wait_turn(struct gsh_instance *pe, unsigned *turn, uint64_t *start_ns);
/* The same for those who wait for a PE to arrive: a little longer (GSH_SYNC_LIMIT_NS). */
bool gsh_host_sync_turn(struct gsh_instance *pe, unsigned *turn, uint64_t *start_ns);
/* And without backing off, for those who do it by themselves. */
bool gsh_host_sync_look(struct gsh_instance *pe, uint64_t *start_ns);
/* That limit in seconds, for messages. */
double gsh_host_sync_limit_s(const struct gsh_instance *pe);

#endif
