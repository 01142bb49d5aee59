/* SPDX-License-Identifier: Apache-2.0
 * Takes the events of this PE's kernels out of their rings (wire/trace.h) while they run, by a
 * thread of its own, and writes them into the PE's part. Without GSHMEM_TRACE there is neither.
 *
 * The clock of a GPU is not the host's. An event that the thread did not find at one look and found
 * at the next was written between the two, up to the time that a store takes to arrive
 * (ARRIVAL_NS): so each look bounds the difference of the clocks, and merging intersects the
 * bounds. */
#ifndef GSH_TRACE_KERNELS_H
#define GSH_TRACE_KERNELS_H

#include <stdbool.h>
#include <stdint.h>
#include "runtime/instance/device_ops.h"

/* Bytes in the PE's heap, with or without a timeline: of struct gsh_trace_counts. */
uint64_t gsh_trace_kernels_bytes(void);
/* Makes the rings; the thread starts. The device is there. */
GSH_CHECK_RESULT enum gsh_result gsh_trace_kernels_create(struct gsh_instance *pe);
/* gsh_state.trace_rings; 0: there are none. */
uint64_t gsh_trace_kernels_rings(const struct gsh_instance *pe);
/* The counts are to be at `address` of the heap, all zeros. */
void gsh_trace_kernels_begin(const struct gsh_instance *pe, uint64_t address);
/* The state is uploaded, or kernels are done. Where kernels have a clock of their own: finds out
 * what it says, and in which steps; elsewhere it tells the thread which rings have anything new. */
void gsh_trace_kernels_note_clock(struct gsh_instance *pe);
/* The number of a stream, which its track has. Any thread; there are rings. */
uint32_t gsh_trace_kernels_number_stream(struct gsh_instance *pe, gsh_stream stream);
/* How many requests kernels have posted to NICs so far, and which of them are not done. */
struct gsh_trace_nic {
    uint64_t posted, outstanding;
};
/* Per process, before any timeline: the thread looks by that function at each set-up PE. False:
 * the PE has no NIC. */
typedef bool gsh_trace_nic_counter(struct gsh_instance *pe, struct gsh_trace_nic *counts);
void gsh_trace_kernels_count_nic_by(gsh_trace_nic_counter *counter);
/* For that function: all before this position of the PE's queue of that number is complete. */
void gsh_trace_kernels_note_done(struct gsh_instance *pe, uint32_t queue, uint64_t position);
/* Kernels are done: takes the rest. */
void gsh_trace_kernels_stop(struct gsh_instance *pe);
void gsh_trace_kernels_destroy(struct gsh_instance *pe);

#endif
