/* SPDX-License-Identifier: Apache-2.0
 * Whose memory it is. Kernels of a dialect whose memory lies outside of the heap know addresses
 * alone, and each process maps a peer's memory where it likes. But the host says of each such piece
 * of memory which number it has in the whole job. */
#ifndef GSH_TRACE_MEMORIES_H
#define GSH_TRACE_MEMORIES_H

#include "base/result.h"
#include "trace/timeline.h"

/* Of calls that do not say which PE they concern (GSH_TRACE_PE_BY_), finds out which, or that it is
 * not known. Offsets become its owner's, and those of data outside of all heaps
 * GSH_TRACE_NONE. */
GSH_CHECK_RESULT enum gsh_result gsh_timeline_find_memories(struct gsh_timeline *t);

#endif
