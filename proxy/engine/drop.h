/* SPDX-License-Identifier: Apache-2.0
 * What a lost peer still has in the engine when its loss has been noted (loss.h). At the end of the
 * round what waits to go to the peer ends, as do the questions that it has not answered; the slots
 * that it was granted are free again; and all that was sent to it is taken as seen there, so that
 * fences and quiets cover the others. What is with the transport or the copy streams ends when
 * these give it back. Requests to the peer then end at once.
 *
 * A lost peer is dead, or hears that it is lost and stops (gsh_proxy_stop): until then one that
 * lives may still put to slots that others use by now. */
#ifndef GSH_DROP_H
#define GSH_DROP_H

#include "proxy/engine/state.h"

/* For all losses that are noted; returns how many. Outside calls of the transport. */
unsigned gsh_drop_lost(struct gsh_proxy *proxy);
/* The runtime has found that the peer is lost. As above. */
void gsh_drop_peer(struct gsh_proxy *proxy, int pe);

#endif
