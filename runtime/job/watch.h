/* SPDX-License-Identifier: Apache-2.0
 * Notices that another process of the job died or aborted, and that this PE's device reported
 * something, and ends the process with one line. One sleeping thread per PE, made only when there
 * are other processes or a GPU. */
#ifndef GSH_WATCH_H
#define GSH_WATCH_H

#include <stdint.h>
#include "runtime/base/result.h"

struct gsh_instance;
struct gsh_watch;

/* Collective over the job's PEs. job: 16 bytes, the same on all. */
GSH_CHECK_RESULT enum gsh_result gsh_watch_create(struct gsh_instance *pe, const uint8_t job[16],
                                                  struct gsh_watch **out);
/* From now on the thread also looks at the device's report, a few times a second. */
GSH_CHECK_RESULT enum gsh_result gsh_watch_device(struct gsh_instance *pe);
/* Tells the others that the job is ending with status (they end silently). */
void gsh_watch_tell_abort(struct gsh_watch *watch, int status);
/* This PE leaves in good order. */
void gsh_watch_destroy(struct gsh_watch **watch);

/* If the device has reported something, words it, tells the others and ends the process. */
void gsh_report_check(struct gsh_instance *pe);
/* If it has, and nobody has worded it, prints that: for a process that is ending anyhow. */
void gsh_report_print(struct gsh_instance *pe);

#endif
