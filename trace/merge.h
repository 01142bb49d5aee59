/* SPDX-License-Identifier: Apache-2.0
 * One file of a job's parts. */
#ifndef GSH_TRACE_MERGE_H
#define GSH_TRACE_MERGE_H

#include <stddef.h>
#include <stdint.h>
#include "base/result.h"

/* Reads the parts that lie beside `beside` (record.h), those of one job or, job 0, of all; writes
 * `file` for Perfetto, and removes the parts. *n_parts, unless NULL: how many; without parts it
 * does nothing. What cannot be read stays, with a warning. If it fails, the parts stay, and no half
 * of a file does. */
GSH_CHECK_RESULT enum gsh_result gsh_trace_merge(const char *beside, uint64_t job, const char *file,
                                                 size_t *n_parts);
/* Whether the file can be written when the job is over, as far as one can know now. */
GSH_CHECK_RESULT enum gsh_result gsh_trace_try_file(const char *file);
/* Removes parts that an earlier job has left beside the file. */
void gsh_trace_clear(const char *beside);

#endif
