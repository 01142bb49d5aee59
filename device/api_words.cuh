/* SPDX-License-Identifier: Apache-2.0
 * Part of api.cuh: atomics, waits and tests by type [hd]. */
#ifndef GSHMEM_API_WORDS_CUH
#define GSHMEM_API_WORDS_CUH

/* ---- atomics --------------------------------------------------------------------------------- */

#define GSHMEM_FETCH(OP, NAME, T)                                                      \
    GSHMEM_HD T gshmem_##NAME##_atomic_##OP(T *dest, T value, int pe)                  \
    {                                                                                  \
        return GSHMEM_EITHER(                                                          \
            atomic_##OP(GSHMEM_HERE, dest, value, pe, "gshmem_" #NAME "_atomic_" #OP), \
            gshmem_##NAME##_atomic_##OP(dest, value, pe));                             \
    }
#define GSHMEM_CHANGE(OP, NAME, T)                                                               \
    GSHMEM_HD void gshmem_##NAME##_atomic_##OP(T *dest, T value, int pe)                         \
    {                                                                                            \
        GSHMEM_EITHER(atomic_##OP(GSHMEM_HERE, dest, value, pe, "gshmem_" #NAME "_atomic_" #OP), \
                      gshmem_##NAME##_atomic_##OP(dest, value, pe));                             \
    }

#define GSHMEM_AMO(NAME, T)                                                               \
    GSHMEM_FETCH(fetch_add, NAME, T)                                                      \
    GSHMEM_CHANGE(add, NAME, T)                                                           \
    GSHMEM_HD T gshmem_##NAME##_atomic_compare_swap(T *dest, T cond, T value, int pe)     \
    {                                                                                     \
        return GSHMEM_EITHER(atomic_compare_swap(GSHMEM_HERE, dest, cond, value, pe,      \
                                                 "gshmem_" #NAME "_atomic_compare_swap"), \
                             gshmem_##NAME##_atomic_compare_swap(dest, cond, value, pe)); \
    }                                                                                     \
    GSHMEM_HD T gshmem_##NAME##_atomic_fetch_inc(T *dest, int pe)                         \
    {                                                                                     \
        return GSHMEM_EITHER(                                                             \
            atomic_fetch_inc(GSHMEM_HERE, dest, pe, "gshmem_" #NAME "_atomic_fetch_inc"), \
            gshmem_##NAME##_atomic_fetch_inc(dest, pe));                                  \
    }                                                                                     \
    GSHMEM_HD void gshmem_##NAME##_atomic_inc(T *dest, int pe)                            \
    {                                                                                     \
        GSHMEM_EITHER(atomic_inc(GSHMEM_HERE, dest, pe, "gshmem_" #NAME "_atomic_inc"),   \
                      gshmem_##NAME##_atomic_inc(dest, pe));                              \
    }
GSHMEM_TYPES_AMO_STD(GSHMEM_AMO)
#undef GSHMEM_AMO

#define GSHMEM_AMO(NAME, T)                                                         \
    GSHMEM_FETCH(swap, NAME, T)                                                     \
    GSHMEM_CHANGE(set, NAME, T)                                                     \
    GSHMEM_HD T gshmem_##NAME##_atomic_fetch(const T *source, int pe)               \
    {                                                                               \
        return GSHMEM_EITHER(                                                       \
            atomic_fetch(GSHMEM_HERE, source, pe, "gshmem_" #NAME "_atomic_fetch"), \
            gshmem_##NAME##_atomic_fetch(source, pe));                              \
    }
GSHMEM_TYPES_AMO_EXT(GSHMEM_AMO)
#undef GSHMEM_AMO

#define GSHMEM_AMO(NAME, T)          \
    GSHMEM_FETCH(fetch_and, NAME, T) \
    GSHMEM_CHANGE(and, NAME, T)      \
    GSHMEM_FETCH(fetch_or, NAME, T)  \
    GSHMEM_CHANGE(or, NAME, T)       \
    GSHMEM_FETCH(fetch_xor, NAME, T) \
    GSHMEM_CHANGE(xor, NAME, T)
GSHMEM_TYPES_AMO_BIT(GSHMEM_AMO)
#undef GSHMEM_AMO
#undef GSHMEM_FETCH
#undef GSHMEM_CHANGE

/* ---- waits and tests ------------------------------------------------------------------------- */

/* VALUE: T cmp_value, or (the vector forms) T *cmp_values. */
#define GSHMEM_FORM(R, CALL, NAME, T, VALUE, ARGUMENT)                                             \
    GSHMEM_HD R gshmem_##NAME##_##CALL(T *ivars, size_t nelems, const int *status, int cmp, VALUE) \
    {                                                                                              \
        return GSHMEM_EITHER(                                                                      \
            CALL(GSHMEM_HERE, ivars, nelems, status, cmp, ARGUMENT, "gshmem_" #NAME "_" #CALL),    \
            gshmem_##NAME##_##CALL(ivars, nelems, status, cmp, ARGUMENT));                         \
    }
#define GSHMEM_SOME(CALL, NAME, T, VALUE, ARGUMENT)                                   \
    GSHMEM_HD size_t gshmem_##NAME##_##CALL(T *ivars, size_t nelems, size_t *indices, \
                                            const int *status, int cmp, VALUE)        \
    {                                                                                 \
        return GSHMEM_EITHER(                                                         \
            CALL(GSHMEM_HERE, ivars, nelems, indices, status, cmp, ARGUMENT,          \
                 "gshmem_" #NAME "_" #CALL),                                          \
            gshmem_##NAME##_##CALL(ivars, nelems, indices, status, cmp, ARGUMENT));   \
    }
#define GSHMEM_WAIT(NAME, T)                                                                   \
    GSHMEM_HD void gshmem_##NAME##_wait_until(T *ivar, int cmp, T cmp_value)                   \
    {                                                                                          \
        GSHMEM_EITHER(                                                                         \
            wait_until(GSHMEM_HERE, ivar, cmp, cmp_value, "gshmem_" #NAME "_wait_until"),      \
            gshmem_##NAME##_wait_until(ivar, cmp, cmp_value));                                 \
    }                                                                                          \
    GSHMEM_HD int gshmem_##NAME##_test(T *ivar, int cmp, T cmp_value)                          \
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
