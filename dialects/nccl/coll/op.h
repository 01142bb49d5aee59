/* SPDX-License-Identifier: Apache-2.0
 * Reduction operators. */
#ifndef GSH_NCCL_OP_H
#define GSH_NCCL_OP_H

#include "dialects/nccl/comm/comm.h"

/* An operator in gshmem's terms, and what is done in addition. */
struct gsh_nccl_combining {
    ncclRedOp_t base;
    bool is_premul, is_divided; /* input is multiplied, result divided, by scalar */
    uint64_t scalar;            /* its bits, in the data's type, */
    const void *scalar_at;      /* or where to read them when the call's turn on the stream comes */
    bool is_wide; /* 8-bit numbers, combined as float; the divisor is a float as well */
};

/* Whether the communicator has the operator, for data of that type. */
ncclResult_t gsh_nccl_check_op(const char *call, const struct ncclComm *comm, ncclDataType_t type,
                               ncclRedOp_t op);
/* For an operator that has been checked. */
struct gsh_nccl_combining gsh_nccl_combining(const struct ncclComm *comm, ncclDataType_t type,
                                             ncclRedOp_t op);

/* The type in which elements are combined, and cross the links. */
static inline ncclDataType_t gsh_nccl_combined_type(const struct gsh_nccl_combining *op,
                                                    ncclDataType_t type)
{
    return op->is_wide ? ncclFloat32 : type;
}

#endif
