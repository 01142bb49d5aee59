/* SPDX-License-Identifier: Apache-2.0
 * Types and constants, under a path that programs include. */
#ifndef DEVICE_HOST_NVSHMEM_COMMON_CUH
#define DEVICE_HOST_NVSHMEM_COMMON_CUH

#include "../nvshmem.h"

#endif
