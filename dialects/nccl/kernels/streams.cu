/* SPDX-License-Identifier: Apache-2.0
 * See streams.h. The build compiles it twice; GSH_NCCL_STREAM_OPS names the table. */
#include "dialects/nccl/kernels/streams.h"
#include <gshmem_device.cuh>

namespace
{

/* ---- waits ---- */

__global__ void wait_kernel(gsh_nccl_wait a)
{
    const gshmem::context c = {*a.state, 0};
    const uint64_t least = *a.awaited + a.n;
    /* Acquires what the signal announces: pairs with the release of ncclPutSignal. */
    gshmem::detail::spin_on(
        c, a.signal, [&](const uint64_t *p) { return gshmem::signal_fetch(c, p); },
        [=](uint64_t seen) { return seen >= least; }, GSH_REPORT_WAIT_TIMEOUT, "ncclWaitSignal",
        a.pe, GSH_REPORT_CMP_AT(GSHMEM_CMP_GE, a.site), least);
    *a.awaited = least;
}

int prepare()
{
#if defined(__CUDACC__)
    cudaFuncAttributes attributes;
    return (int)cudaFuncGetAttributes(&attributes, (const void *)wait_kernel);
#else
    return 0;
#endif
}

int wait(const gsh_nccl_wait *a, gshmemx_stream_t stream)
{
    return (int)gshmem_launch(wait_kernel, dim3(1), dim3(1), 0, stream, *a);
}

/* ---- order ---- */

#if defined(__CUDACC__)
bool is_legacy(cudaStream_t stream)
{
    return stream == nullptr || stream == cudaStreamLegacy;
}
#endif

/* The graph that the stream is being captured into; 0: none. *gone: a CUDA error, if there is no
 * such stream; else unchanged. */
uint64_t capture_of(cudaStream_t stream, int *gone)
{
#if defined(__CUDACC__)
    unsigned long long id = 0;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    /* The legacy stream is never captured, and querying it while another stream is captured is an
     * error. */
    if (is_legacy(stream))
        return 0;
#if CUDART_VERSION >= 13000
    const cudaError_t r =
        cudaStreamGetCaptureInfo(stream, &status, &id, nullptr, nullptr, nullptr, nullptr);
#else
    const cudaError_t r = cudaStreamGetCaptureInfo(stream, &status, &id);
#endif
    if (r != cudaSuccess) {
        (void)cudaGetLastError();
        if (r == cudaErrorInvalidResourceHandle || r == cudaErrorContextIsDestroyed)
            *gone = GSH_NCCL_NO_STREAM;
        return 0;
    }
    return status == cudaStreamCaptureStatusActive ? (uint64_t)id : 0;
#else
    const cudaError_t r = cudaStreamQuery(stream);
    if (r != cudaSuccess && r != cudaErrorNotReady)
        *gone = GSH_NCCL_NO_STREAM;
    return 0;
#endif
}

/* Which stream it is: CUDA may give a new one the handle of one that has been destroyed, and all
 * threads give their own the same handle. The stream exists. Returns a CUDA error. */
int find_id(cudaStream_t stream, uint64_t *id)
{
#if defined(__CUDACC__)
    unsigned long long found = UINT64_MAX; /* the legacy stream's, here */
    const cudaError_t r = is_legacy(stream) ? cudaSuccess : cudaStreamGetId(stream, &found);
    *id = found;
    return (int)r;
#else
    *id = (uint64_t)(uintptr_t)stream; /* which an event keeps */
    return 0;
#endif
}

/* Both live: a temporary event is enough. */
int join(gshmemx_stream_t before, gshmemx_stream_t after)
{
    cudaEvent_t event = nullptr;
    cudaError_t r = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (r == cudaSuccess)
        r = cudaEventRecord(event, (cudaStream_t)before);
    if (r == cudaSuccess)
        r = cudaStreamWaitEvent((cudaStream_t)after, event, 0);
    if (event != nullptr)
        (void)cudaEventDestroy(event);
    return (int)r;
}

int record(void *event, gshmemx_stream_t stream)
{
    return (int)cudaEventRecord((cudaEvent_t)event, (cudaStream_t)stream);
}

int is_one_capture(const gshmemx_stream_t *streams, size_t n)
{
    int gone = 0; /* the joins say so, too */
    for (size_t i = 1; i < n; i++)
        if (capture_of((cudaStream_t)streams[i], &gone) !=
            capture_of((cudaStream_t)streams[0], &gone))
            return 0;
    return 1;
}

#if defined(__CUDACC__)
constexpr int relaxed = cudaStreamCaptureModeRelaxed;
int exchange_capture_mode(int mode)
{
    cudaStreamCaptureMode m = (cudaStreamCaptureMode)mode;
    (void)cudaThreadExchangeStreamCaptureMode(&m);
    return (int)m;
}
#else
constexpr int relaxed = 0;
int exchange_capture_mode(int mode)
{
    return mode;
}
#endif

/* The event follows all of the stream's work so far. */
int mark(gsh_nccl_stream_chain *t)
{
    if (t->event == nullptr) {
        cudaEvent_t event = nullptr;
        const cudaError_t r = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        if (r != cudaSuccess)
            return (int)r;
        t->event = event;
    }
    return (int)cudaEventRecord((cudaEvent_t)t->event, (cudaStream_t)t->stream);
}

int enter(gsh_nccl_stream_chain *t, gshmemx_stream_t next)
{
    int r = 0;
    const uint64_t capture = capture_of((cudaStream_t)next, &r);
    if (r != 0)
        return r;
    if (capture != 0) {
        if (capture == t->capture && t->captured != next)
            r = join(t->captured, next); /* a stream that is part of a graph is alive */
        t->captured = next;
        t->capture = capture;
    } else {
        uint64_t id;
        r = find_id((cudaStream_t)next, &id);
        if (r == 0 && t->has_stream && t->id != id)
            r = t->lost != 0
                    ? t->lost
                    : (int)cudaStreamWaitEvent((cudaStream_t)next, (cudaEvent_t)t->event, 0);
        if (r != 0)
            return r;
        t->stream = next;
        t->id = id;
        t->has_stream = 1;
    }
    t->is_captured = capture != 0;
    t->is_open = t->has_call = 1;
    return r;
}

int leave(gsh_nccl_stream_chain *t)
{
    const int is_open = t->is_open;
    t->is_open = 0;
    if (!is_open || t->is_captured)
        return 0;
    t->lost = mark(t);
    return t->lost;
}

int await(gsh_nccl_stream_chain *t)
{
    if (t->capture != 0 || t->lost != 0)
        return 0;
    const cudaError_t r = t->has_stream ? cudaEventSynchronize((cudaEvent_t)t->event) : cudaSuccess;
    if (r != cudaSuccess)
        (void)cudaGetLastError();
    return r == cudaSuccess;
}

void end(gsh_nccl_stream_chain *t)
{
    if (t->event != nullptr)
        (void)cudaEventDestroy((cudaEvent_t)t->event);
    t->event = nullptr;
}

} // namespace

extern "C" const struct gsh_nccl_stream_ops GSH_NCCL_STREAM_OPS = {
    prepare, wait, enter, leave, await, end, join, record, is_one_capture, exchange_capture_mode,
    relaxed};
