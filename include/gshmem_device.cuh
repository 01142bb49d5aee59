/* SPDX-License-Identifier: Apache-2.0
 * Files with kernels include this: the host API and, in kernels, the calls that are marked [hd]
 * there, their forms for a warp and for a block (device/api.cuh lists them), and the templates
 * behind them:
 *
 *     gshmem::put(gshmem::group_block(), dest, source, nelems, pe);
 *
 * Groups: group_thread, group_warp, group_block; a call by a group behaves as if one thread had
 * made it after the group's own synchronisation. Compiles with nvcc (any number of files, with or
 * without -rdc=true) and, for the CPU device, with g++ and clang++; C++17. With -rdc=true, kernels
 * with __launch_bounds__ of more than 512 threads need -maxrregcount=64, and all files the same
 * GSHMEM_ARENA_BYTES.
 *
 * Files whose kernels talk to mapped peers only (one NVLink domain) may define GSHMEM_NEAR_ONLY
 * before they include this: their kernels then keep the registers that the route to other peers
 * would take. A call for any other PE ends the job with a report, and barriers and syncs of teams
 * with such a PE must not be used. */
#ifndef GSHMEM_DEVICE_CUH
#define GSHMEM_DEVICE_CUH

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "gshmem_device.cuh needs C++17: compile with -std=c++17"
#endif

#if defined(GSHMEM_H) && !defined(GSHMEM_DEVICE_CODE)
#error \
    "gshmem.h came first, without kernels: include <gshmem_device.cuh> before it, or instead of it"
#endif
#ifndef GSHMEM_DEVICE_CODE
#define GSHMEM_DEVICE_CODE 1
#endif

#if !defined(__CUDACC__)
#include "device/cpu/cuda_names.h"
#endif

#include "gshmem.h"
#include "gshmemx.h"

#include "device/api.cuh"
#include "gshmem/generic.h"

#endif
