/* SPDX-License-Identifier: Apache-2.0
 * CUDA's bfloat16 type for the CPU device: conversions (round to nearest even) and arithmetic by
 * way of float. The type is gshmem_bfloat16_t. */
#ifndef GSHMEM_CUDA_BF16_H
#define GSHMEM_CUDA_BF16_H

#include "../cuda_names.h"
#include "gshmem/types.h"

typedef gshmem_bfloat16_t __nv_bfloat16;

inline float __bfloat162float(__nv_bfloat16 b)
{
    uint32_t bits = (uint32_t)b.bits << 16;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

inline __nv_bfloat16 __float2bfloat16_rn(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    if (v != v)
        return __nv_bfloat16{0x7fff};
    return __nv_bfloat16{(uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

inline __nv_bfloat16 __float2bfloat16(float v)
{
    return __float2bfloat16_rn(v);
}
inline __nv_bfloat16 __double2bfloat16(double v)
{
    return __float2bfloat16_rn((float)v);
}
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 b)
{
    return b.bits;
}
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits)
{
    return __nv_bfloat16{bits};
}

#define OPERATION(NAME, OPERATOR)                                                     \
    inline __nv_bfloat16 NAME(__nv_bfloat16 a, __nv_bfloat16 b)                       \
    {                                                                                 \
        return __float2bfloat16_rn(__bfloat162float(a) OPERATOR __bfloat162float(b)); \
    }                                                                                 \
    inline __nv_bfloat16 operator OPERATOR(__nv_bfloat16 a, __nv_bfloat16 b)          \
    {                                                                                 \
        return NAME(a, b);                                                            \
    }
OPERATION(__hadd, +)
OPERATION(__hsub, -)
OPERATION(__hmul, *)
OPERATION(__hdiv, /)
#undef OPERATION

#define COMPARISON(NAME, OPERATOR)                                  \
    inline bool NAME(__nv_bfloat16 a, __nv_bfloat16 b)              \
    {                                                               \
        return __bfloat162float(a) OPERATOR __bfloat162float(b);    \
    }                                                               \
    inline bool operator OPERATOR(__nv_bfloat16 a, __nv_bfloat16 b) \
    {                                                               \
        return NAME(a, b);                                          \
    }
COMPARISON(__heq, ==)
COMPARISON(__hne, !=)
COMPARISON(__hlt, <)
COMPARISON(__hle, <=)
COMPARISON(__hgt, >)
COMPARISON(__hge, >=)
#undef COMPARISON

#endif
