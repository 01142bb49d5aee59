/* SPDX-License-Identifier: Apache-2.0
 * Operators of reductions: NCCL's in terms of gshmem's, and those that a program makes. */
#include <string.h>
#include "dialects/nccl/src/coll.h"

static bool is_integer(ncclDataType_t type)
{
    return type <= ncclUint64;
}

/* The bits of 1 / n, in half and bfloat16 rounded to nearest even. */
static uint64_t inverse_bits(int n, ncclDataType_t type)
{
    uint64_t bits = 0;
    float f = 1.0f / (float)n;
    double d = 1.0 / n;
    uint32_t u;
    memcpy(&u, &f, sizeof(u));
    switch (type) {
    case ncclFloat64:
        memcpy(&bits, &d, sizeof(d));
        break;
    case ncclBfloat16:
        bits = (u + 0x7fff + (u >> 16 & 1)) >> 16;
        break;
    case ncclFloat16: {
        /* 1 / n of at most 16384 ranks is a normal number of half */
        uint32_t rounded = u + 0xfff + (u >> 13 & 1);
        bits = (rounded >> 13) - ((127 - 15) << 10);
        break;
    }
    default:
        bits = u;
    }
    return bits;
}

struct gsh_nccl_combining gsh_nccl_combining(const struct gsh_nccl_call *c)
{
    if (c->op == ncclAvg) {
        return is_integer(c->type)
                   ? (struct gsh_nccl_combining){ncclSum, false, true, (uint64_t)c->comm->n_ranks}
                   : (struct gsh_nccl_combining){ncclSum, true, false,
                                                 inverse_bits(c->comm->n_ranks, c->type)};
    }
    if (c->op >= ncclNumOps) {
        return (struct gsh_nccl_combining){ncclSum, true, false,
                                           c->comm->ops[c->op - ncclNumOps].scalar};
    }
    return (struct gsh_nccl_combining){c->op, false, false, 0};
}

ncclResult_t gsh_nccl_check_op(const struct gsh_nccl_call *c)
{
    if ((int)c->type >= GSH_NCCL_N_COMPUTED) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: reductions of 8-bit floating-point numbers are not supported",
                             c->name);
    }
    bool is_made = (unsigned)c->op >= ncclNumOps &&
                   (unsigned)c->op < ncclNumOps + GSH_NCCL_MAX_OPS &&
                   c->comm->ops[c->op - ncclNumOps].is_used;
    if ((unsigned)c->op >= ncclNumOps && !is_made) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: there is no operator %d", c->name,
                             (int)c->op);
    }
    if (is_made && c->comm->ops[c->op - ncclNumOps].type != c->type) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: the operator is of type %d, the data of %d",
                             c->name, (int)c->comm->ops[c->op - ncclNumOps].type, (int)c->type);
    }
    return ncclSuccess;
}

/* ---- operators ---- */

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm)
{
    static const char call[] = "ncclRedOpCreatePreMulSum";
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r != ncclSuccess) {
        return r;
    }
    if (op == NULL || scalar == NULL || (int)datatype >= GSH_NCCL_N_COMPUTED ||
        datatype < ncclInt8 || (unsigned)residence > ncclScalarHostImmediate) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: scalar %p of type %d: not valid", call,
                             scalar, (int)datatype);
    }
    int place = 0;
    while (place < GSH_NCCL_MAX_OPS && comm->ops[place].is_used) {
        place++;
    }
    if (place == GSH_NCCL_MAX_OPS) {
        return gsh_nccl_fail(ncclInvalidUsage, "%s: a communicator has at most %d operators", call,
                             GSH_NCCL_MAX_OPS);
    }
    struct gsh_nccl_op made = {.is_used = true, .type = datatype};
    if (residence == ncclScalarHostImmediate) {
        memcpy(&made.scalar, scalar, gsh_nccl_type_bytes(datatype));
    } else {
        /* By way of the desk, since a get's source is symmetric. */
        gsh_nccl_write(comm->job->one, scalar, gsh_nccl_type_bytes(datatype));
        gsh_nccl_read(&made.scalar, comm->job->one, gsh_nccl_type_bytes(datatype));
    }
    comm->ops[place] = made;
    *op = (ncclRedOp_t)(ncclNumOps + place);
    return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
    static const char call[] = "ncclRedOpDestroy";
    ncclResult_t r = gsh_nccl_need(call, comm);
    unsigned place = (unsigned)op - ncclNumOps;
    if (r == ncclSuccess && (place >= GSH_NCCL_MAX_OPS || !comm->ops[place].is_used)) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: operator %d was not made", call, (int)op);
    }
    if (r == ncclSuccess) {
        comm->ops[place].is_used = false;
    }
    return r;
}
