/* SPDX-License-Identifier: Apache-2.0
 * Messages on the wire: UCX's active messages, which each begin with a struct gsh_ucx_wire. */
#ifndef GSH_UCX_POST_H
#define GSH_UCX_POST_H

#include "proxy/ucx/call.h"

enum { GSH_UCX_ID_PACKED, GSH_UCX_ID_SPLIT }; /* all in the data; our header as UCX's */

/* What precedes every message. The kinds from PING on have no sequence, header or data. */
enum gsh_ucx_kind {
    GSH_UCX_DATA,
    /* carry.c's, with a struct gsh_ucx_range as header: */
    GSH_UCX_PUT,
    GSH_UCX_GET,
    GSH_UCX_GOT,
    GSH_UCX_FLUSH,
    GSH_UCX_FLUSHED,
    GSH_UCX_PING,
    GSH_UCX_PONG,
    GSH_UCX_BYE,
    GSH_UCX_BYE_ANSWER
};

struct gsh_ucx_wire {
    uint32_t from_pe;
    uint16_t header_bytes;
    uint8_t kind; /* enum gsh_ucx_kind */
    uint8_t reserved;
    uint64_t sequence;
};
_Static_assert(sizeof(struct gsh_ucx_wire) == 16, "gsh_ucx_wire is wire");
_Static_assert(sizeof(struct gsh_ucx_wire) + GSH_TRANSPORT_HEADER_MAX <= GSH_UCX_PACKED_MAX,
               "fits");

/* A message of a kind with a sequence to a peer with an endpoint, by a call that gsh_ucx_begin has
 * taken from u->messages. Returns whether it is pending; data must stay until it is not. */
bool gsh_ucx_send_as(struct gsh_ucx_call *call, enum gsh_ucx_kind kind, const void *header,
                     size_t header_bytes, const void *data, size_t bytes);
/* If it cannot be sent nothing happens: the peer is then broken. */
void gsh_ucx_tell(struct gsh_ucx_peer *peer, enum gsh_ucx_kind kind);

#endif
