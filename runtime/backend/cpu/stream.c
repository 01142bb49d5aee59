/* SPDX-License-Identifier: Apache-2.0
 * The CPU row's calls on streams: each is a closure that the executor runs in stream order. It uses
 * the row's host-initiated calls for near PEs, and the proxy for far ones. Calls in which kernels
 * and streams take part together launch one of the library's kernels (kernels/kernels.cu). */
#include <stddef.h>
#include "cpu/cpu.h"
#include "wire/kernels.h"
#include "gshmem.h"
#include "runtime/backend/cpu/device.h"
#include "runtime/backend/poll.h"
#include "runtime/far/far.h"
#include "runtime/team/team.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"
#include "runtime/instance/host_wait.h"
#include "runtime/instance/waits.h"

/* Of the executor's code. */
static enum gsh_result result_of(int code)
{
    return code == GSH_CPU_OK ? GSH_OK
           : code == GSH_CPU_ERR_STREAM
               ? gsh_note(GSH_ERR_ARG, "the stream does not exist, or has been destroyed")
               : gsh_fail(GSH_ERR_NOMEM, "no memory to enqueue on a stream");
}

/* Earlier work of the stream may have been left. Gives the same answer as is_given_up in
 * device/context.cuh, for calls whose effects other PEs would see. */
static bool is_given_up(const struct gsh_instance *pe)
{
    return gsh_page_is_leaving(pe->page);
}

static enum gsh_result enqueue(gsh_stream stream, void (*run)(void *), const void *arg,
                               size_t bytes)
{
    return result_of(gshmemx_cpu_stream_enqueue(stream, run, arg, bytes));
}

enum gsh_result gsh_cpu_launch_kernel(struct gsh_instance *pe, void (*entry)(void *),
                                      const void *args, size_t bytes, gsh_stream stream)
{
    const struct gsh_cpu_launch launch = {
        .entry = entry,
        .args = args,
        .args_bytes = bytes,
        .grid = {1, 1, 1},
        .block = {1, 1, 1},
        .device = pe->device,
    };
    return result_of(gshmemx_cpu_launch(&launch, stream));
}

/* ---- near PEs ---- */

struct copy_closure {
    struct gsh_instance *pe;
    void *dest;
    const void *source;
    size_t bytes;
    struct gsh_signal_arg signal;
};

/* Its release pairs with the acquire of the thread that waits for the signal. */
static void send_signal(struct gsh_instance *pe, const struct gsh_signal_arg *s)
{
    (void)pe->device_ops->amo(pe, GSH_CONTEXT_DEFAULT, gsh_amo_of_signal(s->op), s->address,
                              sizeof(*s->address), s->value, 0, NULL);
}

static void run_copy(void *arg)
{
    const struct copy_closure *c = arg;
    if (c->signal.address != NULL && is_given_up(c->pe)) {
        return;
    }
    (void)c->pe->device_ops->copy(c->pe, GSH_CONTEXT_DEFAULT, c->dest, c->source, c->bytes);
    if (c->signal.address != NULL) {
        send_signal(c->pe, &c->signal);
    }
}

enum gsh_result gsh_cpu_stream_copy(struct gsh_instance *pe, void *dest, const void *source,
                                    size_t bytes, struct gsh_signal_arg signal, gsh_stream stream)
{
    struct copy_closure c = {pe, dest, source, bytes, signal};
    return enqueue(stream, run_copy, &c, sizeof(c));
}

struct signal_closure {
    struct gsh_instance *pe;
    struct gsh_signal_arg signal;
};

static void run_signal(void *arg)
{
    const struct signal_closure *c = arg;
    if (!is_given_up(c->pe)) {
        send_signal(c->pe, &c->signal);
    }
}

enum gsh_result gsh_cpu_stream_signal(struct gsh_instance *pe, struct gsh_signal_arg signal,
                                      gsh_stream stream)
{
    struct signal_closure c = {pe, signal};
    return enqueue(stream, run_signal, &c, sizeof(c));
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
    (void)c->pe->device_ops->copy_strided(c->pe, GSH_CONTEXT_DEFAULT, c->dest, c->source, c->dst,
                                          c->sst, c->elem_bytes, c->nelems);
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
    (void)c->pe->device_ops->store(c->pe, GSH_CONTEXT_DEFAULT, c->dest, c->bits, c->bytes);
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
    uint32_t site; /* of the call in the program: instance/waits.h */
    struct gsh_request request;
};

static void run_far(void *arg)
{
    struct far_closure *c = arg;
    uint8_t op = c->request.op;
    if (is_given_up(c->pe)) {
        return;
    }
    gsh_waits_use_site(c->site);
    gsh_far_fence(c->pe, GSH_CONTEXT_DEFAULT, c->call);
    gsh_far_run(c->pe, GSH_CONTEXT_DEFAULT, c->call, &c->request);
    if (op == GSH_FAR_PUT || op == GSH_FAR_P || op == GSH_FAR_IPUT) {
        gsh_far_quiet(c->pe, GSH_CONTEXT_DEFAULT, c->call);
    }
    gsh_waits_use_site(0);
}

enum gsh_result gsh_cpu_stream_far(struct gsh_instance *pe, const char *call,
                                   const struct gsh_request *request, gsh_stream stream)
{
    struct far_closure c = {pe, call, gsh_waits_site_number(), *request};
    return enqueue(stream, run_far, &c, sizeof(c));
}

/* ---- waits ---- */

struct wait_closure {
    struct gsh_instance *pe;
    struct gsh_wait_arg wait;
    uint32_t site;
};

static void run_wait(void *arg)
{
    const struct wait_closure *c = arg;
    gsh_waits_use_site(c->site);
    gsh_wait_all_checked(c->pe, &c->wait, true);
    gsh_waits_use_site(0);
}

enum gsh_result gsh_cpu_stream_wait(struct gsh_instance *pe, const struct gsh_wait_arg *wait,
                                    gsh_stream stream)
{
    struct wait_closure c = {pe, *wait, gsh_waits_site_number()};
    return enqueue(stream, run_wait, &c, sizeof(c));
}

/* ---- barrier and sync: by the library's kernel, one thread of it ---- */

enum gsh_result gsh_cpu_stream_sync(struct gsh_instance *pe, const char *call,
                                    const struct gsh_team *team, bool is_barrier, gsh_stream stream)
{
    struct gsh_kernel_sync_args args = {.team = team->handle, .is_barrier = is_barrier};
    gsh_waits_copy_call(args.call, sizeof(args.call), call);
    return gsh_cpu_launch_kernel(pe, gsh_kernel_sync_on_cpu, &args, sizeof(args), stream);
}

/* ---- the timeline: likewise ---- */

enum gsh_result gsh_cpu_stream_trace(struct gsh_instance *pe,
                                     const struct gsh_kernel_trace_args *events, gsh_stream stream)
{
    return gsh_cpu_launch_kernel(pe, gsh_kernel_trace_on_cpu, events, sizeof(*events), stream);
}

/* ---- order ---- */

struct quiet_closure {
    struct gsh_instance *pe;
    uint32_t site;
};

static void run_quiet(void *arg)
{
    const struct quiet_closure *c = arg;
    gsh_waits_use_site(c->site);
    gsh_far_quiet(c->pe, GSH_CONTEXT_DEFAULT, "gshmemx_quiet_on_stream");
    gsh_waits_use_site(0);
    gshmemx_cpu_fence();
}

enum gsh_result gsh_cpu_stream_quiet(struct gsh_instance *pe, gsh_stream stream)
{
    struct quiet_closure c = {pe, gsh_waits_site_number()};
    return enqueue(stream, run_quiet, &c, sizeof(c));
}

enum gsh_result gsh_cpu_stream_synchronize(struct gsh_instance *pe, gsh_stream stream)
{
    (void)pe;
    return result_of(gshmemx_cpu_stream_synchronize(stream));
}
