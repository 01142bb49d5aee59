/* SPDX-License-Identifier: Apache-2.0
 * The part of the CUDA runtime that examples and tests use, for the CPU device: the device, its
 * properties, occupancy. cuda_memory.h has memory and copies, cuda_stream.h streams and events. */
#ifndef GSHMEM_CUDA_HOST_H
#define GSHMEM_CUDA_HOST_H

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
};

enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrClockRate = 13,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrUnifiedAddressing = 41,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrManagedMemory = 83,
    cudaDevAttrConcurrentManagedAccess = 89,
    cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
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

inline cudaError_t cudaGetDeviceCount(int *count)
{
    return *count = gshmemx_cpu_device_count(), cudaSuccess;
}

namespace gshmem
{
namespace cpu
{

inline int &current_device()
{
    static thread_local int device = 0;
    return device;
}

} // namespace cpu
} // namespace gshmem

inline cudaError_t cudaGetDevice(int *device)
{
    return *device = gshmem::cpu::current_device(), cudaSuccess;
}

inline cudaError_t cudaSetDevice(int device)
{
    if (device < 0)
        return gshmem::cpu::result(cudaErrorInvalidDevice);
    gshmem::cpu::current_device() = device;
    return cudaSuccess;
}

/* The version whose names these headers have. */
#define CUDART_VERSION 12000

inline cudaError_t cudaRuntimeGetVersion(int *version)
{
    return *version = CUDART_VERSION, cudaSuccess;
}
inline cudaError_t cudaDriverGetVersion(int *version)
{
    return *version = CUDART_VERSION, cudaSuccess;
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
    return *can = 0, cudaSuccess;
}

inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *prop, int device)
{
    if (device < 0)
        return gshmem::cpu::result(cudaErrorInvalidDevice);
    memset(prop, 0, sizeof *prop);
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
    return cudaSuccess;
}

inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attr, int device)
{
    cudaDeviceProp prop;
    cudaError_t r = cudaGetDeviceProperties(&prop, device);
    if (r != cudaSuccess)
        return r;
    switch (attr) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *value = GSH_CPU_MAX_THREADS;
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = GSH_CPU_MAX_SHARED;
        return cudaSuccess;
    case cudaDevAttrWarpSize:
        *value = 32;
        return cudaSuccess;
    case cudaDevAttrClockRate:
        *value = prop.clockRate;
        return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
        *value = prop.multiProcessorCount;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
    case cudaDevAttrComputeCapabilityMinor:
        *value = 0;
        return cudaSuccess;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrCooperativeLaunch:
        *value = 1;
        return cudaSuccess;
    }
    return gshmem::cpu::result(cudaErrorInvalidValue);
}

/* One block keeps a core busy. */
template <class F>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n_blocks, F, int threads,
                                                                 size_t shared_bytes)
{
    bool fits =
        threads > 0 && threads <= (int)GSH_CPU_MAX_THREADS && shared_bytes <= GSH_CPU_MAX_SHARED;
    *n_blocks = fits ? 1 : 0;
    return gshmem::cpu::result(fits ? cudaSuccess : cudaErrorInvalidValue);
}

template <class F> inline cudaError_t cudaFuncSetAttribute(F, cudaFuncAttribute attr, int value)
{
    bool fits = attr != cudaFuncAttributeMaxDynamicSharedMemorySize ||
                (value >= 0 && value <= (int)GSH_CPU_MAX_SHARED);
    return gshmem::cpu::result(fits ? cudaSuccess : cudaErrorInvalidValue);
}

#endif
