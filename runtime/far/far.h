/* SPDX-License-Identifier: Apache-2.0
 * Operations on far PEs, through the proxy: requests of host calls (and the CPU device's streams),
 * and the proxy's access to this PE's memory. A job without far PEs has none of it. */
#ifndef GSH_FAR_H
#define GSH_FAR_H

#include <string.h>
#include "proxy/request.h"
#include "runtime/instance/instance.h"
#include "wire/ring.h"

/* A request (enum gsh_far_op) on target's copy of `symmetric`, the rest for the caller to fill. */
struct gsh_request gsh_far_request(const struct gsh_instance *pe, int op, const void *symmetric,
                                   int target);
/* Complete in its own sense on return; ends the job on failure. Any thread. ctx: the request's
 * context, here and below. */
void gsh_far_run(struct gsh_instance *pe, gsh_context ctx, const char *call,
                 struct gsh_request *request);
/* As above, without waiting, for puts and gets: complete after gsh_far_quiet. */
void gsh_far_post(struct gsh_instance *pe, gsh_context ctx, const char *call,
                  struct gsh_request *request);
/* As above, for puts of at least one byte; is_nbi: without waiting. */
void gsh_far_put(struct gsh_instance *pe, gsh_context ctx, const char *call, void *symmetric,
                 const void *source, uint64_t bytes, int target, bool is_nbi);
/* p: 1, 2, 4 or 8 bytes. */
void gsh_far_store(struct gsh_instance *pe, gsh_context ctx, const char *call, void *symmetric,
                   uint64_t bits, size_t bytes, int target);
/* g: the same, read whole. */
uint64_t gsh_far_load(struct gsh_instance *pe, gsh_context ctx, const char *call,
                      const void *symmetric, size_t bytes, int target);

/* Both cover this PE's requests in that context, by any thread, and those of its complete kernels.
 * Both return at once when there were none since the last call. */
void gsh_far_fence(struct gsh_instance *pe, gsh_context ctx, const char *call);
void gsh_far_quiet(struct gsh_instance *pe, gsh_context ctx, const char *call);
/* In all contexts. */
void gsh_far_quiet_all(struct gsh_instance *pe, const char *call);
/* The same for a PE with far memory whose process exits: a failure is ignored, without a line. */
void gsh_far_settle(struct gsh_instance *pe);
/* From now on the proxy reads the ring of the context with this number (not 0), if the device is
 * set up. One thread at a time. */
GSH_CHECK_RESULT enum gsh_result gsh_far_open(struct gsh_instance *pe, gsh_context ctx);

/* ---- set-up; far_memory.c ---- */

/* GSHMEM_STAGE. */
static inline bool gsh_far_stages_always(const struct gsh_instance *pe)
{
    return strcmp(pe->env.stage, "always") == 0;
}
/* The rings' variables. */
GSH_CHECK_RESULT enum gsh_result gsh_far_check(const struct gsh_instance *pe);
/* pe->proxy exists. */
GSH_CHECK_RESULT enum gsh_result gsh_far_create(struct gsh_instance *pe);
/* Accepts none. Memory that the proxy may still use stays until the proxy is destroyed. */
void gsh_far_destroy(struct gsh_instance *pe);
/* For gsh_heap_options, after gsh_far_create: the proxy of every PE learns of the heap's memory. */
struct gsh_heap_events gsh_far_heap_events(struct gsh_instance *pe);
/* The rings' words in this PE's device memory, and their initial values. */
uint64_t gsh_far_rings_bytes(const struct gsh_instance *pe);
void gsh_far_rings_fill(const struct gsh_instance *pe, void *rings);
/* Rings of the default context. */
int gsh_far_n_rings(const struct gsh_instance *pe);
/* After the rings' words are written: the proxy reads the default context's rings from now on. */
GSH_CHECK_RESULT enum gsh_result gsh_far_start(struct gsh_instance *pe);

/* Collective over pe->bootstrap, in place of the making of the heap, whose first region others tell
 * there: this PE has failed before, with that result. They then end init, too, with what this
 * returns, and PE 0 prints the words that this PE has noted. */
GSH_CHECK_RESULT enum gsh_result gsh_far_tell_failed(struct gsh_instance *pe,
                                                     enum gsh_result prior);

/* ---- an adapter to which kernels post by themselves; far_nic.c ---- */

/* To which kind of NIC kernels are to post by themselves. */
enum gsh_far_nic_kind { GSH_FAR_NIC_NONE, GSH_FAR_NIC_REAL, GSH_FAR_NIC_MODEL };
enum gsh_far_nic_kind gsh_far_nic_kind(const struct gsh_instance *pe);
/* Collective if there is one, after gsh_far_create; the routes to far PEs are known, and may
 * change: GSHMEM_REMOTE and GSHMEM_NIC. */
GSH_CHECK_RESULT enum gsh_result gsh_far_nic_create(struct gsh_instance *pe);
/* After the heap. Accepts none. */
void gsh_far_nic_destroy(struct gsh_instance *pe);
/* The rest only if there is one. */
static inline bool gsh_far_has_nic(const struct gsh_instance *pe);
/* For gsh_heap_options. */
struct gsh_heap_events gsh_far_nic_heap_events(struct gsh_instance *pe);
/* struct gsh_nic and its queues in this PE's device memory; bytes: 0: there is none. fill: their
 * first values; device_table: where kernels will have them. */
uint64_t gsh_far_nic_bytes(const struct gsh_instance *pe);
void gsh_far_nic_fill(const struct gsh_instance *pe, void *table, uint64_t device_table);
/* What the state, whose run is known, says of it. */
uint64_t gsh_far_nic_state(const struct gsh_instance *pe, uint64_t device_table,
                           const struct gsh_state *state);
/* What complete kernels have posted in that context is complete. */
void gsh_far_nic_quiet(struct gsh_instance *pe, gsh_context ctx);
/* Entries that kernels have posted and rung for, and that are not done; of those that nobody has
 * seen done for longest, the first one's name, its PE, and since when at least (CLOCK_MONOTONIC):
 * since the first call that saw it. One thread at a time. False: there is no adapter. */
struct gsh_nic_unfinished {
    uint64_t n, since_ns;
    const char *name; /* NULL: not known */
    int pe;
};
bool gsh_far_nic_find_unfinished(struct gsh_instance *pe, struct gsh_nic_unfinished *u);
/* For gsh_trace_kernels_count_nic_by; nic_counts.c. One thread at a time. */
struct gsh_trace_nic;
bool gsh_far_nic_count(struct gsh_instance *pe, struct gsh_trace_nic *counts);
/* Makes some progress; for threads that wait. */
void gsh_far_nic_help(struct gsh_instance *pe);

/* Private to far*.c */
struct gsh_far_nic;

struct gsh_far_ring {
    struct gsh_ring_slot *slots;
    struct gsh_ring_cpu *cpu;
    uint64_t quieted; /* a host quiet covered the positions before it; atomic */
    uint64_t fenced;  /* the same of a fence */
    bool is_read;     /* by the proxy */
};

struct gsh_far {
    struct gsh_instance *pe;
    /* By context: how many requests of host threads (gsh_proxy_n_requests) a fence or quiet has
     * covered; atomic. */
    uint64_t n_fenced[GSH_CONTEXTS], n_quieted[GSH_CONTEXTS];
    int n_rings;     /* of the default context */
    int n_all_rings; /* then one for each other context, by number */
    uint64_t n_slots;
    void *memory; /* of all rings; host memory, mapped for the device */
    size_t memory_bytes;
    uint64_t device_memory; /* as the device sees it */
    struct gsh_far_ring rings[GSH_RING_MAX_RINGS + GSH_CONTEXTS];
    bool is_read;                       /* the proxy reads rings */
    struct gsh_late_copy_streams *late; /* stand in for a GPU's copy streams, or NULL */
    enum gsh_heap_told told;            /* of the latest region */
    uint64_t alone_off;      /* a region that the other PEs have not heard of; UINT64_MAX: none */
    struct gsh_far_nic *nic; /* or NULL */
};

static inline bool gsh_far_has_nic(const struct gsh_instance *pe)
{
    return pe->far != NULL && pe->far->nic != NULL;
}

#endif
