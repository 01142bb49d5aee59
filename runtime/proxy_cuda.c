/* SPDX-License-Identifier: Apache-2.0
 * The CUDA row's entries for the proxy: on a stream of their own, so that they wait for nothing
 * that host threads have asked. Atomics are a kernel's, and so atomic with the GPU's own; a plain
 * set is the stream's. */
#include "runtime/device_cuda.h"

#ifdef GSH_HAVE_CUDA

#include <string.h>
#include "runtime/instance.h"

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

static enum gsh_result set(const struct gsh_cuda_device *d, void *address, size_t bytes,
                           uint64_t value)
{
    CUdeviceptr to = device_address(address);
    return bytes == 4
               ? gsh_cuda_result(d->cuda->StreamWriteValue32(d->proxy.stream, to, (uint32_t)value,
                                                             CU_STREAM_WRITE_VALUE_DEFAULT),
                                 "cuStreamWriteValue32")
               : gsh_cuda_result(d->cuda->StreamWriteValue64(d->proxy.stream, to, value,
                                                             CU_STREAM_WRITE_VALUE_DEFAULT),
                                 "cuStreamWriteValue64");
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
        synchronize(d, op == GSH_AMO_SET && d->can_write_values
                           ? set(d, address, bytes, operand)
                           : gsh_cuda_launch(d, GSH_KERNEL_AMO, 1, 1, &args, d->proxy.stream));
    memcpy(old, d->proxy.words, sizeof(*old));
    gsh_cuda_leave(d, entered);
    pthread_mutex_unlock(&d->proxy.lock);
    return r;
}

#else

typedef int gsh_proxy_cuda_is_empty;

#endif
