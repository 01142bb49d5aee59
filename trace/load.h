/* SPDX-License-Identifier: Apache-2.0
 * Reads a part into the timeline. Whatever the file holds: what cannot be is left out. */
#ifndef GSH_TRACE_LOAD_H
#define GSH_TRACE_LOAD_H

#include "base/result.h"
#include "trace/timeline.h"

/* bytes of the part's file. GSH_ERR_ARG: this is no part; nothing has been added. */
GSH_CHECK_RESULT enum gsh_result gsh_timeline_load(struct gsh_timeline *t, const void *data,
                                                   size_t bytes);

#endif
