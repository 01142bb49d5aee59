/* SPDX-License-Identifier: Apache-2.0
 * What arguments.c uses of DLPack's exchange of tensors by C functions (DLPack 1.3):
 * a type of tensors has the attribute __dlpack_c_exchange_api__, a capsule with this structure. It
 * tells a tensor's address, shape and type in a tenth of the time that its attributes take. */
#ifndef GSHMEM_DLPACK_ABI_H
#define GSHMEM_DLPACK_ABI_H

#include <stdint.h>

enum { DLPACK_INT, DLPACK_UINT, DLPACK_FLOAT, DLPACK_BFLOAT = 4, DLPACK_COMPLEX, DLPACK_BOOL };

struct dlpack_tensor {
    void *data;
    int32_t device_kind, device_number;
    int32_t n_dimensions;
    uint8_t type_code, type_bits;
    uint16_t type_vector;
    int64_t *shape, *strides; /* the tensor's, as long as it lives; strides in elements */
    uint64_t byte_offset;
};

struct dlpack_exchange {
    uint32_t major, minor;
    struct dlpack_exchange *earlier; /* of another major version */
    void *allocate, *managed_from_object, *managed_to_object;
    int (*tensor_from_object)(void *object, struct dlpack_tensor *out); /* may be NULL */
};

#endif
