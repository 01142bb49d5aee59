/* SPDX-License-Identifier: Apache-2.0
 * Staging: data in memory that host code or the network cannot reach travel through pinned buffers
 * of the two proxies, in pieces, so that piece k is copied out of the source's memory while piece
 * k-1 travels and piece k-2 is copied into the dest's. Private to proxy/; part of the engine's
 * state, under the proxy's lock.
 *
 * A proxy with copy streams (copy_streams.h) touches its PE's memory by their jobs only:
 * - an `out` copies a piece out of memory and sends it: of puts (the task's source), or of the
 *   answer to a peer's get. QUEUED -> COPYING -> (PLACED ->) sent.
 * - an `in` does to memory what a message asks, and stores what a get has fetched. QUEUED ->
 *   STARTED -> ended: only then is the message acknowledged, or the get's piece complete. All ins
 *   are in one copy stream, so messages are carried out and acknowledged in the order of arrival:
 *   fences, quiets and signals need nothing more at the target.
 *
 * A piece of at most one message is copied to a small buffer and goes in its message. Larger ones
 * (chunks) go from a buffer of the sender to a slot of the receiver, in memory that the transport
 * has made and knows as the region at GSH_STAGE_OFF of every PE:
 *
 *     sender                                    receiver
 *     takes a buffer; starts the copy; WANT  -> has a slot, now or later: GRANT
 *     copy ended and granted: puts to the slot
 *     the put is flushed: STAGED_PUT or _DATA -> starts the copy from the slot; when it has ended
 *     frees the buffer                          the slot is free for the next sender
 *
 * So a sender never overruns a receiver. A sender that waits for a slot already holds a buffer, and
 * a granted slot needs nothing else to become free again, so there is no deadlock. One peer gets at
 * most three quarters of the buffers, so a peer that does not answer cannot stop the others.
 *
 * Where the transport can map the receiver's slots (shared memory), the sender needs no buffer and
 * no put: it waits for the slot first, and copies straight into it.
 *
 * Order at the sender: outs of puts to one peer are numbered; a fence waits until all are sent, a
 * quiet's mark and the signal of a large put until those before it are. Once sent, they are ordered
 * as messages are (order.h). */
#ifndef GSH_STAGE_H
#define GSH_STAGE_H

#include "proxy/engine/state.h"

/* Lists only. */
void gsh_stage_init(struct gsh_stage *stage);
/* proxy->memory, its transport and its options are set. */
GSH_CHECK_RESULT enum gsh_result gsh_stage_create(struct gsh_proxy *proxy);
/* Jobs under way end first. Nothing is staged any more. Accepts a half-made one. The region stays
 * until the transport ends: peers that know of it may still use it. */
void gsh_stage_destroy(struct gsh_proxy *proxy);
/* Advances everything that can go on; returns how much happened. Never 0 while jobs are under way,
 * since nothing else would wake the proxy. */
unsigned gsh_stage_round(struct gsh_proxy *proxy);

#endif
