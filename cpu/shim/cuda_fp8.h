/* SPDX-License-Identifier: Apache-2.0
 * <cuda_fp8.h> for source built for the CPU device: the two types of 8-bit floating-point numbers
 * and their conversions, which saturate. CUDA's functions on them, and its types for two and four
 * of them, are missing. */
#ifndef GSHMEM_CUDA_FP8_H
#define GSHMEM_CUDA_FP8_H

#ifndef GSHMEM_OWN_WARNINGS
#pragma GCC system_header
#endif
#include <type_traits>
#include "../cuda_half.h"
#include "gshmem/detail/float8.h"

typedef unsigned char __nv_fp8_storage_t;

#define GSHMEM_FLOAT8_TYPE(NAME, F)                                                       \
    struct NAME {                                                                         \
        __nv_fp8_storage_t __x;                                                           \
        NAME() = default;                                                                 \
        template <class Type,                                                             \
                  class = typename std::enable_if<std::is_arithmetic<Type>::value>::type> \
        explicit NAME(Type v)                                                             \
            : __x(gshmem::float8_detail::from_float<gshmem::float8_detail::F>(            \
                  gshmem::half_detail::narrow(v)))                                        \
        {                                                                                 \
        }                                                                                 \
        explicit NAME(__half v) : NAME(static_cast<float>(v)) {}                          \
        explicit NAME(__nv_bfloat16 v) : NAME(static_cast<float>(v)) {}                   \
        explicit operator float() const                                                   \
        {                                                                                 \
            return gshmem::float8_detail::to_float<gshmem::float8_detail::F>(__x);        \
        }                                                                                 \
        explicit operator double() const { return static_cast<float>(*this); }            \
        explicit operator __half() const { return __half(static_cast<float>(*this)); }    \
        explicit operator __nv_bfloat16() const                                           \
        {                                                                                 \
            return __nv_bfloat16(static_cast<float>(*this));                              \
        }                                                                                 \
        explicit operator bool() const { return (__x & 0x7f) != 0; }                      \
        template <class Type,                                                             \
                  class = typename std::enable_if<std::is_integral<Type>::value>::type>   \
        explicit operator Type() const                                                    \
        {                                                                                 \
            return gshmem::half_detail::truncate<Type>(static_cast<float>(*this));        \
        }                                                                                 \
    };
GSHMEM_FLOAT8_TYPE(__nv_fp8_e4m3, e4m3)
GSHMEM_FLOAT8_TYPE(__nv_fp8_e5m2, e5m2)
#undef GSHMEM_FLOAT8_TYPE

#endif
