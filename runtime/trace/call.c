/* SPDX-License-Identifier: Apache-2.0
 * Fills the slots of host calls. */
#include "runtime/trace/call.h"

#include "gshmem/types.h"

uint64_t gsh_trace_offset(const struct gsh_instance *pe, const void *address)
{
    if (address == NULL || !pe->is_device_ready) {
        return GSH_TRACE_NONE;
    }
    uint64_t off = gsh_symmetric_off(pe, address);
    return off < pe->state.stride ? off : GSH_TRACE_NONE;
}

void gsh_trace_call(struct gsh_trace_scope *scope, struct gsh_instance *pe, const char *call)
{
    gsh_trace_begin_scope(scope, pe->trace, call, -1);
}

void gsh_trace_data(struct gsh_trace_scope *scope, struct gsh_instance *pe, const char *call,
                    int target, const void *address, uint64_t bytes)
{
    gsh_trace_begin_scope(scope, pe->trace, call, target);
    scope->slot.bytes = bytes;
    scope->slot.off = gsh_trace_offset(pe, address);
}

void gsh_trace_team(struct gsh_trace_scope *scope, struct gsh_instance *pe, const char *call,
                    int32_t team, const void *address, uint64_t bytes)
{
    gsh_trace_data(scope, pe, call, -1, address, bytes);
    scope->slot.op = GSH_TRACE_OP_TEAM;
    scope->slot.value = (uint64_t)(int64_t)team;
}

void gsh_trace_word(struct gsh_trace_scope *scope, struct gsh_instance *pe, const void *word,
                    enum gsh_trace_op op, uint64_t value)
{
    scope->slot.op = (uint8_t)op;
    scope->slot.word_off = gsh_trace_offset(pe, word);
    scope->slot.value = value;
}

void gsh_trace_wait(struct gsh_trace_scope *scope, struct gsh_instance *pe,
                    const struct gsh_wait_arg *wait)
{
    gsh_trace_begin_scope(scope, pe->trace, wait->call, -1);
    scope->slot.kind = GSH_TRACE_WAIT;
    scope->slot.op = (uint8_t)(GSH_TRACE_OP_AWAIT + (unsigned)wait->cmp);
    scope->slot.word_off = gsh_trace_offset(pe, wait->ivars);
    scope->slot.off = wait->kind.bytes; /* of a word */
    scope->slot.bytes = wait->nelems * wait->kind.bytes;
    scope->slot.value = scope->slot.seen = wait->value;
}

void gsh_trace_seen(struct gsh_trace_scope *scope, size_t index, uint64_t bits)
{
    struct gsh_trace_slot *slot = &scope->slot;
    if (index != SIZE_MAX) {
        slot->word_off += index * slot->off;
        slot->bytes = slot->off;
        slot->seen = bits;
    }
}

void gsh_trace_memory(struct gsh_instance *pe, const char *call, const void *address,
                      uint64_t bytes, enum gsh_trace_kind kind)
{
    if (gsh_trace_is_recording() && pe->trace != NULL) {
        struct gsh_trace_slot slot = {.kind = (uint8_t)kind,
                                      .pe = -1,
                                      .end_ns = gsh_now_ns(),
                                      .bytes = bytes,
                                      .off = gsh_trace_offset(pe, address),
                                      .word_off = GSH_TRACE_NONE};
        gsh_trace_write(pe->trace, call, &slot);
    }
}

enum gsh_trace_op gsh_trace_op_of_signal(int sig_op)
{
    return sig_op == GSHMEM_SIGNAL_SET ? GSH_TRACE_OP_SET : GSH_TRACE_OP_ADD;
}

enum gsh_trace_op gsh_trace_op_of_amo(enum gsh_amo_op op)
{
    switch (op) {
    case GSH_AMO_FETCH:
        return GSH_TRACE_OP_NONE;
    case GSH_AMO_SET:
    case GSH_AMO_SWAP:
        return GSH_TRACE_OP_SET;
    case GSH_AMO_ADD:
        return GSH_TRACE_OP_ADD;
    default:
        return GSH_TRACE_OP_CHANGE;
    }
}
