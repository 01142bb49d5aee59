/* SPDX-License-Identifier: Apache-2.0
 * See pairs.h. What a link sends and receives: messages in pieces, and words about them. */
#define _GNU_SOURCE 1
#include "proxy/pairs_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/util.h"

/* How often who waits looks whether the other process has gone. */
#define LOOK_NS 20000000u

/* What a message takes of the window: also what its receiver needs besides the bytes. */
static uint64_t cost(uint64_t bytes)
{
    return bytes + 64;
}
_Static_assert(sizeof(struct gsh_pair_message) + 32 <= 64, "with what malloc adds");

void gsh_pair_link_end(struct gsh_pair_link *link)
{
    link->is_lost = true;
    pthread_cond_broadcast(&link->changed);
}

/* ---- sending: the service is locked ---- */

/* A piece that the transport has not finished. */
struct gsh_pair_out {
    struct gsh_op op;
    struct gsh_pair_service *service;
    struct gsh_pair_out *next; /* of those that are kept */
    struct gsh_pair_piece piece;
    uint8_t head[GSH_PAIR_HEAD_MAX];
    uint8_t data[];
};
_Static_assert(sizeof(struct gsh_pair_piece) + GSH_PAIR_HEAD_MAX <= GSH_TRANSPORT_HEADER_MAX,
               "one header");

static void sent(struct gsh_op *op, enum gsh_result r)
{
    struct gsh_pair_out *out = (struct gsh_pair_out *)op;
    if (r == GSH_OK) {
        free(out);
        return;
    }
    out->next = out->service->kept; /* the transport may read it until it ends */
    out->service->kept = out;
}

/* The head is part of the header, behind the piece. */
static enum gsh_result post(struct gsh_pair_link *link, struct gsh_pair_piece piece,
                            const void *head, size_t head_bytes, const void *data, size_t bytes)
{
    struct gsh_transport *t = link->service->transport;
    bool is_pending = false;
    struct gsh_pair_out *out = calloc(1, sizeof(*out) + bytes);
    if (out == NULL) {
        return GSH_ERR_NOMEM;
    }
    out->op.done = sent;
    out->service = link->service;
    out->piece = piece;
    out->piece.link = link->number_there;
    if (head_bytes > 0) {
        memcpy(out->head, head, head_bytes);
    }
    if (bytes > 0) {
        memcpy(out->data, data, bytes);
    }
    _Static_assert(offsetof(struct gsh_pair_out, head) ==
                       offsetof(struct gsh_pair_out, piece) + sizeof(struct gsh_pair_piece),
                   "one header");
    enum gsh_result r =
        t->ops->send(t, (int)link->pair_number, &out->piece, sizeof(out->piece) + head_bytes,
                     out->data, bytes, &out->op, &is_pending);
    if (r != GSH_OK || !is_pending) {
        free(out);
    }
    return r;
}

void gsh_pair_link_tell(struct gsh_pair_link *link, enum gsh_pair_kind kind, uint64_t value)
{
    if (post(link, (struct gsh_pair_piece){.kind = kind, .value = value}, NULL, 0, NULL, 0) !=
        GSH_OK) {
        link->is_lost = true;
        pthread_cond_broadcast(&link->changed);
    }
}

/* ---- arrivals: the service is locked, in progress() ---- */

static struct gsh_pair_link *find_link(const struct gsh_pair_service *s, uint64_t number, int from)
{
    const size_t i = (uint32_t)number;
    struct gsh_pair_link *link = i < s->n_links && s->uses[i] == number >> 32 ? s->links[i] : NULL;
    return link != NULL && link->pair != NULL && link->pair_number == (uint32_t)from ? link : NULL;
}

/* One piece after the other, message after message; false: it is none that a library of ours sends.
 */
static bool take_piece(struct gsh_pair_link *link, const struct gsh_pair_piece *piece,
                       const uint8_t *head, size_t head_bytes, const uint8_t *data, size_t bytes)
{
    struct gsh_pair_message *m = link->last;
    const size_t here = head_bytes + bytes;
    if (piece->at == 0) {
        if (piece->value == 0 || piece->value > GSH_PAIR_MESSAGE_MAX ||
            (m != NULL && m->filled < m->bytes) ||
            link->n_arrived - link->n_received + cost(piece->value) > GSH_PAIR_WINDOW ||
            (m = malloc(sizeof(*m) + piece->value)) == NULL) {
            return false;
        }
        *m = (struct gsh_pair_message){.bytes = piece->value};
        *(link->last != NULL ? &link->last->next : &link->first) = m;
        link->last = m;
        link->n_arrived += cost(m->bytes);
    }
    if (m == NULL || piece->value != m->bytes || piece->at != m->filled || here == 0 ||
        here > m->bytes - m->filled || (head_bytes > 0 && piece->at != 0)) {
        return false;
    }
    if (head_bytes > 0) {
        memcpy(m->data, head, head_bytes);
    }
    if (bytes > 0) {
        memcpy(m->data + m->filled + head_bytes, data, bytes);
    }
    m->filled += here;
    if (m->filled == m->bytes) {
        link->n_complete++;
        pthread_cond_broadcast(&link->changed);
    }
    return true;
}

static bool take_word(struct gsh_pair_link *link, const struct gsh_pair_piece *piece)
{
    switch (piece->kind) {
    case GSH_PAIR_TAKEN:
        if (piece->value < link->n_taken || piece->value > link->n_sent) {
            return false;
        }
        link->n_taken = piece->value;
        break;
    case GSH_PAIR_HELLO:
        gsh_pair_link_tell(link, GSH_PAIR_HELLO_ANSWER, 0);
        return true;
    case GSH_PAIR_HELLO_ANSWER:
        link->is_greeted = true;
        break;
    case GSH_PAIR_CLOSE:
        link->is_closed_there = true;
        break;
    case GSH_PAIR_CLOSE_ANSWER:
        link->is_finish_answered = true;
        break;
    default:
        return false;
    }
    pthread_cond_broadcast(&link->changed);
    return true;
}

/* A link that is no more may still be written to. */
void gsh_pair_link_take(void *context, int from, const void *header, size_t header_bytes,
                        const void *data, size_t bytes)
{
    struct gsh_pair_piece piece;
    if (header_bytes < sizeof(piece) || header_bytes > sizeof(piece) + GSH_PAIR_HEAD_MAX) {
        return;
    }
    memcpy(&piece, header, sizeof(piece));
    struct gsh_pair_link *link = find_link(context, piece.link, from);
    if (link == NULL || link->is_lost) {
        return;
    }
    const size_t head_bytes = header_bytes - sizeof(piece);
    const bool is_right = piece.kind == GSH_PAIR_DATA && !link->is_closed_there
                              ? take_piece(link, &piece, (const uint8_t *)header + sizeof(piece),
                                           head_bytes, data, bytes)
                              : head_bytes == 0 && bytes == 0 && take_word(link, &piece);
    if (!is_right) {
        gsh_pair_link_end(link);
    }
}

/* ---- calls ---- */

void gsh_pair_link_bind(struct gsh_pair_link *link, uint32_t pair, uint64_t number_there)
{
    struct gsh_pair_service *s = link->service;
    gsh_pairs_take(s);
    link->pair = s->pairs[pair];
    link->pair_number = pair;
    link->number_there = number_there;
    link->is_lost = link->pair->is_lost || s->has_ended;
    gsh_pairs_give(s);
}

/* Until something has changed, it is time to look, or the deadline has come; the lock is given
 * meanwhile. */
static void await(struct gsh_pair_link *link, uint64_t deadline_ns)
{
    struct gsh_pair_service *s = link->service;
    uint64_t until = gsh_now_ns() + LOOK_NS;
    until = deadline_ns != 0 ? gsh_min_u64(until, deadline_ns) : until;
    const struct timespec at = {.tv_sec = (time_t)(until / 1000000000u),
                                .tv_nsec = (long)(until % 1000000000u)};
    if (pthread_cond_timedwait(&link->changed, &s->lock, &at) != ETIMEDOUT ||
        link->is_lost_there == NULL || link->is_lost) {
        return;
    }
    gsh_pairs_give(s);
    const bool is_lost = link->is_lost_there(link->context);
    gsh_pairs_take(s);
    if (is_lost) {
        gsh_pair_link_end(link);
    }
}

static uint64_t deadline_in(uint64_t timeout_ns)
{
    return timeout_ns != 0 ? gsh_now_ns() + timeout_ns : 0;
}

static bool is_over(uint64_t deadline_ns)
{
    return deadline_ns != 0 && gsh_now_ns() >= deadline_ns;
}

enum gsh_result gsh_pair_link_greet(struct gsh_pair_link *link, uint64_t timeout_ns)
{
    struct gsh_pair_service *s = link->service;
    const uint64_t deadline_ns = deadline_in(timeout_ns);
    char text[256];
    gsh_pairs_take(s);
    if (!link->is_lost) {
        gsh_pair_link_tell(link, GSH_PAIR_HELLO, 0);
        gsh_pairs_wake(s);
    }
    while (!link->is_greeted && !link->is_lost && !is_over(deadline_ns)) {
        await(link, deadline_ns);
    }
    const bool is_greeted = link->is_greeted, is_lost = link->is_lost;
    gsh_pairs_give(s);
    if (is_greeted) {
        return GSH_OK;
    }
    gsh_pair_link_reason(link, text);
    return is_lost ? gsh_note(GSH_ERR_PEER, "the other end cannot be reached over UCX%s%s",
                              text[0] ? ": " : "", text)
                   : gsh_note(GSH_ERR_TIMEOUT, "the other end did not answer over UCX in time");
}

/* The link has room for it. */
static enum gsh_result post_message(struct gsh_pair_link *link, const void *head, size_t head_bytes,
                                    const uint8_t *data, size_t bytes)
{
    const struct gsh_transport *t = link->service->transport;
    const size_t all = head_bytes + bytes,
                 most = t->ops->message_max - sizeof(struct gsh_pair_piece) - GSH_PAIR_HEAD_MAX;
    for (size_t at = 0; at < all;) {
        const size_t in_head = at == 0 ? head_bytes : 0,
                     part = gsh_min_u64(most, all - at - in_head);
        const struct gsh_pair_piece piece = {
            .kind = GSH_PAIR_DATA, .at = (uint32_t)at, .value = all};
        enum gsh_result r = post(link, piece, head, in_head, data, part);
        if (r != GSH_OK) {
            return r;
        }
        at += in_head + part;
        data = part > 0 ? data + part : data;
    }
    return GSH_OK;
}

enum gsh_result gsh_pair_link_send(struct gsh_pair_link *link, const void *head, size_t head_bytes,
                                   const void *data, size_t bytes, uint64_t timeout_ns)
{
    struct gsh_pair_service *s = link->service;
    const uint64_t deadline_ns = deadline_in(timeout_ns), all = head_bytes + bytes;
    if (head_bytes > GSH_PAIR_HEAD_MAX || bytes > GSH_PAIR_MESSAGE_MAX - head_bytes || all == 0) {
        return GSH_ERR_BUG;
    }
    gsh_pairs_take(s);
    while (!link->is_lost && !link->is_finished &&
           link->n_sent - link->n_taken + cost(all) > GSH_PAIR_WINDOW && !is_over(deadline_ns)) {
        await(link, deadline_ns);
    }
    enum gsh_result r = GSH_OK;
    if (link->is_lost || link->is_finished) {
        r = GSH_ERR_PEER;
    } else if (link->n_sent - link->n_taken + cost(all) > GSH_PAIR_WINDOW) {
        r = GSH_ERR_TIMEOUT;
    } else {
        link->n_sent += cost(all);
        r = post_message(link, head, head_bytes, data, bytes);
        gsh_pairs_wake(s);
    }
    if (r != GSH_OK) { /* as over TCP; part of it may have gone */
        gsh_pair_link_end(link);
    }
    gsh_pairs_give(s);
    return r;
}

/* The first message is complete. */
static void take_first(struct gsh_pair_link *link, void *data, size_t *bytes)
{
    struct gsh_pair_message *m = link->first;
    link->first = m->next;
    link->last = link->first != NULL ? link->last : NULL;
    link->n_complete--;
    memcpy(data, m->data, m->bytes);
    *bytes = m->bytes;
    link->n_received += cost(m->bytes);
    free(m);
    if (!link->is_lost && link->n_received - link->n_told >= GSH_PAIR_WINDOW / 4) {
        link->n_told = link->n_received;
        gsh_pair_link_tell(link, GSH_PAIR_TAKEN, link->n_told);
        gsh_pairs_wake(link->service);
    }
}

enum gsh_result gsh_pair_link_receive(struct gsh_pair_link *link, void *data, size_t room,
                                      size_t *bytes, uint64_t timeout_ns)
{
    struct gsh_pair_service *s = link->service;
    const uint64_t deadline_ns = deadline_in(timeout_ns);
    enum gsh_result r = GSH_OK;
    gsh_pairs_take(s);
    while (link->n_complete == 0 && !link->is_lost && !link->is_closed_there &&
           !is_over(deadline_ns)) {
        await(link, deadline_ns);
    }
    if (link->n_complete > 0 && link->first->bytes > room) {
        gsh_pair_link_end(link);
        r = GSH_ERR_BUG;
    } else if (link->n_complete > 0) {
        take_first(link, data, bytes);
    } else if (link->is_closed_there && !link->is_lost) { /* all before it has been carried out */
        gsh_pair_link_tell(link, GSH_PAIR_CLOSE_ANSWER, 0);
        gsh_pairs_wake(s);
        r = GSH_ERR_PEER;
    } else {
        r = link->is_lost ? GSH_ERR_PEER : GSH_ERR_TIMEOUT;
    }
    gsh_pairs_give(s);
    return r;
}

bool gsh_pair_link_has_message(struct gsh_pair_link *link)
{
    gsh_pairs_take(link->service);
    const bool has = link->n_complete > 0 || link->is_lost || link->is_closed_there;
    gsh_pairs_give(link->service);
    return has;
}

void gsh_pair_link_lose(struct gsh_pair_link *link)
{
    gsh_pairs_take(link->service);
    gsh_pair_link_end(link);
    gsh_pairs_give(link->service);
}

bool gsh_pair_link_is_lost(struct gsh_pair_link *link)
{
    gsh_pairs_take(link->service);
    const bool is_lost = link->is_lost || link->is_closed_there;
    gsh_pairs_give(link->service);
    return is_lost;
}

const char *gsh_pair_link_reason(struct gsh_pair_link *link, char text[256])
{
    gsh_pairs_take(link->service);
    snprintf(text, 256, "%s", link->pair != NULL ? link->pair->reason : "");
    gsh_pairs_give(link->service);
    return text;
}

void gsh_pair_link_finish(struct gsh_pair_link *link, uint64_t timeout_ns)
{
    struct gsh_pair_service *s = link->service;
    const uint64_t deadline_ns = deadline_in(timeout_ns);
    gsh_pairs_take(s);
    if (link->pair == NULL) {
        gsh_pairs_give(s);
        return;
    }
    if (!link->is_lost && !link->is_finished) {
        gsh_pair_link_tell(link, GSH_PAIR_CLOSE, 0);
        gsh_pairs_wake(s);
    }
    link->is_finished = true;
    while (!link->is_finish_answered && !link->is_lost && !is_over(deadline_ns)) {
        await(link, deadline_ns);
    }
    gsh_pairs_give(s);
}

void gsh_pair_link_destroy(struct gsh_pair_link **link_p)
{
    struct gsh_pair_link *link = *link_p;
    *link_p = NULL;
    if (link == NULL) {
        return;
    }
    gsh_pairs_take(link->service);
    link->service->links[(uint32_t)link->number] = NULL;
    gsh_pairs_give(link->service);
    while (link->first != NULL) {
        struct gsh_pair_message *next = link->first->next;
        free(link->first);
        link->first = next;
    }
    pthread_cond_destroy(&link->changed);
    free(link);
}
