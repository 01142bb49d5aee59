/* SPDX-License-Identifier: Apache-2.0
 * What a process asked of far PEs is done before it exits without finalizing its PEs. Dialects
 * allow this: a rank may exit as soon as its own part of a collective is complete, while others
 * still need what it has put. Near PEs have such puts at once; far ones get them by this process's
 * proxy. */
#ifndef GSH_LEAVE_FAR_H
#define GSH_LEAVE_FAR_H

#include "runtime/instance/instance.h"

/* From now on exit() waits, at most for the proxy's time limit, until far PEs have all that the
 * process's PEs which outlive deaths have put. It runs before what the program has registered
 * earlier, and before the libraries that the proxy uses end. Any number of times. */
void gsh_leave_far_at_exit(const struct gsh_instance *pe);

#endif
