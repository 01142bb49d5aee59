/* SPDX-License-Identifier: Apache-2.0
 * The host calls, under a path that programs include. */
#ifndef HOST_NVSHMEM_MACROS_H
#define HOST_NVSHMEM_MACROS_H

#include "../nvshmem.h"

#endif
