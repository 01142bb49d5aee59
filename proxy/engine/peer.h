/* SPDX-License-Identifier: Apache-2.0
 * One far PE in one context, as the engine sees it: what is under way to it, and how much of that
 * is known to be visible there. */
#ifndef GSH_ENGINE_PEER_H
#define GSH_ENGINE_PEER_H

#include "proxy/engine/state.h"

/* NULL: no memory, reported. */
struct gsh_engine_peer *gsh_engine_peer(struct gsh_proxy *proxy, int pe, gsh_context ctx);
/* The same if it is there already, else NULL. */
static inline struct gsh_engine_peer *gsh_engine_peer_find(const struct gsh_proxy *proxy, int pe,
                                                           gsh_context ctx)
{
    return proxy->peers[ctx] != NULL ? proxy->peers[ctx][pe] : NULL;
}
/* The number of the newest message that must be acknowledged for all the context's requests to be
 * visible. Staging numbers messages when it sends them: then it is the newest of all. */
static inline uint64_t gsh_engine_peer_newest(const struct gsh_engine_peer *peer)
{
    return peer->newest_staged > 0 ? peer->main->sent : peer->newest_sent;
}
/* A queue is not empty. */
static inline bool gsh_engine_peer_is_waiting(const struct gsh_engine_peer *peer)
{
    return peer->queue.head != NULL || peer->flush_wait.head != NULL || peer->ack_wait.head != NULL;
}
/* Nothing holds up a native task to the peer. */
static inline bool gsh_engine_peer_is_open(const struct gsh_engine_peer *peer)
{
    return peer->queue.head == NULL && !peer->needs_fence &&
           peer->main->acked >= peer->native_after;
}
/* The peer has room for one more message that it must acknowledge. */
static inline bool gsh_engine_peer_may_send(const struct gsh_engine_peer *peer)
{
    return peer->main->sent - peer->main->acked < GSH_UNACKED_MAX;
}
/* It has traffic of the source from now on. */
static inline void gsh_engine_peer_activate(struct gsh_engine_peer *peer, unsigned source)
{
    peer->sources |= UINT64_C(1) << source;
    if (gsh_link_is_alone(&peer->active)) {
        gsh_link_append(&peer->proxy->active, &peer->active);
    }
}
/* Removes the peer from the active list if nothing is outstanding there. */
void gsh_engine_peer_settle(struct gsh_engine_peer *peer);
/* The same in each context. */
void gsh_engine_peer_settle_all(struct gsh_engine_peer *peer);
/* Starts a flush unless one is under way. True: it is complete already. */
bool gsh_engine_peer_flush(struct gsh_engine_peer *peer);

#endif
