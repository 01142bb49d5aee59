/* SPDX-License-Identifier: Apache-2.0
 * Extensions on the host, under a path that programs include. */
#ifndef HOST_NVSHMEMX_API_H
#define HOST_NVSHMEMX_API_H

#include "../nvshmemx.h"

#endif
