/* SPDX-License-Identifier: Apache-2.0
 * What calls on a stream leave in the timeline: a slice of the stream's track, from when the stream
 * has come to the call until it has carried it out. The stream itself notes both times, by a kernel
 * before and one after what the call enqueues (wire/trace.h); the host's own slice of the call says
 * how long enqueueing took. Without a timeline a call costs one branch, and enqueues nothing. */
#ifndef GSH_TRACE_STREAM_H
#define GSH_TRACE_STREAM_H

#include "gshmem/types.h"
#include "runtime/trace/call.h"
#include "wire/trace.h"

/* What the call does; as in struct gsh_trace_slot. */
struct gsh_trace_stream_call {
    uint32_t kind; /* enum gsh_trace_event_call */
    int target;    /* -1: nobody in particular */
    const void *data;
    uint64_t bytes;
    const void *word; /* NULL: none */
    uint32_t word_bytes;
    uint32_t op; /* enum gsh_trace_op, also of a wait */
    uint64_t value;
    const gshmem_team_t *team; /* NULL: it is no collective */
};

/* From its beginning to the end of the function that has it. */
struct gsh_trace_on_stream {
    struct gsh_instance *pe; /* NULL: nothing to write */
    gsh_stream stream;
    uint64_t word;
    uint32_t word_bytes;
};

/* scope: the host's slice of the call. */
void gsh_trace_stream_begin(struct gsh_trace_scope *scope, struct gsh_trace_on_stream *on,
                            struct gsh_instance *pe, const char *call, gsh_stream stream,
                            const struct gsh_trace_stream_call *what);
void gsh_trace_stream_end(struct gsh_trace_on_stream *on);

static inline void gsh_trace_stream_leave(struct gsh_trace_on_stream *on)
{
    if (__builtin_expect(on->pe != NULL, 0)) {
        gsh_trace_stream_end(on);
    }
}

/* In a call's body, after its checks; the rest: struct gsh_trace_stream_call. */
#define GSH_TRACE_STREAM(PE, CALL, STREAM, ...)                                                  \
    GSH_TRACE_SCOPE(gsh_traced);                                                                 \
    struct gsh_trace_on_stream gsh_on_stream                                                     \
        __attribute__((cleanup(gsh_trace_stream_leave))) = {.pe = NULL};                         \
    if (gsh_trace_is_recording()) {                                                              \
        const struct gsh_trace_stream_call gsh_stream_call = {__VA_ARGS__};                      \
        gsh_trace_stream_begin(&gsh_traced, &gsh_on_stream, PE, CALL, STREAM, &gsh_stream_call); \
    }

/* The same for a collective, which on the host is a slice of the host's track: struct
 * gsh_coll_site. */
#define GSH_TRACE_COLL(PE, SITE, TEAM, DATA, BYTES)                                       \
    GSH_TRACE_SCOPE(gsh_traced);                                                          \
    struct gsh_trace_on_stream gsh_on_stream                                              \
        __attribute__((cleanup(gsh_trace_stream_leave))) = {.pe = NULL};                  \
    if (gsh_trace_is_recording()) {                                                       \
        gsh_trace_coll(&gsh_traced, &gsh_on_stream, PE, (SITE).call, (SITE).is_on_stream, \
                       (SITE).stream, TEAM, DATA, BYTES);                                 \
    }

void gsh_trace_coll(struct gsh_trace_scope *scope, struct gsh_trace_on_stream *on,
                    struct gsh_instance *pe, const char *call, bool is_on_stream, gsh_stream stream,
                    gshmem_team_t team, const void *data, uint64_t bytes);

#endif
