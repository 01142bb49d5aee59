/* SPDX-License-Identifier: Apache-2.0
 * A collective whose turn has come: what it moves from where to where, and how it combines. There
 * are two ways to carry it out, each with one function for each kind: direct.h, staged.h. */
#ifndef GSH_NCCL_WORK_H
#define GSH_NCCL_WORK_H

#include "dialects/nccl/coll/op.h"

struct gsh_nccl_work {
    const char *name; /* the call's, for errors */
    struct ncclComm *comm;
    const void *source;
    void *dest;
    size_t count; /* elements of one block, as in struct gsh_nccl_collective */
    ncclDataType_t type;
    struct gsh_nccl_combining op; /* of a reduction */
    int root;
    bool has_result;  /* this rank gets one */
    bool is_in_place; /* the program gave the same address for source and dest */
    cudaStream_t stream;
};

#endif
