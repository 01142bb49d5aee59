/* SPDX-License-Identifier: Apache-2.0
 * Notices that another process of the job has died or aborted, and ends this process with one line.
 * Also looks at this PE's device. One sleeping thread per PE, made only if there are other
 * processes or a GPU. */
#ifndef GSH_MONITOR_H
#define GSH_MONITOR_H

#include <stdbool.h>
#include <stdint.h>
#include "base/result.h"

struct gsh_instance;
struct gsh_monitor;

/* Collective over the job's PEs. prior: the outcome of this PE's part of init since the last vote;
 * a failure is all PEs' failure. GSH_OK on all if the job is one process. */
GSH_CHECK_RESULT enum gsh_result gsh_monitor_create(struct gsh_instance *pe, enum gsh_result prior,
                                                    struct gsh_monitor **out);
/* Begins to watch the other processes. With far PEs the proxy has been started, which tells them of
 * a death. */
GSH_CHECK_RESULT enum gsh_result gsh_monitor_start(struct gsh_monitor *monitor);
/* From now on the thread also calls `look`, a few times a second. */
GSH_CHECK_RESULT enum gsh_result gsh_monitor_device(struct gsh_instance *pe,
                                                    void (*look)(struct gsh_instance *pe));
/* Whether gshmemrun has ended that PE, because of another PE's failure or for no failure. Then
 * there is nothing to report.
 * */
bool gsh_monitor_is_ended_by_launcher(const struct gsh_monitor *monitor, int dead_pe);
/* Tells the others that the job is ending with status (they end silently). */
void gsh_monitor_tell_abort(struct gsh_monitor *monitor, int status);
/* This PE leaves normally. */
void gsh_monitor_destroy(struct gsh_monitor **monitor);

#endif
