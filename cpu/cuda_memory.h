/* SPDX-License-Identifier: Apache-2.0
 * CUDA's memory, copies and symbols for the CPU device. All memory is host memory; CUDA's promises
 * about order, and about when a buffer may be reused, hold here as well. */
#ifndef GSHMEM_CUDA_MEMORY_H
#define GSHMEM_CUDA_MEMORY_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "cpu.h"
#include "cuda_error.h"
#include "cuda_host.h"
#include "cuda_stream.h"

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
};

constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2,
                   cudaHostAllocWriteCombined = 4;
constexpr unsigned cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1,
                   cudaHostRegisterMapped = 2, cudaHostRegisterIoMemory = 4,
                   cudaHostRegisterReadOnly = 8;
constexpr unsigned cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaMemAttachSingle = 4;

namespace gshmem
{
namespace cpu
{

/* kind: GSH_CPU_MEMORY_DEVICE or HOST. */
template <class Type> inline cudaError_t give_memory(Type **p, size_t bytes, int kind)
{
    if (p == nullptr) {
        return result(cudaErrorInvalidValue);
    }
    const bool fits = bytes <= SIZE_MAX - 255;
    void *memory = bytes && fits ? aligned_alloc(256, (bytes + 255) / 256 * 256) : nullptr;
    if (bytes && (!memory || gshmemx_cpu_memory_given(memory, kind) != GSH_CPU_OK)) {
        free(memory);
        return result(cudaErrorMemoryAllocation);
    }
    *p = static_cast<Type *>(memory);
    return cudaSuccess;
}

/* Like CUDA's, waits for the device first; what is not such memory is an error and stays. */
inline cudaError_t take_memory(void *p, int kind)
{
    if (p == nullptr) {
        return cudaSuccess;
    }
    if (gshmemx_cpu_memory_taken(p, kind) != GSH_CPU_OK) {
        return result(cudaErrorInvalidValue);
    }
    cudaDeviceSynchronize();
    free(p);
    return cudaSuccess;
}

} // namespace cpu
} // namespace gshmem

template <class Type> inline cudaError_t cudaMalloc(Type **p, size_t bytes)
{
    return gshmem::cpu::give_memory(p, bytes, GSH_CPU_MEMORY_DEVICE);
}

inline cudaError_t cudaFree(void *p)
{
    return gshmem::cpu::take_memory(p, GSH_CPU_MEMORY_DEVICE);
}

/* Takes effect at once, although earlier work in the stream still runs. */
template <class Type> inline cudaError_t cudaMallocAsync(Type **p, size_t bytes, cudaStream_t)
{
    return cudaMalloc(p, bytes);
}

namespace gshmem
{
namespace cpu
{

inline void run_free(void *arg)
{
    free(*static_cast<void **>(arg));
}

} // namespace cpu
} // namespace gshmem

inline cudaError_t cudaFreeAsync(void *p, cudaStream_t stream)
{
    if (gshmemx_cpu_memory_taken(p, GSH_CPU_MEMORY_DEVICE) != GSH_CPU_OK) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    const cudaError_t r = gshmem::cpu::enqueue(stream, gshmem::cpu::run_free, &p, sizeof(p));
    if (r != cudaSuccess) {
        gshmemx_cpu_memory_given(p, GSH_CPU_MEMORY_DEVICE); /* in the place it had */
    }
    return r;
}

template <class Type>
inline cudaError_t cudaMallocPitch(Type **p, size_t *pitch, size_t width, size_t height)
{
    const size_t row = (width + 255) / 256 * 256;
    const cudaError_t r = gshmem::cpu::give(pitch, row);
    return r == cudaSuccess ? cudaMalloc(p, row * height) : r;
}

template <class Type> inline cudaError_t cudaMallocManaged(Type **p, size_t bytes, unsigned = 1)
{
    return cudaMalloc(p, bytes);
}

namespace gshmem
{
namespace cpu
{

/* Host memory known to be pinned: copies from and to it may outlast the call. */
struct pinned {
    pinned *next;
    const char *begin;
    size_t bytes;
};

struct pinned_list {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pinned *first = nullptr;
};

inline pinned_list &all_pinned()
{
    static pinned_list list;
    return list;
}

inline cudaError_t pin(const void *p, size_t bytes)
{
    pinned *entry = static_cast<pinned *>(malloc(sizeof(pinned)));
    if (!entry) {
        return result(cudaErrorMemoryAllocation);
    }
    pinned_list &list = all_pinned();
    pthread_mutex_lock(&list.lock);
    *entry = {list.first, static_cast<const char *>(p), bytes};
    list.first = entry;
    pthread_mutex_unlock(&list.lock);
    return cudaSuccess;
}

inline void unpin(const void *p)
{
    pinned_list &list = all_pinned();
    pthread_mutex_lock(&list.lock);
    pinned **link = &list.first;
    while (*link && (*link)->begin != p) {
        link = &(*link)->next;
    }
    pinned *entry = *link;
    if (entry) {
        *link = entry->next;
    }
    pthread_mutex_unlock(&list.lock);
    free(entry);
}

inline bool is_pinned(const void *p)
{
    pinned_list &list = all_pinned();
    const char *at = static_cast<const char *>(p);
    pthread_mutex_lock(&list.lock);
    pinned *entry = list.first;
    while (entry && !(at >= entry->begin && at < entry->begin + entry->bytes)) {
        entry = entry->next;
    }
    pthread_mutex_unlock(&list.lock);
    return entry != nullptr;
}

} // namespace cpu
} // namespace gshmem

template <class Type> inline cudaError_t cudaHostAlloc(Type **p, size_t bytes, unsigned)
{
    cudaError_t r = gshmem::cpu::give_memory(p, bytes, GSH_CPU_MEMORY_HOST);
    return r == cudaSuccess && bytes ? gshmem::cpu::pin(*p, bytes) : r;
}

template <class Type> inline cudaError_t cudaMallocHost(Type **p, size_t bytes, unsigned flags = 0)
{
    return cudaHostAlloc(p, bytes, flags);
}

inline cudaError_t cudaFreeHost(void *p)
{
    const cudaError_t r = gshmem::cpu::take_memory(p, GSH_CPU_MEMORY_HOST);
    if (r == cudaSuccess) {
        gshmem::cpu::unpin(p);
    }
    return r;
}

inline cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned)
{
    if (p == nullptr || bytes == 0) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    if (gshmem::cpu::is_pinned(p)) {
        return gshmem::cpu::result(cudaErrorHostMemoryAlreadyRegistered);
    }
    if (gshmemx_cpu_memory_given(p, GSH_CPU_MEMORY_REGISTERED) != GSH_CPU_OK) {
        return gshmem::cpu::result(cudaErrorMemoryAllocation);
    }
    return gshmem::cpu::pin(p, bytes);
}

inline cudaError_t cudaHostUnregister(void *p)
{
    if (gshmemx_cpu_memory_taken(p, GSH_CPU_MEMORY_REGISTERED) != GSH_CPU_OK) {
        return gshmem::cpu::result(p == nullptr ? cudaErrorInvalidValue
                                                : cudaErrorHostMemoryNotRegistered);
    }
    return gshmem::cpu::unpin(p), cudaSuccess;
}

template <class Type>
inline cudaError_t cudaHostGetDevicePointer(Type **device, void *host, unsigned)
{
    if (host == nullptr) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    return gshmem::cpu::give(device, static_cast<Type *>(host));
}

/* All memory is both the device's and the host's; only pinned memory is known to be the host's. */
enum cudaMemoryType {
    cudaMemoryTypeUnregistered = 0,
    cudaMemoryTypeHost = 1,
    cudaMemoryTypeDevice = 2,
    cudaMemoryTypeManaged = 3,
};

struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};

inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *p)
{
    void *here = const_cast<void *>(p);
    if (attributes == nullptr) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    attributes->type = gshmem::cpu::is_pinned(p) ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    attributes->device = gshmem::cpu::current_device();
    attributes->devicePointer = attributes->hostPointer = here;
    return cudaSuccess;
}

enum cudaMemoryAdvise {
    cudaMemAdviseSetReadMostly = 1,
    cudaMemAdviseUnsetReadMostly = 2,
    cudaMemAdviseSetPreferredLocation = 3,
    cudaMemAdviseUnsetPreferredLocation = 4,
    cudaMemAdviseSetAccessedBy = 5,
    cudaMemAdviseUnsetAccessedBy = 6,
};
constexpr int cudaCpuDeviceId = -1, cudaInvalidDeviceId = -2;

inline cudaError_t cudaMemAdvise(const void *, size_t, cudaMemoryAdvise, int)
{
    return cudaSuccess;
}
inline cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t = nullptr)
{
    return cudaSuccess;
}

inline cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    if (free_bytes == nullptr || total_bytes == nullptr) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    *free_bytes = gshmem::cpu::memory_bytes(_SC_AVPHYS_PAGES);
    *total_bytes = gshmem::cpu::memory_bytes(_SC_PHYS_PAGES);
    return cudaSuccess;
}

namespace gshmem
{
namespace cpu
{

/* Rows of `width` bytes; a plain copy is one row. */
struct copy {
    void *dest;
    const void *source;
    size_t dest_pitch, source_pitch, width, height;
};

inline void run_copy(void *arg)
{
    const copy &c = *static_cast<copy *>(arg);
    for (size_t y = 0; y < c.height && c.width != 0; y++) {
        memmove(static_cast<char *>(c.dest) + y * c.dest_pitch,
                static_cast<const char *>(c.source) + y * c.source_pitch, c.width);
    }
}

inline bool is_valid(const copy &c)
{
    return (c.dest != nullptr && c.source != nullptr) || c.width == 0 || c.height == 0;
}

struct fill {
    void *dest;
    int value;
    size_t bytes;
};

inline void run_fill(void *arg)
{
    const fill &f = *static_cast<fill *>(arg);
    if (f.bytes != 0) { /* otherwise it may be NULL */
        memset(f.dest, f.value, f.bytes);
    }
}

/* The source's rows follow the struct, without gaps. */
inline void run_copy_staged(void *arg)
{
    copy c = *static_cast<copy *>(arg);
    c.source = static_cast<char *>(arg) + sizeof(c);
    c.source_pitch = c.width;
    run_copy(&c);
}

/* Like CUDA: when the call returns, a copy from host memory that is not pinned has read its source,
 * and a copy to such memory is done. */
inline cudaError_t enqueue_copy(const copy &c, cudaMemcpyKind kind, cudaStream_t stream)
{
    if (!is_valid(c)) {
        return result(cudaErrorInvalidValue);
    }
    if (kind == cudaMemcpyHostToDevice && !is_pinned(c.source)) {
        size_t bytes = c.width * c.height;
        char *staged = static_cast<char *>(malloc(sizeof(c) + bytes));
        if (!staged) {
            return result(cudaErrorMemoryAllocation);
        }
        copy to_stage = {staged + sizeof(c), c.source, c.width, c.source_pitch, c.width, c.height};
        memcpy(staged, &c, sizeof(c));
        run_copy(&to_stage);
        cudaError_t r = enqueue(stream, run_copy_staged, staged, sizeof(c) + bytes);
        free(staged);
        return r;
    }
    cudaError_t r = enqueue(stream, run_copy, &c, sizeof(c));
    bool is_to_host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
    if (r == cudaSuccess && is_to_host && !is_pinned(c.dest)) {
        gshmemx_cpu_stream_synchronize(stream);
    }
    return r;
}

/* After the work of the default stream, like all synchronous copies. */
inline cudaError_t copy_now(const copy &c)
{
    if (!is_valid(c)) {
        return result(cudaErrorInvalidValue);
    }
    gshmemx_cpu_stream_synchronize(nullptr);
    run_copy(const_cast<copy *>(&c));
    return cudaSuccess;
}

} // namespace cpu
} // namespace gshmem

inline cudaError_t cudaMemcpyAsync(void *dest, const void *source, size_t bytes,
                                   cudaMemcpyKind kind, cudaStream_t stream = nullptr)
{
    return gshmem::cpu::enqueue_copy({dest, source, 0, 0, bytes, 1}, kind, stream);
}

inline cudaError_t cudaMemcpy(void *dest, const void *source, size_t bytes, cudaMemcpyKind kind)
{
    (void)kind;
    return gshmem::cpu::copy_now({dest, source, 0, 0, bytes, 1});
}

inline cudaError_t cudaMemcpyPeerAsync(void *dest, int, const void *source, int, size_t bytes,
                                       cudaStream_t stream = nullptr)
{
    return cudaMemcpyAsync(dest, source, bytes, cudaMemcpyDeviceToDevice, stream);
}

inline cudaError_t cudaMemcpyPeer(void *dest, int, const void *source, int, size_t bytes)
{
    return cudaMemcpy(dest, source, bytes, cudaMemcpyDeviceToDevice);
}

inline cudaError_t cudaMemcpy2DAsync(void *dest, size_t dest_pitch, const void *source,
                                     size_t source_pitch, size_t width, size_t height,
                                     cudaMemcpyKind kind, cudaStream_t stream = nullptr)
{
    if (width > dest_pitch || width > source_pitch) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    return gshmem::cpu::enqueue_copy({dest, source, dest_pitch, source_pitch, width, height}, kind,
                                     stream);
}

inline cudaError_t cudaMemcpy2D(void *dest, size_t dest_pitch, const void *source,
                                size_t source_pitch, size_t width, size_t height,
                                cudaMemcpyKind kind)
{
    (void)kind;
    if (width > dest_pitch || width > source_pitch) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    return gshmem::cpu::copy_now({dest, source, dest_pitch, source_pitch, width, height});
}

inline cudaError_t cudaMemsetAsync(void *dest, int value, size_t bytes,
                                   cudaStream_t stream = nullptr)
{
    if (dest == nullptr && bytes != 0) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    gshmem::cpu::fill f = {dest, value, bytes};
    return gshmem::cpu::enqueue(stream, gshmem::cpu::run_fill, &f, sizeof(f));
}

inline cudaError_t cudaMemset(void *dest, int value, size_t bytes)
{
    cudaError_t r = cudaMemsetAsync(dest, value, bytes);
    gshmemx_cpu_stream_synchronize(nullptr);
    return r;
}

inline cudaError_t cudaMemset2D(void *dest, size_t pitch, int value, size_t width, size_t height)
{
    if (width > pitch || (dest == nullptr && width != 0 && height != 0)) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    gshmemx_cpu_stream_synchronize(nullptr);
    for (size_t y = 0; width != 0 && y < height; y++) {
        memset(static_cast<char *>(dest) + y * pitch, value, width);
    }
    return cudaSuccess;
}

/* ---- __constant__ and __device__ variables: ordinary variables, shared by all PEs of the process
 */

template <class Type> inline cudaError_t cudaGetSymbolAddress(void **address, const Type &symbol)
{
    return gshmem::cpu::give<void *>(address, const_cast<Type *>(&symbol));
}

template <class Type> inline cudaError_t cudaGetSymbolSize(size_t *bytes, const Type &)
{
    return gshmem::cpu::give(bytes, sizeof(Type));
}

template <class Type>
inline cudaError_t cudaMemcpyToSymbolAsync(const Type &symbol, const void *source, size_t bytes,
                                           size_t offset, cudaMemcpyKind kind,
                                           cudaStream_t stream = nullptr)
{
    if (offset > sizeof(Type) || bytes > sizeof(Type) - offset) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    char *base = reinterpret_cast<char *>(const_cast<Type *>(&symbol));
    return cudaMemcpyAsync(base + offset, source, bytes, kind, stream);
}

template <class Type>
inline cudaError_t cudaMemcpyFromSymbolAsync(void *dest, const Type &symbol, size_t bytes,
                                             size_t offset, cudaMemcpyKind kind,
                                             cudaStream_t stream = nullptr)
{
    if (offset > sizeof(Type) || bytes > sizeof(Type) - offset) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    const char *base = reinterpret_cast<const char *>(&symbol);
    return cudaMemcpyAsync(dest, base + offset, bytes, kind, stream);
}

template <class Type>
inline cudaError_t cudaMemcpyToSymbol(const Type &symbol, const void *source, size_t bytes,
                                      size_t offset = 0, cudaMemcpyKind = cudaMemcpyHostToDevice)
{
    if (offset > sizeof(Type) || bytes > sizeof(Type) - offset) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    char *base = reinterpret_cast<char *>(const_cast<Type *>(&symbol));
    return cudaMemcpy(base + offset, source, bytes, cudaMemcpyHostToDevice);
}

template <class Type>
inline cudaError_t cudaMemcpyFromSymbol(void *dest, const Type &symbol, size_t bytes,
                                        size_t offset = 0, cudaMemcpyKind = cudaMemcpyDeviceToHost)
{
    if (offset > sizeof(Type) || bytes > sizeof(Type) - offset) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    const char *base = reinterpret_cast<const char *>(&symbol);
    return cudaMemcpy(dest, base + offset, bytes, cudaMemcpyDeviceToHost);
}

#endif
