/* SPDX-License-Identifier: Apache-2.0
 * NVSHMEM's interface over gshmem: its names for the same heap, PEs and teams. The contracts of
 * gshmem.h and gshmemx.h, under the prefixes gshmem_ and gshmemx_, hold; differences are stated
 * here. Programs link libgshmem_nvshmem and libgshmem (pkg-config gshmem-nvshmem, CMake's NVSHMEM).
 *
 * nvcc, with or without -rdc=true, compiles files with kernels or, for the CPU device, a C++
 * compiler; C++17. All other files, and those that define NVSHMEM_HOSTLIB_ONLY, get the host calls
 * alone; C11, C++14. */
#ifndef NVSHMEM_H
#define NVSHMEM_H

#include "device_host/nvshmem_types.h"

/* Headers that programs rely on without including them. CUDA's have parameters N, T and U, which
 * a program may have defined as macros. */
#pragma push_macro("N")
#pragma push_macro("T")
#pragma push_macro("U")
#undef N
#undef T
#undef U
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__has_include)
#if __has_include(<cuda_runtime.h>)
#include <cuda_runtime.h>
#endif
#if __has_include(<cuda.h>)
#include <cuda.h>
#endif
#endif

#if defined(__cplusplus) && defined(GSHMEM_DEVICE_CODE) && !defined(NVSHMEM_HOSTLIB_ONLY)
#define NVSHMEM_DEVICE_CODE 1
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif
#pragma pop_macro("N")
#pragma pop_macro("T")
#pragma pop_macro("U")

#if defined(NVSHMEM_DEVICE_CODE)
#if !defined(GSHMEM_ARENA_BYTES)
#define GSHMEM_ARENA_BYTES 0 /* the program may need all of the 48 KiB itself */
#endif
#include <gshmem_device.cuh>
#endif

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* ---- start-up -------------------------------------------------------------------------------- */

/* Like gshmem_init, after the NVSHMEM_... variables have been applied. Repeated inits of a thread
 * that is a PE already are counted, and as many nvshmem_finalize calls only count down. */
void nvshmem_init(void);
int nvshmem_init_thread(int requested, int *provided);
/* Inits by one of the flags; 0: like nvshmem_init. Returns 0; ends the process with one line if it
 * fails. Of attr only the flag's own member is read: mpi_comm, or args.uid_args, and, if the
 * versions are right, args.cuda_device_id. WITH_SHMEM: the processes are the PEs of the OpenSHMEM
 * job that the launcher started. */
int nvshmemx_init_attr(unsigned int flags, nvshmemx_init_attr_t *attr);
/* The same, but returns an error (NVSHMEMX_ERROR_). */
int nvshmemx_hostlib_init_attr(unsigned int flags, nvshmemx_init_attr_t *attr);
void nvshmem_finalize(void);
void nvshmemx_hostlib_finalize(void);
int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t *id);
int nvshmemx_set_attr_uniqueid_args(int myrank, int nranks, const nvshmemx_uniqueid_t *id,
                                    nvshmemx_init_attr_t *attr);
int nvshmemx_set_attr_mpi_comm_args(void *mpi_comm, nvshmemx_init_attr_t *attr);

/* ---- teams, queue pairs ---------------------------------------------------------------------- */

int nvshmem_team_split_strided(nvshmem_team_t parent_team, int PE_start, int PE_stride, int PE_size,
                               const nvshmem_team_config_t *config, long config_mask,
                               nvshmem_team_t *new_team);
int nvshmem_team_split_2d(nvshmem_team_t parent_team, int xrange,
                          const nvshmem_team_config_t *xaxis_config, long xaxis_mask,
                          nvshmem_team_t *xaxis_team, const nvshmem_team_config_t *yaxis_config,
                          long yaxis_mask, nvshmem_team_t *yaxis_team);
void nvshmem_team_get_config(nvshmem_team_t team, nvshmem_team_config_t *config);
/* Like gshmemx_team_get_uniqueid. A team's number is valid for one team. */
int nvshmemx_team_get_uniqueid(nvshmemx_team_uniqueid_t *uniqueid);
/* Makes a team of the npes PEs that call this with the number in config->uniqueid, which
 * config_mask selects, each with a different place from 0 to npes - 1; collective over them. Device
 * set-up comes first (nvshmem_malloc and similar calls). */
int nvshmemx_team_init(nvshmem_team_t *team, nvshmem_team_config_t *config, long config_mask,
                       int npes, int pe_idx_in_team);

/* Makes num_qps contexts on all PEs, valid until nvshmem_finalize; *qps: their handles, an array
 * from malloc. Each PE makes its own. Returns 0 or an error, with nothing made. */
int nvshmemx_qp_create(int num_qps, nvshmemx_qp_handle_t **qps);

/* nvshmemx_quiet_on_stream. */
void nvshmemx_flush_on_stream(gshmemx_stream_t stream);

/* A region of this thread's calls, in which hints allow more: BATCH_RMA leaves non-blocking copies
 * unpublished until the region stops, or an order is asked for. gshmem publishes those of the host
 * at once; of kernels, docs/porting-nvshmem.md says which wait. Regions may be nested, and stop in
 * any order. Return 0 or NVSHMEMX_ERROR_INVALID_VALUE. */
int nvshmemx_region_start(nvshmemx_region_handle_t *handle, const nvshmemx_region_attrs_t *attrs);
int nvshmemx_region_stop(nvshmemx_region_handle_t handle);

/* nvshmemx_buffer_register_symmetric; the address is a wish that is not granted. */
void *nvshmemx_buffer_register_symmetric_at_preferred_address(void *buf_ptr, size_t size,
                                                              void *preferred_addr, int flags);

#include "nvshmem_host_calls.h"

#if !defined(NVSHMEM_DEVICE_CODE)
void nvshmem_info_get_version(int *major, int *minor); /* of the interface: 1.3 */
void nvshmem_info_get_name(char *name);
void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch);
/* NULL: multicast memory is not supported. */
void *nvshmemx_mc_ptr(nvshmem_team_t team, const void *ptr);
/* flush is quiet. */
void nvshmemx_flush(void);
/* *active: whether this thread is in a region with all of the hints; with no hint: in any. */
int nvshmemx_region_is_active(uint32_t hints, int *active);
/* Ends the job: counted signals need hardware that gshmem does not use. */
void nvshmemx_signal_counted_reset(uint64_t *signal_addr);
#if defined(NVSHMEM_COMPLEX_SUPPORT)
#include "nvshmem_complex.h"
#endif
#include "nvshmem_both_calls.h"
#endif

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#if defined(NVSHMEM_DEVICE_CODE)
#include "device/nvshmem_device.h"
#include "device/nvshmem_launch.h"
#endif

#define nvshmem_sync(team) nvshmem_team_sync(team)

/* What a call's error means, in a few words. */
#if defined(__CUDACC__)
__host__ __device__
#endif
    static __inline__ const char *
    nvshmemx_status_string(int status)
{
    switch (status) {
    case NVSHMEMX_SUCCESS:
        return "success";
    case NVSHMEMX_ERROR_INVALID_VALUE:
        return "invalid value";
    case NVSHMEMX_ERROR_OUT_OF_MEMORY:
        return "out of memory";
    case NVSHMEMX_ERROR_NOT_SUPPORTED:
        return "not supported";
    case NVSHMEMX_ERROR_SYMMETRY:
        return "not the same on all PEs";
    case NVSHMEMX_ERROR_GPU_NOT_SELECTED:
        return "no GPU is selected";
    case NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED:
        return "collective launch failed";
    case NVSHMEMX_ERROR_INTERNAL:
        return "internal error";
    default:
        return "unknown error";
    }
}

/* Used by NVSHMEM's own test programs for reports. */
#define NVSHMEMI_ERROR_PRINT(...) fprintf(stderr, __VA_ARGS__)

#if defined(GSHMEM_CALL_SITES)
#include <gshmem/detail/call_sites.h>
#include "nvshmem_call_sites.h"
#endif

#endif
