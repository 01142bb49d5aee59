/* SPDX-License-Identifier: Apache-2.0
 * How the elements in a line are computed with; operation and type are chosen when the kernel runs,
 * once for a thread's part of a line, so one kernel has all of them. The order and the rounding are
 * those of element.cuh: half, bfloat16 and the 8-bit floating-point numbers are added up as float
 * and rounded once. */
#ifndef GSHMEM_COLL_FOLD_CUH
#define GSHMEM_COLL_FOLD_CUH

#include "element.cuh"
#include "team.cuh"
#include "../../wire/lines.h"

namespace gshmem
{
namespace detail
{

/* A thread's part of a line: words of 8 bytes. */
#if defined(__CUDACC__)
constexpr uint32_t line_threads = GSH_LINE_THREADS, part_words = 2;
#else
constexpr uint32_t line_threads = 1, part_words = GSH_LINE_BYTES_CPU / 8;
#endif
struct line_part {
    uint64_t word[part_words];
};

/* Its elements while they are computed with: the words as they are, or floats, of which a word has
 * at most 8. */
struct line_terms {
    uint32_t bits[8 * part_words];
};

/* How many floats the terms have. */
__device__ __forceinline__ uint32_t n_floats_of(uint32_t element)
{
    return element == GSH_ELEMENT_half || element == GSH_ELEMENT_bfloat16 ? 4 * part_words
           : element == GSH_ELEMENT_e4m3 || element == GSH_ELEMENT_e5m2   ? 8 * part_words
                                                                          : 2 * part_words;
}

template <class Type> struct elements_of_word {
    Type e[8 / sizeof(Type)];
};

__device__ __forceinline__ uint64_t word_at(const line_terms &t, uint32_t w)
{
    return t.bits[2 * w] | (uint64_t)t.bits[2 * w + 1] << 32;
}
__device__ __forceinline__ void set_word(line_terms &t, uint32_t w, uint64_t v)
{
    t.bits[2 * w] = (uint32_t)v;
    t.bits[2 * w + 1] = (uint32_t)(v >> 32);
}

/* f(element's type, its number) for the elements of a thread's part. */
template <class Type, class Function>
__device__ __forceinline__ void with_elements(const line_part &p, Function f)
{
    constexpr uint32_t each = 8 / sizeof(Type);
    GSHMEM_UNROLL
    for (uint32_t w = 0; w < part_words; w++) {
        const auto of = bit_cast<elements_of_word<Type>>(p.word[w]);
        GSHMEM_UNROLL
        for (uint32_t i = 0; i < each; i++)
            f(of.e[i], w * each + i);
    }
}

template <class Type> __device__ __forceinline__ void open_floats(line_terms &t, const line_part &p)
{
    with_elements<Type>(
        p, [&](Type x, uint32_t i) { t.bits[i] = bit_cast<uint32_t>(accumulator<Type>::open(x)); });
}
template <class Type>
__device__ __forceinline__ void close_floats(line_part &p, const line_terms &t)
{
    constexpr uint32_t each = 8 / sizeof(Type);
    GSHMEM_UNROLL
    for (uint32_t w = 0; w < part_words; w++) {
        elements_of_word<Type> of;
        GSHMEM_UNROLL
        for (uint32_t i = 0; i < each; i++)
            of.e[i] = accumulator<Type>::close(bit_cast<float>(t.bits[w * each + i]));
        p.word[w] = bit_cast<uint64_t>(of);
    }
}

/* What is rare or long is in functions of its own, which find their arguments in memory. */
template <class Type>
__device__ GSHMEM_NOINLINE void open_floats_called(line_terms *t, const line_part *p)
{
    open_floats<Type>(*t, *p);
}
template <class Type>
__device__ GSHMEM_NOINLINE void close_floats_called(line_part *p, const line_terms *t)
{
    close_floats<Type>(*p, *t);
}
template <class Function> __device__ __forceinline__ line_terms terms_from(Function call)
{
    line_terms t;
    call(&t);
    return t;
}

/* What a kernel can compute: everything, or only sums of float, half and bfloat16, in a fraction of
 * the code. A launch takes the time to fetch code that it runs through. */
enum class arithmetic { any, float_sums };

template <arithmetic of>
__device__ __forceinline__ line_terms open_part(uint32_t element, const line_part &p)
{
    line_terms t = {};
    if constexpr (of == arithmetic::float_sums) {
        if (element == GSH_ELEMENT_half) {
            open_floats<half_bits>(t, p);
        } else if (element == GSH_ELEMENT_bfloat16) {
            open_floats<bfloat16_bits>(t, p);
        } else {
            GSHMEM_UNROLL
            for (uint32_t w = 0; w < part_words; w++)
                set_word(t, w, p.word[w]);
        }
        return t;
    }
    switch (element) {
    case GSH_ELEMENT_half:
        open_floats<half_bits>(t, p);
        break;
    case GSH_ELEMENT_bfloat16:
        open_floats<bfloat16_bits>(t, p);
        break;
    case GSH_ELEMENT_e4m3: {
        const line_part copy = p;
        t = terms_from([&](line_terms *to) { open_floats_called<e4m3_bits>(to, &copy); });
        break;
    }
    case GSH_ELEMENT_e5m2: {
        const line_part copy = p;
        t = terms_from([&](line_terms *to) { open_floats_called<e5m2_bits>(to, &copy); });
        break;
    }
    default:
        GSHMEM_UNROLL
        for (uint32_t w = 0; w < part_words; w++)
            set_word(t, w, p.word[w]);
    }
    return t;
}

template <arithmetic of>
__device__ __forceinline__ line_part close_part(uint32_t element, const line_terms &t)
{
    line_part p = {};
    if constexpr (of == arithmetic::float_sums) {
        if (element == GSH_ELEMENT_half) {
            close_floats<half_bits>(p, t);
        } else if (element == GSH_ELEMENT_bfloat16) {
            close_floats<bfloat16_bits>(p, t);
        } else {
            GSHMEM_UNROLL
            for (uint32_t w = 0; w < part_words; w++)
                p.word[w] = word_at(t, w);
        }
        return p;
    }
    switch (element) {
    case GSH_ELEMENT_half:
        close_floats<half_bits>(p, t);
        break;
    case GSH_ELEMENT_bfloat16:
        close_floats<bfloat16_bits>(p, t);
        break;
    case GSH_ELEMENT_e4m3: {
        const line_terms copy = t;
        line_part to;
        close_floats_called<e4m3_bits>(&to, &copy);
        p = to;
        break;
    }
    case GSH_ELEMENT_e5m2: {
        const line_terms copy = t;
        line_part to;
        close_floats_called<e5m2_bits>(&to, &copy);
        p = to;
        break;
    }
    default:
        GSHMEM_UNROLL
        for (uint32_t w = 0; w < part_words; w++)
            p.word[w] = word_at(t, w);
    }
    return p;
}

template <class Op, uint32_t begin, uint32_t end>
__device__ __forceinline__ void fold_floats(line_terms &sum, const line_terms &t)
{
    GSHMEM_UNROLL
    for (uint32_t i = begin; i < end; i++)
        sum.bits[i] =
            bit_cast<uint32_t>(Op::of(bit_cast<float>(sum.bits[i]), bit_cast<float>(t.bits[i])));
}

template <class Op, class Type> struct fold_terms {
    static __device__ __forceinline__ void of(uint32_t, line_terms &sum, const line_terms &t)
    {
        GSHMEM_UNROLL
        for (uint32_t w = 0; w < part_words; w++) {
            sum_of<Type, uint64_t> s;
            s.open(word_at(sum, w));
            s.template add<Op>(word_at(t, w));
            set_word(sum, w, s.close());
        }
    }
};
template <class Op> struct fold_terms<Op, float> {
    static __device__ __forceinline__ void of(uint32_t n, line_terms &sum, const line_terms &t)
    {
        /* in loops of fixed length */
        fold_floats<Op, 0, 2 * part_words>(sum, t);
        if (n > 2 * part_words)
            fold_floats<Op, 2 * part_words, 4 * part_words>(sum, t);
        if (n > 4 * part_words)
            fold_floats<Op, 4 * part_words, 8 * part_words>(sum, t);
    }
};

/* sum becomes sum OP t. */
template <arithmetic of>
__device__ __forceinline__ void fold(uint32_t how, uint32_t element, line_terms &sum,
                                     const line_terms &t)
{
    const uint32_t n = n_floats_of(element);
    if constexpr (of == arithmetic::float_sums) {
        fold_floats<op_sum, 0, 2 * part_words>(sum, t);
        if (n > 2 * part_words)
            fold_floats<op_sum, 2 * part_words, 4 * part_words>(sum, t);
        return;
    }
    switch (how) {
#define ROW(OP, NAME, TYPE)                       \
    case GSH_LINES_FOLD_##OP##_##NAME:            \
        fold_terms<op_##OP, TYPE>::of(n, sum, t); \
        break;
        GSH_LINES_FOLDS(ROW)
#undef ROW
    default:
        break;
    }
}

/* ---- by a scalar ---- */

/* x * by is rounded before anything is added to it: no fused operation may take both, or members
 * would differ. */
__device__ __forceinline__ float multiplied(float x, float by)
{
#if defined(__CUDACC__)
    return __fmul_rn(x, by);
#else
    volatile float product = x * by;
    return product;
#endif
}
__device__ __forceinline__ double multiplied(double x, double by)
{
#if defined(__CUDACC__)
    return __dmul_rn(x, by);
#else
    volatile double product = x * by;
    return product;
#endif
}

template <class Type> __device__ __forceinline__ Type scalar_of(uint64_t bits)
{
    return bit_cast<elements_of_word<Type>>(bits).e[0];
}

/* Each element of the words by f. */
template <class Type, class Function>
__device__ __forceinline__ void change_elements(line_part &p, Function f)
{
    GSHMEM_UNROLL
    for (uint32_t w = 0; w < part_words; w++) {
        auto of = bit_cast<elements_of_word<Type>>(p.word[w]);
        GSHMEM_UNROLL
        for (uint32_t i = 0; i < 8 / sizeof(Type); i++)
            of.e[i] = f(of.e[i]);
        p.word[w] = bit_cast<uint64_t>(of);
    }
}
template <class Type> __device__ __forceinline__ void multiply_floats(line_part &p, uint64_t scalar)
{
    typedef accumulator<Type> Float;
    const auto by = Float::open(scalar_of<Type>(scalar));
    change_elements<Type>(p, [=](Type x) { return Float::close(multiplied(Float::open(x), by)); });
}

#define GSHMEM_LINE_UNSIGNED(M) M(u8, uint8_t) M(u16, uint16_t) M(u32, uint32_t) M(u64, uint64_t)
#define GSHMEM_LINE_SIGNED(M)   M(i8, int8_t) M(i16, int16_t) M(i32, int32_t) M(i64, int64_t)

/* Of integers, whose bits in a signed product are those in an unsigned one, and 8-bit floats. */
__device__ GSHMEM_NOINLINE inline void multiply_part_called(uint32_t element, line_part *p,
                                                            uint64_t scalar)
{
    switch (element <= GSH_ELEMENT_i64 ? element + (GSH_ELEMENT_u8 - GSH_ELEMENT_i8) : element) {
#define ROW(NAME, TYPE)                                                                         \
    case GSH_ELEMENT_##NAME:                                                                    \
        change_elements<TYPE>(*p,                                                               \
                              [=](TYPE x) { return op_prod::of(x, scalar_of<TYPE>(scalar)); }); \
        break;
        GSHMEM_LINE_UNSIGNED(ROW)
#undef ROW
    case GSH_ELEMENT_e4m3:
        multiply_floats<e4m3_bits>(*p, scalar);
        break;
    case GSH_ELEMENT_e5m2:
        multiply_floats<e5m2_bits>(*p, scalar);
        break;
    default:
        break;
    }
}

/* The elements times the scalar, rounded to their type. */
template <arithmetic of>
__device__ __forceinline__ void multiply_part(uint32_t element, line_part &p, uint64_t scalar)
{
    if constexpr (of == arithmetic::float_sums) {
        if (element == GSH_ELEMENT_half)
            multiply_floats<half_bits>(p, scalar);
        else if (element == GSH_ELEMENT_bfloat16)
            multiply_floats<bfloat16_bits>(p, scalar);
        else
            multiply_floats<float>(p, scalar);
        return;
    }
    switch (element) {
    case GSH_ELEMENT_half:
        multiply_floats<half_bits>(p, scalar);
        break;
    case GSH_ELEMENT_bfloat16:
        multiply_floats<bfloat16_bits>(p, scalar);
        break;
    case GSH_ELEMENT_float:
        multiply_floats<float>(p, scalar);
        break;
    case GSH_ELEMENT_double:
        multiply_floats<double>(p, scalar);
        break;
    default: {
        line_part copy = p;
        multiply_part_called(element, &copy, scalar);
        p = copy;
    }
    }
}

template <class Type> __device__ __forceinline__ void divide_words(line_terms *t, uint64_t scalar)
{
    GSHMEM_NO_UNROLL
    for (uint32_t w = 0; w < part_words; w++) {
        uint64_t word = word_at(*t, w), quotients = 0;
        GSHMEM_NO_UNROLL
        for (uint32_t i = 0; i < 8 / sizeof(Type); i++) {
            const Type x =
                (Type)(scalar_of<Type>(word >> 8 * sizeof(Type) * i) / scalar_of<Type>(scalar));
            quotients |= (uint64_t)bit_cast<gshmem::detail::word<Type>>(x) << 8 * sizeof(Type) * i;
        }
        set_word(*t, w, quotients);
    }
}

/* Results divided by the scalar, before they are rounded. */
__device__ GSHMEM_NOINLINE inline void divide_terms_called(uint32_t element, line_terms *t,
                                                           uint64_t scalar)
{
    switch (element) {
#define ROW(NAME, TYPE)                \
    case GSH_ELEMENT_##NAME:           \
        divide_words<TYPE>(t, scalar); \
        return;
        GSHMEM_LINE_UNSIGNED(ROW)
        GSHMEM_LINE_SIGNED(ROW)
        ROW(double, double)
#undef ROW
    default:
        break;
    }
    float by = bit_cast<float>((uint32_t)scalar); /* of 8-bit numbers, too */
    if (element == GSH_ELEMENT_half)
        by = to_float(scalar_of<half_bits>(scalar));
    else if (element == GSH_ELEMENT_bfloat16)
        by = to_float(scalar_of<bfloat16_bits>(scalar));
    const uint32_t n = n_floats_of(element);
    GSHMEM_NO_UNROLL
    for (uint32_t i = 0; i < n; i++)
        t->bits[i] = bit_cast<uint32_t>(bit_cast<float>(t->bits[i]) / by);
}
__device__ __forceinline__ void divide_terms(uint32_t element, line_terms &t, uint64_t scalar)
{
    line_terms copy = t;
    divide_terms_called(element, &copy, scalar);
    t = copy;
}
#undef GSHMEM_LINE_UNSIGNED
#undef GSHMEM_LINE_SIGNED

} // namespace detail
} // namespace gshmem

#endif
