/* SPDX-License-Identifier: Apache-2.0
 * Dialects' calls in the timeline under their own names (runtime/layer.h). */
#include "runtime/instance/binding.h"
#include "runtime/instance/waits.h"
#include "runtime/layer.h"
#include "runtime/trace/stream.h"

struct traced {
    struct gsh_trace_scope scope;
    struct gsh_trace_on_stream on;
};
_Static_assert(sizeof(struct traced) <= sizeof(struct gshmemx_layer_traced),
               "gshmemx_layer_traced has no room");

void gshmemx_layer_trace_as(const char *call)
{
    gsh_trace_as(call);
    gsh_waits_call_as(call);
}

static void begin_own(struct traced *t, struct gsh_instance *pe,
                      const struct gshmemx_layer_traced_call *c)
{
    gsh_trace_data(&t->scope, pe, c->call, -1, NULL, c->bytes);
    if (c->kind != GSHMEMX_LAYER_TRACED_CALL) {
        t->scope.slot.pe = GSH_TRACE_PE_BY_MEMORY;
        t->scope.slot.seen = c->memory;
    }
    if (c->kind == GSHMEMX_LAYER_TRACED_WRITE) {
        t->scope.slot.off = c->offset;
    } else if (c->kind == GSHMEMX_LAYER_TRACED_UPDATE) {
        t->scope.slot.word_off = c->offset;
        t->scope.slot.op = GSH_TRACE_OP_SET;
        t->scope.slot.value = c->value;
    }
}

static void begin(struct traced *t, struct gsh_instance *pe,
                  const struct gshmemx_layer_traced_call *c)
{
    bool is_wait = c->kind == GSHMEMX_LAYER_TRACED_WAIT;
    const struct gsh_trace_stream_call what = {.kind = is_wait ? GSH_TRACE_EVENT_WAIT
                                                               : GSH_TRACE_EVENT_CALL,
                                               .target = -1,
                                               .word = is_wait ? c->word : NULL,
                                               .word_bytes = sizeof(uint64_t),
                                               .op = GSH_TRACE_EVENT_AWAIT + GSHMEM_CMP_GE,
                                               .value = c->value};
    if (c->kind >= GSHMEMX_LAYER_TRACED_WRITE) {
        begin_own(t, pe, c);
        return;
    }
    if (c->kind != GSHMEMX_LAYER_TRACED_MESSAGE) {
        gsh_trace_stream_begin(&t->scope, &t->on, pe, c->call, c->stream, &what);
        return;
    }
    gsh_trace_data(&t->scope, pe, c->call, c->pe, NULL, c->bytes);
    t->scope.slot.op = c->is_receive ? GSH_TRACE_OP_RECEIVE : GSH_TRACE_OP_NONE;
}

void gshmemx_layer_trace_begin(struct gshmemx_layer_traced *traced,
                               const struct gshmemx_layer_traced_call *c)
{
    struct traced *t = (struct traced *)traced;
    t->scope.trace = NULL;
    t->on.pe = NULL;
    struct gsh_instance *pe = gsh_trace_is_recording() ? gsh_instance_current() : NULL;
    if (pe != NULL && pe->trace != NULL) {
        begin(t, pe, c);
    }
}

void gshmemx_layer_trace_end(struct gshmemx_layer_traced *traced)
{
    struct traced *t = (struct traced *)traced;
    gsh_trace_stream_leave(&t->on);
    gsh_trace_leave(&t->scope);
}

void gshmemx_layer_trace_memory(const void *address, size_t bytes, uint64_t number, bool is_own)
{
    struct gsh_instance *pe = gsh_trace_is_recording() ? gsh_instance_current() : NULL;
    if (pe == NULL || pe->trace == NULL) {
        return;
    }
    struct gsh_trace_slot slot = {.kind = GSH_TRACE_MEMORY,
                                  .op = is_own,
                                  .pe = -1,
                                  .begin_ns = gsh_now_ns(),
                                  .bytes = bytes,
                                  .off = (uint64_t)(uintptr_t)address,
                                  .word_off = GSH_TRACE_NONE,
                                  .value = number};
    slot.end_ns = slot.begin_ns;
    gsh_trace_write(pe->trace, NULL, &slot);
}
