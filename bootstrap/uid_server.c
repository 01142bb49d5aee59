/* SPDX-License-Identifier: Apache-2.0
 * The rendezvous: a thread of the id's creator that meets every rank once, gives each the addresses
 * of its O(log n) partners, and ends. If something is wrong it tells every rank, including those
 * that come later. rendezvous.h decides; here are the connections. uid.c has what ranks then do
 * with each other. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/log.h"
#include "base/thread.h"
#include "bootstrap/rendezvous.h"
#include "bootstrap/tcp_listener.h"
#include "bootstrap/netif.h"
#include "bootstrap/uid.h"

struct server {
    struct server *next; /* of the process */
    struct gsh_uid id;
    struct gsh_tcp_listener *listener;
    uint8_t secret[GSH_SHA256_BYTES];
    uint64_t timeout_ns;
    bool serves_again;
    int notes_to; /* as in gsh_uid_options */

    struct gsh_rendezvous job;
    int n_told; /* how many know of its failure */
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
    }
    gsh_rendezvous_forget(&s->job);
    s->n_told = 0;
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

static void tell_failure(struct server *s, int *fd, const struct gsh_hello *hello)
{
    s->n_told++;
    (void)gsh_answer_send(*fd, hello, s->secret, s->job.result, s->job.text, strlen(s->job.text));
    part_with(s, fd);
}

/* The job has failed: from here on ranks are told this, and are no longer waited for. */
static void tell_all(struct server *s)
{
    note(s, GSH_UID_NONE_WAITS);
    gsh_log(GSH_LOG_INFO, GSH_LOG_BOOTSTRAP, "start-up over TCP failed: %s", s->job.text);
    for (int i = 0; i < s->job.n_ranks; i++) {
        if (s->job.ranks[i].has_come && s->job.ranks[i].fd >= 0) {
            tell_failure(s, &s->job.ranks[i].fd, &s->job.ranks[i].hello);
        }
    }
}

static void hand_out_partners(struct server *s)
{
    struct gsh_partner partners[GSH_UID_MAX_ROUNDS];
    int rounds = gsh_uid_rounds(s->job.n_ranks);
    note(s, GSH_UID_NONE_WAITS);
    for (int i = 0; i < s->job.n_ranks; i++) {
        struct gsh_rendezvous_rank *rank = &s->job.ranks[i];
        for (int k = 0; k < rounds; k++) {
            partners[k] = gsh_rendezvous_partner(&s->job, i, k);
        }
        /* The partners notice a rank that has just died. */
        (void)gsh_answer_send(rank->fd, &rank->hello, s->secret, GSH_OK, partners,
                              (size_t)rounds * sizeof(partners[0]));
        part_with(s, &rank->fd);
    }
}

/* Each rank holds a connection until all have come. False: there can never be so many, and the job
 * fails. */
static bool has_enough_files(struct server *s)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= (rlim_t)s->job.n_ranks) {
        return true;
    }
    gsh_rendezvous_fail(&s->job, GSH_ERR_SYSTEM,
                        "a start-up of %d PEs needs more than the %llu descriptors that the maker "
                        "of the unique id may have (ulimit -n)",
                        s->job.n_ranks, (unsigned long long)limit.rlim_cur);
    return false;
}

static void admit(struct server *s, struct gsh_tcp_listener_event *event)
{
    bool had_failed = s->job.result != GSH_OK;
    if (event->hello.kind != GSH_HELLO_JOIN) {
        gsh_socket_hang_up(&event->fd);
        return;
    }
    if (!gsh_rendezvous_enter(&s->job, &event->hello, event->fd)) {
        if (!had_failed) {
            tell_all(s);
        }
        tell_failure(s, &event->fd, &event->hello);
        return;
    }
    const bool has_room = has_enough_files(s);
    if (has_room &&
        gsh_tcp_listener_add(s->listener, event->fd, (int)event->hello.rank) != GSH_OK) {
        gsh_rendezvous_fail(&s->job, GSH_ERR_SYSTEM, "start-up cannot watch another connection: %s",
                            strerror(errno));
    }
    if (s->job.result != GSH_OK) {
        tell_all(s);
        return;
    }
    note(s, (int32_t)event->hello.rank);
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
                tell_all(s);
            }
            return true;
        }
        if (r != GSH_OK) {
            gsh_rendezvous_fail(
                &s->job, r, "the rendezvous of start-up failed: %s%s", strerror(errno),
                errno == EMFILE ? " (it needs one for each PE; see ulimit -n)" : "");
            tell_all(s);
            return false;
        }
        if (!has_begun) {
            deadline_ns = gsh_deadline_in(s->timeout_ns);
        }
        has_begun = true;
        if (event.tag < 0) {
            admit(s, &event);
        } else {
            gsh_rendezvous_lose(&s->job, event.tag);
            tell_all(s);
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
