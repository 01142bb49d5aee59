/* SPDX-License-Identifier: Apache-2.0
 * The generic interfaces of OpenSHMEM 1.5: gshmem_put(dest, source, nelems, pe) and the rest choose
 * the typed call (gshmem/typed.h has the contracts) by what dest, source or ivar points to: with
 * _Generic in C11, by overloads in C++, there in kernels, too. */
#ifndef GSHMEM_GENERIC_H
#define GSHMEM_GENERIC_H

#include "gshmem/typed.h"
#ifdef GSHMEM_DEVICE_CODE
#include "gshmem_device.cuh" /* the calls themselves */
#endif

/* The sets, each C type once: rows that are distinct and in the set. The bitwise set has two types
 * that only its fixed-width rows name. */
#define GSHMEM_IF_00(M, name, type)
#define GSHMEM_IF_01(M, name, type)
#define GSHMEM_IF_10(M, name, type)
#define GSHMEM_IF_11(M, name, type) M(name, type)
#define GSHMEM_GENERIC_SEL_STD(M, distinct, std, ext, bit, wait, name, type) \
    GSHMEM_IF_##distinct##std(M, name, type)
#define GSHMEM_GENERIC_SEL_EXT(M, distinct, std, ext, bit, wait, name, type) \
    GSHMEM_IF_##distinct##ext(M, name, type)
#define GSHMEM_GENERIC_SEL_BIT(M, distinct, std, ext, bit, wait, name, type) \
    GSHMEM_IF_##distinct##bit(M, name, type)
#define GSHMEM_GENERIC_SEL_WAIT(M, distinct, std, ext, bit, wait, name, type) \
    GSHMEM_IF_##distinct##wait(M, name, type)
#define GSHMEM_GENERIC_RMA(M)  GSHMEM_TYPES_DISTINCT(M)
#define GSHMEM_GENERIC_STD(M)  GSHMEM_TYPE_TABLE(GSHMEM_GENERIC_SEL_STD, M)
#define GSHMEM_GENERIC_EXT(M)  GSHMEM_TYPE_TABLE(GSHMEM_GENERIC_SEL_EXT, M)
#define GSHMEM_GENERIC_WAIT(M) GSHMEM_TYPE_TABLE(GSHMEM_GENERIC_SEL_WAIT, M)
#define GSHMEM_GENERIC_BIT(M) \
    GSHMEM_TYPE_TABLE(GSHMEM_GENERIC_SEL_BIT, M) M(int32, int32_t) M(int64, int64_t)

#if defined(__cplusplus)

/* ---- C++: overloads -------------------------------------------------------------------------- */

#if defined(GSHMEM_DEVICE_CODE)
#define GSHMEM_OVERLOAD static inline __host__ __device__
#else
#define GSHMEM_OVERLOAD static inline
#endif

#define GSHMEM_OVERLOADS(NAME, T)                                                               \
    GSHMEM_OVERLOAD void gshmem_p(T *dest, T value, int pe)                                     \
    {                                                                                           \
        gshmem_##NAME##_p(dest, value, pe);                                                     \
    }                                                                                           \
    GSHMEM_OVERLOAD T gshmem_g(const T *source, int pe)                                         \
    {                                                                                           \
        return gshmem_##NAME##_g(source, pe);                                                   \
    }                                                                                           \
    GSHMEM_OVERLOAD void gshmem_put(T *dest, const T *source, size_t nelems, int pe)            \
    {                                                                                           \
        gshmem_##NAME##_put(dest, source, nelems, pe);                                          \
    }                                                                                           \
    GSHMEM_OVERLOAD void gshmem_get(T *dest, const T *source, size_t nelems, int pe)            \
    {                                                                                           \
        gshmem_##NAME##_get(dest, source, nelems, pe);                                          \
    }                                                                                           \
    GSHMEM_OVERLOAD void gshmem_put_nbi(T *dest, const T *source, size_t nelems, int pe)        \
    {                                                                                           \
        gshmem_##NAME##_put_nbi(dest, source, nelems, pe);                                      \
    }                                                                                           \
    GSHMEM_OVERLOAD void gshmem_get_nbi(T *dest, const T *source, size_t nelems, int pe)        \
    {                                                                                           \
        gshmem_##NAME##_get_nbi(dest, source, nelems, pe);                                      \
    }                                                                                           \
    GSHMEM_OVERLOAD void gshmem_iput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,    \
                                     size_t nelems, int pe)                                     \
    {                                                                                           \
        gshmem_##NAME##_iput(dest, source, dst, sst, nelems, pe);                               \
    }                                                                                           \
    GSHMEM_OVERLOAD void gshmem_iget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,    \
                                     size_t nelems, int pe)                                     \
    {                                                                                           \
        gshmem_##NAME##_iget(dest, source, dst, sst, nelems, pe);                               \
    }                                                                                           \
    GSHMEM_OVERLOAD void gshmem_put_signal(T *dest, const T *source, size_t nelems,             \
                                           uint64_t *sig_addr, uint64_t signal, int sig_op,     \
                                           int pe)                                              \
    {                                                                                           \
        gshmem_##NAME##_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe);         \
    }                                                                                           \
    GSHMEM_OVERLOAD void gshmem_put_signal_nbi(T *dest, const T *source, size_t nelems,         \
                                               uint64_t *sig_addr, uint64_t signal, int sig_op, \
                                               int pe)                                          \
    {                                                                                           \
        gshmem_##NAME##_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe);     \
    }
GSHMEM_GENERIC_RMA(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS

#define GSHMEM_OVERLOADS(NAME, T)                                    \
    GSHMEM_OVERLOAD T gshmem_atomic_fetch(const T *source, int pe)   \
    {                                                                \
        return gshmem_##NAME##_atomic_fetch(source, pe);             \
    }                                                                \
    GSHMEM_OVERLOAD void gshmem_atomic_set(T *dest, T value, int pe) \
    {                                                                \
        gshmem_##NAME##_atomic_set(dest, value, pe);                 \
    }                                                                \
    GSHMEM_OVERLOAD T gshmem_atomic_swap(T *dest, T value, int pe)   \
    {                                                                \
        return gshmem_##NAME##_atomic_swap(dest, value, pe);         \
    }
GSHMEM_GENERIC_EXT(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS

#define GSHMEM_OVERLOADS(NAME, T)                                                  \
    GSHMEM_OVERLOAD T gshmem_atomic_compare_swap(T *dest, T cond, T value, int pe) \
    {                                                                              \
        return gshmem_##NAME##_atomic_compare_swap(dest, cond, value, pe);         \
    }                                                                              \
    GSHMEM_OVERLOAD T gshmem_atomic_fetch_inc(T *dest, int pe)                     \
    {                                                                              \
        return gshmem_##NAME##_atomic_fetch_inc(dest, pe);                         \
    }                                                                              \
    GSHMEM_OVERLOAD void gshmem_atomic_inc(T *dest, int pe)                        \
    {                                                                              \
        gshmem_##NAME##_atomic_inc(dest, pe);                                      \
    }                                                                              \
    GSHMEM_OVERLOAD T gshmem_atomic_fetch_add(T *dest, T value, int pe)            \
    {                                                                              \
        return gshmem_##NAME##_atomic_fetch_add(dest, value, pe);                  \
    }                                                                              \
    GSHMEM_OVERLOAD void gshmem_atomic_add(T *dest, T value, int pe)               \
    {                                                                              \
        gshmem_##NAME##_atomic_add(dest, value, pe);                               \
    }
GSHMEM_GENERIC_STD(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS

#define GSHMEM_OVERLOADS(NAME, T)                                       \
    GSHMEM_OVERLOAD T gshmem_atomic_fetch_and(T *dest, T value, int pe) \
    {                                                                   \
        return gshmem_##NAME##_atomic_fetch_and(dest, value, pe);       \
    }                                                                   \
    GSHMEM_OVERLOAD void gshmem_atomic_and(T *dest, T value, int pe)    \
    {                                                                   \
        gshmem_##NAME##_atomic_and(dest, value, pe);                    \
    }                                                                   \
    GSHMEM_OVERLOAD T gshmem_atomic_fetch_or(T *dest, T value, int pe)  \
    {                                                                   \
        return gshmem_##NAME##_atomic_fetch_or(dest, value, pe);        \
    }                                                                   \
    GSHMEM_OVERLOAD void gshmem_atomic_or(T *dest, T value, int pe)     \
    {                                                                   \
        gshmem_##NAME##_atomic_or(dest, value, pe);                     \
    }                                                                   \
    GSHMEM_OVERLOAD T gshmem_atomic_fetch_xor(T *dest, T value, int pe) \
    {                                                                   \
        return gshmem_##NAME##_atomic_fetch_xor(dest, value, pe);       \
    }                                                                   \
    GSHMEM_OVERLOAD void gshmem_atomic_xor(T *dest, T value, int pe)    \
    {                                                                   \
        gshmem_##NAME##_atomic_xor(dest, value, pe);                    \
    }
GSHMEM_GENERIC_BIT(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS

#define GSHMEM_OVERLOADS(NAME, T)                                                                  \
    GSHMEM_OVERLOAD void gshmem_wait_until(T *ivar, int cmp, T cmp_value)                          \
    {                                                                                              \
        gshmem_##NAME##_wait_until(ivar, cmp, cmp_value);                                          \
    }                                                                                              \
    GSHMEM_OVERLOAD int gshmem_test(T *ivar, int cmp, T cmp_value)                                 \
    {                                                                                              \
        return gshmem_##NAME##_test(ivar, cmp, cmp_value);                                         \
    }                                                                                              \
    GSHMEM_OVERLOAD void gshmem_wait_until_all(T *ivars, size_t nelems, const int *status,         \
                                               int cmp, T cmp_value)                               \
    {                                                                                              \
        gshmem_##NAME##_wait_until_all(ivars, nelems, status, cmp, cmp_value);                     \
    }                                                                                              \
    GSHMEM_OVERLOAD size_t gshmem_wait_until_any(T *ivars, size_t nelems, const int *status,       \
                                                 int cmp, T cmp_value)                             \
    {                                                                                              \
        return gshmem_##NAME##_wait_until_any(ivars, nelems, status, cmp, cmp_value);              \
    }                                                                                              \
    GSHMEM_OVERLOAD size_t gshmem_wait_until_some(T *ivars, size_t nelems, size_t *indices,        \
                                                  const int *status, int cmp, T cmp_value)         \
    {                                                                                              \
        return gshmem_##NAME##_wait_until_some(ivars, nelems, indices, status, cmp, cmp_value);    \
    }                                                                                              \
    GSHMEM_OVERLOAD int gshmem_test_all(T *ivars, size_t nelems, const int *status, int cmp,       \
                                        T cmp_value)                                               \
    {                                                                                              \
        return gshmem_##NAME##_test_all(ivars, nelems, status, cmp, cmp_value);                    \
    }                                                                                              \
    GSHMEM_OVERLOAD size_t gshmem_test_any(T *ivars, size_t nelems, const int *status, int cmp,    \
                                           T cmp_value)                                            \
    {                                                                                              \
        return gshmem_##NAME##_test_any(ivars, nelems, status, cmp, cmp_value);                    \
    }                                                                                              \
    GSHMEM_OVERLOAD size_t gshmem_test_some(T *ivars, size_t nelems, size_t *indices,              \
                                            const int *status, int cmp, T cmp_value)               \
    {                                                                                              \
        return gshmem_##NAME##_test_some(ivars, nelems, indices, status, cmp, cmp_value);          \
    }                                                                                              \
    GSHMEM_OVERLOAD void gshmem_wait_until_all_vector(T *ivars, size_t nelems, const int *status,  \
                                                      int cmp, T *cmp_values)                      \
    {                                                                                              \
        gshmem_##NAME##_wait_until_all_vector(ivars, nelems, status, cmp, cmp_values);             \
    }                                                                                              \
    GSHMEM_OVERLOAD size_t gshmem_wait_until_any_vector(T *ivars, size_t nelems,                   \
                                                        const int *status, int cmp, T *cmp_values) \
    {                                                                                              \
        return gshmem_##NAME##_wait_until_any_vector(ivars, nelems, status, cmp, cmp_values);      \
    }                                                                                              \
    GSHMEM_OVERLOAD size_t gshmem_wait_until_some_vector(                                          \
        T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T *cmp_values)       \
    {                                                                                              \
        return gshmem_##NAME##_wait_until_some_vector(ivars, nelems, indices, status, cmp,         \
                                                      cmp_values);                                 \
    }                                                                                              \
    GSHMEM_OVERLOAD int gshmem_test_all_vector(T *ivars, size_t nelems, const int *status,         \
                                               int cmp, T *cmp_values)                             \
    {                                                                                              \
        return gshmem_##NAME##_test_all_vector(ivars, nelems, status, cmp, cmp_values);            \
    }                                                                                              \
    GSHMEM_OVERLOAD size_t gshmem_test_any_vector(T *ivars, size_t nelems, const int *status,      \
                                                  int cmp, T *cmp_values)                          \
    {                                                                                              \
        return gshmem_##NAME##_test_any_vector(ivars, nelems, status, cmp, cmp_values);            \
    }                                                                                              \
    GSHMEM_OVERLOAD size_t gshmem_test_some_vector(T *ivars, size_t nelems, size_t *indices,       \
                                                   const int *status, int cmp, T *cmp_values)      \
    {                                                                                              \
        return gshmem_##NAME##_test_some_vector(ivars, nelems, indices, status, cmp, cmp_values);  \
    }
GSHMEM_GENERIC_WAIT(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS

#undef GSHMEM_OVERLOAD

#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

/* ---- C11: _Generic --------------------------------------------------------------------------- */

/* Each arm begins with its comma, after a first arm that nothing matches. The choice is by the
 * value that the pointer points to, so that const does not matter. */
struct gshmem_no_type {
    char unused;
};
#define GSHMEM_CHOOSE(pointer, SET, ARM) _Generic(*(pointer), struct gshmem_no_type : 0 SET(ARM))

#define GSHMEM_ARM_p(NAME, T) , T : gshmem_##NAME##_p
#define gshmem_p(dest, value, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_RMA, GSHMEM_ARM_p)(dest, value, pe)
#define GSHMEM_ARM_g(NAME, T)   , T : gshmem_##NAME##_g
#define gshmem_g(source, pe)    GSHMEM_CHOOSE(source, GSHMEM_GENERIC_RMA, GSHMEM_ARM_g)(source, pe)
#define GSHMEM_ARM_put(NAME, T) , T : gshmem_##NAME##_put
#define gshmem_put(dest, source, nelems, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_RMA, GSHMEM_ARM_put)(dest, source, nelems, pe)
#define GSHMEM_ARM_get(NAME, T) , T : gshmem_##NAME##_get
#define gshmem_get(dest, source, nelems, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_RMA, GSHMEM_ARM_get)(dest, source, nelems, pe)
#define GSHMEM_ARM_put_nbi(NAME, T) , T : gshmem_##NAME##_put_nbi
#define gshmem_put_nbi(dest, source, nelems, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_RMA, GSHMEM_ARM_put_nbi)(dest, source, nelems, pe)
#define GSHMEM_ARM_get_nbi(NAME, T) , T : gshmem_##NAME##_get_nbi
#define gshmem_get_nbi(dest, source, nelems, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_RMA, GSHMEM_ARM_get_nbi)(dest, source, nelems, pe)
#define GSHMEM_ARM_iput(NAME, T) , T : gshmem_##NAME##_iput
#define gshmem_iput(dest, source, dst, sst, nelems, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_RMA, GSHMEM_ARM_iput)(dest, source, dst, sst, nelems, pe)
#define GSHMEM_ARM_iget(NAME, T) , T : gshmem_##NAME##_iget
#define gshmem_iget(dest, source, dst, sst, nelems, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_RMA, GSHMEM_ARM_iget)(dest, source, dst, sst, nelems, pe)
#define GSHMEM_ARM_put_signal(NAME, T) , T : gshmem_##NAME##_put_signal
#define gshmem_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_RMA, GSHMEM_ARM_put_signal)            \
    (dest, source, nelems, sig_addr, signal, sig_op, pe)
#define GSHMEM_ARM_put_signal_nbi(NAME, T) , T : gshmem_##NAME##_put_signal_nbi
#define gshmem_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_RMA, GSHMEM_ARM_put_signal_nbi)            \
    (dest, source, nelems, sig_addr, signal, sig_op, pe)
#define GSHMEM_ARM_atomic_fetch(NAME, T) , T : gshmem_##NAME##_atomic_fetch
#define gshmem_atomic_fetch(source, pe) \
    GSHMEM_CHOOSE(source, GSHMEM_GENERIC_EXT, GSHMEM_ARM_atomic_fetch)(source, pe)
#define GSHMEM_ARM_atomic_set(NAME, T) , T : gshmem_##NAME##_atomic_set
#define gshmem_atomic_set(dest, value, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_EXT, GSHMEM_ARM_atomic_set)(dest, value, pe)
#define GSHMEM_ARM_atomic_swap(NAME, T) , T : gshmem_##NAME##_atomic_swap
#define gshmem_atomic_swap(dest, value, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_EXT, GSHMEM_ARM_atomic_swap)(dest, value, pe)
#define GSHMEM_ARM_atomic_compare_swap(NAME, T) , T : gshmem_##NAME##_atomic_compare_swap
#define gshmem_atomic_compare_swap(dest, cond, value, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_STD, GSHMEM_ARM_atomic_compare_swap)(dest, cond, value, pe)
#define GSHMEM_ARM_atomic_fetch_inc(NAME, T) , T : gshmem_##NAME##_atomic_fetch_inc
#define gshmem_atomic_fetch_inc(dest, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_STD, GSHMEM_ARM_atomic_fetch_inc)(dest, pe)
#define GSHMEM_ARM_atomic_inc(NAME, T) , T : gshmem_##NAME##_atomic_inc
#define gshmem_atomic_inc(dest, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_STD, GSHMEM_ARM_atomic_inc)(dest, pe)
#define GSHMEM_ARM_atomic_fetch_add(NAME, T) , T : gshmem_##NAME##_atomic_fetch_add
#define gshmem_atomic_fetch_add(dest, value, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_STD, GSHMEM_ARM_atomic_fetch_add)(dest, value, pe)
#define GSHMEM_ARM_atomic_add(NAME, T) , T : gshmem_##NAME##_atomic_add
#define gshmem_atomic_add(dest, value, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_STD, GSHMEM_ARM_atomic_add)(dest, value, pe)
#define GSHMEM_ARM_atomic_fetch_and(NAME, T) , T : gshmem_##NAME##_atomic_fetch_and
#define gshmem_atomic_fetch_and(dest, value, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_BIT, GSHMEM_ARM_atomic_fetch_and)(dest, value, pe)
#define GSHMEM_ARM_atomic_and(NAME, T) , T : gshmem_##NAME##_atomic_and
#define gshmem_atomic_and(dest, value, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_BIT, GSHMEM_ARM_atomic_and)(dest, value, pe)
#define GSHMEM_ARM_atomic_fetch_or(NAME, T) , T : gshmem_##NAME##_atomic_fetch_or
#define gshmem_atomic_fetch_or(dest, value, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_BIT, GSHMEM_ARM_atomic_fetch_or)(dest, value, pe)
#define GSHMEM_ARM_atomic_or(NAME, T) , T : gshmem_##NAME##_atomic_or
#define gshmem_atomic_or(dest, value, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_BIT, GSHMEM_ARM_atomic_or)(dest, value, pe)
#define GSHMEM_ARM_atomic_fetch_xor(NAME, T) , T : gshmem_##NAME##_atomic_fetch_xor
#define gshmem_atomic_fetch_xor(dest, value, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_BIT, GSHMEM_ARM_atomic_fetch_xor)(dest, value, pe)
#define GSHMEM_ARM_atomic_xor(NAME, T) , T : gshmem_##NAME##_atomic_xor
#define gshmem_atomic_xor(dest, value, pe) \
    GSHMEM_CHOOSE(dest, GSHMEM_GENERIC_BIT, GSHMEM_ARM_atomic_xor)(dest, value, pe)
#define GSHMEM_ARM_wait_until(NAME, T) , T : gshmem_##NAME##_wait_until
#define gshmem_wait_until(ivar, cmp, cmp_value) \
    GSHMEM_CHOOSE(ivar, GSHMEM_GENERIC_WAIT, GSHMEM_ARM_wait_until)(ivar, cmp, cmp_value)
#define GSHMEM_ARM_test(NAME, T) , T : gshmem_##NAME##_test
#define gshmem_test(ivar, cmp, cmp_value) \
    GSHMEM_CHOOSE(ivar, GSHMEM_GENERIC_WAIT, GSHMEM_ARM_test)(ivar, cmp, cmp_value)
#define GSHMEM_ARM_wait_until_all(NAME, T) , T : gshmem_##NAME##_wait_until_all
#define gshmem_wait_until_all(ivars, nelems, status, cmp, cmp_value)     \
    GSHMEM_CHOOSE(ivars, GSHMEM_GENERIC_WAIT, GSHMEM_ARM_wait_until_all) \
    (ivars, nelems, status, cmp, cmp_value)
#define GSHMEM_ARM_wait_until_any(NAME, T) , T : gshmem_##NAME##_wait_until_any
#define gshmem_wait_until_any(ivars, nelems, status, cmp, cmp_value)     \
    GSHMEM_CHOOSE(ivars, GSHMEM_GENERIC_WAIT, GSHMEM_ARM_wait_until_any) \
    (ivars, nelems, status, cmp, cmp_value)
#define GSHMEM_ARM_wait_until_some(NAME, T) , T : gshmem_##NAME##_wait_until_some
#define gshmem_wait_until_some(ivars, nelems, indices, status, cmp, cmp_value) \
    GSHMEM_CHOOSE(ivars, GSHMEM_GENERIC_WAIT, GSHMEM_ARM_wait_until_some)      \
    (ivars, nelems, indices, status, cmp, cmp_value)
#define GSHMEM_ARM_test_all(NAME, T) , T : gshmem_##NAME##_test_all
#define gshmem_test_all(ivars, nelems, status, cmp, cmp_value)     \
    GSHMEM_CHOOSE(ivars, GSHMEM_GENERIC_WAIT, GSHMEM_ARM_test_all) \
    (ivars, nelems, status, cmp, cmp_value)
#define GSHMEM_ARM_test_any(NAME, T) , T : gshmem_##NAME##_test_any
#define gshmem_test_any(ivars, nelems, status, cmp, cmp_value)     \
    GSHMEM_CHOOSE(ivars, GSHMEM_GENERIC_WAIT, GSHMEM_ARM_test_any) \
    (ivars, nelems, status, cmp, cmp_value)
#define GSHMEM_ARM_test_some(NAME, T) , T : gshmem_##NAME##_test_some
#define gshmem_test_some(ivars, nelems, indices, status, cmp, cmp_value) \
    GSHMEM_CHOOSE(ivars, GSHMEM_GENERIC_WAIT, GSHMEM_ARM_test_some)      \
    (ivars, nelems, indices, status, cmp, cmp_value)
#define GSHMEM_ARM_wait_until_all_vector(NAME, T) , T : gshmem_##NAME##_wait_until_all_vector
#define gshmem_wait_until_all_vector(ivars, nelems, status, cmp, cmp_values)    \
    GSHMEM_CHOOSE(ivars, GSHMEM_GENERIC_WAIT, GSHMEM_ARM_wait_until_all_vector) \
    (ivars, nelems, status, cmp, cmp_values)
#define GSHMEM_ARM_wait_until_any_vector(NAME, T) , T : gshmem_##NAME##_wait_until_any_vector
#define gshmem_wait_until_any_vector(ivars, nelems, status, cmp, cmp_values)    \
    GSHMEM_CHOOSE(ivars, GSHMEM_GENERIC_WAIT, GSHMEM_ARM_wait_until_any_vector) \
    (ivars, nelems, status, cmp, cmp_values)
#define GSHMEM_ARM_wait_until_some_vector(NAME, T) , T : gshmem_##NAME##_wait_until_some_vector
#define gshmem_wait_until_some_vector(ivars, nelems, indices, status, cmp, cmp_values) \
    GSHMEM_CHOOSE(ivars, GSHMEM_GENERIC_WAIT, GSHMEM_ARM_wait_until_some_vector)       \
    (ivars, nelems, indices, status, cmp, cmp_values)
#define GSHMEM_ARM_test_all_vector(NAME, T) , T : gshmem_##NAME##_test_all_vector
#define gshmem_test_all_vector(ivars, nelems, status, cmp, cmp_values)    \
    GSHMEM_CHOOSE(ivars, GSHMEM_GENERIC_WAIT, GSHMEM_ARM_test_all_vector) \
    (ivars, nelems, status, cmp, cmp_values)
#define GSHMEM_ARM_test_any_vector(NAME, T) , T : gshmem_##NAME##_test_any_vector
#define gshmem_test_any_vector(ivars, nelems, status, cmp, cmp_values)    \
    GSHMEM_CHOOSE(ivars, GSHMEM_GENERIC_WAIT, GSHMEM_ARM_test_any_vector) \
    (ivars, nelems, status, cmp, cmp_values)
#define GSHMEM_ARM_test_some_vector(NAME, T) , T : gshmem_##NAME##_test_some_vector
#define gshmem_test_some_vector(ivars, nelems, indices, status, cmp, cmp_values) \
    GSHMEM_CHOOSE(ivars, GSHMEM_GENERIC_WAIT, GSHMEM_ARM_test_some_vector)       \
    (ivars, nelems, indices, status, cmp, cmp_values)

#endif

#endif
