/* SPDX-License-Identifier: Apache-2.0
 * Part of api.cuh: waits and tests by type [hd]. */
#ifndef GSHMEM_API_WAIT_CUH
#define GSHMEM_API_WAIT_CUH

/* ---- waits and tests ------------------------------------------------------------------------- */

/* VALUE: T cmp_value, or (the vector forms) T *cmp_values. */
#define GSHMEM_FORM(R, CALL, NAME, T, VALUE, ARGUMENT)                                          \
    GSHMEM_LAZY GSHMEM_HD R gshmem_##NAME##_##CALL(T *ivars, size_t nelems, const int *status,  \
                                                   int cmp, VALUE GSHMEM_SITE)                  \
    {                                                                                           \
        return GSHMEM_EITHER(                                                                   \
            CALL(GSHMEM_HERE, ivars, nelems, status, cmp, ARGUMENT, "gshmem_" #NAME "_" #CALL), \
            gshmem_##NAME##_##CALL(ivars, nelems, status, cmp, ARGUMENT));                      \
    }
#define GSHMEM_SOME(CALL, NAME, T, VALUE, ARGUMENT)                                              \
    GSHMEM_LAZY GSHMEM_HD size_t gshmem_##NAME##_##CALL(                                         \
        T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, VALUE GSHMEM_SITE) \
    {                                                                                            \
        return GSHMEM_EITHER(                                                                    \
            CALL(GSHMEM_HERE, ivars, nelems, indices, status, cmp, ARGUMENT,                     \
                 "gshmem_" #NAME "_" #CALL),                                                     \
            gshmem_##NAME##_##CALL(ivars, nelems, indices, status, cmp, ARGUMENT));              \
    }
#define GSHMEM_WAIT(NAME, T)                                                                   \
    GSHMEM_LAZY GSHMEM_HD void gshmem_##NAME##_wait_until(T *ivar, int cmp,                    \
                                                          T cmp_value GSHMEM_SITE)             \
    {                                                                                          \
        GSHMEM_EITHER(                                                                         \
            wait_until(GSHMEM_HERE, ivar, cmp, cmp_value, "gshmem_" #NAME "_wait_until"),      \
            gshmem_##NAME##_wait_until(ivar, cmp, cmp_value));                                 \
    }                                                                                          \
    GSHMEM_LAZY GSHMEM_HD int gshmem_##NAME##_test(T *ivar, int cmp, T cmp_value GSHMEM_SITE)  \
    {                                                                                          \
        return GSHMEM_EITHER(test(GSHMEM_HERE, ivar, cmp, cmp_value, "gshmem_" #NAME "_test"), \
                             gshmem_##NAME##_test(ivar, cmp, cmp_value));                      \
    }                                                                                          \
    GSHMEM_FORM(void, wait_until_all, NAME, T, T cmp_value, cmp_value)                         \
    GSHMEM_FORM(size_t, wait_until_any, NAME, T, T cmp_value, cmp_value)                       \
    GSHMEM_SOME(wait_until_some, NAME, T, T cmp_value, cmp_value)                              \
    GSHMEM_FORM(void, wait_until_all_vector, NAME, T, T *cmp_values, cmp_values)               \
    GSHMEM_FORM(size_t, wait_until_any_vector, NAME, T, T *cmp_values, cmp_values)             \
    GSHMEM_SOME(wait_until_some_vector, NAME, T, T *cmp_values, cmp_values)                    \
    GSHMEM_FORM(int, test_all, NAME, T, T cmp_value, cmp_value)                                \
    GSHMEM_FORM(size_t, test_any, NAME, T, T cmp_value, cmp_value)                             \
    GSHMEM_SOME(test_some, NAME, T, T cmp_value, cmp_value)                                    \
    GSHMEM_FORM(int, test_all_vector, NAME, T, T *cmp_values, cmp_values)                      \
    GSHMEM_FORM(size_t, test_any_vector, NAME, T, T *cmp_values, cmp_values)                   \
    GSHMEM_SOME(test_some_vector, NAME, T, T *cmp_values, cmp_values)
GSHMEM_TYPES_WAIT(GSHMEM_WAIT)
#undef GSHMEM_WAIT
#undef GSHMEM_SOME
#undef GSHMEM_FORM

#endif
