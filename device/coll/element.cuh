/* SPDX-License-Identifier: Apache-2.0
 * What reductions compute with: operations, and the type in which a sequence of elements of another
 * type is accumulated. half, bfloat16 and the 8-bit floating-point numbers are converted to float,
 * and rounded back once, to the nearest even value, after all members' elements have been added;
 * gshmem/detail/float8.h says what happens to values that 8 bits cannot hold. */
#ifndef GSHMEM_ELEMENT_CUH
#define GSHMEM_ELEMENT_CUH

#include <type_traits>
#include "../memory.cuh"
#include "gshmem/detail/float8.h"
#include "gshmem/types.h"
#include "../../wire/coll.h"

namespace gshmem
{

/* An element of these types as the collectives see it, regardless of the user's type name. */
struct half_bits {
    uint16_t bits;
};
struct bfloat16_bits {
    uint16_t bits;
};
struct e4m3_bits {
    uint8_t bits;
};
struct e5m2_bits {
    uint8_t bits;
};

/* Elements that are only bits. */
struct raw_bits {
    uint8_t bits;
};
template <class Type> struct complex_of {
    Type re, im;
};

template <class Type>
__device__ __forceinline__ complex_of<Type> operator*(complex_of<Type> a, complex_of<Type> b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* What an operation requires of elements. */
enum class domain {
    bits,    /* and, or, xor */
    modular, /* sum, prod: integers wrap, signed ones as unsigned ones, whose overflow is defined */
    ordered, /* min, max */
};

namespace detail
{
template <int bytes, bool is_signed> struct integer_of;
#define GSHMEM_INTEGER(BYTES, BITS)               \
    template <> struct integer_of<BYTES, true> {  \
        typedef int##BITS##_t type;               \
    };                                            \
    template <> struct integer_of<BYTES, false> { \
        typedef uint##BITS##_t type;              \
    };
GSHMEM_INTEGER(1, 8)
GSHMEM_INTEGER(2, 16)
GSHMEM_INTEGER(4, 32)
GSHMEM_INTEGER(8, 64)
#undef GSHMEM_INTEGER
} // namespace detail

/* The type that represents a C type in a reduction, and how many of it make one element: a few
 * types compute for all. */
template <class Type, domain of> struct compute {
    typedef typename detail::integer_of<sizeof(Type),
                                        of == domain::ordered && (Type(-1) < Type(0))>::type type;
    static constexpr size_t count = 1;
};
template <class Type> struct compute<Type, domain::bits> {
    typedef raw_bits type;
    static constexpr size_t count = sizeof(Type);
};
#define GSHMEM_COMPUTE(T, TYPE)                      \
    template <> struct compute<T, domain::modular> { \
        typedef TYPE type;                           \
        static constexpr size_t count = 1;           \
    };                                               \
    template <> struct compute<T, domain::ordered> { \
        typedef TYPE type;                           \
        static constexpr size_t count = 1;           \
    };
GSHMEM_COMPUTE(gshmem_half_t, half_bits)
GSHMEM_COMPUTE(gshmem_bfloat16_t, bfloat16_bits)
GSHMEM_COMPUTE(half_bits, half_bits)
GSHMEM_COMPUTE(bfloat16_bits, bfloat16_bits)
GSHMEM_COMPUTE(e4m3_bits, e4m3_bits)
GSHMEM_COMPUTE(e5m2_bits, e5m2_bits)
GSHMEM_COMPUTE(float, float)
GSHMEM_COMPUTE(double, double)
#if !defined(__CUDACC__)
GSHMEM_COMPUTE(long double, long double)
#endif
GSHMEM_COMPUTE(complex_of<float>, complex_of<float>)
GSHMEM_COMPUTE(complex_of<double>, complex_of<double>)
#undef GSHMEM_COMPUTE
template <> struct compute<raw_bits, domain::bits> {
    typedef raw_bits type;
    static constexpr size_t count = 1;
};

namespace detail
{
template <class Type> constexpr gsh_element integer_element()
{
    const int of_bytes = sizeof(Type) == 1 ? 0 : sizeof(Type) == 2 ? 1 : sizeof(Type) == 4 ? 2 : 3;
    const bool is_signed = static_cast<Type>(-1) < static_cast<Type>(0);
    return (gsh_element)((is_signed ? GSH_ELEMENT_i8 : GSH_ELEMENT_u8) + of_bytes);
}

/* The number of a C type; bits for one that no reduction knows. */
template <class Type> struct element_of {
    static constexpr gsh_element is = GSH_ELEMENT_bits;
};
#define GSHMEM_ELEMENT(T, NUMBER)                 \
    template <> struct element_of<T> {            \
        static constexpr gsh_element is = NUMBER; \
    };
#define GSHMEM_INTEGER(T) GSHMEM_ELEMENT(T, integer_element<T>())
GSHMEM_INTEGER(char)
GSHMEM_INTEGER(signed char)
GSHMEM_INTEGER(short)
GSHMEM_INTEGER(int)
GSHMEM_INTEGER(long)
GSHMEM_INTEGER(long long)
GSHMEM_INTEGER(unsigned char)
GSHMEM_INTEGER(unsigned short)
GSHMEM_INTEGER(unsigned int)
GSHMEM_INTEGER(unsigned long)
GSHMEM_INTEGER(unsigned long long)
GSHMEM_ELEMENT(gshmem_half_t, GSH_ELEMENT_half)
GSHMEM_ELEMENT(gshmem_bfloat16_t, GSH_ELEMENT_bfloat16)
GSHMEM_ELEMENT(half_bits, GSH_ELEMENT_half)
GSHMEM_ELEMENT(bfloat16_bits, GSH_ELEMENT_bfloat16)
GSHMEM_ELEMENT(e4m3_bits, GSH_ELEMENT_e4m3)
GSHMEM_ELEMENT(e5m2_bits, GSH_ELEMENT_e5m2)
GSHMEM_ELEMENT(float, GSH_ELEMENT_float)
GSHMEM_ELEMENT(double, GSH_ELEMENT_double)
GSHMEM_ELEMENT(long double, GSH_ELEMENT_longdouble)
GSHMEM_ELEMENT(complex_of<float>, GSH_ELEMENT_complexf)
GSHMEM_ELEMENT(complex_of<double>, GSH_ELEMENT_complexd)
#undef GSHMEM_INTEGER
#undef GSHMEM_ELEMENT

/* ---- half and bfloat16 ----------------------------------------------------------------------- */

__device__ __forceinline__ float to_float(bfloat16_bits x)
{
    return bit_cast<float>((uint32_t)x.bits << 16);
}

__device__ __forceinline__ bfloat16_bits to_bfloat16(float x)
{
    uint32_t bits = bit_cast<uint32_t>(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) /* NaN, and must stay NaN */
        return {(uint16_t)(bits >> 16 | 0x40u)};
    return {(uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

#if defined(__CUDACC__)
__device__ __forceinline__ float to_float(half_bits x)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x.bits));
    return f;
}

__device__ __forceinline__ half_bits to_half(float x)
{
    half_bits h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(x));
    return h;
}
#else
inline float to_float(half_bits x)
{
    uint32_t sign = (uint32_t)(x.bits & 0x8000u) << 16, rest = x.bits & 0x7fffu;
    if (rest >= 0x7c00u) /* infinity or NaN */
        return bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest < 0x400u) /* zero or subnormal: a multiple of 2^-24 */
        return bit_cast<float>(sign | bit_cast<uint32_t>((float)rest * 0x1p-24f));
    return bit_cast<float>(sign | ((rest << 13) + ((127u - 15u) << 23)));
}

inline half_bits to_half(float x)
{
    uint32_t bits = bit_cast<uint32_t>(x), rest = bits & 0x7fffffffu;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    if (rest > 0x7f800000u)
        return {(uint16_t)(sign | 0x7e00u)};
    if (rest >= 0x477ff000u) /* rounds to a value out of range */
        return {(uint16_t)(sign | 0x7c00u)};
    if (rest < 0x38800000u) { /* subnormal: the addition rounds to a multiple of 2^-24 */
        float sum = bit_cast<float>(rest) + 0.5f;
        return {(uint16_t)(sign | (uint16_t)(bit_cast<uint32_t>(sum) - 0x3f000000u))};
    }
    rest += 0xfffu + (rest >> 13 & 1u);
    return {(uint16_t)(sign | (uint16_t)((rest - ((127u - 15u) << 23)) >> 13))};
}
#endif

/* ---- accumulation ---------------------------------------------------------------------------- */

/* The type in which elements of Type are added up. */
template <class Type> struct accumulator {
    typedef Type type;
    static __device__ __forceinline__ Type open(Type x) { return x; }
    static __device__ __forceinline__ Type close(Type x) { return x; }
};
template <> struct accumulator<half_bits> {
    typedef float type;
    static __device__ __forceinline__ float open(half_bits x) { return to_float(x); }
    static __device__ __forceinline__ half_bits close(float x) { return to_half(x); }
};
template <class Bits, class Format> struct float8_accumulator {
    typedef float type;
    static __device__ __forceinline__ float open(Bits x)
    {
        return float8_detail::to_float<Format>(x.bits);
    }
    static __device__ __forceinline__ Bits close(float x)
    {
        return {float8_detail::from_float<Format>(x)};
    }
};
template <> struct accumulator<e4m3_bits> : float8_accumulator<e4m3_bits, float8_detail::e4m3> {
};
template <> struct accumulator<e5m2_bits> : float8_accumulator<e5m2_bits, float8_detail::e5m2> {
};
template <> struct accumulator<raw_bits> {
    typedef uint8_t type;
    static __device__ __forceinline__ uint8_t open(raw_bits x) { return x.bits; }
    static __device__ __forceinline__ raw_bits close(uint8_t x) { return {x}; }
};
template <> struct accumulator<bfloat16_bits> {
    typedef float type;
    static __device__ __forceinline__ float open(bfloat16_bits x) { return to_float(x); }
    static __device__ __forceinline__ bfloat16_bits close(float x) { return to_bfloat16(x); }
};

/* sizeof(Unit) bytes of elements, where Unit is a word or vector, added up element by element. */
template <class Type, class Unit> struct sum_of {
    static constexpr int n = sizeof(Unit) / sizeof(Type);
    typedef accumulator<Type> Accumulator;
    struct elements {
        Type e[n];
    };
    typename Accumulator::type value[n];

    __device__ __forceinline__ void open(Unit v)
    {
        elements of = bit_cast<elements>(v);
        GSHMEM_UNROLL
        for (int i = 0; i < n; i++)
            value[i] = Accumulator::open(of.e[i]);
    }
    template <class Op> __device__ __forceinline__ void add(Unit v)
    {
        elements of = bit_cast<elements>(v);
        GSHMEM_UNROLL
        for (int i = 0; i < n; i++)
            value[i] = Op::of(value[i], Accumulator::open(of.e[i]));
    }
    __device__ __forceinline__ Unit close() const
    {
        elements of;
        GSHMEM_UNROLL
        for (int i = 0; i < n; i++)
            of.e[i] = Accumulator::close(value[i]);
        return bit_cast<Unit>(of);
    }
};

/* The same for bits, word by word, for elements of any type. */
template <class Unit> struct sum_of<raw_bits, Unit> {
    typedef typename integer_of<sizeof(Unit) < 8 ? sizeof(Unit) : 8, false>::type piece;
    static constexpr int n = sizeof(Unit) / sizeof(piece);
    struct pieces {
        piece e[n];
    } value;

    __device__ __forceinline__ void open(Unit v) { value = bit_cast<pieces>(v); }
    template <class Op> __device__ __forceinline__ void add(Unit v)
    {
        pieces of = bit_cast<pieces>(v);
        GSHMEM_UNROLL
        for (int i = 0; i < n; i++)
            value.e[i] = Op::of(value.e[i], of.e[i]);
    }
    __device__ __forceinline__ Unit close() const { return bit_cast<Unit>(value); }
};

/* ---- elements in memory ---------------------------------------------------------------------- */

/* An element that cannot be part of a vector: by an access that its alignment allows. */
template <class Type> struct tail_word_of {
    typedef word<Type> type;
};
template <class Type> struct tail_word_of<complex_of<Type>> {
    typedef complex_of<Type> type;
};
#if !defined(__CUDACC__)
template <> struct tail_word_of<long double> {
    typedef long double type;
};
#endif
template <class Type> using tail_word = typename tail_word_of<Type>::type;

template <class Unit> __device__ __forceinline__ Unit load_element(const Unit *p)
{
    return load_plain(p);
}
template <class Type>
__device__ __forceinline__ complex_of<Type> load_element(const complex_of<Type> *p)
{
    return {load_plain(&p->re), load_plain(&p->im)};
}

/* From another member's memory: not from this multiprocessor's cache, which may hold an old
 * copy. */
template <class Unit> __device__ __forceinline__ Unit load_fresh(const Unit *p)
{
    if constexpr (is_cpu_device)
        return load_plain(p);
    else
        return load_relaxed_word(p);
}
template <class Type>
__device__ __forceinline__ complex_of<Type> load_fresh(const complex_of<Type> *p)
{
    return {bit_cast<Type>(load_fresh(reinterpret_cast<const word<Type> *>(&p->re))),
            bit_cast<Type>(load_fresh(reinterpret_cast<const word<Type> *>(&p->im)))};
}

template <class Unit> __device__ __forceinline__ void store_element(Unit *p, Unit v)
{
    store_plain(p, v);
}
template <class Type>
__device__ __forceinline__ void store_element(complex_of<Type> *p, complex_of<Type> v)
{
    store_plain(&p->re, v.re);
    store_plain(&p->im, v.im);
}

/* Into another member's memory. */
template <class Unit> __device__ __forceinline__ void store_out(Unit *p, Unit v)
{
    if constexpr (sizeof(Unit) <= 8)
        store_global(reinterpret_cast<word<Unit> *>(p), bit_cast<word<Unit>>(v));
    else
        store_global(p, v);
}
template <class Type>
__device__ __forceinline__ void store_out(complex_of<Type> *p, complex_of<Type> v)
{
    store_element(p, v);
}

/* ---- operations ------------------------------------------------------------------------------ */

/* Of two numbers; NaN if either is NaN, whichever comes first. */
template <class Type> __device__ __forceinline__ Type lesser(Type a, Type b)
{
    if constexpr (std::is_integral<Type>::value)
        return b < a ? b : a;
    else
        return b < a || b != b ? b : a;
}
template <class Type> __device__ __forceinline__ Type greater(Type a, Type b)
{
    if constexpr (std::is_integral<Type>::value)
        return a < b ? b : a;
    else
        return a < b || b != b ? b : a;
}

/* One instruction, for float and all that is accumulated in it. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__device__ __forceinline__ float lesser(float a, float b)
{
    float c;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}
__device__ __forceinline__ float greater(float a, float b)
{
    float c;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}
#endif

} // namespace detail

#define GSHMEM_OPERATION(NAME, DOMAIN, EXPRESSION)                                      \
    struct op_##NAME {                                                                  \
        static constexpr int number = GSH_REDUCE_##NAME;                                \
        static constexpr domain works_on = domain::DOMAIN;                              \
        template <class Type> static __device__ __forceinline__ Type of(Type a, Type b) \
        {                                                                               \
            return (Type)(EXPRESSION);                                                  \
        }                                                                               \
    };
GSHMEM_OPERATION(and, bits, a &b)
GSHMEM_OPERATION(or, bits, a | b)
GSHMEM_OPERATION(xor, bits, a ^ b)
GSHMEM_OPERATION(min, ordered, detail::lesser(a, b))
GSHMEM_OPERATION(max, ordered, detail::greater(a, b))
GSHMEM_OPERATION(sum, modular, a + b)
#undef GSHMEM_OPERATION
struct op_prod {
    static constexpr int number = GSH_REDUCE_prod;
    static constexpr domain works_on = domain::modular;
    template <class Type> static __device__ __forceinline__ Type of(Type a, Type b)
    {
        return a * b;
    }
    /* as unsigned: short ones would become int */
    static __device__ __forceinline__ uint16_t of(uint16_t a, uint16_t b)
    {
        return (uint16_t)(1u * a * b);
    }
    static __device__ __forceinline__ uint8_t of(uint8_t a, uint8_t b)
    {
        return (uint8_t)(1u * a * b);
    }
};

} // namespace gshmem

#endif
