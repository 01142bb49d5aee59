/* SPDX-License-Identifier: Apache-2.0
 * The part of the CUDA runtime that examples and tests use, for the CPU device: the device, its
 * properties, occupancy. cuda_memory.h has memory and copies, cuda_stream.h streams and events. */
#ifndef GSHMEM_CUDA_HOST_H
#define GSHMEM_CUDA_HOST_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cpu.h"
#include "cuda_error.h"

/* ---- devices ----------------------------------------------------------------------------------
 * Each PE has one, whatever its number: a program chooses it by the PE's number in its node. */

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    size_t sharedMemPerBlockOptin;
    size_t sharedMemPerMultiprocessor;
    int regsPerBlock;
    int warpSize;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate;
    size_t totalConstMem;
    int major, minor;
    int multiProcessorCount;
    int maxThreadsPerMultiProcessor;
    int maxBlocksPerMultiProcessor;
    int integrated;
    int canMapHostMemory;
    int concurrentKernels;
    int unifiedAddressing;
    int managedMemory;
    int concurrentManagedAccess;
    int cooperativeLaunch;
    int pciBusID, pciDeviceID, pciDomainID;
    int regsPerMultiprocessor;
    int l2CacheSize;
    int memoryClockRate, memoryBusWidth;
    int computeMode;
    int asyncEngineCount;
    int streamPrioritiesSupported;
    int pageableMemoryAccess;
    int hostNativeAtomicSupported;
    int ECCEnabled;
};

/* A(name, number, the property it is) */
#define GSHMEM_CUDA_ATTRIBUTES(A)                                                  \
    A(cudaDevAttrMaxThreadsPerBlock, 1, maxThreadsPerBlock)                        \
    A(cudaDevAttrMaxBlockDimX, 2, maxThreadsDim[0])                                \
    A(cudaDevAttrMaxBlockDimY, 3, maxThreadsDim[1])                                \
    A(cudaDevAttrMaxBlockDimZ, 4, maxThreadsDim[2])                                \
    A(cudaDevAttrMaxGridDimX, 5, maxGridSize[0])                                   \
    A(cudaDevAttrMaxGridDimY, 6, maxGridSize[1])                                   \
    A(cudaDevAttrMaxGridDimZ, 7, maxGridSize[2])                                   \
    A(cudaDevAttrMaxSharedMemoryPerBlock, 8, sharedMemPerBlock)                    \
    A(cudaDevAttrTotalConstantMemory, 9, totalConstMem)                            \
    A(cudaDevAttrWarpSize, 10, warpSize)                                           \
    A(cudaDevAttrMaxRegistersPerBlock, 12, regsPerBlock)                           \
    A(cudaDevAttrClockRate, 13, clockRate)                                         \
    A(cudaDevAttrMultiProcessorCount, 16, multiProcessorCount)                     \
    A(cudaDevAttrIntegrated, 18, integrated)                                       \
    A(cudaDevAttrCanMapHostMemory, 19, canMapHostMemory)                           \
    A(cudaDevAttrComputeMode, 20, computeMode)                                     \
    A(cudaDevAttrConcurrentKernels, 31, concurrentKernels)                         \
    A(cudaDevAttrPciBusId, 33, pciBusID)                                           \
    A(cudaDevAttrPciDeviceId, 34, pciDeviceID)                                     \
    A(cudaDevAttrMemoryClockRate, 36, memoryClockRate)                             \
    A(cudaDevAttrGlobalMemoryBusWidth, 37, memoryBusWidth)                         \
    A(cudaDevAttrL2CacheSize, 38, l2CacheSize)                                     \
    A(cudaDevAttrMaxThreadsPerMultiProcessor, 39, maxThreadsPerMultiProcessor)     \
    A(cudaDevAttrAsyncEngineCount, 40, asyncEngineCount)                           \
    A(cudaDevAttrUnifiedAddressing, 41, unifiedAddressing)                         \
    A(cudaDevAttrPciDomainId, 50, pciDomainID)                                     \
    A(cudaDevAttrComputeCapabilityMajor, 75, major)                                \
    A(cudaDevAttrComputeCapabilityMinor, 76, minor)                                \
    A(cudaDevAttrStreamPrioritiesSupported, 78, streamPrioritiesSupported)         \
    A(cudaDevAttrMaxSharedMemoryPerMultiprocessor, 81, sharedMemPerMultiprocessor) \
    A(cudaDevAttrMaxRegistersPerMultiprocessor, 82, regsPerMultiprocessor)         \
    A(cudaDevAttrManagedMemory, 83, managedMemory)                                 \
    A(cudaDevAttrHostNativeAtomicSupported, 86, hostNativeAtomicSupported)         \
    A(cudaDevAttrPageableMemoryAccess, 88, pageableMemoryAccess)                   \
    A(cudaDevAttrConcurrentManagedAccess, 89, concurrentManagedAccess)             \
    A(cudaDevAttrCooperativeLaunch, 95, cooperativeLaunch)                         \
    A(cudaDevAttrMaxSharedMemoryPerBlockOptin, 97, sharedMemPerBlockOptin)         \
    A(cudaDevAttrMaxBlocksPerMultiprocessor, 106, maxBlocksPerMultiProcessor)

enum cudaDeviceAttr {
#define GSHMEM_CPU_ENTRY(name, number, property) name = number,
    GSHMEM_CUDA_ATTRIBUTES(GSHMEM_CPU_ENTRY)
#undef GSHMEM_CPU_ENTRY
};

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9,
};

namespace gshmem
{
namespace cpu
{

inline int n_cores()
{
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

inline size_t memory_bytes(int name)
{
    return (size_t)sysconf(name) * (size_t)sysconf(_SC_PAGESIZE);
}

} // namespace cpu
} // namespace gshmem

namespace gshmem
{
namespace cpu
{

/* Through a caller's pointer, which may be NULL by mistake. */
template <class Type> inline cudaError_t give(Type *out, Type value)
{
    if (out == nullptr) {
        return result(cudaErrorInvalidValue);
    }
    return *out = value, cudaSuccess;
}

inline int &current_device()
{
    static thread_local int device = 0;
    return device;
}

} // namespace cpu
} // namespace gshmem

inline cudaError_t cudaGetDeviceCount(int *count)
{
    return gshmem::cpu::give(count, gshmemx_cpu_device_count());
}

inline cudaError_t cudaGetDevice(int *device)
{
    return gshmem::cpu::give(device, gshmem::cpu::current_device());
}

inline cudaError_t cudaSetDevice(int device)
{
    if (device < 0) {
        return gshmem::cpu::result(cudaErrorInvalidDevice);
    }
    gshmem::cpu::current_device() = device;
    gshmemx_cpu_device_choose(device);
    return cudaSuccess;
}

/* The version whose names these headers have. */
#define CUDART_VERSION 12000

inline cudaError_t cudaRuntimeGetVersion(int *version)
{
    return gshmem::cpu::give(version, CUDART_VERSION);
}
inline cudaError_t cudaDriverGetVersion(int *version)
{
    return gshmem::cpu::give(version, CUDART_VERSION);
}

inline cudaError_t cudaDeviceSynchronize()
{
    gshmemx_cpu_device_synchronize(gshmemx_cpu_device_current());
    return cudaSuccess;
}

inline cudaError_t cudaDeviceReset()
{
    return cudaDeviceSynchronize();
}

inline cudaError_t cudaDeviceCanAccessPeer(int *can, int, int)
{
    return gshmem::cpu::give(can, 0);
}

/* All memory is the host's, so there is nothing to enable. */
inline cudaError_t cudaDeviceEnablePeerAccess(int, unsigned)
{
    return cudaSuccess;
}
inline cudaError_t cudaDeviceDisablePeerAccess(int)
{
    return cudaSuccess;
}

inline cudaError_t cudaDeviceGetPCIBusId(char *id, int bytes, int device)
{
    if (id == nullptr || device < 0 || bytes < 13) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    snprintf(id, (size_t)bytes, "0000:%02x:00.0", (unsigned)device & 255);
    return cudaSuccess;
}

/* ---- preferences, which have no meaning here ---------------------------------------------------
 */

constexpr unsigned cudaDeviceScheduleAuto = 0, cudaDeviceScheduleSpin = 1,
                   cudaDeviceScheduleYield = 2, cudaDeviceScheduleBlockingSync = 4,
                   cudaDeviceMapHost = 8, cudaDeviceLmemResizeToMax = 16;

enum cudaFuncCache {
    cudaFuncCachePreferNone = 0,
    cudaFuncCachePreferShared = 1,
    cudaFuncCachePreferL1 = 2,
    cudaFuncCachePreferEqual = 3,
};

enum cudaLimit {
    cudaLimitStackSize = 0,
    cudaLimitPrintfFifoSize = 1,
    cudaLimitMallocHeapSize = 2,
};

inline cudaError_t cudaSetDeviceFlags(unsigned)
{
    return cudaSuccess;
}
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache)
{
    return cudaSuccess;
}
inline cudaError_t cudaDeviceSetLimit(cudaLimit, size_t)
{
    return cudaSuccess;
}
template <class Function> inline cudaError_t cudaFuncSetCacheConfig(Function, cudaFuncCache)
{
    return cudaSuccess;
}

inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *prop, int device)
{
    if (prop == nullptr) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    if (device < 0) {
        return gshmem::cpu::result(cudaErrorInvalidDevice);
    }
    memset(prop, 0, sizeof(*prop));
    strcpy(prop->name, "CPU");
    prop->totalGlobalMem = gshmem::cpu::memory_bytes(_SC_PHYS_PAGES);
    prop->sharedMemPerBlock = GSH_CPU_MAX_SHARED;
    prop->sharedMemPerBlockOptin = GSH_CPU_MAX_SHARED;
    prop->sharedMemPerMultiprocessor = GSH_CPU_MAX_SHARED;
    prop->regsPerBlock = 65536;
    prop->warpSize = 32;
    prop->maxThreadsPerBlock = GSH_CPU_MAX_THREADS;
    prop->maxThreadsDim[0] = prop->maxThreadsDim[1] = GSH_CPU_MAX_THREADS;
    prop->maxThreadsDim[2] = 64;
    prop->maxGridSize[0] = 0x7fffffff;
    prop->maxGridSize[1] = prop->maxGridSize[2] = 65535;
    prop->clockRate = 1000000; /* kHz: clock64 counts nanoseconds */
    prop->totalConstMem = 65536;
    prop->multiProcessorCount = gshmem::cpu::n_cores();
    prop->maxThreadsPerMultiProcessor = GSH_CPU_MAX_THREADS;
    prop->maxBlocksPerMultiProcessor = 1;
    prop->integrated = prop->canMapHostMemory = prop->concurrentKernels = 1;
    prop->unifiedAddressing = prop->managedMemory = prop->concurrentManagedAccess = 1;
    prop->cooperativeLaunch = 1;
    prop->pageableMemoryAccess = prop->hostNativeAtomicSupported = 1;
    prop->asyncEngineCount = 1;
    prop->regsPerMultiprocessor = prop->regsPerBlock;
    prop->pciBusID = device;
    return cudaSuccess;
}

inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attr, int device)
{
    cudaDeviceProp prop;
    cudaError_t r = cudaGetDeviceProperties(&prop, device);
    if (r != cudaSuccess) {
        return r;
    }
    switch (attr) {
#define GSHMEM_CPU_ENTRY(name, number, property) \
    case name:                                   \
        return gshmem::cpu::give(value, (int)prop.property);
        GSHMEM_CUDA_ATTRIBUTES(GSHMEM_CPU_ENTRY)
#undef GSHMEM_CPU_ENTRY
    }
    return gshmem::cpu::result(cudaErrorInvalidValue);
}

/* One block keeps one core busy. */
template <class Function>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n_blocks, Function,
                                                                 int threads, size_t shared_bytes)
{
    bool fits =
        threads > 0 && threads <= (int)GSH_CPU_MAX_THREADS && shared_bytes <= GSH_CPU_MAX_SHARED;
    if (n_blocks == nullptr) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    *n_blocks = fits ? 1 : 0;
    return gshmem::cpu::result(fits ? cudaSuccess : cudaErrorInvalidValue);
}

template <class Function>
inline cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n_blocks, Function kernel, int threads,
                                                       size_t shared_bytes, unsigned)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(n_blocks, kernel, threads, shared_bytes);
}

/* More threads in a block keep no more cores busy: enough for code that counts in warps. */
template <class Function>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *min_grid, int *block, Function,
                                                      size_t shared_bytes = 0, int limit = 0)
{
    if (shared_bytes > GSH_CPU_MAX_SHARED || min_grid == nullptr || block == nullptr) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    *min_grid = gshmem::cpu::n_cores();
    *block = limit > 0 && limit < 128 ? limit : 128;
    return cudaSuccess;
}

struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock;
    int numRegs;
    int ptxVersion, binaryVersion;
    int cacheModeCA;
    int maxDynamicSharedSizeBytes;
    int preferredShmemCarveout;
};

template <class Function>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, Function)
{
    if (attributes == nullptr) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    *attributes = {};
    attributes->maxThreadsPerBlock = GSH_CPU_MAX_THREADS;
    attributes->maxDynamicSharedSizeBytes = GSH_CPU_MAX_SHARED;
    return cudaSuccess;
}

template <class Function>
inline cudaError_t cudaFuncSetAttribute(Function, cudaFuncAttribute attr, int value)
{
    bool fits = attr != cudaFuncAttributeMaxDynamicSharedMemorySize ||
                (value >= 0 && value <= (int)GSH_CPU_MAX_SHARED);
    return gshmem::cpu::result(fits ? cudaSuccess : cudaErrorInvalidValue);
}

#endif
