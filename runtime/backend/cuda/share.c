/* SPDX-License-Identifier: Apache-2.0
 * PEs that are threads of one process and share a GPU: the multiprocessors are divided among them,
 * so that kernels of all can run, and wait for each other, at the same time. A part is a green
 * context of the driver's. Parts share the primary context's memory and modules, so they share a
 * unit's constant memory, too; kernels find their own state in it by the multiprocessor they run on
 * (device/context.cuh). */
#include "runtime/backend/cuda/device.h"

#include <stdlib.h>
#include "base/log.h"
#include "runtime/instance/instance.h"
#include "wire/state.h"

struct gsh_gpu {
    CUdevice ordinal;
    int n_parts;
    uint32_t taken; /* bit i: part i */
    CUdevResource sms[GSH_PARTS];
    CUgreenCtx contexts[GSH_PARTS];
    CUdeviceptr part_of_sm; /* uint8_t[GSH_SMS] */
    struct gsh_gpu *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gsh_gpu *gpus; /* under lock, with all that it points to except the parts' own data */

static bool can_divide(const struct gsh_cuda *cuda)
{
    return cuda->DeviceGetDevResource != NULL && cuda->DevSmResourceSplitByCount != NULL &&
           cuda->DevResourceGenerateDesc != NULL && cuda->GreenCtxCreate != NULL &&
           cuda->GreenCtxDestroy != NULL && cuda->CtxFromGreenCtx != NULL;
}

/* Divides the GPU into the requested number of equal parts. */
static enum gsh_result divide(const struct gsh_cuda *cuda, struct gsh_gpu *gpu)
{
    CUdevResource all;
    unsigned n = (unsigned)gpu->n_parts;
    enum gsh_result r =
        gsh_cuda_result(cuda->DeviceGetDevResource(gpu->ordinal, &all, CU_DEV_RESOURCE_TYPE_SM),
                        "init: cuDeviceGetDevResource");
    if (r != GSH_OK) {
        return r;
    }
    unsigned each = all.sm.smCount / n & ~7u; /* compute capability 9.0 takes multiples of 8 */
    r = gsh_cuda_result(
        cuda->DevSmResourceSplitByCount(gpu->sms, &n, &all, NULL, 0, each < 8 ? 8 : each),
        "init: cuDevSmResourceSplitByCount");
    return r != GSH_OK || n == (unsigned)gpu->n_parts
               ? r
               : gsh_fail(GSH_ERR_UNSUPPORTED,
                          "init: %d PEs cannot share GPU %d: its %u multiprocessors make %u parts",
                          gpu->n_parts, gpu->ordinal, all.sm.smCount, n);
}

static enum gsh_result clear_table(const struct gsh_cuda *cuda, CUdeviceptr table)
{
    enum gsh_result r =
        gsh_cuda_result(cuda->MemsetD8Async(table, 0xff, GSH_SMS, NULL), "init: cuMemsetD8Async");
    return r == GSH_OK ? gsh_cuda_result(cuda->StreamSynchronize(NULL), "init: cuStreamSynchronize")
                       : r;
}

/* The primary context is current. */
static enum gsh_result make_gpu(const struct gsh_cuda *cuda, CUdevice ordinal, int n_parts,
                                struct gsh_gpu **out)
{
    struct gsh_gpu *gpu = calloc(1, sizeof(*gpu));
    if (gpu == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for a shared GPU");
    }
    gpu->ordinal = ordinal;
    gpu->n_parts = n_parts;
    enum gsh_result r = divide(cuda, gpu);
    if (r == GSH_OK) {
        r = gsh_cuda_result(cuda->MemAlloc(&gpu->part_of_sm, GSH_SMS), "init: cuMemAlloc");
    }
    if (r == GSH_OK) {
        r = clear_table(cuda, gpu->part_of_sm);
    }
    if (r != GSH_OK) {
        if (gpu->part_of_sm != 0) {
            cuda->MemFree(gpu->part_of_sm);
        }
        free(gpu);
        return r;
    }
    gpu->next = gpus;
    gpus = gpu;
    *out = gpu;
    return GSH_OK;
}

/* NULL: it has not been divided. The caller holds the lock, also for take_part. */
static struct gsh_gpu *find_gpu(CUdevice ordinal)
{
    struct gsh_gpu *gpu = gpus;
    while (gpu != NULL && gpu->ordinal != ordinal) {
        gpu = gpu->next;
    }
    return gpu;
}

static enum gsh_result take_part(struct gsh_cuda_device *d, int n_parts)
{
    enum gsh_result r = GSH_OK;
    d->shared = find_gpu(d->ordinal);
    if (d->shared == NULL) {
        r = make_gpu(d->cuda, d->ordinal, n_parts, &d->shared);
    }
    if (r != GSH_OK) {
        return r;
    }
    uint32_t left = ((1u << d->shared->n_parts) - 1) & ~d->shared->taken;
    if (left == 0) {
        d->shared = NULL;
        return gsh_fail(GSH_ERR_ARG,
                        "init: more than %d PEs of this process chose GPU %d: spread them evenly",
                        n_parts, d->ordinal);
    }
    d->part = __builtin_ctz(left);
    d->n_parts = d->shared->n_parts;
    d->shared->taken |= 1u << d->part;
    return GSH_OK;
}

/* Kernels of collectives have deep stacks, as have those that post to a NIC. To make room for a
 * deeper stack at a launch, CUDA waits until no kernel runs, and a running kernel may wait for this
 * PE. So the room is made at the start. */
#define STACK_BYTES 4096

static enum gsh_result make_room(const struct gsh_cuda_device *d)
{
    CUcontext part;
    size_t bytes = 0;
    enum gsh_result r =
        gsh_cuda_result(d->cuda->CtxPushCurrent(d->context), "init: cuCtxPushCurrent");
    if (r == GSH_OK) {
        r = gsh_cuda_result(d->cuda->CtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE),
                            "init: cuCtxGetLimit");
        if (r == GSH_OK && bytes < STACK_BYTES) {
            r = gsh_cuda_result(d->cuda->CtxSetLimit(CU_LIMIT_STACK_SIZE, STACK_BYTES),
                                "init: cuCtxSetLimit");
        }
        d->cuda->CtxPopCurrent(&part);
    }
    return r;
}

enum gsh_result gsh_cuda_make_room_for_stacks(struct gsh_instance *pe)
{
    return make_room(pe->device);
}

static enum gsh_result make_context(struct gsh_cuda_device *d)
{
    CUdevResourceDesc what;
    CUgreenCtx *context = &d->shared->contexts[d->part];
    enum gsh_result r =
        gsh_cuda_result(d->cuda->DevResourceGenerateDesc(&what, &d->shared->sms[d->part], 1),
                        "init: cuDevResourceGenerateDesc");
    if (r == GSH_OK) {
        r = gsh_cuda_result(
            d->cuda->GreenCtxCreate(context, what, d->ordinal, CU_GREEN_CTX_DEFAULT_STREAM),
            "init: cuGreenCtxCreate");
    }
    if (r == GSH_OK) {
        r = gsh_cuda_result(d->cuda->CtxFromGreenCtx(&d->context, *context),
                            "init: cuCtxFromGreenCtx");
    }
    return r == GSH_OK ? make_room(d) : r;
}

enum gsh_result gsh_cuda_share_join(struct gsh_cuda_device *d, int n_parts)
{
    if (!can_divide(d->cuda)) {
        return gsh_fail(GSH_ERR_UNSUPPORTED,
                        "init: this CUDA driver cannot divide a GPU among PEs; it is too old");
    }
    if (n_parts > GSH_PARTS) {
        return gsh_fail(GSH_ERR_UNSUPPORTED, "init: at most %d PEs of a process can share a GPU",
                        GSH_PARTS);
    }
    pthread_mutex_lock(&lock);
    enum gsh_result r = take_part(d, n_parts);
    if (r == GSH_OK) {
        d->n_sms = d->shared->sms[d->part].sm.smCount;
        d->part_of_sm = d->shared->part_of_sm;
        r = make_context(d); /* leave undoes a half-made one */
    }
    pthread_mutex_unlock(&lock);
    return r;
}

/* How many multiprocessors of this part are in the table. */
static enum gsh_result count_sms(const struct gsh_cuda_device *d, unsigned *n)
{
    uint8_t table[GSH_SMS];
    enum gsh_result r = gsh_cuda_result(d->cuda->MemcpyDtoH(table, d->part_of_sm, sizeof(table)),
                                        "init: cuMemcpyDtoH");
    *n = 0;
    for (int i = 0; r == GSH_OK && i < GSH_SMS; i++) {
        *n += table[i] == d->part;
    }
    return r;
}

/* Blocks record where they run, until each multiprocessor has been seen: usually at the first
 * launch, since there are several blocks for each. */
enum gsh_result gsh_cuda_share_find_sms(struct gsh_cuda_device *d)
{
    enum { ATTEMPTS = 1000, THREADS = 1024 };
    CUfunction kernel;
    uint8_t part = (uint8_t)d->part;
    void *params[] = {&d->part_of_sm, &part};
    unsigned n = 0;
    enum gsh_result r =
        gsh_cuda_result(d->cuda->ModuleGetFunction(&kernel, d->module, "gsh_kernel_find_sms"),
                        "gsh_kernel_find_sms");
    if (r == GSH_OK) {
        r = count_sms(d, &n);
    }
    for (int i = 0; r == GSH_OK && n != d->n_sms && i < ATTEMPTS; i++) {
        r = gsh_cuda_result(d->cuda->LaunchKernel(kernel, 4 * d->n_sms, 1, 1, THREADS, 1, 1, 0,
                                                  d->work.stream, params, NULL),
                            "init: cuLaunchKernel");
        if (r == GSH_OK) {
            r = gsh_cuda_result(d->cuda->StreamSynchronize(d->work.stream),
                                "init: cuStreamSynchronize");
        }
        if (r == GSH_OK) {
            r = count_sms(d, &n);
        }
    }
    return r != GSH_OK || n == d->n_sms
               ? r
               : gsh_fail(GSH_ERR_CUDA,
                          "init: part %d of GPU %d has %u multiprocessors, and kernels ran on %u",
                          d->part, d->ordinal, d->n_sms, n);
}

static void forget(struct gsh_gpu *gpu)
{
    struct gsh_gpu **p = &gpus;
    while (*p != gpu) {
        p = &(*p)->next;
    }
    *p = gpu->next;
    free(gpu);
}

/* The primary context is current: it owns the table. */
void gsh_cuda_share_leave(struct gsh_cuda_device *d)
{
    struct gsh_gpu *gpu = d->shared;
    if (gpu == NULL) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (gpu->contexts[d->part] != NULL) {
        d->cuda->GreenCtxDestroy(gpu->contexts[d->part]);
        gpu->contexts[d->part] = NULL;
    }
    gpu->taken &= ~(1u << d->part);
    if (gpu->taken == 0) {
        d->cuda->MemFree(gpu->part_of_sm);
        forget(gpu);
    }
    pthread_mutex_unlock(&lock);
    d->shared = NULL;
}
