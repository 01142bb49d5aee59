/* SPDX-License-Identifier: Apache-2.0
 * The typed and sized prototypes of the [hd] calls, stamped from the type table. NAME ranges over
 * the table's names, BITS over 8 16 32 64 128. */
#ifndef GSHMEM_TYPED_H
#define GSHMEM_TYPED_H

#include "gshmem/types.h"
#ifdef GSHMEM_HALF_TYPES
#include "gshmem/half_types.h"
#endif

GSHMEM_HD_BEGIN

/* gshmem_NAME_put(dest, source, nelems, pe) and the rest, in the default context. */
#define GSHMEM_CALL(name) gshmem_##name
#define GSHMEM_CTX
#include "gshmem/typed_calls.h"
#undef GSHMEM_CALL
#undef GSHMEM_CTX

/* gshmem_ctx_NAME_put(ctx, dest, source, nelems, pe) and the rest: pe is a number of the context's
 * team. */
#define GSHMEM_CALL(name) gshmem_ctx_##name
#define GSHMEM_CTX        gshmem_ctx_t ctx,
#include "gshmem/typed_calls.h"
#undef GSHMEM_CALL
#undef GSHMEM_CTX

/* Waits for, and tests of, words in this PE's own memory (9.8). ivar is symmetric. Other PEs change
 * it by p, an AMO or a signal; the elements of a longer put may arrive in any order.
 *
 * cmp is GSHMEM_CMP_EQ, _NE, _GT, _LE, _LT or _GE. status[i] != 0 excludes ivars[i]; status NULL
 * excludes none. A test returns non-zero if the comparison holds (test_all: for all of them).
 * wait_until_any and test_any return the index of a word for which it holds, or SIZE_MAX if there
 * is none or all are excluded. The _some forms fill in indices[] and return how many there are. The
 * _vector forms compare ivars[i] with cmp_values[i]. What was written before the matching p, AMO or
 * signal is visible when a wait returns or a test succeeds. */
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
