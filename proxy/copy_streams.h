/* SPDX-License-Identifier: Apache-2.0
 * Work on this PE's memory that continues while the proxy does other things: the table of what can
 * be started and polled. There is one for a GPU's copy engines
 * (runtime/backend/cuda/copy_streams.c), and one whose CPU copies are late, for tests and for
 * staging without a GPU (copy_streams_late.c). The proxy is the only caller, under its own lock.
 * Nothing here waits. */
#ifndef GSH_COPY_STREAMS_H
#define GSH_COPY_STREAMS_H

#include <stddef.h>
#include <stdint.h>
#include "base/result.h"

/* Within a copy stream, jobs take effect and end in the order in which they were started; between
 * copy streams there is no order. IN: copies into the memory that the table serves, and atomic
 * operations on it. OUT: copies from it. */
enum gsh_copy_stream { GSH_COPY_STREAM_IN, GSH_COPY_STREAM_OUT, GSH_COPY_STREAMS };

/* The most atomic operations under way at once. */
#define GSH_COPY_STREAM_AMOS_MAX 64

/* One side of every copy is memory of `allocate`, or memory that was given to `pin`; the other is
 * any memory of this PE's program. Both must stay unchanged until the job has ended. */
struct gsh_copy_stream_ops {
    /* Small pieces of host memory, aligned to 64 bytes. Failures here are noted only. */
    enum gsh_result (*allocate)(void *context, size_t bytes, void **memory);
    void (*release)(void *context, void *memory); /* accepts NULL */
    /* Pins host memory of another owner, page-aligned, until unpin. */
    enum gsh_result (*pin)(void *context, void *memory, size_t bytes);
    void (*unpin)(void *context, void *memory);

    /* Each starts one job. A word of 1, 2, 4 or 8 aligned bytes is read and written whole. */
    enum gsh_result (*copy)(void *context, enum gsh_copy_stream copy_stream, void *dest,
                            const void *source, size_t bytes);
    /* Element i from source + i * sst to dest + i * dst, strides in elements. */
    enum gsh_result (*copy_strided)(void *context, enum gsh_copy_stream copy_stream, void *dest,
                                    int64_t dst, const void *source, int64_t sst, size_t elem_bytes,
                                    size_t nelems);
    /* In copy stream IN; as gsh_proxy_memory.amo. *old, in memory of `allocate`, is set at the end.
     */
    enum gsh_result (*amo)(void *context, int amo_op, void *address, size_t word_bytes,
                           uint64_t operand, uint64_t cond, uint64_t *old);
    /* How many of the copy stream's jobs have ended, of all that were ever started. What they wrote
     * is then visible to every thread that the caller notifies. */
    enum gsh_result (*poll)(void *context, enum gsh_copy_stream copy_stream, uint64_t *n_ended);
};

/* The CPU's: `poll` does jobs, some calls after their start, as `seed` decides. AMOs call amo with
 * amo_context. */
struct gsh_late_copy_streams;
extern const struct gsh_copy_stream_ops
    gsh_late_copy_stream_ops; /* context: struct gsh_late_copy_streams */
typedef enum gsh_result (*gsh_late_amo_fn)(void *context, int amo_op, void *address,
                                           size_t word_bytes, uint64_t operand, uint64_t cond,
                                           uint64_t *old);
/* NULL: no memory. */
struct gsh_late_copy_streams *gsh_late_copy_streams_create(uint64_t seed, gsh_late_amo_fn amo,
                                                           void *amo_context);
/* Accepts NULL. Jobs under way are dropped. */
void gsh_late_copy_streams_destroy(struct gsh_late_copy_streams *late);

#endif
