/* SPDX-License-Identifier: Apache-2.0
 * CUDA's half type for the CPU device: conversions (round to nearest even) and arithmetic by way of
 * float, which rounds once, as CUDA's own does. The type is gshmem_half_t. */
#ifndef GSHMEM_CUDA_FP16_H
#define GSHMEM_CUDA_FP16_H

#include <math.h>
#include "../cuda_names.h"
#include "gshmem/types.h"

typedef gshmem_half_t __half;
typedef gshmem_half_t half;

inline float __half2float(__half h)
{
    uint32_t exponent = h.bits >> 10 & 31, fraction = h.bits & 1023;
    float v = exponent == 31  ? (fraction ? NAN : INFINITY)
              : exponent == 0 ? ldexpf((float)fraction, -24)
                              : ldexpf((float)(fraction | 1024), (int)exponent - 25);
    return h.bits >> 15 ? -v : v;
}

inline __half __float2half_rn(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    float a = fabsf(v);
    uint16_t h;
    if (v != v) {
        h = 0x7e00;
    } else if (a >= 65520.0f) { /* half way from the largest half to the next power of two */
        h = 0x7c00;
    } else if (a < 0x1p-14f) { /* subnormal: whole multiples of 2^-24 */
        h = (uint16_t)nearbyintf(ldexpf(a, 24));
    } else {
        uint32_t b = bits & 0x7fffffff;
        h = (uint16_t)((b - (112u << 23) + 0xfff + (b >> 13 & 1)) >> 13);
    }
    return __half{(uint16_t)(sign | h)};
}

inline __half __float2half(float v)
{
    return __float2half_rn(v);
}
inline __half __double2half(double v)
{
    return __float2half_rn((float)v);
}
inline __half __int2half_rn(int v)
{
    return __float2half_rn((float)v);
}
inline unsigned short __half_as_ushort(__half h)
{
    return h.bits;
}
inline __half __ushort_as_half(unsigned short bits)
{
    return __half{bits};
}

#define OPERATION(NAME, OPERATOR)                                         \
    inline __half NAME(__half a, __half b)                                \
    {                                                                     \
        return __float2half_rn(__half2float(a) OPERATOR __half2float(b)); \
    }                                                                     \
    inline __half operator OPERATOR(__half a, __half b)                   \
    {                                                                     \
        return NAME(a, b);                                                \
    }
OPERATION(__hadd, +)
OPERATION(__hsub, -)
OPERATION(__hmul, *)
OPERATION(__hdiv, /)
#undef OPERATION

#define COMPARISON(NAME, OPERATOR)                       \
    inline bool NAME(__half a, __half b)                 \
    {                                                    \
        return __half2float(a) OPERATOR __half2float(b); \
    }                                                    \
    inline bool operator OPERATOR(__half a, __half b)    \
    {                                                    \
        return NAME(a, b);                               \
    }
COMPARISON(__heq, ==)
COMPARISON(__hne, !=)
COMPARISON(__hlt, <)
COMPARISON(__hle, <=)
COMPARISON(__hgt, >)
COMPARISON(__hge, >=)
#undef COMPARISON

inline __half __hneg(__half a)
{
    return __half{(uint16_t)(a.bits ^ 0x8000)};
}

#endif
