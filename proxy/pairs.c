/* SPDX-License-Identifier: Apache-2.0
 * See pairs.h. */
#define _GNU_SOURCE 1
#include "proxy/pairs.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/atomic.h"
#include "base/private_fd.h"
#include "base/thread.h"
#include "base/util.h"
#include "proxy/transport.h"

/* Numbers that a process has for others; each is given once. */
#define PAIRS_MAX 16384
/* For how many UCX plans; see its UCX_NUM_EPS. */
#define PAIRS_EXPECTED 64
/* Of a link: what has been sent and not been received, by cost(). */
#define WINDOW UINT64_C(4194304)
/* How often who waits looks whether the other process has gone. */
#define LOOK_NS 20000000u
/* With no more cores than this the thread sleeps at once: two processes have four threads on the
 * way of a message, and one that polls takes the core from those that it waits for. */
#define CORES_TO_SPIN 4
/* At the end of the process, for links that are still open. */
#define END_NS UINT64_C(2000000000)

struct message {
    struct message *next;
    size_t bytes, filled;
    uint8_t data[];
};

/* What a message takes of the window: also what its receiver needs besides the bytes. */
static uint64_t cost(uint64_t bytes)
{
    return bytes + 64;
}
_Static_assert(sizeof(struct message) + 32 <= 64, "with what malloc adds");

struct pair {
    uint32_t as;
    bool is_set, is_lost, is_own; /* own: this process began it */
    uint8_t id[GSH_PAIR_ID_BYTES];
    char reason[256];
};

struct out;

struct gsh_pair_link {
    struct service *service;
    bool (*is_lost_there)(void *context);
    void *context;
    pthread_cond_t changed;
    struct pair *pair; /* NULL: not bound */
    uint32_t pair_number;
    uint64_t number, number_there;
    bool is_greeted, is_lost, is_finished, is_finish_answered, is_closed_there;
    uint64_t n_sent, n_taken; /* costs; taken: by the other side, as it says */
    struct message *first, *last;
    size_t n_complete;
    uint64_t n_arrived, n_received, n_told;
};

/* A process's. */
struct service {
    pthread_mutex_t lock; /* for all of it, and every call of the transport */
    uint32_t n_waiting;   /* atomic: threads that want the lock; the service's own gives way */
    pid_t pid;
    uint64_t spin_ns;
    struct gsh_transport *transport; /* NULL: UCX cannot be had */
    char why[512];
    pthread_t thread;
    int event_fd;
    bool is_asleep, is_stopping, has_ended;
    struct pair *pairs[PAIRS_MAX]; /* from 1 on */
    uint32_t n_pairs;
    struct out *kept;             /* until the process ends */
    struct gsh_pair_link **links; /* by the low half of their number */
    uint32_t *uses;               /* the high half */
    size_t n_links, links_room, uses_room;
};

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static struct service *opened; /* of this process, or of the one that forked it */

static void take(struct service *s)
{
    __atomic_fetch_add(&s->n_waiting, 1, __ATOMIC_RELAXED); /* a hint */
    pthread_mutex_lock(&s->lock);
    __atomic_fetch_sub(&s->n_waiting, 1, __ATOMIC_RELAXED);
}

static void give(struct service *s)
{
    pthread_mutex_unlock(&s->lock);
}

/* The service is locked. */
static void wake(struct service *s)
{
    const uint64_t one = 1;
    if (!s->is_asleep) {
        return;
    }
    s->is_asleep = false;
    while (write(s->event_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

/* ---- sending: the service is locked ---- */

/* A piece that the transport has not finished. */
struct out {
    struct gsh_op op;
    struct service *service;
    struct out *next; /* of those that are kept */
    struct gsh_pair_piece piece;
    uint8_t head[GSH_PAIR_HEAD_MAX];
    uint8_t data[];
};
_Static_assert(sizeof(struct gsh_pair_piece) + GSH_PAIR_HEAD_MAX <= GSH_TRANSPORT_HEADER_MAX,
               "one header");

static void sent(struct gsh_op *op, enum gsh_result r)
{
    struct out *out = (struct out *)op;
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
    struct out *out = calloc(1, sizeof(*out) + bytes);
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
    _Static_assert(offsetof(struct out, head) ==
                       offsetof(struct out, piece) + sizeof(struct gsh_pair_piece),
                   "one header");
    enum gsh_result r =
        t->ops->send(t, (int)link->pair_number, &out->piece, sizeof(out->piece) + head_bytes,
                     out->data, bytes, &out->op, &is_pending);
    if (r != GSH_OK || !is_pending) {
        free(out);
    }
    return r;
}

static void tell(struct gsh_pair_link *link, enum gsh_pair_kind kind, uint64_t value)
{
    if (post(link, (struct gsh_pair_piece){.kind = kind, .value = value}, NULL, 0, NULL, 0) !=
        GSH_OK) {
        link->is_lost = true;
        pthread_cond_broadcast(&link->changed);
    }
}

/* ---- arrivals: the service is locked, in progress() ---- */

static struct gsh_pair_link *find_link(const struct service *s, uint64_t number, int from)
{
    const size_t i = (uint32_t)number;
    struct gsh_pair_link *link = i < s->n_links && s->uses[i] == number >> 32 ? s->links[i] : NULL;
    return link != NULL && link->pair != NULL && link->pair_number == (uint32_t)from ? link : NULL;
}

static void lose(struct gsh_pair_link *link)
{
    link->is_lost = true;
    pthread_cond_broadcast(&link->changed);
}

/* One piece after the other, message after message; false: it is none that a library of ours sends.
 */
static bool take_piece(struct gsh_pair_link *link, const struct gsh_pair_piece *piece,
                       const uint8_t *head, size_t head_bytes, const uint8_t *data, size_t bytes)
{
    struct message *m = link->last;
    const size_t here = head_bytes + bytes;
    if (piece->at == 0) {
        if (piece->value == 0 || piece->value > GSH_PAIR_MESSAGE_MAX ||
            (m != NULL && m->filled < m->bytes) ||
            link->n_arrived - link->n_received + cost(piece->value) > WINDOW ||
            (m = malloc(sizeof(*m) + piece->value)) == NULL) {
            return false;
        }
        *m = (struct message){.bytes = piece->value};
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
        tell(link, GSH_PAIR_HELLO_ANSWER, 0);
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
static void on_message(void *context, int from, const void *header, size_t header_bytes,
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
        lose(link);
    }
}

static void on_lost(void *context, int number, bool is_silent, const char *reason)
{
    struct service *s = context;
    struct pair *pair = s->pairs[number];
    (void)is_silent;
    if (pair == NULL) {
        return;
    }
    pair->is_lost = true;
    snprintf(pair->reason, sizeof(pair->reason), "%s", reason);
    for (size_t i = 0; i < s->n_links; i++) {
        if (s->links[i] != NULL && s->links[i]->pair == pair) {
            lose(s->links[i]);
        }
    }
}

/* ---- the thread ---- */

static void sleep_until_woken(struct service *s)
{
    struct gsh_transport *t = s->transport;
    struct pollfd fds[2] = {{.fd = s->event_fd, .events = POLLIN}, {.events = POLLIN}};
    uint64_t count;
    take(s);
    fds[1].fd = t->ops->event_fd(t);
    if (s->is_stopping || t->ops->progress(t) > 0 || fds[1].fd < 0 || !t->ops->arm(t)) {
        give(s);
        return;
    }
    s->is_asleep = true;
    give(s);
    (void)poll(fds, 2, -1);
    take(s);
    if (!s->is_asleep) { /* who woke it has written */
        while (read(s->event_fd, &count, sizeof(count)) < 0 && errno == EINTR) {
        }
    }
    s->is_asleep = false;
    give(s);
}

static void *drive(void *context)
{
    struct service *s = context;
    uint64_t idle_since = 0;
    for (bool is_stopping = false; !is_stopping;) {
        if (gsh_load_relaxed_u32(&s->n_waiting) > 0) {
            (void)sched_yield();
        }
        take(s);
        const unsigned n = s->transport->ops->progress(s->transport);
        is_stopping = s->is_stopping;
        give(s);
        const uint64_t now = gsh_now_ns();
        if (n > 0 || idle_since == 0) {
            idle_since = now;
        } else if (now - idle_since < s->spin_ns) {
            (void)sched_yield();
        } else {
            sleep_until_woken(s);
            idle_since = 0;
        }
    }
    return NULL;
}

/* ---- beginning and end ---- */

static enum gsh_result open_transport(struct service *s, const struct gsh_pairs_options *options)
{
    struct gsh_transport_options wanted = {
        .my_pe = -1, /* what comes says from whom, never to whom */
        .n_pes = PAIRS_MAX,
        .n_expected = PAIRS_EXPECTED,
        .is_for_messages = true,
        .name = "ucx",
        .plugin = options->plugin,
        .timeout_ns = options->timeout_ns,
        .events = {.context = s, .message = on_message, .lost = on_lost},
    };
    struct gsh_transport *t = NULL;
    /* Of no job: what has this tag is of no pair, so nobody is to make it. */
    FILE *random = fopen("/dev/urandom", "re");
    if (random == NULL || fread(wanted.key, sizeof(wanted.key), 1, random) != 1) {
        if (random != NULL) {
            fclose(random);
        }
        return gsh_note(GSH_ERR_UNSUPPORTED, "connections over UCX: no random numbers");
    }
    fclose(random);
    enum gsh_result r = gsh_transport_ucx_create(&wanted, &t);
    explicit_bzero(wanted.key, sizeof(wanted.key));
    if (r != GSH_OK) {
        return r;
    }
    s->transport = t;
    s->event_fd = eventfd(0, EFD_CLOEXEC);
    if (s->event_fd < 0 || t->ops->set_pair == NULL ||
        gsh_create_thread(&s->thread, NULL, drive, s) != 0) {
        r = gsh_note(GSH_ERR_UNSUPPORTED, "connections over UCX: no thread for them: %s",
                     strerror(errno));
        s->transport = NULL;
        t->ops->destroy(t);
        return r;
    }
    gsh_private_fd_add(s->event_fd);
    (void)pthread_setname_np(s->thread, "gshmem-pairs");
    return GSH_OK;
}

/* Whether the other side has not received all of it yet. */
static bool is_owed(const struct gsh_pair_link *link)
{
    return link != NULL && link->is_finished && !link->is_finish_answered && !link->is_lost;
}

/* Other threads may destroy links meanwhile. */
static void await_all(struct service *s, uint64_t deadline_ns)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    for (size_t i = 0; i < s->n_links; i++) {
        while (is_owed(s->links[i]) && gsh_now_ns() < deadline_ns) {
            give(s);
            (void)nanosleep(&pause, NULL);
            take(s);
        }
    }
}

/* What has been sent is to arrive, though the program has not closed its connections; others are to
 * know that this process leaves; and UCX's own end must not meet a thread in it. */
static void end_with_process(void)
{
    pthread_mutex_lock(&opening);
    struct service *s = opened;
    pthread_mutex_unlock(&opening);
    if (s == NULL || s->pid != getpid() || s->transport == NULL) {
        return;
    }
    const uint64_t deadline_ns = gsh_now_ns() + END_NS;
    take(s);
    for (size_t i = 0; i < s->n_links; i++) {
        struct gsh_pair_link *link = s->links[i];
        if (link != NULL && link->pair != NULL && !link->is_lost && !link->is_finished &&
            link->is_greeted) {
            link->is_finished = true;
            tell(link, GSH_PAIR_CLOSE, 0);
        }
    }
    wake(s);
    await_all(s, deadline_ns);
    s->is_stopping = s->has_ended = true;
    s->is_asleep = true; /* whether or not it is, it is to look */
    wake(s);
    for (size_t i = 0; i < s->n_links; i++) {
        if (s->links[i] != NULL) {
            lose(s->links[i]);
        }
    }
    give(s);
    pthread_join(s->thread, NULL);
    take(s);
    s->transport->ops->destroy(s->transport);
    s->transport = NULL; /* nobody asks: all links are lost */
    give(s);
}

enum gsh_result gsh_pairs_open(const struct gsh_pairs_options *options, const void **address,
                               size_t *bytes)
{
    static bool is_at_exit;
    enum gsh_result r = GSH_OK;
    pthread_mutex_lock(&opening);
    struct service *s = opened;
    if (s == NULL || s->pid != getpid()) {
        s = calloc(1, sizeof(*s));
        if (s == NULL) {
            pthread_mutex_unlock(&opening);
            return gsh_note(GSH_ERR_NOMEM, "no host memory for connections over UCX");
        }
        pthread_mutex_init(&s->lock, NULL);
        s->pid = getpid();
        s->spin_ns = sysconf(_SC_NPROCESSORS_ONLN) > CORES_TO_SPIN ? options->spin_ns : 0;
        if (open_transport(s, options) != GSH_OK) {
            snprintf(s->why, sizeof(s->why), "%s", gsh_last_error());
        } else if (!is_at_exit) {
            is_at_exit = atexit(end_with_process) == 0;
        }
        opened = s;
    }
    pthread_mutex_unlock(&opening);
    take(s);
    if (s->has_ended) {
        r = gsh_note(GSH_ERR_UNSUPPORTED, "connections over UCX: the process ends");
    } else if (s->transport == NULL) {
        r = gsh_note(GSH_ERR_UNSUPPORTED, "%s", s->why);
    } else {
        r = s->transport->ops->address(s->transport, address, bytes);
    }
    give(s);
    return r;
}

/* ---- pairs ---- */

uint32_t gsh_pair_find(const uint8_t id[GSH_PAIR_ID_BYTES], uint32_t *as)
{
    struct service *s = opened;
    uint32_t found = 0;
    take(s);
    for (uint32_t i = 1; i <= s->n_pairs && found == 0; i++) {
        const struct pair *pair = s->pairs[i];
        if (pair->is_set && pair->is_own && !pair->is_lost &&
            memcmp(pair->id, id, GSH_PAIR_ID_BYTES) == 0) {
            found = i;
            *as = pair->as;
        }
    }
    give(s);
    return found;
}

bool gsh_pair_is_begun_by(uint32_t number, uint32_t as)
{
    struct service *s = opened;
    take(s);
    const struct pair *pair = number > 0 && number <= s->n_pairs ? s->pairs[number] : NULL;
    const bool is_it =
        pair != NULL && pair->is_set && !pair->is_own && !pair->is_lost && pair->as == as;
    give(s);
    return is_it;
}

enum gsh_result gsh_pair_reserve(uint32_t *number)
{
    struct service *s = opened;
    enum gsh_result r = GSH_OK;
    take(s);
    if (s->n_pairs + 1 == PAIRS_MAX) {
        r = gsh_note(
            GSH_ERR_NOMEM,
            "connections over UCX: this process has had %d other ones, and can have no more",
            PAIRS_MAX - 1);
    } else if ((s->pairs[s->n_pairs + 1] = calloc(1, sizeof(struct pair))) == NULL) {
        r = gsh_note(GSH_ERR_NOMEM, "no host memory for a connection");
    } else {
        *number = ++s->n_pairs;
    }
    give(s);
    return r;
}

enum gsh_result gsh_pair_set(uint32_t number, uint32_t as, const uint8_t id[GSH_PAIR_ID_BYTES],
                             const uint8_t send_key[16], const uint8_t receive_key[16],
                             const void *address, size_t bytes)
{
    struct service *s = opened;
    struct gsh_transport_pairing pairing = {.as = as};
    if (bytes == 0 || bytes > GSH_PAIR_ADDRESS_MAX || as == 0 || as >= PAIRS_MAX) {
        return gsh_note(GSH_ERR_BUG, "connections over UCX: the other end gave no address of UCX");
    }
    memcpy(pairing.send_key, send_key, sizeof(pairing.send_key));
    memcpy(pairing.receive_key, receive_key, sizeof(pairing.receive_key));
    take(s);
    struct pair *pair = s->pairs[number];
    enum gsh_result r =
        s->has_ended
            ? gsh_note(GSH_ERR_UNSUPPORTED, "connections over UCX: the process ends")
            : s->transport->ops->set_pair(s->transport, (int)number, &pairing, address, bytes);
    pair->as = as;
    pair->is_own = id != NULL;
    if (id != NULL) {
        memcpy(pair->id, id, sizeof(pair->id));
    }
    pair->is_set = r == GSH_OK;
    give(s);
    explicit_bzero(&pairing, sizeof(pairing));
    return r;
}

/* ---- links ---- */

enum gsh_result gsh_pair_link_create(bool (*is_lost)(void *context), void *context,
                                     struct gsh_pair_link **out, uint64_t *number)
{
    struct service *s = opened;
    struct gsh_pair_link *link = calloc(1, sizeof(*link));
    pthread_condattr_t by_monotonic;
    size_t i = 0;
    take(s);
    while (i < s->n_links && s->links[i] != NULL) {
        i++;
    }
    if (link == NULL || i == UINT32_MAX ||
        !gsh_array_reserve(&s->links, &s->links_room, i + 1, sizeof(*s->links)) ||
        !gsh_array_reserve(&s->uses, &s->uses_room, i + 1, sizeof(*s->uses))) {
        give(s);
        free(link);
        return gsh_note(GSH_ERR_NOMEM, "no host memory for a connection");
    }
    if (i == s->n_links) {
        s->uses[i] = 0;
        s->n_links++;
    }
    pthread_condattr_init(&by_monotonic);
    pthread_condattr_setclock(&by_monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&link->changed, &by_monotonic);
    pthread_condattr_destroy(&by_monotonic);
    link->service = s;
    link->is_lost_there = is_lost;
    link->context = context;
    link->number = (uint64_t)++s->uses[i] << 32 | i;
    s->links[i] = link;
    *number = link->number;
    give(s);
    *out = link;
    return GSH_OK;
}

void gsh_pair_link_bind(struct gsh_pair_link *link, uint32_t pair, uint64_t number_there)
{
    struct service *s = link->service;
    take(s);
    link->pair = s->pairs[pair];
    link->pair_number = pair;
    link->number_there = number_there;
    link->is_lost = link->pair->is_lost || s->has_ended;
    give(s);
}

/* Until something has changed, it is time to look, or the deadline has come; the lock is given
 * meanwhile. */
static void await(struct gsh_pair_link *link, uint64_t deadline_ns)
{
    struct service *s = link->service;
    uint64_t until = gsh_now_ns() + LOOK_NS;
    until = deadline_ns != 0 ? gsh_min_u64(until, deadline_ns) : until;
    const struct timespec at = {.tv_sec = (time_t)(until / 1000000000u),
                                .tv_nsec = (long)(until % 1000000000u)};
    if (pthread_cond_timedwait(&link->changed, &s->lock, &at) != ETIMEDOUT ||
        link->is_lost_there == NULL || link->is_lost) {
        return;
    }
    give(s);
    const bool is_lost = link->is_lost_there(link->context);
    take(s);
    if (is_lost) {
        lose(link);
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
    struct service *s = link->service;
    const uint64_t deadline_ns = deadline_in(timeout_ns);
    char text[256];
    take(s);
    if (!link->is_lost) {
        tell(link, GSH_PAIR_HELLO, 0);
        wake(s);
    }
    while (!link->is_greeted && !link->is_lost && !is_over(deadline_ns)) {
        await(link, deadline_ns);
    }
    const bool is_greeted = link->is_greeted, is_lost = link->is_lost;
    give(s);
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
    struct service *s = link->service;
    const uint64_t deadline_ns = deadline_in(timeout_ns), all = head_bytes + bytes;
    if (head_bytes > GSH_PAIR_HEAD_MAX || bytes > GSH_PAIR_MESSAGE_MAX - head_bytes || all == 0) {
        return GSH_ERR_BUG;
    }
    take(s);
    while (!link->is_lost && !link->is_finished &&
           link->n_sent - link->n_taken + cost(all) > WINDOW && !is_over(deadline_ns)) {
        await(link, deadline_ns);
    }
    enum gsh_result r = GSH_OK;
    if (link->is_lost || link->is_finished) {
        r = GSH_ERR_PEER;
    } else if (link->n_sent - link->n_taken + cost(all) > WINDOW) {
        r = GSH_ERR_TIMEOUT;
    } else {
        link->n_sent += cost(all);
        r = post_message(link, head, head_bytes, data, bytes);
        wake(s);
    }
    if (r != GSH_OK) { /* as over TCP; part of it may have gone */
        lose(link);
    }
    give(s);
    return r;
}

/* The first message is complete. */
static void take_first(struct gsh_pair_link *link, void *data, size_t *bytes)
{
    struct message *m = link->first;
    link->first = m->next;
    link->last = link->first != NULL ? link->last : NULL;
    link->n_complete--;
    memcpy(data, m->data, m->bytes);
    *bytes = m->bytes;
    link->n_received += cost(m->bytes);
    free(m);
    if (!link->is_lost && link->n_received - link->n_told >= WINDOW / 4) {
        link->n_told = link->n_received;
        tell(link, GSH_PAIR_TAKEN, link->n_told);
        wake(link->service);
    }
}

enum gsh_result gsh_pair_link_receive(struct gsh_pair_link *link, void *data, size_t room,
                                      size_t *bytes, uint64_t timeout_ns)
{
    struct service *s = link->service;
    const uint64_t deadline_ns = deadline_in(timeout_ns);
    enum gsh_result r = GSH_OK;
    take(s);
    while (link->n_complete == 0 && !link->is_lost && !link->is_closed_there &&
           !is_over(deadline_ns)) {
        await(link, deadline_ns);
    }
    if (link->n_complete > 0 && link->first->bytes > room) {
        lose(link);
        r = GSH_ERR_BUG;
    } else if (link->n_complete > 0) {
        take_first(link, data, bytes);
    } else if (link->is_closed_there && !link->is_lost) { /* all before it has been carried out */
        tell(link, GSH_PAIR_CLOSE_ANSWER, 0);
        wake(s);
        r = GSH_ERR_PEER;
    } else {
        r = link->is_lost ? GSH_ERR_PEER : GSH_ERR_TIMEOUT;
    }
    give(s);
    return r;
}

bool gsh_pair_link_has_message(struct gsh_pair_link *link)
{
    take(link->service);
    const bool has = link->n_complete > 0 || link->is_lost || link->is_closed_there;
    give(link->service);
    return has;
}

void gsh_pair_link_lose(struct gsh_pair_link *link)
{
    take(link->service);
    lose(link);
    give(link->service);
}

bool gsh_pair_link_is_lost(struct gsh_pair_link *link)
{
    take(link->service);
    const bool is_lost = link->is_lost || link->is_closed_there;
    give(link->service);
    return is_lost;
}

const char *gsh_pair_link_reason(struct gsh_pair_link *link, char text[256])
{
    take(link->service);
    snprintf(text, 256, "%s", link->pair != NULL ? link->pair->reason : "");
    give(link->service);
    return text;
}

void gsh_pair_link_finish(struct gsh_pair_link *link, uint64_t timeout_ns)
{
    struct service *s = link->service;
    const uint64_t deadline_ns = deadline_in(timeout_ns);
    take(s);
    if (link->pair == NULL) {
        give(s);
        return;
    }
    if (!link->is_lost && !link->is_finished) {
        tell(link, GSH_PAIR_CLOSE, 0);
        wake(s);
    }
    link->is_finished = true;
    while (!link->is_finish_answered && !link->is_lost && !is_over(deadline_ns)) {
        await(link, deadline_ns);
    }
    give(s);
}

void gsh_pair_link_destroy(struct gsh_pair_link **link_p)
{
    struct gsh_pair_link *link = *link_p;
    *link_p = NULL;
    if (link == NULL) {
        return;
    }
    take(link->service);
    link->service->links[(uint32_t)link->number] = NULL;
    give(link->service);
    while (link->first != NULL) {
        struct message *next = link->first->next;
        free(link->first);
        link->first = next;
    }
    pthread_cond_destroy(&link->changed);
    free(link);
}
