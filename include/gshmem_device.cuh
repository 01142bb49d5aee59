/* SPDX-License-Identifier: Apache-2.0
 * Files with kernels include this (since 0.1): the host API, and in kernels
 *
 *  - the calls that are marked [hd] there, each made by one thread;
 *  - their forms for a group, which all threads of the group call with the same arguments and which
 *    share the work among them (NAME, BITS: as in gshmem/typed.h; the same with ctx first, as
 *    gshmemx_ctx_...):
 *
 *      gshmemx_NAME_{put,get,iput,iget,put_nbi,get_nbi,put_signal,put_signal_nbi}_{warp,block}
 *      gshmemx_{put,get}BITS..., gshmemx_{put,get}mem..., likewise
 *      gshmemx_{barrier,barrier_all,team_sync,sync_all}_{warp,block}
 *      gshmemx_{barrier,team_sync}_channel[_{warp,block}](team, channel)
 *      gshmemx_{broadcast,collect,fcollect,alltoall,alltoalls}mem_{warp,block,grid}
 *      gshmemx_NAME_{broadcast,collect,fcollect,alltoall,alltoalls}_{warp,block,grid}
 *      gshmemx_NAME_OP_{reduce,reducescatter}_{warp,block,grid}
 *      gshmemx_NAME_sum_{inscan,exscan}_{warp,block,grid}
 *
 *  - the templates behind them, in namespace gshmem, which take the group as an argument
 *    (group_thread, group_warp, group_block; collectives also group_grid() and group_blocks):
 *
 *      gshmem::put(gshmem::group_block(), dest, source, nelems, pe);
 *
 * A call by a group synchronises the group, acts as if one thread had made it, and synchronises the
 * group again before it returns. grid means all blocks of a collective launch.
 *
 * Compiles as C++17 with nvcc (any number of files, with or without -rdc=true) and, for the CPU
 * device, with g++ and clang++. With -rdc=true copies have half as many accesses under way, because
 * each kernel gets the registers of the largest function that it may call: 64 for those that copy,
 * wait and synchronise, more for collectives. All files need the same GSHMEM_ARENA_BYTES then.
 *
 * Macros that a file may define before it includes this:
 *
 *  GSHMEM_ARENA_BYTES      static shared memory for the bulk-copy engine: on compute capability 9.0
 *                          or newer, kernels that put or get by single threads or warps use
 *                          16.5 KiB of the 48 KiB that CUDA allows. Less, or 0, leaves more to the
 *                          program; nvshmem.h and nccl_device.h make it 0 if it is not defined
 *  GSHMEM_LENDING          1: where GSHMEM_ARENA_BYTES is 0, the engine can still use what blocks
 *                          lend (gshmem::lend_shared), for 128 bytes of static shared memory in
 *                          kernels that put or get by single threads or warps
 *  GSHMEM_BATCH_PUTS       how many puts to far PEs a batch of a block holds, up to 128
 *                          (gshmem::begin_batch); each takes 48 bytes of static shared memory from
 *                          kernels that make such puts; the same in all files of a program
 *  GSHMEM_CHECKS           1: check each address, range and PE, as gshmem.h says
 *  GSHMEM_NEAR_ONLY        the kernels talk to near PEs only
 *  GSHMEM_WIDE_COPIES      with -rdc=true: copies as without it, for up to 94 registers, or 64 if
 *                          the file is compiled with -maxrregcount=64
 *  GSHMEM_CALL_SITES       hang reports say in which file and line a call stands that waits, of
 *                          kernels and of the host; on the CPU device in all files of a program.
 *                          Such a call has one more parameter then, which has a default, or if it
 *                          is for the host alone, a macro of its name. Files without kernels may
 *                          define it before gshmem.h: all calls have macros there
 *  GSHMEM_TRACE_KERNELS    calls in kernels appear in the timeline (GSHMEM_TRACE); on the CPU
 *                          device in all files of a program
 *  GSHMEM_SHARED_DEVICE    1: PEs may share a GPU (gshmemx_stream_check); in all files of a program
 *
 * Files whose kernels talk to near PEs only (one NVLink domain) may define GSHMEM_NEAR_ONLY
 * before they include this: this saves the registers that the far route would need. A call for any
 * other PE ends the job with a report, and barriers and syncs of teams with such a PE must not be
 * used. */
#ifndef GSHMEM_DEVICE_CUH
#define GSHMEM_DEVICE_CUH

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "gshmem_device.cuh needs C++17: compile with -std=c++17"
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
#error "gshmem needs compute capability 7.0 or newer: compile with nvcc -arch=sm_90 or the like"
#endif

#if defined(GSHMEM_H) && !defined(GSHMEM_DEVICE_CODE)
#error \
    "gshmem.h came first, without kernels: include <gshmem_device.cuh> before it, or instead of it"
#endif
#ifndef GSHMEM_DEVICE_CODE
#define GSHMEM_DEVICE_CODE 1
#endif

#if !defined(__CUDACC__)
#include "cpu/cuda_names.h"
#endif

#include "gshmem.h"
#include "gshmemx.h"

#include "device/api.cuh"
#include "gshmem/generic.h"

#if defined(GSHMEM_CALL_SITES)
#include "gshmem/call_sites.h"
#include "gshmem/call_sites_x.h"
#endif

#endif
