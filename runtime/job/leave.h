/* SPDX-License-Identifier: Apache-2.0
 * The end of a process or PE that comes before gshmem_finalize: said once, and the job ended. Ends
 * that the library itself brings about are end.h's. */
#ifndef GSH_LEAVE_H
#define GSH_LEAVE_H

struct gsh_instance;

/* From the first PE on the process's exit is looked at. */
void gsh_leave_watch(void);

/* Ends the job, since pe will never come to gshmem_finalize; status 0 becomes 1. Prints `how` if it
 * is the first PE of the job found to have left. */
void gsh_leave(struct gsh_instance *pe, int status, const char *how) __attribute__((noreturn));

#endif
