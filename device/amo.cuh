/* SPDX-License-Identifier: Apache-2.0
 * Remote atomics on words of 4 and 8 bytes: relaxed, at system scope, atomic with every other
 * gshmem atomic on the word, by whatever route. The operation's width is the type's; float and
 * double travel as bits. */
#ifndef GSHMEM_AMO_CUH
#define GSHMEM_AMO_CUH

#include "device/address.cuh"
#include "device/ring.cuh"

namespace gshmem
{

namespace detail
{

template <class T>
__device__ __forceinline__ word<T> *amo_word(const T *symmetric, int pe, const char *call)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics are on words of 4 and 8 bytes");
    check_words(call, symmetric, 1, pe);
    return reinterpret_cast<word<T> *>(const_cast<T *>(symmetric));
}

/* near(mapped word) does the same on the word itself: returns the value before. */
template <class T, class Near>
__device__ __forceinline__ T fetch_word(gsh_amo_op op, const T *symmetric, word<T> operand,
                                        word<T> cond, int pe, const char *call, Near near)
{
    word<T> *w = amo_word(symmetric, pe, call);
    return bit_cast<T>(route(w, pe, near, [&] {
        return (word<T>)out_of_line(far_amo)(op, w, sizeof(T), operand, cond, true, pe, call);
    }));
}

/* The same without a value. */
template <class T, class Near>
__device__ __forceinline__ void change_word(gsh_amo_op op, T *symmetric, word<T> operand, int pe,
                                            const char *call, Near near)
{
    word<T> *w = amo_word(symmetric, pe, call);
    route(w, pe, near,
          [&] { (void)out_of_line(far_amo)(op, w, sizeof(T), operand, 0, false, pe, call); });
}

} // namespace detail

template <class T>
__device__ __forceinline__ T atomic_fetch(const T *source, int pe,
                                          const char *call = "gshmem::atomic_fetch")
{
    detail::poll_pause();
    return detail::fetch_word(
        GSH_AMO_FETCH, source, 0, 0, pe, call,
        [](const detail::word<T> *mapped) { return detail::atomic_load(mapped); });
}

template <class T>
__device__ __forceinline__ void atomic_set(T *dest, T value, int pe,
                                           const char *call = "gshmem::atomic_set")
{
    auto bits = detail::bit_cast<detail::word<T>>(value);
    detail::change_word(GSH_AMO_SET, dest, bits, pe, call,
                        [=](detail::word<T> *mapped) { detail::store_relaxed_word(mapped, bits); });
}

template <class T>
__device__ __forceinline__ T atomic_swap(T *dest, T value, int pe,
                                         const char *call = "gshmem::atomic_swap")
{
    auto bits = detail::bit_cast<detail::word<T>>(value);
    detail::poll_pause();
    return detail::fetch_word(GSH_AMO_SWAP, dest, bits, 0, pe, call, [=](detail::word<T> *mapped) {
        return detail::atomic_exch(mapped, bits);
    });
}

template <class T>
__device__ __forceinline__ T atomic_compare_swap(T *dest, T cond, T value, int pe,
                                                 const char *call = "gshmem::atomic_compare_swap")
{
    auto bits = detail::bit_cast<detail::word<T>>(value);
    auto cond_bits = detail::bit_cast<detail::word<T>>(cond);
    detail::poll_pause();
    return detail::fetch_word(GSH_AMO_CSWAP, dest, bits, cond_bits, pe, call,
                              [=](detail::word<T> *mapped) {
                                  return detail::atomic_compare_swap(mapped, cond_bits, bits);
                              });
}

#define GSHMEM_AMO(OP, NAME)                                                                       \
    template <class T>                                                                             \
    __device__ __forceinline__ T atomic_fetch_##OP(T *dest, T value, int pe,                       \
                                                   const char *call = "gshmem::atomic_fetch_" #OP) \
    {                                                                                              \
        auto bits = detail::bit_cast<detail::word<T>>(value);                                      \
        return detail::fetch_word(                                                                 \
            GSH_AMO_##NAME, dest, bits, 0, pe, call,                                               \
            [=](detail::word<T> *mapped) { return detail::atomic_##OP(mapped, bits); });           \
    }                                                                                              \
    template <class T>                                                                             \
    __device__ __forceinline__ void atomic_##OP(T *dest, T value, int pe,                          \
                                                const char *call = "gshmem::atomic_" #OP)          \
    {                                                                                              \
        auto bits = detail::bit_cast<detail::word<T>>(value);                                      \
        detail::change_word(GSH_AMO_##NAME, dest, bits, pe, call,                                  \
                            [=](detail::word<T> *mapped) { detail::reduce_##OP(mapped, bits); });  \
    }
GSHMEM_AMO(add, ADD)
GSHMEM_AMO(and, AND)
GSHMEM_AMO(or, OR)
GSHMEM_AMO(xor, XOR)
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
