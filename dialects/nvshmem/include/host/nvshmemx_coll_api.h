/* SPDX-License-Identifier: Apache-2.0
 * Collectives on streams, under a path that programs include. */
#ifndef HOST_NVSHMEMX_COLL_API_H
#define HOST_NVSHMEMX_COLL_API_H

#include "../nvshmemx.h"

#endif
