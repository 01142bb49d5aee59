/* SPDX-License-Identifier: Apache-2.0
 * This PE's slots, and which peers get them. */
#ifndef GSH_STAGE_SLOTS_H
#define GSH_STAGE_SLOTS_H

#include "proxy/engine/messages.h"
#include "proxy/engine/state.h"

/* A WANT: answered now, or when a slot is free. */
void gsh_stage_wanted(struct gsh_engine_peer *peer, const struct gsh_message *m);
void gsh_stage_free_slot(struct gsh_proxy *proxy, uint8_t *slot);
/* The peer is lost: what it was granted, or waits for, goes to the others. */
void gsh_stage_drop_slots(struct gsh_engine_peer *peer);

#endif
