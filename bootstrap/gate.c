/* SPDX-License-Identifier: Apache-2.0
 * The gate over epoll: one listener, a bounded number of visitors not yet authenticated, and the
 * caller's watched descriptors. */
#define _GNU_SOURCE 1
#include "bootstrap/gate.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include "base/array.h"

/* Visitors of all gates of the process take a share of the descriptors that it may have, since it
 * needs the others itself. Each gate has the fewest in any case. */
#define MIN_VISITORS 8
#define MAX_VISITORS 1024
#define FILES_SHARE  8

/* A visitor's hello arrives in one round trip. When all places are taken, one that has said nothing
 * for the first time, or not all of it for the second, may be dropped for a newcomer; one that
 * exceeds the third always is. */
#define SILENT_PATIENCE_NS UINT64_C(250000000)
#define PATIENCE_NS        UINT64_C(1000000000)
#define MAX_PATIENCE_NS    UINT64_C(10000000000)

static int n_all_visitors; /* of the process; atomic, orders nothing */

struct visitor {
    int fd; /* -1: free */
    uint64_t since_ns;
    size_t got;
    struct gsh_hello hello;
    uint8_t challenge[GSH_NONCE_BYTES];
};

struct gsh_gate {
    int listen_fd, epoll_fd;
    bool is_listening; /* epoll watches the listener */
    bool is_shut;      /* atomic */
    bool sends_challenge;
    struct gsh_address address;
    uint8_t challenge[GSH_NONCE_BYTES];
    uint8_t secret[GSH_SHA256_BYTES];
    int n_visitors, n_places, most_places;
    int n_allocated;
    struct visitor *visitors; /* [n_allocated] */
};

/* epoll's tags: watched descriptors count up from 0, the others down from -1. */
#define LISTENER   (-1)
#define VISITOR(i) (-2 - (i))

static enum gsh_result epoll_add(struct gsh_gate *gate, int fd, int64_t tag)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = (uint64_t)tag};
    return epoll_ctl(gate->epoll_fd, EPOLL_CTL_ADD, fd, &e) == 0 ? GSH_OK : GSH_ERR_SYSTEM;
}

static int find_most_places(int n_files)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur > INT_MAX) {
        return MAX_VISITORS;
    }
    int limit = (int)files.rlim_cur, share = limit / FILES_SHARE;
    share = limit - n_files < share ? limit - n_files : share;
    return share < MIN_VISITORS ? MIN_VISITORS : share > MAX_VISITORS ? MAX_VISITORS : share;
}

void gsh_gate_leave_files(struct gsh_gate *gate, int n)
{
    gate->n_places = gate->most_places = find_most_places(n);
}

static void count_visitor(struct gsh_gate *gate, int by)
{
    gate->n_visitors += by;
    __atomic_fetch_add(&n_all_visitors, by, __ATOMIC_RELAXED);
}

static bool is_full(const struct gsh_gate *gate)
{
    return gate->n_visitors >= gate->n_places ||
           (gate->n_visitors >= MIN_VISITORS &&
            __atomic_load_n(&n_all_visitors, __ATOMIC_RELAXED) >= gate->most_places);
}

enum gsh_result gsh_gate_create(const struct gsh_address *at,
                                const uint8_t challenge[GSH_NONCE_BYTES], struct gsh_gate **out)
{
    struct gsh_gate *gate = calloc(1, sizeof(*gate));
    if (gate == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for start-up over TCP");
    }
    gate->listen_fd = gate->epoll_fd = -1;
    gate->n_places = gate->most_places = find_most_places(0);
    gate->sends_challenge = challenge == NULL;
    if (challenge != NULL) {
        memcpy(gate->challenge, challenge, sizeof(gate->challenge));
    }
    enum gsh_result r = gsh_socket_listen(at, &gate->listen_fd, &gate->address);
    if (r == GSH_OK && (gate->epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0) {
        r = GSH_ERR_SYSTEM;
    }
    if (r == GSH_OK) {
        r = epoll_add(gate, gate->listen_fd, LISTENER);
    }
    gate->is_listening = r == GSH_OK;
    if (r != GSH_OK) {
        char text[GSH_ADDRESS_TEXT];
        r = gsh_fail_errno(r, "start-up over TCP: cannot listen at %s", gsh_address_text(at, text));
        gsh_gate_destroy(&gate);
        return r;
    }
    *out = gate;
    return GSH_OK;
}

void gsh_gate_destroy(struct gsh_gate **gate_p)
{
    struct gsh_gate *gate = *gate_p;
    *gate_p = NULL;
    if (gate == NULL) {
        return;
    }
    for (int i = 0; i < gate->n_allocated; i++) {
        gsh_socket_hang_up(&gate->visitors[i].fd);
    }
    count_visitor(gate, -gate->n_visitors);
    free(gate->visitors);
    gsh_socket_close(&gate->listen_fd);
    gsh_socket_close(&gate->epoll_fd);
    explicit_bzero(gate, sizeof(*gate));
    free(gate);
}

const struct gsh_address *gsh_gate_address(const struct gsh_gate *gate)
{
    return &gate->address;
}

void gsh_gate_set_secret(struct gsh_gate *gate, const uint8_t secret[GSH_SHA256_BYTES])
{
    memcpy(gate->secret, secret, sizeof(gate->secret));
}

enum gsh_result gsh_gate_watch(struct gsh_gate *gate, int fd, int tag)
{
    return epoll_add(gate, fd, tag);
}

void gsh_gate_unwatch(struct gsh_gate *gate, int fd)
{
    (void)epoll_ctl(gate->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

void gsh_gate_shut(struct gsh_gate *gate)
{
    /* release: pairs with the acquire in gsh_gate_next, which the next line wakes */
    __atomic_store_n(&gate->is_shut, true, __ATOMIC_RELEASE);
    (void)shutdown(gate->listen_fd, SHUT_RDWR);
}

static void drop(struct gsh_gate *gate, struct visitor *v)
{
    gsh_gate_unwatch(gate, v->fd);
    gsh_socket_hang_up(&v->fd);
    count_visitor(gate, -1);
    gate->n_places = gate->most_places; /* its descriptor may serve the next one */
}

/* Drops visitors whose time is over. */
static void drop_late(struct gsh_gate *gate)
{
    uint64_t now = gsh_now_ns();
    for (int i = 0; i < gate->n_allocated; i++) {
        if (gate->visitors[i].fd >= 0 && now - gate->visitors[i].since_ns >= MAX_PATIENCE_NS) {
            drop(gate, &gate->visitors[i]);
        }
    }
}

static bool has_input(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

/* The one to drop for a newcomer: the oldest that has been silent for too long, else the oldest
 * that has begun a hello. What a visitor has sent is heard first. NULL: none yet. */
static struct visitor *find_slowest(struct gsh_gate *gate)
{
    struct visitor *slowest = NULL;
    uint64_t now = gsh_now_ns();
    for (int i = 0; i < gate->n_allocated; i++) {
        struct visitor *v = &gate->visitors[i];
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

static void make_room(struct gsh_gate *gate)
{
    struct visitor *slowest =
        is_full(gate) && has_input(gate->listen_fd) ? find_slowest(gate) : NULL;
    if (slowest != NULL) {
        drop(gate, slowest);
    }
}

/* While all places are taken, newcomers wait in the kernel's queue. */
static enum gsh_result set_listening(struct gsh_gate *gate, bool on)
{
    if (on == gate->is_listening) {
        return GSH_OK;
    }
    gate->is_listening = on;
    if (on) {
        return epoll_add(gate, gate->listen_fd, LISTENER);
    }
    return epoll_ctl(gate->epoll_fd, EPOLL_CTL_DEL, gate->listen_fd, NULL) == 0 ? GSH_OK
                                                                                : GSH_ERR_SYSTEM;
}

static enum gsh_result greet(struct gsh_gate *gate, struct visitor *v)
{
    struct gsh_challenge challenge;
    size_t moved;
    if (!gate->sends_challenge) {
        memcpy(v->challenge, gate->challenge, sizeof(v->challenge));
        return GSH_OK;
    }
    enum gsh_result r = gsh_random(v->challenge, sizeof(v->challenge));
    if (r != GSH_OK) {
        return r;
    }
    gsh_magic(challenge.magic);
    memcpy(challenge.nonce, v->challenge, sizeof(challenge.nonce));
    /* A visitor that cannot be sent to will not send a hello either, and is then dropped. */
    (void)!gsh_socket_send_some(v->fd, &challenge, sizeof(challenge), &moved);
    return GSH_OK;
}

/* The index of a free place; -1: no memory. */
static int find_place(struct gsh_gate *gate)
{
    int i = 0;
    while (i < gate->n_allocated && gate->visitors[i].fd >= 0) {
        i++;
    }
    if (i == gate->n_allocated) {
        size_t room = (size_t)i;
        if (!gsh_array_reserve(&gate->visitors, &room, room + 1, sizeof(*gate->visitors))) {
            return -1;
        }
        gate->n_allocated = (int)room;
        for (int k = i; k < gate->n_allocated; k++) {
            gate->visitors[k].fd = -1;
        }
    }
    return i;
}

static enum gsh_result accept_visitor(struct gsh_gate *gate)
{
    int fd, i = find_place(gate);
    if (i < 0) {
        errno = ENOMEM;
        return GSH_ERR_SYSTEM;
    }
    enum gsh_result r = gsh_socket_accept(gate->listen_fd, &fd);
    if (r != GSH_OK && (errno == EMFILE || errno == ENFILE) && gate->n_visitors > 0) {
        gate->n_places = gate->n_visitors; /* a visitor has to go before the next one comes */
        return GSH_OK;
    }
    if (r != GSH_OK || fd < 0) {
        return r;
    }
    struct visitor *v = &gate->visitors[i];
    memset(v, 0, sizeof(*v));
    v->fd = fd;
    v->since_ns = gsh_now_ns();
    count_visitor(gate, 1);
    r = greet(gate, v);
    return r == GSH_OK ? epoll_add(gate, fd, VISITOR(i)) : r;
}

/* Continues reading; true when the visitor has authenticated and now belongs to the caller. */
static bool hear(struct gsh_gate *gate, struct visitor *v, struct gsh_gate_event *event)
{
    size_t moved;
    enum gsh_result r =
        gsh_socket_recv_some(v->fd, (char *)&v->hello + v->got, sizeof(v->hello) - v->got, &moved);
    v->got += moved;
    if (v->got < sizeof(v->hello)) {
        if (r != GSH_OK) {
            drop(gate, v);
        }
        return false;
    }
    if (!gsh_hello_is_true(&v->hello, gate->secret, v->challenge)) {
        drop(gate, v);
        return false;
    }
    /* The caller may watch it under a tag of its own. */
    gsh_gate_unwatch(gate, v->fd);
    event->tag = -1;
    event->fd = v->fd;
    event->hello = v->hello;
    v->fd = -1;
    count_visitor(gate, -1);
    return true;
}

/* How long epoll may sleep: until the deadline, or until a visitor may be late. */
static int sleep_ms(const struct gsh_gate *gate, uint64_t deadline_ns)
{
    int limit_ms = gsh_deadline_poll_ms(deadline_ns);
    int visitor_ms = is_full(gate) ? 50 : 1000;
    if (gate->n_visitors > 0 && (limit_ms < 0 || limit_ms > visitor_ms)) {
        return visitor_ms;
    }
    return limit_ms;
}

enum gsh_result gsh_gate_next(struct gsh_gate *gate, uint64_t deadline_ns,
                              struct gsh_gate_event *event)
{
    for (;;) {
        struct epoll_event e;
        make_room(gate);
        enum gsh_result r = set_listening(gate, !is_full(gate));
        if (r != GSH_OK) {
            return r;
        }
        int n = epoll_wait(gate->epoll_fd, &e, 1, sleep_ms(gate, deadline_ns));
        if (n < 0 && errno != EINTR) {
            return GSH_ERR_SYSTEM;
        }
        if (__atomic_load_n(&gate->is_shut, __ATOMIC_ACQUIRE)) {
            errno = ESHUTDOWN;
            return GSH_ERR_SYSTEM;
        }
        /* Also after an event: a stream of strangers must not extend any limit. */
        drop_late(gate);
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
            r = accept_visitor(gate);
        } else if (gate->visitors[-2 - tag].fd >= 0 &&
                   hear(gate, &gate->visitors[-2 - tag], event)) {
            return GSH_OK;
        }
        if (r != GSH_OK) {
            return r;
        }
    }
}
