/* SPDX-License-Identifier: Apache-2.0
 * The CUDA row of the device table, through the driver alone: choosing the GPU, its set-up and its
 * undoing, and uploading the state. Host-initiated calls are in host.c, calls on the user's streams
 * in stream.c, the kernels in kernels/kernels.cu. */
#include "runtime/backend/cuda/device.h"

#ifdef GSH_HAVE_CUDA

#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/util.h"
#include "runtime/backend/modules.h"
#include "runtime/instance/instance.h"

extern const unsigned char gsh_kernels_fatbin[]; /* kernels_fatbin.S */

static const char *const kernel_names[GSH_KERNEL_COUNT] = {
    [GSH_KERNEL_AMO] = "gsh_kernel_amo",     [GSH_KERNEL_PUT_SIGNAL] = "gsh_kernel_put_signal",
    [GSH_KERNEL_STORE] = "gsh_kernel_store", [GSH_KERNEL_COPY_STRIDED] = "gsh_kernel_copy_strided",
    [GSH_KERNEL_WAIT] = "gsh_kernel_wait",   [GSH_KERNEL_SYNC] = "gsh_kernel_sync",
    [GSH_KERNEL_FAR] = "gsh_kernel_far",     [GSH_KERNEL_TRACE] = "gsh_kernel_trace",
};

/* The number of this PE among those of its host. */
static int host_index(const struct gsh_instance *pe)
{
    int index = 0;
    for (int i = 0; i < pe->my_pe; i++) {
        index += gsh_host_of(pe, i) == gsh_host_of(pe, pe->my_pe);
    }
    return index;
}

/* How many parts each GPU is divided into: 1 unless PEs are threads and outnumber the GPUs. */
static int parts_of_gpu(const struct gsh_instance *pe, const struct gsh_cuda_device *d)
{
    int n_gpus = 0, n_pes = 0;
    for (int i = 0; i < pe->n_pes; i++) {
        n_pes += gsh_is_of_process(pe, i);
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

/* On a shared GPU a PE uses one stream in place of all its own ones: a GPU has 32 queues for the
 * streams of all its PEs, and streams that share a queue wait for each other. Nothing in the stream
 * waits for a PE. */
static bool shares_stream(const struct gsh_cuda_device *d, const struct gsh_own_stream *own_stream)
{
    return d->shared != NULL && own_stream != &d->work;
}

static enum gsh_result own_stream_init(struct gsh_cuda_device *d, struct gsh_own_stream *own_stream)
{
    enum gsh_result r = GSH_OK;
    if (shares_stream(d, own_stream)) {
        own_stream->stream = d->work.stream;
    } else {
        r = gsh_cuda_make_stream(d, own_stream);
    }
    if (r == GSH_OK) {
        r = gsh_cuda_result(d->cuda->MemAllocHost(&own_stream->words, GSH_OWN_STREAM_BYTES),
                            "init: cuMemAllocHost");
    }
    if (r == GSH_OK) {
        memset(own_stream->words, 0, GSH_OWN_STREAM_BYTES);
    }
    return r;
}

/* CUDA has 8 queues, or as many as this variable says when CUDA starts. On a shared GPU the
 * contexts get no streams of their own: see shares_stream. */
static void open_context_own_streams(struct gsh_cuda_device *d)
{
    const char *text = secure_getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const long queues = text != NULL ? strtol(text, NULL, 10) : 8, most = GSH_CUDA_CONTEXT_STREAMS;
    if (d->shared != NULL) {
        return;
    }
    d->n_of_contexts = (unsigned)(queues < 8 ? 2 : queues / 4 < most ? queues / 4 : most);
    for (unsigned i = 0; i < d->n_of_contexts; i++) {
        d->of_contexts[i].words = (uint64_t *)d->work.words + GSH_CUDA_CONTEXT_WORDS + i;
    }
}

static void own_stream_finish(struct gsh_cuda_device *d, struct gsh_own_stream *own_stream)
{
    if (own_stream->stream != NULL && !shares_stream(d, own_stream)) {
        d->cuda->StreamDestroy(own_stream->stream);
    }
    if (own_stream->words != NULL) {
        d->cuda->MemFreeHost(own_stream->words);
    }
    pthread_mutex_destroy(&own_stream->lock);
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
    for (int i = 0; i < GSH_CUDA_CONTEXT_STREAMS; i++) {
        d->of_contexts[i].words = NULL; /* the work stream's */
        own_stream_finish(d, &d->of_contexts[i]);
    }
    own_stream_finish(d, &d->work);
    own_stream_finish(d, &d->poll);
    own_stream_finish(d, &d->proxy);
    own_stream_finish(d, &d->out);
    if (d->coll_stream != NULL) {
        d->cuda->StreamDestroy(d->coll_stream);
    }
    if (d->module != NULL) {
        d->cuda->ModuleUnload(d->module);
    }
    for (int i = 0; i < GSH_COLL_MODULES; i++) {
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
    const bool loads_now = d->shared != NULL || pe->proxy != NULL;
    return r == GSH_OK && loads_now ? gsh_cuda_load_colls(pe, true) : r;
}

/* The size of a heap at the start: the library's part, and room for small allocations. The driver
 * takes some 4 MiB for kernels and streams, which makes 16 MiB in all. */
#define FIRST ((uint64_t)12 << 20)
/* The least growth: each takes some 0.3 ms. */
#define ROOM ((uint64_t)8 << 20)
/* The driver takes 9 ms to map the first such chunk of a peer, for one PE at a time. */
#define LARGE ((uint64_t)512 << 20)

static const struct gsh_device_ops cuda_ops = {
    .name = "cuda",
    .memory = GSH_MEMORY_CUDA,
    .needs_monitor = true,
    .fills_modules = true,
    .keep_limit_bytes = UINT64_MAX,
    .first_bytes = FIRST,
    .room_bytes = ROOM,
    .large_bytes = LARGE,
    .coll_table = &gsh_coll_table_cuda,
    .stride_unit_bytes = GSH_GPU_STRIDE_UNIT,
    .attr = gsh_cuda_attr,
    .route = gsh_cuda_route,
    .pci_address = gsh_cuda_pci_address,
    .name_part = name_part,
    .count_part = count_part,
    .check_stream = check_stream,
    .upload = cuda_upload,
    .module_init = gsh_cuda_module_init,
    .finish = cuda_finish,
    .make_room_for_stacks = gsh_cuda_make_room_for_stacks,
    .map_host = gsh_cuda_map_host,
    .unmap_host = gsh_cuda_unmap_host,
    .map_registers = gsh_cuda_map_registers,
    .share_memory = gsh_cuda_share_memory,
    .pci_bus = gsh_cuda_pci_bus,
    .allocate = gsh_cuda_allocate,
    .release = gsh_cuda_release,
    .copy_pieces = gsh_cuda_copy_pieces,
    .pin = gsh_cuda_pin,
    .unpin = gsh_cuda_unpin,
    .copy = gsh_cuda_host_copy,
    .copy_nbi = gsh_cuda_host_copy_nbi,
    .copy_strided = gsh_cuda_host_copy_strided,
    .store = gsh_cuda_host_store,
    .load = gsh_cuda_host_load,
    .amo = gsh_cuda_host_amo,
    .load_colls = gsh_cuda_load_colls,
    .coll = gsh_cuda_coll,
    .quiet = gsh_cuda_host_quiet,
    .quiet_all = gsh_cuda_host_quiet_all,
    .enter = gsh_cuda_host_enter,
    .leave = gsh_cuda_host_leave,
    .synchronize = gsh_cuda_host_synchronize,
    .proxy_copy = gsh_cuda_proxy_copy,
    .proxy_amo = gsh_cuda_proxy_amo,
    .proxy_copy_streams = &gsh_cuda_proxy_copy_streams,
    .stream_copy = gsh_cuda_stream_copy,
    .stream_signal = gsh_cuda_stream_signal,
    .stream_copy_strided = gsh_cuda_stream_copy_strided,
    .stream_store = gsh_cuda_stream_store,
    .stream_wait = gsh_cuda_stream_wait,
    .stream_sync = gsh_cuda_stream_sync,
    .stream_coll = gsh_cuda_stream_coll,
    .stream_quiet = gsh_cuda_stream_quiet,
    .stream_far = gsh_cuda_stream_far,
    .stream_trace = gsh_cuda_stream_trace,
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
    for (int i = 0; i < GSH_CUDA_CONTEXT_STREAMS; i++) {
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
    struct gsh_own_stream *own_streams[] = {&d->work, &d->poll, &d->proxy, &d->out};
    const size_t n_streams =
        pe->n_nodes > 1 ? 4 : 2; /* each takes half a MiB of the GPU's memory */
    for (size_t i = 0; r == GSH_OK && i < n_streams; i++) {
        r = own_stream_init(d, own_streams[i]);
    }
    if (r == GSH_OK) {
        open_context_own_streams(d);
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
