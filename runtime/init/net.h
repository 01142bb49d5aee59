/* SPDX-License-Identifier: Apache-2.0
 * The life of a job with far PEs: makes and connects the proxy, and makes the library's collective
 * calls over its messages. far.h has operations on memory. */
#ifndef GSH_NET_H
#define GSH_NET_H

#include "base/result.h"
#include "bootstrap/bootstrap.h"

struct gsh_instance;

/* Makes pe->proxy. prior: the outcome of this PE's part of init so far, of which the others do not
 * know. If gsh_looks_up, it publishes this PE's address, is not collective, and returns this PE's
 * own outcome. Else it is collective over `bootstrap`, and gathers the addresses of all PEs: if
 * prior is a failure, or a PE fails here, all PEs return the failure, as long as none is lost. */
GSH_CHECK_RESULT enum gsh_result
gsh_net_introduce(struct gsh_instance *pe, struct gsh_bootstrap *bootstrap, enum gsh_result prior);
/* Not collective: keeps what PEs have told of their addresses, with the node's pages, and starts
 * the proxy. */
GSH_CHECK_RESULT enum gsh_result gsh_net_start(struct gsh_instance *pe);
/* All PEs of the node have done so. Accepts a PE without a network. */
void gsh_net_settle(struct gsh_instance *pe);
/* No PE needs this one any more. After gsh_net_close a lost peer is not an error. */
void gsh_net_close(struct gsh_instance *pe);
void gsh_net_destroy(struct gsh_instance *pe);

/* A bootstrap over messages, in ceil(log2(n)) rounds; base's abort is used, base stays the
 * caller's. */
GSH_CHECK_RESULT enum gsh_result gsh_net_bootstrap_create(struct gsh_instance *pe,
                                                          struct gsh_bootstrap *base,
                                                          struct gsh_bootstrap **out);

#endif
