/* SPDX-License-Identifier: Apache-2.0
 * Stamps the definitions of the host's floating-point atomics, which exist without a context. */
#include "gshmem.h"
#include "runtime/api/host_calls.h"

#define FETCH(NAME, T, OP, AMO_OP, ...)                                          \
    {                                                                            \
        static const char call[] = "gshmemx_" #NAME "_atomic_" #OP;              \
        T old;                                                                   \
        gsh_amo(GSH_CONTEXT_DEFAULT, call, AMO_OP, __VA_ARGS__, NULL, &old, pe); \
        return old;                                                              \
    }
#define SEND(NAME, OP, AMO_OP, ...)                                              \
    {                                                                            \
        static const char call[] = "gshmemx_" #NAME "_atomic_" #OP;              \
        gsh_amo(GSH_CONTEXT_DEFAULT, call, AMO_OP, __VA_ARGS__, NULL, NULL, pe); \
    }

#define ADD(NAME, T)                                                             \
    T gshmemx_##NAME##_atomic_fetch_add(T *dest, T value, int pe)                \
        FETCH(NAME, T, fetch_add, GSH_AMO_FLOAT_ADD, dest, sizeof(T),            \
              &value) void gshmemx_##NAME##_atomic_add(T *dest, T value, int pe) \
            SEND(NAME, add, GSH_AMO_FLOAT_ADD, dest, sizeof(T), &value)
GSHMEM_TYPES_FLOAT(ADD)
#undef ADD

gshmem_half_t gshmemx_half_atomic_fetch(const gshmem_half_t *source, int pe)
    FETCH(half, gshmem_half_t, fetch, GSH_AMO_FETCH, source, sizeof(*source), NULL)

        void gshmemx_half_atomic_set(gshmem_half_t *dest, gshmem_half_t value, int pe)
            SEND(half, set, GSH_AMO_SET, dest, sizeof(value), &value)

                gshmem_half_t
    gshmemx_half_atomic_swap(gshmem_half_t *dest, gshmem_half_t value, int pe)
        FETCH(half, gshmem_half_t, swap, GSH_AMO_SWAP, dest, sizeof(value), &value)
