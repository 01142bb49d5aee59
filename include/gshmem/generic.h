/* SPDX-License-Identifier: Apache-2.0
 * The generic interfaces of OpenSHMEM 1.5: gshmem_put(dest, source, nelems, pe) and the rest choose
 * the typed call (contracts in gshmem/typed.h) by what dest, source or ivar points to: with
 * _Generic in C11, by overloads in C++, which exist in kernels as well. All but the waits and tests
 * also take a context as the first argument: gshmem_put(ctx, dest, source, nelems, pe). Since 0.1.
 */
#ifndef GSHMEM_GENERIC_H
#define GSHMEM_GENERIC_H

#include "gshmem/detail/call_sites.h"
#include "gshmem/typed.h"
#ifdef GSHMEM_DEVICE_CODE
#include "gshmem_device.cuh" /* the calls themselves */
#endif

/* The sets, each C type once: rows that are distinct and in the set. The bitwise set has two types
 * that only fixed-width rows name. */
#define GSHMEM_IF_00(M, name, type)
#define GSHMEM_IF_01(M, name, type)
#define GSHMEM_IF_10(M, name, type)
#define GSHMEM_IF_11(M, name, type) M(name, type)
#define GSHMEM_GENERIC_SEL_STD(M, distinct, std, ext, bit, wait, logic, arith, name, type) \
    GSHMEM_IF_##distinct##std(M, name, type)
#define GSHMEM_GENERIC_SEL_EXT(M, distinct, std, ext, bit, wait, logic, arith, name, type) \
    GSHMEM_IF_##distinct##ext(M, name, type)
#define GSHMEM_GENERIC_SEL_BIT(M, distinct, std, ext, bit, wait, logic, arith, name, type) \
    GSHMEM_IF_##distinct##bit(M, name, type)
#define GSHMEM_GENERIC_SEL_WAIT(M, distinct, std, ext, bit, wait, logic, arith, name, type) \
    GSHMEM_IF_##distinct##wait(M, name, type)
#define GSHMEM_GENERIC_RMA(M)  GSHMEM_TYPES_DISTINCT(M)
#define GSHMEM_GENERIC_STD(M)  GSHMEM_TYPE_TABLE(GSHMEM_GENERIC_SEL_STD, M)
#define GSHMEM_GENERIC_EXT(M)  GSHMEM_TYPE_TABLE(GSHMEM_GENERIC_SEL_EXT, M)
#define GSHMEM_GENERIC_WAIT(M) GSHMEM_TYPE_TABLE(GSHMEM_GENERIC_SEL_WAIT, M)
#define GSHMEM_GENERIC_BIT(M) \
    GSHMEM_TYPE_TABLE(GSHMEM_GENERIC_SEL_BIT, M) M(int32, int32_t) M(int64, int64_t)

#if defined(__cplusplus)

/* ---- C++: overloads -------------------------------------------------------------------------- */

/* In files with kernels these are templates, so those not called are not compiled. */
#if defined(GSHMEM_DEVICE_CODE)
#define GSHMEM_OVERLOAD template <int unused = 0> static inline __host__ __device__
#else
#define GSHMEM_OVERLOAD static inline
#endif

#define GSHMEM_CALL(name) gshmem_##name
#define GSHMEM_CTX
#define GSHMEM_CTX_ARG
#include "gshmem/detail/overloads.h"
#undef GSHMEM_CALL
#undef GSHMEM_CTX
#undef GSHMEM_CTX_ARG

#define GSHMEM_CALL(name) gshmem_ctx_##name
#define GSHMEM_CTX        gshmem_ctx_t ctx,
#define GSHMEM_CTX_ARG    ctx,
#include "gshmem/detail/overloads.h"
#undef GSHMEM_CALL
#undef GSHMEM_CTX
#undef GSHMEM_CTX_ARG

#define GSHMEM_OVERLOADS(NAME, T)                                                                  \
    GSHMEM_OVERLOAD void gshmem_wait_until(T *ivar, int cmp, T cmp_value GSHMEM_SITE)              \
    {                                                                                              \
        gshmem_##NAME##_wait_until(ivar, cmp, cmp_value GSHMEM_PASS_SITE);                         \
    }                                                                                              \
    GSHMEM_OVERLOAD int gshmem_test(T *ivar, int cmp, T cmp_value GSHMEM_SITE)                     \
    {                                                                                              \
        return gshmem_##NAME##_test(ivar, cmp, cmp_value GSHMEM_PASS_SITE);                        \
    }                                                                                              \
    GSHMEM_OVERLOAD void gshmem_wait_until_all(T *ivars, size_t nelems, const int *status,         \
                                               int cmp, T cmp_value GSHMEM_SITE)                   \
    {                                                                                              \
        gshmem_##NAME##_wait_until_all(ivars, nelems, status, cmp, cmp_value GSHMEM_PASS_SITE);    \
    }                                                                                              \
    GSHMEM_OVERLOAD size_t gshmem_wait_until_any(T *ivars, size_t nelems, const int *status,       \
                                                 int cmp, T cmp_value GSHMEM_SITE)                 \
    {                                                                                              \
        return gshmem_##NAME##_wait_until_any(ivars, nelems, status, cmp,                          \
                                              cmp_value GSHMEM_PASS_SITE);                         \
    }                                                                                              \
    GSHMEM_OVERLOAD size_t gshmem_wait_until_some(T *ivars, size_t nelems, size_t *indices,        \
                                                  const int *status, int cmp,                      \
                                                  T cmp_value GSHMEM_SITE)                         \
    {                                                                                              \
        return gshmem_##NAME##_wait_until_some(ivars, nelems, indices, status, cmp,                \
                                               cmp_value GSHMEM_PASS_SITE);                        \
    }                                                                                              \
    GSHMEM_OVERLOAD int gshmem_test_all(T *ivars, size_t nelems, const int *status, int cmp,       \
                                        T cmp_value GSHMEM_SITE)                                   \
    {                                                                                              \
        return gshmem_##NAME##_test_all(ivars, nelems, status, cmp, cmp_value GSHMEM_PASS_SITE);   \
    }                                                                                              \
    GSHMEM_OVERLOAD size_t gshmem_test_any(T *ivars, size_t nelems, const int *status, int cmp,    \
                                           T cmp_value GSHMEM_SITE)                                \
    {                                                                                              \
        return gshmem_##NAME##_test_any(ivars, nelems, status, cmp, cmp_value GSHMEM_PASS_SITE);   \
    }                                                                                              \
    GSHMEM_OVERLOAD size_t gshmem_test_some(T *ivars, size_t nelems, size_t *indices,              \
                                            const int *status, int cmp, T cmp_value GSHMEM_SITE)   \
    {                                                                                              \
        return gshmem_##NAME##_test_some(ivars, nelems, indices, status, cmp,                      \
                                         cmp_value GSHMEM_PASS_SITE);                              \
    }                                                                                              \
    GSHMEM_OVERLOAD void gshmem_wait_until_all_vector(T *ivars, size_t nelems, const int *status,  \
                                                      int cmp, T *cmp_values GSHMEM_SITE)          \
    {                                                                                              \
        gshmem_##NAME##_wait_until_all_vector(ivars, nelems, status, cmp,                          \
                                              cmp_values GSHMEM_PASS_SITE);                        \
    }                                                                                              \
    GSHMEM_OVERLOAD size_t gshmem_wait_until_any_vector(                                           \
        T *ivars, size_t nelems, const int *status, int cmp, T *cmp_values GSHMEM_SITE)            \
    {                                                                                              \
        return gshmem_##NAME##_wait_until_any_vector(ivars, nelems, status, cmp,                   \
                                                     cmp_values GSHMEM_PASS_SITE);                 \
    }                                                                                              \
    GSHMEM_OVERLOAD size_t gshmem_wait_until_some_vector(T *ivars, size_t nelems, size_t *indices, \
                                                         const int *status, int cmp,               \
                                                         T *cmp_values GSHMEM_SITE)                \
    {                                                                                              \
        return gshmem_##NAME##_wait_until_some_vector(ivars, nelems, indices, status, cmp,         \
                                                      cmp_values GSHMEM_PASS_SITE);                \
    }                                                                                              \
    GSHMEM_OVERLOAD int gshmem_test_all_vector(T *ivars, size_t nelems, const int *status,         \
                                               int cmp, T *cmp_values GSHMEM_SITE)                 \
    {                                                                                              \
        return gshmem_##NAME##_test_all_vector(ivars, nelems, status, cmp,                         \
                                               cmp_values GSHMEM_PASS_SITE);                       \
    }                                                                                              \
    GSHMEM_OVERLOAD size_t gshmem_test_any_vector(T *ivars, size_t nelems, const int *status,      \
                                                  int cmp, T *cmp_values GSHMEM_SITE)              \
    {                                                                                              \
        return gshmem_##NAME##_test_any_vector(ivars, nelems, status, cmp,                         \
                                               cmp_values GSHMEM_PASS_SITE);                       \
    }                                                                                              \
    GSHMEM_OVERLOAD size_t gshmem_test_some_vector(T *ivars, size_t nelems, size_t *indices,       \
                                                   const int *status, int cmp,                     \
                                                   T *cmp_values GSHMEM_SITE)                      \
    {                                                                                              \
        return gshmem_##NAME##_test_some_vector(ivars, nelems, indices, status, cmp,               \
                                                cmp_values GSHMEM_PASS_SITE);                      \
    }
GSHMEM_GENERIC_WAIT(GSHMEM_OVERLOADS)
#undef GSHMEM_OVERLOADS

#undef GSHMEM_OVERLOAD

#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

/* ---- C11: _Generic --------------------------------------------------------------------------- */

/* Each arm begins with its comma; a first arm that nothing matches precedes them. The choice is by
 * the value that the pointer points to, so const does not matter. */
struct gshmem_no_type {
    char unused;
};
#define GSHMEM_CHOOSE(pointer, SET, ARM)  _Generic(*(pointer), struct gshmem_no_type : 0 SET(ARM))

/* With a context in front, recognised by its type; the call then gets all arguments unchanged. An
 * argument that holds a comma outside parentheses, as a compound literal of several elements does,
 * reaches a macro as several. The first argument is never one. The second may be a source, cut off
 * at its first comma; after a context it is dest. So, if it begins with parentheses, only their
 * contents are examined: the type of a cast, or an expression of dest's type. In gshmem_put(ctx,
 * (dests)[1], source, nelems, pe) the contents have another type, which is refused: it needs
 * parentheses around all of it: ((dests)[1]). */
#define GSHMEM_FIRST(first, ...)          first
#define GSHMEM_SECOND(first, second, ...) second
#define GSHMEM_ENCLOSED(...)              0, (*(__typeof__(__VA_ARGS__) *)0),
#define GSHMEM_AMONG(...)                 GSHMEM_SECOND(__VA_ARGS__)
#define GSHMEM_WHOLE(second)              GSHMEM_AMONG(GSHMEM_ENCLOSED second, (second), 0)
#define GSHMEM_POINTER(...)                                            \
    _Generic((GSHMEM_FIRST(__VA_ARGS__, 0)), gshmem_ctx_t              \
             : GSHMEM_WHOLE(GSHMEM_SECOND(__VA_ARGS__, 0, 0)), default \
             : (GSHMEM_FIRST(__VA_ARGS__, 0)))
#define GSHMEM_GENERIC(CALL, SET, ...) GSHMEM_AT_SITE(GSHMEM_GENERIC_CALL(CALL, SET, __VA_ARGS__))
#define GSHMEM_GENERIC_CALL(CALL, SET, ...)                                                    \
    _Generic((GSHMEM_FIRST(__VA_ARGS__, 0)), gshmem_ctx_t                                      \
             : GSHMEM_CHOOSE(GSHMEM_POINTER(__VA_ARGS__), SET, GSHMEM_CTX_ARM_##CALL), default \
             : GSHMEM_CHOOSE(GSHMEM_POINTER(__VA_ARGS__), SET, GSHMEM_ARM_##CALL))(__VA_ARGS__)
/* Without a context: waits and tests. */
#define GSHMEM_ON_WORDS(CALL, ...)                                                    \
    GSHMEM_AT_SITE(GSHMEM_CHOOSE((GSHMEM_FIRST(__VA_ARGS__, 0)), GSHMEM_GENERIC_WAIT, \
                                 GSHMEM_ARM_##CALL)(__VA_ARGS__))

#define GSHMEM_ARM_p(NAME, T)                       , T : gshmem_##NAME##_p
#define GSHMEM_CTX_ARM_p(NAME, T)                   , T : gshmem_ctx_##NAME##_p
#define gshmem_p(...)                               GSHMEM_GENERIC(p, GSHMEM_GENERIC_RMA, __VA_ARGS__)
#define GSHMEM_ARM_g(NAME, T)                       , T : gshmem_##NAME##_g
#define GSHMEM_CTX_ARM_g(NAME, T)                   , T : gshmem_ctx_##NAME##_g
#define gshmem_g(...)                               GSHMEM_GENERIC(g, GSHMEM_GENERIC_RMA, __VA_ARGS__)
#define GSHMEM_ARM_put(NAME, T)                     , T : gshmem_##NAME##_put
#define GSHMEM_CTX_ARM_put(NAME, T)                 , T : gshmem_ctx_##NAME##_put
#define gshmem_put(...)                             GSHMEM_GENERIC(put, GSHMEM_GENERIC_RMA, __VA_ARGS__)
#define GSHMEM_ARM_get(NAME, T)                     , T : gshmem_##NAME##_get
#define GSHMEM_CTX_ARM_get(NAME, T)                 , T : gshmem_ctx_##NAME##_get
#define gshmem_get(...)                             GSHMEM_GENERIC(get, GSHMEM_GENERIC_RMA, __VA_ARGS__)
#define GSHMEM_ARM_put_nbi(NAME, T)                 , T : gshmem_##NAME##_put_nbi
#define GSHMEM_CTX_ARM_put_nbi(NAME, T)             , T : gshmem_ctx_##NAME##_put_nbi
#define gshmem_put_nbi(...)                         GSHMEM_GENERIC(put_nbi, GSHMEM_GENERIC_RMA, __VA_ARGS__)
#define GSHMEM_ARM_get_nbi(NAME, T)                 , T : gshmem_##NAME##_get_nbi
#define GSHMEM_CTX_ARM_get_nbi(NAME, T)             , T : gshmem_ctx_##NAME##_get_nbi
#define gshmem_get_nbi(...)                         GSHMEM_GENERIC(get_nbi, GSHMEM_GENERIC_RMA, __VA_ARGS__)
#define GSHMEM_ARM_iput(NAME, T)                    , T : gshmem_##NAME##_iput
#define GSHMEM_CTX_ARM_iput(NAME, T)                , T : gshmem_ctx_##NAME##_iput
#define gshmem_iput(...)                            GSHMEM_GENERIC(iput, GSHMEM_GENERIC_RMA, __VA_ARGS__)
#define GSHMEM_ARM_iget(NAME, T)                    , T : gshmem_##NAME##_iget
#define GSHMEM_CTX_ARM_iget(NAME, T)                , T : gshmem_ctx_##NAME##_iget
#define gshmem_iget(...)                            GSHMEM_GENERIC(iget, GSHMEM_GENERIC_RMA, __VA_ARGS__)
#define GSHMEM_ARM_put_signal(NAME, T)              , T : gshmem_##NAME##_put_signal
#define GSHMEM_CTX_ARM_put_signal(NAME, T)          , T : gshmem_ctx_##NAME##_put_signal
#define gshmem_put_signal(...)                      GSHMEM_GENERIC(put_signal, GSHMEM_GENERIC_RMA, __VA_ARGS__)
#define GSHMEM_ARM_put_signal_nbi(NAME, T)          , T : gshmem_##NAME##_put_signal_nbi
#define GSHMEM_CTX_ARM_put_signal_nbi(NAME, T)      , T : gshmem_ctx_##NAME##_put_signal_nbi
#define gshmem_put_signal_nbi(...)                  GSHMEM_GENERIC(put_signal_nbi, GSHMEM_GENERIC_RMA, __VA_ARGS__)
#define GSHMEM_ARM_atomic_fetch(NAME, T)            , T : gshmem_##NAME##_atomic_fetch
#define GSHMEM_CTX_ARM_atomic_fetch(NAME, T)        , T : gshmem_ctx_##NAME##_atomic_fetch
#define gshmem_atomic_fetch(...)                    GSHMEM_GENERIC(atomic_fetch, GSHMEM_GENERIC_EXT, __VA_ARGS__)
#define GSHMEM_ARM_atomic_set(NAME, T)              , T : gshmem_##NAME##_atomic_set
#define GSHMEM_CTX_ARM_atomic_set(NAME, T)          , T : gshmem_ctx_##NAME##_atomic_set
#define gshmem_atomic_set(...)                      GSHMEM_GENERIC(atomic_set, GSHMEM_GENERIC_EXT, __VA_ARGS__)
#define GSHMEM_ARM_atomic_swap(NAME, T)             , T : gshmem_##NAME##_atomic_swap
#define GSHMEM_CTX_ARM_atomic_swap(NAME, T)         , T : gshmem_ctx_##NAME##_atomic_swap
#define gshmem_atomic_swap(...)                     GSHMEM_GENERIC(atomic_swap, GSHMEM_GENERIC_EXT, __VA_ARGS__)
#define GSHMEM_ARM_atomic_compare_swap(NAME, T)     , T : gshmem_##NAME##_atomic_compare_swap
#define GSHMEM_CTX_ARM_atomic_compare_swap(NAME, T) , T : gshmem_ctx_##NAME##_atomic_compare_swap
#define gshmem_atomic_compare_swap(...) \
    GSHMEM_GENERIC(atomic_compare_swap, GSHMEM_GENERIC_STD, __VA_ARGS__)
#define GSHMEM_ARM_atomic_fetch_inc(NAME, T)     , T : gshmem_##NAME##_atomic_fetch_inc
#define GSHMEM_CTX_ARM_atomic_fetch_inc(NAME, T) , T : gshmem_ctx_##NAME##_atomic_fetch_inc
#define gshmem_atomic_fetch_inc(...) \
    GSHMEM_GENERIC(atomic_fetch_inc, GSHMEM_GENERIC_STD, __VA_ARGS__)
#define GSHMEM_ARM_atomic_inc(NAME, T)           , T : gshmem_##NAME##_atomic_inc
#define GSHMEM_CTX_ARM_atomic_inc(NAME, T)       , T : gshmem_ctx_##NAME##_atomic_inc
#define gshmem_atomic_inc(...)                   GSHMEM_GENERIC(atomic_inc, GSHMEM_GENERIC_STD, __VA_ARGS__)
#define GSHMEM_ARM_atomic_fetch_add(NAME, T)     , T : gshmem_##NAME##_atomic_fetch_add
#define GSHMEM_CTX_ARM_atomic_fetch_add(NAME, T) , T : gshmem_ctx_##NAME##_atomic_fetch_add
#define gshmem_atomic_fetch_add(...) \
    GSHMEM_GENERIC(atomic_fetch_add, GSHMEM_GENERIC_STD, __VA_ARGS__)
#define GSHMEM_ARM_atomic_add(NAME, T)           , T : gshmem_##NAME##_atomic_add
#define GSHMEM_CTX_ARM_atomic_add(NAME, T)       , T : gshmem_ctx_##NAME##_atomic_add
#define gshmem_atomic_add(...)                   GSHMEM_GENERIC(atomic_add, GSHMEM_GENERIC_STD, __VA_ARGS__)
#define GSHMEM_ARM_atomic_fetch_and(NAME, T)     , T : gshmem_##NAME##_atomic_fetch_and
#define GSHMEM_CTX_ARM_atomic_fetch_and(NAME, T) , T : gshmem_ctx_##NAME##_atomic_fetch_and
#define gshmem_atomic_fetch_and(...) \
    GSHMEM_GENERIC(atomic_fetch_and, GSHMEM_GENERIC_BIT, __VA_ARGS__)
#define GSHMEM_ARM_atomic_and(NAME, T)           , T : gshmem_##NAME##_atomic_and
#define GSHMEM_CTX_ARM_atomic_and(NAME, T)       , T : gshmem_ctx_##NAME##_atomic_and
#define gshmem_atomic_and(...)                   GSHMEM_GENERIC(atomic_and, GSHMEM_GENERIC_BIT, __VA_ARGS__)
#define GSHMEM_ARM_atomic_fetch_or(NAME, T)      , T : gshmem_##NAME##_atomic_fetch_or
#define GSHMEM_CTX_ARM_atomic_fetch_or(NAME, T)  , T : gshmem_ctx_##NAME##_atomic_fetch_or
#define gshmem_atomic_fetch_or(...)              GSHMEM_GENERIC(atomic_fetch_or, GSHMEM_GENERIC_BIT, __VA_ARGS__)
#define GSHMEM_ARM_atomic_or(NAME, T)            , T : gshmem_##NAME##_atomic_or
#define GSHMEM_CTX_ARM_atomic_or(NAME, T)        , T : gshmem_ctx_##NAME##_atomic_or
#define gshmem_atomic_or(...)                    GSHMEM_GENERIC(atomic_or, GSHMEM_GENERIC_BIT, __VA_ARGS__)
#define GSHMEM_ARM_atomic_fetch_xor(NAME, T)     , T : gshmem_##NAME##_atomic_fetch_xor
#define GSHMEM_CTX_ARM_atomic_fetch_xor(NAME, T) , T : gshmem_ctx_##NAME##_atomic_fetch_xor
#define gshmem_atomic_fetch_xor(...) \
    GSHMEM_GENERIC(atomic_fetch_xor, GSHMEM_GENERIC_BIT, __VA_ARGS__)
#define GSHMEM_ARM_atomic_xor(NAME, T)           , T : gshmem_##NAME##_atomic_xor
#define GSHMEM_CTX_ARM_atomic_xor(NAME, T)       , T : gshmem_ctx_##NAME##_atomic_xor
#define gshmem_atomic_xor(...)                   GSHMEM_GENERIC(atomic_xor, GSHMEM_GENERIC_BIT, __VA_ARGS__)
#define GSHMEM_ARM_ibput(NAME, T)                , T : gshmem_##NAME##_ibput
#define GSHMEM_CTX_ARM_ibput(NAME, T)            , T : gshmem_ctx_##NAME##_ibput
#define gshmem_ibput(...)                        GSHMEM_GENERIC(ibput, GSHMEM_GENERIC_RMA, __VA_ARGS__)
#define GSHMEM_ARM_ibget(NAME, T)                , T : gshmem_##NAME##_ibget
#define GSHMEM_CTX_ARM_ibget(NAME, T)            , T : gshmem_ctx_##NAME##_ibget
#define gshmem_ibget(...)                        GSHMEM_GENERIC(ibget, GSHMEM_GENERIC_RMA, __VA_ARGS__)
#define GSHMEM_ARM_atomic_fetch_nbi(NAME, T)     , T : gshmem_##NAME##_atomic_fetch_nbi
#define GSHMEM_CTX_ARM_atomic_fetch_nbi(NAME, T) , T : gshmem_ctx_##NAME##_atomic_fetch_nbi
#define gshmem_atomic_fetch_nbi(...) \
    GSHMEM_GENERIC(atomic_fetch_nbi, GSHMEM_GENERIC_EXT, __VA_ARGS__)
#define GSHMEM_ARM_atomic_swap_nbi(NAME, T)         , T : gshmem_##NAME##_atomic_swap_nbi
#define GSHMEM_CTX_ARM_atomic_swap_nbi(NAME, T)     , T : gshmem_ctx_##NAME##_atomic_swap_nbi
#define gshmem_atomic_swap_nbi(...)                 GSHMEM_GENERIC(atomic_swap_nbi, GSHMEM_GENERIC_EXT, __VA_ARGS__)
#define GSHMEM_ARM_atomic_compare_swap_nbi(NAME, T) , T : gshmem_##NAME##_atomic_compare_swap_nbi
#define GSHMEM_CTX_ARM_atomic_compare_swap_nbi(NAME, T) \
    , T : gshmem_ctx_##NAME##_atomic_compare_swap_nbi
#define gshmem_atomic_compare_swap_nbi(...) \
    GSHMEM_GENERIC(atomic_compare_swap_nbi, GSHMEM_GENERIC_STD, __VA_ARGS__)
#define GSHMEM_ARM_atomic_fetch_inc_nbi(NAME, T)     , T : gshmem_##NAME##_atomic_fetch_inc_nbi
#define GSHMEM_CTX_ARM_atomic_fetch_inc_nbi(NAME, T) , T : gshmem_ctx_##NAME##_atomic_fetch_inc_nbi
#define gshmem_atomic_fetch_inc_nbi(...) \
    GSHMEM_GENERIC(atomic_fetch_inc_nbi, GSHMEM_GENERIC_STD, __VA_ARGS__)
#define GSHMEM_ARM_atomic_fetch_add_nbi(NAME, T)     , T : gshmem_##NAME##_atomic_fetch_add_nbi
#define GSHMEM_CTX_ARM_atomic_fetch_add_nbi(NAME, T) , T : gshmem_ctx_##NAME##_atomic_fetch_add_nbi
#define gshmem_atomic_fetch_add_nbi(...) \
    GSHMEM_GENERIC(atomic_fetch_add_nbi, GSHMEM_GENERIC_STD, __VA_ARGS__)
#define GSHMEM_ARM_atomic_fetch_and_nbi(NAME, T)     , T : gshmem_##NAME##_atomic_fetch_and_nbi
#define GSHMEM_CTX_ARM_atomic_fetch_and_nbi(NAME, T) , T : gshmem_ctx_##NAME##_atomic_fetch_and_nbi
#define gshmem_atomic_fetch_and_nbi(...) \
    GSHMEM_GENERIC(atomic_fetch_and_nbi, GSHMEM_GENERIC_BIT, __VA_ARGS__)
#define GSHMEM_ARM_atomic_fetch_or_nbi(NAME, T)     , T : gshmem_##NAME##_atomic_fetch_or_nbi
#define GSHMEM_CTX_ARM_atomic_fetch_or_nbi(NAME, T) , T : gshmem_ctx_##NAME##_atomic_fetch_or_nbi
#define gshmem_atomic_fetch_or_nbi(...) \
    GSHMEM_GENERIC(atomic_fetch_or_nbi, GSHMEM_GENERIC_BIT, __VA_ARGS__)
#define GSHMEM_ARM_atomic_fetch_xor_nbi(NAME, T)     , T : gshmem_##NAME##_atomic_fetch_xor_nbi
#define GSHMEM_CTX_ARM_atomic_fetch_xor_nbi(NAME, T) , T : gshmem_ctx_##NAME##_atomic_fetch_xor_nbi
#define gshmem_atomic_fetch_xor_nbi(...) \
    GSHMEM_GENERIC(atomic_fetch_xor_nbi, GSHMEM_GENERIC_BIT, __VA_ARGS__)
#define GSHMEM_ARM_wait_until(NAME, T)             , T : gshmem_##NAME##_wait_until
#define gshmem_wait_until(...)                     GSHMEM_ON_WORDS(wait_until, __VA_ARGS__)
#define GSHMEM_ARM_test(NAME, T)                   , T : gshmem_##NAME##_test
#define gshmem_test(...)                           GSHMEM_ON_WORDS(test, __VA_ARGS__)
#define GSHMEM_ARM_wait_until_all(NAME, T)         , T : gshmem_##NAME##_wait_until_all
#define gshmem_wait_until_all(...)                 GSHMEM_ON_WORDS(wait_until_all, __VA_ARGS__)
#define GSHMEM_ARM_wait_until_any(NAME, T)         , T : gshmem_##NAME##_wait_until_any
#define gshmem_wait_until_any(...)                 GSHMEM_ON_WORDS(wait_until_any, __VA_ARGS__)
#define GSHMEM_ARM_wait_until_some(NAME, T)        , T : gshmem_##NAME##_wait_until_some
#define gshmem_wait_until_some(...)                GSHMEM_ON_WORDS(wait_until_some, __VA_ARGS__)
#define GSHMEM_ARM_test_all(NAME, T)               , T : gshmem_##NAME##_test_all
#define gshmem_test_all(...)                       GSHMEM_ON_WORDS(test_all, __VA_ARGS__)
#define GSHMEM_ARM_test_any(NAME, T)               , T : gshmem_##NAME##_test_any
#define gshmem_test_any(...)                       GSHMEM_ON_WORDS(test_any, __VA_ARGS__)
#define GSHMEM_ARM_test_some(NAME, T)              , T : gshmem_##NAME##_test_some
#define gshmem_test_some(...)                      GSHMEM_ON_WORDS(test_some, __VA_ARGS__)
#define GSHMEM_ARM_wait_until_all_vector(NAME, T)  , T : gshmem_##NAME##_wait_until_all_vector
#define gshmem_wait_until_all_vector(...)          GSHMEM_ON_WORDS(wait_until_all_vector, __VA_ARGS__)
#define GSHMEM_ARM_wait_until_any_vector(NAME, T)  , T : gshmem_##NAME##_wait_until_any_vector
#define gshmem_wait_until_any_vector(...)          GSHMEM_ON_WORDS(wait_until_any_vector, __VA_ARGS__)
#define GSHMEM_ARM_wait_until_some_vector(NAME, T) , T : gshmem_##NAME##_wait_until_some_vector
#define gshmem_wait_until_some_vector(...)         GSHMEM_ON_WORDS(wait_until_some_vector, __VA_ARGS__)
#define GSHMEM_ARM_test_all_vector(NAME, T)        , T : gshmem_##NAME##_test_all_vector
#define gshmem_test_all_vector(...)                GSHMEM_ON_WORDS(test_all_vector, __VA_ARGS__)
#define GSHMEM_ARM_test_any_vector(NAME, T)        , T : gshmem_##NAME##_test_any_vector
#define gshmem_test_any_vector(...)                GSHMEM_ON_WORDS(test_any_vector, __VA_ARGS__)
#define GSHMEM_ARM_test_some_vector(NAME, T)       , T : gshmem_##NAME##_test_some_vector
#define gshmem_test_some_vector(...)               GSHMEM_ON_WORDS(test_some_vector, __VA_ARGS__)

#endif

#include "gshmem/generic_coll.h"

#endif
