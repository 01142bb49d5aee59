/* SPDX-License-Identifier: Apache-2.0
 * Calls in kernels, under a path that programs include. */
#ifndef DEVICE_NVSHMEM_DEVICE_MACROS_H
#define DEVICE_NVSHMEM_DEVICE_MACROS_H

#include "../nvshmem.h"

#endif
