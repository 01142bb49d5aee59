/* SPDX-License-Identifier: Apache-2.0
 * The typed and sized prototypes of the [hd] calls, stamped from the type table. NAME ranges over
 * the table's names, BITS over 8 16 32 64 128. */
#ifndef GSHMEM_TYPED_H
#define GSHMEM_TYPED_H

#include "gshmem/types.h"

GSHMEM_HD_BEGIN

/* gshmem_NAME_{p,g,put,get,iput,iget,put_nbi,get_nbi,put_signal,put_signal_nbi} (9.5, 9.8).
 * iput, iget: element i goes from source[i * sst] to dest[i * dst]; strides of at least 1. */
#define RMA(NAME, T)                                                                             \
    void gshmem_##NAME##_p(T *dest, T value, int pe);                                            \
    T gshmem_##NAME##_g(const T *source, int pe);                                                \
    void gshmem_##NAME##_put(T *dest, const T *source, size_t nelems, int pe);                   \
    void gshmem_##NAME##_get(T *dest, const T *source, size_t nelems, int pe);                   \
    void gshmem_##NAME##_put_nbi(T *dest, const T *source, size_t nelems, int pe);               \
    void gshmem_##NAME##_get_nbi(T *dest, const T *source, size_t nelems, int pe);               \
    void gshmem_##NAME##_iput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,            \
                              size_t nelems, int pe);                                            \
    void gshmem_##NAME##_iget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,            \
                              size_t nelems, int pe);                                            \
    void gshmem_##NAME##_put_signal(T *dest, const T *source, size_t nelems, uint64_t *sig_addr, \
                                    uint64_t signal, int sig_op, int pe);                        \
    void gshmem_##NAME##_put_signal_nbi(T *dest, const T *source, size_t nelems,                 \
                                        uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
GSHMEM_TYPES_RMA(RMA)
#undef RMA

/* The same by element size; elements need only the alignment of a byte. */
#define SIZED(BITS, BYTES)                                                                   \
    void gshmem_put##BITS(void *dest, const void *source, size_t nelems, int pe);            \
    void gshmem_get##BITS(void *dest, const void *source, size_t nelems, int pe);            \
    void gshmem_put##BITS##_nbi(void *dest, const void *source, size_t nelems, int pe);      \
    void gshmem_get##BITS##_nbi(void *dest, const void *source, size_t nelems, int pe);      \
    void gshmem_iput##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,     \
                           size_t nelems, int pe);                                           \
    void gshmem_iget##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,     \
                           size_t nelems, int pe);                                           \
    void gshmem_put##BITS##_signal(void *dest, const void *source, size_t nelems,            \
                                   uint64_t *sig_addr, uint64_t signal, int sig_op, int pe); \
    void gshmem_put##BITS##_signal_nbi(void *dest, const void *source, size_t nelems,        \
                                       uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
GSHMEM_SIZES(SIZED)
#undef SIZED

/* Atomics (9.7): on the word at the symmetric address, on pe; aligned to its size. The fetching
 * forms return the value before. */
#define AMO(NAME, T)                                                         \
    T gshmem_##NAME##_atomic_compare_swap(T *dest, T cond, T value, int pe); \
    T gshmem_##NAME##_atomic_fetch_inc(T *dest, int pe);                     \
    void gshmem_##NAME##_atomic_inc(T *dest, int pe);                        \
    T gshmem_##NAME##_atomic_fetch_add(T *dest, T value, int pe);            \
    void gshmem_##NAME##_atomic_add(T *dest, T value, int pe);
GSHMEM_TYPES_AMO_STD(AMO)
#undef AMO
#define AMO(NAME, T)                                           \
    T gshmem_##NAME##_atomic_fetch(const T *source, int pe);   \
    void gshmem_##NAME##_atomic_set(T *dest, T value, int pe); \
    T gshmem_##NAME##_atomic_swap(T *dest, T value, int pe);
GSHMEM_TYPES_AMO_EXT(AMO)
#undef AMO
#define AMO(NAME, T)                                              \
    T gshmem_##NAME##_atomic_fetch_and(T *dest, T value, int pe); \
    void gshmem_##NAME##_atomic_and(T *dest, T value, int pe);    \
    T gshmem_##NAME##_atomic_fetch_or(T *dest, T value, int pe);  \
    void gshmem_##NAME##_atomic_or(T *dest, T value, int pe);     \
    T gshmem_##NAME##_atomic_fetch_xor(T *dest, T value, int pe); \
    void gshmem_##NAME##_atomic_xor(T *dest, T value, int pe);
GSHMEM_TYPES_AMO_BIT(AMO)
#undef AMO

/* Waits and tests on this PE's own memory (9.8): ivar is symmetric, changed by other PEs' p,
 * AMOs or signals, not by a put of several, which promises nothing of its order. status[i] != 0
 * leaves ivars[i] out (NULL: none left out). wait_until_any and test_any return the index found,
 * SIZE_MAX when there is none (or all are left out); _some fills indices[] and returns how many;
 * _vector compares ivars[i] with cmp_values[i]. test returns non-zero when the comparison holds
 * (test_all: for all). */
#define WAIT(NAME, T)                                                                             \
    void gshmem_##NAME##_wait_until(T *ivar, int cmp, T cmp_value);                               \
    void gshmem_##NAME##_wait_until_all(T *ivars, size_t nelems, const int *status, int cmp,      \
                                        T cmp_value);                                             \
    size_t gshmem_##NAME##_wait_until_any(T *ivars, size_t nelems, const int *status, int cmp,    \
                                          T cmp_value);                                           \
    size_t gshmem_##NAME##_wait_until_some(T *ivars, size_t nelems, size_t *indices,              \
                                           const int *status, int cmp, T cmp_value);              \
    void gshmem_##NAME##_wait_until_all_vector(T *ivars, size_t nelems, const int *status,        \
                                               int cmp, T *cmp_values);                           \
    size_t gshmem_##NAME##_wait_until_any_vector(T *ivars, size_t nelems, const int *status,      \
                                                 int cmp, T *cmp_values);                         \
    size_t gshmem_##NAME##_wait_until_some_vector(T *ivars, size_t nelems, size_t *indices,       \
                                                  const int *status, int cmp, T *cmp_values);     \
    int gshmem_##NAME##_test(T *ivar, int cmp, T cmp_value);                                      \
    int gshmem_##NAME##_test_all(T *ivars, size_t nelems, const int *status, int cmp,             \
                                 T cmp_value);                                                    \
    size_t gshmem_##NAME##_test_any(T *ivars, size_t nelems, const int *status, int cmp,          \
                                    T cmp_value);                                                 \
    size_t gshmem_##NAME##_test_some(T *ivars, size_t nelems, size_t *indices, const int *status, \
                                     int cmp, T cmp_value);                                       \
    int gshmem_##NAME##_test_all_vector(T *ivars, size_t nelems, const int *status, int cmp,      \
                                        T *cmp_values);                                           \
    size_t gshmem_##NAME##_test_any_vector(T *ivars, size_t nelems, const int *status, int cmp,   \
                                           T *cmp_values);                                        \
    size_t gshmem_##NAME##_test_some_vector(T *ivars, size_t nelems, size_t *indices,             \
                                            const int *status, int cmp, T *cmp_values);
GSHMEM_TYPES_WAIT(WAIT)
#undef WAIT

GSHMEM_HD_END

#endif
