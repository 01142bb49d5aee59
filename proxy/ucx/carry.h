/* SPDX-License-Identifier: Apache-2.0
 * Put, get and flush as messages. Where no lane to a peer reads and writes its memory (TCP), UCX
 * would send messages as well; but its handlers for them end the process if the peer that they
 * answer is gone (UCX 1.13: "Fatal: unexpected error: Endpoint timeout"), and ours do not. Ours
 * also answer once for each flush, not once for each piece of a put.
 *
 * A peer's messages are carried out in the order in which they were sent (message.c), so a FLUSH is
 * answered when it is reached. Puts, answers to gets, and later flushes wait in the peer's
 * transfers until UCX has room for their pieces. */
#ifndef GSH_UCX_CARRY_H
#define GSH_UCX_CARRY_H

#include "proxy/ucx/post.h"

struct gsh_ucx_range {
    uint64_t off, bytes; /* GOT: from where in the get's dest; FLUSH: nothing */
    uint64_t token;      /* of the asker; returned in the answer */
};

/* These three: the peer has an endpoint, and the range is in its regions. */
GSH_CHECK_RESULT enum gsh_result gsh_ucx_carry_put(struct gsh_ucx_peer *peer, uint64_t off,
                                                   const void *source, uint64_t bytes,
                                                   struct gsh_op *op, bool *is_pending);
GSH_CHECK_RESULT enum gsh_result gsh_ucx_carry_get(struct gsh_ucx_peer *peer, uint64_t off,
                                                   void *dest, uint64_t bytes, struct gsh_op *op,
                                                   bool *is_pending);
GSH_CHECK_RESULT enum gsh_result gsh_ucx_carry_flush(struct gsh_ucx_peer *peer, struct gsh_op *op,
                                                     bool *is_pending);
/* A message of one of its kinds, in order. */
void gsh_ucx_carry_arrived(struct gsh_ucx_peer *peer, enum gsh_ucx_kind kind, const void *header,
                           size_t header_bytes, const void *data, size_t bytes);
/* Posts what UCX has room for; returns how much. */
unsigned gsh_ucx_carry_on(struct gsh_ucx *u);
/* The peer is lost: what has not been posted ends. */
void gsh_ucx_end_transfers(struct gsh_ucx_peer *peer);
void gsh_ucx_free_transfers(struct gsh_ucx_peer *peer);

#endif
