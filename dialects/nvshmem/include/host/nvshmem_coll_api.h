/* SPDX-License-Identifier: Apache-2.0
 * Collectives on the host, under a path that programs include. */
#ifndef HOST_NVSHMEM_COLL_API_H
#define HOST_NVSHMEM_COLL_API_H

#include "../nvshmem.h"

#endif
