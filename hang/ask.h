/* SPDX-License-Identifier: Apache-2.0
 * Asks processes of this user on this machine (in this network namespace) for their part, each on
 * its own, so that one that is stopped delays nobody; and of each job of several nodes one process
 * for what the other nodes say. Who asks for one job asks no process of others. */
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
    /* If n is 0: a process that has been asked, and does not answer. os_pid 0: none */
    struct gsh_hang_member silent;
};

/* job: of this one alone; 0: of all. asks_far: also for other nodes. False: no memory, or the
 * system does not list sockets. */
bool gsh_hang_ask(struct gsh_hang_jobs *out, uint64_t job, bool asks_far);
/* The same of the job that has this name in reports, or a process here of this number, or whose
 * gshmemrun has it. More than one: it has been asked for by a number that several have. */
bool gsh_hang_ask_named(struct gsh_hang_jobs *out, const char *name, bool asks_far);
void gsh_hang_jobs_free(struct gsh_hang_jobs *jobs);
/* That job among them; NULL: it has not answered. */
const struct gsh_hang_job *gsh_hang_find(const struct gsh_hang_jobs *jobs, uint64_t job);

#endif
