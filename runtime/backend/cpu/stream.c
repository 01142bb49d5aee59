/* SPDX-License-Identifier: Apache-2.0
 * The CPU row's calls on streams: each is a closure that the executor's stream runs in its turn,
 * by the row's host-initiated calls for near PEs and by the proxy for far ones. */
#include <inttypes.h>
#include <stddef.h>
#include "device/cpu/cpu.h"
#include "gshmem.h"
#include "runtime/backend/cpu/device.h"
#include "runtime/backend/poll.h"
#include "runtime/far/far.h"
#include "runtime/job/end.h"
#include "runtime/job/instance.h"
#include "runtime/job/turn.h"

static enum gsh_result enqueue(gsh_stream stream, void (*run)(void *), const void *arg,
                               size_t bytes)
{
    if (gshmemx_cpu_stream_enqueue(stream, run, arg, bytes) != GSH_CPU_OK) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory to enqueue on a stream");
    }
    return GSH_OK;
}

/* ---- near PEs ---- */

struct copy_closure {
    struct gsh_instance *pe;
    void *dest;
    const void *source;
    size_t bytes;
    struct gsh_signal_arg signal;
};

static void run_copy(void *arg)
{
    const struct copy_closure *c = arg;
    if (c->bytes > 0) {
        (void)c->pe->device_ops->copy(c->pe, c->dest, c->source, c->bytes);
    }
    /* Its release pairs with the acquire of whoever waits for the signal. */
    if (c->signal.address != NULL) {
        (void)c->pe->device_ops->amo(
            c->pe, c->signal.op == GSHMEM_SIGNAL_SET ? GSH_AMO_SET : GSH_AMO_ADD, c->signal.address,
            sizeof(*c->signal.address), c->signal.value, 0, NULL);
    }
}

enum gsh_result gsh_cpu_stream_copy(struct gsh_instance *pe, void *dest, const void *source,
                                    size_t bytes, struct gsh_signal_arg signal, gsh_stream stream)
{
    struct copy_closure c = {pe, dest, source, bytes, signal};
    return enqueue(stream, run_copy, &c, sizeof(c));
}

struct strided_closure {
    struct gsh_instance *pe;
    void *dest;
    const void *source;
    ptrdiff_t dst, sst;
    size_t elem_bytes, nelems;
};

static void run_strided(void *arg)
{
    const struct strided_closure *c = arg;
    (void)c->pe->device_ops->copy_strided(c->pe, c->dest, c->source, c->dst, c->sst, c->elem_bytes,
                                          c->nelems);
}

enum gsh_result gsh_cpu_stream_copy_strided(struct gsh_instance *pe, void *dest, const void *source,
                                            ptrdiff_t dst, ptrdiff_t sst, size_t elem_bytes,
                                            size_t nelems, gsh_stream stream)
{
    struct strided_closure c = {pe, dest, source, dst, sst, elem_bytes, nelems};
    return enqueue(stream, run_strided, &c, sizeof(c));
}

struct store_closure {
    struct gsh_instance *pe;
    void *dest;
    uint64_t bits;
    size_t bytes;
};

static void run_store(void *arg)
{
    const struct store_closure *c = arg;
    (void)c->pe->device_ops->store(c->pe, c->dest, c->bits, c->bytes);
}

enum gsh_result gsh_cpu_stream_store(struct gsh_instance *pe, void *dest, uint64_t bits,
                                     size_t bytes, gsh_stream stream)
{
    struct store_closure c = {pe, dest, bits, bytes};
    return enqueue(stream, run_store, &c, sizeof(c));
}

/* ---- far PEs ---- */

struct far_closure {
    struct gsh_instance *pe;
    const char *call;
    struct gsh_request request;
};

static void run_far(void *arg)
{
    struct far_closure *c = arg;
    uint8_t op = c->request.op;
    gsh_far_fence(c->pe, GSH_CONTEXT_DEFAULT, c->call);
    gsh_far_run(c->pe, GSH_CONTEXT_DEFAULT, c->call, &c->request);
    if (op == GSH_RING_PUT_LARGE || op == GSH_RING_PUT_INLINE || op == GSH_RING_IPUT) {
        gsh_far_quiet(c->pe, GSH_CONTEXT_DEFAULT, c->call);
    }
}

enum gsh_result gsh_cpu_stream_far(struct gsh_instance *pe, const char *call,
                                   const struct gsh_request *request, gsh_stream stream)
{
    struct far_closure c = {pe, call, *request};
    return enqueue(stream, run_far, &c, sizeof(c));
}

/* ---- waits ---- */

struct wait_closure {
    struct gsh_instance *pe;
    struct gsh_wait_arg wait;
};

static void run_wait(void *arg)
{
    const struct wait_closure *c = arg;
    gsh_wait_all_checked(c->pe, &c->wait);
}

enum gsh_result gsh_cpu_stream_wait(struct gsh_instance *pe, const struct gsh_wait_arg *wait,
                                    gsh_stream stream)
{
    struct wait_closure c = {pe, *wait};
    return enqueue(stream, run_wait, &c, sizeof(c));
}

/* ---- barrier and sync: the protocol of device/sync.cuh, so that they and the kernels' share one
 * epoch ---- */

struct sync_closure {
    struct gsh_instance *pe;
    int team;
    bool is_barrier;
};

static const char *call_of(const struct sync_closure *c)
{
    return c->is_barrier ? "a barrier on a stream" : "a sync on a stream";
}

/* From the heap's base. */
static uint64_t area_off(const struct sync_closure *c)
{
    const struct gsh_team_state *states =
        (const struct gsh_team_state *)(uintptr_t)c->pe->state.teams;
    return states[c->team].sync_off;
}

/* The near PE target's. */
static struct gsh_sync_area *sync_area(const struct sync_closure *c, int target)
{
    const struct gsh_instance *pe = c->pe;
    int64_t slots = (int64_t)pe->slot_of[target] - pe->my_slot;
    uint64_t base = pe->state.base + (uint64_t)(slots * (int64_t)pe->state.stride);
    return (struct gsh_sync_area *)(uintptr_t)(base + area_off(c));
}

/* A sync says nothing about data: relaxed, so that the sanitizer sees who relied on it. */
static void store_flag(const struct sync_closure *c, uint64_t *flag, uint64_t epoch)
{
    if (c->is_barrier) {
        /* release: pairs with the acquire in load_flag and in device/sync.cuh */
        __atomic_store_n(flag, epoch, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n(flag, epoch, __ATOMIC_RELAXED);
    }
}

static uint64_t load_flag(const struct sync_closure *c, const uint64_t *flag)
{
    /* acquire: pairs with the release in store_flag, with the fence in device/sync.cuh, and with
     * the proxy's atomic on round[] */
    return c->is_barrier ? __atomic_load_n(flag, __ATOMIC_ACQUIRE)
                         : __atomic_load_n(flag, __ATOMIC_RELAXED);
}

static void await_epoch(const struct sync_closure *c, int from_pe, const uint64_t *flag,
                        uint64_t epoch)
{
    unsigned turn = 0;
    uint64_t start_ns = 0;
    uint64_t seen;
    while ((seen = load_flag(c, flag)) < epoch) {
        if (gsh_host_sync_turn(c->pe, &turn, &start_ns)) {
            gsh_abort(c->pe, 1,
                      "%s: waited %.1f s for PE %d: its arrivals expected %" PRIu64
                      ", seen %" PRIu64,
                      call_of(c), gsh_host_sync_limit_s(c->pe), from_pe, epoch, seen);
        }
    }
}

/* A team on one node. */
static void fly_flags(const struct sync_closure *c, const struct gsh_team *team, uint64_t epoch)
{
    struct gsh_sync_area *own = sync_area(c, c->pe->my_pe);
    for (int i = 0; i < team->n_pes; i++) {
        if (i != team->my_index) {
            store_flag(c, &sync_area(c, team->pes[i])->flag[team->my_index], epoch);
        }
    }
    for (int i = 0; i < team->n_pes; i++) {
        if (i != team->my_index) {
            await_epoch(c, team->pes[i], &own->flag[i], epoch);
        }
    }
}

static void tell_leaders(const struct sync_closure *c, const struct gsh_team_split *nodes,
                         uint64_t epoch)
{
    int n = nodes->n_groups, me = nodes->my_group;
    uint64_t round = 0;
    for (int distance = 1; distance < n; distance *= 2, round++) {
        uint64_t off = area_off(c) + offsetof(struct gsh_sync_area, round) + round * 8;
        struct gsh_request request = {.op = GSH_RING_AMO,
                                      .amo_op = GSH_AMO_ADD,
                                      .word_bytes = 8,
                                      .pe = nodes->leaders[(me + distance) % n],
                                      .remote_off = off,
                                      .operand = 1};
        gsh_far_run(c->pe, GSH_CONTEXT_DEFAULT, call_of(c), &request);
        await_epoch(c, nodes->leaders[(me + n - distance) % n],
                    &sync_area(c, c->pe->my_pe)->round[round], epoch);
    }
}

static void sync_nodes(const struct sync_closure *c, const struct gsh_team *team, uint64_t epoch)
{
    const struct gsh_team_split *nodes = &team->nodes;
    struct gsh_sync_area *own = sync_area(c, c->pe->my_pe);
    int leader = team->pes[nodes->near[0]];
    if (nodes->my_near != 0) {
        store_flag(c, &sync_area(c, leader)->flag[team->my_index], epoch);
        await_epoch(c, leader, &own->released, epoch);
        return;
    }
    for (int i = 1; i < nodes->n_near; i++) {
        await_epoch(c, team->pes[nodes->near[i]], &own->flag[nodes->near[i]], epoch);
    }
    tell_leaders(c, nodes, epoch);
    for (int i = 1; i < nodes->n_near; i++) {
        store_flag(c, &sync_area(c, team->pes[nodes->near[i]])->released, epoch);
    }
}

static void run_sync(void *arg)
{
    const struct sync_closure *c = arg;
    const struct gsh_team *team = &c->pe->teams[c->team];
    struct gsh_sync_area *own = sync_area(c, c->pe->my_pe);
    uint64_t epoch = own->epoch + 1;
    if (c->is_barrier) {
        gsh_far_quiet(c->pe, GSH_CONTEXT_DEFAULT, call_of(c));
    }
    if (team->nodes.n_groups > 1) {
        sync_nodes(c, team, epoch);
    } else {
        fly_flags(c, team, epoch);
    }
    own->epoch = epoch;
}

enum gsh_result gsh_cpu_stream_sync(struct gsh_instance *pe, int team, bool is_barrier,
                                    gsh_stream stream)
{
    struct sync_closure c = {pe, team, is_barrier};
    return enqueue(stream, run_sync, &c, sizeof(c));
}

/* ---- order ---- */

static void run_quiet(void *arg)
{
    struct gsh_instance *const *pe = arg;
    gsh_far_quiet(*pe, GSH_CONTEXT_DEFAULT, "gshmemx_quiet_on_stream");
    gshmemx_cpu_fence();
}

enum gsh_result gsh_cpu_stream_quiet(struct gsh_instance *pe, gsh_stream stream)
{
    return enqueue(stream, run_quiet, &pe, sizeof(pe));
}

enum gsh_result gsh_cpu_stream_synchronize(struct gsh_instance *pe, gsh_stream stream)
{
    (void)pe;
    gshmemx_cpu_stream_synchronize(stream);
    return GSH_OK;
}
