/* SPDX-License-Identifier: Apache-2.0
 * Memory of the GPU that the host empties while kernels run, by the stream of loads, which is never
 * behind a kernel. */
#include "runtime/backend/cuda/device.h"

#include "runtime/instance/instance.h"

enum gsh_result gsh_cuda_allocate(struct gsh_instance *pe, uint64_t bytes, uint64_t *address)
{
    struct gsh_cuda_device *d = pe->device;
    CUdeviceptr memory = 0;
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r = gsh_cuda_result(d->cuda->MemAlloc(&memory, bytes), "cuMemAlloc");
    gsh_cuda_leave(d, entered);
    *address = memory;
    return r;
}

void gsh_cuda_release(struct gsh_instance *pe, uint64_t address)
{
    const struct gsh_cuda_device *d = pe->device;
    bool entered = gsh_cuda_enter(d);
    d->cuda->MemFree(address);
    gsh_cuda_leave(d, entered);
}

bool gsh_cuda_copy_pieces(struct gsh_instance *pe, const struct gsh_device_piece *pieces,
                          uint32_t n)
{
    struct gsh_cuda_device *d = pe->device;
    CUresult code = CUDA_SUCCESS;
    pthread_mutex_lock(&d->poll.lock);
    bool entered = gsh_cuda_enter(d);
    for (uint32_t i = 0; code == CUDA_SUCCESS && i < n; i++) {
        code = d->cuda->MemcpyDtoHAsync(pieces[i].dest, pieces[i].source, pieces[i].bytes,
                                        d->poll.stream);
    }
    if (code == CUDA_SUCCESS) {
        code = d->cuda->StreamSynchronize(d->poll.stream);
    }
    gsh_cuda_leave(d, entered);
    pthread_mutex_unlock(&d->poll.lock);
    return code == CUDA_SUCCESS;
}
