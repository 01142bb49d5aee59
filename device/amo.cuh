/* SPDX-License-Identifier: Apache-2.0
 * Remote atomics on words of 4 and 8 bytes, and on halves: relaxed, at system scope, atomic with
 * every other gshmem atomic on the word, by any route. The type determines the operation's width;
 * half, float and double travel as bits. A half is changed by compare and swap of the word that
 * holds it, since GPUs have few operations on 2 bytes. */
#ifndef GSHMEM_AMO_CUH
#define GSHMEM_AMO_CUH

#include "address.cuh"
#include "group.cuh"
#include "trace.cuh"
#include "far.cuh"
#include "../wire/half.h"

namespace gshmem
{

namespace detail
{

/* The numbers whose sum is not that of their bits. */
template <class Type> inline constexpr bool is_floating = false;
template <> inline constexpr bool is_floating<float> = true;
template <> inline constexpr bool is_floating<double> = true;
template <> inline constexpr bool is_floating<gshmem_half_t> = true;
template <class Type>
constexpr gsh_amo_op add_of = is_floating<Type> ? GSH_AMO_FLOAT_ADD : GSH_AMO_ADD;

/* By way of floats: they hold more than twice a half's digits, so the sum is rounded once. */
__device__ __forceinline__ uint16_t add_halves(uint16_t a, uint16_t b)
{
#if defined(__CUDACC__)
    return bit_cast<uint16_t>(
        __float2half_rn(__half2float(bit_cast<__half>(a)) + __half2float(bit_cast<__half>(b))));
#else
    return gsh_half_sum(a, b);
#endif
}

/* FETCH, SET, SWAP or FLOAT_ADD on a mapped half; returns the value before. */
template <gsh_amo_op op> __device__ __forceinline__ uint16_t amo_half(uint16_t *p, uint16_t operand)
{
    const uintptr_t at = reinterpret_cast<uintptr_t>(p);
    uint32_t *const w = reinterpret_cast<uint32_t *>(at & ~(uintptr_t)3);
    const unsigned shift = (unsigned)(at & 2) * 8;
    uint32_t seen = atomic_load(w);
    for (;;) {
        const uint16_t before = (uint16_t)(seen >> shift);
        if (op == GSH_AMO_FETCH)
            return before;
        const uint32_t after = op == GSH_AMO_FLOAT_ADD ? add_halves(before, operand) : operand;
        const uint32_t found =
            atomic_compare_swap(w, seen, (seen & ~(0xffffu << shift)) | after << shift);
        if (found == seen)
            return before;
        seen = found;
    }
}

/* Performs the operation on a mapped word. Returns the value before if it fetches, else 0. */
template <gsh_amo_op op, bool is_fetch, class Word>
__device__ __forceinline__ Word amo_mapped(Word *w, Word operand, Word cond)
{
    (void)operand, (void)cond;
    if constexpr (sizeof(Word) == 2)
        return amo_half<op>(w, operand);
    else if constexpr (op == GSH_AMO_FLOAT_ADD && is_fetch)
        return atomic_float_add(w, operand);
    else if constexpr (op == GSH_AMO_FLOAT_ADD)
        reduce_float_add(w, operand);
    else if constexpr (op == GSH_AMO_FETCH)
        return atomic_load(w);
    else if constexpr (op == GSH_AMO_SWAP)
        return atomic_exch(w, operand);
    else if constexpr (op == GSH_AMO_CSWAP)
        return atomic_compare_swap(w, cond, operand);
    else if constexpr (op == GSH_AMO_ADD && is_fetch)
        return atomic_add(w, operand);
    else if constexpr (op == GSH_AMO_AND && is_fetch)
        return atomic_and(w, operand);
    else if constexpr (op == GSH_AMO_OR && is_fetch)
        return atomic_or(w, operand);
    else if constexpr (op == GSH_AMO_XOR && is_fetch)
        return atomic_xor(w, operand);
    else if constexpr (op == GSH_AMO_ADD)
        reduce_add(w, operand);
    else if constexpr (op == GSH_AMO_AND)
        reduce_and(w, operand);
    else if constexpr (op == GSH_AMO_OR)
        reduce_or(w, operand);
    else if constexpr (op == GSH_AMO_XOR)
        reduce_xor(w, operand);
    else
        store_relaxed_word(w, operand);
    return 0;
}

/* The same for a peer outside the run. */
template <gsh_amo_op op, bool is_fetch, class Word, class Context>
__device__ GSHMEM_NOINLINE_BODY Word amo_elsewhere(const Context &c, Word *w, Word operand,
                                                   Word cond, int pe, const char *call)
{
    return route(
        c, w, pe, [&](Word *mapped) { return amo_mapped<op, is_fetch>(mapped, operand, cond); },
        [&] { return (Word)far_amo(c, op, w, sizeof(Word), operand, cond, is_fetch, pe, call); });
}

template <gsh_amo_op op, bool is_fetch, class Type, class Context>
__device__ __forceinline__ Type amo(const Context &c, const Type *symmetric, word<Type> operand,
                                    word<Type> cond, int pe, const char *call)
{
    static_assert(sizeof(Type) == 4 || sizeof(Type) == 8 || is_floating<Type>,
                  "atomics are on words of 4 and 8 bytes");
    typedef word<Type> Word;
    GSHMEM_TRACED_WORD(c, group_thread(), call, pe, sizeof(Type), symmetric,
                       op == GSH_AMO_FETCH ? nullptr : symmetric,
                       op == GSH_AMO_SET || op == GSH_AMO_SWAP ? GSH_TRACE_EVENT_SET
                       : op == GSH_AMO_ADD                     ? GSH_TRACE_EVENT_ADD
                                                               : GSH_TRACE_EVENT_CHANGE,
                       operand);
    check_words(c, call, symmetric, 1, pe);
    Word *w = reinterpret_cast<Word *>(const_cast<Type *>(symmetric));
    return bit_cast<Type>(route_word(
        c, w, pe, [&](Word *mapped) { return amo_mapped<op, is_fetch>(mapped, operand, cond); },
        [&] {
            return call_noinline<amo_elsewhere<op, is_fetch, Word, Context>>(c, w, operand, cond,
                                                                             pe, call);
        }));
}

} // namespace detail

template <class Type, class Context>
__device__ __forceinline__ Type atomic_fetch(const Context &c, const Type *source, int pe,
                                             const char *call = "gshmem::atomic_fetch")
{
    return detail::seen(source, detail::amo<GSH_AMO_FETCH, true>(c, source, 0, 0, pe, call));
}

template <class Type, class Context>
__device__ __forceinline__ void atomic_set(const Context &c, Type *dest, Type value, int pe,
                                           const char *call = "gshmem::atomic_set")
{
    (void)detail::amo<GSH_AMO_SET, false>(c, dest, detail::bit_cast<detail::word<Type>>(value), 0,
                                          pe, call);
}

template <class Type, class Context>
__device__ __forceinline__ Type atomic_swap(const Context &c, Type *dest, Type value, int pe,
                                            const char *call = "gshmem::atomic_swap")
{
    typedef detail::word<Type> Word;
    return detail::seen(
        dest, detail::amo<GSH_AMO_SWAP, true>(c, dest, detail::bit_cast<Word>(value), 0, pe, call));
}

template <class Type, class Context>
__device__ __forceinline__ Type
atomic_compare_swap(const Context &c, Type *dest, Type cond, Type value, int pe,
                    const char *call = "gshmem::atomic_compare_swap")
{
    typedef detail::word<Type> Word;
    return detail::seen(dest,
                        detail::amo<GSH_AMO_CSWAP, true>(c, dest, detail::bit_cast<Word>(value),
                                                         detail::bit_cast<Word>(cond), pe, call));
}

#define GSHMEM_AMO(OP, NAME)                                                                      \
    template <class Type, class Context>                                                          \
    __device__ __forceinline__ Type atomic_fetch_##OP(                                            \
        const Context &c, Type *dest, Type value, int pe,                                         \
        const char *call = "gshmem::atomic_fetch_" #OP)                                           \
    {                                                                                             \
        return detail::amo<NAME, true>(c, dest, detail::bit_cast<detail::word<Type>>(value), 0,   \
                                       pe, call);                                                 \
    }                                                                                             \
    template <class Type, class Context>                                                          \
    __device__ __forceinline__ void atomic_##OP(const Context &c, Type *dest, Type value, int pe, \
                                                const char *call = "gshmem::atomic_" #OP)         \
    {                                                                                             \
        (void)detail::amo<NAME, false>(c, dest, detail::bit_cast<detail::word<Type>>(value), 0,   \
                                       pe, call);                                                 \
    }
GSHMEM_AMO(add, detail::add_of<Type>)
GSHMEM_AMO(and, GSH_AMO_AND)
GSHMEM_AMO(or, GSH_AMO_OR)
GSHMEM_AMO(xor, GSH_AMO_XOR)
#undef GSHMEM_AMO

template <class Type, class Context>
__device__ __forceinline__ Type atomic_fetch_inc(const Context &c, Type *dest, int pe,
                                                 const char *call = "gshmem::atomic_fetch_inc")
{
    return atomic_fetch_add(c, dest, (Type)1, pe, call);
}

template <class Type, class Context>
__device__ __forceinline__ void atomic_inc(const Context &c, Type *dest, int pe,
                                           const char *call = "gshmem::atomic_inc")
{
    atomic_add(c, dest, (Type)1, pe, call);
}

} // namespace gshmem

#endif
