/* SPDX-License-Identifier: Apache-2.0
 * gshmem-info --job: the hang report of a job that runs. */
#ifndef GSH_INFO_JOB_H
#define GSH_INFO_JOB_H

/* The arguments after --job. Returns the exit status: 0: a report has been printed; 1: there is no
 * such job; 2: the arguments are wrong. */
int gsh_info_job(int argc, char **argv);

#endif
