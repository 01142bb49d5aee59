/* SPDX-License-Identifier: Apache-2.0
 * See message.h. */
#include "proxy/ucx/message.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
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

/* What one peer may have sent before its turn: far more than what UCX lets overtake. */
#define EARLY_MAX       16384
#define EARLY_BYTES_MAX ((size_t)64 << 20)

/* A message of the job; header and data are as they came. */
struct arrival {
    struct gsh_ucx_wire wire;
    const uint8_t *header, *data;
    size_t bytes;
};

static void on_control(struct gsh_ucx_peer *peer, enum gsh_ucx_kind kind)
{
    switch (kind) {
    case GSH_UCX_PING:
        if (gsh_ucx_use(peer->ucx, peer->pe, &peer) == GSH_OK) {
            gsh_ucx_tell(peer, GSH_UCX_PONG);
        }
        return;
    case GSH_UCX_BYE:
        if (peer->state == GSH_UCX_BROKEN && !peer->is_refused) {
            gsh_ucx_forget_reason(peer);
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
    if (peer->is_refused) {
        return;
    }
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

/* NULL: it is there already. */
static struct gsh_ucx_early **find_gap(struct gsh_ucx_peer *peer, uint64_t sequence)
{
    struct gsh_ucx_early **at = &peer->early;
    if (peer->last_early != NULL && peer->last_early->sequence < sequence) {
        return &peer->last_early->next;
    }
    while (*at != NULL && (*at)->sequence < sequence) {
        at = &(*at)->next;
    }
    return *at != NULL && (*at)->sequence == sequence ? NULL : at;
}

static void hold_back(struct gsh_ucx_peer *peer, const struct arrival *a)
{
    struct gsh_ucx_early **at = find_gap(peer, a->wire.sequence);
    size_t bytes = a->wire.header_bytes + a->bytes;
    if (at == NULL) {
        return;
    }
    if (peer->n_early == EARLY_MAX || bytes > EARLY_BYTES_MAX - peer->early_bytes) {
        gsh_ucx_refuse(peer, "too many messages of it came before their turn");
        return;
    }
    struct gsh_ucx_early *early = malloc(sizeof(*early) + bytes);
    if (early == NULL) {
        gsh_ucx_break(peer, "no memory for a message of %zu bytes from it", bytes);
        return;
    }
    early->sequence = a->wire.sequence;
    early->kind = a->wire.kind;
    early->header_bytes = a->wire.header_bytes;
    early->bytes = a->bytes;
    append(append(early->content, a->header, a->wire.header_bytes), a->data, a->bytes);
    early->next = *at;
    *at = early;
    if (early->next == NULL) {
        peer->last_early = early;
    }
    peer->n_early++;
    peer->early_bytes += bytes;
}

/* Removes the first one. */
static void free_first(struct gsh_ucx_peer *peer)
{
    struct gsh_ucx_early *early = peer->early;
    peer->early = early->next;
    peer->last_early = peer->early != NULL ? peer->last_early : NULL;
    peer->n_early--;
    peer->early_bytes -= early->header_bytes + early->bytes;
    free(early);
}

static void deliver_early(struct gsh_ucx_peer *peer)
{
    struct gsh_ucx_early *early;
    while ((early = peer->early) != NULL && early->sequence == peer->receive_sequence) {
        deliver(peer, early->kind, early->content, early->header_bytes,
                early->content + early->header_bytes, early->bytes);
        free_first(peer);
    }
}

void gsh_ucx_free_early(struct gsh_ucx_peer *peer)
{
    while (peer->early != NULL) {
        free_first(peer);
    }
}

/* ---- who has sent it ---- */

static bool is_sound(const struct gsh_ucx *u, const struct arrival *a, size_t left)
{
    const struct gsh_ucx_wire *wire = &a->wire;
    return wire->header_bytes <= GSH_TRANSPORT_HEADER_MAX && wire->header_bytes <= left &&
           wire->kind < GSH_UCX_KINDS && wire->from_pe < (uint32_t)u->base.options.n_pes &&
           wire->from_pe != (uint32_t)u->base.options.my_pe;
}

/* Whether a PE of the job has sent it to this PE. start: wire and header, start_bytes in all;
 * packed: includes the data that follow. Data of which only the length is known yet are NULL. */
static bool open_message(const struct gsh_ucx *u, const uint8_t *start, size_t start_bytes,
                         const void *data, size_t bytes, bool is_packed, struct arrival *a)
{
    *a = (struct arrival){.data = data, .bytes = bytes};
    if (start_bytes < sizeof(a->wire) || start_bytes > GSH_UCX_MESSAGE_MAX + sizeof(a->wire) ||
        bytes > GSH_UCX_MESSAGE_MAX) {
        return false;
    }
    memcpy(&a->wire, start, sizeof(a->wire));
    size_t left = start_bytes - sizeof(a->wire);
    if (!is_sound(u, a, left)) {
        return false;
    }
    a->header = start + sizeof(a->wire);
    if (is_packed) {
        a->data = a->header + a->wire.header_bytes;
        a->bytes = left - a->wire.header_bytes;
    } else if (bytes <= GSH_UCX_TAGGED_MAX) {
        return false; /* those are packed */
    }
    uint64_t tag = gsh_ucx_tag_of(u, &a->wire, a->header, a->data, a->bytes);
    return (tag ^ a->wire.tag) == 0;
}

/* At the 1st, 2nd, 4th, 8th and so on: a stranger must not fill the log. */
static void ignore(struct gsh_ucx *u)
{
    u->n_ignored++;
    if (gsh_is_pow2(u->n_ignored)) {
        u->core->log(GSH_LOG_WARN, GSH_LOG_PROXY,
                     "a message that is not of this job is ignored (%llu so far): somebody else "
                     "reaches this PE's port",
                     (unsigned long long)u->n_ignored);
    }
}

static bool is_control(const struct arrival *a)
{
    return a->wire.kind >= GSH_UCX_PING;
}

/* Its peer, if it has not been here before; NULL: ignored. */
static struct gsh_ucx_peer *take_sender(struct gsh_ucx *u, const struct arrival *a)
{
    struct gsh_ucx_peer *peer = gsh_ucx_peer(u, (int)a->wire.from_pe);
    if (peer == NULL || peer->state == GSH_UCX_LOST) {
        return NULL;
    }
    if (is_control(a) ? !gsh_ucx_is_first(&peer->controls, a->wire.sequence)
                      : a->wire.sequence < peer->receive_sequence) {
        ignore(u);
        return NULL;
    }
    return peer;
}

static void accept_message(struct gsh_ucx *u, const uint8_t *start, size_t start_bytes,
                           const void *data, size_t bytes, bool is_packed)
{
    struct arrival a;
    if (!open_message(u, start, start_bytes, data, bytes, is_packed, &a)) {
        ignore(u);
        return;
    }
    struct gsh_ucx_peer *peer = take_sender(u, &a);
    if (peer == NULL) {
        return;
    }
    peer->is_heard = true;
    if (is_control(&a)) {
        on_control(peer, a.wire.kind);
    } else if (a.wire.sequence != peer->receive_sequence) {
        hold_back(peer, &a);
    } else {
        deliver(peer, a.wire.kind, a.header, a.wire.header_bytes, a.data, a.bytes);
        deliver_early(peer);
    }
}

/* ---- messages whose data UCX fetches by itself ---- */

struct incoming {
    struct gsh_ucx *ucx;
    struct gsh_ucx_peer *peer;  /* NULL: packed, so not known before the data have come */
    size_t header_bytes, bytes; /* as UCX sees them */
    uint8_t content[];
};

/* Of packed messages. A PE of the job sends them eagerly (post.c), so they are a stranger's; no tag
 * can be looked at before they have come. */
#define UNKNOWN_MAX 64

/* The numbers have a gap now, which nothing will fill: of the peer, or, if none is known, of one of
 * which life.c sees that it stays. */
static void lose_message(struct gsh_ucx *u, struct gsh_ucx_peer *peer, size_t bytes,
                         ucs_status_t status)
{
    if (peer != NULL) {
        gsh_ucx_break(peer, "a message of %zu bytes from it is lost (UCX: %s)", bytes,
                      ucs_status_string(status));
    } else if (!u->is_leaving) {
        ignore(u);
    }
}

static void on_fetched(struct incoming *in, ucs_status_t status)
{
    struct gsh_ucx *u = in->ucx;
    u->n_unknown -= in->peer == NULL;
    if (status != UCS_OK) {
        lose_message(u, in->peer, in->bytes, status);
    } else if (in->header_bytes > 0) {
        accept_message(u, in->content, in->header_bytes, in->content + in->header_bytes, in->bytes,
                       false);
    } else {
        accept_message(u, in->content, in->bytes, NULL, 0, true);
    }
    free(in);
}

static void fetched(void *request, ucs_status_t status, size_t length, void *user_data)
{
    (void)length;
    ucp_request_free(request);
    on_fetched(user_data, status);
}

static ucs_status_t fetch(struct gsh_ucx *u, struct gsh_ucx_peer *peer, const void *header,
                          size_t header_bytes, void *data, size_t bytes)
{
    struct incoming *in = malloc(sizeof(*in) + header_bytes + bytes);
    if (in == NULL) {
        lose_message(u, peer, bytes, UCS_ERR_NO_MEMORY);
        return UCS_ERR_NO_MEMORY;
    }
    *in = (struct incoming){.ucx = u, .peer = peer, .header_bytes = header_bytes, .bytes = bytes};
    u->n_unknown += peer == NULL;
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

/* Nothing is fetched, or kept, that a message of ours cannot have. */
static ucs_status_t fetch_packed(struct gsh_ucx *u, void *data, size_t bytes)
{
    if (bytes == 0 || bytes > GSH_UCX_PACKED_MAX || u->n_unknown == UNKNOWN_MAX) {
        ignore(u);
        return UCS_OK;
    }
    return fetch(u, NULL, NULL, 0, data, bytes);
}

static ucs_status_t fetch_split(struct gsh_ucx *u, const void *header, size_t header_bytes,
                                void *data, size_t bytes)
{
    struct arrival a;
    if (!open_message(u, header, header_bytes, NULL, bytes, false, &a)) {
        ignore(u);
        return UCS_OK;
    }
    struct gsh_ucx_peer *peer = gsh_ucx_peer(u, (int)a.wire.from_pe);
    if (peer == NULL || a.wire.sequence < peer->receive_sequence) {
        ignore(u);
        return UCS_OK;
    }
    return fetch(u, peer, header, header_bytes, data, bytes);
}

static ucs_status_t on_packed(void *arg, const void *header, size_t header_bytes, void *data,
                              size_t bytes, const ucp_am_recv_param_t *param)
{
    (void)header;
    (void)header_bytes;
    if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
        return fetch_packed(arg, data, bytes);
    }
    accept_message(arg, data, bytes, NULL, 0, true);
    return UCS_OK;
}

static ucs_status_t on_split(void *arg, const void *header, size_t header_bytes, void *data,
                             size_t bytes, const ucp_am_recv_param_t *param)
{
    if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
        return fetch_split(arg, header, header_bytes, data, bytes);
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
