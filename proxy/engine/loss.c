/* SPDX-License-Identifier: Apache-2.0
 * See loss.h. */
#include "proxy/engine/loss.h"

#include <stdio.h>

bool gsh_loss_note_silently(struct gsh_proxy *proxy, int pe)
{
    if (proxy->losses[pe] != GSH_LOSS_NONE) {
        return false;
    }
    proxy->losses[pe] = GSH_LOSS_NOTED;
    proxy->n_noted++;
    return true;
}

void gsh_loss_note(struct gsh_proxy *proxy, int pe, const char *reason)
{
    char text[400];
    if (gsh_loss_note_silently(proxy, pe) && !proxy->is_closing) {
        snprintf(text, sizeof(text), "PE %d: %s failed: %s", pe, "the connection", reason);
        proxy->options.lost(proxy->options.context, pe, text);
    }
}

bool gsh_loss_outlives(struct gsh_proxy *proxy, int pe, enum gsh_result r)
{
    if (r != GSH_ERR_PEER || proxy->options.lost == NULL) {
        return false;
    }
    gsh_loss_note(proxy, pe, "its connection is gone");
    return true;
}
