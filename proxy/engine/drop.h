/* SPDX-License-Identifier: Apache-2.0
 * Removes what a lost peer still has in the engine once its loss has been noted (loss.h). At the
 * end of the round, requests that wait to go to the peer end, and so do questions that it has not
 * answered. The slots that it was granted are free again. All that was sent to it counts as seen
 * there, so that fences and quiets cover the other peers. What the transport or the copy streams
 * hold ends when they give it back. From then on, requests to the peer end at once.
 *
 * A lost peer is dead, or is told that it is lost, and stops (gsh_proxy_stop). Until then a peer
 * that lives may still put into slots that others already use. */
#ifndef GSH_DROP_H
#define GSH_DROP_H

#include "proxy/engine/state.h"

/* For all losses that are noted; returns how many. Outside calls of the transport. */
unsigned gsh_drop_lost(struct gsh_proxy *proxy);
/* The runtime has found that the peer is lost. As above. */
void gsh_drop_peer(struct gsh_proxy *proxy, int pe);

#endif
