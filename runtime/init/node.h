/* SPDX-License-Identifier: Apache-2.0
 * Collective calls of the PEs of one node, over their pages. */
#ifndef GSH_NODE_H
#define GSH_NODE_H

#include <stdbool.h>
#include "base/result.h"
#include "bootstrap/bootstrap.h"

struct gsh_instance;

/* Not collective: a bootstrap over the PEs of this node, whose ranks are their places on it; that
 * of a job on one node is over all PEs. They have passed each other their pages. */
GSH_CHECK_RESULT enum gsh_result gsh_node_bootstrap_create(struct gsh_instance *pe,
                                                           struct gsh_bootstrap **out);
/* This PE has failed, and takes part in none of these calls: others of the node that wait for it in
 * one fail. With or without a bootstrap. False: it has no page to tell them by. */
bool gsh_node_leave(struct gsh_instance *pe);
/* Once the bootstrap is destroyed. Accepts a PE without one. */
void gsh_node_pes_free(struct gsh_instance *pe);

#endif
