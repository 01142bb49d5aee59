/* SPDX-License-Identifier: Apache-2.0
 * See type.h. */
#include "dialects/nccl/base/type.h"

#include <stdint.h>

size_t gsh_nccl_type_bytes(ncclDataType_t type)
{
    static const uint8_t bytes[ncclNumTypes] = {
        [ncclInt8] = 1,    [ncclUint8] = 1,    [ncclInt32] = 4,      [ncclUint32] = 4,
        [ncclInt64] = 8,   [ncclUint64] = 8,   [ncclFloat16] = 2,    [ncclFloat32] = 4,
        [ncclFloat64] = 8, [ncclBfloat16] = 2, [ncclFloat8e4m3] = 1, [ncclFloat8e5m2] = 1,
    };
    return bytes[type];
}
