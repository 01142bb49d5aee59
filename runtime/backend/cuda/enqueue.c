/* SPDX-License-Identifier: Apache-2.0
 * The base of the CUDA row: the device's context, and work that can be enqueued on any stream. */
#include "runtime/backend/cuda/device.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"

/* ---- contexts: each PE has its own; a thread may have another one current ---- */

bool gsh_cuda_push_context(const struct gsh_cuda_device *d)
{
    CUcontext now = NULL;
    return d->cuda->CtxGetCurrent(&now) == CUDA_SUCCESS && now != d->context &&
           d->cuda->CtxPushCurrent(d->context) == CUDA_SUCCESS;
}

void gsh_cuda_pop_context(const struct gsh_cuda_device *d, bool pushed)
{
    CUcontext popped;
    if (pushed) {
        d->cuda->CtxPopCurrent(&popped);
    }
}

bool gsh_cuda_enter(const struct gsh_cuda_device *d)
{
    gsh_waits_enter_driver(d, NULL);
    return gsh_cuda_push_context(d);
}

void gsh_cuda_leave(const struct gsh_cuda_device *d, bool entered)
{
    gsh_cuda_pop_context(d, entered);
    gsh_waits_leave_driver();
}

/* ---- kernels ---- */

enum gsh_result gsh_cuda_make_stream(const struct gsh_cuda_device *d,
                                     struct gsh_own_stream *copy_stream)
{
    return gsh_cuda_result(
        d->cuda->StreamCreateWithPriority(&copy_stream->stream, CU_STREAM_NON_BLOCKING, -1),
        "cuStreamCreateWithPriority");
}

enum gsh_result gsh_cuda_load_kernel(const struct gsh_cuda_device *d, CUmodule module,
                                     const char *name, CUfunction *kernel)
{
    int n_registers;
    enum gsh_result r = gsh_cuda_result(d->cuda->ModuleGetFunction(kernel, module, name), name);
    /* the question loads it */
    return r == GSH_OK ? gsh_cuda_result(d->cuda->FuncGetAttribute(
                                             &n_registers, CU_FUNC_ATTRIBUTE_NUM_REGS, *kernel),
                                         name)
                       : r;
}

enum gsh_result gsh_cuda_launch(const struct gsh_cuda_device *d, enum gsh_kernel kernel,
                                unsigned grid, unsigned block, void *args, CUstream stream)
{
    void *params[] = {args};
    return gsh_cuda_result(
        d->cuda->LaunchKernel(d->kernels[kernel], grid, 1, 1, block, 1, 1, 0, stream, params, NULL),
        "cuLaunchKernel");
}

bool gsh_cuda_is_mapped(const struct gsh_instance *pe, const void *p)
{
    uint64_t start = pe->state.base - (uint64_t)pe->state.my_slot * pe->state.stride;
    return (uint64_t)(uintptr_t)p - start < (uint64_t)pe->state.n_slots * pe->state.stride;
}

CUdeviceptr gsh_cuda_kernel_address(const struct gsh_instance *pe, const void *p)
{
    const struct gsh_cuda_device *d = pe->device;
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)p, out = 0;
    if (gsh_cuda_is_mapped(pe, p)) {
        return address;
    }
    /* The plural form does not fail for ordinary host memory: it leaves 0. */
    CUpointer_attribute what = CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
    void *where = &out;
    CUresult code = d->cuda->PointerGetAttributes(1, &what, &where, address);
    return code == CUDA_SUCCESS ? out : 0;
}

/* ---- words that a stream writes ---- */

enum gsh_result gsh_cuda_write_word(const struct gsh_cuda_device *d, void *address, size_t bytes,
                                    uint64_t value, CUstream stream)
{
    CUdeviceptr to = (CUdeviceptr)(uintptr_t)address;
    return bytes == 4 ? gsh_cuda_result(d->cuda->StreamWriteValue32(stream, to, (uint32_t)value,
                                                                    CU_STREAM_WRITE_VALUE_DEFAULT),
                                        "cuStreamWriteValue32")
                      : gsh_cuda_result(d->cuda->StreamWriteValue64(stream, to, value,
                                                                    CU_STREAM_WRITE_VALUE_DEFAULT),
                                        "cuStreamWriteValue64");
}

/* A copy from memory that CUDA does not know takes the bytes before it returns (CUDA driver API,
 * "API synchronization behavior"), so a few bytes travel inside the command. A word that the stream
 * writes takes twice as long, because a memory barrier precedes it. */
enum gsh_result gsh_cuda_store(const struct gsh_cuda_device *d, void *dest, uint64_t bits,
                               size_t bytes, CUstream stream)
{
    return gsh_cuda_result(
        d->cuda->MemcpyHtoDAsync((CUdeviceptr)(uintptr_t)dest, &bits, bytes, stream),
        "cuMemcpyHtoDAsync");
}

/* ---- strided copies ---- */

static enum gsh_result copy_strided_by_engine(const struct gsh_cuda_device *d, CUdeviceptr dest,
                                              void *host_dest, CUdeviceptr source,
                                              const void *host_source, ptrdiff_t dst, ptrdiff_t sst,
                                              size_t elem_bytes, size_t nelems, CUstream stream)
{
    CUDA_MEMCPY2D m = {
        .srcMemoryType = source != 0 ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
        .srcHost = host_source,
        .srcDevice = source,
        .srcPitch = (size_t)sst * elem_bytes,
        .dstMemoryType = dest != 0 ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
        .dstHost = host_dest,
        .dstDevice = dest,
        .dstPitch = (size_t)dst * elem_bytes,
        .WidthInBytes = elem_bytes,
        .Height = nelems,
    };
    return gsh_cuda_result(d->cuda->Memcpy2DAsync(&m, stream), "cuMemcpy2DAsync");
}

enum gsh_result gsh_cuda_copy_strided(struct gsh_instance *pe, void *dest, const void *source,
                                      ptrdiff_t dst, ptrdiff_t sst, size_t elem_bytes,
                                      size_t nelems, CUstream stream)
{
    const struct gsh_cuda_device *d = pe->device;
    CUdeviceptr to = gsh_cuda_kernel_address(pe, dest);
    CUdeviceptr from = gsh_cuda_kernel_address(pe, source);
    if (dst == 1 && sst == 1) {
        return gsh_cuda_result(d->cuda->MemcpyAsync((CUdeviceptr)(uintptr_t)dest,
                                                    (CUdeviceptr)(uintptr_t)source,
                                                    elem_bytes * nelems, stream),
                               "cuMemcpyAsync");
    }
    if (to == 0 || from == 0) {
        return copy_strided_by_engine(d, to, dest, from, source, dst, sst, elem_bytes, nelems,
                                      stream);
    }
    struct gsh_kernel_strided_args args = {to, from, dst, sst, elem_bytes, nelems};
    size_t blocks = (nelems + 1023) / 1024; /* of 256 threads with 4 elements each */
    return gsh_cuda_launch(d, GSH_KERNEL_COPY_STRIDED, blocks < 64 ? (unsigned)blocks : 64, 256,
                           &args, stream);
}
