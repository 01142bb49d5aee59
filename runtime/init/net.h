/* SPDX-License-Identifier: Apache-2.0
 * The life of a job with far PEs: makes and connects the proxy, and makes the library's collective
 * calls over its messages. far.h has operations on memory. */
#ifndef GSH_NET_H
#define GSH_NET_H

#include "base/result.h"
#include "bootstrap/bootstrap.h"

struct gsh_instance;

/* Collective over `bootstrap`: makes pe->proxy, and gives every PE's address to every other PE.
 * *mine: before, the outcome of this PE's earlier part, of which the others do not know; if it
 * failed, or fails here before the addresses are exchanged, all PEs return the failure. After
 * GSH_OK, *mine is what has become of the addresses on this PE: the PEs vote on that, then all call
 * the next. */
GSH_CHECK_RESULT enum gsh_result
gsh_net_introduce(struct gsh_instance *pe, struct gsh_bootstrap *bootstrap, enum gsh_result *mine);
/* Not collective: starts the proxy. All PEs have the addresses. */
GSH_CHECK_RESULT enum gsh_result gsh_net_start(struct gsh_instance *pe);
/* No PE needs this one any more. After gsh_net_close a lost peer is not an error. */
void gsh_net_close(struct gsh_instance *pe);
void gsh_net_destroy(struct gsh_instance *pe);

/* A bootstrap over messages, in ceil(log2(n)) rounds; base's abort is used, base stays the
 * caller's. */
GSH_CHECK_RESULT enum gsh_result gsh_net_bootstrap_create(struct gsh_instance *pe,
                                                          struct gsh_bootstrap *base,
                                                          struct gsh_bootstrap **out);

#endif
