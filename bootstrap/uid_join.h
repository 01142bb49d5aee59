/* SPDX-License-Identifier: Apache-2.0
 * A rank meets the rendezvous of start-up by unique id, by itself or through a relay of its host
 * (uid_relay.h), and learns its partners, and how ranks lie on hosts. uid.c links up with them.
 */
#ifndef GSH_UID_JOIN_H
#define GSH_UID_JOIN_H

#include "bootstrap/bootstrap.h"
#include "bootstrap/tcp_listener.h"

struct gsh_uid_join {
    int rank, n_ranks, rounds;
    const uint8_t *secret; /* [GSH_SHA256_BYTES], the id's */
    /* as in gsh_uid_options: */
    const char *ifname;
    uint64_t timeout_ns;
    int most_direct;
    uint64_t host;
    /* written, even on failure: */
    struct gsh_tcp_listener *listener; /* where partners come; the caller's */
    struct gsh_bootstrap_counts sent;  /* over TCP */
    int n_tries;
    /* as in gsh_bootstrap: */
    struct gsh_host_layout hosts;
};

/* Waits until all ranks have come. The error has a text. */
GSH_CHECK_RESULT enum gsh_result gsh_uid_join(struct gsh_uid_join *join,
                                              const struct gsh_address *rendezvous,
                                              uint64_t deadline_ns, struct gsh_welcome *welcome);

#endif
