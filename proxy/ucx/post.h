/* SPDX-License-Identifier: Apache-2.0
 * Sending messages (wire.h), as UCX's active messages. */
#ifndef GSH_UCX_POST_H
#define GSH_UCX_POST_H

#include "proxy/ucx/call.h"
#include "proxy/ucx/wire.h"

/* A message of a kind with a sequence to a peer with an endpoint, by a call that gsh_ucx_begin has
 * taken from u->messages. Returns whether it is pending; data must stay until it is not. */
bool gsh_ucx_send_as(struct gsh_ucx_call *call, enum gsh_ucx_kind kind, const void *header,
                     size_t header_bytes, const void *data, size_t bytes);
/* If it cannot be sent nothing happens: the peer is then broken. */
void gsh_ucx_tell(struct gsh_ucx_peer *peer, enum gsh_ucx_kind kind);

#endif
