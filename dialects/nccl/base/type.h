/* SPDX-License-Identifier: Apache-2.0
 * The types of elements. */
#ifndef GSH_NCCL_TYPE_H
#define GSH_NCCL_TYPE_H

#include <stddef.h>
#include "dialects/nccl/include/nccl.h"

/* The bytes of an element; type is one of NCCL's. */
size_t gsh_nccl_type_bytes(ncclDataType_t type);

#endif
