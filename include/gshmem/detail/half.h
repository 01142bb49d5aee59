/* SPDX-License-Identifier: Apache-2.0
 * Not for users' programs. The types __half and __nv_bfloat16 for kernels compiled for the CPU
 * device, with CUDA's conversions and operators: from and to float, double and the integers,
 * arithmetic, comparisons. Each result is rounded once, to nearest even; conversions to integers
 * truncate; values out of range saturate, and NaN becomes 0. CUDA's functions on these types are in
 * <cuda_fp16.h> and <cuda_bf16.h>, which exist for the CPU device as well. C++17. */
#ifndef GSHMEM_HALF_H
#define GSHMEM_HALF_H

#include <limits>
#include <math.h>
#include <stdint.h>
#include <string.h>

namespace gshmem
{
namespace half_detail
{

template <class To, class From> inline To bits_as(From v)
{
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To bits;
    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

inline float from_half(uint16_t h)
{
    uint32_t exponent = h >> 10 & 31, fraction = h & 1023;
    float v = exponent == 31  ? (fraction ? NAN : INFINITY)
              : exponent == 0 ? (float)fraction * 0x1p-24f
                              : bits_as<float>((exponent + 112) << 23 | fraction << 13);
    return h >> 15 ? -v : v;
}

inline uint16_t to_half(float v)
{
    uint32_t bits = bits_as<uint32_t>(v);
    float a = fabsf(v);
    uint16_t h;
    if (v != v) {
        return 0x7fff;
    } else if (a >= 65520.0f) { /* half way from the largest half to the next power of two */
        h = 0x7c00;
    } else if (a < 0x1p-14f) { /* subnormal: whole multiples of 2^-24 */
        h = (uint16_t)nearbyintf(a * 0x1p24f);
    } else {
        uint32_t b = bits & 0x7fffffff;
        h = (uint16_t)((b - (112u << 23) + 0xfff + (b >> 13 & 1)) >> 13);
    }
    return (uint16_t)((bits >> 16 & 0x8000) | h);
}

inline float from_bfloat16(uint16_t b)
{
    return bits_as<float>((uint32_t)b << 16);
}

inline uint16_t to_bfloat16(float v)
{
    uint32_t bits = bits_as<uint32_t>(v);
    return v != v ? 0x7fff : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* A wider number as a float that rounds to the same half or bfloat16 as the number itself: digits
 * that do not fit into the float leave a 1 in its last place, meaning "not half way". */
inline float narrow(float v)
{
    return v;
}

inline float narrow(double v)
{
    float f = (float)v;
    uint32_t bits = bits_as<uint32_t>(f);
    if ((double)f == v || v != v || (bits & 1)) {
        return f;
    }
    return bits_as<float>(fabs((double)f) > fabs(v) ? bits - 1 : bits + 1);
}

template <class Integer> inline float narrow(Integer v)
{
    uint64_t left = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    int shift = 0;
    while (left >> 24) {
        left = left >> 1 | (left & 1);
        shift++;
    }
    float f = ldexpf((float)left, shift);
    return v < 0 ? -f : f;
}

template <class Integer> inline Integer truncate(float v)
{
    using limits = std::numeric_limits<Integer>;
    if (v != v) {
        return 0;
    }
    if (v <= (float)limits::min()) {
        return limits::min();
    }
    return v >= (float)limits::max() ? limits::max() : (Integer)v;
}

} // namespace half_detail
} // namespace gshmem

#define GSHMEM_HALF_INTEGERS(M, NAME) \
    M(NAME, short)                    \
    M(NAME, unsigned short)           \
    M(NAME, int)                      \
    M(NAME, unsigned)                 \
    M(NAME, long)                     \
    M(NAME, unsigned long)            \
    M(NAME, long long)                \
    M(NAME, unsigned long long)
#define GSHMEM_HALF_FROM(NAME, T) \
    NAME(T v) : NAME(gshmem::half_detail::narrow(v)) {}
#define GSHMEM_HALF_TO(NAME, T)                                             \
    operator T() const                                                      \
    {                                                                       \
        return gshmem::half_detail::truncate<T>(static_cast<float>(*this)); \
    }

/* RAW: CUDA's struct of the bits alone. OTHER: the other type of the two. */
#define GSHMEM_HALF_TYPE(NAME, RAW, OTHER, TO_BITS, FROM_BITS)                  \
    struct RAW {                                                                \
        unsigned short x;                                                       \
    };                                                                          \
    struct NAME {                                                               \
        uint16_t bits;                                                          \
        NAME() = default;                                                       \
        constexpr NAME(const RAW &raw) : bits(raw.x) {}                         \
        NAME(float v) : bits(gshmem::half_detail::TO_BITS(v)) {}                \
        explicit NAME(OTHER v);                                                 \
        GSHMEM_HALF_FROM(NAME, double)                                          \
        GSHMEM_HALF_INTEGERS(GSHMEM_HALF_FROM, NAME)                            \
        constexpr operator RAW() const { return RAW{bits}; }                    \
        operator float() const { return gshmem::half_detail::FROM_BITS(bits); } \
        constexpr operator bool() const { return (bits & 0x7fff) != 0; }        \
        GSHMEM_HALF_TO(NAME, char)                                              \
        GSHMEM_HALF_TO(NAME, signed char)                                       \
        GSHMEM_HALF_TO(NAME, unsigned char)                                     \
        GSHMEM_HALF_INTEGERS(GSHMEM_HALF_TO, NAME)                              \
    };

/* By way of float, which has more than twice their digits, so nothing is rounded twice. */
#define GSHMEM_HALF_OPERATION(NAME, OPERATOR)                              \
    inline NAME operator OPERATOR(const NAME &a, const NAME &b)            \
    {                                                                      \
        return NAME(static_cast<float>(a) OPERATOR static_cast<float>(b)); \
    }                                                                      \
    inline NAME &operator OPERATOR##=(NAME &a, const NAME &b)              \
    {                                                                      \
        return a = a OPERATOR b;                                           \
    }
#define GSHMEM_HALF_COMPARISON(NAME, OPERATOR)                       \
    inline bool operator OPERATOR(const NAME &a, const NAME &b)      \
    {                                                                \
        return static_cast<float>(a) OPERATOR static_cast<float>(b); \
    }
#define GSHMEM_HALF_OPERATORS(NAME)      \
    GSHMEM_HALF_OPERATION(NAME, +)       \
    GSHMEM_HALF_OPERATION(NAME, -)       \
    GSHMEM_HALF_OPERATION(NAME, *)       \
    GSHMEM_HALF_OPERATION(NAME, /)       \
    GSHMEM_HALF_COMPARISON(NAME, ==)     \
    GSHMEM_HALF_COMPARISON(NAME, !=)     \
    GSHMEM_HALF_COMPARISON(NAME, <)      \
    GSHMEM_HALF_COMPARISON(NAME, <=)     \
    GSHMEM_HALF_COMPARISON(NAME, >)      \
    GSHMEM_HALF_COMPARISON(NAME, >=)     \
    inline NAME operator+(const NAME &a) \
    {                                    \
        return a;                        \
    }                                    \
    inline NAME operator-(const NAME &a) \
    {                                    \
        NAME negative = a;               \
        negative.bits ^= 0x8000;         \
        return negative;                 \
    }                                    \
    inline NAME &operator++(NAME &a)     \
    {                                    \
        return a = a + NAME(1);          \
    }                                    \
    inline NAME &operator--(NAME &a)     \
    {                                    \
        return a = a - NAME(1);          \
    }                                    \
    inline NAME operator++(NAME &a, int) \
    {                                    \
        NAME before = a;                 \
        ++a;                             \
        return before;                   \
    }                                    \
    inline NAME operator--(NAME &a, int) \
    {                                    \
        NAME before = a;                 \
        --a;                             \
        return before;                   \
    }

struct __nv_bfloat16;
GSHMEM_HALF_TYPE(__half, __half_raw, __nv_bfloat16, to_half, from_half)
GSHMEM_HALF_TYPE(__nv_bfloat16, __nv_bfloat16_raw, __half, to_bfloat16, from_bfloat16)
GSHMEM_HALF_OPERATORS(__half)
GSHMEM_HALF_OPERATORS(__nv_bfloat16)

inline __half::__half(__nv_bfloat16 v) : __half(static_cast<float>(v)) {}
inline __nv_bfloat16::__nv_bfloat16(__half v) : __nv_bfloat16(static_cast<float>(v)) {}

#undef GSHMEM_HALF_INTEGERS
#undef GSHMEM_HALF_FROM
#undef GSHMEM_HALF_TO
#undef GSHMEM_HALF_TYPE
#undef GSHMEM_HALF_OPERATION
#undef GSHMEM_HALF_COMPARISON
#undef GSHMEM_HALF_OPERATORS

#endif
