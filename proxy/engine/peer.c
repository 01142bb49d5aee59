/* SPDX-License-Identifier: Apache-2.0
 * See peer.h. */
#include "proxy/engine/peer.h"

#include <stdlib.h>
#include "base/util.h"
#include "proxy/engine/failure.h"
#include "proxy/engine/loss.h"

static struct gsh_engine_peer *make(struct gsh_proxy *proxy, int pe, gsh_context ctx,
                                    struct gsh_engine_peer *main)
{
    if (proxy->peers[ctx] == NULL) {
        proxy->peers[ctx] = calloc((size_t)proxy->options.n_pes, sizeof(*proxy->peers[ctx]));
    }
    struct gsh_engine_peer *peer = calloc(1, sizeof(*peer));
    if (peer == NULL || proxy->peers[ctx] == NULL) {
        free(peer);
        gsh_engine_fail(proxy, pe, GSH_ERR_NOMEM, "the connection", "no memory");
        return NULL;
    }
    peer->pe = pe;
    peer->ctx = ctx;
    peer->proxy = proxy;
    peer->main = peer;
    if (main != NULL) {
        peer->main = main;
        peer->sibling = main->sibling;
        main->sibling = peer;
    }
    gsh_link_init(&peer->active);
    gsh_link_init(&peer->waiting);
    gsh_link_init(&peer->acking);
    gsh_stage_peer_init(&peer->stage);
    if (gsh_loss_is_gone(proxy, pe)) {
        peer->native_after = GSH_LOSS_NEVER;
    }
    proxy->peers[ctx][pe] = peer;
    return peer;
}

struct gsh_engine_peer *gsh_engine_peer(struct gsh_proxy *proxy, int pe, gsh_context ctx)
{
    struct gsh_engine_peer *peer = gsh_engine_peer_find(proxy, pe, ctx);
    if (peer != NULL) {
        return peer;
    }
    if (ctx == GSH_CONTEXT_DEFAULT) {
        return make(proxy, pe, ctx, NULL);
    }
    struct gsh_engine_peer *main = gsh_engine_peer(proxy, pe, GSH_CONTEXT_DEFAULT);
    return main != NULL ? make(proxy, pe, ctx, main) : NULL;
}

void gsh_engine_peer_settle(struct gsh_engine_peer *peer)
{
    if (gsh_engine_peer_is_waiting(peer) || peer->puts_flushed != peer->puts_posted ||
        peer->main->acked < gsh_engine_peer_newest(peer) ||
        !gsh_stage_is_sent(&peer->main->stage, peer->newest_staged)) {
        return;
    }
    /* Nothing is left for a fence to order. */
    peer->needs_fence = false;
    peer->sources = 0;
    gsh_link_remove(&peer->active);
}

void gsh_engine_peer_settle_all(struct gsh_engine_peer *peer)
{
    for (peer = peer->main; peer != NULL; peer = peer->sibling) {
        gsh_engine_peer_settle(peer);
    }
}

/* ---- flushes ---- */

static void flush_done(struct gsh_op *op, enum gsh_result r)
{
    struct gsh_engine_peer *peer = GSH_HOLDER(struct gsh_engine_peer, flush_op, op);
    struct gsh_proxy *proxy = peer->proxy;
    proxy->n_pending--;
    peer->is_flushing = false;
    if (r != GSH_OK && !gsh_loss_outlives(proxy, peer->pe, r)) {
        gsh_engine_fail(proxy, peer->pe, r, "the completion of puts", NULL);
        return;
    }
    /* a lost peer's are all taken as flushed */
    peer->puts_flushed = gsh_max_u64(peer->puts_flushed, peer->flush_target);
    gsh_engine_peer_settle(peer);
}

bool gsh_engine_peer_flush(struct gsh_engine_peer *peer)
{
    struct gsh_proxy *proxy = peer->proxy;
    struct gsh_transport *t = proxy->transport;
    bool is_pending = false;
    if (peer->is_flushing || proxy->failure != GSH_OK) {
        return false;
    }
    peer->is_flushing = true;
    peer->flush_target = peer->puts_posted;
    peer->flush_op.done = flush_done;
    proxy->n_pending++; /* first, since the call may call done */
    enum gsh_result r = t->ops->flush(t, peer->pe, peer->ctx, &peer->flush_op, &is_pending);
    if (r != GSH_OK || !is_pending) {
        flush_done(&peer->flush_op, r);
    }
    return !peer->is_flushing;
}
