/* SPDX-License-Identifier: Apache-2.0
 * The life of a job with far PEs: makes and connects the proxy, and makes the library's collective
 * calls over its messages. far.h has operations on memory. */
#ifndef GSH_NET_H
#define GSH_NET_H

#include "base/result.h"
#include "bootstrap/bootstrap.h"

struct gsh_instance;

/* Collective over `bootstrap`: makes pe->proxy, gives every PE's address to every other PE, starts
 * it. All PEs fail when one does. */
GSH_CHECK_RESULT enum gsh_result gsh_net_create(struct gsh_instance *pe,
                                                struct gsh_bootstrap *bootstrap);
/* No PE needs this one any more. After gsh_net_close a lost peer is not an error. */
void gsh_net_close(struct gsh_instance *pe);
void gsh_net_destroy(struct gsh_instance *pe);

/* A bootstrap over messages, in ceil(log2(n)) rounds; base's abort is used, base stays the
 * caller's. */
GSH_CHECK_RESULT enum gsh_result gsh_net_bootstrap_create(struct gsh_instance *pe,
                                                          struct gsh_bootstrap *base,
                                                          struct gsh_bootstrap **out);

#endif
