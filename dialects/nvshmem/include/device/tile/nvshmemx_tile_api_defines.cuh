/* SPDX-License-Identifier: Apache-2.0
 * Tiles, under a path that programs include. */
#ifndef DEVICE_TILE_NVSHMEMX_TILE_API_DEFINES_CUH
#define DEVICE_TILE_NVSHMEMX_TILE_API_DEFINES_CUH

#include "../../nvshmemx.h"

#endif
