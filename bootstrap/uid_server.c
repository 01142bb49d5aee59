/* SPDX-License-Identifier: Apache-2.0
 * The rendezvous: a thread of the id's creator that meets every rank once, gives each the addresses
 * of its O(log n) partners, and ends. If something is wrong it tells every rank, including those
 * that come later. uid.c has what ranks then do with each other. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"
#include "base/thread.h"
#include "bootstrap/tcp_listener.h"
#include "bootstrap/netif.h"
#include "bootstrap/uid.h"

struct rank {
    int fd; /* -1: has not come, or already has its answer */
    bool has_come;
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

    /* one job */
    int n_ranks; /* 0: none has come */
    int n_come;
    struct rank *ranks; /* [n_ranks] */
    int n_told;         /* how many know of a failure, and how many there may be */
    int n_expected;
    enum gsh_result result;
    char text[GSH_ANSWER_MAX_PAYLOAD]; /* why, when result is not GSH_OK */
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
    for (int i = 0; i < s->n_ranks; i++) {
        if (s->ranks[i].has_come) {
            part_with(s, &s->ranks[i].fd);
        }
    }
    free(s->ranks);
    s->ranks = NULL;
    s->n_ranks = s->n_come = s->n_told = s->n_expected = 0;
    s->result = GSH_OK;
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
    (void)gsh_answer_send(*fd, hello, s->secret, s->result, s->text, strlen(s->text));
    part_with(s, fd);
}

/* From here on ranks are told this, and are no longer waited for. */
__attribute__((format(printf, 3, 4))) static void fail_job(struct server *s, enum gsh_result r,
                                                           const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->text, sizeof(s->text), format, args);
    va_end(args);
    s->result = r;
    note(s, GSH_UID_NONE_WAITS);
    gsh_log(GSH_LOG_INFO, GSH_LOG_BOOTSTRAP, "start-up over TCP failed: %s", s->text);
    for (int i = 0; i < s->n_ranks; i++) {
        if (s->ranks[i].has_come && s->ranks[i].fd >= 0) {
            tell_failure(s, &s->ranks[i].fd, &s->ranks[i].hello);
        }
    }
}

static void hand_out_partners(struct server *s)
{
    struct gsh_partner partners[GSH_UID_MAX_ROUNDS];
    int rounds = gsh_uid_rounds(s->n_ranks);
    memset(partners, 0, sizeof(partners));
    note(s, GSH_UID_NONE_WAITS);
    for (int i = 0; i < s->n_ranks; i++) {
        struct rank *rank = &s->ranks[i];
        for (int k = 0; k < rounds; k++) {
            const struct gsh_hello *h = &s->ranks[(i + ((int64_t)1 << k)) % s->n_ranks].hello;
            partners[k].address = h->address;
            memcpy(partners[k].link, h->link, sizeof(partners[k].link));
        }
        /* The partners notice a rank that has just died. */
        (void)gsh_answer_send(rank->fd, &rank->hello, s->secret, GSH_OK, partners,
                              (size_t)rounds * sizeof(partners[0]));
        part_with(s, &rank->fd);
    }
}

/* Admits a rank, or records in *s why the job cannot start. */
static void check_and_enter(struct server *s, int fd, const struct gsh_hello *hello)
{
    int rank = (int)hello->rank, n_ranks = (int)hello->n_ranks;
    if (n_ranks < 1 || n_ranks > GSH_UID_MAX_RANKS) {
        fail_job(s, GSH_ERR_ARG, "PE %d was started as one of %d; 1 to %d are possible", rank,
                 n_ranks, GSH_UID_MAX_RANKS);
    } else if (s->n_ranks != 0 && n_ranks != s->n_ranks) {
        fail_job(s, GSH_ERR_ARG, "PE %d was started as one of %d PEs, others as one of %d", rank,
                 n_ranks, s->n_ranks);
    } else if (rank < 0 || rank >= n_ranks) {
        fail_job(s, GSH_ERR_ARG, "PE number %d is not in 0 .. %d", rank, n_ranks - 1);
    } else if (s->n_ranks != 0 && s->ranks[rank].has_come) {
        fail_job(s, GSH_ERR_ARG, "two processes came as PE %d of this job", rank);
    } else if (s->n_ranks == 0 && (s->ranks = calloc((size_t)n_ranks, sizeof(*s->ranks))) == NULL) {
        fail_job(s, GSH_ERR_NOMEM, "no memory for a start-up of %d PEs", n_ranks);
    } else if (gsh_tcp_listener_add(s->listener, fd, rank) != GSH_OK) {
        s->n_ranks = n_ranks;
        fail_job(s, GSH_ERR_SYSTEM, "start-up cannot watch another connection: %s",
                 strerror(errno));
    } else {
        s->n_ranks = n_ranks;
        s->n_come++;
        s->ranks[rank] = (struct rank){.fd = fd, .has_come = true, .hello = *hello};
        note(s, rank);
    }
}

static void admit(struct server *s, struct gsh_tcp_listener_event *event)
{
    if (event->hello.kind != GSH_HELLO_JOIN) {
        gsh_socket_hang_up(&event->fd);
        return;
    }
    if ((int)event->hello.n_ranks > s->n_expected) {
        s->n_expected = (int)event->hello.n_ranks;
    }
    if (s->result == GSH_OK) {
        check_and_enter(s, event->fd, &event->hello);
    }
    if (s->result != GSH_OK) {
        tell_failure(s, &event->fd, &event->hello);
    }
}

static void fail_late(struct server *s)
{
    char missing[80] = "";
    size_t used = 0;
    for (int i = 0; i < s->n_ranks && used < sizeof(missing) - 16; i++) {
        if (!s->ranks[i].has_come) {
            used += (size_t)snprintf(missing + used, sizeof(missing) - used, " %d", i);
        }
    }
    fail_job(s, GSH_ERR_TIMEOUT, "%d of %d PEs did not come within %g s; missing:%s%s",
             s->n_ranks - s->n_come, s->n_ranks, (double)s->timeout_ns * 1e-9, missing,
             used >= sizeof(missing) - 16 ? " ..." : "");
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
            if (s->result == GSH_OK && s->n_ranks > 0) {
                fail_late(s);
            }
            return true;
        }
        if (r != GSH_OK) {
            fail_job(s, r, "the rendezvous of start-up failed: %s%s", strerror(errno),
                     errno == EMFILE ? " (it needs one for each PE; see ulimit -n)" : "");
            return false;
        }
        if (!has_begun) {
            deadline_ns = gsh_deadline_in(s->timeout_ns);
        }
        has_begun = true;
        if (event.tag < 0) {
            admit(s, &event);
        } else {
            fail_job(s, GSH_ERR_PEER, "PE %d ended during start-up", event.tag);
        }
        if (s->result == GSH_OK && s->n_ranks > 0 && s->n_come == s->n_ranks) {
            hand_out_partners(s);
            return true;
        }
        if (s->result != GSH_OK && s->n_told >= s->n_expected) {
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
