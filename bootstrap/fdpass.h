/* SPDX-License-Identifier: Apache-2.0
 * Passes file descriptors between processes of one node, by SCM_RIGHTS over datagram sockets with
 * job-unique abstract names. Messages from another user or without the job's secret are dropped. No
 * limit on how many ranks send at once: sending and receiving are interleaved. */
#ifndef GSH_FDPASS_H
#define GSH_FDPASS_H

#include <stdint.h>
#include "runtime/base/result.h"

struct gsh_fdpass;

/* job: 16 random bytes, the same on all ranks, different for each job. */
GSH_CHECK_RESULT enum gsh_result gsh_fdpass_create(const uint8_t job[16], int rank,
                                                   uint64_t timeout_ns, struct gsh_fdpass **out);
void gsh_fdpass_destroy(struct gsh_fdpass **fdpass);

/* Collective over the n ranks in `ranks` (own rank may be among them and is skipped; its entry
 * of fds_out is -1): each sends my_fd, or "none" when my_fd is -1, and receives theirs, -1 for
 * "none". tag tells one exchange from the next and must be the same on all. On failure no
 * descriptor is left open. The caller closes what it received. */
GSH_CHECK_RESULT enum gsh_result gsh_fdpass_exchange(struct gsh_fdpass *fdpass, const int *ranks,
                                                     int n, uint64_t tag, int my_fd, int *fds_out);

#endif
