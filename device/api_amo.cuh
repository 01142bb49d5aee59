/* SPDX-License-Identifier: Apache-2.0
 * Part of api.cuh, like api_rma.cuh: atomics by type [hd]. */

#define GSHMEM_FETCH(OP, NAME, T)                                                                  \
    GSHMEM_LAZY GSHMEM_HD T GSHMEM_CALL(NAME##_atomic_##OP)(GSHMEM_CTX T * dest, T value,          \
                                                            int pe GSHMEM_SITE)                    \
    {                                                                                              \
        return GSHMEM_EITHER(atomic_##OP(GSHMEM_HERE, dest, value, GSHMEM_TO(NAME##_atomic_##OP)), \
                             GSHMEM_CALL(NAME##_atomic_##OP)(GSHMEM_CTX_ARG dest, value, pe));     \
    }
#define GSHMEM_CHANGE(OP, NAME, T)                                                           \
    GSHMEM_LAZY GSHMEM_HD void GSHMEM_CALL(NAME##_atomic_##OP)(GSHMEM_CTX T * dest, T value, \
                                                               int pe GSHMEM_SITE)           \
    {                                                                                        \
        GSHMEM_EITHER(atomic_##OP(GSHMEM_HERE, dest, value, GSHMEM_TO(NAME##_atomic_##OP)),  \
                      GSHMEM_CALL(NAME##_atomic_##OP)(GSHMEM_CTX_ARG dest, value, pe));      \
    }

#define GSHMEM_AMO(NAME, T)                                                                      \
    GSHMEM_FETCH(fetch_add, NAME, T)                                                             \
    GSHMEM_CHANGE(add, NAME, T)                                                                  \
    GSHMEM_LAZY GSHMEM_HD T GSHMEM_CALL(NAME##_atomic_compare_swap)(GSHMEM_CTX T * dest, T cond, \
                                                                    T value, int pe GSHMEM_SITE) \
    {                                                                                            \
        return GSHMEM_EITHER(                                                                    \
            atomic_compare_swap(GSHMEM_HERE, dest, cond, value,                                  \
                                GSHMEM_TO(NAME##_atomic_compare_swap)),                          \
            GSHMEM_CALL(NAME##_atomic_compare_swap)(GSHMEM_CTX_ARG dest, cond, value, pe));      \
    }                                                                                            \
    GSHMEM_LAZY GSHMEM_HD T GSHMEM_CALL(NAME##_atomic_fetch_inc)(GSHMEM_CTX T * dest,            \
                                                                 int pe GSHMEM_SITE)             \
    {                                                                                            \
        return GSHMEM_EITHER(                                                                    \
            atomic_fetch_inc(GSHMEM_HERE, dest, GSHMEM_TO(NAME##_atomic_fetch_inc)),             \
            GSHMEM_CALL(NAME##_atomic_fetch_inc)(GSHMEM_CTX_ARG dest, pe));                      \
    }                                                                                            \
    GSHMEM_LAZY GSHMEM_HD void GSHMEM_CALL(NAME##_atomic_inc)(GSHMEM_CTX T * dest,               \
                                                              int pe GSHMEM_SITE)                \
    {                                                                                            \
        GSHMEM_EITHER(atomic_inc(GSHMEM_HERE, dest, GSHMEM_TO(NAME##_atomic_inc)),               \
                      GSHMEM_CALL(NAME##_atomic_inc)(GSHMEM_CTX_ARG dest, pe));                  \
    }
GSHMEM_TYPES_AMO_STD(GSHMEM_AMO)
#undef GSHMEM_AMO

#define GSHMEM_AMO(NAME, T)                                                                     \
    GSHMEM_FETCH(swap, NAME, T)                                                                 \
    GSHMEM_CHANGE(set, NAME, T)                                                                 \
    GSHMEM_LAZY GSHMEM_HD T GSHMEM_CALL(NAME##_atomic_fetch)(GSHMEM_CTX const T *source,        \
                                                             int pe GSHMEM_SITE)                \
    {                                                                                           \
        return GSHMEM_EITHER(atomic_fetch(GSHMEM_HERE, source, GSHMEM_TO(NAME##_atomic_fetch)), \
                             GSHMEM_CALL(NAME##_atomic_fetch)(GSHMEM_CTX_ARG source, pe));      \
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

/* ---- the fetching ones without waiting: the value before goes to *fetch ---- */

#define GSHMEM_FETCH(OP, NAME, T)                                                            \
    GSHMEM_LAZY GSHMEM_HD void GSHMEM_CALL(NAME##_atomic_##OP##_nbi)(                        \
        GSHMEM_CTX T * fetch, T * dest, T value, int pe GSHMEM_SITE)                         \
    {                                                                                        \
        GSHMEM_EITHER(                                                                       \
            detail::store_fetched(fetch,                                                     \
                                  gshmem::atomic_##OP(GSHMEM_HERE, dest, value,              \
                                                      GSHMEM_TO(NAME##_atomic_##OP##_nbi))), \
            GSHMEM_CALL(NAME##_atomic_##OP##_nbi)(GSHMEM_CTX_ARG fetch, dest, value, pe));   \
    }

#define GSHMEM_AMO(NAME, T)                                                                       \
    GSHMEM_FETCH(fetch_add, NAME, T)                                                              \
    GSHMEM_LAZY GSHMEM_HD void GSHMEM_CALL(NAME##_atomic_compare_swap_nbi)(                       \
        GSHMEM_CTX T * fetch, T * dest, T cond, T value, int pe GSHMEM_SITE)                      \
    {                                                                                             \
        GSHMEM_EITHER(                                                                            \
            detail::store_fetched(                                                                \
                fetch, gshmem::atomic_compare_swap(GSHMEM_HERE, dest, cond, value,                \
                                                   GSHMEM_TO(NAME##_atomic_compare_swap_nbi))),   \
            GSHMEM_CALL(NAME##_atomic_compare_swap_nbi)(GSHMEM_CTX_ARG fetch, dest, cond, value,  \
                                                        pe));                                     \
    }                                                                                             \
    GSHMEM_LAZY GSHMEM_HD void GSHMEM_CALL(NAME##_atomic_fetch_inc_nbi)(                          \
        GSHMEM_CTX T * fetch, T * dest, int pe GSHMEM_SITE)                                       \
    {                                                                                             \
        GSHMEM_EITHER(detail::store_fetched(                                                      \
                          fetch, gshmem::atomic_fetch_inc(                                        \
                                     GSHMEM_HERE, dest, GSHMEM_TO(NAME##_atomic_fetch_inc_nbi))), \
                      GSHMEM_CALL(NAME##_atomic_fetch_inc_nbi)(GSHMEM_CTX_ARG fetch, dest, pe));  \
    }
GSHMEM_TYPES_AMO_STD(GSHMEM_AMO)
#undef GSHMEM_AMO

#define GSHMEM_AMO(NAME, T)                                                                    \
    GSHMEM_FETCH(swap, NAME, T)                                                                \
    GSHMEM_LAZY GSHMEM_HD void GSHMEM_CALL(NAME##_atomic_fetch_nbi)(                           \
        GSHMEM_CTX T * fetch, const T *source, int pe GSHMEM_SITE)                             \
    {                                                                                          \
        GSHMEM_EITHER(detail::store_fetched(                                                   \
                          fetch, gshmem::atomic_fetch(GSHMEM_HERE, source,                     \
                                                      GSHMEM_TO(NAME##_atomic_fetch_nbi))),    \
                      GSHMEM_CALL(NAME##_atomic_fetch_nbi)(GSHMEM_CTX_ARG fetch, source, pe)); \
    }
GSHMEM_TYPES_AMO_EXT(GSHMEM_AMO)
#undef GSHMEM_AMO

#define GSHMEM_AMO(NAME, T)          \
    GSHMEM_FETCH(fetch_and, NAME, T) \
    GSHMEM_FETCH(fetch_or, NAME, T)  \
    GSHMEM_FETCH(fetch_xor, NAME, T)
GSHMEM_TYPES_AMO_BIT(GSHMEM_AMO)
#undef GSHMEM_AMO
#undef GSHMEM_FETCH
