/* SPDX-License-Identifier: Apache-2.0
 * Stamps the definitions of the host calls that exist with a context and without one: the typed and
 * sized ones from the type table, and those by bytes. Each body is one call to a body by byte count
 * or width (host_calls.h), with the public name for messages. Compiled for the default context;
 * typed_ctx.c includes this file for the others. */
#include "gshmem.h"
#include "runtime/api/host_calls.h"

/* These differ: the names, the first parameter, what a call does first, and the first two arguments
 * of its body (context and name). */
#ifndef CALL
#define CALL(name) gshmem_##name
#define CTX
#define ENTER(name) static const char call[] = "gshmem_" #name
#define HERE        GSH_CONTEXT_DEFAULT, call
#endif

/* ---- put, get, p, g ---- */

#define RMA(NAME, T)                                                                \
    void CALL(NAME##_p)(CTX T * dest, T value, int pe)                              \
    {                                                                               \
        ENTER(NAME##_p);                                                            \
        gsh_p(HERE, dest, &value, sizeof(T), pe);                                   \
    }                                                                               \
    T CALL(NAME##_g)(CTX const T *source, int pe)                                   \
    {                                                                               \
        ENTER(NAME##_g);                                                            \
        T value;                                                                    \
        gsh_g(HERE, &value, source, sizeof(T), pe);                                 \
        return value;                                                               \
    }                                                                               \
    void CALL(NAME##_put)(CTX T * dest, const T *source, size_t nelems, int pe)     \
    {                                                                               \
        ENTER(NAME##_put);                                                          \
        gsh_put(HERE, dest, source, nelems, sizeof(T), pe);                         \
    }                                                                               \
    void CALL(NAME##_get)(CTX T * dest, const T *source, size_t nelems, int pe)     \
    {                                                                               \
        ENTER(NAME##_get);                                                          \
        gsh_get(HERE, dest, source, nelems, sizeof(T), pe);                         \
    }                                                                               \
    void CALL(NAME##_put_nbi)(CTX T * dest, const T *source, size_t nelems, int pe) \
    {                                                                               \
        ENTER(NAME##_put_nbi);                                                      \
        gsh_put_nbi(HERE, dest, source, nelems, sizeof(T), pe);                     \
    }                                                                               \
    void CALL(NAME##_get_nbi)(CTX T * dest, const T *source, size_t nelems, int pe) \
    {                                                                               \
        ENTER(NAME##_get_nbi);                                                      \
        gsh_get_nbi(HERE, dest, source, nelems, sizeof(T), pe);                     \
    }
GSHMEM_TYPES_RMA(RMA)
#undef RMA

#define SIZED(BITS, BYTES)                                                                \
    void CALL(put##BITS)(CTX void *dest, const void *source, size_t nelems, int pe)       \
    {                                                                                     \
        ENTER(put##BITS);                                                                 \
        gsh_put(HERE, dest, source, nelems, BYTES, pe);                                   \
    }                                                                                     \
    void CALL(get##BITS)(CTX void *dest, const void *source, size_t nelems, int pe)       \
    {                                                                                     \
        ENTER(get##BITS);                                                                 \
        gsh_get(HERE, dest, source, nelems, BYTES, pe);                                   \
    }                                                                                     \
    void CALL(put##BITS##_nbi)(CTX void *dest, const void *source, size_t nelems, int pe) \
    {                                                                                     \
        ENTER(put##BITS##_nbi);                                                           \
        gsh_put_nbi(HERE, dest, source, nelems, BYTES, pe);                               \
    }                                                                                     \
    void CALL(get##BITS##_nbi)(CTX void *dest, const void *source, size_t nelems, int pe) \
    {                                                                                     \
        ENTER(get##BITS##_nbi);                                                           \
        gsh_get_nbi(HERE, dest, source, nelems, BYTES, pe);                               \
    }
GSHMEM_SIZES(SIZED)
#undef SIZED

/* ---- strided ---- */

#define STRIDED(NAME, T)                                                                \
    void CALL(NAME##_iput)(CTX T * dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, \
                           size_t nelems, int pe)                                       \
    {                                                                                   \
        ENTER(NAME##_iput);                                                             \
        gsh_iput(HERE, dest, source, dst, sst, nelems, sizeof(T), pe);                  \
    }                                                                                   \
    void CALL(NAME##_iget)(CTX T * dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, \
                           size_t nelems, int pe)                                       \
    {                                                                                   \
        ENTER(NAME##_iget);                                                             \
        gsh_iget(HERE, dest, source, dst, sst, nelems, sizeof(T), pe);                  \
    }
GSHMEM_TYPES_RMA(STRIDED)
#undef STRIDED

#define SIZED(BITS, BYTES)                                                                  \
    void CALL(iput##BITS)(CTX void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
                          size_t nelems, int pe)                                            \
    {                                                                                       \
        ENTER(iput##BITS);                                                                  \
        gsh_iput(HERE, dest, source, dst, sst, nelems, BYTES, pe);                          \
    }                                                                                       \
    void CALL(iget##BITS)(CTX void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
                          size_t nelems, int pe)                                            \
    {                                                                                       \
        ENTER(iget##BITS);                                                                  \
        gsh_iget(HERE, dest, source, dst, sst, nelems, BYTES, pe);                          \
    }
GSHMEM_SIZES(SIZED)
#undef SIZED

/* ---- blocks ---- */

#define BLOCKS(NAME, T)                                                                  \
    void CALL(NAME##_ibput)(CTX T * dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, \
                            size_t bsize, size_t nblocks, int pe)                        \
    {                                                                                    \
        ENTER(NAME##_ibput);                                                             \
        gsh_ibput(HERE, dest, source, dst, sst, bsize, nblocks, sizeof(T), pe);          \
    }                                                                                    \
    void CALL(NAME##_ibget)(CTX T * dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, \
                            size_t bsize, size_t nblocks, int pe)                        \
    {                                                                                    \
        ENTER(NAME##_ibget);                                                             \
        gsh_ibget(HERE, dest, source, dst, sst, bsize, nblocks, sizeof(T), pe);          \
    }
GSHMEM_TYPES_RMA(BLOCKS)
#undef BLOCKS

#define SIZED(BITS, BYTES)                                                                   \
    void CALL(ibput##BITS)(CTX void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
                           size_t bsize, size_t nblocks, int pe)                             \
    {                                                                                        \
        ENTER(ibput##BITS);                                                                  \
        gsh_ibput(HERE, dest, source, dst, sst, bsize, nblocks, BYTES, pe);                  \
    }                                                                                        \
    void CALL(ibget##BITS)(CTX void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, \
                           size_t bsize, size_t nblocks, int pe)                             \
    {                                                                                        \
        ENTER(ibget##BITS);                                                                  \
        gsh_ibget(HERE, dest, source, dst, sst, bsize, nblocks, BYTES, pe);                  \
    }
GSHMEM_SIZES(SIZED)
#undef SIZED

/* ---- put with signal ---- */

#define PUT_SIGNAL(NAME, T)                                                                        \
    void CALL(NAME##_put_signal)(CTX T * dest, const T *source, size_t nelems, uint64_t *sig_addr, \
                                 uint64_t signal, int sig_op, int pe)                              \
    {                                                                                              \
        ENTER(NAME##_put_signal);                                                                  \
        gsh_put_signal(HERE, dest, source, nelems, sizeof(T), sig_addr, signal, sig_op, pe);       \
    }                                                                                              \
    void CALL(NAME##_put_signal_nbi)(CTX T * dest, const T *source, size_t nelems,                 \
                                     uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)      \
    {                                                                                              \
        ENTER(NAME##_put_signal_nbi);                                                              \
        gsh_put_signal_nbi(HERE, dest, source, nelems, sizeof(T), sig_addr, signal, sig_op, pe);   \
    }
GSHMEM_TYPES_RMA(PUT_SIGNAL)
#undef PUT_SIGNAL

#define SIZED(BITS, BYTES)                                                                     \
    void CALL(put##BITS##_signal)(CTX void *dest, const void *source, size_t nelems,           \
                                  uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)     \
    {                                                                                          \
        ENTER(put##BITS##_signal);                                                             \
        gsh_put_signal(HERE, dest, source, nelems, BYTES, sig_addr, signal, sig_op, pe);       \
    }                                                                                          \
    void CALL(put##BITS##_signal_nbi)(CTX void *dest, const void *source, size_t nelems,       \
                                      uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    {                                                                                          \
        ENTER(put##BITS##_signal_nbi);                                                         \
        gsh_put_signal_nbi(HERE, dest, source, nelems, BYTES, sig_addr, signal, sig_op, pe);   \
    }
GSHMEM_SIZES(SIZED)
#undef SIZED

/* ---- atomics: FETCH returns the value before, SEND returns nothing ---- */

#define FETCH(NAME, T, OP, AMO_OP, PARAMETER, ARG)                   \
    T CALL(NAME##_atomic_##OP)(CTX T * dest PARAMETER, int pe)       \
    {                                                                \
        ENTER(NAME##_atomic_##OP);                                   \
        T old;                                                       \
        gsh_amo(HERE, AMO_OP, dest, sizeof(T), ARG, NULL, &old, pe); \
        return old;                                                  \
    }
#define SEND(NAME, T, OP, AMO_OP, PARAMETER, ARG)                    \
    void CALL(NAME##_atomic_##OP)(CTX T * dest PARAMETER, int pe)    \
    {                                                                \
        ENTER(NAME##_atomic_##OP);                                   \
        gsh_amo(HERE, AMO_OP, dest, sizeof(T), ARG, NULL, NULL, pe); \
    }
#define VALUE(T) , T value

#define AMO(NAME, T)                                                            \
    T CALL(NAME##_atomic_compare_swap)(CTX T * dest, T cond, T value, int pe)   \
    {                                                                           \
        ENTER(NAME##_atomic_compare_swap);                                      \
        T old;                                                                  \
        gsh_amo(HERE, GSH_AMO_CSWAP, dest, sizeof(T), &value, &cond, &old, pe); \
        return old;                                                             \
    }                                                                           \
    FETCH(NAME, T, fetch_inc, GSH_AMO_ADD, , &(T){1})                           \
    SEND(NAME, T, inc, GSH_AMO_ADD, , &(T){1})                                  \
    FETCH(NAME, T, fetch_add, GSH_AMO_ADD, VALUE(T), &value)                    \
    SEND(NAME, T, add, GSH_AMO_ADD, VALUE(T), &value)
GSHMEM_TYPES_AMO_STD(AMO)
#undef AMO

#define AMO(NAME, T)                                                           \
    T CALL(NAME##_atomic_fetch)(CTX const T *source, int pe)                   \
    {                                                                          \
        ENTER(NAME##_atomic_fetch);                                            \
        T old;                                                                 \
        gsh_amo(HERE, GSH_AMO_FETCH, source, sizeof(T), NULL, NULL, &old, pe); \
        return old;                                                            \
    }                                                                          \
    SEND(NAME, T, set, GSH_AMO_SET, VALUE(T), &value)                          \
    FETCH(NAME, T, swap, GSH_AMO_SWAP, VALUE(T), &value)
GSHMEM_TYPES_AMO_EXT(AMO)
#undef AMO

#define AMO(NAME, T)                                         \
    FETCH(NAME, T, fetch_and, GSH_AMO_AND, VALUE(T), &value) \
    SEND(NAME, T, and, GSH_AMO_AND, VALUE(T), &value)        \
    FETCH(NAME, T, fetch_or, GSH_AMO_OR, VALUE(T), &value)   \
    SEND(NAME, T, or, GSH_AMO_OR, VALUE(T), &value)          \
    FETCH(NAME, T, fetch_xor, GSH_AMO_XOR, VALUE(T), &value) \
    SEND(NAME, T, xor, GSH_AMO_XOR, VALUE(T), &value)
GSHMEM_TYPES_AMO_BIT(AMO)
#undef AMO
#undef VALUE
#undef SEND
#undef FETCH

/* The value before goes to *fetch. */
#define FETCH(NAME, T, OP, AMO_OP)                                                \
    void CALL(NAME##_atomic_##OP##_nbi)(CTX T * fetch, T * dest, T value, int pe) \
    {                                                                             \
        ENTER(NAME##_atomic_##OP##_nbi);                                          \
        gsh_amo_nbi(HERE, AMO_OP, dest, sizeof(T), &value, NULL, fetch, pe);      \
    }
#define AMO(NAME, T)                                                                            \
    void CALL(NAME##_atomic_compare_swap_nbi)(CTX T * fetch, T * dest, T cond, T value, int pe) \
    {                                                                                           \
        ENTER(NAME##_atomic_compare_swap_nbi);                                                  \
        gsh_amo_nbi(HERE, GSH_AMO_CSWAP, dest, sizeof(T), &value, &cond, fetch, pe);            \
    }                                                                                           \
    void CALL(NAME##_atomic_fetch_inc_nbi)(CTX T * fetch, T * dest, int pe)                     \
    {                                                                                           \
        ENTER(NAME##_atomic_fetch_inc_nbi);                                                     \
        gsh_amo_nbi(HERE, GSH_AMO_ADD, dest, sizeof(T), &(T){1}, NULL, fetch, pe);              \
    }                                                                                           \
    FETCH(NAME, T, fetch_add, GSH_AMO_ADD)
GSHMEM_TYPES_AMO_STD(AMO)
#undef AMO

#define AMO(NAME, T)                                                                \
    void CALL(NAME##_atomic_fetch_nbi)(CTX T * fetch, const T *source, int pe)      \
    {                                                                               \
        ENTER(NAME##_atomic_fetch_nbi);                                             \
        gsh_amo_nbi(HERE, GSH_AMO_FETCH, source, sizeof(T), NULL, NULL, fetch, pe); \
    }                                                                               \
    FETCH(NAME, T, swap, GSH_AMO_SWAP)
GSHMEM_TYPES_AMO_EXT(AMO)
#undef AMO

#define AMO(NAME, T)                       \
    FETCH(NAME, T, fetch_and, GSH_AMO_AND) \
    FETCH(NAME, T, fetch_or, GSH_AMO_OR)   \
    FETCH(NAME, T, fetch_xor, GSH_AMO_XOR)
GSHMEM_TYPES_AMO_BIT(AMO)
#undef AMO
#undef FETCH

/* ---- by bytes ---- */

void CALL(putmem)(CTX void *dest, const void *source, size_t bytes, int pe)
{
    ENTER(putmem);
    gsh_put(HERE, dest, source, bytes, 1, pe);
}

void CALL(getmem)(CTX void *dest, const void *source, size_t bytes, int pe)
{
    ENTER(getmem);
    gsh_get(HERE, dest, source, bytes, 1, pe);
}

void CALL(putmem_nbi)(CTX void *dest, const void *source, size_t bytes, int pe)
{
    ENTER(putmem_nbi);
    gsh_put_nbi(HERE, dest, source, bytes, 1, pe);
}

void CALL(getmem_nbi)(CTX void *dest, const void *source, size_t bytes, int pe)
{
    ENTER(getmem_nbi);
    gsh_get_nbi(HERE, dest, source, bytes, 1, pe);
}

void CALL(putmem_signal)(CTX void *dest, const void *source, size_t bytes, uint64_t *sig_addr,
                         uint64_t signal, int sig_op, int pe)
{
    ENTER(putmem_signal);
    gsh_put_signal(HERE, dest, source, bytes, 1, sig_addr, signal, sig_op, pe);
}

void CALL(putmem_signal_nbi)(CTX void *dest, const void *source, size_t bytes, uint64_t *sig_addr,
                             uint64_t signal, int sig_op, int pe)
{
    ENTER(putmem_signal_nbi);
    gsh_put_signal_nbi(HERE, dest, source, bytes, 1, sig_addr, signal, sig_op, pe);
}
