/* SPDX-License-Identifier: Apache-2.0
 * What messages do to this PE's memory if it has copy streams. */
#ifndef GSH_STAGE_IN_H
#define GSH_STAGE_IN_H

#include "proxy/engine/messages.h"
#include "proxy/engine/state.h"

/* Takes a message that touches this PE's memory; copies its data. asked: what an answer is for. */
void gsh_stage_take(struct gsh_engine_peer *peer, const struct gsh_message *m,
                    const struct gsh_outstanding *asked, const void *data, size_t bytes);
/* Advances what can go on; returns how much happened. */
unsigned gsh_stage_progress_ins(struct gsh_proxy *proxy);

#endif
