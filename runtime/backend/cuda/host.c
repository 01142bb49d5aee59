/* SPDX-License-Identifier: Apache-2.0
 * Host-initiated calls, on the library's own streams.
 *
 * They need no multiprocessor, so they work beside a kernel that fills the GPU and waits for them.
 * Exceptions: atomics other than set, and strided copies. */
#include "runtime/backend/cuda/device.h"

#include <string.h>
#include "base/util.h"
#include "runtime/instance/instance.h"

/* A host-initiated call holds its copy stream and the CUDA context between begin and end, even if
 * begin fails. */
static enum gsh_result begin(struct gsh_cuda_device *d, struct gsh_own_stream *copy_stream,
                             bool *entered)
{
    *entered = gsh_cuda_enter(d); /* first: who has the lock may be in the driver for long */
    pthread_mutex_lock(&copy_stream->lock);
    return copy_stream->stream != NULL ? GSH_OK : gsh_cuda_make_stream(d, copy_stream);
}

static void end(struct gsh_cuda_device *d, struct gsh_own_stream *copy_stream, bool entered)
{
    pthread_mutex_unlock(&copy_stream->lock);
    gsh_cuda_leave(d, entered);
}

static CUdeviceptr device_address(const void *p)
{
    return (CUdeviceptr)(uintptr_t)p;
}

/* ---- the calls; static functions hold the copy stream ---- */

static struct gsh_own_stream *copy_stream_of(struct gsh_cuda_device *d, gsh_context ctx)
{
    return ctx == GSH_CONTEXT_DEFAULT || d->n_of_contexts == 0
               ? &d->work
               : &d->of_contexts[(ctx - 1) % d->n_of_contexts];
}

/* A quiet reads it without the lock. It needs no order: a quiet covers only calls that come before
 * it. */
static void set_pending(struct gsh_own_stream *copy_stream, bool has_pending)
{
    __atomic_store_n(&copy_stream->has_pending, has_pending, __ATOMIC_RELAXED);
}

static enum gsh_result synchronize(struct gsh_cuda_device *d, struct gsh_own_stream *copy_stream)
{
    enum gsh_result r =
        gsh_cuda_result(d->cuda->StreamSynchronize(copy_stream->stream), "cuStreamSynchronize");
    if (r == GSH_OK) {
        set_pending(copy_stream, false);
    }
    return r;
}

static enum gsh_result copy_async(struct gsh_cuda_device *d, struct gsh_own_stream *copy_stream,
                                  const void *dest, const void *source, size_t bytes)
{
    set_pending(copy_stream, true);
    return gsh_cuda_result(d->cuda->MemcpyAsync(device_address(dest), device_address(source), bytes,
                                                copy_stream->stream),
                           "cuMemcpyAsync");
}

enum gsh_result gsh_cuda_host_copy_nbi(struct gsh_instance *pe, gsh_context ctx, void *dest,
                                       const void *source, size_t bytes)
{
    struct gsh_cuda_device *d = pe->device;
    struct gsh_own_stream *copy_stream = copy_stream_of(d, ctx);
    bool entered;
    enum gsh_result r = begin(d, copy_stream, &entered);
    if (r == GSH_OK) {
        r = copy_async(d, copy_stream, dest, source, bytes);
    }
    end(d, copy_stream, entered);
    return r;
}

enum gsh_result gsh_cuda_host_copy(struct gsh_instance *pe, gsh_context ctx, void *dest,
                                   const void *source, size_t bytes)
{
    struct gsh_cuda_device *d = pe->device;
    struct gsh_own_stream *copy_stream = copy_stream_of(d, ctx);
    bool entered;
    enum gsh_result r = begin(d, copy_stream, &entered);
    if (r == GSH_OK) {
        r = copy_async(d, copy_stream, dest, source, bytes);
    }
    if (r == GSH_OK) {
        r = synchronize(d, copy_stream);
    }
    end(d, copy_stream, entered);
    return r;
}

/* Returns when the value has been taken; the next fence or quiet waits for the rest. */
enum gsh_result gsh_cuda_host_store(struct gsh_instance *pe, gsh_context ctx, void *dest,
                                    uint64_t bits, size_t bytes)
{
    struct gsh_cuda_device *d = pe->device;
    struct gsh_own_stream *copy_stream = copy_stream_of(d, ctx);
    bool entered;
    enum gsh_result r = begin(d, copy_stream, &entered);
    if (r == GSH_OK) {
        set_pending(copy_stream, true);
        r = gsh_cuda_store(d, dest, bits, bytes, copy_stream->stream);
    }
    end(d, copy_stream, entered);
    return r;
}

static enum gsh_result quiet(struct gsh_cuda_device *d, struct gsh_own_stream *copy_stream)
{
    if (!__atomic_load_n(&copy_stream->has_pending, __ATOMIC_RELAXED)) {
        return GSH_OK;
    }
    bool entered;
    enum gsh_result r = begin(d, copy_stream, &entered);
    if (r == GSH_OK) {
        r = synchronize(d, copy_stream);
    }
    end(d, copy_stream, entered);
    return r;
}

enum gsh_result gsh_cuda_host_quiet(struct gsh_instance *pe, gsh_context ctx)
{
    return quiet(pe->device, copy_stream_of(pe->device, ctx));
}

enum gsh_result gsh_cuda_host_quiet_all(struct gsh_instance *pe)
{
    struct gsh_cuda_device *d = pe->device;
    enum gsh_result r = quiet(d, &d->work);
    for (unsigned i = 0; r == GSH_OK && i < d->n_of_contexts; i++) {
        r = quiet(d, &d->of_contexts[i]);
    }
    return r;
}

bool gsh_cuda_host_enter(struct gsh_instance *pe)
{
    return gsh_cuda_push_context(pe->device);
}

void gsh_cuda_host_leave(struct gsh_instance *pe, bool entered)
{
    gsh_cuda_pop_context(pe->device, entered);
}

enum gsh_result gsh_cuda_host_synchronize(struct gsh_instance *pe)
{
    const struct gsh_cuda_device *d = pe->device;
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r = gsh_cuda_result(d->cuda->CtxSynchronize(), "cuCtxSynchronize");
    gsh_cuda_leave(d, entered);
    return r;
}

/* The copy engine reads memory at some moment after the call. If a peer's signal is seen here, all
 * that the peer wrote before the signal is already in memory. */
static enum gsh_result load_piece(struct gsh_cuda_device *d, const void *source, size_t bytes,
                                  void *out)
{
    struct gsh_own_stream *copy_stream = &d->poll;
    bool entered;
    enum gsh_result r = begin(d, copy_stream, &entered);
    if (r == GSH_OK) {
        r = gsh_cuda_result(d->cuda->MemcpyDtoHAsync(copy_stream->words, device_address(source),
                                                     bytes, copy_stream->stream),
                            "cuMemcpyDtoHAsync");
    }
    if (r == GSH_OK) {
        r = gsh_cuda_result(d->cuda->StreamSynchronize(copy_stream->stream), "cuStreamSynchronize");
    }
    if (r == GSH_OK) {
        memcpy(out, copy_stream->words, bytes);
    }
    end(d, copy_stream, entered);
    return r;
}

enum gsh_result gsh_cuda_host_load(struct gsh_instance *pe, const void *source, size_t elem_bytes,
                                   size_t nelems, void *out)
{
    enum gsh_result r = GSH_OK;
    size_t bytes = elem_bytes * nelems;
    for (size_t off = 0; r == GSH_OK && off < bytes; off += GSH_OWN_STREAM_BYTES) {
        size_t n = bytes - off < GSH_OWN_STREAM_BYTES ? bytes - off : GSH_OWN_STREAM_BYTES;
        r = load_piece(pe->device, (const char *)source + off, n, (char *)out + off);
    }
    return r;
}

enum gsh_result gsh_cuda_host_amo(struct gsh_instance *pe, gsh_context ctx, enum gsh_amo_op op,
                                  void *address, size_t bytes, uint64_t operand, uint64_t cond,
                                  uint64_t *old)
{
    struct gsh_cuda_device *d = pe->device;
    struct gsh_own_stream *copy_stream = copy_stream_of(d, ctx);
    uint64_t *result = copy_stream->words;
    struct gsh_kernel_amo_args args = {
        .address = device_address(address),
        .operand = operand,
        .cond = cond,
        .result = old != NULL ? device_address(result) : 0,
        .op = op,
        .bytes = (uint32_t)bytes,
    };
    /* A plain set is one write by the stream itself, after its earlier copies and their barrier. */
    bool entered;
    enum gsh_result r = begin(d, copy_stream, &entered);
    if (r == GSH_OK) {
        r = gsh_cuda_is_plain_write(d, op, bytes)
                ? gsh_cuda_write_word(d, address, bytes, operand, copy_stream->stream)
                : gsh_cuda_launch(d, GSH_KERNEL_AMO, 1, 1, &args, copy_stream->stream);
    }
    if (r == GSH_OK) {
        r = synchronize(d, copy_stream);
    }
    if (r == GSH_OK && old != NULL) {
        *old = *result;
    }
    end(d, copy_stream, entered);
    return r;
}

enum gsh_result gsh_cuda_host_copy_strided(struct gsh_instance *pe, gsh_context ctx, void *dest,
                                           const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                           size_t elem_bytes, size_t nelems)
{
    struct gsh_cuda_device *d = pe->device;
    struct gsh_own_stream *copy_stream = copy_stream_of(d, ctx);
    bool entered;
    enum gsh_result r = begin(d, copy_stream, &entered);
    if (r == GSH_OK) {
        r = gsh_cuda_copy_strided(pe, dest, source, dst, sst, elem_bytes, nelems,
                                  copy_stream->stream);
    }
    if (r == GSH_OK) {
        r = synchronize(d, copy_stream);
    }
    end(d, copy_stream, entered);
    return r;
}
