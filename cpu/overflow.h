/* SPDX-License-Identifier: Apache-2.0
 * The report of a CUDA thread's stack that is too small. */
#ifndef GSH_OVERFLOW_H
#define GSH_OVERFLOW_H

/* Around the life of each OS thread that runs blocks. */
void gsh_overflow_enter_thread(void);
void gsh_overflow_leave_thread(void);

#endif
