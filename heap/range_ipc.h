/* SPDX-License-Identifier: Apache-2.0
 * Memory of cudaMalloc, which CUDA shares in a way of its own: by the handle of a whole allocation,
 * at an address that the driver chooses. Failures are kept by gsh_note; without CUDA all fail. */
#ifndef GSH_RANGE_IPC_H
#define GSH_RANGE_IPC_H

#include <stdint.h>
#include "base/cuda.h"
#include "base/result.h"

#define GSH_IPC_HANDLE_BYTES 64

/* Finds the allocation that holds all of [ptr, ptr + bytes): its beginning, size and handle. */
GSH_CHECK_RESULT enum gsh_result gsh_range_ipc_get(CUdevice device, uint64_t ptr, uint64_t bytes,
                                                   uint64_t *start, uint64_t *size,
                                                   uint8_t handle[GSH_IPC_HANDLE_BYTES]);
/* *base: where the other process's allocation begins here. */
GSH_CHECK_RESULT enum gsh_result
gsh_range_ipc_open(CUdevice device, const uint8_t handle[GSH_IPC_HANDLE_BYTES], uint64_t *base);
void gsh_range_ipc_close(CUdevice device, uint64_t base);

#endif
