/* SPDX-License-Identifier: Apache-2.0
 * Collectives in kernels, under a path that programs include. */
#ifndef DEVICE_NVSHMEM_COLL_DEFINES_CUH
#define DEVICE_NVSHMEM_COLL_DEFINES_CUH

#include "../nvshmem.h"

#endif
