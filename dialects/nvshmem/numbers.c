/* SPDX-License-Identifier: Apache-2.0
 * Host calls on kinds of numbers that gshmem's type table lacks: reductions of complex numbers, and
 * atomic additions to floating-point ones. */
#include <gshmemx.h>
#include <string.h>
#define NVSHMEM_COMPLEX_SUPPORT 1
#include "nvshmem.h"

#define COMPLEX(NAME, T, OP, KIND)                                                                 \
    int nvshmem_##NAME##_##OP##_##KIND(nvshmem_team_t team, T *dest, const T *source,              \
                                       size_t nreduce)                                             \
    {                                                                                              \
        return gshmem_##NAME##_##OP##_##KIND(team, dest, source, nreduce);                         \
    }                                                                                              \
    int nvshmemx_##NAME##_##OP##_##KIND##_on_stream(nvshmem_team_t team, T *dest, const T *source, \
                                                    size_t nreduce, gshmemx_stream_t stream)       \
    {                                                                                              \
        return gshmemx_##NAME##_##OP##_##KIND##_on_stream(team, dest, source, nreduce, stream);    \
    }
COMPLEX(complexf, float _Complex, sum, reduce)
COMPLEX(complexf, float _Complex, sum, reducescatter)
COMPLEX(complexf, float _Complex, prod, reduce)
COMPLEX(complexf, float _Complex, prod, reducescatter)
COMPLEX(complexd, double _Complex, sum, reduce)
COMPLEX(complexd, double _Complex, sum, reducescatter)
COMPLEX(complexd, double _Complex, prod, reduce)
COMPLEX(complexd, double _Complex, prod, reducescatter)

/* Like those in kernels (device/nvshmem_device.h), by compare and swap. */
#define FLOAT_ADD(NAME, T, BITS)                                                     \
    T nvshmem_##NAME##_atomic_fetch_add(T *dest, T value, int pe)                    \
    {                                                                                \
        uint##BITS##_t *word = (uint##BITS##_t *)(void *)dest, expected, sum;        \
        uint##BITS##_t seen = gshmem_uint##BITS##_atomic_fetch(word, pe);            \
        T old;                                                                       \
        do {                                                                         \
            expected = seen;                                                         \
            memcpy(&old, &expected, sizeof(old));                                    \
            T added = old + value;                                                   \
            memcpy(&sum, &added, sizeof(sum));                                       \
            seen = gshmem_uint##BITS##_atomic_compare_swap(word, expected, sum, pe); \
        } while (seen != expected);                                                  \
        return old;                                                                  \
    }                                                                                \
    void nvshmem_##NAME##_atomic_add(T *dest, T value, int pe)                       \
    {                                                                                \
        nvshmem_##NAME##_atomic_fetch_add(dest, value, pe);                          \
    }
FLOAT_ADD(float, float, 32)
FLOAT_ADD(double, double, 64)

void nvshmemx_flush(void)
{
    gshmem_quiet();
}
