/* SPDX-License-Identifier: Apache-2.0
 * Reduction operators. */
#ifndef GSH_NCCL_OP_H
#define GSH_NCCL_OP_H

#include "dialects/nccl/group/call.h"

/* An operator in gshmem's terms, and what is done in addition. */
struct gsh_nccl_combining {
    ncclRedOp_t base;
    bool is_premul, is_divided; /* input is multiplied, result divided, by scalar */
    uint64_t scalar;            /* its bits, in the data's type, */
    const void *scalar_at;      /* or where to read them when the call's turn on the stream comes */
    bool is_wide; /* 8-bit numbers, combined as float; the divisor is a float as well */
};

/* For a call whose operator has been checked. */
struct gsh_nccl_combining gsh_nccl_combining(const struct gsh_nccl_call *c);
ncclResult_t gsh_nccl_check_op(const struct gsh_nccl_call *c);

#endif
