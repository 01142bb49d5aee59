/* SPDX-License-Identifier: Apache-2.0
 * Programs linked to NCCL, on this library in NCCL's place. */
#ifndef GSH_GSHMEMRUN_NCCL_H
#define GSH_GSHMEMRUN_NCCL_H

#include <stdbool.h>

/* If the first argument is --nccl, takes it away, and sets the environment so that the dynamic
 * linker gives programs started from now on this library as libnccl.so.2. If a program comes next,
 * becomes that program; otherwise options follow. Ends the process with one line if it cannot.
 * Returns whether it was --nccl. */
bool gshmemrun_use_nccl(int *argc, char ***argv);

#endif
