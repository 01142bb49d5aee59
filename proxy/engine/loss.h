/* SPDX-License-Identifier: Apache-2.0
 * Losses of single peers that the proxy outlives (options.lost). A loss is noted where it is found,
 * which may be deep within a call of the transport; from then on nothing is taken from the peer.
 * drop.h then does away with what the peer has here. */
#ifndef GSH_LOSS_H
#define GSH_LOSS_H

#include "proxy/engine/state.h"

/* A lost peer's native_after: nothing is issued to it. */
#define GSH_LOSS_NEVER UINT64_MAX

static inline bool gsh_loss_is_gone(const struct gsh_proxy *proxy, int pe)
{
    return proxy->losses[pe] == GSH_LOSS_GONE;
}
/* Notes it, and reports it the first time. May be called from anywhere. */
void gsh_loss_note(struct gsh_proxy *proxy, int pe, const char *reason);
/* The same without a report. False: it was noted before. */
bool gsh_loss_note_silently(struct gsh_proxy *proxy, int pe);
/* Whether the proxy goes on after the transport's result for an operation to pe: that is lost. */
bool gsh_loss_outlives(struct gsh_proxy *proxy, int pe, enum gsh_result r);

#endif
