/* SPDX-License-Identifier: Apache-2.0
 * See loss.h. */
#include "proxy/ucx/loss.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASON_BYTES 256

static char no_memory[] = "no memory for the reason";

void gsh_ucx_forget_reason(struct gsh_ucx_peer *peer)
{
    if (peer->reason != no_memory) {
        free(peer->reason);
    }
    peer->reason = NULL;
}

void gsh_ucx_break(struct gsh_ucx_peer *peer, const char *format, ...)
{
    struct gsh_ucx *u = peer->ucx;
    char reason[REASON_BYTES];
    va_list args;
    if (peer->state == GSH_UCX_BROKEN || peer->state == GSH_UCX_LOST) {
        return;
    }
    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    gsh_ucx_forget_reason(peer);
    if (peer->state != GSH_UCX_LEFT && (peer->reason = strdup(reason)) == NULL) {
        peer->reason = no_memory;
    }
    peer->state = GSH_UCX_BROKEN;
    peer->next_broken = u->broken;
    u->broken = peer;
}

void gsh_ucx_refuse(struct gsh_ucx_peer *peer, const char *why)
{
    peer->is_refused = true;
    gsh_ucx_break(peer, "%s", why);
}

/* UCX also reports a timeout when the peer's system resets a connection at once. */
void gsh_ucx_break_for(struct gsh_ucx_peer *peer, ucs_status_t status)
{
    gsh_ucx_break(peer, "its connection is gone (UCX: %s)", ucs_status_string(status));
}
