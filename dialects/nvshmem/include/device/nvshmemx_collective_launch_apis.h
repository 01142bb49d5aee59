/* SPDX-License-Identifier: Apache-2.0
 * For programs that include it by NVSHMEM's name: nvshmem_launch.h, and what it needs. */
#ifndef NVSHMEMX_COLLECTIVE_LAUNCH_APIS_H
#define NVSHMEMX_COLLECTIVE_LAUNCH_APIS_H

#include "../nvshmem.h"
#include "nvshmem_launch.h"

#endif
