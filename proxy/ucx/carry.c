/* SPDX-License-Identifier: Apache-2.0
 * See carry.h. */
#include "proxy/ucx/carry.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/ucx/call.h"
#include "proxy/ucx/endpoint.h"
#include "proxy/ucx/loss.h"
#include "proxy/ucx/region.h"
#include "base/copy.h"
#include "base/util.h"

/* Bytes of a piece: one fragment on TCP, with its header. */
#define PIECE (GSH_UCX_MESSAGE_MAX - 64)
/* Pieces to one peer that UCX has not sent yet. */
#define PIECES_MAX 32
/* Pieces posted to one peer in a progress call, before the others have their turn. */
#define MAX_PIECES_AT_ONCE 128

struct gsh_ucx_transfer {
    struct gsh_ucx_transfer *next;
    enum gsh_ucx_kind kind;
    struct gsh_ucx_range range; /* of what is left */
    uint8_t *local;
    struct gsh_op *op; /* or NULL */
};

/* ---- sending ---- */

static size_t count_pieces(uint64_t bytes)
{
    return bytes == 0 ? 1 : (bytes + PIECE - 1) / PIECE;
}

/* Returns whether UCX has taken all of it at once. Needs a record and an endpoint. */
static bool send_piece(struct gsh_ucx_peer *peer, enum gsh_ucx_kind kind,
                       const struct gsh_ucx_range *range, const uint8_t *local, uint64_t bytes,
                       struct gsh_op *op)
{
    struct gsh_ucx_call *call = gsh_ucx_begin(&peer->ucx->messages, peer, op);
    uint64_t word;
    call->is_piece = true;
    if (kind == GSH_UCX_GOT && bytes <= sizeof(word)) { /* packed, so not read later */
        gsh_copy_from_shared(&word, local, bytes);
        local = (const uint8_t *)&word;
    }
    return !gsh_ucx_send_as(call, kind, range, sizeof(*range), local, bytes);
}

static bool has_room(const struct gsh_ucx_peer *peer)
{
    return peer->ep != NULL && peer->n_pieces < PIECES_MAX;
}

/* One piece of the first transfer. */
static void send_next(struct gsh_ucx_peer *peer)
{
    struct gsh_ucx_transfer *t = peer->transfers;
    struct gsh_ucx_range range = t->range;
    uint8_t *local = t->local;
    struct gsh_op *op = t->op;
    enum gsh_ucx_kind kind = t->kind;
    uint64_t bytes = gsh_min_u64(range.bytes, PIECE);
    t->range.off += bytes;
    t->range.bytes -= bytes;
    t->local = bytes > 0 ? t->local + bytes : NULL; /* a flush has none */
    if (t->range.bytes == 0) {
        peer->transfers = t->next;
        free(t);
    }
    if (send_piece(peer, kind, &range, local, bytes, op) && op != NULL) {
        gsh_ucx_op_end(op, 1, GSH_OK);
    }
}

static unsigned send_some(struct gsh_ucx_peer *peer)
{
    unsigned n = 0;
    while (peer->transfers != NULL && has_room(peer) && n < MAX_PIECES_AT_ONCE) {
        if (gsh_ucx_reserve_one(peer->ucx, &peer->ucx->messages) != GSH_OK) {
            gsh_ucx_break(peer, "no memory for a message to it");
            break;
        }
        send_next(peer);
        n++;
    }
    return n;
}

unsigned gsh_ucx_carry_on(struct gsh_ucx *u)
{
    struct gsh_ucx_peer *peer = u->carrying;
    unsigned n = 0;
    u->carrying = NULL;
    while (peer != NULL) {
        struct gsh_ucx_peer *next = peer->next_carrying;
        n += send_some(peer);
        peer->is_carrying = peer->transfers != NULL;
        if (peer->is_carrying) {
            peer->next_carrying = u->carrying;
            u->carrying = peer;
        }
        peer = next;
    }
    return n;
}

/* local is read until op is done; with op NULL, until the piece is sent. */
static enum gsh_result append(struct gsh_ucx_peer *peer, enum gsh_ucx_kind kind,
                              struct gsh_ucx_range range, uint8_t *local, struct gsh_op *op)
{
    struct gsh_ucx *u = peer->ucx;
    struct gsh_ucx_transfer *t = malloc(sizeof(*t));
    if (t == NULL) {
        return u->core->fail(GSH_ERR_NOMEM, "far PEs over UCX: no memory for a transfer to PE %d",
                             peer->pe);
    }
    *t = (struct gsh_ucx_transfer){.kind = kind, .range = range, .local = local, .op = op};
    if (peer->transfers == NULL) {
        peer->transfers_end = &peer->transfers;
    }
    *peer->transfers_end = t;
    peer->transfers_end = &t->next;
    if (!peer->is_carrying) {
        peer->is_carrying = true;
        peer->next_carrying = u->carrying;
        u->carrying = peer;
    }
    return GSH_OK;
}

void gsh_ucx_end_transfers(struct gsh_ucx_peer *peer)
{
    while (peer->transfers != NULL) {
        struct gsh_ucx_transfer *t = peer->transfers;
        struct gsh_op *op = t->op;
        size_t n = count_pieces(t->range.bytes);
        peer->transfers = t->next;
        free(t);
        if (op != NULL) {
            gsh_ucx_op_end(op, n, GSH_ERR_PEER);
        }
    }
}

void gsh_ucx_free_transfers(struct gsh_ucx_peer *peer)
{
    while (peer->transfers != NULL) {
        struct gsh_ucx_transfer *next = peer->transfers->next;
        free(peer->transfers);
        peer->transfers = next;
    }
}

/* ---- operations ---- */

/* A record for what waits and one for what is sent. */
static enum gsh_result reserve(struct gsh_ucx *u)
{
    enum gsh_result r = gsh_ucx_reserve_one(u, &u->calls);
    return r == GSH_OK ? gsh_ucx_reserve_one(u, &u->messages) : r;
}

enum gsh_result gsh_ucx_carry_put(struct gsh_ucx_peer *peer, uint64_t off, const void *source,
                                  uint64_t bytes, struct gsh_op *op, bool *is_pending)
{
    struct gsh_ucx_range range = {.off = off, .bytes = bytes};
    uint8_t *local = (uint8_t *)(uintptr_t)source;
    enum gsh_result r = reserve(peer->ucx);
    if (r != GSH_OK) {
        return r;
    }
    bool is_first = peer->transfers == NULL;
    if (is_first && bytes <= PIECE && has_room(peer)) {
        gsh_ucx_op_start(op, 1);
        *is_pending = !send_piece(peer, GSH_UCX_PUT, &range, local, bytes, op);
        return GSH_OK;
    }
    gsh_ucx_op_start(op, count_pieces(bytes) + 1); /* one for this function */
    r = append(peer, GSH_UCX_PUT, range, local, op);
    if (r != GSH_OK) {
        return r;
    }
    if (is_first) { /* otherwise it would end others' operations */
        (void)send_some(peer);
    }
    *is_pending = gsh_ucx_op_posted(op, 1);
    return GSH_OK;
}

/* A call that waits for the peer's answer; needs a record. */
static struct gsh_ucx_call *expect(struct gsh_ucx_peer *peer, struct gsh_op *op)
{
    struct gsh_ucx_call *call = gsh_ucx_begin(&peer->ucx->calls, peer, op);
    gsh_ucx_op_start(op, 1);
    return call;
}

enum gsh_result gsh_ucx_carry_get(struct gsh_ucx_peer *peer, uint64_t off, void *dest,
                                  uint64_t bytes, struct gsh_op *op, bool *is_pending)
{
    struct gsh_ucx *u = peer->ucx;
    enum gsh_result r = reserve(u);
    if (r != GSH_OK) {
        return r;
    }
    struct gsh_ucx_call *call = expect(peer, op);
    struct gsh_ucx_range range = {.off = off, .bytes = bytes};
    call->dest = dest;
    call->total = call->left = bytes;
    range.token = gsh_ucx_await(call);
    (void)gsh_ucx_send_as(gsh_ucx_begin(&u->messages, peer, NULL), GSH_UCX_GET, &range,
                          sizeof(range), NULL, 0);
    *is_pending = true;
    return GSH_OK;
}

enum gsh_result gsh_ucx_carry_flush(struct gsh_ucx_peer *peer, struct gsh_op *op, bool *is_pending)
{
    enum gsh_result r = reserve(peer->ucx);
    if (r != GSH_OK) {
        return r;
    }
    struct gsh_ucx_call *call = expect(peer, op);
    struct gsh_ucx_range range = {0};
    call->is_flush = true;
    range.token = gsh_ucx_await(call);
    peer->path_0.is_unflushed = false;
    *is_pending = true;
    if (peer->transfers == NULL) {
        (void)send_piece(peer, GSH_UCX_FLUSH, &range, NULL, 0, NULL);
        return GSH_OK;
    }
    r = append(peer, GSH_UCX_FLUSH, range, NULL, NULL);
    if (r != GSH_OK) {
        gsh_ucx_break(peer, "no memory for a transfer to it"); /* which ends the call */
    }
    return GSH_OK;
}

/* ---- arrivals ---- */

/* Whether all of it is in regions of this PE. */
static bool is_own(const struct gsh_ucx *u, uint64_t off, uint64_t bytes)
{
    uint64_t here = 0;
    for (; bytes > 0; bytes -= here, off += here) {
        if (gsh_ucx_find_own(u, off, &here) == NULL) {
            return false;
        }
        here = gsh_min_u64(here, bytes);
    }
    return true;
}

static void take_put(struct gsh_ucx_peer *peer, uint64_t off, const uint8_t *data, uint64_t bytes)
{
    if (!is_own(peer->ucx, off, bytes)) {
        gsh_ucx_refuse(peer, "it puts to memory that is none of this PE's");
        return;
    }
    while (bytes > 0) {
        uint64_t here;
        uint8_t *to = gsh_ucx_find_own(peer->ucx, off, &here);
        here = gsh_min_u64(here, bytes);
        gsh_copy_to_shared(to, data, here);
        off += here;
        data += here;
        bytes -= here;
    }
}

/* Answers are sent in progress(), even if there is room for them now. */
static void answer_get(struct gsh_ucx_peer *peer, const struct gsh_ucx_range *asked)
{
    if (!is_own(peer->ucx, asked->off, asked->bytes)) {
        gsh_ucx_refuse(peer, "it gets from memory that is none of this PE's");
        return;
    }
    for (uint64_t at = 0; at < asked->bytes;) {
        uint64_t here;
        uint8_t *from = gsh_ucx_find_own(peer->ucx, asked->off + at, &here);
        here = gsh_min_u64(here, asked->bytes - at);
        struct gsh_ucx_range range = {.off = at, .bytes = here, .token = asked->token};
        if (append(peer, GSH_UCX_GOT, range, from, NULL) != GSH_OK) {
            gsh_ucx_break(peer, "no memory for an answer to it");
            return;
        }
        at += here;
    }
}

/* The pieces of an answer come in order. */
static void take_got(struct gsh_ucx_peer *peer, const struct gsh_ucx_range *range, const void *data,
                     size_t bytes)
{
    struct gsh_ucx_call *call = gsh_ucx_find_call(&peer->ucx->calls, peer, range->token);
    if (call == NULL || call->dest == NULL || bytes == 0 || bytes > call->left ||
        range->off != call->total - call->left) {
        gsh_ucx_refuse(peer, "it answers a get that is not under way");
        return;
    }
    memcpy(call->dest + range->off, data, bytes);
    call->left -= bytes;
    if (call->left == 0) {
        gsh_ucx_end_call(call);
    }
}

static void take_flushed(struct gsh_ucx_peer *peer, const struct gsh_ucx_range *range)
{
    struct gsh_ucx_call *call = gsh_ucx_find_call(&peer->ucx->calls, peer, range->token);
    if (call == NULL || !call->is_flush) {
        gsh_ucx_refuse(peer, "it answers a flush that is not under way");
        return;
    }
    gsh_ucx_end_call(call);
}

static void answer_flush(struct gsh_ucx_peer *peer, const struct gsh_ucx_range *asked)
{
    struct gsh_ucx *u = peer->ucx;
    if (gsh_ucx_reserve_one(u, &u->messages) != GSH_OK) {
        gsh_ucx_break(peer, "no memory for an answer to it");
    } else {
        (void)gsh_ucx_send_as(gsh_ucx_begin(&u->messages, peer, NULL), GSH_UCX_FLUSHED, asked,
                              sizeof(*asked), NULL, 0);
    }
}

void gsh_ucx_carry_arrived(struct gsh_ucx_peer *peer, enum gsh_ucx_kind kind, const void *header,
                           size_t header_bytes, const void *data, size_t bytes)
{
    struct gsh_ucx_range range;
    bool is_question = kind == GSH_UCX_GET || kind == GSH_UCX_FLUSH;
    if (header_bytes != sizeof(range) ||
        (bytes > 0) != (kind == GSH_UCX_PUT || kind == GSH_UCX_GOT)) {
        gsh_ucx_refuse(peer, "it sends a message that is not of its kind");
        return;
    }
    memcpy(&range, header, sizeof(range));
    if (is_question && (gsh_ucx_use(peer->ucx, peer->pe, &peer) != GSH_OK || peer->ep == NULL)) {
        return;
    }
    switch (kind) {
    case GSH_UCX_PUT:
        take_put(peer, range.off, data, bytes);
        break;
    case GSH_UCX_GET:
        answer_get(peer, &range);
        break;
    case GSH_UCX_GOT:
        take_got(peer, &range, data, bytes);
        break;
    case GSH_UCX_FLUSH:
        answer_flush(peer, &range);
        break;
    default:
        take_flushed(peer, &range);
    }
}
