/* SPDX-License-Identifier: Apache-2.0
 * Copies for dialects, in order: at once on the CPU device, on a stream of their own on GPUs; and
 * where a GPU is attached. */
#include "runtime/layer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cuda.h"
#include "base/util.h"
#include "runtime/api/layer_outcome.h"
#include "runtime/init/registrable.h"

struct copies {
    bool is_cuda;
#ifdef GSH_HAVE_CUDA
    CUdevice device;
    CUcontext context;
    CUstream stream;
#endif
};

#ifdef GSH_HAVE_CUDA

/* Another thread may capture a graph meanwhile. */
static enum gsh_result enter(const struct copies *c, CUstreamCaptureMode *mode)
{
    *mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    enum gsh_result r = gsh_cuda_note(gsh_cuda()->CtxPushCurrent(c->context), "cuCtxPushCurrent");
    if (r == GSH_OK) {
        (void)gsh_cuda()->ThreadExchangeStreamCaptureMode(mode);
    }
    return r;
}

static void leave(CUstreamCaptureMode *mode)
{
    CUcontext context;
    (void)gsh_cuda()->ThreadExchangeStreamCaptureMode(mode);
    (void)gsh_cuda()->CtxPopCurrent(&context);
}

static enum gsh_result create_stream(struct copies *c, CUdevice device)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    CUstreamCaptureMode mode;
    enum gsh_result r = gsh_cuda_note(cuda->DevicePrimaryCtxRetain(&c->context, device),
                                      "cuDevicePrimaryCtxRetain");
    if (r != GSH_OK) {
        return r;
    }
    c->device = device;
    r = enter(c, &mode);
    if (r == GSH_OK) {
        r = gsh_cuda_note(cuda->StreamCreate(&c->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        leave(&mode);
    }
    if (r != GSH_OK) {
        (void)cuda->DevicePrimaryCtxRelease(device);
    }
    return r;
}

static void destroy_stream(struct copies *c)
{
    CUstreamCaptureMode mode;
    if (enter(c, &mode) == GSH_OK) {
        (void)gsh_cuda()->StreamSynchronize(c->stream);
        (void)gsh_cuda()->StreamDestroy(c->stream);
        leave(&mode);
    }
    (void)gsh_cuda()->DevicePrimaryCtxRelease(c->device);
}

static enum gsh_result add_to_stream(struct copies *c, void *dest, const void *source, size_t bytes)
{
    CUstreamCaptureMode mode;
    enum gsh_result r = enter(c, &mode);
    if (r == GSH_OK) {
        r = gsh_cuda_note(gsh_cuda()->MemcpyAsync((CUdeviceptr)(uintptr_t)dest,
                                                  (CUdeviceptr)(uintptr_t)source, bytes, c->stream),
                          "cuMemcpyAsync");
        leave(&mode);
    }
    return r;
}

static enum gsh_result store_two_by_stream(struct copies *c, uint64_t *const words[2],
                                           const uint64_t values[2])
{
    CUstreamBatchMemOpParams stores[2];
    CUstreamCaptureMode mode;
    enum gsh_result r = enter(c, &mode);
    if (r == GSH_OK) {
        memset(stores, 0, sizeof(stores));
        for (int i = 0; i < 2; i++) {
            stores[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
            stores[i].writeValue.address = (CUdeviceptr)(uintptr_t)words[i];
            stores[i].writeValue.value64 = values[i];
            stores[i].writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
        }
        r = gsh_cuda_note(gsh_cuda()->StreamBatchMemOp(c->stream, 2, stores, 0),
                          "cuStreamBatchMemOp");
        leave(&mode);
    }
    return r;
}

static enum gsh_result wait_for_stream(struct copies *c, uint64_t timeout_ns)
{
    CUstreamCaptureMode mode;
    const uint64_t begin_ns = gsh_now_ns();
    enum gsh_result r = enter(c, &mode);
    if (r != GSH_OK) {
        return r;
    }
    CUresult is_done;
    while ((is_done = gsh_cuda()->StreamQuery(c->stream)) == CUDA_ERROR_NOT_READY) {
        if (timeout_ns > 0 && gsh_now_ns() - begin_ns > timeout_ns) {
            leave(&mode);
            return gsh_note(GSH_ERR_TIMEOUT, "copies did not end in time");
        }
    }
    leave(&mode);
    return gsh_cuda_note(is_done, "cuStreamQuery");
}

static bool is_known_to_driver(const uint64_t *word)
{
    CUmemorytype type;
    return gsh_cuda()->PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                           (CUdeviceptr)(uintptr_t)word) == CUDA_SUCCESS;
}

/* A stream does not write to ordinary memory of the host, where words lie for which host threads
 * wait. */
static enum gsh_result store_by_stream(struct copies *c, uint64_t *word, uint64_t value)
{
    CUstreamCaptureMode mode;
    enum gsh_result r = enter(c, &mode);
    if (r != GSH_OK) {
        return r;
    }
    const CUresult code = gsh_cuda()->StreamWriteValue64(c->stream, (CUdeviceptr)(uintptr_t)word,
                                                         value, CU_STREAM_WRITE_VALUE_DEFAULT);
    const bool is_ordinary = code == CUDA_ERROR_INVALID_VALUE && !is_known_to_driver(word);
    leave(&mode);
    if (!is_ordinary) {
        return gsh_cuda_note(code, "cuStreamWriteValue64");
    }
    r = wait_for_stream(c, 0);
    if (r == GSH_OK) {
        /* release: pairs with the acquire of the host thread that waits for the word */
        __atomic_store_n(word, value, __ATOMIC_RELEASE);
    }
    return r;
}

int gshmemx_layer_device_node(int device)
{
    char bus[32] = "", path[96];
    int node = -1;
    CUdevice d;
    const struct gsh_cuda *cuda = gsh_cuda_is_installed() ? gsh_cuda() : NULL;
    if (cuda == NULL || cuda->DeviceGet(&d, device) != CUDA_SUCCESS ||
        cuda->DeviceGetPCIBusId(bus, sizeof(bus), d) != CUDA_SUCCESS) {
        return -1;
    }
    for (char *c = bus; *c != '\0'; c++) {
        *c = (char)tolower((unsigned char)*c);
    }
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/numa_node", bus);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fscanf(file, "%d", &node) != 1) {
            node = -1;
        }
        fclose(file);
    }
    return node;
}

#else

int gshmemx_layer_device_node(int device)
{
    (void)device;
    return -1;
}

static enum gsh_result create_stream(struct copies *c, CUdevice device)
{
    (void)c;
    (void)device;
    return GSH_ERR_UNSUPPORTED;
}

static void destroy_stream(struct copies *c)
{
    (void)c;
}

static enum gsh_result add_to_stream(struct copies *c, void *dest, const void *source, size_t bytes)
{
    (void)c;
    (void)dest;
    (void)source;
    (void)bytes;
    return GSH_ERR_UNSUPPORTED;
}

static enum gsh_result store_by_stream(struct copies *c, uint64_t *word, uint64_t value)
{
    (void)c;
    (void)word;
    (void)value;
    return GSH_ERR_UNSUPPORTED;
}

static enum gsh_result store_two_by_stream(struct copies *c, uint64_t *const words[2],
                                           const uint64_t values[2])
{
    (void)c;
    (void)words;
    (void)values;
    return GSH_ERR_UNSUPPORTED;
}

static enum gsh_result wait_for_stream(struct copies *c, uint64_t timeout_ns)
{
    (void)c;
    (void)timeout_ns;
    return GSH_ERR_UNSUPPORTED;
}

#endif

int gshmemx_layer_copies_create(void **copies)
{
    struct gsh_setup_kind kind;
    struct copies *c = calloc(1, sizeof(*c));
    enum gsh_result r = c != NULL ? gsh_setup_find_kind(&kind)
                                  : gsh_note(GSH_ERR_NOMEM, "no host memory for a connection");
    if (r == GSH_OK && kind.ops != &gsh_memory_host) {
        c->is_cuda = true;
        r = create_stream(c, kind.devices[0]);
    }
    if (r != GSH_OK) {
        free(c);
        c = NULL;
    }
    *copies = c;
    return gsh_layer_outcome(r);
}

void gshmemx_layer_copies_destroy(void *copies)
{
    struct copies *c = copies;
    if (c != NULL && c->is_cuda) {
        destroy_stream(c);
    }
    free(c);
}

/* Aligned words at once, as copies by a GPU are: kernels may look at words that carry their own
 * flags (packets) meanwhile. */
static void copy_words(uint64_t *dest, const char *source, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t word;
        memcpy(&word, source + 8 * i, sizeof(word));
        /* relaxed: what follows the copy orders it */
        __atomic_store_n(dest + i, word, __ATOMIC_RELAXED);
    }
}

static void copy_on_cpu(char *dest, const char *source, size_t bytes)
{
    const bool is_apart = dest + bytes <= source || source + bytes <= dest;
    if (is_apart && (uintptr_t)dest % 8 == 0) {
        const size_t n = bytes / 8;
        copy_words((uint64_t *)(void *)dest, source, n);
        memcpy(dest + 8 * n, source + 8 * n, bytes % 8);
    } else {
        memmove(dest, source, bytes);
    }
}

int gshmemx_layer_copies_add(void *copies, void *dest, const void *source, size_t bytes)
{
    struct copies *c = copies;
    if (c->is_cuda) {
        return gsh_layer_outcome(add_to_stream(c, dest, source, bytes));
    }
    copy_on_cpu(dest, source, bytes);
    return GSHMEMX_LAYER_DONE;
}

int gshmemx_layer_copies_store(void *copies, uint64_t *word, uint64_t value)
{
    struct copies *c = copies;
    if (c->is_cuda) {
        return gsh_layer_outcome(store_by_stream(c, word, value));
    }
    /* release: pairs with the acquire of the thread that waits for the word, a semaphore's or
     * another */
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    return GSHMEMX_LAYER_DONE;
}

int gshmemx_layer_copies_store_two(void *copies, uint64_t *const words[2], const uint64_t values[2])
{
    struct copies *c = copies;
    if (c->is_cuda) {
        return gsh_layer_outcome(store_two_by_stream(c, words, values));
    }
    int outcome = gshmemx_layer_copies_store(copies, words[0], values[0]);
    return outcome == GSHMEMX_LAYER_DONE ? gshmemx_layer_copies_store(copies, words[1], values[1])
                                         : outcome;
}

int gshmemx_layer_copies_wait(void *copies, uint64_t timeout_ns)
{
    struct copies *c = copies;
    return c->is_cuda ? gsh_layer_outcome(wait_for_stream(c, timeout_ns)) : GSHMEMX_LAYER_DONE;
}
