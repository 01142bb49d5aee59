/* SPDX-License-Identifier: Apache-2.0
 * Passes file descriptors between processes of one node, by SCM_RIGHTS over connections that uds.h
 * makes: a descriptor goes only to a process of this user that has proved the job's secret. Two
 * ranks connect in their first common exchange; the lower one connects to the higher one's
 * listener. No limit on how many ranks send at once: sending and receiving are interleaved.
 *
 * A message is struct gsh_fdpass_message and at most one descriptor. A connection carries one
 * message each way for every exchange of the two ranks, in the order of their exchanges; those of
 * later exchanges are kept until this rank gets there. A rank that fails in an exchange tells the
 * ranks that still wait for its message. */
#ifndef GSH_FDPASS_H
#define GSH_FDPASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/result.h"

struct gsh_fdpass;

/* What travels. */
enum gsh_fdpass_kind { GSH_FDPASS_NONE = 1, GSH_FDPASS_DESCRIPTOR, GSH_FDPASS_FAILED };
struct gsh_fdpass_message {
    uint32_t kind;
    uint32_t result; /* FAILED: enum gsh_result; else 0 */
    uint64_t tag;
};
_Static_assert(sizeof(struct gsh_fdpass_message) == 16, "no padding");

/* Opens this rank's listener. job: 16 random bytes, the same on all ranks, different for each job,
 * and known to nobody else. GSH_ERR_SYSTEM is only noted: the job votes before it goes on. */
GSH_CHECK_RESULT enum gsh_result gsh_fdpass_create(const uint8_t job[16], int rank,
                                                   uint64_t timeout_ns, struct gsh_fdpass **out);
void gsh_fdpass_destroy(struct gsh_fdpass **fdpass);
int gsh_fdpass_rank(const struct gsh_fdpass *fdpass);

/* While this rank waits, it also waits for input of fd, and then calls has_ended, as it does ten
 * times a second: if that is true the exchange fails with GSH_ERR_PEER, which has_ended has noted.
 * fd -1: no more. */
void gsh_fdpass_heed(struct gsh_fdpass *fdpass, int fd, bool (*has_ended)(void *context),
                     void *context);

/* Whether this process may open as many descriptors as it takes to meet n ranks, to receive one
 * from each, and to hold `more` besides; if not, GSH_ERR_SYSTEM, noted. It is checked before the
 * vote, since a rank that runs out later cannot tell the ranks to which it has no connection. */
GSH_CHECK_RESULT enum gsh_result gsh_fdpass_check_room(int n, int more);

/* This rank has had an exchange with every rank that it will have one with: its listener closes. */
void gsh_fdpass_shut(struct gsh_fdpass *fdpass);

/* Collective over the n ranks in `ranks` (own rank may be among them and is skipped; its entry
 * of fds_out is -1): each sends my_fd, or "none" when my_fd is -1, and receives theirs, -1 for
 * "none". tag tells one exchange from the next and must be the same on all. On failure no
 * descriptor is left open. The caller closes what it received. */
GSH_CHECK_RESULT enum gsh_result gsh_fdpass_exchange(struct gsh_fdpass *fdpass, const int *ranks,
                                                     int n, uint64_t tag, int my_fd, int *fds_out);

/* The ranks that one rank meets in a spread, at most. */
#define GSH_FDPASS_SPREAD_LINKS 9

/* Collective over the n ranks in `ranks`, in the same order on all: gives the first one's
 * descriptor to all, down a tree. *fd: the first rank's own, which it keeps, -1 if it has failed to
 * make one; the others' becomes what came, which they close, -1 on failure. */
GSH_CHECK_RESULT enum gsh_result gsh_fdpass_spread(struct gsh_fdpass *fdpass, const int *ranks,
                                                   int n, uint64_t tag, int *fd);

/* The parser of what travels: whether it is a message; has_fd: a descriptor came with it. */
bool gsh_fdpass_is_message(const void *data, size_t bytes, bool has_fd,
                           struct gsh_fdpass_message *out);

#endif
