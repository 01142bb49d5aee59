/* SPDX-License-Identifier: Apache-2.0
 * See round.h. */
#include "proxy/engine/round.h"

#include "proxy/engine/drop.h"
#include "proxy/engine/failure.h"
#include "proxy/engine/order.h"
#include "proxy/engine/outbox.h"
#include "proxy/engine/rings.h"
#include "proxy/engine/stage.h"

unsigned gsh_engine_round(struct gsh_proxy *proxy, unsigned n_polls)
{
    struct gsh_transport *t = proxy->transport;
    if (proxy->failure != GSH_OK) {
        return t->ops->progress(t); /* for notices */
    }
    unsigned n = gsh_rings_drain(proxy);
    do {
        n += t->ops->progress(t);
    } while (n == 0 && --n_polls > 0);
    n += gsh_stage_round(proxy);
    gsh_order_pump(proxy);
    gsh_out_send_acks(proxy);
    n += gsh_rings_retire(proxy);
    if (proxy->n_noted > 0) {
        n += gsh_drop_lost(proxy);
    }
    if (proxy->lost_pe >= 0) {
        gsh_engine_report_lost(proxy);
    }
    return n;
}
