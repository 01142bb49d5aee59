/* SPDX-License-Identifier: Apache-2.0
 * Shared by the calls that move data. */
#ifndef GSH_NCCL_COLL_H
#define GSH_NCCL_COLL_H

#include "dialects/nccl/group/group.h"
#include "dialects/nccl/comm/launch.h"

/* Checks communicator, type, and root or peer, and that the byte count does not overflow. */
ncclResult_t gsh_nccl_check_data(const struct gsh_nccl_call *c);
size_t gsh_nccl_type_bytes(ncclDataType_t type);

/* An operator in gshmem's terms, and what is done in addition. */
struct gsh_nccl_combining {
    ncclRedOp_t base;
    bool is_premul, is_divided; /* input is multiplied, result divided, by scalar */
    uint64_t scalar;            /* its bits, in the data's type, */
    const void *scalar_at;      /* or where to read them when the call's turn on the stream comes */
    bool is_wide; /* 8-bit numbers, combined as float; the divisor is a float as well */
};

/* op.c: for a call whose operator has been checked. */
struct gsh_nccl_combining gsh_nccl_combining(const struct gsh_nccl_call *c);
ncclResult_t gsh_nccl_check_op(const struct gsh_nccl_call *c);

/* alike.c: in checking builds, and that its buffers lie alike; NULL: not in a window, or copied. */
ncclResult_t gsh_nccl_compare_ranks(const struct gsh_nccl_call *c, const void *source,
                                    const void *dest);

/* Gathers a send or receive for the next launch. */
ncclResult_t gsh_nccl_transfer_add(const char *call, struct ncclComm *comm, void *buffer,
                                   size_t bytes, int peer, bool is_send, cudaStream_t stream);

#endif
