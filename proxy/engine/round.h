/* SPDX-License-Identifier: Apache-2.0
 * One round of everything the proxy does. */
#ifndef GSH_ROUND_H
#define GSH_ROUND_H

#include "proxy/engine/state.h"

/* Advances everything that can make progress: rings, transport, queues, acknowledgements. Returns
 * how much happened. While nothing happens it polls the transport up to n_polls times, at least
 * once. */
unsigned gsh_engine_round(struct gsh_proxy *proxy, unsigned n_polls);

#endif
