/* SPDX-License-Identifier: Apache-2.0
 * The CUDA driver, opened at run time: one table of entry points, and the one function that turns
 * a driver error into a result. Without a driver (or without CUDA headers at build time) the table
 * is NULL and nothing else here may be called. */
#ifndef GSH_CUDA_H
#define GSH_CUDA_H

#include <stdbool.h>
#include "base/result.h"

#ifdef GSH_HAVE_CUDA
#include <cuda.h>
#else
typedef int CUdevice;
typedef int CUresult;
typedef struct CUctx_st *CUcontext;
#endif

/* The table's members are the driver's functions without "cu": cuda->MemCreate is cuMemCreate.
 * cuda.def has the list; a member it calls optional may be NULL. */
#ifdef GSH_HAVE_CUDA
#define GSH_CUDA_FUNCTION(name) __typeof__(&cu##name) name;
struct gsh_cuda {
#include "base/cuda.def"
};
#undef GSH_CUDA_FUNCTION
#else
struct gsh_cuda;
#endif

/* The table, opened and initialised (cuInit) at the first call; NULL when there is no usable
 * driver or device, with the reason kept by gsh_note. Thread-safe. */
const struct gsh_cuda *gsh_cuda(void);

/* Whether there is a driver to open. Does not start it: the program may still set environment
 * variables that the driver reads. Thread-safe. */
bool gsh_cuda_is_installed(void);

/* GSH_OK for CUDA_SUCCESS; otherwise reports "<what>: <error name> (<error text>)". Running out of
 * memory is GSH_ERR_NOMEM, a missing feature GSH_ERR_UNSUPPORTED, all else GSH_ERR_CUDA. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_result(CUresult code, const char *what);
/* As gsh_cuda_result, but by gsh_note: for failures that a fallback may still handle. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_note(CUresult code, const char *what);

/* For tests: gsh_cuda returns this table from now on (NULL: the driver's again). A test puts its
 * own functions before the driver's, or in their place, to make calls fail and count what leaks. */
void gsh_cuda_override(const struct gsh_cuda *table);

#endif
