/* SPDX-License-Identifier: Apache-2.0
 * Part of nvshmem.h: the calls where kernels are compiled, both those for kernels alone and those
 * for both sides. */
#ifndef NVSHMEM_DEVICE_H
#define NVSHMEM_DEVICE_H

#define NVSHMEM_HD static inline __host__ __device__
#define NVSHMEM_D  static inline __device__

/* The context of a queue pair (teams.c makes the handles). */
NVSHMEM_D gshmem_ctx_t nvshmem_ctx_of(nvshmemx_qp_handle_t qp)
{
    if (qp <= NVSHMEMX_QP_DEFAULT || qp == NVSHMEMX_QP_ANY)
        return GSHMEM_CTX_DEFAULT;
    const uint64_t bits = (uint64_t)(qp - 2);
    return reinterpret_cast<gshmem_ctx_t>((bits & 63) | (bits >> 6 & 16383) << 32 |
                                          bits >> 20 << 46);
}

#include "nvshmem_device_calls.h"

/* ---- versions -------------------------------------------------------------------------------- */

NVSHMEM_HD void nvshmem_info_get_version(int *major, int *minor)
{
    *major = NVSHMEM_MAJOR_VERSION;
    *minor = NVSHMEM_MINOR_VERSION;
}

NVSHMEM_HD void nvshmem_info_get_name(char *name)
{
    const char text[] = NVSHMEM_VENDOR_STRING;
    for (size_t i = 0; i < sizeof(text); i++)
        name[i] = text[i];
}

NVSHMEM_HD void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
    *major = NVSHMEM_VENDOR_MAJOR_VERSION;
    *minor = NVSHMEM_VENDOR_MINOR_VERSION;
    *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}

/* NULL: multicast memory is not supported. */
NVSHMEM_HD void *nvshmemx_mc_ptr(nvshmem_team_t, const void *)
{
    return nullptr;
}

/* ---- synchronisation --------------------------------------------------------------------------
 */

/* Like nvshmem_barrier, by four warps together, the first numbered a multiple of four. */
NVSHMEM_D int nvshmemx_barrier_warpgroup(nvshmem_team_t team)
{
    return gshmem::barrier(gshmem::default_context(), gshmem::group_warpgroup(), team, 0,
                           "nvshmemx_barrier_warpgroup");
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* The greatest x of all members' *source, and the least y that comes with that x. nreduce is 1. */
template <int unused = 0>
NVSHMEM_D int nvshmemx_double2_maxloc_reduce_block(nvshmem_team_t team, double2 *dest,
                                                   const double2 *source, size_t nreduce)
{
    if (nreduce != 1)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    const double mine = source->x, place = source->y;
    int error = gshmemx_double_max_reduce_block<unused>(team, &dest->x, &source->x, 1);
    if (error != 0)
        return error;
    const bool is_first = gshmem::group_block().rank() == 0;
    gshmem::group_block().sync();
    if (is_first)
        dest->y = mine == dest->x ? place : __builtin_huge_val();
    gshmem::group_block().sync();
    return gshmemx_double_min_reduce_block<unused>(team, &dest->y, &dest->y, 1);
}

/* ---- queue pairs ----------------------------------------------------------------------------- */

NVSHMEM_D void nvshmemx_qp_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                     nvshmemx_qp_handle_t qp)
{
    gshmem::signal_op(gshmem::detail::in_ctx(nvshmem_ctx_of(qp)), sig_addr, signal, sig_op, pe,
                      "nvshmemx_qp_signal_op");
}

/* fence and quiet of the queue pairs qps[0 .. num_qps - 1], for pe, or for all; they may wait for
 * others, too. NVSHMEMX_QP_ALL in the list, or NULL as the list, stands for all queue pairs. */
#define NVSHMEM_ORDER(CALL)                                                                   \
    NVSHMEM_D void nvshmemx_qp_##CALL(int, nvshmemx_qp_handle_t *qps, int num_qps)            \
    {                                                                                         \
        for (int i = 0; i < num_qps; i++) {                                                   \
            if (qps == nullptr || qps[i] == NVSHMEMX_QP_ALL) {                                \
                gshmem::detail::CALL##_all();                                                 \
                return;                                                                       \
            }                                                                                 \
            gshmem_ctx_##CALL(nvshmem_ctx_of(qps[i]));                                        \
        }                                                                                     \
    }                                                                                         \
    NVSHMEM_D void nvshmemx_qp_##CALL##_warp(int pe, nvshmemx_qp_handle_t *qps, int num_qps)  \
    {                                                                                         \
        gshmem::group_warp().sync();                                                          \
        if (gshmem::group_warp().rank() == 0)                                                 \
            nvshmemx_qp_##CALL(pe, qps, num_qps);                                             \
        gshmem::group_warp().sync();                                                          \
    }                                                                                         \
    NVSHMEM_D void nvshmemx_qp_##CALL##_block(int pe, nvshmemx_qp_handle_t *qps, int num_qps) \
    {                                                                                         \
        gshmem::group_block().sync();                                                         \
        if (gshmem::group_block().rank() == 0)                                                \
            nvshmemx_qp_##CALL(pe, qps, num_qps);                                             \
        gshmem::group_block().sync();                                                         \
    }
NVSHMEM_ORDER(fence)
NVSHMEM_ORDER(quiet)
#undef NVSHMEM_ORDER

/* ---- floating-point atomics (NVSHMEM 3.7) -----------------------------------------------------
 */

/* By compare and swap of the bits, so they are compatible with the other atomics by any route. */
#define NVSHMEM_FLOAT_ADD(NAME, T, BITS)                                                  \
    NVSHMEM_HD T nvshmem_##NAME##_atomic_fetch_add(T *dest, T value, int pe)              \
    {                                                                                     \
        uint##BITS##_t *const word = reinterpret_cast<uint##BITS##_t *>(dest);            \
        uint##BITS##_t seen = nvshmem_uint##BITS##_atomic_fetch(word, pe), expected, sum; \
        T old;                                                                            \
        do {                                                                              \
            expected = seen;                                                              \
            memcpy(&old, &expected, sizeof(old));                                         \
            const T added = old + value;                                                  \
            memcpy(&sum, &added, sizeof(sum));                                            \
            seen = nvshmem_uint##BITS##_atomic_compare_swap(word, expected, sum, pe);     \
        } while (seen != expected);                                                       \
        return old;                                                                       \
    }                                                                                     \
    NVSHMEM_HD void nvshmem_##NAME##_atomic_add(T *dest, T value, int pe)                 \
    {                                                                                     \
        nvshmem_##NAME##_atomic_fetch_add(dest, value, pe);                               \
    }
NVSHMEM_FLOAT_ADD(float, float, 32)
NVSHMEM_FLOAT_ADD(double, double, 64)
#undef NVSHMEM_FLOAT_ADD

/* ---- complex numbers --------------------------------------------------------------------------
 */

#if defined(NVSHMEM_COMPLEX_SUPPORT)
/* Any type that consists of two floats or doubles, such as cuFloatComplex and std::complex: hence
 * the void parameters. */
namespace nvshmem_host
{
extern "C" {
#include "../nvshmem_complex.h"
}
} // namespace nvshmem_host
/* The type used in computations: sums add the parts separately. */
template <class Type> using nvshmem_complex_sum = Type;
template <class Type> using nvshmem_complex_prod = gshmem::complex_of<Type>;
#define NVSHMEM_COMPLEX(NAME, T, OP, KIND)                                                         \
    template <int unused = 0>                                                                      \
    NVSHMEM_HD int nvshmem_##NAME##_##OP##_##KIND(nvshmem_team_t team, void *dest,                 \
                                                  const void *source, size_t nreduce)              \
    {                                                                                              \
        return NVSHMEM_EITHER(                                                                     \
            gshmem::KIND<gshmem::op_##OP>(gshmem::default_context(), gshmem::group_thread(), team, \
                                          static_cast<nvshmem_complex_##OP<T> *>(dest),            \
                                          static_cast<const nvshmem_complex_##OP<T> *>(source),    \
                                          nreduce * 2 * sizeof(T) /                                \
                                              sizeof(nvshmem_complex_##OP<T>),                     \
                                          0, "nvshmem_" #NAME "_" #OP "_" #KIND),                  \
            nvshmem_host::nvshmem_##NAME##_##OP##_##KIND(team, dest, source, nreduce));            \
    }                                                                                              \
    NVSHMEM_COMPLEX_BY(NAME, T, OP, KIND, warp)                                                    \
    NVSHMEM_COMPLEX_BY(NAME, T, OP, KIND, block)
#define NVSHMEM_COMPLEX_BY(NAME, T, OP, KIND, GROUP)                                               \
    template <int unused = 0>                                                                      \
    NVSHMEM_D int nvshmemx_##NAME##_##OP##_##KIND##_##GROUP(nvshmem_team_t team, void *dest,       \
                                                            const void *source, size_t nreduce)    \
    {                                                                                              \
        return gshmem::KIND<gshmem::op_##OP>(gshmem::default_context(), gshmem::group_##GROUP(),   \
                                             team, static_cast<nvshmem_complex_##OP<T> *>(dest),   \
                                             static_cast<const nvshmem_complex_##OP<T> *>(source), \
                                             nreduce * 2 * sizeof(T) /                             \
                                                 sizeof(nvshmem_complex_##OP<T>),                  \
                                             0, "nvshmemx_" #NAME "_" #OP "_" #KIND "_" #GROUP);   \
    }
#if defined(__CUDA_ARCH__)
#define NVSHMEM_EITHER(DEVICE, HOST) DEVICE
#elif defined(__CUDACC__)
#define NVSHMEM_EITHER(DEVICE, HOST) HOST
#else
#define NVSHMEM_EITHER(DEVICE, HOST) (gsh_cpu_self ? DEVICE : HOST)
#endif
NVSHMEM_COMPLEX(complexf, float, sum, reduce)
NVSHMEM_COMPLEX(complexf, float, sum, reducescatter)
NVSHMEM_COMPLEX(complexf, float, prod, reduce)
NVSHMEM_COMPLEX(complexf, float, prod, reducescatter)
NVSHMEM_COMPLEX(complexd, double, sum, reduce)
NVSHMEM_COMPLEX(complexd, double, sum, reducescatter)
NVSHMEM_COMPLEX(complexd, double, prod, reduce)
NVSHMEM_COMPLEX(complexd, double, prod, reducescatter)
#undef NVSHMEM_EITHER
#undef NVSHMEM_COMPLEX_BY
#undef NVSHMEM_COMPLEX
using nvshmem_host::nvshmemx_complexd_prod_reduce_on_stream;
using nvshmem_host::nvshmemx_complexd_prod_reducescatter_on_stream;
using nvshmem_host::nvshmemx_complexd_sum_reduce_on_stream;
using nvshmem_host::nvshmemx_complexd_sum_reducescatter_on_stream;
using nvshmem_host::nvshmemx_complexf_prod_reduce_on_stream;
using nvshmem_host::nvshmemx_complexf_prod_reducescatter_on_stream;
using nvshmem_host::nvshmemx_complexf_sum_reduce_on_stream;
using nvshmem_host::nvshmemx_complexf_sum_reducescatter_on_stream;
#endif

/* ---- flush (NVSHMEM 3.7) ----------------------------------------------------------------------
 */

/* The sources of this PE's calls may be reused: like nvshmem_quiet, which promises more. */
NVSHMEM_HD void nvshmemx_flush()
{
    nvshmem_quiet();
}

#undef NVSHMEM_HD
#undef NVSHMEM_D

#endif
