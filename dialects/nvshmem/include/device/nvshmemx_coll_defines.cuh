/* SPDX-License-Identifier: Apache-2.0
 * Collectives of warps and blocks, under a path that programs include. */
#ifndef DEVICE_NVSHMEMX_COLL_DEFINES_CUH
#define DEVICE_NVSHMEMX_COLL_DEFINES_CUH

#include "../nvshmemx.h"

#endif
