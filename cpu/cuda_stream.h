/* SPDX-License-Identifier: Apache-2.0
 * CUDA's streams and events for the CPU device. */
#ifndef GSHMEM_CUDA_STREAM_H
#define GSHMEM_CUDA_STREAM_H

#include "cpu.h"
#include "cuda_error.h"

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

#define cudaStreamLegacy    ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2) /* here the same */

/* Literals, as CUDA's: programs also pass the first as a stream. */
#define cudaStreamDefault     0x00
#define cudaStreamNonBlocking 0x01
constexpr unsigned cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2,
                   cudaEventInterprocess = 4;
constexpr unsigned cudaEventRecordDefault = 0, cudaEventWaitDefault = 0;

namespace gshmem
{
namespace cpu
{

inline cudaError_t enqueue(cudaStream_t stream, void (*function)(void *), const void *arg,
                           size_t bytes)
{
    return result_of(gshmemx_cpu_stream_enqueue(stream, function, arg, bytes));
}

struct host_function {
    void (*function)(void *);
    void *data;
};

inline void run_host_function(void *arg)
{
    const host_function &h = *static_cast<host_function *>(arg);
    h.function(h.data);
}

} // namespace cpu
} // namespace gshmem

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    if (stream == nullptr) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    *stream = gshmemx_cpu_stream_create((flags & cudaStreamNonBlocking) != 0);
    return gshmem::cpu::result(*stream ? cudaSuccess : cudaErrorMemoryAllocation);
}

inline cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int)
{
    return cudaStreamCreateWithFlags(stream, flags);
}

/* As CUDA's, which need not tell both. */
inline cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    int unwanted;
    *(least != nullptr ? least : &unwanted) = *(greatest != nullptr ? greatest : &unwanted) = 0;
    return cudaSuccess;
}

inline cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    return gshmem::cpu::result_of(gshmemx_cpu_stream_destroy(stream));
}

inline cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return gshmem::cpu::result_of(gshmemx_cpu_stream_synchronize(stream));
}

inline cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    bool is_done = true;
    const cudaError_t r = gshmem::cpu::result_of(gshmemx_cpu_stream_is_done(stream, &is_done));
    return is_done ? r : cudaErrorNotReady;
}

inline cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void *), void *data)
{
    if (function == nullptr) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    gshmem::cpu::host_function h = {function, data};
    return gshmem::cpu::enqueue(stream, gshmem::cpu::run_host_function, &h, sizeof(h));
}

typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *data);
typedef void (*cudaHostFn_t)(void *data);

namespace gshmem
{
namespace cpu
{

struct callback {
    cudaStreamCallback_t function;
    cudaStream_t stream;
    void *data;
};

inline void run_callback(void *arg)
{
    const callback &c = *static_cast<callback *>(arg);
    c.function(c.stream, cudaSuccess, c.data);
}

} // namespace cpu
} // namespace gshmem

inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function,
                                         void *data, unsigned)
{
    if (function == nullptr) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    gshmem::cpu::callback c = {function, stream, data};
    return gshmem::cpu::enqueue(stream, gshmem::cpu::run_callback, &c, sizeof(c));
}

inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    if (event == nullptr) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    *event = gshmemx_cpu_event_create();
    return gshmem::cpu::result(*event ? cudaSuccess : cudaErrorMemoryAllocation);
}

inline cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

inline cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (event == nullptr) {
        return gshmem::cpu::result(cudaErrorInvalidResourceHandle);
    }
    gshmemx_cpu_event_destroy(event);
    return cudaSuccess;
}

inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr)
{
    return event != nullptr ? gshmem::cpu::result_of(gshmemx_cpu_event_record(event, stream))
                            : gshmem::cpu::result(cudaErrorInvalidResourceHandle);
}

inline cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = nullptr,
                                            unsigned = 0)
{
    return cudaEventRecord(event, stream);
}

inline cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (event == nullptr) {
        return gshmem::cpu::result(cudaErrorInvalidResourceHandle);
    }
    gshmemx_cpu_event_synchronize(event);
    return cudaSuccess;
}

inline cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (event == nullptr) {
        return gshmem::cpu::result(cudaErrorInvalidResourceHandle);
    }
    return gshmemx_cpu_event_is_done(event) ? cudaSuccess : cudaErrorNotReady;
}

inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    if (ms == nullptr) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    if (start == nullptr || end == nullptr) {
        return gshmem::cpu::result(cudaErrorInvalidResourceHandle);
    }
    if (!gshmemx_cpu_event_is_done(start) || !gshmemx_cpu_event_is_done(end)) {
        return cudaErrorNotReady;
    }
    uint64_t start_ns = gshmemx_cpu_event_time_ns(start), end_ns = gshmemx_cpu_event_time_ns(end);
    if (start_ns == 0 || end_ns == 0) {
        return gshmem::cpu::result(cudaErrorInvalidResourceHandle);
    }
    *ms = (float)((double)(int64_t)(end_ns - start_ns) / 1e6);
    return cudaSuccess;
}

inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned = 0)
{
    return event != nullptr ? gshmem::cpu::result_of(gshmemx_cpu_stream_wait_event(stream, event))
                            : gshmem::cpu::result(cudaErrorInvalidResourceHandle);
}

#endif
