/* SPDX-License-Identifier: Apache-2.0
 * The calls of the host: a path that programs include. */
#ifndef NVSHMEM_HOST_H
#define NVSHMEM_HOST_H

#include "nvshmem.h"

#endif
