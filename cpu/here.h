/* SPDX-License-Identifier: Apache-2.0
 * CUDA threads that run on a host thread's own stack (here.c): their block is NULL. */
#ifndef GSH_HERE_H
#define GSH_HERE_H

#include "cpu.h"

/* Runs the kernel at once, as a grid of one thread, on the calling host thread's own stack, and
 * returns when it has ended; it counts as a launch on that device. For the library's own kernels:
 * without shared memory; their warp calls name the whole warp. */
void gsh_cpu_execute(struct gsh_cpu_device *device, void (*entry)(void *args), void *args);

/* gshmemx_cpu_leave of such a thread: gsh_cpu_execute returns. */
void gsh_here_leave(void) __attribute__((noreturn));
/* gshmemx_cpu_yield of such a thread. */
void gsh_here_yield(struct gsh_cpu_thread *self);
/* Of the device on which it runs. */
const struct gsh_cpu_config *gsh_here_config(void);

#endif
