/* SPDX-License-Identifier: Apache-2.0
 * NCCL's device API over gshmem: communicating kernels include this. Files without kernels get the
 * host's part alone.
 *
 * A kernel gets everything from its ncclDevComm argument, so several communicators on one GPU, and
 * kernels in modules unknown to gshmem, work. Waits obey GSHMEM_WAIT_TIMEOUT and end with the job
 * (the report names the call, the word and, for barriers, the rank's PE). */
#ifndef GSHMEM_NCCL_DEVICE_H
#define GSHMEM_NCCL_DEVICE_H

#if !defined(GSHMEM_OWN_WARNINGS)
#pragma GCC system_header /* its folder comes before the system's, so a compiler cannot know */
#endif

#if defined(__cplusplus) && (defined(__CUDACC__) || defined(GSHMEM_DEVICE_CODE))
#if !defined(GSHMEM_ARENA_BYTES)
#define GSHMEM_ARENA_BYTES 0 /* the program may need all of the 48 KiB itself */
#endif
#include <gshmem_device.cuh>
#include <cuda/atomic>
#define GSHMEM_NCCL_KERNELS 1
#endif

#include "nccl.h"
#include "nccl_device/types.h"
#include "nccl_device/window_record.h"

#include "nccl_device/team.h"
#include "nccl_device/ptr.h"

#if defined(GSHMEM_NCCL_KERNELS)
#include "nccl_device/coop.h"
#include "nccl_device/lsa_barrier.h"
#include "nccl_device/ll_a2a.h"
#include "nccl_device/gin.h"
#include "nccl_device/gin_c.h"
#include "nccl_device/gin_barrier.h"
#include "nccl_device/barrier.h"
#include "nccl_device/reduce_copy.h"
#include "nccl_device/multimem.h"
#include "nccl_device/cft.h"
#endif

#endif
