/* SPDX-License-Identifier: Apache-2.0
 * When a NIC was done with what a kernel had posted: at the latest when somebody saw a completion
 * of that position of the queue, or of a later one. A thread of the kernel that waits sees it at
 * once, and the host at its next look. What nobody saw done ends with the part. */
#ifndef GSH_TRACE_POSTS_H
#define GSH_TRACE_POSTS_H

#include "base/result.h"
#include "trace/timeline.h"

/* Fills in the ends of POST items, whose clocks are known. GSH_ERR_NOMEM. */
GSH_CHECK_RESULT enum gsh_result gsh_timeline_end_posts(struct gsh_timeline *t);

#endif
