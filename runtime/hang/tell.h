/* SPDX-License-Identifier: Apache-2.0
 * What the process does about hang reports besides answering what its own PEs wait for: it prints
 * the report of the whole job, and takes part in asking across nodes. Each such task asks sockets,
 * among them this process's own, so each has a thread of its own, for its time. */
#ifndef GSH_HANG_TELL_H
#define GSH_HANG_TELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gsh_instance;
struct gsh_waiting;

/* From now on tasks may use the PE. */
void gsh_hang_tell_begin(struct gsh_instance *pe);
/* No longer: waits for tasks under way. Accepts a PE that never began. */
void gsh_hang_tell_end(struct gsh_instance *pe);

/* Prints the reports of the jobs of this process's PEs: somebody has sent the signal. */
void gsh_hang_tell_all(void);
/* Prints the report of the PE's job: a time limit has passed (job_report.h). False: it cannot. */
bool gsh_hang_tell_job(struct gsh_instance *pe);
/* Prints which PEs have not come to the call in which the PE waits, unless it no longer does
 * (job_report.h). False: it cannot. */
bool gsh_hang_tell_notice(struct gsh_instance *pe, const struct gsh_waiting *what,
                          uint64_t since_ns);
/* Sends what other nodes say of that job over the connection to an asker, and closes it. */
void gsh_hang_tell_asker(int fd, uint64_t job);
/* For net.c, under the proxy's lock: whether the notice is one of far.h's, which it then takes. */
bool gsh_hang_receive(struct gsh_instance *pe, int from_pe, const void *data, size_t bytes);

#endif
