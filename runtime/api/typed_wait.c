/* SPDX-License-Identifier: Apache-2.0
 * Stamps the typed waits and tests of the host from the type table, as typed.c does the rest. */
#include "gshmem.h"
#include "gshmemx.h"
#include "runtime/api/host_calls.h"

/* Signed types are those whose -1 is below 1. The value is T's bits, zeros above. */
#define ARG(CALL, T, ...)          \
    (&(const struct gsh_wait_arg){ \
        .cmp = cmp, .kind = {sizeof(T), (T)-1 < (T)1}, .call = CALL, __VA_ARGS__})
#define BITS(T)      ((uint64_t)cmp_value & UINT64_MAX >> (64 - 8 * sizeof(T)))
#define ONE(CALL, T) ARG(CALL, T, .ivars = ivar, .nelems = 1, .value = BITS(T))
#define MANY(CALL, T) \
    ARG(CALL, T, .ivars = ivars, .nelems = nelems, .status = status, .value = BITS(T))
#define VECTOR(CALL, T) \
    ARG(CALL, T, .ivars = ivars, .nelems = nelems, .status = status, .values = cmp_values)

#define WAIT(NAME, T)                                                                          \
    void gshmem_##NAME##_wait_until(T *ivar, int cmp, T cmp_value)                             \
    {                                                                                          \
        gsh_wait_all(ONE("gshmem_" #NAME "_wait_until", T));                                   \
    }                                                                                          \
    void gshmem_##NAME##_wait_until_all(T *ivars, size_t nelems, const int *status, int cmp,   \
                                        T cmp_value)                                           \
    {                                                                                          \
        gsh_wait_all(MANY("gshmem_" #NAME "_wait_until_all", T));                              \
    }                                                                                          \
    size_t gshmem_##NAME##_wait_until_any(T *ivars, size_t nelems, const int *status, int cmp, \
                                          T cmp_value)                                         \
    {                                                                                          \
        return gsh_wait_any(MANY("gshmem_" #NAME "_wait_until_any", T));                       \
    }                                                                                          \
    size_t gshmem_##NAME##_wait_until_some(T *ivars, size_t nelems, size_t *indices,           \
                                           const int *status, int cmp, T cmp_value)            \
    {                                                                                          \
        return gsh_wait_some(MANY("gshmem_" #NAME "_wait_until_some", T), indices);            \
    }                                                                                          \
    void gshmem_##NAME##_wait_until_all_vector(T *ivars, size_t nelems, const int *status,     \
                                               int cmp, T *cmp_values)                         \
    {                                                                                          \
        gsh_wait_all(VECTOR("gshmem_" #NAME "_wait_until_all_vector", T));                     \
    }                                                                                          \
    size_t gshmem_##NAME##_wait_until_any_vector(T *ivars, size_t nelems, const int *status,   \
                                                 int cmp, T *cmp_values)                       \
    {                                                                                          \
        return gsh_wait_any(VECTOR("gshmem_" #NAME "_wait_until_any_vector", T));              \
    }                                                                                          \
    size_t gshmem_##NAME##_wait_until_some_vector(T *ivars, size_t nelems, size_t *indices,    \
                                                  const int *status, int cmp, T *cmp_values)   \
    {                                                                                          \
        return gsh_wait_some(VECTOR("gshmem_" #NAME "_wait_until_some_vector", T), indices);   \
    }
GSHMEM_TYPES_WAIT(WAIT)
#undef WAIT

#define TEST(NAME, T)                                                                              \
    int gshmem_##NAME##_test(T *ivar, int cmp, T cmp_value)                                        \
    {                                                                                              \
        return gsh_test_all(ONE("gshmem_" #NAME "_test", T));                                      \
    }                                                                                              \
    int gshmem_##NAME##_test_all(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value) \
    {                                                                                              \
        return gsh_test_all(MANY("gshmem_" #NAME "_test_all", T));                                 \
    }                                                                                              \
    size_t gshmem_##NAME##_test_any(T *ivars, size_t nelems, const int *status, int cmp,           \
                                    T cmp_value)                                                   \
    {                                                                                              \
        return gsh_test_any(MANY("gshmem_" #NAME "_test_any", T));                                 \
    }                                                                                              \
    size_t gshmem_##NAME##_test_some(T *ivars, size_t nelems, size_t *indices, const int *status,  \
                                     int cmp, T cmp_value)                                         \
    {                                                                                              \
        return gsh_test_some(MANY("gshmem_" #NAME "_test_some", T), indices);                      \
    }                                                                                              \
    int gshmem_##NAME##_test_all_vector(T *ivars, size_t nelems, const int *status, int cmp,       \
                                        T *cmp_values)                                             \
    {                                                                                              \
        return gsh_test_all(VECTOR("gshmem_" #NAME "_test_all_vector", T));                        \
    }                                                                                              \
    size_t gshmem_##NAME##_test_any_vector(T *ivars, size_t nelems, const int *status, int cmp,    \
                                           T *cmp_values)                                          \
    {                                                                                              \
        return gsh_test_any(VECTOR("gshmem_" #NAME "_test_any_vector", T));                        \
    }                                                                                              \
    size_t gshmem_##NAME##_test_some_vector(T *ivars, size_t nelems, size_t *indices,              \
                                            const int *status, int cmp, T *cmp_values)             \
    {                                                                                              \
        return gsh_test_some(VECTOR("gshmem_" #NAME "_test_some_vector", T), indices);             \
    }
GSHMEM_TYPES_WAIT(TEST)
#undef TEST

/* ---- on a stream ---- */

#define WAIT(NAME, T)                                                                             \
    void gshmemx_##NAME##_wait_until_on_stream(T *ivar, int cmp, T cmp_value,                     \
                                               gshmemx_stream_t stream)                           \
    {                                                                                             \
        gsh_wait_on_stream(ONE("gshmemx_" #NAME "_wait_until_on_stream", T), stream);             \
    }                                                                                             \
    void gshmemx_##NAME##_wait_until_all_on_stream(T *ivars, size_t nelems, const int *status,    \
                                                   int cmp, T cmp_value, gshmemx_stream_t stream) \
    {                                                                                             \
        gsh_wait_on_stream(MANY("gshmemx_" #NAME "_wait_until_all_on_stream", T), stream);        \
    }                                                                                             \
    void gshmemx_##NAME##_wait_until_all_vector_on_stream(T *ivars, size_t nelems,                \
                                                          const int *status, int cmp,             \
                                                          T *cmp_values, gshmemx_stream_t stream) \
    {                                                                                             \
        gsh_wait_on_stream(VECTOR("gshmemx_" #NAME "_wait_until_all_vector_on_stream", T),        \
                           stream);                                                               \
    }
GSHMEM_TYPES_WAIT(WAIT)
#undef WAIT
