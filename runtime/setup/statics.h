/* SPDX-License-Identifier: Apache-2.0
 * The program's globals and statics as symmetric memory, on the CPU device: the pages of its
 * writable segment become a second mapping of a block of the heap, which all PEs have at the same
 * offset. Before them in the block stands a copy of its constants, for others to read. Where they
 * lie in the program is each process's own affair. */
#ifndef GSH_STATICS_H
#define GSH_STATICS_H

#include "runtime/job/instance.h"

/* Collective, after device set-up, in init: no thread of the program may write its globals
 * meanwhile. Where it cannot be (PEs that are threads, GPUs) PE 0 says why, and nothing changes. */
GSH_CHECK_RESULT enum gsh_result gsh_statics_share(struct gsh_instance *pe);
/* The segment has pages of its own again, with what is in it now. No PE uses this PE's memory any
 * more. Nothing when it was not shared. */
void gsh_statics_unshare(struct gsh_instance *pe);

/* Whether the address is that of a global or constant of the program, shared or not: for messages.
 */
bool gsh_statics_contain(const void *address);

#endif
