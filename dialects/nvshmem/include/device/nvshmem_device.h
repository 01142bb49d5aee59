/* SPDX-License-Identifier: Apache-2.0
 * Part of nvshmem.h: the calls where kernels are compiled, those in kernels alone and those of both
 * sides. */
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
    return reinterpret_cast<gshmem_ctx_t>((bits & 15) | (bits >> 4 & 16383) << 32 |
                                          bits >> 18 << 46);
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

/* NULL: there is no multicast memory. */
NVSHMEM_HD void *nvshmemx_mc_ptr(nvshmem_team_t, const void *)
{
    return nullptr;
}

/* ---- synchronisation --------------------------------------------------------------------------
 */

/* As nvshmem_barrier, by four warps together, whose first has a number that four divides. */
NVSHMEM_D int nvshmemx_barrier_warpgroup(nvshmem_team_t team)
{
    return gshmem::barrier(gshmem::default_context(), gshmem::group_warpgroup(), team, 0,
                           "nvshmemx_barrier_warpgroup");
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* The greatest x of all members' *source, and with it the least y of those that have it. nreduce
 * is 1. */
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

/* fence and quiet of the queue pairs qps[0 .. num_qps - 1], with regard to pe, or to all: they may
 * wait for others, too. Queue pairs are named one by one: NVSHMEMX_QP_ALL ends the job with a line.
 */
#define NVSHMEM_ORDER(CALL)                                                                        \
    NVSHMEM_D void nvshmemx_qp_##CALL(int, const nvshmemx_qp_handle_t *qps, int num_qps)           \
    {                                                                                              \
        for (int i = 0; i < num_qps; i++) {                                                        \
            if (qps[i] == NVSHMEMX_QP_ALL)                                                         \
                gshmem::detail::report_ctx(gshmem::default_context(), GSH_CTX_INVALID,             \
                                           "nvshmemx_qp_" #CALL " of NVSHMEMX_QP_ALL");            \
            gshmem_ctx_##CALL(nvshmem_ctx_of(qps[i]));                                             \
        }                                                                                          \
    }                                                                                              \
    NVSHMEM_D void nvshmemx_qp_##CALL##_warp(int pe, const nvshmemx_qp_handle_t *qps, int num_qps) \
    {                                                                                              \
        gshmem::group_warp().sync();                                                               \
        if (gshmem::group_warp().rank() == 0)                                                      \
            nvshmemx_qp_##CALL(pe, qps, num_qps);                                                  \
        gshmem::group_warp().sync();                                                               \
    }                                                                                              \
    NVSHMEM_D void nvshmemx_qp_##CALL##_block(int pe, const nvshmemx_qp_handle_t *qps,             \
                                              int num_qps)                                         \
    {                                                                                              \
        gshmem::group_block().sync();                                                              \
        if (gshmem::group_block().rank() == 0)                                                     \
            nvshmemx_qp_##CALL(pe, qps, num_qps);                                                  \
        gshmem::group_block().sync();                                                              \
    }
NVSHMEM_ORDER(fence)
NVSHMEM_ORDER(quiet)
#undef NVSHMEM_ORDER

#undef NVSHMEM_HD
#undef NVSHMEM_D

#endif
