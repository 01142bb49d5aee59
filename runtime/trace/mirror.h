/* SPDX-License-Identifier: Apache-2.0
 * The rings of kernels' events where kernels write them into memory of a GPU: a store into the
 * host's memory would be waited for by the next release of its thread, which is a put's signal. The
 * host copies what is new into memory of its own, of the same layout, beside running kernels. Where
 * kernels run on the host, their rings are that memory, and nothing is copied. */
#ifndef GSH_TRACE_MIRROR_H
#define GSH_TRACE_MIRROR_H

#include <stdbool.h>
#include <stdint.h>
#include "base/result.h"
#include "wire/trace.h"

struct gsh_instance;

struct gsh_trace_mirror;

/* *events: the host's memory of GSH_TRACE_ALL_RINGS rings of n_events, all zeros; *device_events:
 * where kernels write. */
GSH_CHECK_RESULT enum gsh_result gsh_trace_mirror_create(struct gsh_instance *pe, uint32_t n_events,
                                                         struct gsh_trace_mirror **out,
                                                         uint64_t **events,
                                                         uint64_t *device_events);
void gsh_trace_mirror_destroy(struct gsh_trace_mirror **mirror);

/* Of GPUs alone: copies the counts at this address, struct gsh_trace_counts. NULL: it failed. */
const struct gsh_trace_counts *gsh_trace_mirror_counts(struct gsh_trace_mirror *mirror,
                                                       uint64_t address);
/* Notes n events of a ring from number `first` on, and copies what is noted. */
void gsh_trace_mirror_note(struct gsh_trace_mirror *mirror, uint32_t ring, uint64_t first,
                           uint32_t n);
void gsh_trace_mirror_copy(struct gsh_trace_mirror *mirror);

#endif
