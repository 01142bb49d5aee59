/* SPDX-License-Identifier: Apache-2.0
 * A PE's timeline from init to finalize. Without GSHMEM_TRACE nothing here does anything. */
#ifndef GSH_TRACE_JOB_H
#define GSH_TRACE_JOB_H

#include "base/result.h"

struct gsh_instance;

/* Once all PEs know each other. */
GSH_CHECK_RESULT enum gsh_result gsh_trace_job_begin(struct gsh_instance *pe);
/* Once the job's bootstrap works. Collective. */
GSH_CHECK_RESULT enum gsh_result gsh_trace_job_note_clocks(struct gsh_instance *pe);
/* At the end, while the job's bootstrap works: notes the clocks once more. Collective. */
GSH_CHECK_RESULT enum gsh_result gsh_trace_job_end(struct gsh_instance *pe);
/* The part is whole from now on, though threads may still add to it. */
void gsh_trace_job_close(struct gsh_instance *pe);
/* After all PEs have closed their parts: PE 0 makes one file of them, unless gshmemrun does. */
void gsh_trace_job_merge(struct gsh_instance *pe);
/* Ends the recording; no thread makes calls for the PE any more. */
void gsh_trace_job_destroy(struct gsh_instance *pe);

#endif
