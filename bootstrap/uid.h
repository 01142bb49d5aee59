/* SPDX-License-Identifier: Apache-2.0
 * Start-up by unique id over TCP. One process makes the id and serves the rendezvous from a
 * background thread until all ranks have come; the user carries the id's bytes to the others.
 * The id holds address, port and a secret; connections that do not prove the secret are dropped. */
#ifndef GSH_UID_H
#define GSH_UID_H

#include <stdbool.h>
#include <stdint.h>
#include "bootstrap/bootstrap.h"
#include "bootstrap/uid_id.h"

struct gsh_uid_options {
    const char *ifname;  /* GSHMEM_UID_IFNAME */
    const char *family;  /* "any", "ipv4", "ipv6" */
    uint64_t timeout_ns; /* of each start-up step; 0 is none. The rendezvous waits this long for the
                          * first rank, and again for all of them */
    bool serves_again;   /* gsh_uid_create: after one job serve the next one with the same id, for
                            as long as the process lives, and wait for a first rank without limit */
    int notes_to; /* gsh_uid_create: a pipe that receives, as int32_t, each rank that comes and now
                   * waits for the others, and GSH_UID_NONE_WAITS when none does; 0: no */
    int n_files;  /* gsh_uid_create: how many descriptors the process needs in all, which strangers
                   * do not get; 0: not known */
    int most_direct; /* joining: with more ranks they meet the rendezvous through relays of their
                      * hosts (uid_relay.h); 0: GSH_UID_MOST_DIRECT */
    uint64_t host;   /* joining: gsh_host_id; 0: not told, and then no rank learns hosts */
    const struct gsh_uid
        *known; /* gsh_uid_create: serves this id, at its address; NULL: a new one */
};
#define GSH_UID_NONE_WAITS (-1)

/* Makes an id and starts serving it, or the known one. */
GSH_CHECK_RESULT enum gsh_result gsh_uid_create(const struct gsh_uid_options *options,
                                                struct gsh_uid *out);

/* Stops serving an id that this process has made and that no rank joins; ignores other ids. */
void gsh_uid_drop(const struct gsh_uid *id);

/* Joins the job of the id as one of n_ranks ranks; collective over them. A rank out of range, one
 * that comes twice, different n_ranks, or a rank that leaves meanwhile: an error on all. */
GSH_CHECK_RESULT enum gsh_result gsh_bootstrap_uid_create(const struct gsh_uid *id, int rank,
                                                          int n_ranks,
                                                          const struct gsh_uid_options *options,
                                                          struct gsh_bootstrap **out);

/* Collective over a launcher's bootstrap, *b. Rank 0 makes an id and serves it, *b carries it to
 * all, and *b becomes the bootstrap that they make by it, which has the launcher's and ends it. *b
 * stays what it is, on all: if it can carry nothing, or has one rank; if all ranks are of one host,
 * where they need no TCP, unless has_nodes, by rank 0's word; if some cannot reach each other
 * within a quarter of the time limit, or 15 s, which is said at info level. Of the options ifname,
 * family and host count. GSH_ERR_ARG, on all: a rank cannot listen where ifname says. */
GSH_CHECK_RESULT enum gsh_result gsh_bootstrap_uid_over(struct gsh_bootstrap **b,
                                                        const struct gsh_uid_options *options,
                                                        bool has_nodes);

#endif
