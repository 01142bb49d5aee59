/* SPDX-License-Identifier: Apache-2.0
 * See stream.h. A stream's number is its place in a list of those that were used; of more streams
 * than there is room for, the rest share the last number. */
#include "runtime/trace/stream.h"

#include "runtime/trace/kernels.h"
#include "wire/kernels.h"
#include "wire/trace.h"

static void put(struct gsh_kernel_trace_args *args, enum gsh_trace_event_kind kind,
                uint64_t payload)
{
    args->kind[args->n] = (uint8_t)kind;
    args->payload[args->n++] = payload;
}

static void put_word(struct gsh_kernel_trace_args *args, uint64_t off,
                     const struct gsh_trace_stream_call *what)
{
    uint32_t op = what->op;
    if (what->kind == GSH_TRACE_EVENT_WAIT) {
        op += what->word_bytes == 4   ? GSH_TRACE_EVENT_WORD_4
              : what->word_bytes == 2 ? GSH_TRACE_EVENT_WORD_2
                                      : 0;
    }
    put(args, GSH_TRACE_EVENT_WORD, off | (uint64_t)op << 48);
    put(args, GSH_TRACE_EVENT_VALUE, what->value);
}

static void launch(struct gsh_instance *pe, struct gsh_kernel_trace_args *args, gsh_stream stream)
{
    args->who = gsh_trace_kernels_number_stream(pe, stream);
    /* a failure is that of the stream, which the call itself reports */
    (void)pe->device_ops->stream_trace(pe, args, stream);
}

void gsh_trace_stream_begin(struct gsh_trace_scope *scope, struct gsh_trace_on_stream *on,
                            struct gsh_instance *pe, const char *call, gsh_stream stream,
                            const struct gsh_trace_stream_call *what)
{
    gsh_trace_call(scope, pe, call);
    if (scope->trace == NULL || scope->is_inner || pe->trace_kernels == NULL) {
        return;
    }
    struct gsh_kernel_trace_args args = {.n = 0};
    uint64_t data = gsh_trace_offset(pe, what->data), word = gsh_trace_offset(pe, what->word);
    put(&args, GSH_TRACE_EVENT_BEGIN,
        gsh_trace_name(pe->trace, scope->name) | (uint64_t)what->kind << 48);
    if (what->target >= 0 || what->bytes > 0) {
        uint64_t to = what->target < 0 ? GSH_TRACE_NO_PE : (uint64_t)what->target;
        put(&args, GSH_TRACE_EVENT_TO, to | what->bytes << 20);
    }
    if (data != GSH_TRACE_NONE) {
        put(&args, GSH_TRACE_EVENT_AT, data);
    }
    if (word != GSH_TRACE_NONE) {
        put_word(&args, word, what);
    }
    if (what->team != NULL) {
        put(&args, GSH_TRACE_EVENT_TEAM, (uint32_t)*what->team);
    }
    *on = (struct gsh_trace_on_stream){.pe = pe, .stream = stream};
    if (what->kind == GSH_TRACE_EVENT_WAIT && word != GSH_TRACE_NONE) {
        on->word = pe->state.base + word;
        on->word_bytes = what->word_bytes;
    }
    launch(pe, &args, stream);
}

void gsh_trace_stream_end(struct gsh_trace_on_stream *on)
{
    struct gsh_kernel_trace_args args = {.word = on->word, .word_bytes = on->word_bytes};
    put(&args, GSH_TRACE_EVENT_END, 0);
    launch(on->pe, &args, on->stream);
}

void gsh_trace_coll(struct gsh_trace_scope *scope, struct gsh_trace_on_stream *on,
                    struct gsh_instance *pe, const char *call, bool is_on_stream, gsh_stream stream,
                    gshmem_team_t team, const void *data, uint64_t bytes)
{
    const struct gsh_trace_stream_call what = {
        .target = -1, .data = data, .bytes = bytes, .team = &team};
    if (is_on_stream) {
        gsh_trace_stream_begin(scope, on, pe, call, stream, &what);
    } else {
        gsh_trace_team(scope, pe, call, team, data, bytes);
    }
}
