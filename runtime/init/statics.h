/* SPDX-License-Identifier: Apache-2.0
 * The program's globals and statics as symmetric memory, on the CPU device: the pages of its
 * writable segment become a second mapping of a block of the heap, which all PEs have at the same
 * offset. A copy of its constants precedes them in the block, for others to read. Their addresses
 * in the program may differ between processes. */
#ifndef GSH_STATICS_H
#define GSH_STATICS_H

#include "runtime/instance/instance.h"

/* Collective, after device set-up, in init: no thread of the program may write its globals
 * meanwhile. If it is not possible (PEs as threads, GPUs) PE 0 says why, and nothing changes. */
GSH_CHECK_RESULT enum gsh_result gsh_statics_share(struct gsh_instance *pe);
/* Gives the segment its own pages again, with its present contents. No PE may use this PE's memory
 * any more. Does nothing if it was not shared. */
void gsh_statics_unshare(struct gsh_instance *pe);

/* Whether the address is in a global or constant of the program, shared or not. For messages. */
bool gsh_statics_contain(const void *address);

#endif
