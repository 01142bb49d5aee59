/* SPDX-License-Identifier: Apache-2.0
 * The one host body of all remote atomics. Typed names are stamped in typed.c. */
#include <string.h>
#include "runtime/api/check.h"
#include "runtime/api/host_calls.h"
#include "runtime/far/far.h"
#include "runtime/init/setup.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/trace/call.h"

static uint64_t bits_of(const void *value, size_t bytes)
{
    uint64_t bits = 0;
    if (value != NULL) {
        memcpy(&bits, value, bytes);
    }
    return bits;
}

static uint64_t far_amo(struct gsh_instance *pe, gsh_context ctx, const char *call,
                        enum gsh_amo_op op, const void *dest, size_t bytes, uint64_t operand,
                        uint64_t cond, bool is_fetch, int target)
{
    struct gsh_request request = gsh_far_request(pe, GSH_FAR_AMO, dest, target);
    request.amo_op = (uint8_t)op;
    request.word_bytes = (uint8_t)bytes;
    request.is_fetch = is_fetch;
    request.operand = operand;
    request.cond = cond;
    gsh_far_run(pe, ctx, call, &request);
    return request.value;
}

void gsh_amo(gsh_context ctx, const char *call, enum gsh_amo_op op, const void *dest, size_t bytes,
             const void *value, const void *cond, void *old, int target)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    if ((uintptr_t)dest % bytes != 0) {
        gsh_abort(pe, 1, "%s: address %p is not a multiple of %zu", call, dest, bytes);
    }
    void *remote = gsh_peer_address(pe, call, dest, bytes, target);
    uint64_t operand = bits_of(value, bytes), bits = bits_of(cond, bytes), before = 0;
    GSH_TRACE_SIGNAL(pe, call, target, dest, bytes, dest, gsh_trace_op_of_amo(op), operand);
    if (gsh_is_far(pe, target)) {
        before = far_amo(pe, ctx, call, op, dest, bytes, operand, bits, old != NULL, target);
    } else {
        gsh_require(pe, call,
                    pe->device_ops->amo(pe, ctx, op, remote, bytes, operand, bits,
                                        old != NULL ? &before : NULL));
    }
    if (old != NULL) {
        memcpy(old, &before, bytes);
    }
}

void gsh_amo_nbi(gsh_context ctx, const char *call, enum gsh_amo_op op, const void *dest,
                 size_t bytes, const void *value, const void *cond, void *fetch, int target)
{
    uint64_t old = 0;
    gsh_amo(ctx, call, op, dest, bytes, value, cond, &old, target);
    struct gsh_instance *pe = gsh_instance_need_device(call);
    gsh_check_local(pe, call, fetch, 1, bytes);
    gsh_require(pe, call, pe->device_ops->copy(pe, ctx, fetch, &old, bytes));
}
