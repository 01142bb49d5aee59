/* SPDX-License-Identifier: Apache-2.0
 * The end of a process or PE before gshmem_finalize: reported once, and the job ends. end.h has the
 * ends that the library itself brings about. */
#ifndef GSH_LEAVE_H
#define GSH_LEAVE_H

struct gsh_instance;

/* Called for the first PE: from then on the process's exit is checked. */
void gsh_leave_check_exit(void);

/* Ends the job, since pe will never reach gshmem_finalize; status 0 becomes 1. Prints `how` if pe
 * is the first PE of the job that is found to have left. */
void gsh_leave(struct gsh_instance *pe, int status, const char *how) __attribute__((noreturn));

#endif
