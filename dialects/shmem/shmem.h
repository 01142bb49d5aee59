/* SPDX-License-Identifier: Apache-2.0
 * OpenSHMEM 1.5 (and the parts of 1.6 marked as such) over gshmem: the standard's own names for
 * host programs in C and C++, with the profiling interface, pshmem_. The contracts are those of
 * gshmem.h under the prefix gshmem_; the calls that the standard deprecates are in shmem_old.h,
 * which this header includes. Programs link libgshmem_shmem and libgshmem: oshcc, oshc++, or
 * pkg-config gshmem-shmem. Where kernels are compiled (gshmem_device.cuh) they have the calls, too;
 * on the host these are then gshmem's own, so a profiler sees only other files' pshmem_ calls. */
#ifndef SHMEM_H
#define SHMEM_H

/* OpenSHMEM has neither half nor bfloat16. Host files in C++ have the generic calls for these types
 * of CUDA's, too, if gshmem.h comes first. */
#if defined(__cplusplus) && !defined(GSHMEM_DEVICE_CODE) && !defined(__CUDACC__)
#define GSHMEM_HALF_LATER 1
#endif
#include "gshmem/detail/call_sites.h"
#include "gshmem/detail/complex.h"
#include "gshmem/types.h"
#include "gshmem/version.h"
#undef GSHMEM_HALF_LATER
#if defined(__cplusplus) && defined(GSHMEM_DEVICE_CODE)
#define SHMEM_DEVICE_CODE 1
#include "gshmem_device.cuh"
#endif

/* ---- types and constants ---------------------------------------------------------------------
 */

typedef gshmem_team_t shmem_team_t;
typedef gshmem_team_config_t shmem_team_config_t;
typedef gshmem_ctx_t shmem_ctx_t;

/* In C++ the calls also take classes of complex numbers, such as std::complex<float>; <complex> is
 * the program's to include. */
#if defined(__cplusplus)
__extension__ typedef __complex__ float shmem_complexf_t;
__extension__ typedef __complex__ double shmem_complexd_t;
#else
__extension__ typedef float _Complex shmem_complexf_t;
__extension__ typedef double _Complex shmem_complexd_t;
#endif

/* What a session announces (1.6); all of these are hints. */
typedef struct {
    size_t total_ops;
} shmem_ctx_session_config_t;
#define SHMEM_CTX_SESSION_TOTAL_OPS 1L
#define SHMEM_CTX_SESSION_BATCH     1L
#define SHMEM_CTX_SESSION_SAME_AMO  2L

#define SHMEM_MAJOR_VERSION        GSHMEM_MAJOR_VERSION
#define SHMEM_MINOR_VERSION        GSHMEM_MINOR_VERSION
#define SHMEM_MAX_NAME_LEN         GSHMEM_MAX_NAME_LEN
#define SHMEM_VENDOR_STRING        GSHMEM_VENDOR_STRING
#define SHMEM_VENDOR_MAJOR_VERSION GSHMEM_VENDOR_MAJOR_VERSION
#define SHMEM_VENDOR_MINOR_VERSION GSHMEM_VENDOR_MINOR_VERSION
#define SHMEM_VENDOR_PATCH_VERSION GSHMEM_VENDOR_PATCH_VERSION

#define SHMEM_THREAD_SINGLE     GSHMEM_THREAD_SINGLE
#define SHMEM_THREAD_FUNNELED   GSHMEM_THREAD_FUNNELED
#define SHMEM_THREAD_SERIALIZED GSHMEM_THREAD_SERIALIZED
#define SHMEM_THREAD_MULTIPLE   GSHMEM_THREAD_MULTIPLE

#define SHMEM_TEAM_WORLD        GSHMEM_TEAM_WORLD
#define SHMEM_TEAM_SHARED       GSHMEM_TEAM_SHARED
#define SHMEM_TEAM_INVALID      GSHMEM_TEAM_INVALID
#define SHMEM_TEAM_NUM_CONTEXTS GSHMEM_TEAM_NUM_CONTEXTS

#define SHMEM_CTX_DEFAULT    GSHMEM_CTX_DEFAULT
#define SHMEM_CTX_INVALID    GSHMEM_CTX_INVALID
#define SHMEM_CTX_SERIALIZED GSHMEM_CTX_SERIALIZED
#define SHMEM_CTX_PRIVATE    GSHMEM_CTX_PRIVATE
#define SHMEM_CTX_NOSTORE    GSHMEM_CTX_NOSTORE

#define SHMEM_MALLOC_ATOMICS_REMOTE GSHMEM_MALLOC_ATOMICS_REMOTE
#define SHMEM_MALLOC_SIGNAL_REMOTE  GSHMEM_MALLOC_SIGNAL_REMOTE

#define SHMEM_CMP_EQ GSHMEM_CMP_EQ
#define SHMEM_CMP_NE GSHMEM_CMP_NE
#define SHMEM_CMP_GT GSHMEM_CMP_GT
#define SHMEM_CMP_LE GSHMEM_CMP_LE
#define SHMEM_CMP_LT GSHMEM_CMP_LT
#define SHMEM_CMP_GE GSHMEM_CMP_GE

#define SHMEM_SIGNAL_SET GSHMEM_SIGNAL_SET
#define SHMEM_SIGNAL_ADD GSHMEM_SIGNAL_ADD

/* ---- calls -----------------------------------------------------------------------------------
 */

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* Like gshmem_init. If the device is the CPU and PEs are processes, the program's globals and
 * statics are symmetric from then on until shmem_finalize.
 * A program may leave out shmem_finalize: if the thread that called init returns from main, or
 * calls exit, with status 0, the PE waits there for all others to finalize or end so, too. With
 * another status, by another thread or under gshmemx_run, such an end ends the job. */
void shmem_init(void);
int shmem_init_thread(int requested, int *provided);
void shmem_finalize(void);
void shmem_pcontrol(int level, ...);

void pshmem_init(void);
int pshmem_init_thread(int requested, int *provided);
void pshmem_finalize(void);
void pshmem_pcontrol(int level, ...);

/* Announces what will be done in a context (1.6). It has no effect. */
void shmem_ctx_session_start(shmem_ctx_t ctx, long options,
                             const shmem_ctx_session_config_t *config, long config_mask);
void shmem_ctx_session_stop(shmem_ctx_t ctx);
void pshmem_ctx_session_start(shmem_ctx_t ctx, long options,
                              const shmem_ctx_session_config_t *config, long config_mask);
void pshmem_ctx_session_stop(shmem_ctx_t ctx);

/* Sums of the members before this one, including it (in) or not (ex); collective over the team. */
int shmem_complexf_sum_inscan(shmem_team_t team, shmem_complexf_t *dest,
                              const shmem_complexf_t *source, size_t nelems);
int pshmem_complexf_sum_inscan(shmem_team_t team, shmem_complexf_t *dest,
                               const shmem_complexf_t *source, size_t nelems);
int shmem_complexf_sum_exscan(shmem_team_t team, shmem_complexf_t *dest,
                              const shmem_complexf_t *source, size_t nelems);
int pshmem_complexf_sum_exscan(shmem_team_t team, shmem_complexf_t *dest,
                               const shmem_complexf_t *source, size_t nelems);
int shmem_complexd_sum_inscan(shmem_team_t team, shmem_complexd_t *dest,
                              const shmem_complexd_t *source, size_t nelems);
int pshmem_complexd_sum_inscan(shmem_team_t team, shmem_complexd_t *dest,
                               const shmem_complexd_t *source, size_t nelems);
int shmem_complexd_sum_exscan(shmem_team_t team, shmem_complexd_t *dest,
                              const shmem_complexd_t *source, size_t nelems);
int pshmem_complexd_sum_exscan(shmem_team_t team, shmem_complexd_t *dest,
                               const shmem_complexd_t *source, size_t nelems);

#include "shmem_calls.h"

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#if defined(SHMEM_DEVICE_CODE)
#include "shmem_device_calls.h"
#endif

#if defined(GSHMEM_HALF_TYPES) && !defined(GSHMEM_HALF_TYPES_H)
#define SHMEM_TYPE_TABLE(R, M)                         \
    R(M, 1, 0, 0, 0, 0, 0, 1, longdouble, long double) \
    GSHMEM_TYPE_TABLE_C(R, M)
#else
#define SHMEM_TYPE_TABLE(R, M) GSHMEM_TYPE_TABLE(R, M)
#endif
#include "shmem_generic.h"

/* The scans of complex numbers, which gshmem lacks. */
#if defined(__cplusplus)
#define GSH_SHMEM_OVERLOAD(NAME, T, KIND)                                                          \
    static inline int shmem_sum_##KIND(shmem_team_t team, T *dest, const T *source, size_t nelems) \
    {                                                                                              \
        return shmem_##NAME##_sum_##KIND(team, dest, source, nelems);                              \
    }
GSH_SHMEM_OVERLOAD(complexf, shmem_complexf_t, inscan)
GSH_SHMEM_OVERLOAD(complexf, shmem_complexf_t, exscan)
GSH_SHMEM_OVERLOAD(complexd, shmem_complexd_t, inscan)
GSH_SHMEM_OVERLOAD(complexd, shmem_complexd_t, exscan)
#undef GSH_SHMEM_OVERLOAD
#if defined(GSH_COMPLEX_CLASSES)
GSH_OF_SHMEM_OF_CLASS(complexf, float, sum_inscan)
GSH_OF_SHMEM_OF_CLASS(complexf, float, sum_exscan)
GSH_OF_SHMEM_OF_CLASS(complexd, double, sum_inscan)
GSH_OF_SHMEM_OF_CLASS(complexd, double, sum_exscan)
#endif
#elif defined(shmem_sum_inscan)
#undef shmem_sum_inscan
#undef shmem_sum_exscan
#define shmem_sum_inscan(team, dest, source, nelems)                     \
    GSHMEM_AT_SITE(GSH_OF_SHMEM_CHOOSE(dest, GSH_OF_SHMEM_GENERIC_ADDED, \
                                       GSH_OF_SHMEM_ARM_sum_inscan)(team, dest, source, nelems))
#define shmem_sum_exscan(team, dest, source, nelems)                     \
    GSHMEM_AT_SITE(GSH_OF_SHMEM_CHOOSE(dest, GSH_OF_SHMEM_GENERIC_ADDED, \
                                       GSH_OF_SHMEM_ARM_sum_exscan)(team, dest, source, nelems))
#endif

#include "shmem_old.h"

#if defined(GSHMEM_CALL_SITES)
#include "shmem_call_sites.h"
#endif

#endif
