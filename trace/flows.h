/* SPDX-License-Identifier: Apache-2.0
 * Which signal ended which wait: the latest change of the awaited word that began before the wait
 * ended, and that gave the word the value that the wait saw. A change that adds, or whose value is
 * not known, counts as such; of a wait for several words, any change that satisfies it. */
#ifndef GSH_TRACE_FLOWS_H
#define GSH_TRACE_FLOWS_H

#include "base/result.h"
#include "trace/timeline.h"

/* Fills in flows, and what items say of them. */
GSH_CHECK_RESULT enum gsh_result gsh_timeline_find_flows(struct gsh_timeline *t);

#endif
