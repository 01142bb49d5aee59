/* SPDX-License-Identifier: Apache-2.0
 * Sends tasks on their way to the target. */
#ifndef GSH_ISSUE_H
#define GSH_ISSUE_H

#include "proxy/engine/state.h"

/* False: it cannot go on now; call again. True: it is issued, and may be gone. */
bool gsh_task_issue(struct gsh_engine_peer *peer, struct gsh_task *task);
/* The end of what the transport carries out. */
void gsh_issue_native_done(struct gsh_op *op, enum gsh_result r);

#endif
