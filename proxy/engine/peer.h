/* SPDX-License-Identifier: Apache-2.0
 * One far PE as the engine sees it: what is under way to it, and whether that is known to be seen
 * there. */
#ifndef GSH_ENGINE_PEER_H
#define GSH_ENGINE_PEER_H

#include "proxy/engine/state.h"

/* NULL: no memory, reported. */
struct gsh_engine_peer *gsh_engine_peer(struct gsh_proxy *proxy, int pe);
/* Something stands in a queue. */
static inline bool gsh_engine_peer_is_waiting(const struct gsh_engine_peer *peer)
{
    return peer->queue.head != NULL || peer->flush_wait.head != NULL || peer->ack_wait.head != NULL;
}
/* Nothing holds up a native task to the peer. */
static inline bool gsh_engine_peer_is_open(const struct gsh_engine_peer *peer)
{
    return peer->queue.head == NULL && !peer->needs_fence && peer->acked >= peer->native_after;
}
/* The peer has room for one more message that it must acknowledge. */
static inline bool gsh_engine_peer_may_send(const struct gsh_engine_peer *peer)
{
    return peer->sent - peer->acked < GSH_UNACKED_MAX;
}
/* It has traffic of the source from now on. */
static inline void gsh_engine_peer_activate(struct gsh_engine_peer *peer, unsigned source)
{
    peer->sources |= 1u << source;
    if (gsh_link_is_alone(&peer->active)) {
        gsh_link_append(&peer->proxy->active, &peer->active);
    }
}
/* Takes the peer from the list of the active if nothing is outstanding there. */
void gsh_engine_peer_settle(struct gsh_engine_peer *peer);
/* Starts a flush unless one is under way. True: it is complete already. */
bool gsh_engine_peer_flush(struct gsh_engine_peer *peer);

#endif
