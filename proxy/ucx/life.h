/* SPDX-License-Identifier: Apache-2.0
 * Which peers are still there: those silent for a while are asked, and are lost if they do not
 * answer, since UCX notices a cut link only when the system does (minutes, over TCP). Also the
 * orderly leave, which distinguishes it from a death. Time counts only while progress is made, so a
 * process that was stopped does not conclude that all others were silent. */
#ifndef GSH_UCX_LIFE_H
#define GSH_UCX_LIFE_H

#include "proxy/ucx/ucx.h"

/* Reports and removes the broken ones. */
void gsh_ucx_bury(struct gsh_ucx *u);
void gsh_ucx_free_peers(struct gsh_ucx *u);
/* Called by every progress(). */
void gsh_ucx_tick(struct gsh_ucx *u);
/* UCX cannot tell any more when something arrives: all peers with an endpoint are lost, and UCX is
 * not armed again. */
void gsh_ucx_go_deaf(struct gsh_ucx *u, ucs_status_t status);
/* Tells every peer that has an endpoint, and closes them; bounded in time. */
void gsh_ucx_leave(struct gsh_ucx *u);

#endif
