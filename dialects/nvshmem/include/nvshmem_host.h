/* SPDX-License-Identifier: Apache-2.0
 * The host calls, under a path that programs include. */
#ifndef NVSHMEM_HOST_H
#define NVSHMEM_HOST_H

#include "nvshmem.h"

#endif
