/* SPDX-License-Identifier: Apache-2.0
 * Extensions in kernels, under a path that programs include. */
#ifndef DEVICE_NVSHMEMX_DEFINES_H
#define DEVICE_NVSHMEMX_DEFINES_H

#include "../nvshmemx.h"

#endif
