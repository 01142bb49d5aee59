/* SPDX-License-Identifier: Apache-2.0
 * What public host calls leave in the timeline (trace/record.h): one line in a call's body, after
 * its checks. While nothing records it costs one branch. A call that contains others is written
 * alone. `address` is symmetric, or NULL. */
#ifndef GSH_TRACE_CALL_H
#define GSH_TRACE_CALL_H

#include "runtime/instance/device_ops.h"
#include "runtime/instance/instance.h"
#include "trace/record.h"

/* A call without data, until the end of the block. */
#define GSH_TRACE_CALL(pe, call)               \
    GSH_TRACE_SCOPE(gsh_traced);               \
    if (gsh_trace_is_recording()) {            \
        gsh_trace_call(&gsh_traced, pe, call); \
    }

/* One that moves `bytes` to `address` of target. */
#define GSH_TRACE_DATA(pe, call, target, address, bytes)               \
    GSH_TRACE_SCOPE(gsh_traced);                                       \
    if (gsh_trace_is_recording()) {                                    \
        gsh_trace_data(&gsh_traced, pe, call, target, address, bytes); \
    }

/* A collective of the team, with `bytes` from each member to each other. */
#define GSH_TRACE_TEAM(pe, call, team, address, bytes)               \
    GSH_TRACE_SCOPE(gsh_traced);                                     \
    if (gsh_trace_is_recording()) {                                  \
        gsh_trace_team(&gsh_traced, pe, call, team, address, bytes); \
    }

/* The same from target. */
#define GSH_TRACE_GET(pe, call, target, address, bytes) \
    GSH_TRACE_SIGNAL(pe, call, target, address, bytes, NULL, GSH_TRACE_OP_GET, 0)

/* The same to target, and then it changes the word: enum gsh_trace_op. */
#define GSH_TRACE_SIGNAL(pe, call, target, address, bytes, word, op, value) \
    GSH_TRACE_SCOPE(gsh_traced);                                            \
    if (gsh_trace_is_recording()) {                                         \
        gsh_trace_data(&gsh_traced, pe, call, target, address, bytes);      \
        gsh_trace_word(&gsh_traced, pe, word, op, value);                   \
    }

/* One that waits; gsh_trace_seen says how it ended. */
#define GSH_TRACE_WAIT(pe, wait)               \
    GSH_TRACE_SCOPE(gsh_traced);               \
    if (gsh_trace_is_recording()) {            \
        gsh_trace_wait(&gsh_traced, pe, wait); \
    }
#define GSH_TRACE_SEEN(index, bits)               \
    if (gsh_traced.trace != NULL) {               \
        gsh_trace_seen(&gsh_traced, index, bits); \
    }

/* The address's offset in the heap; GSH_TRACE_NONE: it is not symmetric. */
uint64_t gsh_trace_offset(const struct gsh_instance *pe, const void *address);
void gsh_trace_call(struct gsh_trace_scope *scope, struct gsh_instance *pe, const char *call);
void gsh_trace_data(struct gsh_trace_scope *scope, struct gsh_instance *pe, const char *call,
                    int target, const void *address, uint64_t bytes);
void gsh_trace_team(struct gsh_trace_scope *scope, struct gsh_instance *pe, const char *call,
                    int32_t team, const void *address, uint64_t bytes);
void gsh_trace_word(struct gsh_trace_scope *scope, struct gsh_instance *pe, const void *word,
                    enum gsh_trace_op op, uint64_t value);
void gsh_trace_wait(struct gsh_trace_scope *scope, struct gsh_instance *pe,
                    const struct gsh_wait_arg *wait);
/* The awaited word that held, by its index, and its value. */
void gsh_trace_seen(struct gsh_trace_scope *scope, size_t index, uint64_t bits);
/* The program's memory at `address` begins, or ends. */
void gsh_trace_memory(struct gsh_instance *pe, const char *call, const void *address,
                      uint64_t bytes, enum gsh_trace_kind kind);

/* sig_op is GSHMEM_SIGNAL_. */
enum gsh_trace_op gsh_trace_op_of_signal(int sig_op);
enum gsh_trace_op gsh_trace_op_of_amo(enum gsh_amo_op op);

#endif
