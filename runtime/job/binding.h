/* SPDX-License-Identifier: Apache-2.0
 * The tie between threads and PEs, and the silent half of ending a job; for init and watch. */
#ifndef GSH_BINDING_H
#define GSH_BINDING_H

#include "runtime/job/instance.h"

/* Makes pe the calling thread's PE; and undoes it, in the same thread. */
void gsh_instance_bind(struct gsh_instance *pe);
void gsh_instance_unbind(struct gsh_instance *pe);

/* As gsh_abort, without a line of its own; text is for the launcher. pe may be half-built. */
void gsh_end_job(struct gsh_instance *pe, int status, const char *text) __attribute__((noreturn));

#endif
