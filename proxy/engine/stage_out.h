/* SPDX-License-Identifier: Apache-2.0
 * Data on their way out of this PE's memory if it has copy streams. */
#ifndef GSH_STAGE_OUT_H
#define GSH_STAGE_OUT_H

#include "proxy/engine/messages.h"
#include "proxy/engine/state.h"

/* These begin what they can; false: not all has begun, call again. */
bool gsh_stage_put(struct gsh_engine_peer *peer, struct gsh_task *task); /* PUT, large PUT_SIGNAL */
bool gsh_stage_iput(struct gsh_engine_peer *peer, struct gsh_task *task);
/* In one message; amo_op is the signal's. */
bool gsh_stage_put_signal(struct gsh_engine_peer *peer, struct gsh_task *task, int amo_op);
/* The most bytes that a get requests at once: a message's or a chunk's. */
uint64_t gsh_stage_piece(const struct gsh_proxy *proxy, uint64_t total, uint64_t left);
/* Answers GET and IGET. */
void gsh_stage_answer(struct gsh_engine_peer *peer, const struct gsh_message *m);
void gsh_stage_granted(struct gsh_engine_peer *peer, const struct gsh_message *m, const void *key,
                       size_t key_bytes);
/* The peer is lost: what is on its way to it ends. */
void gsh_stage_drop_outs(struct gsh_engine_peer *peer);
/* Advances what can go on; returns how much happened. */
unsigned gsh_stage_progress_outs(struct gsh_proxy *proxy);

#endif
