/* SPDX-License-Identifier: Apache-2.0
 * The CUDA row's entries for the proxy. They use streams of their own, so they never wait for
 * requests of host threads. A kernel carries out atomics, so they are atomic with the GPU's own;
 * the stream itself does a plain set. None of the calls on copy streams blocks: each stream writes
 * its progress into host memory. */
#include "runtime/backend/cuda/device.h"

#include <string.h>
#include "base/atomic.h"
#include "base/copy.h"
#include "runtime/instance/instance.h"

static CUdeviceptr device_address(const void *p)
{
    return (CUdeviceptr)(uintptr_t)p;
}

static enum gsh_result synchronize(const struct gsh_cuda_device *d, enum gsh_result r)
{
    return r != GSH_OK ? r
                       : gsh_cuda_result(d->cuda->StreamSynchronize(d->proxy.stream),
                                         "cuStreamSynchronize");
}

enum gsh_result gsh_cuda_proxy_copy(struct gsh_instance *pe, void *dest, const void *source,
                                    size_t bytes)
{
    struct gsh_cuda_device *d = pe->device;
    pthread_mutex_lock(&d->proxy.lock);
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r = synchronize(
        d, gsh_cuda_result(d->cuda->MemcpyAsync(device_address(dest), device_address(source), bytes,
                                                d->proxy.stream),
                           "cuMemcpyAsync"));
    gsh_cuda_leave(d, entered);
    pthread_mutex_unlock(&d->proxy.lock);
    return r;
}

enum gsh_result gsh_cuda_proxy_amo(struct gsh_instance *pe, enum gsh_amo_op op, void *address,
                                   size_t bytes, uint64_t operand, uint64_t cond, uint64_t *old)
{
    struct gsh_cuda_device *d = pe->device;
    pthread_mutex_lock(&d->proxy.lock);
    bool entered = gsh_cuda_enter(d);
    struct gsh_kernel_amo_args args = {
        .address = device_address(address),
        .operand = operand,
        .cond = cond,
        .result = device_address(d->proxy.words),
        .op = op,
        .bytes = (uint32_t)bytes,
    };
    memset(d->proxy.words, 0, sizeof(uint64_t));
    enum gsh_result r =
        synchronize(d, gsh_cuda_is_plain_write(d, op, bytes)
                           ? gsh_cuda_write_word(d, address, bytes, operand, d->proxy.stream)
                           : gsh_cuda_launch(d, GSH_KERNEL_AMO, 1, 1, &args, d->proxy.stream));
    memcpy(old, d->proxy.words, sizeof(*old));
    gsh_cuda_leave(d, entered);
    pthread_mutex_unlock(&d->proxy.lock);
    return r;
}

/* ---- copy streams ---- */

/* Polls that show no progress before asking the stream itself, which reports errors. */
#define POLLS_PER_QUERY 4096u
/* Where in a copy stream's words the stream writes how many jobs have ended. */
#define MARK_WORD 64

static struct gsh_own_stream *copy_stream_of(struct gsh_cuda_device *d,
                                             enum gsh_copy_stream copy_stream)
{
    return copy_stream == GSH_COPY_STREAM_IN ? &d->proxy : &d->out;
}

static enum gsh_result copy_streams_allocate(void *context, size_t bytes, void **memory)
{
    struct gsh_cuda_device *d = ((struct gsh_instance *)context)->device;
    void *p = NULL;
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r =
        gsh_cuda_note(d->cuda->MemAllocHost(&p, bytes), "staging buffers: cuMemAllocHost");
    gsh_cuda_leave(d, entered);
    if (r == GSH_OK) {
        *memory = p;
    }
    return r;
}

static void copy_streams_release(void *context, void *memory)
{
    struct gsh_cuda_device *d = ((struct gsh_instance *)context)->device;
    if (memory != NULL) {
        bool entered = gsh_cuda_enter(d);
        d->cuda->MemFreeHost(memory);
        gsh_cuda_leave(d, entered);
    }
}

static enum gsh_result copy_streams_pin(void *context, void *memory, size_t bytes)
{
    struct gsh_cuda_device *d = ((struct gsh_instance *)context)->device;
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r = gsh_cuda_note(
        d->cuda->MemHostRegister(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE), "cuMemHostRegister");
    gsh_cuda_leave(d, entered);
    return r;
}

static void copy_streams_unpin(void *context, void *memory)
{
    struct gsh_cuda_device *d = ((struct gsh_instance *)context)->device;
    bool entered = gsh_cuda_enter(d);
    d->cuda->MemHostUnregister(memory);
    gsh_cuda_leave(d, entered);
}

static bool is_in_heap(const struct gsh_instance *pe, const void *p)
{
    return (uint64_t)(uintptr_t)p - pe->state.base < pe->state.stride;
}

/* Ordinary host memory is copied by the CPU, because the driver would wait for the stream first. */
static bool is_host_memory(const struct gsh_instance *pe, const void *p)
{
    const struct gsh_cuda_device *d = pe->device;
    CUmemorytype type = CU_MEMORYTYPE_HOST;
    return !is_in_heap(pe, p) &&
           (d->cuda->PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                         device_address(p)) != CUDA_SUCCESS ||
            type == CU_MEMORYTYPE_HOST);
}

/* A word that the stream can write itself, which is faster than a copy engine. */
static bool is_word(const struct gsh_instance *pe, const void *dest, size_t bytes)
{
    const struct gsh_cuda_device *d = pe->device;
    return d->can_write_values && (bytes == 4 || bytes == 8) && (uintptr_t)dest % bytes == 0 &&
           is_in_heap(pe, dest);
}

static enum gsh_result start_in(struct gsh_instance *pe, void *dest, const void *source,
                                size_t bytes)
{
    struct gsh_cuda_device *d = pe->device;
    uint64_t value = 0;
    if (is_word(pe, dest, bytes)) {
        memcpy(&value, source, bytes);
        return gsh_cuda_write_word(d, dest, bytes, value, d->proxy.stream);
    }
    if (is_host_memory(pe, dest)) {
        gsh_copy_to_shared(dest, source, bytes);
        return GSH_OK;
    }
    return gsh_cuda_result(
        d->cuda->MemcpyHtoDAsync(device_address(dest), source, bytes, d->proxy.stream),
        "cuMemcpyHtoDAsync");
}

static enum gsh_result start_out(struct gsh_instance *pe, void *dest, const void *source,
                                 size_t bytes)
{
    struct gsh_cuda_device *d = pe->device;
    if (is_host_memory(pe, source)) {
        gsh_copy_from_shared(dest, source, bytes);
        return GSH_OK;
    }
    return gsh_cuda_result(
        d->cuda->MemcpyDtoHAsync(dest, device_address(source), bytes, d->out.stream),
        "cuMemcpyDtoHAsync");
}

static enum gsh_result copy_streams_copy(void *context, enum gsh_copy_stream copy_stream,
                                         void *dest, const void *source, size_t bytes)
{
    struct gsh_instance *pe = context;
    struct gsh_cuda_device *d = pe->device;
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r = copy_stream == GSH_COPY_STREAM_IN ? start_in(pe, dest, source, bytes)
                                                          : start_out(pe, dest, source, bytes);
    gsh_cuda_leave(d, entered);
    d->jobs[copy_stream].n_started += r == GSH_OK;
    return r;
}

/* One side is the proxy's host memory, the other the device's. Elements are copied as the rows of a
 * plane if the driver accepts their distance. */
static enum gsh_result copy_plane(struct gsh_cuda_device *d, enum gsh_copy_stream copy_stream,
                                  void *dest, int64_t dst, const void *source, int64_t sst,
                                  size_t elem_bytes, size_t nelems)
{
    bool is_in = copy_stream == GSH_COPY_STREAM_IN;
    CUDA_MEMCPY2D plane = {
        .srcMemoryType = is_in ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
        .srcHost = source,
        .srcDevice = device_address(source),
        .srcPitch = (size_t)sst * elem_bytes,
        .dstMemoryType = is_in ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
        .dstHost = dest,
        .dstDevice = device_address(dest),
        .dstPitch = (size_t)dst * elem_bytes,
        .WidthInBytes = elem_bytes,
        .Height = nelems,
    };
    return gsh_cuda_result(d->cuda->Memcpy2DAsync(&plane, copy_stream_of(d, copy_stream)->stream),
                           "cuMemcpy2DAsync");
}

static enum gsh_result copy_elements(struct gsh_instance *pe, enum gsh_copy_stream copy_stream,
                                     char *dest, int64_t dst, const char *source, int64_t sst,
                                     size_t elem_bytes, size_t nelems)
{
    enum gsh_result r = GSH_OK;
    int64_t size = (int64_t)elem_bytes;
    for (int64_t i = 0; r == GSH_OK && i < (int64_t)nelems; i++) {
        char *to = dest + i * dst * size;
        const char *from = source + i * sst * size;
        r = copy_stream == GSH_COPY_STREAM_IN ? start_in(pe, to, from, elem_bytes)
                                              : start_out(pe, to, from, elem_bytes);
    }
    return r;
}

static enum gsh_result copy_streams_copy_strided(void *context, enum gsh_copy_stream copy_stream,
                                                 void *dest, int64_t dst, const void *source,
                                                 int64_t sst, size_t elem_bytes, size_t nelems)
{
    struct gsh_instance *pe = context;
    struct gsh_cuda_device *d = pe->device;
    const void *theirs = copy_stream == GSH_COPY_STREAM_IN ? dest : source;
    int64_t far_apart = INT32_MAX / (int64_t)elem_bytes; /* the least that devices must take */
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r =
        is_host_memory(pe, theirs) || dst > far_apart || sst > far_apart
            ? copy_elements(pe, copy_stream, dest, dst, source, sst, elem_bytes, nelems)
            : copy_plane(d, copy_stream, dest, dst, source, sst, elem_bytes, nelems);
    gsh_cuda_leave(d, entered);
    d->jobs[copy_stream].n_started += r == GSH_OK;
    return r;
}

static enum gsh_result copy_streams_amo(void *context, int amo_op, void *address, size_t word_bytes,
                                        uint64_t operand, uint64_t cond, uint64_t *old)
{
    struct gsh_instance *pe = context;
    struct gsh_cuda_device *d = pe->device;
    struct gsh_kernel_amo_args args = {
        .address = device_address(address),
        .operand = operand,
        .cond = cond,
        .result = device_address(old),
        .op = (enum gsh_amo_op)amo_op,
        .bytes = (uint32_t)word_bytes,
    };
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r = gsh_cuda_is_plain_write(d, amo_op, word_bytes)
                            ? gsh_cuda_write_word(d, address, word_bytes, operand, d->proxy.stream)
                            : gsh_cuda_launch(d, GSH_KERNEL_AMO, 1, 1, &args, d->proxy.stream);
    gsh_cuda_leave(d, entered);
    d->jobs[GSH_COPY_STREAM_IN].n_started += r == GSH_OK;
    return r;
}

static uint64_t *mark_of(struct gsh_cuda_device *d, enum gsh_copy_stream copy_stream)
{
    return (uint64_t *)copy_stream_of(d, copy_stream)->words + MARK_WORD;
}

/* The stream writes the number after all jobs started so far. */
static enum gsh_result mark(struct gsh_cuda_device *d, enum gsh_copy_stream copy_stream)
{
    struct gsh_cuda_jobs *jobs = &d->jobs[copy_stream];
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r =
        gsh_cuda_write_word(d, mark_of(d, copy_stream), sizeof(jobs->n_started), jobs->n_started,
                            copy_stream_of(d, copy_stream)->stream);
    gsh_cuda_leave(d, entered);
    if (r == GSH_OK) {
        jobs->n_marked = jobs->n_started;
    }
    return r;
}

static enum gsh_result query(struct gsh_cuda_device *d, enum gsh_copy_stream copy_stream)
{
    struct gsh_cuda_jobs *jobs = &d->jobs[copy_stream];
    bool entered = gsh_cuda_enter(d);
    CUresult code = d->cuda->StreamQuery(copy_stream_of(d, copy_stream)->stream);
    gsh_cuda_leave(d, entered);
    jobs->n_idle_polls = 0;
    if (code == CUDA_SUCCESS && !d->can_write_values) {
        *mark_of(d, copy_stream) = jobs->n_started;
    }
    return code == CUDA_ERROR_NOT_READY ? GSH_OK : gsh_cuda_result(code, "cuStreamQuery");
}

static enum gsh_result copy_streams_poll(void *context, enum gsh_copy_stream copy_stream,
                                         uint64_t *n_ended)
{
    struct gsh_cuda_device *d = ((struct gsh_instance *)context)->device;
    struct gsh_cuda_jobs *jobs = &d->jobs[copy_stream];
    enum gsh_result r = GSH_OK;
    if (d->can_write_values && jobs->n_marked != jobs->n_started) {
        r = mark(d, copy_stream);
    } else if (!d->can_write_values || ++jobs->n_idle_polls >= POLLS_PER_QUERY) {
        r = query(d, copy_stream);
    }
    /* acquire: pairs with the stream's write, which comes after what the jobs before it wrote */
    uint64_t ended = gsh_load_acquire_u64(mark_of(d, copy_stream));
    if (ended != *n_ended) {
        jobs->n_idle_polls = 0;
    }
    *n_ended = ended;
    return r;
}

const struct gsh_copy_stream_ops gsh_cuda_proxy_copy_streams = {
    .allocate = copy_streams_allocate,
    .release = copy_streams_release,
    .pin = copy_streams_pin,
    .unpin = copy_streams_unpin,
    .copy = copy_streams_copy,
    .copy_strided = copy_streams_copy_strided,
    .amo = copy_streams_amo,
    .poll = copy_streams_poll,
};
