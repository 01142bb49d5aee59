/* SPDX-License-Identifier: Apache-2.0
 * See copier.h. The build compiles it twice; GSH_NCCL_COPIER_OPS names the table. The CPU device
 * has no engines: the thread copies. */
#include "dialects/nccl/kernels/copier.h"
#include <gshmem_device.cuh>
#include <string.h>

namespace
{

void destroy(gsh_nccl_copies *c)
{
#if defined(__CUDACC__)
    if (c->stream != nullptr) {
        (void)cudaStreamSynchronize((cudaStream_t)c->stream);
        (void)cudaStreamDestroy((cudaStream_t)c->stream);
    }
    for (void *&event : c->events)
        if (event != nullptr)
            (void)cudaEventDestroy((cudaEvent_t)event);
#endif
    if (c->head != nullptr)
        (void)cudaFree(c->head);
    if (c->ring != nullptr)
        (void)cudaFreeHost(c->ring);
    memset(static_cast<void *>(c), 0, sizeof *c);
}

int create(gsh_nccl_copies *c)
{
    void *ring = nullptr, *head = nullptr;
    cudaError_t r = cudaHostAlloc(&ring, sizeof *c->ring, cudaHostAllocPortable);
    c->ring = static_cast<gsh_nccl_copy_ring *>(ring);
    if (r == cudaSuccess) {
        memset(ring, 0, sizeof *c->ring);
        r = cudaMalloc(&head, sizeof *c->head);
        c->head = static_cast<uint64_t *>(head);
    }
    const uint64_t zero = 0;
    if (r == cudaSuccess)
        r = cudaMemcpy(head, &zero, sizeof zero, cudaMemcpyDefault);
#if defined(__CUDACC__)
    cudaStream_t stream = nullptr;
    if (r == cudaSuccess) {
        r = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        c->stream = stream;
    }
    for (void *&event : c->events) {
        cudaEvent_t e = nullptr;
        if (r == cudaSuccess)
            r = cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
        event = e;
    }
#endif
    if (r != cudaSuccess)
        destroy(c);
    return (int)r;
}

void begin_thread()
{
#if defined(__CUDACC__)
    /* another thread's capture does not concern this one's calls */
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
#endif
}

int copy(gsh_nccl_copies *c, uint32_t slot)
{
    const gsh_nccl_copy_slot &s = c->ring->slots[slot];
    void *const dest = reinterpret_cast<void *>(s.dest);
    const void *const source = reinterpret_cast<const void *>(s.source);
#if defined(__CUDACC__)
    const cudaStream_t stream = (cudaStream_t)c->stream;
    cudaError_t r = cudaMemcpyAsync(dest, source, s.bytes, cudaMemcpyDefault, stream);
    if (r == cudaSuccess)
        r = cudaEventRecord((cudaEvent_t)c->events[slot], stream);
    return (int)r;
#else
    memcpy(dest, source, s.bytes);
    return 0;
#endif
}

int poll(gsh_nccl_copies *c, uint32_t slot, int *has_ended)
{
    *has_ended = 1;
#if defined(__CUDACC__)
    const cudaError_t r = cudaEventQuery((cudaEvent_t)c->events[slot]);
    *has_ended = r == cudaSuccess;
    return r == cudaErrorNotReady ? 0 : (int)r;
#else
    (void)c, (void)slot;
    return 0;
#endif
}

} // namespace

extern "C" const struct gsh_nccl_copier_ops GSH_NCCL_COPIER_OPS = {create, destroy, begin_thread,
                                                                   copy, poll};
