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

/* Not collective: makes what this PE needs to be linked with the node's others. Noted. */
GSH_CHECK_RESULT enum gsh_result gsh_monitor_prepare(struct gsh_instance *pe,
                                                     struct gsh_monitor **out);
/* Collective over the node, all of whose PEs are prepared: makes the links, if there are other
 * processes. Noted. */
GSH_CHECK_RESULT enum gsh_result gsh_monitor_link(struct gsh_monitor *monitor);
/* Begins to watch the other processes. With far PEs the proxy has been started, which tells them of
 * a death. Noted. */
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
