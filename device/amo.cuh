/* SPDX-License-Identifier: Apache-2.0
 * Remote atomics on words of 4 and 8 bytes: relaxed, at system scope, atomic with every other
 * gshmem atomic on the word, by any route. The type determines the operation's width; float and
 * double travel as bits. */
#ifndef GSHMEM_AMO_CUH
#define GSHMEM_AMO_CUH

#include "address.cuh"
#include "far.cuh"

namespace gshmem
{

namespace detail
{

/* Performs the operation on a mapped word. Returns the value before if it fetches, else 0. */
template <gsh_amo_op op, bool is_fetch, class Word>
__device__ __forceinline__ Word amo_mapped(Word *w, Word operand, Word cond)
{
    (void)operand, (void)cond;
    if constexpr (op == GSH_AMO_FETCH)
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
    static_assert(sizeof(Type) == 4 || sizeof(Type) == 8, "atomics are on words of 4 and 8 bytes");
    typedef word<Type> Word;
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
        return detail::amo<GSH_AMO_##NAME, true>(                                                 \
            c, dest, detail::bit_cast<detail::word<Type>>(value), 0, pe, call);                   \
    }                                                                                             \
    template <class Type, class Context>                                                          \
    __device__ __forceinline__ void atomic_##OP(const Context &c, Type *dest, Type value, int pe, \
                                                const char *call = "gshmem::atomic_" #OP)         \
    {                                                                                             \
        (void)detail::amo<GSH_AMO_##NAME, false>(                                                 \
            c, dest, detail::bit_cast<detail::word<Type>>(value), 0, pe, call);                   \
    }
GSHMEM_AMO(add, ADD)
GSHMEM_AMO(and, AND)
GSHMEM_AMO(or, OR)
GSHMEM_AMO(xor, XOR)
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
