/* SPDX-License-Identifier: Apache-2.0
 * Remote atomics on words of 4 and 8 bytes: relaxed, at system scope, atomic with every other
 * gshmem atomic on the word. The operation's width is the type's; float and double travel as bits.
 */
#ifndef GSHMEM_AMO_CUH
#define GSHMEM_AMO_CUH

#include "device/address.cuh"

namespace gshmem
{

namespace detail
{

template <class T>
__device__ __forceinline__ word<T> *amo_word(const T *symmetric, int pe, const char *call)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics are on words of 4 and 8 bytes");
    check_words(call, symmetric, 1, pe);
    return reinterpret_cast<word<T> *>(peer_address(const_cast<T *>(symmetric), pe));
}

} // namespace detail

template <class T>
__device__ __forceinline__ T atomic_fetch(const T *source, int pe,
                                          const char *call = "gshmem::atomic_fetch")
{
    detail::poll_pause();
    return detail::bit_cast<T>(detail::atomic_load(detail::amo_word(source, pe, call)));
}

template <class T>
__device__ __forceinline__ void atomic_set(T *dest, T value, int pe,
                                           const char *call = "gshmem::atomic_set")
{
    detail::store_relaxed_word(detail::amo_word(dest, pe, call),
                               detail::bit_cast<detail::word<T>>(value));
}

template <class T>
__device__ __forceinline__ T atomic_swap(T *dest, T value, int pe,
                                         const char *call = "gshmem::atomic_swap")
{
    detail::poll_pause();
    return detail::bit_cast<T>(detail::atomic_exch(detail::amo_word(dest, pe, call),
                                                   detail::bit_cast<detail::word<T>>(value)));
}

template <class T>
__device__ __forceinline__ T atomic_compare_swap(T *dest, T cond, T value, int pe,
                                                 const char *call = "gshmem::atomic_compare_swap")
{
    typedef detail::word<T> W;
    detail::poll_pause();
    return detail::bit_cast<T>(detail::atomic_compare_swap(
        detail::amo_word(dest, pe, call), detail::bit_cast<W>(cond), detail::bit_cast<W>(value)));
}

#define GSHMEM_AMO(OP)                                                                             \
    template <class T>                                                                             \
    __device__ __forceinline__ T atomic_fetch_##OP(T *dest, T value, int pe,                       \
                                                   const char *call = "gshmem::atomic_fetch_" #OP) \
    {                                                                                              \
        return (T)detail::atomic_##OP(detail::amo_word(dest, pe, call), (detail::word<T>)value);   \
    }                                                                                              \
    template <class T>                                                                             \
    __device__ __forceinline__ void atomic_##OP(T *dest, T value, int pe,                          \
                                                const char *call = "gshmem::atomic_" #OP)          \
    {                                                                                              \
        detail::reduce_##OP(detail::amo_word(dest, pe, call), (detail::word<T>)value);             \
    }
GSHMEM_AMO(add)
GSHMEM_AMO(and)
GSHMEM_AMO(or)
GSHMEM_AMO(xor)
#undef GSHMEM_AMO

template <class T>
__device__ __forceinline__ T atomic_fetch_inc(T *dest, int pe,
                                              const char *call = "gshmem::atomic_fetch_inc")
{
    return atomic_fetch_add(dest, (T)1, pe, call);
}

template <class T>
__device__ __forceinline__ void atomic_inc(T *dest, int pe, const char *call = "gshmem::atomic_inc")
{
    atomic_add(dest, (T)1, pe, call);
}

} // namespace gshmem

#endif
