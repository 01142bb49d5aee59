/* SPDX-License-Identifier: Apache-2.0
 * Programs linked to NCCL, on this library in NCCL's place. */
#ifndef GSH_GSHMEMRUN_NCCL_H
#define GSH_GSHMEMRUN_NCCL_H

#include <stdbool.h>

#include "tools/gshmemrun_options.h"

/* Sets the environment so that the dynamic linker gives programs started from now on this library
 * as libnccl.so.2. Ends the process with one line if there is none. */
void gshmemrun_use_nccl(void);
/* This process becomes the program of the options, for which no number of PEs has been given. */
__attribute__((noreturn)) void gshmemrun_become(const struct gshmemrun_options *o);

#endif
