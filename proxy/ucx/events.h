/* SPDX-License-Identifier: Apache-2.0
 * What the sleeping proxy polls: UCX's descriptor, and a timer for watching peers. */
#ifndef GSH_UCX_EVENTS_H
#define GSH_UCX_EVENTS_H

#include "proxy/ucx/ucx.h"

GSH_CHECK_RESULT enum gsh_result gsh_ucx_open_events(struct gsh_ucx *u);
void gsh_ucx_close_events(struct gsh_ucx *u);
/* Gives the core away until UCX has something to do, at most for so long. Not beside the proxy's
 * thread. */
void gsh_ucx_sleep(struct gsh_ucx *u, int limit_ms);
/* A peer has its first endpoint: from now on there is a peer to watch. */
void gsh_ucx_monitor_peer(struct gsh_ucx *u);

#endif
