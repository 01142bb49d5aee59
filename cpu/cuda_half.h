/* SPDX-License-Identifier: Apache-2.0
 * CUDA's functions on half, bfloat16 and pairs of them, for the CPU device: <cuda_fp16.h> and
 * <cuda_bf16.h> each have one type's. The types are in gshmem/detail/half.h. */
#ifndef GSHMEM_CUDA_HALF_H
#define GSHMEM_CUDA_HALF_H

#include "cuda_names.h"
#include "gshmem/detail/half.h"

namespace gshmem
{
namespace cpu
{

/* a * b + c, prepared for rounding once: the product is exact, and what matters of the sum's
 * rounding error is kept as a 1 in the last place. */
inline double fused(double a, double b, double c)
{
    double product = a * b, sum = product + c, of_c = sum - product;
    double error = (product - (sum - of_c)) + (c - of_c);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof(bits));
    if (!(error < 0 || error > 0) || (bits & 1)) { /* NaN: nothing is left to round */
        return sum;
    }
    return nextafter(sum, error > 0 ? (double)INFINITY : -(double)INFINITY);
}

} // namespace cpu
} // namespace gshmem

/* T, T2: the type and the pair; N, N2: their names in functions. */
#define GSHMEM_HALF_PAIR(T, T2)                \
    struct __attribute__((aligned(4))) T2 {    \
        T x, y;                                \
        T2() = default;                        \
        constexpr T2(T a, T b) : x(a), y(b) {} \
    };

#define GSHMEM_HALF_CONVERT(T, T2, N, N2)              \
    inline float __##N##2float(T v)                    \
    {                                                  \
        return v;                                      \
    }                                                  \
    inline T __float2##N##_rn(float v)                 \
    {                                                  \
        return v;                                      \
    }                                                  \
    inline T __float2##N(float v)                      \
    {                                                  \
        return v;                                      \
    }                                                  \
    inline T __double2##N(double v)                    \
    {                                                  \
        return v;                                      \
    }                                                  \
    inline unsigned short __##N##_as_ushort(T v)       \
    {                                                  \
        return v.bits;                                 \
    }                                                  \
    inline short __##N##_as_short(T v)                 \
    {                                                  \
        return (short)v.bits;                          \
    }                                                  \
    inline T __ushort_as_##N(unsigned short bits)      \
    {                                                  \
        return T##_raw{bits};                          \
    }                                                  \
    inline T __short_as_##N(short bits)                \
    {                                                  \
        return T##_raw{(unsigned short)bits};          \
    }                                                  \
    GSHMEM_HALF_INTEGER(T, N, short, short)            \
    GSHMEM_HALF_INTEGER(T, N, ushort, unsigned short)  \
    GSHMEM_HALF_INTEGER(T, N, int, int)                \
    GSHMEM_HALF_INTEGER(T, N, uint, unsigned)          \
    GSHMEM_HALF_INTEGER(T, N, ll, long long)           \
    GSHMEM_HALF_INTEGER(T, N, ull, unsigned long long) \
    inline T2 make_##N2(T a, T b)                      \
    {                                                  \
        return T2(a, b);                               \
    }                                                  \
    inline T2 __halves2##N2(T a, T b)                  \
    {                                                  \
        return T2(a, b);                               \
    }                                                  \
    inline T2 __##N##2##N2(T v)                        \
    {                                                  \
        return T2(v, v);                               \
    }                                                  \
    inline T2 __float2##N2##_rn(float v)               \
    {                                                  \
        return T2(v, v);                               \
    }                                                  \
    inline T2 __floats2##N2##_rn(float a, float b)     \
    {                                                  \
        return T2(a, b);                               \
    }                                                  \
    inline T2 __float22##N2##_rn(float2 v)             \
    {                                                  \
        return T2(v.x, v.y);                           \
    }                                                  \
    inline float2 __##N2##2float2(T2 v)                \
    {                                                  \
        return make_float2(v.x, v.y);                  \
    }                                                  \
    inline T __low2##N(T2 v)                           \
    {                                                  \
        return v.x;                                    \
    }                                                  \
    inline T __high2##N(T2 v)                          \
    {                                                  \
        return v.y;                                    \
    }                                                  \
    inline float __low2float(T2 v)                     \
    {                                                  \
        return v.x;                                    \
    }                                                  \
    inline float __high2float(T2 v)                    \
    {                                                  \
        return v.y;                                    \
    }

#define GSHMEM_HALF_INTEGER(T, N, NAME, INTEGER)                      \
    inline T __##NAME##2##N##_rn(INTEGER v)                           \
    {                                                                 \
        return v;                                                     \
    }                                                                 \
    inline INTEGER __##N##2##NAME##_rz(T v)                           \
    {                                                                 \
        return v;                                                     \
    }                                                                 \
    inline INTEGER __##N##2##NAME##_rn(T v)                           \
    {                                                                 \
        return gshmem::half_detail::truncate<INTEGER>(nearbyintf(v)); \
    }                                                                 \
    inline INTEGER __##N##2##NAME##_rd(T v)                           \
    {                                                                 \
        return gshmem::half_detail::truncate<INTEGER>(floorf(v));     \
    }                                                                 \
    inline INTEGER __##N##2##NAME##_ru(T v)                           \
    {                                                                 \
        return gshmem::half_detail::truncate<INTEGER>(ceilf(v));      \
    }

/* A function of one number and of a pair. */
#define GSHMEM_HALF_UNARY(T, T2, NAME, NAME2, OF_V) \
    inline T NAME(T v)                              \
    {                                               \
        return OF_V;                                \
    }                                               \
    inline T2 NAME2(T2 v)                           \
    {                                               \
        return T2(NAME(v.x), NAME(v.y));            \
    }
#define GSHMEM_HALF_BINARY(T, T2, NAME, NAME2, OF_A_B) \
    inline T NAME(T a, T b)                            \
    {                                                  \
        return OF_A_B;                                 \
    }                                                  \
    inline T2 NAME2(T2 a, T2 b)                        \
    {                                                  \
        return T2(NAME(a.x, b.x), NAME(a.y, b.y));     \
    }
#define GSHMEM_HALF_PAIR_OPERATOR(T2, OPERATOR, NAME2)    \
    inline T2 operator OPERATOR(const T2 &a, const T2 &b) \
    {                                                     \
        return NAME2(a, b);                               \
    }                                                     \
    inline T2 &operator OPERATOR##=(T2 &a, const T2 &b)   \
    {                                                     \
        return a = NAME2(a, b);                           \
    }

/* With a NaN the comparisons are false; those that end in u are true. */
#define GSHMEM_HALF_COMPARE(T, T2, NAME, OPERATOR)                             \
    inline bool NAME(T a, T b)                                                 \
    {                                                                          \
        return a == a && b == b && a OPERATOR b;                               \
    }                                                                          \
    inline bool NAME##u(T a, T b)                                              \
    {                                                                          \
        return !(a == a && b == b) || a OPERATOR b;                            \
    }                                                                          \
    inline T2 NAME##2(T2 a, T2 b)                                              \
    {                                                                          \
        return T2(NAME(a.x, b.x) ? 1.0f : 0.0f, NAME(a.y, b.y) ? 1.0f : 0.0f); \
    }

#define GSHMEM_HALF_COMPUTE(T, T2)                                             \
    GSHMEM_HALF_BINARY(T, T2, __hadd, __hadd2, a + b)                          \
    GSHMEM_HALF_BINARY(T, T2, __hsub, __hsub2, a - b)                          \
    GSHMEM_HALF_BINARY(T, T2, __hmul, __hmul2, (a * b))                        \
    GSHMEM_HALF_BINARY(T, T2, __hadd_rn, __hadd2_rn, a + b)                    \
    GSHMEM_HALF_BINARY(T, T2, __hsub_rn, __hsub2_rn, a - b)                    \
    GSHMEM_HALF_BINARY(T, T2, __hmul_rn, __hmul2_rn, (a * b))                  \
    GSHMEM_HALF_BINARY(T, T2, __hdiv, __h2div, a / b)                          \
    GSHMEM_HALF_BINARY(T, T2, __hmax, __hmax2, fmaxf(a, b))                    \
    GSHMEM_HALF_BINARY(T, T2, __hmin, __hmin2, fminf(a, b))                    \
    GSHMEM_HALF_PAIR_OPERATOR(T2, +, __hadd2)                                  \
    GSHMEM_HALF_PAIR_OPERATOR(T2, -, __hsub2)                                  \
    GSHMEM_HALF_PAIR_OPERATOR(T2, *, __hmul2)                                  \
    GSHMEM_HALF_PAIR_OPERATOR(T2, /, __h2div)                                  \
    inline bool operator==(const T2 &a, const T2 &b)                           \
    {                                                                          \
        return a.x == b.x && a.y == b.y;                                       \
    }                                                                          \
    inline T __hfma(T a, T b, T c)                                             \
    {                                                                          \
        return gshmem::cpu::fused((float)a, (float)b, (float)c);               \
    }                                                                          \
    inline T2 __hfma2(T2 a, T2 b, T2 c)                                        \
    {                                                                          \
        return T2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));               \
    }                                                                          \
    GSHMEM_HALF_UNARY(T, T2, __hneg, __hneg2, -v)                              \
    GSHMEM_HALF_UNARY(T, T2, __habs, __habs2, fabsf(v))                        \
    GSHMEM_HALF_UNARY(T, T2, htrunc, h2trunc, truncf(v))                       \
    GSHMEM_HALF_UNARY(T, T2, hfloor, h2floor, floorf(v))                       \
    GSHMEM_HALF_UNARY(T, T2, hceil, h2ceil, ceilf(v))                          \
    GSHMEM_HALF_UNARY(T, T2, hrint, h2rint, nearbyintf(v))                     \
    GSHMEM_HALF_UNARY(T, T2, hsqrt, h2sqrt, sqrtf(v))                          \
    GSHMEM_HALF_UNARY(T, T2, hrsqrt, h2rsqrt, 1.0 / sqrt((double)(float)v))    \
    GSHMEM_HALF_UNARY(T, T2, hrcp, h2rcp, 1.0f / (float)v)                     \
    GSHMEM_HALF_UNARY(T, T2, hexp, h2exp, exp((double)(float)v))               \
    GSHMEM_HALF_UNARY(T, T2, hexp2, h2exp2, exp2((double)(float)v))            \
    GSHMEM_HALF_UNARY(T, T2, hlog, h2log, log((double)(float)v))               \
    GSHMEM_HALF_UNARY(T, T2, hlog2, h2log2, log2((double)(float)v))            \
    GSHMEM_HALF_UNARY(T, T2, hsin, h2sin, sin((double)(float)v))               \
    GSHMEM_HALF_UNARY(T, T2, hcos, h2cos, cos((double)(float)v))               \
    GSHMEM_HALF_COMPARE(T, T2, __heq, ==)                                      \
    GSHMEM_HALF_COMPARE(T, T2, __hne, !=)                                      \
    GSHMEM_HALF_COMPARE(T, T2, __hlt, <)                                       \
    GSHMEM_HALF_COMPARE(T, T2, __hle, <=)                                      \
    GSHMEM_HALF_COMPARE(T, T2, __hgt, >)                                       \
    GSHMEM_HALF_COMPARE(T, T2, __hge, >=)                                      \
    inline bool __hisnan(T v)                                                  \
    {                                                                          \
        return v != v;                                                         \
    }                                                                          \
    inline int __hisinf(T v)                                                   \
    {                                                                          \
        return isinf((float)v) ? ((float)v > 0 ? 1 : -1) : 0;                  \
    }                                                                          \
    inline T atomicAdd(T *p, T v)                                              \
    {                                                                          \
        return gshmem::cpu::atomic_update(p, [v](T old) { return old + v; });  \
    }                                                                          \
    inline T2 atomicAdd(T2 *p, T2 v)                                           \
    {                                                                          \
        return gshmem::cpu::atomic_update(p, [v](T2 old) { return old + v; }); \
    }

#endif
