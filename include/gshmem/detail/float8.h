/* SPDX-License-Identifier: Apache-2.0
 * Not for users' programs. 8-bit floating-point numbers, e4m3 and e5m2, to float and back, on both
 * devices. Conversion to float is exact. Conversion from float rounds once, to nearest even, like
 * CUDA's conversions with
 * __NV_SATFINITE: values out of range, infinities included, become the largest finite number of
 * their sign, and NaN becomes 0x7f. e4m3 has no infinities; e5m2's are read, but never written.
 * C++17 and CUDA. */
#ifndef GSHMEM_FLOAT8_H
#define GSHMEM_FLOAT8_H

#include <stdint.h>
#include <string.h>

#if defined(__CUDACC__)
#define GSHMEM_FLOAT8_INLINE __host__ __device__ __forceinline__
#else
#define GSHMEM_FLOAT8_INLINE inline
#endif

namespace gshmem
{
namespace float8_detail
{

/* largest, infinity: without the sign; values beyond infinity are NaN. */
struct e4m3 {
    static constexpr int fraction_bits = 3, bias = 7;
    static constexpr uint32_t largest = 0x7e, infinity = 0x7e;
};
struct e5m2 {
    static constexpr int fraction_bits = 2, bias = 15;
    static constexpr uint32_t largest = 0x7b, infinity = 0x7c;
};

GSHMEM_FLOAT8_INLINE float as_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

GSHMEM_FLOAT8_INLINE uint32_t as_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

template <class Format> GSHMEM_FLOAT8_INLINE float to_float(uint8_t x)
{
    constexpr int shift = 23 - Format::fraction_bits;
    constexpr uint32_t smallest_normal = 1u << Format::fraction_bits;
    const uint32_t sign = (uint32_t)(x & 0x80u) << 24, rest = x & 0x7fu;
    if (rest > Format::infinity)
        return as_float(sign | 0x7fc00000u);
    if (Format::infinity != Format::largest && rest == Format::infinity)
        return as_float(sign | 0x7f800000u);
    if (rest < smallest_normal) { /* a multiple of the smallest number */
        const float unit =
            as_float((uint32_t)(127 + 1 - Format::bias - Format::fraction_bits) << 23);
        return as_float(sign | as_bits((float)rest * unit));
    }
    return as_float(sign | ((rest << shift) + ((uint32_t)(127 - Format::bias) << 23)));
}

template <class Format> GSHMEM_FLOAT8_INLINE uint8_t from_float(float x)
{
    constexpr int shift = 23 - Format::fraction_bits;
    constexpr uint32_t smallest_normal = (uint32_t)(127 + 1 - Format::bias) << 23;
    const uint32_t bits = as_bits(x), rest = bits & 0x7fffffffu, sign = bits >> 24 & 0x80u;
    if (rest > 0x7f800000u)
        return 0x7f;
    if (rest < smallest_normal) { /* the sum is rounded to a multiple of the smallest number */
        constexpr uint32_t unit_is_last =
            (uint32_t)(127 + 24 - Format::bias - Format::fraction_bits) << 23;
        const float sum = as_float(rest) + as_float(unit_is_last);
        return (uint8_t)(sign | (as_bits(sum) - unit_is_last));
    }
    const uint32_t rounded = rest + (1u << (shift - 1)) - 1 + (rest >> shift & 1u);
    const uint32_t value = (rounded - ((uint32_t)(127 - Format::bias) << 23)) >> shift;
    return (uint8_t)(sign | (value < Format::largest ? value : Format::largest));
}

} // namespace float8_detail
} // namespace gshmem

#endif
