/* SPDX-License-Identifier: Apache-2.0
 * Writes a timeline as Perfetto's trace format: a Trace message, whose packets describe tracks and
 * say when slices begin and end. The fields' numbers are in perfetto_fields.h. */
#ifndef GSH_TRACE_PERFETTO_H
#define GSH_TRACE_PERFETTO_H

#include <stdio.h>
#include "base/result.h"
#include "trace/timeline.h"

/* A note whose name begins so says how many events there was no room for, and then why. */
#define GSH_PERFETTO_LEFT_OUT "left out: "

/* Sorts the items of t. A failure to write is left in ferror(out). */
GSH_CHECK_RESULT enum gsh_result gsh_perfetto_write(struct gsh_timeline *t, FILE *out);

#endif
