/* SPDX-License-Identifier: Apache-2.0
 * The rendezvous: a thread of the id's creator that meets every rank once, gives each the addresses
 * of its O(log n) partners and how many ranks a host has, and ends. If something is wrong it tells
 * every rank, including those that come later. A rank may be a relay, which brings others over its
 * connection (uid_relay.h). rendezvous.h decides; here are the connections. uid.c has what ranks
 * then do with each other. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/limits.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/util.h"
#include "bootstrap/rendezvous.h"
#include "bootstrap/tcp_listener.h"
#include "bootstrap/netif.h"
#include "bootstrap/uid.h"

/* What a relay is saying, and has said. */
struct inflow {
    int n_brought;
    int brought[GSH_UID_MEMBERS]; /* ranks, in the order of their hellos; -1: it could not enter */
    uint8_t challenge[GSH_NONCE_BYTES];
    size_t got;
    struct gsh_hello hello;
};

struct server {
    struct server *next; /* of the process */
    struct gsh_uid id;
    struct gsh_tcp_listener *listener;
    uint8_t secret[GSH_SHA256_BYTES];
    uint64_t timeout_ns;
    bool serves_again;
    int notes_to; /* as in gsh_uid_options */

    struct gsh_rendezvous job;
    struct inflow **inflows; /* [n_ranks], of relays */
    int n_told;              /* how many know of its failure */
    int n_connections;       /* so far: of relays, and of ranks that have none */
    int n_free_members;      /* how many others the relays can still bring */
};

static pthread_mutex_t servers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct server *servers;

/* Comes before the answer to any rank: a reader that sees it after a rank's end knows all that came
 * before. */
static void note(const struct server *s, int32_t rank)
{
    if (s->notes_to > 0) {
        (void)!write(s->notes_to, &rank, sizeof(rank));
    }
}

/* Closes the connection after its answer. */
static void part_with(struct server *s, int *fd)
{
    if (*fd >= 0) {
        gsh_tcp_listener_remove(s->listener, *fd);
    }
    gsh_socket_close(fd);
}

static void forget_job(struct server *s)
{
    for (int i = 0; i < s->job.n_ranks; i++) {
        if (s->job.ranks[i].has_come) {
            part_with(s, &s->job.ranks[i].fd);
        }
        if (s->inflows != NULL) {
            free(s->inflows[i]);
        }
    }
    free(s->inflows);
    s->inflows = NULL;
    gsh_rendezvous_forget(&s->job);
    s->n_told = s->n_connections = s->n_free_members = 0;
}

static void remember(struct server *s, const struct gsh_uid *id)
{
    pthread_mutex_lock(&servers_lock);
    s->id = *id;
    s->next = servers;
    servers = s;
    pthread_mutex_unlock(&servers_lock);
}

/* From here on no other thread knows the server. */
static void forget(const struct server *s)
{
    pthread_mutex_lock(&servers_lock);
    struct server **p = &servers;
    while (*p != NULL && *p != s) {
        p = &(*p)->next;
    }
    if (*p != NULL) {
        *p = s->next;
    }
    pthread_mutex_unlock(&servers_lock);
}

void gsh_uid_drop(const struct gsh_uid *id)
{
    pthread_mutex_lock(&servers_lock);
    for (const struct server *s = servers; s != NULL; s = s->next) {
        if (memcmp(&s->id, id, sizeof(*id)) == 0) {
            gsh_tcp_listener_shutdown(s->listener);
        }
    }
    pthread_mutex_unlock(&servers_lock);
}

static void destroy(struct server *s)
{
    forget(s);
    forget_job(s);
    gsh_tcp_listener_destroy(&s->listener);
    explicit_bzero(s, sizeof(*s));
    free(s);
}

#define NONE_LOST (-1)

/* brought: of a relay (uid_relay.h). */
static void tell_failure(struct server *s, int *fd, const struct gsh_hello *hello, uint16_t brought)
{
    uint8_t payload[GSH_ANSWER_MAX_PAYLOAD];
    size_t at = 0;
    if (hello->kind == GSH_HELLO_RELAY) {
        memcpy(payload, &brought, sizeof(brought));
        at = sizeof(brought);
    }
    const size_t n = gsh_min_u64(strlen(s->job.text), sizeof(payload) - at);
    memcpy(payload + at, s->job.text, n);
    s->n_told++;
    (void)gsh_answer_send(*fd, hello, s->secret, s->job.result, payload, at + n);
    part_with(s, fd);
}

static const struct inflow *inflow_of(const struct server *s, int rank)
{
    return s->inflows != NULL ? s->inflows[rank] : NULL;
}

/* A bit for each of those that have come through the relay. */
static uint16_t brought_by(const struct server *s, int relay)
{
    const struct inflow *inflow = inflow_of(s, relay);
    uint16_t brought = 0;
    for (int i = 0; inflow != NULL && i < inflow->n_brought; i++) {
        const int rank = inflow->brought[i];
        if (rank >= 0 && s->job.ranks[rank].via == relay) {
            brought |= (uint16_t)(1u << i);
        }
    }
    return brought;
}

/* The job has failed: from here on ranks are told this, and are no longer waited for. What a relay
 * is told, it tells those that have come through it, which it is told, too; others that it may be
 * bringing come again, and so do all if it is the one that is lost. */
static void tell_all(struct server *s, int lost)
{
    note(s, GSH_UID_NONE_WAITS);
    gsh_log(GSH_LOG_INFO, GSH_LOG_BOOTSTRAP, "start-up over TCP failed: %s", s->job.text);
    for (int i = 0; i < s->job.n_ranks; i++) {
        struct gsh_rendezvous_rank *rank = &s->job.ranks[i];
        if (rank->has_come && rank->fd >= 0) {
            tell_failure(s, &rank->fd, &rank->hello, brought_by(s, i));
        } else if (rank->has_come && rank->via != i && rank->via != lost) {
            s->n_told++;
        }
    }
}

static bool answer(const struct server *s, int fd, int rank)
{
    struct gsh_welcome welcome = {.host_ranks = (uint32_t)s->job.hosts.most,
                                  .dealt_ranks = (uint32_t)s->job.hosts.dealt_ranks};
    const int rounds = gsh_uid_rounds(s->job.n_ranks);
    const size_t bytes = gsh_welcome_bytes(rounds),
                 more = (size_t)s->job.hosts.n_runs * sizeof(s->job.hosts.runs[0]);
    uint8_t payload[GSH_ANSWER_MAX_PAYLOAD];
    for (int k = 0; k < rounds; k++) {
        welcome.partners[k] = gsh_rendezvous_partner(&s->job, rank, k);
    }
    memcpy(payload, &welcome, bytes);
    memcpy(payload + bytes, s->job.hosts.runs, more);
    return gsh_answer_send(fd, &s->job.ranks[rank].hello, s->secret, GSH_OK, payload, bytes + more);
}

/* The partners notice a rank that has just died. */
static void hand_out_partners(struct server *s)
{
    note(s, GSH_UID_NONE_WAITS);
    for (int i = 0; i < s->job.n_ranks; i++) {
        struct gsh_rendezvous_rank *rank = &s->job.ranks[i];
        if (rank->fd < 0) {
            continue;
        }
        const struct inflow *inflow = inflow_of(s, i);
        bool is_there = answer(s, rank->fd, i);
        for (int k = 0; inflow != NULL && k < inflow->n_brought && is_there; k++) {
            is_there = answer(s, rank->fd, inflow->brought[k]);
        }
        part_with(s, &rank->fd);
    }
}

/* How many connections there will be at least, each until all have come, now that this rank has
 * come by one: others come through relays that have places, and as many through each further one.
 */
static int count_needed(struct server *s, const struct gsh_hello *hello)
{
    s->n_connections++;
    s->n_free_members += hello->kind == GSH_HELLO_RELAY ? GSH_UID_MEMBERS : 0;
    const int n_left = s->job.n_ranks - s->job.n_come - s->n_free_members;
    return hello->kind == GSH_HELLO_JOIN && s->job.n_ranks <= GSH_UID_MOST_DIRECT ? s->job.n_ranks
           : n_left > 0 ? s->n_connections + (n_left - 1) / GSH_UID_GROUP + 1
                        : s->n_connections;
}

/* False: there can never be so many connections, and the job fails. */
static bool has_enough_files(struct server *s, const struct gsh_hello *hello)
{
    struct rlimit limit;
    const int n = count_needed(s, hello);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= (rlim_t)n) {
        return true;
    }
    gsh_rendezvous_fail(&s->job, GSH_ERR_SYSTEM,
                        "a start-up of %d PEs needs more than the %llu descriptors that the maker "
                        "of the unique id may have (ulimit -n)",
                        s->job.n_ranks, (unsigned long long)limit.rlim_cur);
    return false;
}

/* A relay's hellos come with its challenge. False: no memory. */
static bool expect_more(struct server *s, const struct gsh_tcp_listener_event *event)
{
    struct inflow *inflow = calloc(1, sizeof(*inflow));
    if (s->inflows == NULL) {
        s->inflows = calloc((size_t)s->job.n_ranks, sizeof(struct inflow *));
    }
    if (inflow == NULL || s->inflows == NULL) {
        free(inflow);
        return false;
    }
    memcpy(inflow->challenge, event->challenge, sizeof(inflow->challenge));
    s->inflows[event->hello.rank] = inflow;
    return true;
}

/* A rank that comes again has lost its relay: this may be known before the relay's connection ends.
 */
static void lose_its_relay(struct server *s, const struct gsh_hello *hello)
{
    const int rank = (int)hello->rank;
    if (s->job.result != GSH_OK || hello->round == 0 || rank >= s->job.n_ranks || rank < 0 ||
        !s->job.ranks[rank].has_come || s->job.ranks[rank].via == rank) {
        return;
    }
    const int relay = s->job.ranks[rank].via;
    gsh_rendezvous_lose(&s->job, relay);
    tell_all(s, relay);
}

static void admit(struct server *s, struct gsh_tcp_listener_event *event)
{
    const enum gsh_hello_kind kind = event->hello.kind;
    if (kind != GSH_HELLO_JOIN && kind != GSH_HELLO_RELAY) {
        gsh_socket_hang_up(&event->fd);
        return;
    }
    lose_its_relay(s, &event->hello);
    bool had_failed = s->job.result != GSH_OK;
    if (!gsh_rendezvous_enter(&s->job, &event->hello, event->fd, (int)event->hello.rank)) {
        if (!had_failed) {
            tell_all(s, NONE_LOST);
        }
        tell_failure(s, &event->fd, &event->hello, 0);
        return;
    }
    const bool has_room = has_enough_files(s, &event->hello);
    if (has_room && kind == GSH_HELLO_RELAY && !expect_more(s, event)) {
        gsh_rendezvous_fail(&s->job, GSH_ERR_NOMEM, "no memory for a start-up of %d PEs",
                            s->job.n_ranks);
    } else if (has_room &&
               gsh_tcp_listener_add(s->listener, event->fd, (int)event->hello.rank) != GSH_OK) {
        gsh_rendezvous_fail(&s->job, GSH_ERR_SYSTEM, "start-up cannot watch another connection: %s",
                            strerror(errno));
    }
    if (s->job.result != GSH_OK) {
        tell_all(s, NONE_LOST);
        return;
    }
    note(s, (int32_t)event->hello.rank);
}

/* The hello of a rank that the relay brings, or has lost. False: it is none. */
static bool admit_brought(struct server *s, int relay, const struct gsh_hello *hello)
{
    struct inflow *inflow = s->inflows[relay];
    const uint32_t rank = hello->rank;
    if (hello->kind == GSH_HELLO_LOST && rank < (uint32_t)s->job.n_ranks &&
        s->job.ranks[rank].has_come && s->job.ranks[rank].via == relay) {
        gsh_rendezvous_lose(&s->job, (int)rank);
        tell_all(s, NONE_LOST);
        return true;
    }
    if (hello->kind != GSH_HELLO_JOIN || inflow->n_brought == GSH_UID_MEMBERS ||
        (rank < (uint32_t)s->job.n_ranks && s->job.ranks[rank].has_come &&
         s->job.ranks[rank].hello.round != 0)) { /* it has come by itself, without this relay */
        return false;
    }
    int *brought = &inflow->brought[inflow->n_brought++];
    *brought = -1;
    if (gsh_rendezvous_enter(&s->job, hello, -1, relay)) {
        *brought = (int)rank;
        s->n_free_members--;
        note(s, (int32_t)rank);
    } else {
        tell_all(s, NONE_LOST); /* it comes again */
    }
    return true;
}

/* A rank's connection has input, or has ended. Only a relay may say more; the others wait. */
static void receive_from_rank(struct server *s, int rank)
{
    struct inflow *inflow = s->inflows != NULL ? s->inflows[rank] : NULL;
    size_t moved = 0;
    if (inflow != NULL &&
        gsh_socket_recv_some(s->job.ranks[rank].fd, (char *)&inflow->hello + inflow->got,
                             sizeof(inflow->hello) - inflow->got, &moved) == GSH_OK) {
        inflow->got += moved;
        if (inflow->got < sizeof(inflow->hello)) {
            return;
        }
        inflow->got = 0;
        if (gsh_hello_is_true(&inflow->hello, s->secret, inflow->challenge) &&
            admit_brought(s, rank, &inflow->hello)) {
            return;
        }
    }
    gsh_rendezvous_lose(&s->job, rank);
    tell_all(s, rank);
}

/* One job from the first rank to the last. False when no further one can be served. */
static bool serve_job(struct server *s)
{
    uint64_t deadline_ns = s->serves_again ? 0 : gsh_deadline_in(s->timeout_ns);
    bool has_begun = false;
    for (;;) {
        struct gsh_tcp_listener_event event;
        enum gsh_result r = gsh_tcp_listener_next(s->listener, deadline_ns, &event);
        if (r == GSH_ERR_TIMEOUT) {
            if (s->job.result == GSH_OK && s->job.n_ranks > 0) {
                gsh_rendezvous_end_late(&s->job, (double)s->timeout_ns * 1e-9);
                tell_all(s, NONE_LOST);
            }
            return true;
        }
        if (r != GSH_OK) {
            const int error = errno;
            char hint[128] = "";
            if (error == EMFILE) {
                snprintf(
                    hint, sizeof(hint),
                    " (it needs one for each PE of %d, and %llu are possible: raise ulimit -n)",
                    s->job.n_ranks, (unsigned long long)gsh_limits_files());
            }
            gsh_rendezvous_fail(&s->job, r, "the rendezvous of start-up failed: %s%s",
                                strerror(error), hint);
            tell_all(s, NONE_LOST);
            return false;
        }
        if (!has_begun) {
            deadline_ns = gsh_deadline_in(s->timeout_ns);
        }
        has_begun = true;
        if (event.tag < 0) {
            admit(s, &event);
        } else {
            receive_from_rank(s, event.tag);
        }
        if (gsh_rendezvous_is_complete(&s->job)) {
            hand_out_partners(s);
            return true;
        }
        if (s->job.result != GSH_OK && s->n_told >= s->job.n_expected) {
            return true;
        }
    }
}

static void *serve(void *arg)
{
    struct server *s = arg;
    do {
        forget_job(s);
    } while (serve_job(s) && s->serves_again);
    destroy(s);
    return NULL;
}

static enum gsh_result start(struct server *s)
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    errno = gsh_create_thread(&thread, &attr, serve, s);
    pthread_attr_destroy(&attr);
    return errno == 0 ? GSH_OK : gsh_fail_errno(GSH_ERR_SYSTEM, "start-up over TCP: thread");
}

enum gsh_result gsh_uid_create(const struct gsh_uid_options *options, struct gsh_uid *out)
{
    struct gsh_address at;
    struct gsh_uid id;
    struct gsh_uid_content content;
    struct server *s = NULL;
    enum gsh_result r =
        options->known != NULL
            ? gsh_uid_decode(options->known, &content)
            : gsh_netif_choose(options->ifname, options->family, "the rendezvous of start-up", &at);
    if (r == GSH_OK && options->known != NULL) {
        at = content.address;
    }
    if (r == GSH_OK && (s = calloc(1, sizeof(*s))) == NULL) {
        r = gsh_fail(GSH_ERR_NOMEM, "no memory for start-up over TCP");
    }
    if (r != GSH_OK) {
        return r;
    }
    s->timeout_ns = options->timeout_ns;
    s->serves_again = options->serves_again;
    s->notes_to = options->notes_to;
    r = gsh_tcp_listener_create(&at, NULL, &s->listener);
    if (r == GSH_OK) {
        gsh_tcp_listener_leave_files(s->listener, options->n_files);
    }
    if (r == GSH_OK && options->known != NULL) {
        id = *options->known;
    } else if (r == GSH_OK) {
        r = gsh_uid_encode(gsh_tcp_listener_address(s->listener), &id);
    }
    if (r == GSH_OK) {
        r = gsh_uid_decode(&id, &content);
    }
    if (r == GSH_OK) {
        memcpy(s->secret, content.secret, sizeof(s->secret));
        gsh_tcp_listener_set_secret(s->listener, content.secret);
        explicit_bzero(content.secret, sizeof(content.secret));
        remember(s, &id);
        r = start(s);
    }
    if (r != GSH_OK) {
        destroy(s);
        return r;
    }
    *out = id;
    return GSH_OK;
}
