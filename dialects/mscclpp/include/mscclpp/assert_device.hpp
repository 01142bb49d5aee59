/* SPDX-License-Identifier: Apache-2.0
 * Assertions in kernels: with -DDEBUG_BUILD a false one ends the kernel (CUDA) or the process (the
 * CPU device) with its text; otherwise none is evaluated. */
#ifndef MSCCLPP_ASSERT_DEVICE_HPP_
#define MSCCLPP_ASSERT_DEVICE_HPP_

#include "device.hpp"

#if defined(MSCCLPP_DEVICE_COMPILE)

#if defined(DEBUG_BUILD)
#include <assert.h>
#include <stdio.h>
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

/* The name of 0.5. */
#define mscclpp_assert_device(CONDITION, TEXT) MSCCLPP_ASSERT_DEVICE(CONDITION, TEXT)

#endif
#endif
