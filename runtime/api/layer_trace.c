/* SPDX-License-Identifier: Apache-2.0
 * Dialects' calls in the timeline under their own names (runtime/layer.h). */
#include "runtime/instance/binding.h"
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
