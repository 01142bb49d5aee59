/* SPDX-License-Identifier: Apache-2.0
 * The calls of nvshmem.h, plus launches and tiles. */
#ifndef NVSHMEMX_H
#define NVSHMEMX_H

#include "nvshmem.h"

#include "device/nvshmemx_collective_launch_apis.h"
#if defined(NVSHMEM_DEVICE_CODE)
#include "device/tile/nvshmemx_tile_api.hpp"
#endif

#endif
