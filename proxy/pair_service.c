/* SPDX-License-Identifier: Apache-2.0
 * See pairs.h. The process's service, with the transport and its thread; pairs; and which links
 * there are. */
#define _GNU_SOURCE 1
#include "proxy/pairs_impl.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include "base/array.h"
#include "base/atomic.h"
#include "base/private_fd.h"
#include "base/thread.h"
#include "base/util.h"

/* For how many UCX plans; see its UCX_NUM_EPS. */
#define PAIRS_EXPECTED 64
/* With no more cores than this the thread sleeps at once: two processes have four threads on the
 * way of a message, and one that polls takes the core from those that it waits for. */
#define CORES_TO_SPIN 4
/* At the end of the process, for links that are still open. */
#define END_NS UINT64_C(2000000000)

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static struct gsh_pair_service *opened; /* of this process, or of the one that forked it */

/* ---- the transport's event: in progress(), with the service locked ---- */

static void on_lost(void *context, int number, bool is_silent, const char *reason)
{
    struct gsh_pair_service *s = context;
    struct gsh_pair *pair = s->pairs[number];
    (void)is_silent;
    if (pair == NULL) {
        return;
    }
    pair->is_lost = true;
    snprintf(pair->reason, sizeof(pair->reason), "%s", reason);
    for (size_t i = 0; i < s->n_links; i++) {
        if (s->links[i] != NULL && s->links[i]->pair == pair) {
            gsh_pair_link_end(s->links[i]);
        }
    }
}

/* ---- the thread ---- */

static void sleep_until_woken(struct gsh_pair_service *s)
{
    struct gsh_transport *t = s->transport;
    struct pollfd fds[2] = {{.fd = s->event_fd, .events = POLLIN}, {.events = POLLIN}};
    uint64_t count;
    gsh_pairs_take(s);
    fds[1].fd = t->ops->event_fd(t);
    if (s->is_stopping || t->ops->progress(t) > 0 || fds[1].fd < 0 || !t->ops->arm(t)) {
        gsh_pairs_give(s);
        return;
    }
    s->is_asleep = true;
    gsh_pairs_give(s);
    (void)poll(fds, 2, -1);
    gsh_pairs_take(s);
    if (!s->is_asleep) { /* who woke it has written */
        while (read(s->event_fd, &count, sizeof(count)) < 0 && errno == EINTR) {
        }
    }
    s->is_asleep = false;
    gsh_pairs_give(s);
}

static void *drive(void *context)
{
    struct gsh_pair_service *s = context;
    uint64_t idle_since = 0;
    for (bool is_stopping = false; !is_stopping;) {
        if (gsh_load_relaxed_u32(&s->n_waiting) > 0) {
            (void)sched_yield();
        }
        gsh_pairs_take(s);
        const unsigned n = s->transport->ops->progress(s->transport);
        is_stopping = s->is_stopping;
        gsh_pairs_give(s);
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

static enum gsh_result open_transport(struct gsh_pair_service *s,
                                      const struct gsh_pairs_options *options)
{
    struct gsh_transport_options wanted = {
        .my_pe = -1, /* what comes says from whom, never to whom */
        .n_pes = GSH_PAIRS_MAX,
        .n_expected = PAIRS_EXPECTED,
        .is_for_messages = true,
        .name = "ucx",
        .plugin = options->plugin,
        .timeout_ns = options->timeout_ns,
        .events = {.context = s, .message = gsh_pair_link_take, .lost = on_lost},
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
static void await_all(struct gsh_pair_service *s, uint64_t deadline_ns)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    for (size_t i = 0; i < s->n_links; i++) {
        while (is_owed(s->links[i]) && gsh_now_ns() < deadline_ns) {
            gsh_pairs_give(s);
            (void)nanosleep(&pause, NULL);
            gsh_pairs_take(s);
        }
    }
}

/* What has been sent is to arrive, though the program has not closed its connections; others are to
 * know that this process leaves; and UCX's own end must not meet a thread in it. */
static void end_with_process(void)
{
    pthread_mutex_lock(&opening);
    struct gsh_pair_service *s = opened;
    pthread_mutex_unlock(&opening);
    if (s == NULL || s->pid != getpid() || s->transport == NULL) {
        return;
    }
    const uint64_t deadline_ns = gsh_now_ns() + END_NS;
    gsh_pairs_take(s);
    for (size_t i = 0; i < s->n_links; i++) {
        struct gsh_pair_link *link = s->links[i];
        if (link != NULL && link->pair != NULL && !link->is_lost && !link->is_finished &&
            link->is_greeted) {
            link->is_finished = true;
            gsh_pair_link_tell(link, GSH_PAIR_CLOSE, 0);
        }
    }
    gsh_pairs_wake(s);
    await_all(s, deadline_ns);
    s->is_stopping = s->has_ended = true;
    s->is_asleep = true; /* whether or not it is, it is to look */
    gsh_pairs_wake(s);
    for (size_t i = 0; i < s->n_links; i++) {
        if (s->links[i] != NULL) {
            gsh_pair_link_end(s->links[i]);
        }
    }
    gsh_pairs_give(s);
    pthread_join(s->thread, NULL);
    gsh_pairs_take(s);
    s->transport->ops->destroy(s->transport);
    s->transport = NULL; /* nobody asks: all links are lost */
    gsh_pairs_give(s);
}

enum gsh_result gsh_pairs_open(const struct gsh_pairs_options *options, const void **address,
                               size_t *bytes)
{
    static bool is_at_exit;
    enum gsh_result r = GSH_OK;
    pthread_mutex_lock(&opening);
    struct gsh_pair_service *s = opened;
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
    gsh_pairs_take(s);
    if (s->has_ended) {
        r = gsh_note(GSH_ERR_UNSUPPORTED, "connections over UCX: the process ends");
    } else if (s->transport == NULL) {
        r = gsh_note(GSH_ERR_UNSUPPORTED, "%s", s->why);
    } else {
        r = s->transport->ops->address(s->transport, address, bytes);
    }
    gsh_pairs_give(s);
    return r;
}

/* ---- pairs ---- */

uint32_t gsh_pair_find(const uint8_t id[GSH_PAIR_ID_BYTES], uint32_t *as)
{
    struct gsh_pair_service *s = opened;
    uint32_t found = 0;
    gsh_pairs_take(s);
    for (uint32_t i = 1; i <= s->n_pairs && found == 0; i++) {
        const struct gsh_pair *pair = s->pairs[i];
        if (pair->is_set && pair->is_own && !pair->is_lost &&
            memcmp(pair->id, id, GSH_PAIR_ID_BYTES) == 0) {
            found = i;
            *as = pair->as;
        }
    }
    gsh_pairs_give(s);
    return found;
}

bool gsh_pair_is_begun_by(uint32_t number, uint32_t as)
{
    struct gsh_pair_service *s = opened;
    gsh_pairs_take(s);
    const struct gsh_pair *pair = number > 0 && number <= s->n_pairs ? s->pairs[number] : NULL;
    const bool is_it =
        pair != NULL && pair->is_set && !pair->is_own && !pair->is_lost && pair->as == as;
    gsh_pairs_give(s);
    return is_it;
}

enum gsh_result gsh_pair_reserve(uint32_t *number)
{
    struct gsh_pair_service *s = opened;
    enum gsh_result r = GSH_OK;
    gsh_pairs_take(s);
    if (s->n_pairs + 1 == GSH_PAIRS_MAX) {
        r = gsh_note(
            GSH_ERR_NOMEM,
            "connections over UCX: this process has had %d other ones, and can have no more",
            GSH_PAIRS_MAX - 1);
    } else if ((s->pairs[s->n_pairs + 1] = calloc(1, sizeof(struct gsh_pair))) == NULL) {
        r = gsh_note(GSH_ERR_NOMEM, "no host memory for a connection");
    } else {
        *number = ++s->n_pairs;
    }
    gsh_pairs_give(s);
    return r;
}

enum gsh_result gsh_pair_set(uint32_t number, uint32_t as, const uint8_t id[GSH_PAIR_ID_BYTES],
                             const uint8_t send_key[16], const uint8_t receive_key[16],
                             const void *address, size_t bytes)
{
    struct gsh_pair_service *s = opened;
    struct gsh_transport_pairing pairing = {.as = as};
    if (bytes == 0 || bytes > GSH_PAIR_ADDRESS_MAX || as == 0 || as >= GSH_PAIRS_MAX) {
        return gsh_note(GSH_ERR_BUG, "connections over UCX: the other end gave no address of UCX");
    }
    memcpy(pairing.send_key, send_key, sizeof(pairing.send_key));
    memcpy(pairing.receive_key, receive_key, sizeof(pairing.receive_key));
    gsh_pairs_take(s);
    struct gsh_pair *pair = s->pairs[number];
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
    gsh_pairs_give(s);
    explicit_bzero(&pairing, sizeof(pairing));
    return r;
}

/* ---- links ---- */

enum gsh_result gsh_pair_link_create(bool (*is_lost)(void *context), void *context,
                                     struct gsh_pair_link **out, uint64_t *number)
{
    struct gsh_pair_service *s = opened;
    struct gsh_pair_link *link = calloc(1, sizeof(*link));
    pthread_condattr_t by_monotonic;
    size_t i = 0;
    gsh_pairs_take(s);
    while (i < s->n_links && s->links[i] != NULL) {
        i++;
    }
    if (link == NULL || i == UINT32_MAX ||
        !gsh_array_reserve(&s->links, &s->links_room, i + 1, sizeof(*s->links)) ||
        !gsh_array_reserve(&s->uses, &s->uses_room, i + 1, sizeof(*s->uses))) {
        gsh_pairs_give(s);
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
    gsh_pairs_give(s);
    *out = link;
    return GSH_OK;
}
