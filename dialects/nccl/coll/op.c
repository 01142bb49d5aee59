/* SPDX-License-Identifier: Apache-2.0
 * Reduction operators: NCCL's in terms of gshmem's, and those that a program makes. */
#include "dialects/nccl/coll/op.h"

#include <string.h>
#include "dialects/nccl/base/type.h"

static bool is_integer(ncclDataType_t type)
{
    return type <= ncclUint64;
}

static bool is_float8(ncclDataType_t type)
{
    return type == ncclFloat8e4m3 || type == ncclFloat8e5m2;
}

static uint64_t float_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

/* The bits of 1 / n, in half and bfloat16 rounded to nearest even. */
static uint64_t inverse_bits(int n, ncclDataType_t type)
{
    uint64_t bits = 0;
    double d = 1.0 / n;
    uint32_t u = (uint32_t)float_bits(1.0f / (float)n);
    switch (type) {
    case ncclFloat64:
        memcpy(&bits, &d, sizeof(d));
        break;
    case ncclBfloat16:
        bits = (u + 0x7fff + (u >> 16 & 1)) >> 16;
        break;
    case ncclFloat16: {
        /* 1 / n is a normal half for at most 16384 ranks */
        uint32_t rounded = u + 0xfff + (u >> 13 & 1);
        bits = (rounded >> 13) - ((127 - 15) << 10);
        break;
    }
    default:
        bits = u;
    }
    return bits;
}

struct gsh_nccl_combining gsh_nccl_combining(const struct ncclComm *comm, ncclDataType_t type,
                                             ncclRedOp_t op)
{
    int n = comm->n_ranks;
    struct gsh_nccl_combining how = {.base = ncclSum, .is_wide = is_float8(type)};
    if (op < ncclAvg) {
        return (struct gsh_nccl_combining){.base = op};
    }
    if (op == ncclAvg && (how.is_wide || is_integer(type))) {
        how.is_divided = true;
        how.scalar = how.is_wide ? float_bits((float)n) : (uint64_t)n;
    } else if (op == ncclAvg) {
        how.is_premul = true;
        how.scalar = inverse_bits(n, type);
    } else {
        const struct gsh_nccl_op *made = &comm->ops[op - ncclNumOps];
        how.is_premul = true;
        how.scalar = made->scalar;
        how.scalar_at = made->scalar_at;
    }
    return how;
}

ncclResult_t gsh_nccl_check_op(const char *call, const struct ncclComm *comm, ncclDataType_t type,
                               ncclRedOp_t op)
{
    bool is_made = (unsigned)op >= ncclNumOps && (unsigned)op < ncclNumOps + GSH_NCCL_MAX_OPS &&
                   comm->ops[op - ncclNumOps].is_used;
    if ((unsigned)op >= ncclNumOps && !is_made) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: there is no operator %d", call, (int)op);
    }
    if (is_made && comm->ops[op - ncclNumOps].type != type) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: the operator is of type %d, the data of %d",
                             call, (int)comm->ops[op - ncclNumOps].type, (int)type);
    }
    return ncclSuccess;
}

/* ---- operators ---- */

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm)
{
    static const char call[] = "ncclRedOpCreatePreMulSum";
    ncclResult_t r = gsh_nccl_need_open(call, comm);
    if (r != ncclSuccess) {
        return r;
    }
    if (op == NULL || scalar == NULL || (unsigned)datatype >= ncclNumTypes ||
        (unsigned)residence > ncclScalarHostImmediate) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: scalar %p of type %d: not valid", call,
                             scalar, (int)datatype);
    }
    int record_index = 0;
    while (record_index < GSH_NCCL_MAX_OPS && comm->ops[record_index].is_used) {
        record_index++;
    }
    if (record_index == GSH_NCCL_MAX_OPS) {
        return gsh_nccl_fail(ncclInvalidUsage, "%s: a communicator has at most %d operators", call,
                             GSH_NCCL_MAX_OPS);
    }
    struct gsh_nccl_op made = {.is_used = true, .type = datatype};
    if (residence == ncclScalarHostImmediate) {
        memcpy(&made.scalar, scalar, gsh_nccl_type_bytes(datatype));
    } else {
        made.scalar_at = scalar;
    }
    comm->ops[record_index] = made;
    *op = (ncclRedOp_t)(ncclNumOps + record_index);
    return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
    static const char call[] = "ncclRedOpDestroy";
    ncclResult_t r = gsh_nccl_need(call, comm);
    unsigned record_index = (unsigned)op - ncclNumOps;
    if (r == ncclSuccess &&
        (record_index >= GSH_NCCL_MAX_OPS || !comm->ops[record_index].is_used)) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: operator %d was not made", call, (int)op);
    }
    if (r == ncclSuccess) {
        comm->ops[record_index].is_used = false;
    }
    return r;
}
