/* SPDX-License-Identifier: Apache-2.0
 * Part of nvshmem.h: the calls where kernels are compiled, both those for kernels alone and those
 * for both sides. */
#ifndef NVSHMEM_DEVICE_H
#define NVSHMEM_DEVICE_H

#define NVSHMEM_HD static inline __host__ __device__
#define NVSHMEM_D  static inline __device__
#if defined(__CUDA_ARCH__)
#define NVSHMEM_EITHER(DEVICE, HOST) DEVICE
#elif defined(__CUDACC__)
#define NVSHMEM_EITHER(DEVICE, HOST) HOST
#else
#define NVSHMEM_EITHER(DEVICE, HOST) (gsh_cpu_self ? DEVICE : HOST)
#endif

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

/* The default context, in a call that stands where its last parameter says. */
#if defined(GSHMEM_CALL_SITES)
#define NVSHMEM_HERE gshmem::detail::context_at(gsh_site)
#else
#define NVSHMEM_HERE gshmem::default_context()
#endif

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
NVSHMEM_D int nvshmemx_barrier_warpgroup(nvshmem_team_t team GSHMEM_SITE)
{
    return gshmem::barrier(NVSHMEM_HERE, gshmem::group_warpgroup(), team, 0,
                           "nvshmemx_barrier_warpgroup");
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* The greatest x of all members' *source, and the least y that comes with that x. nreduce is 1. */
GSHMEM_LAZY
NVSHMEM_D int nvshmemx_double2_maxloc_reduce_block(nvshmem_team_t team, double2 *dest,
                                                   const double2 *source, size_t nreduce)
{
    if (nreduce != 1)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    const double mine = source->x, place = source->y;
    int error = gshmemx_double_max_reduce_block GSHMEM_PASS_LAZY(team, &dest->x, &source->x, 1);
    if (error != 0)
        return error;
    const bool is_first = gshmem::group_block().rank() == 0;
    gshmem::group_block().sync();
    if (is_first)
        dest->y = mine == dest->x ? place : __builtin_huge_val();
    gshmem::group_block().sync();
    return gshmemx_double_min_reduce_block GSHMEM_PASS_LAZY(team, &dest->y, &dest->y, 1);
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
#define NVSHMEM_ORDER(CALL)                                                                    \
    NVSHMEM_D void nvshmemx_qp_##CALL(int, nvshmemx_qp_handle_t *qps, int num_qps GSHMEM_SITE) \
    {                                                                                          \
        for (int i = 0; i < num_qps; i++) {                                                    \
            if (qps == nullptr || qps[i] == NVSHMEMX_QP_ALL) {                                 \
                gshmem::detail::CALL##_all();                                                  \
                return;                                                                        \
            }                                                                                  \
            gshmem_ctx_##CALL(nvshmem_ctx_of(qps[i]) GSHMEM_PASS_SITE);                        \
        }                                                                                      \
    }                                                                                          \
    NVSHMEM_D void nvshmemx_qp_##CALL##_warp(int pe, nvshmemx_qp_handle_t *qps,                \
                                             int num_qps GSHMEM_SITE)                          \
    {                                                                                          \
        gshmem::group_warp().sync();                                                           \
        if (gshmem::group_warp().rank() == 0)                                                  \
            nvshmemx_qp_##CALL(pe, qps, num_qps GSHMEM_PASS_SITE);                             \
        gshmem::group_warp().sync();                                                           \
    }                                                                                          \
    NVSHMEM_D void nvshmemx_qp_##CALL##_block(int pe, nvshmemx_qp_handle_t *qps,               \
                                              int num_qps GSHMEM_SITE)                         \
    {                                                                                          \
        gshmem::group_block().sync();                                                          \
        if (gshmem::group_block().rank() == 0)                                                 \
            nvshmemx_qp_##CALL(pe, qps, num_qps GSHMEM_PASS_SITE);                             \
        gshmem::group_block().sync();                                                          \
    }
NVSHMEM_ORDER(fence)
NVSHMEM_ORDER(quiet)
#undef NVSHMEM_ORDER

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
#define NVSHMEM_COMPLEX(NAME, T, OP, KIND)                                                        \
    GSHMEM_LAZY                                                                                   \
    NVSHMEM_HD int nvshmem_##NAME##_##OP##_##KIND(nvshmem_team_t team, void *dest,                \
                                                  const void *source, size_t nreduce GSHMEM_SITE) \
    {                                                                                             \
        return NVSHMEM_EITHER(                                                                    \
            gshmem::KIND<gshmem::op_##OP>(NVSHMEM_HERE, gshmem::group_thread(), team,             \
                                          static_cast<nvshmem_complex_##OP<T> *>(dest),           \
                                          static_cast<const nvshmem_complex_##OP<T> *>(source),   \
                                          nreduce * 2 * sizeof(T) /                               \
                                              sizeof(nvshmem_complex_##OP<T>),                    \
                                          0, "nvshmem_" #NAME "_" #OP "_" #KIND),                 \
            nvshmem_host::nvshmem_##NAME##_##OP##_##KIND(team, dest, source, nreduce));           \
    }                                                                                             \
    NVSHMEM_COMPLEX_BY(NAME, T, OP, KIND, warp)                                                   \
    NVSHMEM_COMPLEX_BY(NAME, T, OP, KIND, block)
#define NVSHMEM_COMPLEX_BY(NAME, T, OP, KIND, GROUP)                                               \
    GSHMEM_LAZY                                                                                    \
    NVSHMEM_D int nvshmemx_##NAME##_##OP##_##KIND##_##GROUP(                                       \
        nvshmem_team_t team, void *dest, const void *source, size_t nreduce GSHMEM_SITE)           \
    {                                                                                              \
        return gshmem::KIND<gshmem::op_##OP>(NVSHMEM_HERE, gshmem::group_##GROUP(), team,          \
                                             static_cast<nvshmem_complex_##OP<T> *>(dest),         \
                                             static_cast<const nvshmem_complex_##OP<T> *>(source), \
                                             nreduce * 2 * sizeof(T) /                             \
                                                 sizeof(nvshmem_complex_##OP<T>),                  \
                                             0, "nvshmemx_" #NAME "_" #OP "_" #KIND "_" #GROUP);   \
    }
NVSHMEM_COMPLEX(complexf, float, sum, reduce)
NVSHMEM_COMPLEX(complexf, float, sum, reducescatter)
NVSHMEM_COMPLEX(complexf, float, prod, reduce)
NVSHMEM_COMPLEX(complexf, float, prod, reducescatter)
NVSHMEM_COMPLEX(complexd, double, sum, reduce)
NVSHMEM_COMPLEX(complexd, double, sum, reducescatter)
NVSHMEM_COMPLEX(complexd, double, prod, reduce)
NVSHMEM_COMPLEX(complexd, double, prod, reducescatter)
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

/* ---- flush -----------------------------------------------------------------------------------
 */

/* The sources of this PE's calls may be reused: like nvshmem_quiet, which promises more. */
NVSHMEM_HD void nvshmemx_flush(GSHMEM_ONLY_SITE)
{
    nvshmem_quiet(GSHMEM_ONLY_PASS_SITE);
}

/* The same for the group's calls. */
#define NVSHMEM_FLUSH(GROUP)                                \
    NVSHMEM_D void nvshmemx_flush_##GROUP(GSHMEM_ONLY_SITE) \
    {                                                       \
        gshmem::group_##GROUP().sync();                     \
        if (gshmem::group_##GROUP().rank() == 0)            \
            nvshmem_quiet(GSHMEM_ONLY_PASS_SITE);           \
        gshmem::group_##GROUP().sync();                     \
    }
NVSHMEM_FLUSH(warp)
NVSHMEM_FLUSH(block)
#undef NVSHMEM_FLUSH

/* ---- regions, counted signals ---------------------------------------------------------------- */

namespace nvshmem_host
{
extern "C" {
int nvshmemx_region_is_active(uint32_t hints, int *active);
void nvshmemx_signal_counted_reset(uint64_t *signal_addr);
}
} // namespace nvshmem_host

/* The block's regions. Shared memory is never initialised: valid only if magic is right. */
struct nvshmem_block_regions {
    uint64_t magic;
    uint32_t n, n_batches;
};
NVSHMEM_D nvshmem_block_regions *nvshmem_own_regions()
{
    __shared__ nvshmem_block_regions regions;
    return &regions;
}
#define NVSHMEM_REGIONS_MAGIC 0x6e76726567696f6eull

NVSHMEM_D bool nvshmem_is_region(const nvshmemx_region_attrs_t *attrs)
{
    bool is_right = (attrs->hints & ~(uint32_t)NVSHMEMX_REGION_HINT_BATCH_RMA) == 0;
    for (int i = 0; i < NVSHMEMX_REGION_ATTRS_RESERVED_BYTES; i++)
        is_right = is_right && attrs->reserved[i] == 0;
    return is_right;
}

/* By all threads of the block; as nvshmemx_region_start. A handle is the region's hints and
 * depth. */
NVSHMEM_D int nvshmemx_region_start_block(nvshmemx_region_handle_t *handle,
                                          const nvshmemx_region_attrs_t *attrs)
{
    if (handle == nullptr || attrs == nullptr || !nvshmem_is_region(attrs))
        return NVSHMEMX_ERROR_INVALID_VALUE;
    nvshmem_block_regions *const r = nvshmem_own_regions();
    gshmem::group_block().sync();
    if (gshmem::group_block().rank() == 0) {
        if (r->magic != NVSHMEM_REGIONS_MAGIC)
            *r = {NVSHMEM_REGIONS_MAGIC, 0, 0};
        r->n++;
        r->n_batches += attrs->hints;
    }
    gshmem::group_block().sync();
    *handle = (uint64_t)attrs->hints << 32 | r->n;
    if (attrs->hints != 0 && r->n_batches == 1)
        gshmem::begin_batch();
    return 0;
}

NVSHMEM_D int nvshmemx_region_stop_block(nvshmemx_region_handle_t handle)
{
    nvshmem_block_regions *const r = nvshmem_own_regions();
    const uint32_t hints = (uint32_t)(handle >> 32);
    gshmem::group_block().sync();
    const bool is_right = r->magic == NVSHMEM_REGIONS_MAGIC && (uint32_t)handle > 0 &&
                          (uint32_t)handle <= r->n && hints <= r->n_batches && hints <= 1;
    gshmem::group_block().sync();
    if (is_right && gshmem::group_block().rank() == 0) {
        r->n--;
        r->n_batches -= hints;
    }
    gshmem::group_block().sync();
    if (is_right && hints != 0) {
        gshmem::end_batch();
        if (r->n_batches > 0)
            gshmem::begin_batch();
    }
    return is_right ? 0 : NVSHMEMX_ERROR_INVALID_VALUE;
}

NVSHMEM_D int nvshmem_is_in_region(uint32_t hints, int *active)
{
    const nvshmem_block_regions *const r = nvshmem_own_regions();
    if (active == nullptr || hints > NVSHMEMX_REGION_HINT_BATCH_RMA)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    *active = r->magic == NVSHMEM_REGIONS_MAGIC && (hints ? r->n_batches : r->n) > 0;
    return 0;
}

NVSHMEM_HD int nvshmemx_region_is_active(uint32_t hints, int *active)
{
    return NVSHMEM_EITHER(nvshmem_is_in_region(hints, active),
                          nvshmem_host::nvshmemx_region_is_active(hints, active));
}

NVSHMEM_D void nvshmem_refuse(const char *call)
{
    gshmem::detail::report(gshmem::default_context(), GSH_REPORT_UNSUPPORTED, call, -1, 0, 0, 0, 0,
                           0);
}

/* Each of these ends the job: counted signals need hardware that gshmem does not use. The names are
 * those of NVSHMEM 3.8 under NVSHMEM_CFT_HANDLES_SUPPORT. */
NVSHMEM_HD void nvshmemx_signal_counted_reset(uint64_t *signal_addr)
{
    (void)signal_addr;
    NVSHMEM_EITHER(nvshmem_refuse("nvshmemx_signal_counted_reset"),
                   nvshmem_host::nvshmemx_signal_counted_reset(signal_addr));
}

NVSHMEM_D uint64_t nvshmemx_signal_counted_load(const uint64_t *signal_addr)
{
    (void)signal_addr;
    nvshmem_refuse("nvshmemx_signal_counted_load");
    return 0;
}

NVSHMEM_D void nvshmemx_signal_counted_wait_until(const uint64_t *signal_addr, uint64_t expected)
{
    (void)signal_addr, (void)expected;
    nvshmem_refuse("nvshmemx_signal_counted_wait_until");
}

/* Any thread of the block may call it; others need not. */
NVSHMEM_D int nvshmemx_putmem_signal_counted_nbi_block(void *dest, const void *source, size_t bytes,
                                                       uint64_t *signal_addr, int pe)
{
    (void)dest, (void)source, (void)bytes, (void)signal_addr, (void)pe;
    nvshmem_refuse("nvshmemx_putmem_signal_counted_nbi_block");
    return NVSHMEMX_ERROR_NOT_SUPPORTED;
}

/* ---- shared memory for large copies by threads and warps ------------------------------------- */

/* Bytes: with RECOMMENDED a thread reaches nearly a multiprocessor's bandwidth, with MINIMUM half
 * of it; with BARRIERS_ONLY, too little for copies, give_smem does nothing. */
NVSHMEM_HD int nvshmemx_ask_smem(nvshmemx_smem_amount_t amount)
{
    return amount == NVSHMEMX_SMEM_RECOMMENDED     ? 65536
           : amount == NVSHMEMX_SMEM_MINIMUM       ? 32768
           : amount == NVSHMEMX_SMEM_BARRIERS_ONLY ? 128
                                                   : 0;
}

/* Gives shared memory of the block, aligned to 16, to its threads' and warps' large copies, as
 * gshmem::lend_shared does, in files compiled with GSHMEM_LENDING or GSHMEM_ARENA_BYTES; whatever
 * NVSHMEM_TMA_POLICY says. In others it does nothing. All threads make the call, and the
 * block synchronises before it copies; release_smem comes before the block ends, after a
 * synchronisation behind its last copy. */
NVSHMEM_D void nvshmemx_give_smem(void *smem, size_t size)
{
    if (gshmem::group_block().rank() == 0 && smem != nullptr)
        gshmem::detail::note_lent(smem, size < 4096 ? 0 : size);
}

NVSHMEM_D void nvshmemx_release_smem()
{
    if (gshmem::group_block().rank() == 0)
        gshmem::detail::note_lent(nullptr, 0);
}

#undef NVSHMEM_EITHER
#undef NVSHMEM_HD
#undef NVSHMEM_D

#endif
