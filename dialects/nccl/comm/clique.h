/* SPDX-License-Identifier: Apache-2.0
 * A clique: the communicators of several ranks that one thread made together. The thread destroys
 * them one after the other. Since ranks synchronise when they end, only the last destroy may
 * wait. */
#ifndef GSH_NCCL_CLIQUE_H
#define GSH_NCCL_CLIQUE_H

#include "dialects/nccl/comm/comm.h"

struct gsh_nccl_clique;

/* Makes these communicators, all made by workers, a clique. Without memory there is none, and the
 * destroy of each waits for the other ranks. */
void gsh_nccl_clique_make(struct ncclComm *const *comms, int n);
/* The program gives up one of them, by destroying or aborting it. True: it was the last. */
bool gsh_nccl_clique_let_go(struct gsh_nccl_clique *clique);
/* One of them has ended or, aborted, never will. */
void gsh_nccl_clique_done(struct gsh_nccl_clique *clique);
/* After the last one has been let go: waits until all are done, and frees the clique. */
void gsh_nccl_clique_wait(struct gsh_nccl_clique *clique);

#endif
