/* SPDX-License-Identifier: Apache-2.0
 * Calls without a context: they use the default one. */
#ifndef GSHMEM_DEFAULT_CUH
#define GSHMEM_DEFAULT_CUH

#include "amo.cuh"
#include "order.cuh"
#include "rma.cuh"
#include "signal.cuh"
#include "sync.cuh"
#include "wait.cuh"

namespace gshmem
{

/* ---- query ----------------------------------------------------------------------------------- */

__device__ __forceinline__ int my_pe()
{
    return my_pe(default_context());
}

__device__ __forceinline__ int n_pes()
{
    return n_pes(default_context());
}

__device__ __forceinline__ void *ptr(const void *dest, int pe)
{
    return ptr(default_context(), dest, pe);
}

__device__ __forceinline__ int team_my_pe(gshmem_team_t team)
{
    return team_my_pe(default_context(), team);
}

__device__ __forceinline__ int team_n_pes(gshmem_team_t team)
{
    return team_n_pes(default_context(), team);
}

__device__ __forceinline__ int team_translate_pe(gshmem_team_t src_team, int src_pe,
                                                 gshmem_team_t dest_team)
{
    return team_translate_pe(default_context(), src_team, src_pe, dest_team);
}

/* ---- remote memory access -------------------------------------------------------------------- */

#define GSHMEM_COPY(CALL)                                                                        \
    template <class Group, class Type>                                                           \
    __device__ __forceinline__ void CALL(Group g, Type *dest, const Type *source, size_t nelems, \
                                         int pe, const char *call = "gshmem::" #CALL)            \
    {                                                                                            \
        CALL(default_context(), g, dest, source, nelems, pe, call);                              \
    }
GSHMEM_COPY(put)
GSHMEM_COPY(put_nbi)
GSHMEM_COPY(get)
GSHMEM_COPY(get_nbi)
#undef GSHMEM_COPY

#define GSHMEM_STRIDED(CALL)                                                                     \
    template <class Group, class Type>                                                           \
    __device__ __forceinline__ void CALL(Group g, Type *dest, const Type *source, ptrdiff_t dst, \
                                         ptrdiff_t sst, size_t nelems, int pe,                   \
                                         const char *call = "gshmem::" #CALL)                    \
    {                                                                                            \
        CALL(default_context(), g, dest, source, dst, sst, nelems, pe, call);                    \
    }
GSHMEM_STRIDED(iput)
GSHMEM_STRIDED(iget)
#undef GSHMEM_STRIDED

#define GSHMEM_BLOCKS(CALL)                                                                      \
    template <class Group, class Type>                                                           \
    __device__ __forceinline__ void CALL(Group g, Type *dest, const Type *source, ptrdiff_t dst, \
                                         ptrdiff_t sst, size_t bsize, size_t nblocks, int pe,    \
                                         const char *call = "gshmem::" #CALL)                    \
    {                                                                                            \
        CALL(default_context(), g, dest, source, dst, sst, bsize, nblocks, pe, call);            \
    }
GSHMEM_BLOCKS(ibput)
GSHMEM_BLOCKS(ibget)
#undef GSHMEM_BLOCKS

template <class Type>
__device__ __forceinline__ void p(Type *dest, Type value, int pe, const char *call = "gshmem::p")
{
    p(default_context(), dest, value, pe, call);
}

template <class Type>
__device__ __forceinline__ Type g(const Type *source, int pe, const char *call = "gshmem::g")
{
    return g(default_context(), source, pe, call);
}

/* ---- atomics --------------------------------------------------------------------------------- */

#define GSHMEM_AMO(OP)                                                                    \
    template <class Type>                                                                 \
    __device__ __forceinline__ Type atomic_##OP(Type *dest, Type value, int pe,           \
                                                const char *call = "gshmem::atomic_" #OP) \
    {                                                                                     \
        return atomic_##OP(default_context(), dest, value, pe, call);                     \
    }
GSHMEM_AMO(swap)
GSHMEM_AMO(fetch_add)
GSHMEM_AMO(fetch_and)
GSHMEM_AMO(fetch_or)
GSHMEM_AMO(fetch_xor)
#undef GSHMEM_AMO

#define GSHMEM_AMO(OP)                                                                    \
    template <class Type>                                                                 \
    __device__ __forceinline__ void atomic_##OP(Type *dest, Type value, int pe,           \
                                                const char *call = "gshmem::atomic_" #OP) \
    {                                                                                     \
        atomic_##OP(default_context(), dest, value, pe, call);                            \
    }
GSHMEM_AMO(set)
GSHMEM_AMO(add)
GSHMEM_AMO(and)
GSHMEM_AMO(or)
GSHMEM_AMO(xor)
#undef GSHMEM_AMO

template <class Type>
__device__ __forceinline__ Type atomic_fetch(const Type *source, int pe,
                                             const char *call = "gshmem::atomic_fetch")
{
    return atomic_fetch(default_context(), source, pe, call);
}

template <class Type>
__device__ __forceinline__ Type atomic_compare_swap(
    Type *dest, Type cond, Type value, int pe, const char *call = "gshmem::atomic_compare_swap")
{
    return atomic_compare_swap(default_context(), dest, cond, value, pe, call);
}

template <class Type>
__device__ __forceinline__ Type atomic_fetch_inc(Type *dest, int pe,
                                                 const char *call = "gshmem::atomic_fetch_inc")
{
    return atomic_fetch_inc(default_context(), dest, pe, call);
}

template <class Type>
__device__ __forceinline__ void atomic_inc(Type *dest, int pe,
                                           const char *call = "gshmem::atomic_inc")
{
    atomic_inc(default_context(), dest, pe, call);
}

/* ---- signals and order ----------------------------------------------------------------------- */

#define GSHMEM_SIGNALLED(CALL)                                                                    \
    template <class Group, class Type>                                                            \
    __device__ __forceinline__ void CALL(Group g, Type *dest, const Type *source, size_t nelems,  \
                                         uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, \
                                         const char *call = "gshmem::" #CALL)                     \
    {                                                                                             \
        CALL(default_context(), g, dest, source, nelems, sig_addr, signal, sig_op, pe, call);     \
    }
GSHMEM_SIGNALLED(put_signal)
GSHMEM_SIGNALLED(put_signal_nbi)
#undef GSHMEM_SIGNALLED

__device__ __forceinline__ void signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                          const char *call = "gshmem::signal_op")
{
    signal_op(default_context(), sig_addr, signal, sig_op, pe, call);
}

__device__ __forceinline__ uint64_t signal_fetch(const uint64_t *sig_addr,
                                                 const char *call = "gshmem::signal_fetch")
{
    return signal_fetch(default_context(), sig_addr, call);
}

__device__ __forceinline__ void fence()
{
    fence(default_context());
}

__device__ __forceinline__ void quiet()
{
    quiet(default_context());
}

__device__ __forceinline__ void trace_begin(const char *name)
{
    trace_begin(default_context(), name);
}

__device__ __forceinline__ void trace_end()
{
    trace_end(default_context());
}

/* ---- waits and tests ------------------------------------------------------------------------- */

template <class Type>
__device__ __forceinline__ void wait_until(Type *ivar, int cmp, Type value,
                                           const char *call = "gshmem::wait_until")
{
    wait_until(default_context(), ivar, cmp, value, call);
}

__device__ __forceinline__ uint64_t signal_wait_until(
    uint64_t *sig_addr, int cmp, uint64_t value, const char *call = "gshmem::signal_wait_until")
{
    return signal_wait_until(default_context(), sig_addr, cmp, value, call);
}

template <class Type>
__device__ __forceinline__ int test(Type *ivar, int cmp, Type value,
                                    const char *call = "gshmem::test")
{
    return test(default_context(), ivar, cmp, value, call);
}

#define GSHMEM_FORM(R, CALL, ARGUMENT, VALUE)                                                 \
    template <class Type>                                                                     \
    __device__ __forceinline__ R CALL(Type *ivars, size_t nelems, const int *status, int cmp, \
                                      ARGUMENT, const char *call = "gshmem::" #CALL)          \
    {                                                                                         \
        return CALL(default_context(), ivars, nelems, status, cmp, VALUE, call);              \
    }
#define GSHMEM_SOME(CALL, ARGUMENT, VALUE)                                                \
    template <class Type>                                                                 \
    __device__ __forceinline__ size_t CALL(Type *ivars, size_t nelems, size_t *indices,   \
                                           const int *status, int cmp, ARGUMENT,          \
                                           const char *call = "gshmem::" #CALL)           \
    {                                                                                     \
        return CALL(default_context(), ivars, nelems, indices, status, cmp, VALUE, call); \
    }
#define GSHMEM_FORMS(SUFFIX, ARGUMENT, VALUE)                    \
    GSHMEM_FORM(void, wait_until_all##SUFFIX, ARGUMENT, VALUE)   \
    GSHMEM_FORM(size_t, wait_until_any##SUFFIX, ARGUMENT, VALUE) \
    GSHMEM_SOME(wait_until_some##SUFFIX, ARGUMENT, VALUE)        \
    GSHMEM_FORM(int, test_all##SUFFIX, ARGUMENT, VALUE)          \
    GSHMEM_FORM(size_t, test_any##SUFFIX, ARGUMENT, VALUE)       \
    GSHMEM_SOME(test_some##SUFFIX, ARGUMENT, VALUE)
GSHMEM_FORMS(, Type value, value)
GSHMEM_FORMS(_vector, const Type *values, values)
#undef GSHMEM_FORMS
#undef GSHMEM_SOME
#undef GSHMEM_FORM

/* ---- teams ----------------------------------------------------------------------------------- */

template <class Group>
__device__ __forceinline__ int barrier(Group g, gshmem_team_t team, int channel = 0,
                                       const char *call = "gshmem::barrier")
{
    return barrier(default_context(), g, team, channel, call);
}

template <class Group>
__device__ __forceinline__ int sync(Group g, gshmem_team_t team, int channel = 0,
                                    const char *call = "gshmem::sync")
{
    return sync(default_context(), g, team, channel, call);
}

template <class Group>
__device__ __forceinline__ void barrier_all(Group g, const char *call = "gshmem::barrier_all")
{
    barrier_all(default_context(), g, call);
}

template <class Group>
__device__ __forceinline__ void sync_all(Group g, const char *call = "gshmem::sync_all")
{
    sync_all(default_context(), g, call);
}

} // namespace gshmem

#endif
