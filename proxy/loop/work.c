/* SPDX-License-Identifier: Apache-2.0
 * See work.h. */
#include "proxy/loop/work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/copy.h"

/* A progress call takes at most this many messages from one PE. */
#define LETTERS_MAX 4

/* Most puts and gets take up to this many calls of progress. One in DELAY_RARITY takes so long that
 * anything that wrongly did not wait for it is seen before it. */
#define DELAY_SHORT  4
#define DELAY_RARITY 8
#define DELAY_LONG   400

static unsigned any_below(struct gsh_loop *loop, unsigned n)
{
    /* A linear congruential generator; its upper bits are good enough to shuffle by. */
    loop->random = loop->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(loop->random >> 33) % n;
}

static bool chance(struct gsh_loop *loop, unsigned one_in)
{
    return any_below(loop, one_in) == 0;
}

/* ---- operations ---- */

/* Its operation has completed. progress() calls done later: a caller is not ready for it while
 * others are examined. */
static void tell(struct gsh_loop *loop, struct gsh_loop_work *work, enum gsh_result r)
{
    gsh_link_remove(&work->link);
    work->result = r;
    free(work->copy);
    work->copy = NULL;
    if (work->op != NULL) {
        gsh_link_append(&loop->told, &work->link);
    } else {
        free(work);
    }
}

static enum gsh_result lose(struct gsh_loop *loop, int pe)
{
    char reason[64];
    struct gsh_loop_peer *peer = &loop->peers[pe];
    if (!peer->is_lost) {
        peer->is_lost = true;
        snprintf(reason, sizeof(reason), "PE %d has ended", pe);
        loop->base.options.events.lost(loop->base.options.events.context, pe, false, reason);
    }
    return GSH_ERR_PEER;
}

/* What is under way finds it when it is to be applied. */
void gsh_loop_lose(struct gsh_transport *t, int pe, const char *reason)
{
    (void)reason;
    gsh_loop_of(t)->peers[pe].is_lost = true;
}

/* The PE's memory stays until gsh_loop_port_leave, which must not be called if this is false. */
static bool enter(struct gsh_loop *loop, int pe)
{
    return !loop->peers[pe].is_lost && gsh_loop_port_enter(loop->peers[pe].port);
}

static void settle_rma(struct gsh_loop *loop, struct gsh_loop_work *work)
{
    struct gsh_loop_port *port = loop->peers[work->pe].port;
    if (!enter(loop, work->pe)) {
        tell(loop, work, lose(loop, work->pe));
        return;
    }
    if (work->kind == GSH_LOOP_PUT) {
        gsh_copy_to_shared(work->remote, work->copy != NULL ? work->copy : work->local,
                           work->bytes);
    } else {
        gsh_copy_from_shared(work->local, work->remote, work->bytes);
    }
    gsh_loop_port_leave(port);
    tell(loop, work, GSH_OK);
}

/* The source may be reused from now on. False: no memory, later. */
static bool copy_source(struct gsh_loop_work *put)
{
    if (put->copy == NULL) {
        put->copy = malloc(put->bytes);
    }
    if (put->copy != NULL) {
        memcpy(put->copy, put->local, put->bytes);
    }
    return put->copy != NULL;
}

static bool is_flushed(struct gsh_loop *loop, const struct gsh_loop_work *flush)
{
    for (struct gsh_link *at = loop->works.next; at != &loop->works; at = at->next) {
        const struct gsh_loop_work *work = GSH_HOLDER(struct gsh_loop_work, link, at);
        if (work->kind == GSH_LOOP_PUT && work->pe == flush->pe && work->path == flush->path &&
            work->sequence < flush->sequence) {
            return false;
        }
    }
    return true;
}

static void settle_flush(struct gsh_loop *loop, struct gsh_loop_work *flush)
{
    struct gsh_loop_port *port = loop->peers[flush->pe].port;
    if (!is_flushed(loop, flush)) {
        return;
    }
    bool is_there = enter(loop, flush->pe);
    if (is_there) {
        gsh_loop_port_leave(port);
    }
    tell(loop, flush, is_there ? GSH_OK : lose(loop, flush->pe));
}

/* False: no memory, later. */
static bool deliver(struct gsh_loop *loop, struct gsh_loop_work *send)
{
    struct gsh_loop_port *port = loop->peers[send->pe].port;
    bool is_there = enter(loop, send->pe);
    if (is_there) {
        bool is_posted =
            gsh_loop_port_post(port, loop->base.options.my_pe, loop->port, send->header,
                               send->header_bytes, send->local, send->bytes);
        gsh_loop_port_leave(port);
        if (!is_posted) {
            return false;
        }
    }
    tell(loop, send, is_there ? GSH_OK : lose(loop, send->pe));
    return true;
}

/* NULL: no memory. */
static struct gsh_loop_work *begin(struct gsh_loop *loop, const struct gsh_loop_work *model)
{
    struct gsh_loop_work *work = malloc(sizeof(*work));
    if (work == NULL) {
        return NULL;
    }
    *work = *model;
    work->sequence = ++loop->sequence;
    /* progress() has something to do from now on. */
    if (loop->is_armed) {
        gsh_loop_port_stir(loop->port);
    }
    loop->is_armed = false;
    work->delay = any_below(loop, chance(loop, DELAY_RARITY) ? DELAY_LONG : DELAY_SHORT);
    gsh_link_init(&work->link);
    return work;
}

/* A question about the PE has had this result. */
static enum gsh_result lose_by(struct gsh_loop *loop, int pe, enum gsh_result r)
{
    return r == GSH_ERR_PEER || r == GSH_ERR_TIMEOUT ? lose(loop, pe) : r;
}

/* The PE has a port, unless this fails. */
static enum gsh_result need_port(struct gsh_loop *loop, int pe)
{
    const struct gsh_transport_events *events = &loop->base.options.events;
    const struct gsh_loop_peer *peer = &loop->peers[pe];
    enum gsh_result r = GSH_OK;
    if (peer->port == NULL && peer->is_lost) {
        return GSH_ERR_PEER;
    }
    if (peer->port == NULL && events->learn != NULL) {
        r = lose_by(loop, pe, events->learn(events->context, pe));
    }
    return r == GSH_OK && peer->port == NULL ? gsh_fail(GSH_ERR_STATE, "PE %d has no address", pe)
                                             : r;
}

/* *memory NULL: it has no such region. */
static enum gsh_result find_remote(struct gsh_loop *loop, int pe, uint64_t off, uint64_t bytes,
                                   uint8_t **memory)
{
    const struct gsh_transport_events *events = &loop->base.options.events;
    const struct gsh_loop_peer *peer = &loop->peers[pe];
    enum gsh_result r = GSH_OK;
    *memory = gsh_loop_region_find(peer->regions, off, bytes);
    for (uint64_t at = off; *memory == NULL && at - off < bytes && r == GSH_OK &&
                            events->learn_region != NULL && !peer->is_lost;) {
        if (gsh_loop_region_left(peer->regions, at) == 0) {
            r = lose_by(loop, pe, events->learn_region(events->context, pe, at));
        }
        const uint64_t left = gsh_loop_region_left(peer->regions, at);
        at = left > 0 ? at + left : off + bytes; /* there is none */
    }
    *memory = gsh_loop_region_find(peer->regions, off, bytes);
    return r;
}

static enum gsh_result begin_rma(struct gsh_transport *t, struct gsh_loop_work model, uint64_t off,
                                 bool *is_pending)
{
    struct gsh_loop *loop = gsh_loop_of(t);
    enum gsh_result r = need_port(loop, model.pe);
    if (r == GSH_OK && model.kind != GSH_LOOP_FLUSH) {
        r = find_remote(loop, model.pe, off, model.bytes, &model.remote);
    }
    if (r != GSH_OK) {
        return r;
    }
    if (model.remote == NULL && model.kind != GSH_LOOP_FLUSH) {
        return gsh_fail(GSH_ERR_ARG, "%" PRIu64 " bytes at offset %#" PRIx64 " are no memory of it",
                        model.bytes, off);
    }
    struct gsh_loop_work *work = begin(loop, &model);
    if (work == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for a put, get or flush");
    }
    gsh_link_append(&loop->works, &work->link);
    *is_pending = true;
    if (work->kind == GSH_LOOP_PUT && chance(loop, 2) && copy_source(work)) {
        work->op = NULL;
        *is_pending = false;
    }
    return GSH_OK;
}

enum gsh_result gsh_loop_put(struct gsh_transport *t, int pe, unsigned path, uint64_t off,
                             const void *source, uint64_t bytes, struct gsh_op *op,
                             bool *is_pending)
{
    struct gsh_loop_work put = {.kind = GSH_LOOP_PUT,
                                .pe = pe,
                                .path = path,
                                .op = op,
                                .local = (uint8_t *)source,
                                .bytes = bytes};
    return begin_rma(t, put, off, is_pending);
}

enum gsh_result gsh_loop_get(struct gsh_transport *t, int pe, uint64_t off, void *dest,
                             uint64_t bytes, struct gsh_op *op, bool *is_pending)
{
    struct gsh_loop_work get = {
        .kind = GSH_LOOP_GET, .pe = pe, .op = op, .local = dest, .bytes = bytes};
    return begin_rma(t, get, off, is_pending);
}

enum gsh_result gsh_loop_flush(struct gsh_transport *t, int pe, unsigned path, struct gsh_op *op,
                               bool *is_pending)
{
    struct gsh_loop_work flush = {.kind = GSH_LOOP_FLUSH, .pe = pe, .path = path, .op = op};
    return begin_rma(t, flush, 0, is_pending);
}

enum gsh_result gsh_loop_send(struct gsh_transport *t, int pe, const void *header,
                              size_t header_bytes, const void *data, size_t bytes,
                              struct gsh_op *op, bool *is_pending)
{
    struct gsh_loop *loop = gsh_loop_of(t);
    struct gsh_loop_peer *peer = &loop->peers[pe];
    struct gsh_loop_work model = {.kind = GSH_LOOP_SEND,
                                  .pe = pe,
                                  .op = op,
                                  .local = (uint8_t *)data,
                                  .bytes = bytes,
                                  .header = header,
                                  .header_bytes = header_bytes};
    const enum gsh_result r = need_port(loop, pe);
    if (r != GSH_OK) {
        return r;
    }
    bool is_first = gsh_link_is_alone(&peer->sends);
    struct gsh_loop_work *send = begin(loop, &model);
    if (send == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for a message");
    }
    *is_pending = true;
    gsh_link_append(&peer->sends, &send->link);
    if (is_first && chance(loop, 2) && deliver(loop, send) && send->result == GSH_OK) {
        gsh_link_remove(&send->link); /* complete in this call: done is not called */
        free(send);
        *is_pending = false;
    }
    return GSH_OK;
}

/* ---- progress ---- */

/* The put is complete for its caller long before it is applied. */
static void tell_early(struct gsh_loop *loop, struct gsh_loop_work *put)
{
    struct gsh_loop_work *told = copy_source(put) ? malloc(sizeof(*told)) : NULL;
    if (told == NULL) {
        return;
    }
    *told = (struct gsh_loop_work){.op = put->op};
    put->op = NULL;
    gsh_link_init(&told->link);
    tell(loop, told, GSH_OK);
}

static void progress_work(struct gsh_loop *loop, struct gsh_loop_work *work)
{
    if (work->kind == GSH_LOOP_PUT && work->op != NULL && chance(loop, 4)) {
        tell_early(loop, work);
    } else if (work->delay > 0) {
        work->delay--;
    } else if (work->kind == GSH_LOOP_FLUSH) {
        settle_flush(loop, work);
    } else {
        settle_rma(loop, work);
    }
}

static void progress_works(struct gsh_loop *loop)
{
    struct gsh_link *next;
    for (struct gsh_link *at = loop->works.next; at != &loop->works; at = next) {
        next = at->next;
        progress_work(loop, GSH_HOLDER(struct gsh_loop_work, link, at));
    }
}

static void progress_sends(struct gsh_loop *loop)
{
    for (int pe = 0; pe < loop->base.options.n_pes; pe++) {
        struct gsh_link *sends = &loop->peers[pe].sends;
        while (!gsh_link_is_alone(sends) && !chance(loop, 3) &&
               deliver(loop, GSH_HOLDER(struct gsh_loop_work, link, sends->next)))
            ;
    }
}

static unsigned call_done(struct gsh_loop *loop)
{
    unsigned n = 0;
    while (!gsh_link_is_alone(&loop->told)) {
        struct gsh_loop_work *work = GSH_HOLDER(struct gsh_loop_work, link, loop->told.next);
        struct gsh_op *op = work->op;
        enum gsh_result r = work->result;
        gsh_link_remove(&work->link);
        free(work);
        op->done(op, r);
        n++;
    }
    return n;
}

static unsigned progress_letters(struct gsh_loop *loop)
{
    const struct gsh_transport_options *o = &loop->base.options;
    unsigned n = 0;
    /* Most rounds find nothing: they take no lock. */
    for (int i = 0; i < o->n_pes && gsh_loop_port_has_letters(loop->port); i++) {
        int from = (int)((loop->sequence + (unsigned)i) % (unsigned)o->n_pes);
        for (int taken = 0; taken < LETTERS_MAX && !chance(loop, 4); taken++) {
            struct gsh_loop_letter *letter = gsh_loop_port_take(loop->port, from);
            if (letter == NULL) {
                break;
            }
            if (loop->peers[from].port == NULL) { /* the answer knows its way */
                loop->peers[from].port = letter->sender;
            } else {
                gsh_loop_port_release(letter->sender);
            }
            o->events.message(o->events.context, from, letter->data, letter->header_bytes,
                              letter->data + letter->header_bytes, letter->bytes);
            free(letter);
            n++;
        }
    }
    loop->sequence++;
    return n;
}

unsigned gsh_loop_progress(struct gsh_transport *t)
{
    struct gsh_loop *loop = gsh_loop_of(t);
    progress_works(loop);
    progress_sends(loop);
    return call_done(loop) + progress_letters(loop);
}

bool gsh_loop_arm(struct gsh_transport *t)
{
    struct gsh_loop *loop = gsh_loop_of(t);
    bool is_idle = gsh_link_is_alone(&loop->works) && gsh_link_is_alone(&loop->told);
    for (int pe = 0; pe < t->options.n_pes; pe++) {
        is_idle = is_idle && gsh_link_is_alone(&loop->peers[pe].sends);
    }
    loop->is_armed = is_idle && gsh_loop_port_arm(loop->port);
    return loop->is_armed;
}

void gsh_loop_free_works(struct gsh_link *works)
{
    while (!gsh_link_is_alone(works)) {
        struct gsh_loop_work *work = GSH_HOLDER(struct gsh_loop_work, link, works->next);
        gsh_link_remove(&work->link);
        free(work->copy);
        free(work);
    }
}
