/* SPDX-License-Identifier: Apache-2.0
 * Asks all processes of this user on this machine (in this network namespace) for their part, each
 * on its own, so that one that is stopped delays nobody; and of each job of several nodes one
 * process for what the other nodes say. */
#ifndef GSH_HANG_ASK_H
#define GSH_HANG_ASK_H

#include "hang/record.h"

/* For the processes here, and for what one of them says of other nodes. These have their own
 * processes to be patient with. */
#define GSH_HANG_PATIENCE_MS     900
#define GSH_HANG_FAR_PATIENCE_MS 2000

struct gsh_hang_jobs {
    int n;
    struct gsh_hang_job *job; /* [n] */
};

/* job: of this one alone, so that the processes of others do no work for it; 0: of all. asks_far:
 * also for other nodes. False: no memory, or the system does not list sockets. */
bool gsh_hang_ask(struct gsh_hang_jobs *out, uint64_t job, bool asks_far);
void gsh_hang_jobs_free(struct gsh_hang_jobs *jobs);
/* By its name as the report has it, or by the number of gshmemrun's or of one of its processes. */
const struct gsh_hang_job *gsh_hang_find(const struct gsh_hang_jobs *jobs, const char *name);

#endif
