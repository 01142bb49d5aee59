/* SPDX-License-Identifier: Apache-2.0
 * A collective, as a program asks for it. */
#ifndef GSH_NCCL_COLLECTIVE_H
#define GSH_NCCL_COLLECTIVE_H

#include <stddef.h>
#include "dialects/nccl/include/nccl.h"

enum gsh_nccl_kind {
    GSH_NCCL_ALL_REDUCE = 1, /* ranks tell each other these numbers */
    GSH_NCCL_REDUCE,
    GSH_NCCL_REDUCE_SCATTER,
    GSH_NCCL_ALL_GATHER,
    GSH_NCCL_ALL_TO_ALL,
    GSH_NCCL_BROADCAST,
    GSH_NCCL_GATHER,
    GSH_NCCL_SCATTER,
    GSH_NCCL_N_KINDS
};

/* What a config says of it: 0, NULL: nothing. */
enum { GSH_NCCL_CONFIG_MOST_BLOCKS = 255 };
struct gsh_nccl_coll_config {
    unsigned least_blocks, most_blocks; /* of a launch; the same on all ranks */
    void *event;                        /* recorded on the stream before the call's work */
};

/* op: 0 where there is none. root: 0 where there is none. */
struct gsh_nccl_collective {
    enum gsh_nccl_kind kind;
    const void *source;
    void *dest;
    size_t count; /* elements of one block: of what a rank contributes, or gets of another */
    ncclDataType_t type;
    ncclRedOp_t op;
    int root;
    cudaStream_t stream;
    struct gsh_nccl_coll_config config;
};

#endif
