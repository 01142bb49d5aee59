/* SPDX-License-Identifier: Apache-2.0
 * The life of a job with far PEs: makes and connects the proxy, and makes the library's collective
 * calls over its messages. far.h has operations on memory. */
#ifndef GSH_NET_H
#define GSH_NET_H

#include "base/result.h"
#include "bootstrap/bootstrap.h"

struct gsh_device_attr;
struct gsh_instance;

/* Collective over `bootstrap`: makes pe->proxy, and gathers the addresses of all PEs. prior: the
 * outcome of this PE's part of init so far, of which the others do not know. If it failed, or a PE
 * fails here, all PEs return the failure, as long as none is lost. attr: what this PE tells of its
 * device in the same exchange, and attrs, [n_pes], receives what each does; both NULL, on all PEs:
 * they tell that later. */
GSH_CHECK_RESULT enum gsh_result
gsh_net_introduce(struct gsh_instance *pe, struct gsh_bootstrap *bootstrap, enum gsh_result prior,
                  const struct gsh_device_attr *attr, struct gsh_device_attr *attrs);
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
