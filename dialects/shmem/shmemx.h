/* SPDX-License-Identifier: Apache-2.0
 * gshmem's extensions under the prefix shmemx_; contracts in gshmemx.h. */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#include "shmemx_calls.h"

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#if defined(SHMEM_DEVICE_CODE)
#include "shmemx_device_calls.h"
#endif

/* Other implementations' extensions that became calls of 1.6. Those of blocks with a stride and of
 * scans, for each type, are in shmemx_calls.h. */
#define shmemx_ibput                shmem_ibput
#define shmemx_ibget                shmem_ibget
#define shmemx_sum_inscan           shmem_sum_inscan
#define shmemx_sum_exscan           shmem_sum_exscan
#define shmemx_complexf_sum_inscan  shmem_complexf_sum_inscan
#define shmemx_complexf_sum_exscan  shmem_complexf_sum_exscan
#define shmemx_complexd_sum_inscan  shmem_complexd_sum_inscan
#define shmemx_complexd_sum_exscan  shmem_complexd_sum_exscan
#define pshmemx_complexf_sum_inscan pshmem_complexf_sum_inscan
#define pshmemx_complexf_sum_exscan pshmem_complexf_sum_exscan
#define pshmemx_complexd_sum_inscan pshmem_complexd_sum_inscan
#define pshmemx_complexd_sum_exscan pshmem_complexd_sum_exscan
#define shmemx_signal_add           shmem_signal_add
#define shmemx_signal_set           shmem_signal_set
#define shmemx_pe_quiet             shmem_pe_quiet
#define shmemx_ctx_pe_quiet         shmem_ctx_pe_quiet
#define shmemx_team_ptr             shmem_team_ptr
#define shmemx_query_initialized    shmem_query_initialized
#define shmemx_ctx_session_start    shmem_ctx_session_start
#define shmemx_ctx_session_stop     shmem_ctx_session_stop
#define shmemx_session_start        shmem_ctx_session_start
#define shmemx_session_stop         shmem_ctx_session_stop

#if defined(GSHMEM_CALL_SITES)
#include "shmemx_call_sites.h"
#endif

#endif
