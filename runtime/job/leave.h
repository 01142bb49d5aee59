/* SPDX-License-Identifier: Apache-2.0
 * The end of a process or PE that comes before gshmem_finalize: said once, and the job ended. Ends
 * that the library itself brings about are instance.c's. */
#ifndef GSH_LEAVE_H
#define GSH_LEAVE_H

#include "runtime/job/instance.h"

/* From the first PE on the process's exit is looked at. */
void gsh_leave_watch(void);

/* Ends the job, since pe will never come to gshmem_finalize; status 0 becomes 1. Prints `how` when
 * it is the first of the job to be found so. */
void gsh_leave(struct gsh_instance *pe, int status, const char *how) __attribute__((noreturn));

/* Before an _exit from the user's own thread: writes what is in stdout's buffer, unless another
 * thread holds stdout or nobody reads it just now. */
void gsh_leave_flush(void);

#endif
