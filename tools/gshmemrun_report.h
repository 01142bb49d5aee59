/* SPDX-License-Identifier: Apache-2.0
 * SIGQUIT (Ctrl-\): the hang report of this launcher's job, on stderr. */
#ifndef GSHMEMRUN_REPORT_H
#define GSHMEMRUN_REPORT_H

/* Returns at once; a thread asks and prints, while the launcher passes on output. Nothing if one
 * does so already. */
void gshmemrun_report(void);

#endif
