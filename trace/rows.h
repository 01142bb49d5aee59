/* SPDX-License-Identifier: Apache-2.0
 * Requests of the proxy, transfers of the network, a NIC's entries, and ranges that any thread may
 * end are under way at the same time. Slices of one track may lie in each other but not overlap
 * otherwise, so each gets the first row that is free: a track of the same name as its other rows,
 * which a viewer shows as one. Those beyond GSH_ROWS_MAX at a time count as requests outstanding,
 * and are not drawn. */
#ifndef GSH_TRACE_ROWS_H
#define GSH_TRACE_ROWS_H

#include "base/result.h"
#include "trace/timeline.h"

#define GSH_ROWS_MAX 256

/* Fills in the tracks of these items, whose times are final. GSH_ERR_NOMEM. */
GSH_CHECK_RESULT enum gsh_result gsh_timeline_set_rows(struct gsh_timeline *t);

#endif
