/* SPDX-License-Identifier: Apache-2.0
 * Domains: nodes, or parts of nodes whose GPUs all have access to each other.
 *
 * A PE's view of its node is a set of bits: bit i is set if it cannot reach the node's i-th PE. In
 * order, each PE joins the first domain of its node into which it fits: it reaches all members, and
 * they reach it. So all PEs, which know all views, compute the same domains. A domain's number is
 * that of its first member. */
#ifndef GSH_DOMAINS_H
#define GSH_DOMAINS_H

#include <stddef.h>
#include <stdint.h>
#include "base/result.h"

struct gsh_peer;

/* 64-bit words of a view: enough for the largest node. */
size_t gsh_domains_words(const struct gsh_peer *peers, int n_pes);
/* Fills the peers' domain where each PE reaches its whole node. */
GSH_CHECK_RESULT enum gsh_result gsh_domains_are_nodes(struct gsh_peer *peers, int n_pes,
                                                       int n_nodes);
/* The same by the PEs' views. views: those words for each PE, in order; changed. */
GSH_CHECK_RESULT enum gsh_result gsh_domains_number(struct gsh_peer *peers, int n_pes, int n_nodes,
                                                    uint64_t *views, size_t words);

#endif
