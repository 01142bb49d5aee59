/* SPDX-License-Identifier: Apache-2.0
 * CUDA's error codes that occur here or that programs compare with, for the CPU device. */
#ifndef GSHMEM_CUDA_ERROR_H
#define GSHMEM_CUDA_ERROR_H

#include "cpu.h"

#define GSHMEM_CUDA_ERRORS(E)                                                                     \
    E(cudaSuccess, 0, "no error")                                                                 \
    E(cudaErrorInvalidValue, 1, "invalid argument")                                               \
    E(cudaErrorMemoryAllocation, 2, "out of memory")                                              \
    E(cudaErrorInitializationError, 3, "initialization error")                                    \
    E(cudaErrorCudartUnloading, 4, "driver shutting down")                                        \
    E(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                         \
    E(cudaErrorInvalidPitchValue, 12, "invalid pitch argument")                                   \
    E(cudaErrorInvalidSymbol, 13, "invalid device symbol")                                        \
    E(cudaErrorInvalidHostPointer, 16, "invalid host pointer")                                    \
    E(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                                \
    E(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                   \
    E(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient")                     \
    E(cudaErrorDevicesUnavailable, 46, "devices are busy or unavailable")                         \
    E(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                              \
    E(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                               \
    E(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                      \
    E(cudaErrorPeerAccessUnsupported, 217,                                                        \
      "peer access is not supported between these two devices")                                   \
    E(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                             \
    E(cudaErrorSymbolNotFound, 500, "named symbol not found")                                     \
    E(cudaErrorNotReady, 600, "device not ready")                                                 \
    E(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                   \
    E(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")              \
    E(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                     \
    E(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                   \
    E(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled")                     \
    E(cudaErrorSetOnActiveProcess, 708, "cannot set while device is active in this process")      \
    E(cudaErrorAssert, 710, "device-side assert triggered")                                       \
    E(cudaErrorHostMemoryAlreadyRegistered, 712,                                                  \
      "part or all of the memory is registered already")                                          \
    E(cudaErrorHostMemoryNotRegistered, 713, "memory has not been registered")                    \
    E(cudaErrorMisalignedAddress, 716, "misaligned address")                                      \
    E(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                  \
    E(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")           \
    E(cudaErrorNotPermitted, 800, "operation not permitted")                                      \
    E(cudaErrorNotSupported, 801, "operation not supported")                                      \
    E(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing") \
    E(cudaErrorUnknown, 999, "unknown error")

enum cudaError {
#define GSHMEM_CPU_ENTRY(name, value, text) name = value,
    GSHMEM_CUDA_ERRORS(GSHMEM_CPU_ENTRY)
#undef GSHMEM_CPU_ENTRY
};
typedef enum cudaError cudaError_t;

inline const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
#define GSHMEM_CPU_ENTRY(name, value, text) \
    case name:                              \
        return #name;
        GSHMEM_CUDA_ERRORS(GSHMEM_CPU_ENTRY)
#undef GSHMEM_CPU_ENTRY
    }
    return "unrecognized error code";
}

inline const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
#define GSHMEM_CPU_ENTRY(name, value, text) \
    case name:                              \
        return text;
        GSHMEM_CUDA_ERRORS(GSHMEM_CPU_ENTRY)
#undef GSHMEM_CPU_ENTRY
    }
    return "unrecognized error code";
}

namespace gshmem
{
namespace cpu
{

inline cudaError_t &last_error()
{
    static thread_local cudaError_t error = cudaSuccess;
    return error;
}

/* Keeps a failure for cudaGetLastError; "not ready" is an answer, not a failure. */
inline cudaError_t result(cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady) {
        last_error() = error;
    }
    return error;
}

/* Converts the executor's error code. */
inline cudaError_t result_of(int code)
{
    return result(code == GSH_CPU_OK              ? cudaSuccess
                  : code == GSH_CPU_ERR_ARG       ? cudaErrorInvalidConfiguration
                  : code == GSH_CPU_ERR_TOO_LARGE ? cudaErrorCooperativeLaunchTooLarge
                  : code == GSH_CPU_ERR_STREAM    ? cudaErrorInvalidResourceHandle
                  : code == GSH_CPU_ERR_KERNEL    ? cudaErrorInvalidDeviceFunction
                  : code == GSH_CPU_ERR_ARGS      ? cudaErrorInvalidValue
                                                  : cudaErrorMemoryAllocation);
}

} // namespace cpu
} // namespace gshmem

inline cudaError_t cudaPeekAtLastError()
{
    return gshmem::cpu::last_error();
}

inline cudaError_t cudaGetLastError()
{
    cudaError_t error = gshmem::cpu::last_error();
    gshmem::cpu::last_error() = cudaSuccess;
    return error;
}

#endif
