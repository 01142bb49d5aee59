/* SPDX-License-Identifier: Apache-2.0
 * Unique ids, under a path that programs include. */
#ifndef BOOTSTRAP_DEVICE_HOST_NVSHMEM_UNIQUEID_H
#define BOOTSTRAP_DEVICE_HOST_NVSHMEM_UNIQUEID_H

#include "../device_host/nvshmem_types.h"

#endif
