/* SPDX-License-Identifier: Apache-2.0
 * Memory of channels that only this process uses. Not for programs. The program allocates it,
 * inline: it knows its device, the library does not. */
#ifndef MSCCLPP_CHANNEL_MEMORY_HPP_
#define MSCCLPP_CHANNEL_MEMORY_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>

#include <mscclpp/gpu_utils.hpp>

namespace mscclpp
{
namespace detail
{

/* Fails only where the device is gone already, at the end of the process. */
template <class Function> void freeQuietly(Function function, void *memory)
{
    try {
        AvoidCudaGraphCaptureGuard guard;
        (void)function(memory);
    } catch (const CudaError &) {
    }
}

/* n words of the calling thread's device, zeros. */
inline std::shared_ptr<uint64_t> deviceWords(size_t n)
{
    AvoidCudaGraphCaptureGuard guard;
    uint64_t *words = nullptr;
    MSCCLPP_CUDATHROW(cudaMalloc(&words, n * sizeof(uint64_t)));
    std::shared_ptr<uint64_t> owner(words, [](uint64_t *p) { freeQuietly(cudaFree, p); });
    gpuZero(words, n * sizeof(uint64_t));
    return owner;
}

/* Zeros in host memory, which the device maps. */
template <class T> std::shared_ptr<T> mappedHost(size_t n = 1)
{
    AvoidCudaGraphCaptureGuard guard;
    T *const memory = static_cast<T *>(gpuCallocHost(n * sizeof(T)));
    return std::shared_ptr<T>(memory, [](T *p) { freeQuietly(cudaFreeHost, p); });
}

} // namespace detail
} // namespace mscclpp

#endif
