/* SPDX-License-Identifier: Apache-2.0
 * Waits for what a rank's streams have of a communicator that it ends.
 *
 * A rank may have made a collective that another one has not: that has left the program's usual way
 * by an exception, say, and ends the communicator, so that the call cannot come any more. Once all
 * others end it, too, this rank's kernels leave their waits, and its end goes on without the
 * others: after half a second if their own work is over, after two seconds if that is not. What it
 * has asked for before and others have not come to in that time is lost with it. With NCCL such a
 * collective ends where it can do without the other's call, as a small broadcast does on its root.
 */
#ifndef GSH_NCCL_SETTLE_H
#define GSH_NCCL_SETTLE_H

#include "dialects/nccl/comm/comm.h"

/* By the thread that ends comm; not in a scope. Sets comm->is_deserted, prints a line and tells the
 * others, if kernels have been told to leave. */
void gsh_nccl_settle(const char *call, struct ncclComm *comm);

#endif
