/* SPDX-License-Identifier: Apache-2.0
 * CUDA's intrinsics on bits and numbers, and its cache-hinted loads and stores, for the CPU
 * device. The functions of math.h are the host's. */
#ifndef GSHMEM_CUDA_MATH_H
#define GSHMEM_CUDA_MATH_H

#include <limits>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

inline int __popc(unsigned v)
{
    return __builtin_popcount(v);
}
inline int __popcll(unsigned long long v)
{
    return __builtin_popcountll(v);
}
inline int __ffs(int v)
{
    return __builtin_ffs(v);
}
inline int __ffsll(long long v)
{
    return __builtin_ffsll(v);
}
inline int __clz(int v)
{
    return v ? __builtin_clz((unsigned)v) : 32;
}
inline int __clzll(long long v)
{
    return v ? __builtin_clzll((unsigned long long)v) : 64;
}

inline unsigned long long __brevll(unsigned long long v)
{
    v = ((v >> 1) & 0x5555555555555555ull) | ((v & 0x5555555555555555ull) << 1);
    v = ((v >> 2) & 0x3333333333333333ull) | ((v & 0x3333333333333333ull) << 2);
    v = ((v >> 4) & 0x0f0f0f0f0f0f0f0full) | ((v & 0x0f0f0f0f0f0f0f0full) << 4);
    return __builtin_bswap64(v);
}

inline unsigned __brev(unsigned v)
{
    return (unsigned)(__brevll(v) >> 32);
}

inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}
inline int __mulhi(int a, int b)
{
    return (int)((int64_t)a * b >> 32);
}

inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    __extension__ typedef unsigned __int128 wide;
    return (unsigned long long)((wide)a * b >> 64);
}

inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift)
{
    return (unsigned)((((uint64_t)hi << 32 | lo) << (shift & 31)) >> 32);
}

inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift)
{
    return (unsigned)(((uint64_t)hi << 32 | lo) >> (shift & 31));
}

/* Byte i of the result is the byte of y:x that nibble i of the selector names; the nibble's high
 * bit selects the byte's sign instead. */
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector)
{
    uint64_t bytes = (uint64_t)y << 32 | x;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned which = selector >> 4 * i & 15;
        unsigned byte = (unsigned)(bytes >> 8 * (which & 7)) & 255;
        if (which & 8) {
            byte = byte & 128 ? 255 : 0;
        }
        result |= byte << 8 * i;
    }
    return result;
}

inline long long __mul64hi(long long a, long long b)
{
    __extension__ typedef __int128 wide;
    return (long long)((wide)a * b >> 64);
}

inline int __mul24(int a, int b)
{
    return (int)((unsigned)((int)((unsigned)a << 8) >> 8) *
                 (unsigned)((int)((unsigned)b << 8) >> 8));
}
inline unsigned __umul24(unsigned a, unsigned b)
{
    return (a & 0xffffff) * (b & 0xffffff);
}
inline unsigned __sad(int a, int b, unsigned c)
{
    return c + (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a);
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c)
{
    return c + (a > b ? a - b : b - a);
}

#define GSHMEM_CPU_BITS_AS(NAME, FROM, TO) \
    inline TO NAME(FROM v)                 \
    {                                      \
        TO bits;                           \
        memcpy(&bits, &v, sizeof(bits));   \
        return bits;                       \
    }
GSHMEM_CPU_BITS_AS(__float_as_int, float, int)
GSHMEM_CPU_BITS_AS(__float_as_uint, float, unsigned)
GSHMEM_CPU_BITS_AS(__int_as_float, int, float)
GSHMEM_CPU_BITS_AS(__uint_as_float, unsigned, float)
GSHMEM_CPU_BITS_AS(__double_as_longlong, double, long long)
GSHMEM_CPU_BITS_AS(__longlong_as_double, long long, double)
#undef GSHMEM_CPU_BITS_AS

inline int __double2hiint(double v)
{
    return (int)(__double_as_longlong(v) >> 32);
}
inline int __double2loint(double v)
{
    return (int)(unsigned)__double_as_longlong(v);
}
inline double __hiloint2double(int hi, int lo)
{
    return __longlong_as_double((long long)((uint64_t)(unsigned)hi << 32 | (unsigned)lo));
}

namespace gshmem
{
namespace cpu
{

/* Like the GPU: values out of range become the nearest in range, NaN becomes 0. */
template <class Integer> inline Integer to_integer(double v)
{
    using limits = std::numeric_limits<Integer>;
    if (v != v) {
        return 0;
    }
    if (v <= (double)limits::min()) {
        return limits::min();
    }
    return v >= (double)limits::max() ? limits::max() : (Integer)v;
}

} // namespace cpu
} // namespace gshmem

#define GSHMEM_CPU_TO_INTEGER(FLOAT, NAME, INTEGER)            \
    inline INTEGER __##FLOAT##2##NAME##_rn(FLOAT v)            \
    {                                                          \
        return gshmem::cpu::to_integer<INTEGER>(nearbyint(v)); \
    }                                                          \
    inline INTEGER __##FLOAT##2##NAME##_rz(FLOAT v)            \
    {                                                          \
        return gshmem::cpu::to_integer<INTEGER>(v);            \
    }                                                          \
    inline INTEGER __##FLOAT##2##NAME##_rd(FLOAT v)            \
    {                                                          \
        return gshmem::cpu::to_integer<INTEGER>(floor(v));     \
    }                                                          \
    inline INTEGER __##FLOAT##2##NAME##_ru(FLOAT v)            \
    {                                                          \
        return gshmem::cpu::to_integer<INTEGER>(ceil(v));      \
    }                                                          \
    inline FLOAT __##NAME##2##FLOAT##_rn(INTEGER v)            \
    {                                                          \
        return (FLOAT)v;                                       \
    }
GSHMEM_CPU_TO_INTEGER(float, int, int)
GSHMEM_CPU_TO_INTEGER(float, uint, unsigned)
GSHMEM_CPU_TO_INTEGER(float, ll, long long)
GSHMEM_CPU_TO_INTEGER(float, ull, unsigned long long)
GSHMEM_CPU_TO_INTEGER(double, int, int)
GSHMEM_CPU_TO_INTEGER(double, uint, unsigned)
GSHMEM_CPU_TO_INTEGER(double, ll, long long)
GSHMEM_CPU_TO_INTEGER(double, ull, unsigned long long)
#undef GSHMEM_CPU_TO_INTEGER

inline float __double2float_rn(double v)
{
    return (float)v;
}

inline float rsqrtf(float v)
{
    return 1.0f / sqrtf(v);
}
inline double rsqrt(double v)
{
    return 1.0 / sqrt(v);
}
inline float __saturatef(float v)
{
    return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f;
}
inline float __fdividef(float a, float b)
{
    return a / b;
}
inline float __frsqrt_rn(float v)
{
    return rsqrtf(v);
}
inline float __frcp_rn(float v)
{
    return 1.0f / v;
}
inline float __fsqrt_rn(float v)
{
    return sqrtf(v);
}
inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
inline double __fma_rn(double a, double b, double c)
{
    return fma(a, b, c);
}

inline double __dsqrt_rn(double v)
{
    return sqrt(v);
}
inline double __drcp_rn(double v)
{
    return 1.0 / v;
}

/* One operation each, never contracted with another into one that rounds once. */
#if defined(__x86_64__)
#define GSHMEM_CPU_KEEP_ALONE(v) __asm__("" : "+x"(v))
#elif defined(__aarch64__)
#define GSHMEM_CPU_KEEP_ALONE(v) __asm__("" : "+w"(v))
#else
#define GSHMEM_CPU_KEEP_ALONE(v) __asm__("" : "+m"(v))
#endif
#define GSHMEM_CPU_ROUNDED(NAME, T, OP) \
    inline T NAME(T a, T b)             \
    {                                   \
        GSHMEM_CPU_KEEP_ALONE(a);       \
        GSHMEM_CPU_KEEP_ALONE(b);       \
        T v = a OP b;                   \
        GSHMEM_CPU_KEEP_ALONE(v);       \
        return v;                       \
    }
GSHMEM_CPU_ROUNDED(__fadd_rn, float, +)
GSHMEM_CPU_ROUNDED(__fsub_rn, float, -)
GSHMEM_CPU_ROUNDED(__fmul_rn, float, *)
GSHMEM_CPU_ROUNDED(__fdiv_rn, float, /)
GSHMEM_CPU_ROUNDED(__dadd_rn, double, +)
GSHMEM_CPU_ROUNDED(__dsub_rn, double, -)
GSHMEM_CPU_ROUNDED(__dmul_rn, double, *)
GSHMEM_CPU_ROUNDED(__ddiv_rn, double, /)
#undef GSHMEM_CPU_ROUNDED
#undef GSHMEM_CPU_KEEP_ALONE

/* Macros, since math.h declares functions of these names. */
#define __expf(v)          expf(v)
#define __logf(v)          logf(v)
#define __log2f(v)         log2f(v)
#define __sinf(v)          sinf(v)
#define __cosf(v)          cosf(v)
#define __powf(a, b)       powf(a, b)
#define __tanf(v)          tanf(v)
#define __log10f(v)        log10f(v)
#define __exp10f(v)        powf(10.0f, v)
#define __sincosf(v, s, c) ((void)(*(s) = sinf(v), *(c) = cosf(v)))

#define GSHMEM_CPU_MINMAX(T)  \
    inline T min(T a, T b)    \
    {                         \
        return b < a ? b : a; \
    }                         \
    inline T max(T a, T b)    \
    {                         \
        return a < b ? b : a; \
    }
GSHMEM_CPU_MINMAX(int)
GSHMEM_CPU_MINMAX(unsigned)
GSHMEM_CPU_MINMAX(long)
GSHMEM_CPU_MINMAX(unsigned long)
GSHMEM_CPU_MINMAX(long long)
GSHMEM_CPU_MINMAX(unsigned long long)
#undef GSHMEM_CPU_MINMAX
inline float min(float a, float b)
{
    return fminf(a, b);
}
inline float max(float a, float b)
{
    return fmaxf(a, b);
}
inline double min(double a, double b)
{
    return fmin(a, b);
}
inline double max(double a, double b)
{
    return fmax(a, b);
}

/* With two types: both become the type in which C++ would compute. */
#define GSHMEM_CPU_MIXED_MINMAX(A, B) \
    inline B min(A a, B b)            \
    {                                 \
        return min((B)a, b);          \
    }                                 \
    inline B min(B a, A b)            \
    {                                 \
        return min(a, (B)b);          \
    }                                 \
    inline B max(A a, B b)            \
    {                                 \
        return max((B)a, b);          \
    }                                 \
    inline B max(B a, A b)            \
    {                                 \
        return max(a, (B)b);          \
    }
GSHMEM_CPU_MIXED_MINMAX(int, unsigned)
GSHMEM_CPU_MIXED_MINMAX(long, unsigned long)
GSHMEM_CPU_MIXED_MINMAX(long long, unsigned long long)
GSHMEM_CPU_MIXED_MINMAX(float, double)
#undef GSHMEM_CPU_MIXED_MINMAX

inline unsigned umin(unsigned a, unsigned b)
{
    return min(a, b);
}
inline unsigned umax(unsigned a, unsigned b)
{
    return max(a, b);
}
inline long long llmin(long long a, long long b)
{
    return min(a, b);
}
inline long long llmax(long long a, long long b)
{
    return max(a, b);
}
inline unsigned long long ullmin(unsigned long long a, unsigned long long b)
{
    return min(a, b);
}
inline unsigned long long ullmax(unsigned long long a, unsigned long long b)
{
    return max(a, b);
}

#define GSHMEM_CPU_LOAD(NAME)                             \
    template <class Type> inline Type NAME(const Type *p) \
    {                                                     \
        return *p;                                        \
    }
#define GSHMEM_CPU_STORE(NAME)                              \
    template <class Type> inline void NAME(Type *p, Type v) \
    {                                                       \
        *p = v;                                             \
    }
GSHMEM_CPU_LOAD(__ldg)
GSHMEM_CPU_LOAD(__ldcg)
GSHMEM_CPU_LOAD(__ldca)
GSHMEM_CPU_LOAD(__ldcs)
GSHMEM_CPU_LOAD(__ldlu)
GSHMEM_CPU_LOAD(__ldcv)
GSHMEM_CPU_STORE(__stwb)
GSHMEM_CPU_STORE(__stcg)
GSHMEM_CPU_STORE(__stcs)
GSHMEM_CPU_STORE(__stwt)
#undef GSHMEM_CPU_LOAD
#undef GSHMEM_CPU_STORE

[[noreturn]] inline void __trap()
{
    abort();
}

#endif
