/* SPDX-License-Identifier: Apache-2.0
 * Listeners: Unix sockets over epoll with the clients that have not yet said who they are. */
#define _GNU_SOURCE 1
#include "bootstrap/uds.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/process.h"
#include "base/sha256.h"
#include "bootstrap/socket.h"

#define HELLO_MAGIC 0x67736431u
#define NAME_BYTES  16 /* of a derived key in a name */
/* Clients of this user that have not proved themselves; and how many are taken from the kernel's
 * queue before the caller looks at its clock again. */
#define MAX_CLIENTS 256
#define MAX_AT_ONCE 64
#define LISTENER    UINT32_MAX

struct gsh_uds_listener {
    struct gsh_uds_key of;
    int rank;
    int listen_fd, epoll_fd;
    uint64_t paused_until_ns; /* epoll does not watch listen_fd; 0: it does */
    int n_looks;              /* in vain for a descriptor for a client */
    int n_clients;
    uint64_t n_come;
    struct client {
        int fd;         /* -1: free */
        uint64_t since; /* n_come then: the lowest is the oldest */
    } clients[MAX_CLIENTS];
};

void gsh_uds_key(struct gsh_uds_key *of, const uint8_t secret[GSH_SECRET_BYTES],
                 const char *purpose)
{
    memset(of, 0, sizeof(*of));
    of->purpose = purpose;
    memcpy(of->secret, secret, GSH_SECRET_BYTES);
    gsh_key_derive(secret, purpose, of->key);
}

/* Anyone on the host can read a name; it tells neither the secret nor another rank's name. */
static socklen_t address_of(const struct gsh_uds_key *of, int rank, struct sockaddr_un *out)
{
    char purpose[64], name[2 * NAME_BYTES + 1];
    snprintf(purpose, sizeof(purpose), "%s:%d", of->purpose, rank);
    gsh_key_name(of->secret, purpose, NAME_BYTES, name);
    memset(out, 0, sizeof(*out));
    out->sun_family = AF_UNIX;
    int n =
        snprintf(out->sun_path + 1, sizeof(out->sun_path) - 1, "gshmem-%s-%s", of->purpose, name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* ---- what travels ---- */

static void hello_mac(const struct gsh_uds_key *of, const struct gsh_uds_hello *hello,
                      uint8_t mac[GSH_UDS_MAC_BYTES])
{
    struct gsh_hmac h;
    struct sockaddr_un name;
    socklen_t bytes = address_of(of, hello->to, &name);
    gsh_hmac_init(&h, of->key, sizeof(of->key));
    gsh_hmac_update(&h, "hello", 5);
    gsh_hmac_update(&h, &name, bytes);
    gsh_hmac_update(&h, hello, offsetof(struct gsh_uds_hello, mac));
    gsh_hmac_finish(&h, mac);
}

static void answer_mac(const struct gsh_uds_key *of, const struct gsh_uds_hello *hello,
                       uint8_t mac[GSH_UDS_MAC_BYTES])
{
    struct gsh_hmac h;
    gsh_hmac_init(&h, of->key, sizeof(of->key));
    gsh_hmac_update(&h, "answer", 6);
    gsh_hmac_update(&h, hello, sizeof(*hello));
    gsh_hmac_finish(&h, mac);
}

bool gsh_uds_is_true_hello(const struct gsh_uds_key *of, int to, const void *data, size_t bytes,
                           struct gsh_uds_hello *out)
{
    uint8_t mac[GSH_UDS_MAC_BYTES];
    struct gsh_uds_hello hello;
    if (bytes != sizeof(hello)) {
        return false;
    }
    memcpy(&hello, data, sizeof(hello));
    if (hello.magic != HELLO_MAGIC || hello.to != to || hello.from < 0) {
        return false;
    }
    hello_mac(of, &hello, mac);
    *out = hello;
    return gsh_mac_equal(mac, hello.mac);
}

bool gsh_uds_is_true_answer(const struct gsh_uds_key *of, const struct gsh_uds_hello *hello,
                            const void *data, size_t bytes)
{
    uint8_t mac[GSH_UDS_MAC_BYTES];
    struct gsh_uds_answer answer;
    if (bytes != sizeof(answer)) {
        return false;
    }
    memcpy(&answer, data, sizeof(answer));
    answer_mac(of, hello, mac);
    return gsh_mac_equal(mac, answer.mac);
}

/* ---- the listener ---- */

static bool epoll_add(struct gsh_uds_listener *listener, int fd, uint32_t tag)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = tag};
    return epoll_ctl(listener->epoll_fd, EPOLL_CTL_ADD, fd, &e) == 0;
}

enum gsh_result gsh_uds_listen(const struct gsh_uds_key *of, int rank,
                               struct gsh_uds_listener **out)
{
    struct sockaddr_un address;
    struct gsh_uds_listener *listener = calloc(1, sizeof(*listener));
    if (listener == NULL) {
        errno = ENOMEM;
        return GSH_ERR_SYSTEM;
    }
    listener->of = *of;
    listener->rank = rank;
    for (int i = 0; i < MAX_CLIENTS; i++) {
        listener->clients[i].fd = -1;
    }
    socklen_t bytes = address_of(of, rank, &address);
    listener->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    listener->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->epoll_fd < 0 || listener->listen_fd < 0 ||
        bind(listener->listen_fd, (struct sockaddr *)&address, bytes) != 0 ||
        listen(listener->listen_fd, SOMAXCONN) != 0 ||
        !epoll_add(listener, listener->listen_fd, LISTENER)) {
        int saved = errno;
        gsh_uds_close(&listener);
        errno = saved;
        return GSH_ERR_SYSTEM;
    }
    *out = listener;
    return GSH_OK;
}

static void forget(struct gsh_uds_listener *listener, struct client *v)
{
    (void)epoll_ctl(listener->epoll_fd, EPOLL_CTL_DEL, v->fd, NULL);
    v->fd = -1;
    listener->n_clients--;
}

static void drop(struct gsh_uds_listener *listener, struct client *v)
{
    int fd = v->fd;
    forget(listener, v);
    gsh_socket_hang_up(&fd);
}

void gsh_uds_close(struct gsh_uds_listener **listener_p)
{
    struct gsh_uds_listener *listener = *listener_p;
    *listener_p = NULL;
    if (listener == NULL) {
        return;
    }
    for (int i = 0; i < MAX_CLIENTS; i++) {
        gsh_socket_hang_up(&listener->clients[i].fd);
    }
    gsh_socket_close(&listener->listen_fd);
    gsh_socket_close(&listener->epoll_fd);
    explicit_bzero(listener, sizeof(*listener));
    free(listener);
}

int gsh_uds_fd(const struct gsh_uds_listener *listener)
{
    return listener->epoll_fd;
}

int gsh_uds_poll_ms(const struct gsh_uds_listener *listener, int limit_ms)
{
    if (listener->paused_until_ns == 0) {
        return limit_ms;
    }
    return gsh_poll_ms_at_most(limit_ms, gsh_deadline_poll_ms(listener->paused_until_ns));
}

static bool has_input(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

/* What a client has sent is heard before it goes. False if no client is silent. */
static bool drop_oldest(struct gsh_uds_listener *listener)
{
    struct client *oldest = NULL;
    for (int i = 0; i < MAX_CLIENTS; i++) {
        struct client *v = &listener->clients[i];
        if (v->fd >= 0 && (oldest == NULL || v->since < oldest->since) && !has_input(v->fd)) {
            oldest = v;
        }
    }
    if (oldest != NULL) {
        drop(listener, oldest);
    }
    return oldest != NULL;
}

static bool enter(struct gsh_uds_listener *listener, int fd)
{
    uint32_t i = 0;
    while (listener->clients[i].fd >= 0) {
        i++;
    }
    listener->clients[i] = (struct client){.fd = fd, .since = listener->n_come++};
    listener->n_clients++;
    return epoll_add(listener, fd, i);
}

/* Those in the queue wait, and the caller hears those that are in. */
static enum gsh_result pause_listening(struct gsh_uds_listener *listener)
{
    if (epoll_ctl(listener->epoll_fd, EPOLL_CTL_DEL, listener->listen_fd, NULL) != 0) {
        return GSH_ERR_SYSTEM;
    }
    listener->paused_until_ns = gsh_now_ns() + GSH_ACCEPT_RETRY_NS;
    errno = EMFILE;
    return ++listener->n_looks < GSH_ACCEPT_LOOKS ? GSH_OK : GSH_ERR_SYSTEM;
}

static enum gsh_result resume_listening(struct gsh_uds_listener *listener)
{
    if (listener->paused_until_ns == 0 || gsh_now_ns() < listener->paused_until_ns) {
        return GSH_OK;
    }
    listener->paused_until_ns = 0;
    return epoll_add(listener, listener->listen_fd, LISTENER) ? GSH_OK : GSH_ERR_SYSTEM;
}

static enum gsh_result accept_clients(struct gsh_uds_listener *listener)
{
    for (int n = 0; n < MAX_AT_ONCE; n++) {
        if (listener->n_clients == MAX_CLIENTS && !drop_oldest(listener)) {
            return GSH_OK; /* all have said something, which comes first */
        }
        int fd = accept4(listener->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        bool is_starved = fd < 0 && gsh_error_is_no_descriptor(errno);
        if (!is_starved) {
            listener->n_looks = 0;
        }
        if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return GSH_OK;
        }
        if (is_starved) {
            if (!drop_oldest(listener)) {
                return pause_listening(listener);
            }
        } else if (fd < 0 && errno != EINTR && errno != ECONNABORTED) {
            return GSH_ERR_SYSTEM;
        } else if (fd >= 0 && !gsh_peer_is_of(fd, geteuid())) {
            gsh_socket_close(&fd);
        } else if (fd >= 0 && !enter(listener, fd)) {
            return GSH_ERR_SYSTEM;
        }
    }
    return GSH_OK;
}

/* Whether the client has proved itself and been answered; *from is then its rank. */
static bool read_hello(const struct gsh_uds_listener *listener, int fd, int *from)
{
    uint8_t data[sizeof(struct gsh_uds_hello) + 1];
    struct gsh_uds_hello hello;
    struct gsh_uds_answer answer;
    /* without room for descriptors, the kernel closes any that came along */
    ssize_t n = recv(fd, data, sizeof(data), MSG_DONTWAIT);
    if (n < 0 || !gsh_uds_is_true_hello(&listener->of, listener->rank, data, (size_t)n, &hello)) {
        return false;
    }
    answer_mac(&listener->of, &hello, answer.mac);
    *from = hello.from;
    return send(fd, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           (ssize_t)sizeof(answer);
}

enum gsh_result gsh_uds_accept(struct gsh_uds_listener *listener, int *fd, int *from)
{
    struct epoll_event e;
    *fd = -1;
    enum gsh_result r = resume_listening(listener);
    if (r != GSH_OK) {
        return r;
    }
    for (int n = 0; n < MAX_AT_ONCE && epoll_wait(listener->epoll_fd, &e, 1, 0) > 0; n++) {
        if (e.data.u32 == LISTENER) {
            r = accept_clients(listener);
            if (r != GSH_OK) {
                return r;
            }
            continue;
        }
        struct client *v = &listener->clients[e.data.u32];
        if (read_hello(listener, v->fd, from)) {
            *fd = v->fd;
            forget(listener, v);
            return GSH_OK;
        }
        drop(listener, v);
    }
    return GSH_OK;
}

/* ---- a connection ---- */

static enum gsh_result give_up(struct gsh_uds_connection *connection, enum gsh_result r)
{
    gsh_socket_close(&connection->fd);
    connection->has_sent_hello = false;
    return r;
}

enum gsh_result gsh_uds_connection_create(struct gsh_uds_connection *connection)
{
    if (connection->fd < 0) {
        connection->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }
    return connection->fd < 0 ? GSH_ERR_SYSTEM : GSH_OK;
}

enum gsh_result gsh_uds_connect(struct gsh_uds_connection *connection, const struct gsh_uds_key *of,
                                int from, int to)
{
    struct sockaddr_un address;
    struct gsh_uds_hello *hello = &connection->hello;
    enum gsh_result r = gsh_uds_connection_create(connection);
    if (r != GSH_OK || connection->has_sent_hello) {
        return r;
    }
    socklen_t bytes = address_of(of, to, &address);
    while (connect(connection->fd, (struct sockaddr *)&address, bytes) != 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return GSH_OK;
        }
        if (errno != EINTR) {
            return give_up(connection, errno == ECONNREFUSED ? GSH_ERR_PEER : GSH_ERR_SYSTEM);
        }
    }
    if (!gsh_peer_is_of(connection->fd, geteuid())) {
        errno = EPERM;
        return give_up(connection, GSH_ERR_ARG);
    }
    *hello = (struct gsh_uds_hello){.magic = HELLO_MAGIC, .from = from, .to = to};
    if (getrandom(hello->nonce, sizeof(hello->nonce), 0) != (ssize_t)sizeof(hello->nonce)) {
        return give_up(connection, GSH_ERR_SYSTEM);
    }
    hello_mac(of, hello, hello->mac);
    if (send(connection->fd, hello, sizeof(*hello), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        return give_up(connection, GSH_ERR_PEER);
    }
    connection->has_sent_hello = true;
    return GSH_OK;
}

enum gsh_result gsh_uds_receive_answer(struct gsh_uds_connection *connection,
                                       const struct gsh_uds_key *of, bool *is_in)
{
    uint8_t data[sizeof(struct gsh_uds_answer) + 1];
    *is_in = false;
    ssize_t n = recv(connection->fd, data, sizeof(data), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
        return GSH_OK;
    }
    if (n <= 0) {
        return give_up(connection, GSH_ERR_PEER);
    }
    if (!gsh_uds_is_true_answer(of, &connection->hello, data, (size_t)n)) {
        errno = EPROTO;
        return give_up(connection, GSH_ERR_ARG);
    }
    *is_in = true;
    return GSH_OK;
}

enum gsh_result gsh_uds_fail(enum gsh_result r, const char *what, int to)
{
    if (r == GSH_ERR_PEER) {
        return gsh_fail(r, "%s: PE %d died or left", what, to);
    }
    if (r == GSH_ERR_ARG && errno == EPERM) {
        return gsh_fail(GSH_ERR_SYSTEM, "%s: the socket of PE %d belongs to another user", what,
                        to);
    }
    if (r == GSH_ERR_ARG) {
        return gsh_fail(GSH_ERR_SYSTEM, "%s: PE %d did not prove the job's secret", what, to);
    }
    return gsh_fail_errno(r, "%s: the connection with PE %d", what, to);
}
