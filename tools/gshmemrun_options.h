/* SPDX-License-Identifier: Apache-2.0
 * The options of gshmemrun. */
#ifndef GSH_GSHMEMRUN_OPTIONS_H
#define GSH_GSHMEMRUN_OPTIONS_H

#include "tools/gshmemrun_job.h"

/* Fills *options (zeroed), or ends the process with one line and the matching status. */
void gshmemrun_parse(int argc, char **argv, struct gshmemrun_options *options);

#endif
