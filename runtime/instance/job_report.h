/* SPDX-License-Identifier: Apache-2.0
 * The report of the whole job that is printed once, when a time limit passes, before the job ends.
 * The PE that says why the job ends (report.h) prints it first; hang/ makes it. All others wait for
 * that end, and answer meanwhile what they wait for. */
#ifndef GSH_JOB_REPORT_H
#define GSH_JOB_REPORT_H

#include <stdbool.h>
#include <stdint.h>

struct gsh_instance;
struct gsh_waiting;

/* A time limit has passed. Returns when the report has been printed, and the caller is to end the
 * job. If another PE prints it, and so ends the job, returns when the job is ending, or when that
 * has taken too long. Meanwhile the thread still says, to any process that asks, that it has waited
 * for `what` since since_ns; NULL: it waits for nothing. Any thread of the PE may call, except
 * those that make the report. */
void gsh_job_report(struct gsh_instance *pe, const struct gsh_waiting *what, uint64_t since_ns);

/* The same for a PE that says why the job ends, and whose calling thread waits for nothing. */
void gsh_job_report_print(struct gsh_instance *pe);

/* A wait for other PEs has lasted for GSHMEM_WAIT_NOTICE, and goes on: has a line printed that says
 * for whom, unless another PE of the node has done so within that time. Does not wait. */
void gsh_job_notice(struct gsh_instance *pe, const struct gsh_waiting *what, uint64_t since_ns);
/* Sets the function that prints it, in a thread of its own; false: it cannot. To be set before any
 * wait. */
void gsh_job_notice_by(bool (*begin)(struct gsh_instance *pe, const struct gsh_waiting *what,
                                     uint64_t since_ns));

/* Sets the function that makes the report, in a thread of its own, which calls gsh_job_report_end
 * at its end. The function returns false if it cannot. To be set before any wait. */
void gsh_job_report_by(bool (*begin)(struct gsh_instance *pe));
void gsh_job_report_end(struct gsh_instance *pe);

#endif
