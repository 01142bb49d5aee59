/* SPDX-License-Identifier: Apache-2.0
 * See message.h. */
#include "proxy/ucx/message.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/ucx/call.h"
#include "proxy/ucx/carry.h"
#include "proxy/ucx/endpoint.h"
#include "proxy/ucx/loss.h"
#include "proxy/ucx/post.h"

/* ---- sending ---- */

enum gsh_result gsh_ucx_send(struct gsh_transport *t, int pe, const void *header,
                             size_t header_bytes, const void *data, size_t bytes, struct gsh_op *op,
                             bool *is_pending)
{
    struct gsh_ucx *u = (struct gsh_ucx *)t;
    struct gsh_ucx_peer *peer;
    *is_pending = false;
    if (header_bytes > GSH_TRANSPORT_HEADER_MAX) {
        return u->core->fail(GSH_ERR_ARG, "far PEs over UCX: a header of %zu bytes", header_bytes);
    }
    enum gsh_result r = gsh_ucx_use(u, pe, &peer);
    if (r == GSH_OK) {
        r = gsh_ucx_reserve_one(u, &u->messages);
    }
    if (r != GSH_OK) {
        return r;
    }
    gsh_ucx_op_start(op, 1);
    *is_pending = gsh_ucx_send_as(gsh_ucx_begin(&u->messages, peer, op), GSH_UCX_DATA, header,
                                  header_bytes, data, bytes);
    return GSH_OK;
}

/* ---- receiving ---- */

static void on_control(struct gsh_ucx_peer *peer, enum gsh_ucx_kind kind)
{
    switch (kind) {
    case GSH_UCX_PING:
        if (gsh_ucx_use(peer->ucx, peer->pe, &peer) == GSH_OK) {
            gsh_ucx_tell(peer, GSH_UCX_PONG);
        }
        return;
    case GSH_UCX_BYE:
        if (peer->state == GSH_UCX_BROKEN) {
            peer->reason[0] = '\0';
        }
        if (peer->state == GSH_UCX_USED) {
            peer->state = GSH_UCX_LEFT;
        }
        gsh_ucx_tell(peer, GSH_UCX_BYE_ANSWER);
        return;
    case GSH_UCX_BYE_ANSWER:
        peer->is_bye_answered = true;
        return;
    default:
        return;
    }
}

static void deliver(struct gsh_ucx_peer *peer, enum gsh_ucx_kind kind, const void *header,
                    size_t header_bytes, const void *data, size_t bytes)
{
    const struct gsh_transport_events *events = &peer->ucx->base.options.events;
    peer->receive_sequence++;
    if (kind != GSH_UCX_DATA) {
        gsh_ucx_carry_arrived(peer, kind, header, header_bytes, data, bytes);
    } else if (!peer->ucx->is_leaving) {
        events->message(events->context, peer->pe, header, header_bytes, data, bytes);
    }
}

static uint8_t *append(uint8_t *to, const void *from, size_t bytes)
{
    if (bytes > 0) {
        memcpy(to, from, bytes);
    }
    return to + bytes;
}

static void hold_back(struct gsh_ucx_peer *peer, const struct gsh_ucx_wire *wire,
                      const void *header, const void *data, size_t bytes)
{
    struct gsh_ucx_early **at = &peer->early;
    struct gsh_ucx_early *early = malloc(sizeof(*early) + wire->header_bytes + bytes);
    if (early == NULL) {
        gsh_ucx_break(peer, "no memory for a message of %zu bytes from it", bytes);
        return;
    }
    early->sequence = wire->sequence;
    early->kind = wire->kind;
    early->header_bytes = wire->header_bytes;
    early->bytes = bytes;
    append(append(early->content, header, wire->header_bytes), data, bytes);
    while (*at != NULL && (*at)->sequence < wire->sequence) {
        at = &(*at)->next;
    }
    early->next = *at;
    *at = early;
}

static void deliver_early(struct gsh_ucx_peer *peer)
{
    struct gsh_ucx_early *early;
    while ((early = peer->early) != NULL && early->sequence == peer->receive_sequence) {
        peer->early = early->next;
        deliver(peer, early->kind, early->content, early->header_bytes,
                early->content + early->header_bytes, early->bytes);
        free(early);
    }
}

void gsh_ucx_free_early(struct gsh_ucx_peer *peer)
{
    while (peer->early != NULL) {
        struct gsh_ucx_early *next = peer->early->next;
        free(peer->early);
        peer->early = next;
    }
}

/* start: wire and header, start_bytes in all; packed: includes the data that follow. */
static void accept_message(struct gsh_ucx *u, const uint8_t *start, size_t start_bytes,
                           const void *data, size_t bytes, bool is_packed)
{
    struct gsh_ucx_wire wire = {0};
    if (start_bytes >= sizeof(wire)) {
        memcpy(&wire, start, sizeof(wire));
    }
    struct gsh_ucx_peer *peer = gsh_ucx_peer(u, (int)wire.from_pe);
    if (start_bytes < sizeof(wire) + wire.header_bytes || peer == NULL) {
        u->core->log(GSH_LOG_WARN, GSH_LOG_PROXY, "a message that is not of gshmem is ignored");
        return;
    }
    if (peer->state == GSH_UCX_LOST) {
        return;
    }
    peer->is_heard = true;
    if (wire.kind >= GSH_UCX_PING) {
        on_control(peer, wire.kind);
        return;
    }
    const uint8_t *header = start + sizeof(wire);
    if (is_packed) {
        data = header + wire.header_bytes;
        bytes = start_bytes - sizeof(wire) - wire.header_bytes;
    }
    if (wire.sequence != peer->receive_sequence) {
        hold_back(peer, &wire, header, data, bytes);
        return;
    }
    deliver(peer, wire.kind, header, wire.header_bytes, data, bytes);
    deliver_early(peer);
}

/* A message whose data UCX fetches by itself. */
struct incoming {
    struct gsh_ucx *ucx;
    size_t header_bytes, bytes; /* as UCX sees them */
    uint8_t content[];
};

static void on_fetched(struct incoming *in, ucs_status_t status)
{
    struct gsh_ucx *u = in->ucx;
    if (status == UCS_OK && in->header_bytes > 0) {
        accept_message(u, in->content, in->header_bytes, in->content + in->header_bytes, in->bytes,
                       false);
    } else if (status == UCS_OK) {
        accept_message(u, in->content, in->bytes, NULL, 0, true);
    } else if (!u->is_leaving) { /* the gap in the numbers stays; other code detects the peer's end
                                  */
        u->core->log(GSH_LOG_WARN, GSH_LOG_PROXY, "a message of %zu bytes is lost: %s", in->bytes,
                     ucs_status_string(status));
    }
    free(in);
}

static void fetched(void *request, ucs_status_t status, size_t length, void *user_data)
{
    (void)length;
    ucp_request_free(request);
    on_fetched(user_data, status);
}

static ucs_status_t fetch(struct gsh_ucx *u, const void *header, size_t header_bytes, void *data,
                          size_t bytes)
{
    struct incoming *in = malloc(sizeof(*in) + header_bytes + bytes);
    if (in == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    *in = (struct incoming){.ucx = u, .header_bytes = header_bytes, .bytes = bytes};
    uint8_t *to = append(in->content, header, header_bytes);
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb = {.recv_am = fetched},
        .user_data = in,
    };
    ucs_status_ptr_t answer = ucp_am_recv_data_nbx(u->worker, data, to, bytes, &param);
    if (!UCS_PTR_IS_PTR(answer)) {
        on_fetched(in, UCS_PTR_STATUS(answer));
    }
    return UCS_INPROGRESS;
}

static ucs_status_t on_packed(void *arg, const void *header, size_t header_bytes, void *data,
                              size_t bytes, const ucp_am_recv_param_t *param)
{
    (void)header;
    (void)header_bytes;
    if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
        return fetch(arg, NULL, 0, data, bytes);
    }
    accept_message(arg, data, bytes, NULL, 0, true);
    return UCS_OK;
}

static ucs_status_t on_split(void *arg, const void *header, size_t header_bytes, void *data,
                             size_t bytes, const ucp_am_recv_param_t *param)
{
    if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
        return fetch(arg, header, header_bytes, data, bytes);
    }
    accept_message(arg, header, header_bytes, data, bytes, false);
    return UCS_OK;
}

enum gsh_result gsh_ucx_listen(struct gsh_ucx *u)
{
    static const ucp_am_recv_callback_t handlers[] = {
        [GSH_UCX_ID_PACKED] = on_packed, [GSH_UCX_ID_SPLIT] = on_split};
    for (unsigned id = 0; id < sizeof(handlers) / sizeof(handlers[0]); id++) {
        ucp_am_handler_param_t param = {
            .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                          UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
            .id = id,
            .flags = UCP_AM_FLAG_WHOLE_MSG,
            .cb = handlers[id],
            .arg = u,
        };
        ucs_status_t status = ucp_worker_set_am_recv_handler(u->worker, &param);
        if (status != UCS_OK) {
            return u->core->fail(GSH_ERR_SYSTEM, "UCX takes no messages: %s",
                                 ucs_status_string(status));
        }
    }
    return GSH_OK;
}
