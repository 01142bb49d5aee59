/* SPDX-License-Identifier: Apache-2.0
 * Order among tasks, separately for each peer, which is a PE in one context. Contexts share neither
 * queues nor puts. They share the sequence of messages to a PE, but each waits only for its own.
 *
 * A task is a request on its way: submitted, then in its peer's queue while something holds it up,
 * then issued, then done. Order is kept for each peer by counters:
 * - `puts_posted` native puts, of which the oldest `puts_flushed` are seen at the peer;
 * - `sent` messages that change memory, of which the peer has carried out the oldest `acked`.
 * A FENCE marks the peers with traffic of its source; the next task to such a peer is issued only
 * when all native puts before it are flushed, and native tasks from then on only when all
 * messages before it are acknowledged. That is enough for messages: they are carried out in order.
 * A QUIET puts a MARK into each peer with traffic of its source. The mark goes through the queue,
 * waits in flush_wait until the puts before it are flushed, then in ack_wait until the messages
 * before it are acknowledged. Only its QUIET waits for a mark. A put_signal too large for one
 * message is a native put and a signal that waits in flush_wait. So is a strong one, whose signal
 * also comes after all earlier puts, while some of those are not flushed; no put waits for it. Puts
 * whose source must first be copied out of memory are sent later than they are issued; whatever
 * waits for flushes as described above waits for these, too (stage.h). */
#ifndef GSH_ORDER_H
#define GSH_ORDER_H

#include "proxy/engine/state.h"

/* Takes the task over; request, source and proxy are set. Calls request.done when it is done. */
void gsh_order_submit(struct gsh_proxy *proxy, struct gsh_task *task);
/* The peer is lost: what waits to go there ends. */
void gsh_order_drop(struct gsh_engine_peer *peer);
/* Lets waiting tasks move on if they can. */
void gsh_order_pump(struct gsh_proxy *proxy);

#endif
