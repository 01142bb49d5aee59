/* SPDX-License-Identifier: Apache-2.0
 * A crew: the communicators of several ranks that one thread made together. The thread destroys
 * them one after the other, and since the ranks meet when they end, no destroy but the last may
 * wait. */
#ifndef GSH_NCCL_CREW_H
#define GSH_NCCL_CREW_H

#include "dialects/nccl/comm/comm.h"

struct gsh_nccl_crew;

/* Makes these communicators, all made by workers, a crew. Without memory there is none, and the
 * destroy of each waits for the other ranks. */
void gsh_nccl_crew_make(struct ncclComm *const *comms, int n);
/* The program gives up one of them, by destroying or aborting it. True: it was the last. */
bool gsh_nccl_crew_let_go(struct gsh_nccl_crew *crew);
/* One of them has ended or, aborted, never will. */
void gsh_nccl_crew_done(struct gsh_nccl_crew *crew);
/* After the last one has been let go: waits until all are done, and frees the crew. */
void gsh_nccl_crew_wait(struct gsh_nccl_crew *crew);

#endif
