/* SPDX-License-Identifier: Apache-2.0
 * The CUDA row's calls on the user's streams. Everything here can be captured into a graph: only
 * copies, kernels and words that the stream writes are enqueued, scalars travel by value, and the
 * barrier's epoch lives on the device. Compiled only where there are CUDA headers. */
#include "runtime/backend/cuda/device.h"

#include <string.h>
#include "base/atomic.h"
#include "gshmem/types.h"
#include "proxy/request.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"
#include "runtime/team/team.h"

/* From measurements (perftest/results/h200-constants.md). Outside graphs the copy engine moves the
 * data and the stream itself writes the signal: a host that waits would wait longer for a kernel.
 * In graphs, where a kernel starts at once, one block copies and signals up to these sizes; larger
 * copies and their signals go as outside graphs. */
#define GRAPH_KERNEL_PUT_MAX_BYTES    (32u << 10)
#define GRAPH_KERNEL_GET_MAX_BYTES    (16u << 10)
#define GRAPH_KERNEL_SIGNAL_MAX_BYTES (96u << 10)
/* Outside graphs an ADD, always a kernel, also copies up to this size. */
#define KERNEL_SIGNAL_MAX_BYTES (32u << 10)

/* Whether what is enqueued now becomes part of a graph. The context is current. */
static bool is_captured(const struct gsh_cuda_device *d, CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return d->cuda->StreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* ---- copies ---- */

/* A copy of at least one byte, and perhaps a signal. */
struct stream_copy {
    void *dest;
    const void *source;
    size_t bytes;
    struct gsh_signal_arg signal;
};

/* Whether source lies in the heap of another PE. */
static bool is_get(const struct gsh_instance *pe, const void *source)
{
    return gsh_cuda_is_mapped(pe, source) &&
           (uint64_t)(uintptr_t)source - pe->state.base >= pe->state.stride;
}

/* Whether one kernel would be fastest for all of it. */
static bool suits_kernel(const struct gsh_instance *pe, const struct stream_copy *c, bool is_graph)
{
    if (c->signal.address == NULL) {
        return is_graph && c->bytes <= (is_get(pe, c->source) ? GRAPH_KERNEL_GET_MAX_BYTES
                                                              : GRAPH_KERNEL_PUT_MAX_BYTES);
    }
    return is_graph ? c->bytes <= GRAPH_KERNEL_SIGNAL_MAX_BYTES
                    : c->signal.op == GSHMEM_SIGNAL_ADD && c->bytes <= KERNEL_SIGNAL_MAX_BYTES;
}

static enum gsh_result launch_put_signal(struct gsh_instance *pe, uint64_t dest, uint64_t source,
                                         size_t bytes, struct gsh_signal_arg signal,
                                         CUstream stream)
{
    struct gsh_kernel_put_signal_args args = {
        .dest = dest,
        .source = source,
        .bytes = bytes,
        .signal = (uint64_t)(uintptr_t)signal.address,
        .value = signal.value,
        .op = (uint64_t)signal.op,
    };
    /* one thread for each 16 bytes */
    unsigned threads = bytes == 0 ? 1 : bytes <= 512 ? 32 : bytes <= 4096 ? 256 : 1024;
    return gsh_cuda_launch(pe->device, GSH_KERNEL_PUT_SIGNAL, 1, threads, &args, stream);
}

/* By a kernel, if that can reach all of the memory; else *is_done stays false. */
static enum gsh_result copy_by_kernel(struct gsh_instance *pe, const struct stream_copy *c,
                                      CUstream stream, bool *is_done)
{
    uint64_t dest = gsh_cuda_kernel_address(pe, c->dest);
    uint64_t source = gsh_cuda_kernel_address(pe, c->source);
    if (dest == 0 || source == 0) {
        return GSH_OK;
    }
    *is_done = true;
    return launch_put_signal(pe, dest, source, c->bytes, c->signal, stream);
}

/* By a word that the stream writes if possible, else by a kernel. */
static enum gsh_result send_signal(struct gsh_instance *pe, struct gsh_signal_arg signal,
                                   bool by_kernel, CUstream stream)
{
    const struct gsh_cuda_device *d = pe->device;
    if (signal.op == GSHMEM_SIGNAL_SET && d->can_write_values && !by_kernel) {
        /* after a memory barrier: the stream's earlier work is seen with it */
        return gsh_cuda_write_word(d, signal.address, 8, signal.value, stream);
    }
    return launch_put_signal(pe, 0, 0, 0, signal, stream);
}

static enum gsh_result copy_by_engine(struct gsh_instance *pe, const struct stream_copy *c,
                                      CUstream stream)
{
    const struct gsh_cuda_device *d = pe->device;
    enum gsh_result r =
        gsh_cuda_result(d->cuda->MemcpyAsync((CUdeviceptr)(uintptr_t)c->dest,
                                             (CUdeviceptr)(uintptr_t)c->source, c->bytes, stream),
                        "cuMemcpyAsync");
    if (r != GSH_OK || c->signal.address == NULL) {
        return r;
    }
    return send_signal(pe, c->signal, false, stream);
}

enum gsh_result gsh_cuda_stream_copy(struct gsh_instance *pe, void *dest, const void *source,
                                     size_t bytes, struct gsh_signal_arg signal, gsh_stream stream)
{
    struct gsh_cuda_device *d = pe->device;
    const struct stream_copy copy = {dest, source, bytes, signal};
    bool entered = gsh_cuda_enter(d), is_done = false;
    enum gsh_result r = GSH_OK;
    if (bytes <= GRAPH_KERNEL_SIGNAL_MAX_BYTES && suits_kernel(pe, &copy, is_captured(d, stream))) {
        r = copy_by_kernel(pe, &copy, stream, &is_done);
    }
    if (r == GSH_OK && !is_done) {
        r = copy_by_engine(pe, &copy, stream);
    }
    gsh_cuda_leave(d, entered);
    return r;
}

/* A signal alone: in a graph a kernel is faster than a word that the stream writes. */
enum gsh_result gsh_cuda_stream_signal(struct gsh_instance *pe, struct gsh_signal_arg signal,
                                       gsh_stream stream)
{
    struct gsh_cuda_device *d = pe->device;
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r = send_signal(pe, signal, is_captured(d, stream), stream);
    gsh_cuda_leave(d, entered);
    return r;
}

enum gsh_result gsh_cuda_stream_copy_strided(struct gsh_instance *pe, void *dest,
                                             const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                             size_t elem_bytes, size_t nelems, gsh_stream stream)
{
    struct gsh_cuda_device *d = pe->device;
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r =
        gsh_cuda_copy_strided(pe, dest, source, dst, sst, elem_bytes, nelems, stream);
    gsh_cuda_leave(d, entered);
    return r;
}

/* A launch with the context current. */
static enum gsh_result launch(struct gsh_instance *pe, enum gsh_kernel kernel, unsigned threads,
                              void *args, gsh_stream stream)
{
    struct gsh_cuda_device *d = pe->device;
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r = gsh_cuda_launch(d, kernel, 1, threads, args, stream);
    gsh_cuda_leave(d, entered);
    return r;
}

enum gsh_result gsh_cuda_stream_store(struct gsh_instance *pe, void *dest, uint64_t bits,
                                      size_t bytes, gsh_stream stream)
{
    struct gsh_cuda_device *d = pe->device;
    struct gsh_kernel_store_args args = {(uint64_t)(uintptr_t)dest, bits, bytes};
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r = is_captured(d, stream)
                            ? gsh_cuda_launch(d, GSH_KERNEL_STORE, 1, 1, &args, stream)
                            : gsh_cuda_store(d, dest, bits, bytes, stream);
    gsh_cuda_leave(d, entered);
    return r;
}

enum gsh_result gsh_cuda_stream_wait(struct gsh_instance *pe, const struct gsh_wait_arg *wait,
                                     gsh_stream stream)
{
    struct gsh_kernel_wait_args args = {
        .ivars = (uint64_t)(uintptr_t)wait->ivars,
        .nelems = wait->nelems,
        .status = (uint64_t)(uintptr_t)wait->status,
        .values = (uint64_t)(uintptr_t)wait->values,
        .value = wait->value,
        .cmp = wait->cmp,
        .bytes = wait->kind.bytes,
        .is_signed = wait->kind.is_signed,
    };
    gsh_waits_copy_call(args.call, sizeof(args.call), wait->call);
    return launch(pe, GSH_KERNEL_WAIT, wait->nelems < 2 ? 1 : 128, &args, stream);
}

enum gsh_result gsh_cuda_stream_sync(struct gsh_instance *pe, const char *call,
                                     const struct gsh_team *team, bool is_barrier,
                                     gsh_stream stream)
{
    struct gsh_kernel_sync_args args = {.team = team->handle, .is_barrier = is_barrier};
    gsh_waits_copy_call(args.call, sizeof(args.call), call);
    return launch(pe, GSH_KERNEL_SYNC, 32, &args, stream);
}

enum gsh_result gsh_cuda_stream_trace(struct gsh_instance *pe,
                                      const struct gsh_kernel_trace_args *events, gsh_stream stream)
{
    struct gsh_kernel_trace_args args = *events;
    return launch(pe, GSH_KERNEL_TRACE, 1, &args, stream);
}

/* A full launch queue (1022 launches) blocks every other CUDA call in this process, including those
 * of the proxy, for which the kernels in the queue wait. So at most this many kernels of this kind
 * are in it; each comes with a few other launches. */
#define FAR_PENDING_MAX 192u

/* Turns of a wait before asking CUDA whether it still works: after an error no kernel counts. */
#define POLLS_PER_QUERY 1024u

/* Gives back what await_launches has counted for a launch that does not take place. */
static void forget_launch(struct gsh_cuda_device *d, uint64_t done)
{
    if (done != 0) {
        __atomic_sub_fetch(&d->n_far_launched, 1, __ATOMIC_RELAXED);
    }
}

static enum gsh_result query_device(struct gsh_cuda_device *d)
{
    bool entered = gsh_cuda_enter(d);
    CUresult code = d->cuda->StreamQuery(d->out.stream);
    gsh_cuda_leave(d, entered);
    return code == CUDA_ERROR_NOT_READY ? GSH_OK : gsh_cuda_result(code, "cuStreamQuery");
}

/* *at: the address at which the kernel counts; 0 in a graph, whose launches the user makes. */
static enum gsh_result await_launches(struct gsh_cuda_device *d, CUstream stream, uint64_t *at)
{
    const uint64_t *done = (const uint64_t *)d->out.words + GSH_CUDA_FAR_WORD;
    unsigned backoff = 0, n_polls = 0;
    enum gsh_result r = GSH_OK;
    bool entered = gsh_cuda_enter(d), is_in_graph = is_captured(d, stream);
    *at = 0;
    if (is_in_graph) {
        gsh_cuda_leave(d, entered);
        return GSH_OK;
    }
    *at = (uint64_t)(uintptr_t)done;
    uint64_t mine = __atomic_add_fetch(&d->n_far_launched, 1, __ATOMIC_RELAXED);
    while (r == GSH_OK && mine - gsh_load_relaxed_u64(done) > FAR_PENDING_MAX) {
        gsh_backoff(&backoff);
        if (++n_polls % POLLS_PER_QUERY == 0) {
            r = query_device(d);
        }
    }
    gsh_cuda_leave(d, entered);
    if (r != GSH_OK) {
        forget_launch(d, *at);
    }
    return r;
}

/* The copy engine cannot reach far PEs. So a kernel of one block asks the proxy through a ring, as
 * a user's kernel does. If the proxy cannot read or write the local side, the kernel sends or
 * fetches the bytes through the ring, in pieces. */
enum gsh_result gsh_cuda_stream_far(struct gsh_instance *pe, const char *call,
                                    const struct gsh_request *request, gsh_stream stream)
{
    struct gsh_kernel_far_args args = {
        .remote = pe->state.base + request->remote_off,
        .bytes = request->bytes,
        .signal =
            pe->state.base + (request->op == GSH_FAR_AMO ? request->remote_off : request->sig_off),
        .value = request->op == GSH_FAR_AMO ? request->operand : request->signal,
        .dst = request->op == GSH_FAR_IPUT ? request->remote_stride : request->local_stride,
        .sst = request->op == GSH_FAR_IPUT ? request->local_stride : request->remote_stride,
        .elem_bytes = request->elem_bytes,
        .nelems = request->nelems,
        .op = request->op,
        .sig_op = request->sig_op,
        .pe = request->pe,
    };
    gsh_waits_copy_call(args.call, sizeof(args.call), call);
    if (request->op == GSH_FAR_P) {
        memcpy(&args.value, request->inline_data, sizeof(args.value));
    }
    if (request->local != NULL) {
        struct gsh_cuda_device *d = pe->device;
        bool entered = gsh_cuda_enter(d);
        args.local = gsh_cuda_kernel_address(pe, request->local);
        gsh_cuda_leave(d, entered);
        if (args.local == 0) {
            return gsh_fail(
                GSH_ERR_UNSUPPORTED,
                "%p is ordinary host memory, which a call on a stream cannot use with PE "
                "%d behind the network: take symmetric or pinned memory",
                request->local, request->pe);
        }
    }
    bool is_in_heap = args.local - pe->state.base < pe->state.stride;
    enum gsh_result r = await_launches(pe->device, stream, &args.done);
    if (r != GSH_OK) {
        return r;
    }
    r = launch(pe, GSH_KERNEL_FAR, request->local == NULL || is_in_heap ? 32 : 256, &args, stream);
    if (r != GSH_OK) {
        forget_launch(pe->device, args.done);
    }
    return r;
}

/* A stream is in order, and when an operation ends, its writes to near PEs are visible to all. */
enum gsh_result gsh_cuda_stream_quiet(struct gsh_instance *pe, gsh_stream stream)
{
    static const struct gsh_request quiet = {.op = GSH_FAR_QUIET};
    return pe->proxy != NULL ? gsh_cuda_stream_far(pe, "gshmemx_quiet_on_stream", &quiet, stream)
                             : GSH_OK;
}

enum gsh_result gsh_cuda_stream_synchronize(struct gsh_instance *pe, gsh_stream stream)
{
    struct gsh_cuda_device *d = pe->device;
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r = gsh_cuda_result(d->cuda->StreamSynchronize(stream), "cuStreamSynchronize");
    gsh_cuda_leave(d, entered);
    return r;
}
