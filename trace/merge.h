/* SPDX-License-Identifier: Apache-2.0
 * One file of a job's parts. */
#ifndef GSH_TRACE_MERGE_H
#define GSH_TRACE_MERGE_H

#include <stdint.h>
#include "base/result.h"

/* Reads the parts that lie beside `beside` (record.h), those of one job or, job 0, of all; writes
 * `file` for Perfetto, and removes the parts. Without parts it does nothing. */
GSH_CHECK_RESULT enum gsh_result gsh_trace_merge(const char *beside, uint64_t job,
                                                 const char *file);
/* Removes parts that an earlier job has left beside the file. */
void gsh_trace_clear(const char *beside);

#endif
