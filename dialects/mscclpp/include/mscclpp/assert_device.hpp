/* SPDX-License-Identifier: Apache-2.0
 * Assertions in kernels: with -DDEBUG_BUILD a false one ends the kernel (CUDA) or the process (the
 * CPU device) with its text; otherwise none is evaluated. Sizes are checked with -DDEBUG_BUILD, and
 * with gshmem's own -DGSHMEM_CHECKS=1; otherwise no check leaves an instruction. */
#ifndef MSCCLPP_ASSERT_DEVICE_HPP_
#define MSCCLPP_ASSERT_DEVICE_HPP_

#include "device.hpp"

#if defined(MSCCLPP_DEVICE_COMPILE)

#include <cstdint>
#if defined(DEBUG_BUILD) || defined(GSHMEM_CHECKS)
#include <stdio.h>
#endif

#if defined(DEBUG_BUILD)
#include <assert.h>
#if defined(__CUDA_ARCH__)
#define MSCCLPP_ASSERT_DEVICE(CONDITION, TEXT)                                         \
    do {                                                                               \
        if (!(CONDITION)) {                                                            \
            printf("%s:%d: block %u, thread %u: %s\n", __FILE__, __LINE__, blockIdx.x, \
                   threadIdx.x, TEXT);                                                 \
            __trap();                                                                  \
        }                                                                              \
    } while (0)
#else
#include <stdlib.h>
#define MSCCLPP_ASSERT_DEVICE(CONDITION, TEXT)                                                  \
    do {                                                                                        \
        if (!(CONDITION)) {                                                                     \
            fprintf(stderr, "%s:%d: block %u, thread %u: %s\n", __FILE__, __LINE__, blockIdx.x, \
                    threadIdx.x, TEXT);                                                         \
            abort();                                                                            \
        }                                                                                       \
    } while (0)
#endif
#else
#define MSCCLPP_ASSERT_DEVICE(CONDITION, TEXT)
#endif

namespace mscclpp
{
namespace detail
{

#if defined(DEBUG_BUILD) || defined(GSHMEM_CHECKS)

/* Ends the kernel (CUDA), or the process or its job: call has so many bytes, or another value, and
 * the limit says of what. */
__device__ __noinline__ inline void refuse(const char *call, unsigned long long value,
                                           const char *why, unsigned long long limit)
{
#if defined(__CUDA_ARCH__)
    printf("gshmem: error: block %u, thread %u: %s of %llu %s %llu\n", blockIdx.x, threadIdx.x,
           call, value, why, limit);
    __trap();
#elif !defined(__CUDACC__)
    char text[256];
    snprintf(text, sizeof(text), "block %u, thread %u: %s of %llu %s %llu", blockIdx.x, threadIdx.x,
             call, value, why, limit);
    gshmem::detail::gshmemx_cpu_refuse(text);
#endif
}

#endif

/* bytes is a multiple of `of`. */
MSCCLPP_DEVICE_INLINE void checkMultiple([[maybe_unused]] const char *call,
                                         [[maybe_unused]] uint64_t bytes,
                                         [[maybe_unused]] uint64_t of)
{
#if defined(DEBUG_BUILD) || defined(GSHMEM_CHECKS)
    if (bytes % of != 0)
        refuse(call, bytes, "bytes: the size is no multiple of", of);
#endif
}

/* [offset, offset + bytes) lies in memory of `has` bytes; 0: it is not known how many. */
MSCCLPP_DEVICE_INLINE void checkRange([[maybe_unused]] const char *call,
                                      [[maybe_unused]] uint64_t offset,
                                      [[maybe_unused]] uint64_t bytes,
                                      [[maybe_unused]] uint64_t has)
{
#if defined(DEBUG_BUILD) || defined(GSHMEM_CHECKS)
    if (has != 0 && (offset > has || bytes > has - offset))
        refuse(call, bytes, "bytes ends beyond the registered memory, whose bytes are", has);
#endif
}

/* As much as fits. */
MSCCLPP_DEVICE_INLINE uint64_t times(uint64_t n, uint64_t factor)
{
    return n > UINT64_MAX / factor ? UINT64_MAX : n * factor;
}

/* The value is below that; a trigger would cut it. */
MSCCLPP_DEVICE_INLINE void checkBelow([[maybe_unused]] const char *call,
                                      [[maybe_unused]] uint64_t value,
                                      [[maybe_unused]] uint64_t limit)
{
#if defined(DEBUG_BUILD) || defined(GSHMEM_CHECKS)
    if (value >= limit)
        refuse(call, value, "does not fit into a trigger, which has room for values below", limit);
#endif
}

} // namespace detail
} // namespace mscclpp

/* The name of 0.5. */
#define mscclpp_assert_device(CONDITION, TEXT) MSCCLPP_ASSERT_DEVICE(CONDITION, TEXT)

#endif
#endif
