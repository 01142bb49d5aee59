/* SPDX-License-Identifier: Apache-2.0
 * CUDA's atomic functions for the CPU device. All scopes are the same here, and the order is
 * relaxed, as CUDA's is. An exchange or compare that changed nothing counts as an iteration of a
 * spin and runs the block's other threads, so locks between threads of a block make progress. */
#ifndef GSHMEM_CUDA_ATOMIC_H
#define GSHMEM_CUDA_ATOMIC_H

#include <string.h>
#include "cpu.h"

namespace gshmem
{
namespace cpu
{

inline void atomic_done(bool has_changed)
{
    if (has_changed) {
        gshmemx_cpu_progress();
    } else if (gshmem_cpu_self) {
        gshmemx_cpu_yield();
    }
}

/* Replaces *p by f(*p); returns the value before. */
template <class Type, class Function> inline Type atomic_update(Type *p, Function f)
{
    Type old, desired;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do {
        desired = f(old);
    } while (
        !__atomic_compare_exchange(p, &old, &desired, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

template <class Type> inline Type atomic_add(Type *p, Type v)
{
    Type old = __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
    atomic_done(v != 0);
    return old;
}

template <> inline float atomic_add(float *p, float v)
{
    return atomic_update(p, [v](float old) { return old + v; });
}

template <> inline double atomic_add(double *p, double v)
{
    return atomic_update(p, [v](double old) { return old + v; });
}

template <class Type> inline Type atomic_exchange(Type *p, Type v)
{
    Type old;
    __atomic_exchange(p, &v, &old, __ATOMIC_RELAXED);
    atomic_done(memcmp(&old, &v, sizeof(v)) != 0);
    return old;
}

template <class Type> inline Type atomic_compare(Type *p, Type expected, Type v)
{
    bool is_equal =
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    atomic_done(is_equal);
    return expected;
}

template <class Type> inline Type atomic_or(Type *p, Type v)
{
    Type old = __atomic_fetch_or(p, v, __ATOMIC_RELAXED);
    atomic_done(v != 0);
    return old;
}

} // namespace cpu
} // namespace gshmem

/* One function at its three scopes. */
#define GSHMEM_CPU_SCOPES(NAME, T, PARAMS, BODY) \
    inline T NAME PARAMS                         \
    {                                            \
        BODY                                     \
    }                                            \
    inline T NAME##_block PARAMS                 \
    {                                            \
        BODY                                     \
    }                                            \
    inline T NAME##_system PARAMS                \
    {                                            \
        BODY                                     \
    }

#define GSHMEM_CPU_ADD(T) \
    GSHMEM_CPU_SCOPES(atomicAdd, T, (T * p, T v), return gshmem::cpu::atomic_add(p, v);)
#define GSHMEM_CPU_SUB(T) \
    GSHMEM_CPU_SCOPES(atomicSub, T, (T * p, T v), return gshmem::cpu::atomic_add(p, (T)(0u - v));)
#define GSHMEM_CPU_EXCH(T) \
    GSHMEM_CPU_SCOPES(atomicExch, T, (T * p, T v), return gshmem::cpu::atomic_exchange(p, v);)
#define GSHMEM_CPU_CAS(T)                                     \
    GSHMEM_CPU_SCOPES(atomicCAS, T, (T * p, T expected, T v), \
                      return gshmem::cpu::atomic_compare(p, expected, v);)
#define GSHMEM_CPU_MINMAX(T)                                                             \
    GSHMEM_CPU_SCOPES(                                                                   \
        atomicMin, T, (T * p, T v),                                                      \
        return gshmem::cpu::atomic_update(p, [v](T old) { return v < old ? v : old; });) \
    GSHMEM_CPU_SCOPES(                                                                   \
        atomicMax, T, (T * p, T v),                                                      \
        return gshmem::cpu::atomic_update(p, [v](T old) { return v > old ? v : old; });)
#define GSHMEM_CPU_BITS(T)                                                             \
    GSHMEM_CPU_SCOPES(atomicAnd, T, (T * p, T v),                                      \
                      return __atomic_fetch_and(p, v, __ATOMIC_RELAXED);)              \
    GSHMEM_CPU_SCOPES(atomicOr, T, (T * p, T v), return gshmem::cpu::atomic_or(p, v);) \
    GSHMEM_CPU_SCOPES(atomicXor, T, (T * p, T v),                                      \
                      return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED);)

/* clang-format off */
GSHMEM_CPU_ADD(int) GSHMEM_CPU_ADD(unsigned) GSHMEM_CPU_ADD(unsigned long long)
GSHMEM_CPU_ADD(float) GSHMEM_CPU_ADD(double)
GSHMEM_CPU_SUB(int) GSHMEM_CPU_SUB(unsigned)
GSHMEM_CPU_EXCH(int) GSHMEM_CPU_EXCH(unsigned) GSHMEM_CPU_EXCH(unsigned long long) GSHMEM_CPU_EXCH(float)
GSHMEM_CPU_CAS(int) GSHMEM_CPU_CAS(unsigned) GSHMEM_CPU_CAS(unsigned long long) GSHMEM_CPU_CAS(unsigned short)
GSHMEM_CPU_MINMAX(int) GSHMEM_CPU_MINMAX(unsigned) GSHMEM_CPU_MINMAX(long long) GSHMEM_CPU_MINMAX(unsigned long long)
GSHMEM_CPU_BITS(int) GSHMEM_CPU_BITS(unsigned) GSHMEM_CPU_BITS(unsigned long long)

/* Counts 0 .. v, then starts again at 0. */
GSHMEM_CPU_SCOPES(atomicInc, unsigned, (unsigned *p, unsigned v),
       return gshmem::cpu::atomic_update(p, [v](unsigned old) { return old >= v ? 0 : old + 1; });)
GSHMEM_CPU_SCOPES(atomicDec, unsigned, (unsigned *p, unsigned v),
       return gshmem::cpu::atomic_update(
           p, [v](unsigned old) { return old == 0 || old > v ? v : old - 1; });)
/* clang-format on */

#undef GSHMEM_CPU_ADD
#undef GSHMEM_CPU_SUB
#undef GSHMEM_CPU_EXCH
#undef GSHMEM_CPU_CAS
#undef GSHMEM_CPU_MINMAX
#undef GSHMEM_CPU_BITS
#undef GSHMEM_CPU_SCOPES

#endif
