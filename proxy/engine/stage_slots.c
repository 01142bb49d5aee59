/* SPDX-License-Identifier: Apache-2.0
 * See stage_slots.h. */
#include "proxy/engine/stage_slots.h"

#include <string.h>
#include "proxy/engine/failure.h"
#include "proxy/engine/outbox.h"

static void send_grant(struct gsh_engine_peer *peer, uint8_t *slot)
{
    struct gsh_proxy *proxy = peer->proxy;
    struct gsh_stage *stage = &proxy->stage;
    size_t key_bytes = peer->stage.is_told ? 0 : stage->key_bytes;
    struct gsh_out *out = gsh_out_take(proxy, key_bytes > GSH_REQUEST_INLINE_MAX, true);
    if (out == NULL) {
        return;
    }
    if (key_bytes > proxy->data_max) {
        gsh_engine_fail(proxy, peer->pe, GSH_ERR_BUG, "a grant", "the key is no message");
        return;
    }
    out->header = (struct gsh_message){.kind = GSH_MESSAGE_GRANT,
                                       .at = (uint64_t)2 * stage->n_chunks * stage->chunk_bytes};
    out->header.staged.slot = (uint64_t)(slot - stage->region);
    stage->slot_of[out->header.staged.slot / stage->chunk_bytes] = 1 + peer->pe;
    out->header.staged.bytes = stage->chunk_bytes;
    memcpy(out->data, stage->key, key_bytes);
    peer->stage.is_told = true;
    gsh_out_send(peer, out, out->data, key_bytes);
}

static void grant(struct gsh_proxy *proxy)
{
    struct gsh_stage *stage = &proxy->stage;
    while (stage->n_free_slots > 0 && !gsh_link_is_alone(&stage->wanting) &&
           proxy->failure == GSH_OK) {
        struct gsh_engine_peer *peer =
            GSH_HOLDER(struct gsh_engine_peer, stage.wanting, stage->wanting.next);
        gsh_link_remove(&peer->stage.wanting);
        if (--peer->stage.n_wants > 0) {
            gsh_link_append(&stage->wanting, &peer->stage.wanting); /* the other peers first */
        }
        send_grant(peer, stage->free_slots[--stage->n_free_slots]);
    }
}

void gsh_stage_wanted(struct gsh_engine_peer *peer, const struct gsh_message *m)
{
    struct gsh_proxy *proxy = peer->proxy;
    struct gsh_stage *stage = &proxy->stage;
    if (!stage->has_chunks || m->bytes > stage->chunk_bytes) {
        gsh_engine_fail(proxy, peer->pe, GSH_ERR_ARG, "a staged transfer", GSH_STAGE_UNEQUAL);
        return;
    }
    if (peer->stage.n_wants >= GSH_STAGE_WANTS_MAX) {
        gsh_engine_refuse(proxy, peer->pe, "a message", "it sends too many at once");
        return;
    }
    if (peer->stage.n_wants++ == 0) {
        gsh_link_append(&stage->wanting, &peer->stage.wanting);
    }
    grant(proxy);
}

void gsh_stage_free_slot(struct gsh_proxy *proxy, uint8_t *slot)
{
    proxy->stage.free_slots[proxy->stage.n_free_slots++] = slot;
    grant(proxy);
}

void gsh_stage_drop_slots(struct gsh_engine_peer *peer)
{
    struct gsh_stage *stage = &peer->proxy->stage;
    gsh_link_remove(&peer->stage.wanting);
    peer->stage.n_wants = 0;
    for (unsigned i = 0; stage->has_chunks && i < stage->n_chunks; i++) {
        if (stage->slot_of[i] == 1 + peer->pe) {
            stage->slot_of[i] = 0;
            gsh_stage_free_slot(peer->proxy, stage->region + i * stage->chunk_bytes);
        }
    }
}
