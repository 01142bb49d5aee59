/* SPDX-License-Identifier: Apache-2.0
 * The reference transport: PEs that are threads of one process. It promises what transport.h says
 * and nothing more: operations complete at some later progress, in an order shuffled by a seed; a
 * put is often complete, its source reusable, long before it is applied.
 *
 * Threads meet in ports only: one for each PE, kept until everybody who knows it has gone. A port
 * has a lock for its messages, and another that keeps its PE's memory from going away during a
 * copy. Copies take that one shared, so it orders no copy before another: the thread sanitizer
 * still sees who relies on more than the order of messages and flushes. Words are copied by atomic
 * release and acquire, as networks write and read them whole; all else by memcpy. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "proxy/copy.h"
#include "proxy/engine/list.h"
#include "proxy/loop/loop.h"
#include "proxy/transport.h"

#define MESSAGE_MAX 8192
/* A progress call takes at most so many messages from one PE. */
#define LETTERS_MAX 4

/* Most puts and gets are as quick as this many calls of progress; one of so many takes long enough
 * for all that should have waited for it to be seen before it. */
#define DELAY_SHORT  4
#define DELAY_RARITY 8
#define DELAY_LONG   400

/* What a PE gives the others. A pointer means something in one process only. */
struct address {
    uint64_t port;
    int64_t process;
};

enum kind { PUT, GET, FLUSH, SEND };

/* An operation under way. */
struct work {
    struct gsh_link link;
    enum kind kind;
    int pe;
    struct gsh_op *op; /* NULL: has been told that it is complete */
    enum gsh_result result;
    uint64_t sequence; /* flush: waits for puts before it */
    unsigned delay;    /* calls of progress that still pass it over */
    uint8_t *remote, *local;
    uint64_t bytes;
    const void *header; /* SEND */
    size_t header_bytes;
    uint8_t *copy; /* PUT: of the source, when op has been told */
};

struct peer {
    struct gsh_loop_port *port;
    bool is_lost;
    struct gsh_loop_region *regions;
    struct gsh_link sends; /* in order */
};

struct loop {
    struct gsh_transport base;
    struct gsh_loop_port *port;
    struct address address;
    bool is_armed; /* since then nothing was asked of it */
    uint64_t random;
    uint64_t sequence;
    struct gsh_loop_region *regions; /* own; a region's memory is its key */
    struct gsh_link works;           /* puts, gets, flushes */
    struct gsh_link told;            /* complete; done is to be called */
    struct peer peers[];
};

static struct loop *loop_of(struct gsh_transport *t)
{
    return (struct loop *)t;
}

static unsigned any_below(struct loop *loop, unsigned n)
{
    /* A linear congruential generator; its upper bits are good enough to shuffle by. */
    loop->random = loop->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(loop->random >> 33) % n;
}

static bool chance(struct loop *loop, unsigned one_in)
{
    return any_below(loop, one_in) == 0;
}

/* ---- operations ---- */

/* Its operation has completed: done is called by progress(), for a caller is not ready for it while
 * others are looked at. */
static void tell(struct loop *loop, struct work *work, enum gsh_result r)
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

static enum gsh_result lose(struct loop *loop, int pe)
{
    char reason[64];
    struct peer *peer = &loop->peers[pe];
    if (!peer->is_lost) {
        peer->is_lost = true;
        snprintf(reason, sizeof(reason), "PE %d has ended", pe);
        loop->base.options.events.lost(loop->base.options.events.context, pe, reason);
    }
    return GSH_ERR_PEER;
}

static void settle_rma(struct loop *loop, struct work *work)
{
    struct gsh_loop_port *port = loop->peers[work->pe].port;
    if (!gsh_loop_port_enter(port)) {
        tell(loop, work, lose(loop, work->pe));
        return;
    }
    if (work->kind == PUT) {
        gsh_copy_to_shared(work->remote, work->copy != NULL ? work->copy : work->local,
                           work->bytes);
    } else {
        gsh_copy_from_shared(work->local, work->remote, work->bytes);
    }
    gsh_loop_port_leave(port);
    tell(loop, work, GSH_OK);
}

/* The source may be reused from now on. False: no memory, later. */
static bool copy_source(struct work *put)
{
    if (put->copy == NULL) {
        put->copy = malloc(put->bytes);
    }
    if (put->copy != NULL) {
        memcpy(put->copy, put->local, put->bytes);
    }
    return put->copy != NULL;
}

static bool is_flushed(struct loop *loop, const struct work *flush)
{
    for (struct gsh_link *at = loop->works.next; at != &loop->works; at = at->next) {
        const struct work *work = GSH_HOLDER(struct work, link, at);
        if (work->kind == PUT && work->pe == flush->pe && work->sequence < flush->sequence) {
            return false;
        }
    }
    return true;
}

static void settle_flush(struct loop *loop, struct work *flush)
{
    struct gsh_loop_port *port = loop->peers[flush->pe].port;
    if (!is_flushed(loop, flush)) {
        return;
    }
    bool is_there = gsh_loop_port_enter(port);
    if (is_there) {
        gsh_loop_port_leave(port);
    }
    tell(loop, flush, is_there ? GSH_OK : lose(loop, flush->pe));
}

/* False: no memory, later. */
static bool deliver(struct loop *loop, struct work *send)
{
    struct gsh_loop_port *port = loop->peers[send->pe].port;
    bool is_there = gsh_loop_port_enter(port);
    if (is_there) {
        bool is_posted = gsh_loop_port_post(port, loop->base.options.my_pe, send->header,
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
static struct work *begin(struct loop *loop, const struct work *model)
{
    struct work *work = malloc(sizeof(*work));
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

static enum gsh_result begin_rma(struct gsh_transport *t, struct work model, uint64_t off,
                                 bool *is_pending)
{
    struct loop *loop = loop_of(t);
    if (loop->peers[model.pe].port == NULL) {
        return gsh_fail(GSH_ERR_STATE, "PE %d has no address", model.pe);
    }
    model.remote = gsh_loop_region_find(loop->peers[model.pe].regions, off, model.bytes);
    if (model.remote == NULL && model.kind != FLUSH) {
        return gsh_fail(GSH_ERR_ARG, "%" PRIu64 " bytes at offset %#" PRIx64 " are no memory of it",
                        model.bytes, off);
    }
    struct work *work = begin(loop, &model);
    if (work == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for a put, get or flush");
    }
    gsh_link_append(&loop->works, &work->link);
    *is_pending = true;
    if (work->kind == PUT && chance(loop, 2) && copy_source(work)) {
        work->op = NULL;
        *is_pending = false;
    }
    return GSH_OK;
}

static enum gsh_result loop_put(struct gsh_transport *t, int pe, uint64_t off, const void *source,
                                uint64_t bytes, struct gsh_op *op, bool *is_pending)
{
    struct work put = {.kind = PUT, .pe = pe, .op = op, .local = (uint8_t *)source, .bytes = bytes};
    return begin_rma(t, put, off, is_pending);
}

static enum gsh_result loop_get(struct gsh_transport *t, int pe, uint64_t off, void *dest,
                                uint64_t bytes, struct gsh_op *op, bool *is_pending)
{
    struct work get = {.kind = GET, .pe = pe, .op = op, .local = dest, .bytes = bytes};
    return begin_rma(t, get, off, is_pending);
}

static enum gsh_result loop_flush(struct gsh_transport *t, int pe, struct gsh_op *op,
                                  bool *is_pending)
{
    struct work flush = {.kind = FLUSH, .pe = pe, .op = op};
    return begin_rma(t, flush, 0, is_pending);
}

static enum gsh_result loop_send(struct gsh_transport *t, int pe, const void *header,
                                 size_t header_bytes, const void *data, size_t bytes,
                                 struct gsh_op *op, bool *is_pending)
{
    struct loop *loop = loop_of(t);
    struct peer *peer = &loop->peers[pe];
    struct work model = {.kind = SEND,
                         .pe = pe,
                         .op = op,
                         .local = (uint8_t *)data,
                         .bytes = bytes,
                         .header = header,
                         .header_bytes = header_bytes};
    if (peer->port == NULL) {
        return gsh_fail(GSH_ERR_STATE, "PE %d has no address", pe);
    }
    bool is_first = gsh_link_is_alone(&peer->sends);
    struct work *send = begin(loop, &model);
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

/* The put is complete for whoever asked, long before it is applied. */
static void tell_early(struct loop *loop, struct work *put)
{
    struct work *told = copy_source(put) ? malloc(sizeof(*told)) : NULL;
    if (told == NULL) {
        return;
    }
    *told = (struct work){.op = put->op};
    put->op = NULL;
    gsh_link_init(&told->link);
    tell(loop, told, GSH_OK);
}

static void progress_work(struct loop *loop, struct work *work)
{
    if (work->kind == PUT && work->op != NULL && chance(loop, 4)) {
        tell_early(loop, work);
    } else if (work->delay > 0) {
        work->delay--;
    } else if (work->kind == FLUSH) {
        settle_flush(loop, work);
    } else {
        settle_rma(loop, work);
    }
}

static void progress_works(struct loop *loop)
{
    struct gsh_link *next;
    for (struct gsh_link *at = loop->works.next; at != &loop->works; at = next) {
        next = at->next;
        progress_work(loop, GSH_HOLDER(struct work, link, at));
    }
}

static void progress_sends(struct loop *loop)
{
    for (int pe = 0; pe < loop->base.options.n_pes; pe++) {
        struct gsh_link *sends = &loop->peers[pe].sends;
        while (!gsh_link_is_alone(sends) && !chance(loop, 3) &&
               deliver(loop, GSH_HOLDER(struct work, link, sends->next)))
            ;
    }
}

static unsigned call_done(struct loop *loop)
{
    unsigned n = 0;
    while (!gsh_link_is_alone(&loop->told)) {
        struct work *work = GSH_HOLDER(struct work, link, loop->told.next);
        struct gsh_op *op = work->op;
        enum gsh_result r = work->result;
        gsh_link_remove(&work->link);
        free(work);
        op->done(op, r);
        n++;
    }
    return n;
}

static unsigned progress_letters(struct loop *loop)
{
    const struct gsh_transport_options *o = &loop->base.options;
    unsigned n = 0;
    for (int i = 0; i < o->n_pes; i++) {
        int from = (int)((loop->sequence + (unsigned)i) % (unsigned)o->n_pes);
        for (int turn = 0; turn < LETTERS_MAX && !chance(loop, 4); turn++) {
            struct gsh_loop_letter *letter = gsh_loop_port_take(loop->port, from);
            if (letter == NULL) {
                break;
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

static unsigned loop_progress(struct gsh_transport *t)
{
    struct loop *loop = loop_of(t);
    progress_works(loop);
    progress_sends(loop);
    return call_done(loop) + progress_letters(loop);
}

static int loop_event_fd(struct gsh_transport *t)
{
    return loop_of(t)->port->event_fd;
}

static bool loop_arm(struct gsh_transport *t)
{
    struct loop *loop = loop_of(t);
    bool is_idle = gsh_link_is_alone(&loop->works) && gsh_link_is_alone(&loop->told);
    for (int pe = 0; pe < t->options.n_pes; pe++) {
        is_idle = is_idle && gsh_link_is_alone(&loop->peers[pe].sends);
    }
    loop->is_armed = is_idle && gsh_loop_port_arm(loop->port);
    return loop->is_armed;
}

/* ---- addresses and regions ---- */

static enum gsh_result loop_address(struct gsh_transport *t, const void **blob, size_t *bytes)
{
    *blob = &loop_of(t)->address;
    *bytes = sizeof(loop_of)(t)->address;
    return GSH_OK;
}

static enum gsh_result loop_set_peer(struct gsh_transport *t, int pe, const void *blob,
                                     size_t bytes)
{
    struct address address = {0};
    if (bytes == sizeof(address)) {
        memcpy(&address, blob, sizeof(address));
    }
    struct gsh_loop_port *port = (struct gsh_loop_port *)(uintptr_t)address.port;
    if (address.process != getpid() || port->magic != GSH_LOOP_PORT_MAGIC) {
        return gsh_note(GSH_ERR_UNSUPPORTED,
                        "GSHMEM_TRANSPORT=loop: the loop transport joins threads of one process; "
                        "PE %d is in another",
                        pe);
    }
    gsh_loop_port_hold(port);
    loop_of(t)->peers[pe].port = port;
    return GSH_OK;
}

static enum gsh_result give_key(struct gsh_loop_region *region, const void **key, size_t *key_bytes)
{
    if (region == NULL) {
        return GSH_ERR_NOMEM;
    }
    *key = &region->memory;
    *key_bytes = sizeof(region->memory);
    return GSH_OK;
}

static enum gsh_result loop_add_region(struct gsh_transport *t, void *memory, uint64_t off,
                                       uint64_t bytes, const void **key, size_t *key_bytes)
{
    return give_key(gsh_loop_region_add(&loop_of(t)->regions, memory, off, bytes), key, key_bytes);
}

static enum gsh_result loop_make_region(struct gsh_transport *t, uint64_t off, uint64_t bytes,
                                        void **memory, const void **key, size_t *key_bytes)
{
    struct gsh_loop_region *region = gsh_loop_region_make(&loop_of(t)->regions, off, bytes);
    if (region != NULL) {
        *memory = region->memory;
    }
    return give_key(region, key, key_bytes);
}

static enum gsh_result loop_remove_region(struct gsh_transport *t, uint64_t off)
{
    return gsh_loop_region_remove(&loop_of(t)->regions, off);
}

static enum gsh_result loop_add_peer_region(struct gsh_transport *t, int pe, uint64_t off,
                                            uint64_t bytes, const void *key, size_t key_bytes)
{
    uint8_t *memory;
    if (key_bytes != sizeof(memory)) {
        return gsh_fail(GSH_ERR_ARG, "PE %d: its key has %zu bytes", pe, key_bytes);
    }
    memcpy(&memory, key, sizeof(memory));
    return gsh_loop_region_add(&loop_of(t)->peers[pe].regions, memory, off, bytes) != NULL
               ? GSH_OK
               : GSH_ERR_NOMEM;
}

static enum gsh_result loop_remove_peer_region(struct gsh_transport *t, int pe, uint64_t off)
{
    return gsh_loop_region_remove(&loop_of(t)->peers[pe].regions, off);
}

/* ---- making and ending ---- */

static void free_works(struct gsh_link *works)
{
    while (!gsh_link_is_alone(works)) {
        struct work *work = GSH_HOLDER(struct work, link, works->next);
        gsh_link_remove(&work->link);
        free(work->copy);
        free(work);
    }
}

static void loop_destroy(struct gsh_transport *t)
{
    struct loop *loop = loop_of(t);
    if (loop->port != NULL) {
        gsh_loop_port_close(loop->port);
    }
    gsh_loop_port_release(loop->port);
    for (int pe = 0; pe < t->options.n_pes; pe++) {
        free_works(&loop->peers[pe].sends);
        gsh_loop_region_remove_all(&loop->peers[pe].regions);
        gsh_loop_port_release(loop->peers[pe].port);
    }
    free_works(&loop->works);
    free_works(&loop->told);
    gsh_loop_region_remove_all(&loop->regions);
    free(loop);
}

static const struct gsh_transport_ops loop_ops = {
    .name = "loop",
    .message_max = MESSAGE_MAX,
    .address = loop_address,
    .set_peer = loop_set_peer,
    .add_region = loop_add_region,
    .make_region = loop_make_region,
    .remove_region = loop_remove_region,
    .add_peer_region = loop_add_peer_region,
    .remove_peer_region = loop_remove_peer_region,
    .put = loop_put,
    .get = loop_get,
    .flush = loop_flush,
    .send = loop_send,
    .progress = loop_progress,
    .event_fd = loop_event_fd,
    .arm = loop_arm,
    .destroy = loop_destroy,
};

enum gsh_result gsh_transport_loop_create(const struct gsh_transport_options *options,
                                          struct gsh_transport **out)
{
    size_t n = (size_t)options->n_pes;
    struct loop *loop = calloc(1, sizeof(*loop) + n * sizeof(loop->peers[0]));
    if (loop == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for the loop transport");
    }
    loop->base.ops = &loop_ops;
    loop->base.options = *options;
    loop->random = options->loop_seed * 1000003u + (uint64_t)options->my_pe;
    gsh_link_init(&loop->works);
    gsh_link_init(&loop->told);
    for (size_t pe = 0; pe < n; pe++) {
        gsh_link_init(&loop->peers[pe].sends);
    }
    loop->port = gsh_loop_port_create(options->n_pes);
    if (loop->port == NULL) {
        loop_destroy(&loop->base);
        return gsh_fail_errno(GSH_ERR_SYSTEM, "the loop transport");
    }
    loop->address = (struct address){.port = (uint64_t)(uintptr_t)loop->port, .process = getpid()};
    *out = &loop->base;
    return GSH_OK;
}
