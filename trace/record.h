/* SPDX-License-Identifier: Apache-2.0
 * Recording: what each call of the host leaves in its PE's part of the timeline (part.h). While no
 * PE of the process records, a call costs one branch on gsh_trace_is_on.
 *
 * A call that records has a scope, a local variable that begins with gsh_trace_enter and ends by
 * itself when the function returns. Only the outermost scope of a thread is written: a dialect's
 * call, say, and not the calls of this library that it makes. The program's spans are not scopes.
 *
 * Any thread may record. Each writes into a chunk of its own, so threads wait for each other only
 * when they need another chunk or name something for the first time. */
#ifndef GSH_TRACE_RECORD_H
#define GSH_TRACE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/result.h"
#include "base/util.h"
#include "trace/part.h"

struct gsh_trace; /* one PE's */

/* How many PEs of this process record. Atomic, relaxed: a thread that does not see the first one in
 * time leaves out a call. */
extern uint32_t gsh_trace_is_on;

struct gsh_trace_options {
    const char *file;     /* of the job; the part lies beside it */
    uint64_t limit_bytes; /* of the part */
    int pe, n_pes;
    uint64_t job, host;
};

/* The part's name begins with that of the file and GSH_TRACE_PART_INFIX. */
#define GSH_TRACE_PART_INFIX ".part."

GSH_CHECK_RESULT enum gsh_result gsh_trace_create(const struct gsh_trace_options *options,
                                                  struct gsh_trace **out);
/* No thread may record for it any more. is_over: the PE has come to its end. Accepts NULL. */
void gsh_trace_destroy(struct gsh_trace **trace, bool is_over);
struct gsh_trace_head *gsh_trace_head(struct gsh_trace *trace);

/* The slot is copied, with the name's number; name: NULL, or a text that stays as it is. */
void gsh_trace_write(struct gsh_trace *trace, const char *name, struct gsh_trace_slot *slot);
/* What follows the slot: at most GSH_TRACE_CHUNK_SLOTS - 2 slots. */
void gsh_trace_write_with(struct gsh_trace *trace, struct gsh_trace_slot *slot, const void *data,
                          size_t bytes);
/* The number of the name, which stays as it is; 0: there is no room for it. */
uint16_t gsh_trace_name(struct gsh_trace *trace, const char *name);
/* The text of number `key`, of which every name of kernels is written once. */
void gsh_trace_write_name(struct gsh_trace *trace, uint64_t key, const char *text);
/* The same text, which stays until the trace is destroyed; for texts that may change. */
const char *gsh_trace_keep(struct gsh_trace *trace, const char *text);
/* The calling thread's track has this name from now on. */
void gsh_trace_name_track(struct gsh_trace *trace, const char *name);

/* ---- scopes ---- */

struct gsh_trace_scope {
    struct gsh_trace *trace; /* NULL: nothing to write */
    bool is_inner;           /* inside another one */
    const char *name;
    struct gsh_trace_slot slot;
};

/* Ends the scope with the function that has it. */
#define GSH_TRACE_SCOPE(name) \
    struct gsh_trace_scope name __attribute__((cleanup(gsh_trace_leave))) = {.trace = NULL}

/* Until it is called with NULL, the calling thread's outermost scopes have this name, a text that
 * stays as it is. */
void gsh_trace_as(const char *name);

/* The rare halves. */
void gsh_trace_begin_scope(struct gsh_trace_scope *scope, struct gsh_trace *trace, const char *name,
                           int pe);
void gsh_trace_end_scope(struct gsh_trace_scope *scope);

static inline bool gsh_trace_is_recording(void)
{
    return __builtin_expect(__atomic_load_n(&gsh_trace_is_on, __ATOMIC_RELAXED) != 0, 0);
}

static inline void gsh_trace_leave(struct gsh_trace_scope *scope)
{
    if (__builtin_expect(scope->trace != NULL, 0)) {
        gsh_trace_end_scope(scope);
    }
}

/* ---- the program's spans ---- */

void gsh_trace_span_begin(struct gsh_trace *trace, const char *name);
/* Ends the calling thread's latest one. */
void gsh_trace_span_end(struct gsh_trace *trace);

#endif
