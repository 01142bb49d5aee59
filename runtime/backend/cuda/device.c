/* SPDX-License-Identifier: Apache-2.0
 * The CUDA row of the device table, through the driver alone: choosing the GPU, uploading the
 * state, and host-initiated calls on the library's own streams. Calls on the user's streams are in
 * stream.c, the kernels in kernels/kernels.cu.
 *
 * A host-initiated call needs no multiprocessor, so it works beside a kernel that fills the GPU and
 * waits for it. Exceptions: atomics other than set, and strided copies. */
#include "runtime/backend/cuda/device.h"

#ifdef GSH_HAVE_CUDA

#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/util.h"
#include "runtime/backend/cuda/pins.h"
#include "runtime/backend/modules.h"
#include "runtime/instance/instance.h"

extern const unsigned char gsh_kernels_fatbin[]; /* kernels_fatbin.S */

static const char *const kernel_names[GSH_KERNEL_COUNT] = {
    [GSH_KERNEL_AMO] = "gsh_kernel_amo",     [GSH_KERNEL_PUT_SIGNAL] = "gsh_kernel_put_signal",
    [GSH_KERNEL_STORE] = "gsh_kernel_store", [GSH_KERNEL_COPY_STRIDED] = "gsh_kernel_copy_strided",
    [GSH_KERNEL_WAIT] = "gsh_kernel_wait",   [GSH_KERNEL_SYNC] = "gsh_kernel_sync",
    [GSH_KERNEL_FAR] = "gsh_kernel_far",
};

static enum gsh_result make_stream(const struct gsh_cuda_device *d, struct gsh_cuda_lane *lane)
{
    return gsh_cuda_result(
        d->cuda->StreamCreateWithPriority(&lane->stream, CU_STREAM_NON_BLOCKING, -1),
        "cuStreamCreateWithPriority");
}

/* A host-initiated call holds its lane and the CUDA context between begin and end, even if begin
 * fails. */
static enum gsh_result begin(struct gsh_cuda_device *d, struct gsh_cuda_lane *lane, bool *entered)
{
    pthread_mutex_lock(&lane->lock);
    *entered = gsh_cuda_enter(d);
    return lane->stream != NULL ? GSH_OK : make_stream(d, lane);
}

static void end(struct gsh_cuda_device *d, struct gsh_cuda_lane *lane, bool entered)
{
    gsh_cuda_leave(d, entered);
    pthread_mutex_unlock(&lane->lock);
}

static CUdeviceptr device_address(const void *p)
{
    return (CUdeviceptr)(uintptr_t)p;
}

/* ---- host-initiated calls; static functions hold the lane ---- */

static struct gsh_cuda_lane *lane_of(struct gsh_cuda_device *d, gsh_context ctx)
{
    return ctx == GSH_CONTEXT_DEFAULT || d->n_of_contexts == 0
               ? &d->work
               : &d->of_contexts[(ctx - 1) % d->n_of_contexts];
}

/* A quiet reads it without the lock, which orders nothing: it covers calls that come before it. */
static void set_pending(struct gsh_cuda_lane *lane, bool has_pending)
{
    __atomic_store_n(&lane->has_pending, has_pending, __ATOMIC_RELAXED);
}

static enum gsh_result synchronize(struct gsh_cuda_device *d, struct gsh_cuda_lane *lane)
{
    enum gsh_result r =
        gsh_cuda_result(d->cuda->StreamSynchronize(lane->stream), "cuStreamSynchronize");
    if (r == GSH_OK) {
        set_pending(lane, false);
    }
    return r;
}

static enum gsh_result copy_async(struct gsh_cuda_device *d, struct gsh_cuda_lane *lane,
                                  const void *dest, const void *source, size_t bytes)
{
    set_pending(lane, true);
    return gsh_cuda_result(
        d->cuda->MemcpyAsync(device_address(dest), device_address(source), bytes, lane->stream),
        "cuMemcpyAsync");
}

static enum gsh_result cuda_copy_nbi(struct gsh_instance *pe, gsh_context ctx, void *dest,
                                     const void *source, size_t bytes)
{
    struct gsh_cuda_device *d = pe->device;
    struct gsh_cuda_lane *lane = lane_of(d, ctx);
    bool entered;
    enum gsh_result r = begin(d, lane, &entered);
    if (r == GSH_OK) {
        r = copy_async(d, lane, dest, source, bytes);
    }
    end(d, lane, entered);
    return r;
}

static enum gsh_result cuda_copy(struct gsh_instance *pe, gsh_context ctx, void *dest,
                                 const void *source, size_t bytes)
{
    struct gsh_cuda_device *d = pe->device;
    struct gsh_cuda_lane *lane = lane_of(d, ctx);
    bool entered;
    enum gsh_result r = begin(d, lane, &entered);
    if (r == GSH_OK) {
        r = copy_async(d, lane, dest, source, bytes);
    }
    if (r == GSH_OK) {
        r = synchronize(d, lane);
    }
    end(d, lane, entered);
    return r;
}

/* Returns when the value has been taken; the next fence or quiet waits for the rest. */
static enum gsh_result cuda_store(struct gsh_instance *pe, gsh_context ctx, void *dest,
                                  uint64_t bits, size_t bytes)
{
    struct gsh_cuda_device *d = pe->device;
    struct gsh_cuda_lane *lane = lane_of(d, ctx);
    bool entered;
    enum gsh_result r = begin(d, lane, &entered);
    if (r == GSH_OK) {
        set_pending(lane, true);
        r = gsh_cuda_store(d, dest, bits, bytes, lane->stream);
    }
    end(d, lane, entered);
    return r;
}

static enum gsh_result quiet(struct gsh_cuda_device *d, struct gsh_cuda_lane *lane)
{
    if (!__atomic_load_n(&lane->has_pending, __ATOMIC_RELAXED)) {
        return GSH_OK;
    }
    bool entered;
    enum gsh_result r = begin(d, lane, &entered);
    if (r == GSH_OK) {
        r = synchronize(d, lane);
    }
    end(d, lane, entered);
    return r;
}

static enum gsh_result cuda_quiet(struct gsh_instance *pe, gsh_context ctx)
{
    return quiet(pe->device, lane_of(pe->device, ctx));
}

static enum gsh_result cuda_quiet_all(struct gsh_instance *pe)
{
    struct gsh_cuda_device *d = pe->device;
    enum gsh_result r = quiet(d, &d->work);
    for (unsigned i = 0; r == GSH_OK && i < d->n_of_contexts; i++) {
        r = quiet(d, &d->of_contexts[i]);
    }
    return r;
}

static bool cuda_enter(struct gsh_instance *pe)
{
    return gsh_cuda_enter(pe->device);
}

static void cuda_leave(struct gsh_instance *pe, bool entered)
{
    gsh_cuda_leave(pe->device, entered);
}

static enum gsh_result cuda_synchronize(struct gsh_instance *pe)
{
    const struct gsh_cuda_device *d = pe->device;
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r = gsh_cuda_result(d->cuda->CtxSynchronize(), "cuCtxSynchronize");
    gsh_cuda_leave(d, entered);
    return r;
}

/* The copy engine reads memory at some moment after the call. If a peer's signal is seen here, what
 * the peer wrote before it was already written. */
static enum gsh_result load_piece(struct gsh_cuda_device *d, const void *source, size_t bytes,
                                  void *out)
{
    struct gsh_cuda_lane *lane = &d->poll;
    bool entered;
    enum gsh_result r = begin(d, lane, &entered);
    if (r == GSH_OK) {
        r = gsh_cuda_result(
            d->cuda->MemcpyDtoHAsync(lane->words, device_address(source), bytes, lane->stream),
            "cuMemcpyDtoHAsync");
    }
    if (r == GSH_OK) {
        r = gsh_cuda_result(d->cuda->StreamSynchronize(lane->stream), "cuStreamSynchronize");
    }
    if (r == GSH_OK) {
        memcpy(out, lane->words, bytes);
    }
    end(d, lane, entered);
    return r;
}

static enum gsh_result cuda_load(struct gsh_instance *pe, const void *source, size_t elem_bytes,
                                 size_t nelems, void *out)
{
    enum gsh_result r = GSH_OK;
    size_t bytes = elem_bytes * nelems;
    for (size_t off = 0; r == GSH_OK && off < bytes; off += GSH_CUDA_LANE_BYTES) {
        size_t n = bytes - off < GSH_CUDA_LANE_BYTES ? bytes - off : GSH_CUDA_LANE_BYTES;
        r = load_piece(pe->device, (const char *)source + off, n, (char *)out + off);
    }
    return r;
}

static enum gsh_result cuda_amo(struct gsh_instance *pe, gsh_context ctx, enum gsh_amo_op op,
                                void *address, size_t bytes, uint64_t operand, uint64_t cond,
                                uint64_t *old)
{
    struct gsh_cuda_device *d = pe->device;
    struct gsh_cuda_lane *lane = lane_of(d, ctx);
    uint64_t *result = lane->words;
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
    enum gsh_result r = begin(d, lane, &entered);
    if (r == GSH_OK) {
        r = op == GSH_AMO_SET && d->can_write_values
                ? gsh_cuda_write_word(d, address, bytes, operand, lane->stream)
                : gsh_cuda_launch(d, GSH_KERNEL_AMO, 1, 1, &args, lane->stream);
    }
    if (r == GSH_OK) {
        r = synchronize(d, lane);
    }
    if (r == GSH_OK && old != NULL) {
        *old = *result;
    }
    end(d, lane, entered);
    return r;
}

static enum gsh_result cuda_copy_strided(struct gsh_instance *pe, gsh_context ctx, void *dest,
                                         const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                         size_t elem_bytes, size_t nelems)
{
    struct gsh_cuda_device *d = pe->device;
    struct gsh_cuda_lane *lane = lane_of(d, ctx);
    bool entered;
    enum gsh_result r = begin(d, lane, &entered);
    if (r == GSH_OK) {
        r = gsh_cuda_copy_strided(pe, dest, source, dst, sst, elem_bytes, nelems, lane->stream);
    }
    if (r == GSH_OK) {
        r = synchronize(d, lane);
    }
    end(d, lane, entered);
    return r;
}

/* ---- set-up ---- */

/* The number of this PE among those of its host. */
static int host_index(const struct gsh_instance *pe)
{
    int index = 0;
    for (int i = 0; i < pe->my_pe; i++) {
        index += pe->peers[i].host_hash == pe->peers[pe->my_pe].host_hash;
    }
    return index;
}

/* How many parts each GPU is divided into: 1 unless PEs are threads and outnumber the GPUs. */
static int parts_of_gpu(const struct gsh_instance *pe, const struct gsh_cuda_device *d)
{
    int n_gpus = 0, n_pes = 0;
    for (int i = 0; i < pe->n_pes; i++) {
        n_pes += pe->peers[i].is_same_process;
    }
    if (!pe->env.share_device || d->cuda->DeviceGetCount(&n_gpus) != CUDA_SUCCESS || n_gpus < 1) {
        return 1;
    }
    return (n_pes + n_gpus - 1) / n_gpus;
}

/* The GPU current on the calling thread, else one by the PE's number on its host. */
static enum gsh_result choose(struct gsh_instance *pe, struct gsh_cuda_device *d)
{
    CUcontext current = NULL;
    int n_devices = 0;
    enum gsh_result r = gsh_cuda_result(d->cuda->CtxGetCurrent(&current), "init: cuCtxGetCurrent");
    if (r == GSH_OK && current != NULL) {
        r = gsh_cuda_result(d->cuda->CtxGetDevice(&d->ordinal), "init: cuCtxGetDevice");
    } else if (r == GSH_OK) {
        r = gsh_cuda_result(d->cuda->DeviceGetCount(&n_devices), "init: cuDeviceGetCount");
        if (r == GSH_OK && n_devices == 0) {
            r = gsh_fail(GSH_ERR_UNSUPPORTED, "init: there is no GPU");
        }
        if (r == GSH_OK) {
            r = gsh_cuda_result(d->cuda->DeviceGet(&d->ordinal, host_index(pe) % n_devices),
                                "init: cuDeviceGet");
        }
    }
    if (r != GSH_OK) {
        return r;
    }
    CUcontext primary = NULL;
    r = gsh_cuda_result(d->cuda->DevicePrimaryCtxRetain(&primary, d->ordinal),
                        "init: cuDevicePrimaryCtxRetain");
    if (r != GSH_OK) {
        return r;
    }
    d->primary = primary;
    d->context = primary;
    if (current != NULL && current != primary) {
        return gsh_fail(GSH_ERR_UNSUPPORTED,
                        "init: the current CUDA context is not the primary "
                        "one of GPU %d; make that current, as cudaSetDevice does",
                        d->ordinal);
    }
    d->is_context_ours = current == NULL;
    r = gsh_cuda_result(d->cuda->CtxSetCurrent(primary), "init: cuCtxSetCurrent");
    int n_parts = parts_of_gpu(pe, d);
    if (r == GSH_OK && n_parts > 1) {
        d->is_context_ours = true;
        r = gsh_cuda_share_join(d, n_parts);
        if (r == GSH_OK) {
            r = gsh_cuda_result(d->cuda->CtxSetCurrent(d->context), "init: cuCtxSetCurrent");
        }
    }
    return r;
}

/* On a shared GPU all lanes use one stream: a GPU has 32 queues for the streams of all its PEs, and
 * streams that share a queue wait for each other. Nothing in a lane waits for a PE. */
static bool shares_stream(const struct gsh_cuda_device *d, const struct gsh_cuda_lane *lane)
{
    return d->shared != NULL && lane != &d->work;
}

static enum gsh_result lane_init(struct gsh_cuda_device *d, struct gsh_cuda_lane *lane)
{
    enum gsh_result r = GSH_OK;
    if (shares_stream(d, lane)) {
        lane->stream = d->work.stream;
    } else {
        r = make_stream(d, lane);
    }
    if (r == GSH_OK) {
        r = gsh_cuda_result(d->cuda->MemAllocHost(&lane->words, GSH_CUDA_LANE_BYTES),
                            "init: cuMemAllocHost");
    }
    if (r == GSH_OK) {
        memset(lane->words, 0, GSH_CUDA_LANE_BYTES);
    }
    return r;
}

/* CUDA has 8 queues, or as many as this variable says when CUDA starts. On a shared GPU the
 * contexts get no streams of their own: see shares_stream. */
static void open_context_lanes(struct gsh_cuda_device *d)
{
    const char *text = secure_getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const long queues = text != NULL ? strtol(text, NULL, 10) : 8, most = GSH_CUDA_CONTEXT_LANES;
    if (d->shared != NULL) {
        return;
    }
    d->n_of_contexts = (unsigned)(queues < 8 ? 2 : queues / 4 < most ? queues / 4 : most);
    for (unsigned i = 0; i < d->n_of_contexts; i++) {
        d->of_contexts[i].words = (uint64_t *)d->work.words + GSH_CUDA_CONTEXT_WORDS + i;
    }
}

static void lane_finish(struct gsh_cuda_device *d, struct gsh_cuda_lane *lane)
{
    if (lane->stream != NULL && !shares_stream(d, lane)) {
        d->cuda->StreamDestroy(lane->stream);
    }
    if (lane->words != NULL) {
        d->cuda->MemFreeHost(lane->words);
    }
    pthread_mutex_destroy(&lane->lock);
}

static enum gsh_result load_failure(const struct gsh_cuda_device *d, CUresult code)
{
    int major = 0, minor = 0;
    if (code != CUDA_ERROR_NO_BINARY_FOR_GPU && code != CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
        return gsh_cuda_result(code, "init: the library's kernels");
    }
    d->cuda->DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d->ordinal);
    d->cuda->DeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d->ordinal);
    return gsh_fail(GSH_ERR_UNSUPPORTED,
                    "init: libgshmem has no kernels for GPU %d, of compute capability %d.%d: build "
                    "it with -Dgpu_arch=sm_%d%d",
                    d->ordinal, major, minor, major, minor);
}

/* The driver loads a kernel on first use, and a launch that must load it may wait for running
 * kernels. Those may wait for this one, so all are loaded now. */
static enum gsh_result load_kernels(struct gsh_cuda_device *d)
{
    CUresult code = d->cuda->ModuleLoadData(&d->module, gsh_kernels_fatbin);
    enum gsh_result r = code == CUDA_SUCCESS ? GSH_OK : load_failure(d, code);
    for (int i = 0; r == GSH_OK && i < GSH_KERNEL_COUNT; i++) {
        r = gsh_cuda_load_kernel(d, d->module, kernel_names[i], &d->kernels[i]);
    }
    return r;
}

static enum gsh_result cuda_map_host(struct gsh_instance *pe, void *memory, size_t bytes,
                                     uint64_t *device_address)
{
    struct gsh_cuda_device *d = pe->device;
    unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
    CUdeviceptr address = 0;
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r =
        gsh_cuda_result(d->cuda->MemHostRegister(memory, bytes, flags), "cuMemHostRegister");
    if (r == GSH_OK) {
        r = gsh_cuda_result(d->cuda->MemHostGetDevicePointer(&address, memory, 0),
                            "cuMemHostGetDevicePointer");
    }
    gsh_cuda_leave(d, entered);
    if (r == GSH_OK) {
        *device_address = address;
    }
    return r;
}

static void cuda_unmap_host(struct gsh_instance *pe, void *memory)
{
    struct gsh_cuda_device *d = pe->device;
    if (memory != NULL && d != NULL && d->context != NULL) {
        bool entered = gsh_cuda_enter(d);
        d->cuda->MemHostUnregister(memory); /* fails if it is not registered */
        gsh_cuda_leave(d, entered);
    }
}

static bool is_gpu_memory(const struct gsh_cuda_device *d, const void *p, bool *is_known)
{
    CUmemorytype type = CU_MEMORYTYPE_HOST;
    *is_known = d->cuda->PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                             (CUdeviceptr)(uintptr_t)p) == CUDA_SUCCESS;
    return *is_known && type == CU_MEMORYTYPE_DEVICE;
}

/* GPU memory, and host memory that CUDA has already pinned, need nothing. */
static enum gsh_result cuda_pin(struct gsh_instance *pe, void *memory, size_t bytes,
                                bool *is_device)
{
    const struct gsh_cuda_device *d = pe->device;
    bool entered = gsh_cuda_enter(d), is_known = false;
    *is_device = is_gpu_memory(d, memory, &is_known);
    CUresult code = *is_device ? CUDA_SUCCESS : gsh_cuda_pin_memory(d->cuda, memory, bytes);
    gsh_cuda_leave(d, entered);
    if (code == CUDA_ERROR_INVALID_VALUE) {
        return gsh_note(GSH_ERR_ARG, "no memory is at [%p, %p + %zu): freed, or never allocated",
                        memory, memory, bytes);
    }
    if (code == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
        return gsh_note(
            GSH_ERR_ARG,
            "the program or one of its libraries has pinned a part of it, but not all of it");
    }
    return gsh_cuda_note(code, "cuMemHostRegister");
}

static void cuda_unpin(struct gsh_instance *pe, void *memory, size_t bytes)
{
    const struct gsh_cuda_device *d = pe->device;
    bool entered = gsh_cuda_enter(d);
    gsh_cuda_unpin_memory(d->cuda, memory, bytes);
    gsh_cuda_leave(d, entered);
}

static void name_part(const struct gsh_instance *pe, struct gsh_state *state)
{
    const struct gsh_cuda_device *d = pe->device;
    state->part = d->part;
    state->part_of_sm = d->part_of_sm;
}

static int count_part(const struct gsh_instance *pe)
{
    const struct gsh_cuda_device *d = pe->device;
    return d->shared == NULL ? 0 : (int)d->n_sms;
}

/* The default stream belongs to the current context. */
static enum gsh_result check_stream(struct gsh_instance *pe, gsh_stream stream)
{
    const struct gsh_cuda_device *d = pe->device;
    CUcontext its = NULL;
    if (d->shared == NULL) {
        return GSH_OK;
    }
    enum gsh_result r =
        stream == NULL ? gsh_cuda_result(d->cuda->CtxGetCurrent(&its), "cuCtxGetCurrent")
                       : gsh_cuda_result(d->cuda->StreamGetCtx(stream, &its), "cuStreamGetCtx");
    return r != GSH_OK || its == d->context
               ? r
               : gsh_fail(GSH_ERR_ARG,
                          "the stream is not of this PE's part of GPU %d: make streams after "
                          "gshmemx_device_setup, without cudaSetDevice between",
                          d->ordinal);
}

static void cuda_finish(struct gsh_instance *pe)
{
    struct gsh_cuda_device *d = pe->device;
    if (d == NULL) {
        return;
    }
    bool entered = d->context != NULL && gsh_cuda_enter(d);
    for (int i = 0; i < GSH_CUDA_CONTEXT_LANES; i++) {
        d->of_contexts[i].words = NULL; /* the work lane's */
        lane_finish(d, &d->of_contexts[i]);
    }
    lane_finish(d, &d->work);
    lane_finish(d, &d->poll);
    lane_finish(d, &d->proxy);
    lane_finish(d, &d->out);
    if (d->coll_stream != NULL) {
        d->cuda->StreamDestroy(d->coll_stream);
    }
    if (d->module != NULL) {
        d->cuda->ModuleUnload(d->module);
    }
    for (int i = 0; i < GSH_COLL_PARTS; i++) {
        if (d->coll_modules[i] != NULL) {
            d->cuda->ModuleUnload(d->coll_modules[i]);
        }
    }
    pthread_mutex_destroy(&d->coll_lock);
    pthread_mutex_destroy(&d->coll_call_lock);
    gsh_cuda_leave(d, entered);
    CUcontext current = NULL;
    if (d->is_context_ours && d->cuda->CtxGetCurrent(&current) == CUDA_SUCCESS &&
        current == d->context) {
        d->cuda->CtxSetCurrent(d->shared != NULL ? d->primary : NULL);
    }
    if (d->primary != NULL) {
        d->context = d->primary;
        entered = gsh_cuda_enter(d);
        gsh_cuda_share_leave(d);
        gsh_cuda_leave(d, entered);
        d->cuda->DevicePrimaryCtxRelease(d->ordinal);
    }
    free(d);
    pe->device = NULL;
}

/* Uploads to the library's kernels and to all modules that the program has registered. */
static enum gsh_result cuda_upload(struct gsh_instance *pe, const struct gsh_state *state)
{
    const struct gsh_cuda_device *d = pe->device;
    enum gsh_result r = gsh_cuda_fill_own(pe, d->module, state);
    if (r == GSH_OK) {
        bool entered = gsh_cuda_enter(d);
        r = gsh_modules_fill(pe, state);
        gsh_cuda_leave(d, entered);
    }
    return r == GSH_OK && d->shared != NULL ? gsh_cuda_coll_load_all(pe) : r;
}

/* What a heap has at the start, the library's part and room for small allocations: with some 4 MiB
 * that the driver takes for kernels and streams, 16 MiB. */
#define FIRST ((uint64_t)12 << 20)
/* The least growth: each takes some 0.3 ms. */
#define ROOM ((uint64_t)8 << 20)
/* The driver takes 9 ms to map the first such chunk of a peer, for one PE at a time. */
#define LARGE ((uint64_t)512 << 20)

static const struct gsh_device_ops cuda_ops = {
    .name = "cuda",
    .memory = GSH_MEMORY_CUDA,
    .needs_watch = true,
    .fills_modules = true,
    .keep_limit_bytes = UINT64_MAX,
    .first_bytes = FIRST,
    .room_bytes = ROOM,
    .large_bytes = LARGE,
    .coll_table = &gsh_coll_table_cuda,
    .stride_unit_bytes = GSH_GPU_STRIDE_UNIT,
    .card = gsh_cuda_card,
    .route = gsh_cuda_route,
    .pci_address = gsh_cuda_pci_address,
    .name_part = name_part,
    .count_part = count_part,
    .check_stream = check_stream,
    .upload = cuda_upload,
    .module_init = gsh_cuda_module_init,
    .finish = cuda_finish,
    .map_host = cuda_map_host,
    .unmap_host = cuda_unmap_host,
    .pin = cuda_pin,
    .unpin = cuda_unpin,
    .copy = cuda_copy,
    .copy_nbi = cuda_copy_nbi,
    .copy_strided = cuda_copy_strided,
    .store = cuda_store,
    .load = cuda_load,
    .amo = cuda_amo,
    .coll = gsh_cuda_coll,
    .quiet = cuda_quiet,
    .quiet_all = cuda_quiet_all,
    .enter = cuda_enter,
    .leave = cuda_leave,
    .synchronize = cuda_synchronize,
    .proxy_copy = gsh_cuda_proxy_copy,
    .proxy_amo = gsh_cuda_proxy_amo,
    .proxy_lanes = &gsh_cuda_proxy_lanes,
    .stream_copy = gsh_cuda_stream_copy,
    .stream_signal = gsh_cuda_stream_signal,
    .stream_copy_strided = gsh_cuda_stream_copy_strided,
    .stream_store = gsh_cuda_stream_store,
    .stream_wait = gsh_cuda_stream_wait,
    .stream_sync = gsh_cuda_stream_sync,
    .stream_coll = gsh_cuda_stream_coll,
    .stream_quiet = gsh_cuda_stream_quiet,
    .stream_far = gsh_cuda_stream_far,
    .stream_synchronize = gsh_cuda_stream_synchronize,
};

/* runtime/init/init.c asked for eager loading: too late if CUDA had already started. */
static void warn_of_lazy_loading(const struct gsh_instance *pe, const struct gsh_cuda_device *d)
{
    CUmoduleLoadingMode mode = CU_MODULE_EAGER_LOADING;
    if ((pe->n_nodes > 1 || d->shared != NULL) &&
        d->cuda->ModuleGetLoadingMode(&mode) == CUDA_SUCCESS && mode == CU_MODULE_LAZY_LOADING) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_DEVICE,
                "CUDA loads a kernel at its first launch, and that can deadlock with a kernel "
                "that waits for a far PE, or one on the same GPU: set CUDA_MODULE_LOADING=EAGER");
    }
}

enum gsh_result gsh_device_cuda_init(struct gsh_instance *pe)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    if (cuda == NULL) {
        return gsh_fail(GSH_ERR_UNSUPPORTED, "init: %s", gsh_last_error());
    }
    struct gsh_cuda_device *d = calloc(1, sizeof(*d));
    if (d == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for the device");
    }
    d->cuda = cuda;
    pthread_mutex_init(&d->work.lock, NULL);
    pthread_mutex_init(&d->poll.lock, NULL);
    pthread_mutex_init(&d->proxy.lock, NULL);
    pthread_mutex_init(&d->out.lock, NULL);
    for (int i = 0; i < GSH_CUDA_CONTEXT_LANES; i++) {
        pthread_mutex_init(&d->of_contexts[i].lock, NULL);
    }
    pthread_mutex_init(&d->coll_call_lock, NULL);
    pthread_mutex_init(&d->coll_lock, NULL);
    pe->device = d;
    pe->device_ops = &cuda_ops;
    enum gsh_result r = choose(pe, d);
    int has_write_values = 0;
    if (r == GSH_OK) {
        r = gsh_cuda_result(
            cuda->DeviceGetAttribute(&has_write_values,
                                     CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, d->ordinal),
            "init: cuDeviceGetAttribute");
        d->can_write_values = has_write_values != 0;
    }
    struct gsh_cuda_lane *lanes[] = {&d->work, &d->poll, &d->proxy, &d->out};
    for (size_t i = 0; r == GSH_OK && i < GSH_ARRAY_LEN(lanes); i++) {
        r = lane_init(d, lanes[i]);
    }
    if (r == GSH_OK) {
        open_context_lanes(d);
        r = load_kernels(d);
    }
    if (r == GSH_OK && d->shared != NULL) {
        r = gsh_cuda_share_find_sms(d);
    }
    warn_of_lazy_loading(pe, d);
    return r; /* the caller cleans up a half-made device */
}

#else

#include "runtime/instance/instance.h"

enum gsh_result gsh_device_cuda_init(struct gsh_instance *pe)
{
    (void)pe;
    return gsh_fail(GSH_ERR_UNSUPPORTED, "init: this library was built without CUDA");
}

#endif
