/* SPDX-License-Identifier: Apache-2.0
 * Each type's wait_until and test calls, without the type in the name. Not inlined: nvcc would take
 * minutes over copies of them. */
#ifndef GSH_TEST_WAIT_CALLS_CUH
#define GSH_TEST_WAIT_CALLS_CUH

#include "tests/rig/pe.cuh"

/* clang-format off */
#define TYPE(NAME, T)                                                                              \
    struct NAME##_wait {                                                                           \
        typedef T type;                                                                            \
        static __noinline__ HD void p(T *d, T v, int pe) { gshmem_##NAME##_p(d, v, pe); }          \
        static __noinline__ HD void until(T *i, int cmp, T v) { gshmem_##NAME##_wait_until(i, cmp, v); } \
        static __noinline__ HD void until_all(T *i, size_t n, const int *s, int cmp, T v)          \
        { gshmem_##NAME##_wait_until_all(i, n, s, cmp, v); }                                       \
        static __noinline__ HD size_t until_any(T *i, size_t n, const int *s, int cmp, T v)        \
        { return gshmem_##NAME##_wait_until_any(i, n, s, cmp, v); }                                \
        static __noinline__ HD size_t until_some(T *i, size_t n, size_t *x, const int *s, int cmp, T v) \
        { return gshmem_##NAME##_wait_until_some(i, n, x, s, cmp, v); }                            \
        static __noinline__ HD void until_all_vector(T *i, size_t n, const int *s, int cmp, T *v)  \
        { gshmem_##NAME##_wait_until_all_vector(i, n, s, cmp, v); }                                \
        static __noinline__ HD size_t until_any_vector(T *i, size_t n, const int *s, int cmp, T *v) \
        { return gshmem_##NAME##_wait_until_any_vector(i, n, s, cmp, v); }                         \
        static __noinline__ HD size_t until_some_vector(T *i, size_t n, size_t *x, const int *s, int cmp, T *v) \
        { return gshmem_##NAME##_wait_until_some_vector(i, n, x, s, cmp, v); }                     \
        static __noinline__ HD int test(T *i, int cmp, T v) { return gshmem_##NAME##_test(i, cmp, v); } \
        static __noinline__ HD int test_all(T *i, size_t n, const int *s, int cmp, T v)            \
        { return gshmem_##NAME##_test_all(i, n, s, cmp, v); }                                      \
        static __noinline__ HD size_t test_any(T *i, size_t n, const int *s, int cmp, T v)         \
        { return gshmem_##NAME##_test_any(i, n, s, cmp, v); }                                      \
        static __noinline__ HD size_t test_some(T *i, size_t n, size_t *x, const int *s, int cmp, T v) \
        { return gshmem_##NAME##_test_some(i, n, x, s, cmp, v); }                                  \
        static __noinline__ HD int test_all_vector(T *i, size_t n, const int *s, int cmp, T *v)    \
        { return gshmem_##NAME##_test_all_vector(i, n, s, cmp, v); }                               \
        static __noinline__ HD size_t test_any_vector(T *i, size_t n, const int *s, int cmp, T *v) \
        { return gshmem_##NAME##_test_any_vector(i, n, s, cmp, v); }                               \
        static __noinline__ HD size_t test_some_vector(T *i, size_t n, size_t *x, const int *s, int cmp, T *v) \
        { return gshmem_##NAME##_test_some_vector(i, n, x, s, cmp, v); }                           \
        static void until_on_stream(T *i, int cmp, T v, cudaStream_t stream)                       \
        { gshmemx_##NAME##_wait_until_on_stream(i, cmp, v, stream); }                              \
        static void until_all_on_stream(T *i, size_t n, const int *s, int cmp, T v,                \
                                        cudaStream_t stream)                                       \
        { gshmemx_##NAME##_wait_until_all_on_stream(i, n, s, cmp, v, stream); }                    \
        static void until_all_vector_on_stream(T *i, size_t n, const int *s, int cmp, T *v,        \
                                               cudaStream_t stream)                                \
        { gshmemx_##NAME##_wait_until_all_vector_on_stream(i, n, s, cmp, v, stream); }             \
    };
GSHMEM_TYPES_WAIT(TYPE)
#undef TYPE
/* clang-format on */

#endif
