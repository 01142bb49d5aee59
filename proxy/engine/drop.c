/* SPDX-License-Identifier: Apache-2.0
 * See drop.h. */
#include "proxy/engine/drop.h"

#include "proxy/engine/loss.h"
#include "proxy/engine/order.h"
#include "proxy/engine/peer.h"
#include "proxy/engine/stage_out.h"
#include "proxy/engine/stage_slots.h"
#include "proxy/engine/task.h"

static void end_questions(struct gsh_engine_peer *main)
{
    struct gsh_outstanding asked;
    uint32_t from = 0;
    while (gsh_outstanding_take_of(&main->proxy->asked, main->pe, &from, &asked)) {
        gsh_task_end_unanswered(main, &asked);
    }
}

static void settle(struct gsh_engine_peer *peer)
{
    peer->puts_flushed = peer->puts_posted;
    peer->native_after = GSH_LOSS_NEVER;
    peer->needs_fence = false;
    peer->sources = 0;
    gsh_link_remove(&peer->active);
}

/* Tasks that wait go first: those of which parts are under way end by these. */
static void carry_out(struct gsh_engine_peer *main)
{
    for (struct gsh_engine_peer *peer = main; peer != NULL; peer = peer->sibling) {
        gsh_order_drop(peer);
    }
    end_questions(main);
    gsh_stage_drop_outs(main);
    gsh_stage_drop_slots(main);
    main->acked = main->sent;
    main->to_ack = 0;
    gsh_link_remove(&main->acking);
    for (struct gsh_engine_peer *peer = main; peer != NULL; peer = peer->sibling) {
        settle(peer);
    }
}

unsigned gsh_drop_lost(struct gsh_proxy *proxy)
{
    struct gsh_transport *t = proxy->transport;
    unsigned n = 0;
    for (int pe = 0; pe < proxy->options.n_pes && proxy->n_noted > 0; pe++) {
        if (proxy->losses[pe] != GSH_LOSS_NOTED) {
            continue;
        }
        struct gsh_engine_peer *main = gsh_engine_peer_find(proxy, pe, GSH_CONTEXT_DEFAULT);
        proxy->losses[pe] = GSH_LOSS_GONE;
        proxy->n_noted--;
        t->ops->lose(t, pe, "it is known to be lost");
        if (main != NULL) {
            carry_out(main);
        }
        n++;
    }
    return n;
}

void gsh_drop_peer(struct gsh_proxy *proxy, int pe)
{
    if (gsh_loss_note_silently(proxy, pe) && proxy->failure == GSH_OK) {
        (void)gsh_drop_lost(proxy);
    }
}
