/* SPDX-License-Identifier: Apache-2.0
 * The listener over epoll: one listening socket, a bounded number of clients not yet authenticated,
 * and the caller's watched descriptors. */
#define _GNU_SOURCE 1
#include "bootstrap/tcp_listener.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include "base/array.h"
#include "base/private_fd.h"

/* Clients of all listeners of the process take a share of the descriptors that it may have, since
 * it needs the others itself. Each listener has the fewest in any case. */
#define MIN_CLIENTS 8
#define MAX_CLIENTS 1024
#define FILES_SHARE 8

/* A client's hello arrives in one round trip. When there are as many as allowed, one that has said
 * nothing for the first time, or not all of it for the second, may be dropped for a newcomer; one
 * that exceeds the third always is. */
#define SILENT_PATIENCE_NS UINT64_C(250000000)
#define PATIENCE_NS        UINT64_C(1000000000)
#define MAX_PATIENCE_NS    UINT64_C(10000000000)

static int n_all_clients; /* of the process; atomic, orders nothing */

struct client {
    int fd; /* -1: free */
    uint64_t since_ns;
    size_t got;
    struct gsh_hello hello;
    uint8_t challenge[GSH_NONCE_BYTES];
};

struct gsh_tcp_listener {
    int listen_fd, epoll_fd;
    bool is_listening;        /* epoll watches the listener */
    uint64_t paused_until_ns; /* not earlier than that */
    int n_looks;              /* in vain for a descriptor for a client */
    bool is_shut;             /* atomic */
    bool sends_challenge;
    struct gsh_address address;
    uint8_t challenge[GSH_NONCE_BYTES];
    uint8_t secret[GSH_SHA256_BYTES];
    int n_clients, n_clients_allowed, max_clients_allowed;
    int n_allocated;
    struct client *clients; /* [n_allocated] */
};

/* epoll's tags: watched descriptors count up from 0, the others down from -1. */
#define LISTENER  (-1)
#define CLIENT(i) (-2 - (i))

static enum gsh_result epoll_add(struct gsh_tcp_listener *listener, int fd, int64_t tag)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = (uint64_t)tag};
    return epoll_ctl(listener->epoll_fd, EPOLL_CTL_ADD, fd, &e) == 0 ? GSH_OK : GSH_ERR_SYSTEM;
}

static int find_most_clients(int n_files)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur > INT_MAX) {
        return MAX_CLIENTS;
    }
    int limit = (int)files.rlim_cur, share = limit / FILES_SHARE;
    share = limit - n_files < share ? limit - n_files : share;
    return share < MIN_CLIENTS ? MIN_CLIENTS : share > MAX_CLIENTS ? MAX_CLIENTS : share;
}

void gsh_tcp_listener_leave_files(struct gsh_tcp_listener *listener, int n)
{
    listener->n_clients_allowed = listener->max_clients_allowed = find_most_clients(n);
}

static void count_client(struct gsh_tcp_listener *listener, int by)
{
    listener->n_clients += by;
    __atomic_fetch_add(&n_all_clients, by, __ATOMIC_RELAXED);
}

static bool is_full(const struct gsh_tcp_listener *listener)
{
    return listener->n_clients >= listener->n_clients_allowed ||
           (listener->n_clients >= MIN_CLIENTS &&
            __atomic_load_n(&n_all_clients, __ATOMIC_RELAXED) >= listener->max_clients_allowed);
}

enum gsh_result gsh_tcp_listener_create(const struct gsh_address *at,
                                        const uint8_t challenge[GSH_NONCE_BYTES],
                                        struct gsh_tcp_listener **out)
{
    struct gsh_tcp_listener *listener = calloc(1, sizeof(*listener));
    if (listener == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for start-up over TCP");
    }
    listener->listen_fd = listener->epoll_fd = -1;
    listener->n_clients_allowed = listener->max_clients_allowed = find_most_clients(0);
    listener->sends_challenge = challenge == NULL;
    if (challenge != NULL) {
        memcpy(listener->challenge, challenge, sizeof(listener->challenge));
    }
    enum gsh_result r = gsh_socket_listen(at, &listener->listen_fd, &listener->address);
    if (r == GSH_OK && (listener->epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0) {
        r = GSH_ERR_SYSTEM;
    }
    if (r == GSH_OK) {
        r = epoll_add(listener, listener->listen_fd, LISTENER);
    }
    listener->is_listening = r == GSH_OK;
    if (r != GSH_OK) {
        char text[GSH_ADDRESS_TEXT];
        r = gsh_fail_errno(r, "start-up over TCP: cannot listen at %s", gsh_address_text(at, text));
        gsh_tcp_listener_destroy(&listener);
        return r;
    }
    *out = listener;
    return GSH_OK;
}

void gsh_tcp_listener_destroy(struct gsh_tcp_listener **listener_p)
{
    struct gsh_tcp_listener *listener = *listener_p;
    *listener_p = NULL;
    if (listener == NULL) {
        return;
    }
    for (int i = 0; i < listener->n_allocated; i++) {
        gsh_socket_hang_up(&listener->clients[i].fd);
    }
    count_client(listener, -listener->n_clients);
    free(listener->clients);
    gsh_socket_close(&listener->listen_fd);
    gsh_socket_close(&listener->epoll_fd);
    explicit_bzero(listener, sizeof(*listener));
    free(listener);
}

const struct gsh_address *gsh_tcp_listener_address(const struct gsh_tcp_listener *listener)
{
    return &listener->address;
}

void gsh_tcp_listener_keep_from_children(struct gsh_tcp_listener *listener)
{
    gsh_private_fd_add(listener->listen_fd);
    gsh_private_fd_add(listener->epoll_fd);
}

void gsh_tcp_listener_set_secret(struct gsh_tcp_listener *listener,
                                 const uint8_t secret[GSH_SHA256_BYTES])
{
    memcpy(listener->secret, secret, sizeof(listener->secret));
}

enum gsh_result gsh_tcp_listener_add(struct gsh_tcp_listener *listener, int fd, int tag)
{
    return epoll_add(listener, fd, tag);
}

void gsh_tcp_listener_remove(struct gsh_tcp_listener *listener, int fd)
{
    (void)epoll_ctl(listener->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

void gsh_tcp_listener_shutdown(struct gsh_tcp_listener *listener)
{
    /* release: pairs with the acquire in gsh_tcp_listener_next, which the next line wakes */
    __atomic_store_n(&listener->is_shut, true, __ATOMIC_RELEASE);
    (void)shutdown(listener->listen_fd, SHUT_RDWR);
}

static void drop(struct gsh_tcp_listener *listener, struct client *v)
{
    gsh_tcp_listener_remove(listener, v->fd);
    gsh_socket_hang_up(&v->fd);
    count_client(listener, -1);
    listener->n_clients_allowed =
        listener->max_clients_allowed; /* its descriptor may serve the next one */
}

/* Drops clients whose time is over. */
static void drop_late(struct gsh_tcp_listener *listener)
{
    uint64_t now = gsh_now_ns();
    for (int i = 0; i < listener->n_allocated; i++) {
        if (listener->clients[i].fd >= 0 &&
            now - listener->clients[i].since_ns >= MAX_PATIENCE_NS) {
            drop(listener, &listener->clients[i]);
        }
    }
}

static bool has_input(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

/* The one to drop for a newcomer: the oldest that has been silent for too long, else the oldest
 * that has begun a hello. What a client has sent is heard first. NULL: none yet. */
static struct client *find_slowest(struct gsh_tcp_listener *listener)
{
    struct client *slowest = NULL;
    uint64_t now = gsh_now_ns();
    for (int i = 0; i < listener->n_allocated; i++) {
        struct client *v = &listener->clients[i];
        bool is_silent = v->got == 0;
        if (v->fd < 0 || now - v->since_ns < (is_silent ? SILENT_PATIENCE_NS : PATIENCE_NS)) {
            continue;
        }
        bool is_slower = slowest == NULL || (is_silent && slowest->got > 0) ||
                         (is_silent == (slowest->got == 0) && v->since_ns < slowest->since_ns);
        if (is_slower && !has_input(v->fd)) {
            slowest = v;
        }
    }
    return slowest;
}

static void make_room(struct gsh_tcp_listener *listener)
{
    struct client *slowest =
        is_full(listener) && has_input(listener->listen_fd) ? find_slowest(listener) : NULL;
    if (slowest != NULL) {
        drop(listener, slowest);
    }
}

/* While there are as many as allowed, newcomers wait in the kernel's queue. */
static enum gsh_result set_listening(struct gsh_tcp_listener *listener, bool on)
{
    if (on == listener->is_listening) {
        return GSH_OK;
    }
    listener->is_listening = on;
    if (on) {
        return epoll_add(listener, listener->listen_fd, LISTENER);
    }
    return epoll_ctl(listener->epoll_fd, EPOLL_CTL_DEL, listener->listen_fd, NULL) == 0
               ? GSH_OK
               : GSH_ERR_SYSTEM;
}

static enum gsh_result greet(struct gsh_tcp_listener *listener, struct client *v)
{
    struct gsh_challenge challenge;
    size_t moved;
    if (!listener->sends_challenge) {
        memcpy(v->challenge, listener->challenge, sizeof(v->challenge));
        return GSH_OK;
    }
    enum gsh_result r = gsh_random(v->challenge, sizeof(v->challenge));
    if (r != GSH_OK) {
        return r;
    }
    gsh_magic(challenge.magic);
    memcpy(challenge.nonce, v->challenge, sizeof(challenge.nonce));
    /* A client that cannot be sent to will not send a hello either, and is then dropped. */
    (void)!gsh_socket_send_some(v->fd, &challenge, sizeof(challenge), &moved);
    return GSH_OK;
}

/* The index of a free client record; -1: no memory. */
static int find_free_client(struct gsh_tcp_listener *listener)
{
    int i = 0;
    while (i < listener->n_allocated && listener->clients[i].fd >= 0) {
        i++;
    }
    if (i == listener->n_allocated) {
        size_t room = (size_t)i;
        if (!gsh_array_reserve(&listener->clients, &room, room + 1, sizeof(*listener->clients))) {
            return -1;
        }
        listener->n_allocated = (int)room;
        for (int k = i; k < listener->n_allocated; k++) {
            listener->clients[k].fd = -1;
        }
    }
    return i;
}

static enum gsh_result wait_for_room(struct gsh_tcp_listener *listener)
{
    if (listener->n_clients > 0) {
        listener->n_clients_allowed =
            listener->n_clients; /* a client has to go before the next one comes */
        return GSH_OK;
    }
    listener->paused_until_ns = gsh_now_ns() + GSH_ACCEPT_RETRY_NS;
    return ++listener->n_looks < GSH_ACCEPT_LOOKS ? GSH_OK : GSH_ERR_SYSTEM;
}

static enum gsh_result accept_client(struct gsh_tcp_listener *listener)
{
    int fd, i = find_free_client(listener);
    if (i < 0) {
        errno = ENOMEM;
        return wait_for_room(listener);
    }
    enum gsh_result r = gsh_socket_accept(listener->listen_fd, &fd);
    if (r != GSH_OK && gsh_error_is_no_descriptor(errno)) {
        return wait_for_room(listener);
    }
    listener->n_looks = 0;
    if (r != GSH_OK || fd < 0) {
        return r;
    }
    struct client *v = &listener->clients[i];
    memset(v, 0, sizeof(*v));
    v->fd = fd;
    v->since_ns = gsh_now_ns();
    count_client(listener, 1);
    r = greet(listener, v);
    return r == GSH_OK ? epoll_add(listener, fd, CLIENT(i)) : r;
}

/* Continues reading; true when the client has authenticated and now belongs to the caller. */
static bool read_hello(struct gsh_tcp_listener *listener, struct client *v,
                       struct gsh_tcp_listener_event *event)
{
    size_t moved;
    enum gsh_result r =
        gsh_socket_recv_some(v->fd, (char *)&v->hello + v->got, sizeof(v->hello) - v->got, &moved);
    v->got += moved;
    if (v->got < sizeof(v->hello)) {
        if (r != GSH_OK) {
            drop(listener, v);
        }
        return false;
    }
    if (!gsh_hello_is_true(&v->hello, listener->secret, v->challenge)) {
        drop(listener, v);
        return false;
    }
    /* The caller may watch it under a tag of its own. */
    gsh_tcp_listener_remove(listener, v->fd);
    event->tag = -1;
    event->fd = v->fd;
    event->hello = v->hello;
    memcpy(event->challenge, v->challenge, sizeof(event->challenge));
    v->fd = -1;
    count_client(listener, -1);
    return true;
}

/* How long epoll may sleep: until the deadline, or until a client may be late. */
static int sleep_ms(const struct gsh_tcp_listener *listener, uint64_t deadline_ns)
{
    int limit_ms = gsh_deadline_poll_ms(deadline_ns);
    int client_ms = is_full(listener) ? 50 : 1000;
    if (!listener->is_listening && listener->n_clients == 0) {
        return gsh_poll_ms_at_most(limit_ms, gsh_deadline_poll_ms(listener->paused_until_ns));
    }
    return listener->n_clients > 0 ? gsh_poll_ms_at_most(limit_ms, client_ms) : limit_ms;
}

enum gsh_result gsh_tcp_listener_next(struct gsh_tcp_listener *listener, uint64_t deadline_ns,
                                      struct gsh_tcp_listener_event *event)
{
    for (;;) {
        struct epoll_event e;
        make_room(listener);
        const bool is_paused =
            listener->paused_until_ns != 0 && gsh_now_ns() < listener->paused_until_ns;
        enum gsh_result r = set_listening(listener, !is_paused && !is_full(listener));
        if (r != GSH_OK) {
            return r;
        }
        int n = epoll_wait(listener->epoll_fd, &e, 1, sleep_ms(listener, deadline_ns));
        if (n < 0 && errno != EINTR) {
            return GSH_ERR_SYSTEM;
        }
        if (__atomic_load_n(&listener->is_shut, __ATOMIC_ACQUIRE)) {
            errno = ESHUTDOWN;
            return GSH_ERR_SYSTEM;
        }
        /* Also after an event: a stream of strangers must not extend any limit. */
        drop_late(listener);
        if (gsh_deadline_poll_ms(deadline_ns) == 0) {
            return GSH_ERR_TIMEOUT;
        }
        if (n <= 0) {
            continue;
        }
        int64_t tag = (int64_t)e.data.u64;
        if (tag >= 0) {
            event->tag = (int)tag;
            event->fd = -1;
            return GSH_OK;
        }
        if (tag == LISTENER) {
            r = accept_client(listener);
        } else if (listener->clients[-2 - tag].fd >= 0 &&
                   read_hello(listener, &listener->clients[-2 - tag], event)) {
            return GSH_OK;
        }
        if (r != GSH_OK) {
            return r;
        }
    }
}
