/* SPDX-License-Identifier: Apache-2.0
 * Not for users' programs. The C++ overloads that exist with and without a context:
 * gshmem/generic.h includes this for each, after it has defined the typed names, GSHMEM_CALL, and
 * the first parameter and argument, GSHMEM_CTX and GSHMEM_CTX_ARG. */

#define GSHMEM_OVERLOADS(NAME, T)                                                                  \
    GSHMEM_OVERLOAD void gshmem_p(GSHMEM_CTX T *dest, T value, int pe GSHMEM_SITE)                 \
    {                                                                                              \
        GSHMEM_CALL(NAME##_p)(GSHMEM_CTX_ARG dest, value, pe GSHMEM_PASS_SITE);                    \
    }                                                                                              \
    GSHMEM_OVERLOAD T gshmem_g(GSHMEM_CTX const T *source, int pe GSHMEM_SITE)                     \
    {                                                                                              \
        return GSHMEM_CALL(NAME##_g)(GSHMEM_CTX_ARG source, pe GSHMEM_PASS_SITE);                  \
    }                                                                                              \
    GSHMEM_OVERLOAD void gshmem_put(GSHMEM_CTX T *dest, const T *source, size_t nelems,            \
                                    int pe GSHMEM_SITE)                                            \
    {                                                                                              \
        GSHMEM_CALL(NAME##_put)(GSHMEM_CTX_ARG dest, source, nelems, pe GSHMEM_PASS_SITE);         \
    }                                                                                              \
    GSHMEM_OVERLOAD void gshmem_get(GSHMEM_CTX T *dest, const T *source, size_t nelems,            \
                                    int pe GSHMEM_SITE)                                            \
    {                                                                                              \
        GSHMEM_CALL(NAME##_get)(GSHMEM_CTX_ARG dest, source, nelems, pe GSHMEM_PASS_SITE);         \
    }                                                                                              \
    GSHMEM_OVERLOAD void gshmem_put_nbi(GSHMEM_CTX T *dest, const T *source, size_t nelems,        \
                                        int pe GSHMEM_SITE)                                        \
    {                                                                                              \
        GSHMEM_CALL(NAME##_put_nbi)(GSHMEM_CTX_ARG dest, source, nelems, pe GSHMEM_PASS_SITE);     \
    }                                                                                              \
    GSHMEM_OVERLOAD void gshmem_get_nbi(GSHMEM_CTX T *dest, const T *source, size_t nelems,        \
                                        int pe GSHMEM_SITE)                                        \
    {                                                                                              \
        GSHMEM_CALL(NAME##_get_nbi)(GSHMEM_CTX_ARG dest, source, nelems, pe GSHMEM_PASS_SITE);     \
    }                                                                                              \
    GSHMEM_OVERLOAD void gshmem_iput(GSHMEM_CTX T *dest, const T *source, ptrdiff_t dst,           \
                                     ptrdiff_t sst, size_t nelems, int pe GSHMEM_SITE)             \
    {                                                                                              \
        GSHMEM_CALL(NAME##_iput)                                                                   \
        (GSHMEM_CTX_ARG dest, source, dst, sst, nelems, pe GSHMEM_PASS_SITE);                      \
    }                                                                                              \
    GSHMEM_OVERLOAD void gshmem_iget(GSHMEM_CTX T *dest, const T *source, ptrdiff_t dst,           \
                                     ptrdiff_t sst, size_t nelems, int pe GSHMEM_SITE)             \
    {                                                                                              \
        GSHMEM_CALL(NAME##_iget)                                                                   \
        (GSHMEM_CTX_ARG dest, source, dst, sst, nelems, pe GSHMEM_PASS_SITE);                      \
    }                                                                                              \
    GSHMEM_OVERLOAD void gshmem_put_signal(GSHMEM_CTX T *dest, const T *source, size_t nelems,     \
                                           uint64_t *sig_addr, uint64_t signal, int sig_op,        \
                                           int pe GSHMEM_SITE)                                     \
    {                                                                                              \
        GSHMEM_CALL(NAME##_put_signal)                                                             \
        (GSHMEM_CTX_ARG dest, source, nelems, sig_addr, signal, sig_op, pe GSHMEM_PASS_SITE);      \
    }                                                                                              \
    GSHMEM_OVERLOAD void gshmem_put_signal_nbi(GSHMEM_CTX T *dest, const T *source, size_t nelems, \
                                               uint64_t *sig_addr, uint64_t signal, int sig_op,    \
                                               int pe GSHMEM_SITE)                                 \
    {                                                                                              \
        GSHMEM_CALL(NAME##_put_signal_nbi)                                                         \
        (GSHMEM_CTX_ARG dest, source, nelems, sig_addr, signal, sig_op, pe GSHMEM_PASS_SITE);      \
    }
GSHMEM_GENERIC_RMA(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS

#define GSHMEM_OVERLOADS(NAME, T)                                                                \
    GSHMEM_OVERLOAD T gshmem_atomic_fetch(GSHMEM_CTX const T *source, int pe GSHMEM_SITE)        \
    {                                                                                            \
        return GSHMEM_CALL(NAME##_atomic_fetch)(GSHMEM_CTX_ARG source, pe GSHMEM_PASS_SITE);     \
    }                                                                                            \
    GSHMEM_OVERLOAD void gshmem_atomic_set(GSHMEM_CTX T *dest, T value, int pe GSHMEM_SITE)      \
    {                                                                                            \
        GSHMEM_CALL(NAME##_atomic_set)(GSHMEM_CTX_ARG dest, value, pe GSHMEM_PASS_SITE);         \
    }                                                                                            \
    GSHMEM_OVERLOAD T gshmem_atomic_swap(GSHMEM_CTX T *dest, T value, int pe GSHMEM_SITE)        \
    {                                                                                            \
        return GSHMEM_CALL(NAME##_atomic_swap)(GSHMEM_CTX_ARG dest, value, pe GSHMEM_PASS_SITE); \
    }
GSHMEM_GENERIC_EXT(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS

#define GSHMEM_OVERLOADS(NAME, T)                                                              \
    GSHMEM_OVERLOAD T gshmem_atomic_compare_swap(GSHMEM_CTX T *dest, T cond, T value,          \
                                                 int pe GSHMEM_SITE)                           \
    {                                                                                          \
        return GSHMEM_CALL(NAME##_atomic_compare_swap)(GSHMEM_CTX_ARG dest, cond, value,       \
                                                       pe GSHMEM_PASS_SITE);                   \
    }                                                                                          \
    GSHMEM_OVERLOAD T gshmem_atomic_fetch_inc(GSHMEM_CTX T *dest, int pe GSHMEM_SITE)          \
    {                                                                                          \
        return GSHMEM_CALL(NAME##_atomic_fetch_inc)(GSHMEM_CTX_ARG dest, pe GSHMEM_PASS_SITE); \
    }                                                                                          \
    GSHMEM_OVERLOAD void gshmem_atomic_inc(GSHMEM_CTX T *dest, int pe GSHMEM_SITE)             \
    {                                                                                          \
        GSHMEM_CALL(NAME##_atomic_inc)(GSHMEM_CTX_ARG dest, pe GSHMEM_PASS_SITE);              \
    }                                                                                          \
    GSHMEM_OVERLOAD T gshmem_atomic_fetch_add(GSHMEM_CTX T *dest, T value, int pe GSHMEM_SITE) \
    {                                                                                          \
        return GSHMEM_CALL(NAME##_atomic_fetch_add)(GSHMEM_CTX_ARG dest, value,                \
                                                    pe GSHMEM_PASS_SITE);                      \
    }                                                                                          \
    GSHMEM_OVERLOAD void gshmem_atomic_add(GSHMEM_CTX T *dest, T value, int pe GSHMEM_SITE)    \
    {                                                                                          \
        GSHMEM_CALL(NAME##_atomic_add)(GSHMEM_CTX_ARG dest, value, pe GSHMEM_PASS_SITE);       \
    }
GSHMEM_GENERIC_STD(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS

#define GSHMEM_OVERLOADS(NAME, T)                                                              \
    GSHMEM_OVERLOAD T gshmem_atomic_fetch_and(GSHMEM_CTX T *dest, T value, int pe GSHMEM_SITE) \
    {                                                                                          \
        return GSHMEM_CALL(NAME##_atomic_fetch_and)(GSHMEM_CTX_ARG dest, value,                \
                                                    pe GSHMEM_PASS_SITE);                      \
    }                                                                                          \
    GSHMEM_OVERLOAD void gshmem_atomic_and(GSHMEM_CTX T *dest, T value, int pe GSHMEM_SITE)    \
    {                                                                                          \
        GSHMEM_CALL(NAME##_atomic_and)(GSHMEM_CTX_ARG dest, value, pe GSHMEM_PASS_SITE);       \
    }                                                                                          \
    GSHMEM_OVERLOAD T gshmem_atomic_fetch_or(GSHMEM_CTX T *dest, T value, int pe GSHMEM_SITE)  \
    {                                                                                          \
        return GSHMEM_CALL(NAME##_atomic_fetch_or)(GSHMEM_CTX_ARG dest, value,                 \
                                                   pe GSHMEM_PASS_SITE);                       \
    }                                                                                          \
    GSHMEM_OVERLOAD void gshmem_atomic_or(GSHMEM_CTX T *dest, T value, int pe GSHMEM_SITE)     \
    {                                                                                          \
        GSHMEM_CALL(NAME##_atomic_or)(GSHMEM_CTX_ARG dest, value, pe GSHMEM_PASS_SITE);        \
    }                                                                                          \
    GSHMEM_OVERLOAD T gshmem_atomic_fetch_xor(GSHMEM_CTX T *dest, T value, int pe GSHMEM_SITE) \
    {                                                                                          \
        return GSHMEM_CALL(NAME##_atomic_fetch_xor)(GSHMEM_CTX_ARG dest, value,                \
                                                    pe GSHMEM_PASS_SITE);                      \
    }                                                                                          \
    GSHMEM_OVERLOAD void gshmem_atomic_xor(GSHMEM_CTX T *dest, T value, int pe GSHMEM_SITE)    \
    {                                                                                          \
        GSHMEM_CALL(NAME##_atomic_xor)(GSHMEM_CTX_ARG dest, value, pe GSHMEM_PASS_SITE);       \
    }
GSHMEM_GENERIC_BIT(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS

#define GSHMEM_OVERLOADS(NAME, T)                                                         \
    GSHMEM_OVERLOAD void gshmem_ibput(GSHMEM_CTX T *dest, const T *source, ptrdiff_t dst, \
                                      ptrdiff_t sst, size_t bsize, size_t nblocks,        \
                                      int pe GSHMEM_SITE)                                 \
    {                                                                                     \
        GSHMEM_CALL(NAME##_ibput)                                                         \
        (GSHMEM_CTX_ARG dest, source, dst, sst, bsize, nblocks, pe GSHMEM_PASS_SITE);     \
    }                                                                                     \
    GSHMEM_OVERLOAD void gshmem_ibget(GSHMEM_CTX T *dest, const T *source, ptrdiff_t dst, \
                                      ptrdiff_t sst, size_t bsize, size_t nblocks,        \
                                      int pe GSHMEM_SITE)                                 \
    {                                                                                     \
        GSHMEM_CALL(NAME##_ibget)                                                         \
        (GSHMEM_CTX_ARG dest, source, dst, sst, bsize, nblocks, pe GSHMEM_PASS_SITE);     \
    }
GSHMEM_GENERIC_RMA(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS

#define GSHMEM_FETCH(OP, NAME, T)                                                        \
    GSHMEM_OVERLOAD void gshmem_atomic_##OP##_nbi(GSHMEM_CTX T *fetch, T *dest, T value, \
                                                  int pe GSHMEM_SITE)                    \
    {                                                                                    \
        GSHMEM_CALL(NAME##_atomic_##OP##_nbi)                                            \
        (GSHMEM_CTX_ARG fetch, dest, value, pe GSHMEM_PASS_SITE);                        \
    }
#define GSHMEM_OVERLOADS(NAME, T)                                                                \
    GSHMEM_OVERLOAD void gshmem_atomic_fetch_nbi(GSHMEM_CTX T *fetch, const T *source,           \
                                                 int pe GSHMEM_SITE)                             \
    {                                                                                            \
        GSHMEM_CALL(NAME##_atomic_fetch_nbi)(GSHMEM_CTX_ARG fetch, source, pe GSHMEM_PASS_SITE); \
    }                                                                                            \
    GSHMEM_FETCH(swap, NAME, T)
GSHMEM_GENERIC_EXT(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS

#define GSHMEM_OVERLOADS(NAME, T)                                                                  \
    GSHMEM_OVERLOAD void gshmem_atomic_compare_swap_nbi(GSHMEM_CTX T *fetch, T *dest, T cond,      \
                                                        T value, int pe GSHMEM_SITE)               \
    {                                                                                              \
        GSHMEM_CALL(NAME##_atomic_compare_swap_nbi)                                                \
        (GSHMEM_CTX_ARG fetch, dest, cond, value, pe GSHMEM_PASS_SITE);                            \
    }                                                                                              \
    GSHMEM_OVERLOAD void gshmem_atomic_fetch_inc_nbi(GSHMEM_CTX T *fetch, T *dest,                 \
                                                     int pe GSHMEM_SITE)                           \
    {                                                                                              \
        GSHMEM_CALL(NAME##_atomic_fetch_inc_nbi)(GSHMEM_CTX_ARG fetch, dest, pe GSHMEM_PASS_SITE); \
    }                                                                                              \
    GSHMEM_FETCH(fetch_add, NAME, T)
GSHMEM_GENERIC_STD(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS

#define GSHMEM_OVERLOADS(NAME, T)    \
    GSHMEM_FETCH(fetch_and, NAME, T) \
    GSHMEM_FETCH(fetch_or, NAME, T)  \
    GSHMEM_FETCH(fetch_xor, NAME, T)
GSHMEM_GENERIC_BIT(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS
#undef GSHMEM_FETCH
