/* SPDX-License-Identifier: Apache-2.0
 * Stamps the typed and sized definitions of the host calls from the type table. Each body is one
 * call to a body by byte count or width (host_calls.h), with the public name for messages. */
#include "gshmem.h"
#include "gshmemx.h"
#include "runtime/api/host_calls.h"

/* ---- put, get, p, g ---- */

#define RMA(NAME, T)                                                                               \
    void gshmem_##NAME##_p(T *dest, T value, int pe)                                               \
    {                                                                                              \
        gsh_p(GSH_CONTEXT_DEFAULT, "gshmem_" #NAME "_p", dest, &value, sizeof(T), pe);             \
    }                                                                                              \
    T gshmem_##NAME##_g(const T *source, int pe)                                                   \
    {                                                                                              \
        T value;                                                                                   \
        gsh_g(GSH_CONTEXT_DEFAULT, "gshmem_" #NAME "_g", &value, source, sizeof(T), pe);           \
        return value;                                                                              \
    }                                                                                              \
    void gshmem_##NAME##_put(T *dest, const T *source, size_t nelems, int pe)                      \
    {                                                                                              \
        gsh_put(GSH_CONTEXT_DEFAULT, "gshmem_" #NAME "_put", dest, source, nelems, sizeof(T), pe); \
    }                                                                                              \
    void gshmem_##NAME##_get(T *dest, const T *source, size_t nelems, int pe)                      \
    {                                                                                              \
        gsh_get(GSH_CONTEXT_DEFAULT, "gshmem_" #NAME "_get", dest, source, nelems, sizeof(T), pe); \
    }                                                                                              \
    void gshmem_##NAME##_put_nbi(T *dest, const T *source, size_t nelems, int pe)                  \
    {                                                                                              \
        gsh_put_nbi(GSH_CONTEXT_DEFAULT, "gshmem_" #NAME "_put_nbi", dest, source, nelems,         \
                    sizeof(T), pe);                                                                \
    }                                                                                              \
    void gshmem_##NAME##_get_nbi(T *dest, const T *source, size_t nelems, int pe)                  \
    {                                                                                              \
        gsh_get_nbi(GSH_CONTEXT_DEFAULT, "gshmem_" #NAME "_get_nbi", dest, source, nelems,         \
                    sizeof(T), pe);                                                                \
    }
GSHMEM_TYPES_RMA(RMA)
#undef RMA

#define SIZED(BITS, BYTES)                                                                       \
    void gshmem_put##BITS(void *dest, const void *source, size_t nelems, int pe)                 \
    {                                                                                            \
        gsh_put(GSH_CONTEXT_DEFAULT, "gshmem_put" #BITS, dest, source, nelems, BYTES, pe);       \
    }                                                                                            \
    void gshmem_get##BITS(void *dest, const void *source, size_t nelems, int pe)                 \
    {                                                                                            \
        gsh_get(GSH_CONTEXT_DEFAULT, "gshmem_get" #BITS, dest, source, nelems, BYTES, pe);       \
    }                                                                                            \
    void gshmem_put##BITS##_nbi(void *dest, const void *source, size_t nelems, int pe)           \
    {                                                                                            \
        gsh_put_nbi(GSH_CONTEXT_DEFAULT, "gshmem_put" #BITS "_nbi", dest, source, nelems, BYTES, \
                    pe);                                                                         \
    }                                                                                            \
    void gshmem_get##BITS##_nbi(void *dest, const void *source, size_t nelems, int pe)           \
    {                                                                                            \
        gsh_get_nbi(GSH_CONTEXT_DEFAULT, "gshmem_get" #BITS "_nbi", dest, source, nelems, BYTES, \
                    pe);                                                                         \
    }
GSHMEM_SIZES(SIZED)
#undef SIZED

/* ---- strided ---- */

#define STRIDED(NAME, T)                                                                       \
    void gshmem_##NAME##_iput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,          \
                              size_t nelems, int pe)                                           \
    {                                                                                          \
        gsh_iput(GSH_CONTEXT_DEFAULT, "gshmem_" #NAME "_iput", dest, source, dst, sst, nelems, \
                 sizeof(T), pe);                                                               \
    }                                                                                          \
    void gshmem_##NAME##_iget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,          \
                              size_t nelems, int pe)                                           \
    {                                                                                          \
        gsh_iget(GSH_CONTEXT_DEFAULT, "gshmem_" #NAME "_iget", dest, source, dst, sst, nelems, \
                 sizeof(T), pe);                                                               \
    }
GSHMEM_TYPES_RMA(STRIDED)
#undef STRIDED

#define SIZED(BITS, BYTES)                                                                        \
    void gshmem_iput##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,          \
                           size_t nelems, int pe)                                                 \
    {                                                                                             \
        gsh_iput(GSH_CONTEXT_DEFAULT, "gshmem_iput" #BITS, dest, source, dst, sst, nelems, BYTES, \
                 pe);                                                                             \
    }                                                                                             \
    void gshmem_iget##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,          \
                           size_t nelems, int pe)                                                 \
    {                                                                                             \
        gsh_iget(GSH_CONTEXT_DEFAULT, "gshmem_iget" #BITS, dest, source, dst, sst, nelems, BYTES, \
                 pe);                                                                             \
    }
GSHMEM_SIZES(SIZED)
#undef SIZED

/* ---- put with signal ---- */

#define PUT_SIGNAL(NAME, T)                                                                      \
    void gshmem_##NAME##_put_signal(T *dest, const T *source, size_t nelems, uint64_t *sig_addr, \
                                    uint64_t signal, int sig_op, int pe)                         \
    {                                                                                            \
        gsh_put_signal(GSH_CONTEXT_DEFAULT, "gshmem_" #NAME "_put_signal", dest, source, nelems, \
                       sizeof(T), sig_addr, signal, sig_op, pe);                                 \
    }                                                                                            \
    void gshmem_##NAME##_put_signal_nbi(T *dest, const T *source, size_t nelems,                 \
                                        uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    {                                                                                            \
        gsh_put_signal_nbi(GSH_CONTEXT_DEFAULT, "gshmem_" #NAME "_put_signal_nbi", dest, source, \
                           nelems, sizeof(T), sig_addr, signal, sig_op, pe);                     \
    }
GSHMEM_TYPES_RMA(PUT_SIGNAL)
#undef PUT_SIGNAL

#define SIZED(BITS, BYTES)                                                                      \
    void gshmem_put##BITS##_signal(void *dest, const void *source, size_t nelems,               \
                                   uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)     \
    {                                                                                           \
        gsh_put_signal(GSH_CONTEXT_DEFAULT, "gshmem_put" #BITS "_signal", dest, source, nelems, \
                       BYTES, sig_addr, signal, sig_op, pe);                                    \
    }                                                                                           \
    void gshmem_put##BITS##_signal_nbi(void *dest, const void *source, size_t nelems,           \
                                       uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    {                                                                                           \
        gsh_put_signal_nbi(GSH_CONTEXT_DEFAULT, "gshmem_put" #BITS "_signal_nbi", dest, source, \
                           nelems, BYTES, sig_addr, signal, sig_op, pe);                        \
    }
GSHMEM_SIZES(SIZED)
#undef SIZED

/* ---- atomics: FETCH returns the value before, SEND returns nothing ---- */

#define FETCH(NAME, T, CALL, OP, ARG)                                                            \
    {                                                                                            \
        T old;                                                                                   \
        gsh_amo(GSH_CONTEXT_DEFAULT, "gshmem_" #NAME "_atomic_" #CALL, OP, dest, sizeof(T), ARG, \
                NULL, &old, pe);                                                                 \
        return old;                                                                              \
    }
#define SEND(NAME, T, CALL, OP, ARG)                                                             \
    {                                                                                            \
        gsh_amo(GSH_CONTEXT_DEFAULT, "gshmem_" #NAME "_atomic_" #CALL, OP, dest, sizeof(T), ARG, \
                NULL, NULL, pe);                                                                 \
    }

#define AMO(NAME, T)                                                                               \
    T gshmem_##NAME##_atomic_compare_swap(T *dest, T cond, T value, int pe)                        \
    {                                                                                              \
        T old;                                                                                     \
        gsh_amo(GSH_CONTEXT_DEFAULT, "gshmem_" #NAME "_atomic_compare_swap", GSH_AMO_CSWAP, dest,  \
                sizeof(T), &value, &cond, &old, pe);                                               \
        return old;                                                                                \
    }                                                                                              \
    T gshmem_##NAME##_atomic_fetch_inc(T *dest, int pe) FETCH(                                     \
        NAME, T, fetch_inc, GSH_AMO_ADD, &(T){1}) void gshmem_##NAME##_atomic_inc(T *dest, int pe) \
        SEND(NAME, T, inc, GSH_AMO_ADD, &(T){1})                                                   \
            T gshmem_##NAME##_atomic_fetch_add(T *dest, T value, int pe)                           \
                FETCH(NAME, T, fetch_add, GSH_AMO_ADD, &value) void gshmem_##NAME##_atomic_add(    \
                    T *dest, T value, int pe) SEND(NAME, T, add, GSH_AMO_ADD, &value)
GSHMEM_TYPES_AMO_STD(AMO)
#undef AMO

#define AMO(NAME, T)                                                                \
    T gshmem_##NAME##_atomic_fetch(const T *dest, int pe)                           \
        FETCH(NAME, T, fetch, GSH_AMO_FETCH, NULL) void gshmem_##NAME##_atomic_set( \
            T *dest, T value, int pe) SEND(NAME, T, set, GSH_AMO_SET, &value)       \
            T gshmem_##NAME##_atomic_swap(T *dest, T value, int pe)                 \
                FETCH(NAME, T, swap, GSH_AMO_SWAP, &value)
GSHMEM_TYPES_AMO_EXT(AMO)
#undef AMO

#define AMO(NAME, T)                                                                            \
    T gshmem_##NAME##_atomic_fetch_and(T *dest, T value, int pe)                                \
        FETCH(NAME, T, fetch_and, GSH_AMO_AND, &value) void gshmem_##NAME##_atomic_and(         \
            T *dest, T value, int pe) SEND(NAME, T, and, GSH_AMO_AND, &value)                   \
            T gshmem_##NAME##_atomic_fetch_or(T *dest, T value, int pe)                         \
                FETCH(NAME, T, fetch_or, GSH_AMO_OR, &value) void gshmem_##NAME##_atomic_or(    \
                    T *dest, T value, int pe) SEND(NAME, T, or, GSH_AMO_OR, &value)             \
                    T gshmem_##NAME##_atomic_fetch_xor(T *dest, T value, int pe)                \
                        FETCH(NAME, T, fetch_xor, GSH_AMO_XOR,                                  \
                              &value) void gshmem_##NAME##_atomic_xor(T *dest, T value, int pe) \
                            SEND(NAME, T, xor, GSH_AMO_XOR, &value)
GSHMEM_TYPES_AMO_BIT(AMO)
#undef AMO
#undef SEND
#undef FETCH
