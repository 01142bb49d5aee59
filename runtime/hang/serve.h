/* SPDX-License-Identifier: Apache-2.0
 * The process's thread that answers askers (hang/record.h): it sleeps until somebody connects. A
 * signal, or a wait that has passed its time limit, makes the process itself ask for the whole job
 * and print the report. */
#ifndef GSH_HANG_SERVE_H
#define GSH_HANG_SERVE_H

struct gsh_instance;

/* In init, once the PE's page exists: from now on the PE is reported. Without a socket or a thread
 * it is not, and the job goes on. */
void gsh_hang_begin(struct gsh_instance *pe);
/* Before anything of the PE ends; waits for an answer under way. Accepts a PE that never began. */
void gsh_hang_end(struct gsh_instance *pe);

#endif
