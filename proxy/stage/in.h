/* SPDX-License-Identifier: Apache-2.0
 * What messages do to this PE's memory when it has lanes. */
#ifndef GSH_STAGE_IN_H
#define GSH_STAGE_IN_H

#include "proxy/engine/messages.h"
#include "proxy/engine/state.h"

/* A message for which this PE's memory is touched; its data are copied. */
void gsh_stage_take(struct gsh_engine_peer *peer, const struct gsh_message *m, const void *data,
                    size_t bytes);
/* What can go on; how much happened. */
unsigned gsh_stage_progress_ins(struct gsh_proxy *proxy);

#endif
