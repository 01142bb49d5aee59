/* SPDX-License-Identifier: Apache-2.0
 * What the calls that move data share. */
#ifndef GSH_NCCL_COLL_H
#define GSH_NCCL_COLL_H

#include "dialects/nccl/src/group.h"
#include "dialects/nccl/src/launch.h"

/* Communicator, type, and root or peer; and that the bytes can be counted. */
ncclResult_t gsh_nccl_check_data(const struct gsh_nccl_call *c);
size_t gsh_nccl_type_bytes(ncclDataType_t type);

/* An operator as the base has it, and what is done besides. */
struct gsh_nccl_combining {
    ncclRedOp_t base;
    bool is_premul, is_divided; /* input times, result by scalar */
    uint64_t scalar;            /* its bits, of the data's type, */
    const void *scalar_at;      /* or where they are when the stream comes to it */
    bool is_wide; /* 8-bit numbers, combined as float; the divisor's bits are of float, too */
};

/* op.c: of a call whose operator has been checked. */
struct gsh_nccl_combining gsh_nccl_combining(const struct gsh_nccl_call *c);
ncclResult_t gsh_nccl_check_op(const struct gsh_nccl_call *c);

/* alike.c: in checking builds, and that its buffers lie alike; NULL: not in a window, or copied. */
ncclResult_t gsh_nccl_compare_ranks(const struct gsh_nccl_call *c, const void *source,
                                    const void *dest);

/* Gathers a send or receive for the next launch. */
ncclResult_t gsh_nccl_transfer_add(const char *call, struct ncclComm *comm, void *buffer,
                                   size_t bytes, int peer, bool is_send, cudaStream_t stream);

#endif
