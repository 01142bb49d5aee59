/* SPDX-License-Identifier: Apache-2.0
 * TCP with time limits over poll(2). One place for interrupted calls, SIGPIPE, close-on-exec and,
 * for tests, system calls that fail on demand. */
#define _GNU_SOURCE 1
#include "bootstrap/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/private_fd.h"

#ifdef GSH_FAULTS
static _Thread_local unsigned calls_left; /* 1: the next call fails; 0: none will */

bool gsh_socket_fail_at(unsigned call)
{
    bool was_reached = calls_left == 0;
    calls_left = call;
    return was_reached;
}

static bool is_made_to_fail(void)
{
    if (calls_left == 0 || --calls_left > 0) {
        return false;
    }
    errno = EIO;
    return true;
}
#else
static bool is_made_to_fail(void)
{
    return false;
}
#endif

/* ---- addresses ---- */

const char *gsh_address_text(const struct gsh_address *address, char text[GSH_ADDRESS_TEXT])
{
    char ip[INET6_ADDRSTRLEN] = "?";
    bool is_v6 = address->family == 6;
    inet_ntop(is_v6 ? AF_INET6 : AF_INET, address->ip, ip, sizeof(ip));
    snprintf(text, GSH_ADDRESS_TEXT, is_v6 ? "[%s]:%d" : "%s:%d", ip,
             address->port[0] << 8 | address->port[1]);
    return text;
}

static socklen_t to_sockaddr(const struct gsh_address *address, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof(*out));
    if (address->family == 6) {
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
        v6->sin6_family = AF_INET6;
        memcpy(&v6->sin6_port, address->port, sizeof(address->port));
        memcpy(&v6->sin6_addr, address->ip, 16);
        return sizeof(*v6);
    }
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    v4->sin_family = AF_INET;
    memcpy(&v4->sin_port, address->port, sizeof(address->port));
    memcpy(&v4->sin_addr, address->ip, 4);
    return sizeof(*v4);
}

enum gsh_result gsh_socket_local_address(int fd, struct gsh_address *out)
{
    struct sockaddr_storage any;
    socklen_t bytes = sizeof(any);
    if (is_made_to_fail() || getsockname(fd, (struct sockaddr *)&any, &bytes) != 0) {
        return GSH_ERR_SYSTEM;
    }
    memset(out, 0, sizeof(*out));
    if (any.ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&any;
        out->family = 6;
        memcpy(out->port, &v6->sin6_port, sizeof(out->port));
        memcpy(out->ip, &v6->sin6_addr, 16);
    } else {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&any;
        out->family = 4;
        memcpy(out->port, &v4->sin_port, sizeof(out->port));
        memcpy(out->ip, &v4->sin_addr, 4);
    }
    return GSH_OK;
}

bool gsh_address_from_text(const char *text, struct gsh_address *out)
{
    const char *colon = strrchr(text, ':');
    char ip[INET6_ADDRSTRLEN + 2];
    struct gsh_address address = {0};
    char *end = NULL;
    if (colon == NULL || (size_t)(colon - text) >= sizeof(ip) || colon[1] < '0' || colon[1] > '9') {
        return false;
    }
    const unsigned long port = strtoul(colon + 1, &end, 10);
    size_t n = (size_t)(colon - text);
    const bool is_v6 = n > 1 && text[0] == '[' && text[n - 1] == ']';
    memcpy(ip, text + is_v6, n - 2 * (size_t)is_v6);
    ip[n - 2 * (size_t)is_v6] = '\0';
    if (*end != '\0' || port == 0 || port > UINT16_MAX ||
        inet_pton(is_v6 ? AF_INET6 : AF_INET, ip, address.ip) != 1) {
        return false;
    }
    address.family = is_v6 ? 6 : 4;
    address.port[0] = (uint8_t)(port >> 8);
    address.port[1] = (uint8_t)port;
    *out = address;
    return true;
}

/* ---- waiting ---- */

int gsh_deadline_poll_ms(uint64_t deadline_ns)
{
    if (deadline_ns == 0) {
        return -1;
    }
    uint64_t now = gsh_now_ns();
    if (now >= deadline_ns) {
        return 0;
    }
    return (int)gsh_min_u64((deadline_ns - now + 999999) / 1000000, INT_MAX);
}

/* GSH_OK when a descriptor is ready; GSH_ERR_TIMEOUT past the deadline. */
static enum gsh_result wait_for(struct pollfd *fds, nfds_t n, uint64_t deadline_ns)
{
    for (;;) {
        int wait_ms = gsh_deadline_poll_ms(deadline_ns);
        int ready = is_made_to_fail() ? -1 : poll(fds, n, wait_ms);
        if (ready > 0) {
            return GSH_OK;
        }
        if (ready < 0 && errno != EINTR) {
            return GSH_ERR_SYSTEM;
        }
        if (ready == 0 && gsh_deadline_poll_ms(deadline_ns) == 0) {
            return GSH_ERR_TIMEOUT;
        }
    }
}

/* The result of errno after a call on a connection. */
static enum gsh_result connection_result(void)
{
    switch (errno) {
    case EPIPE:
    case ECONNRESET:
    case ECONNREFUSED:
    case ECONNABORTED:
    case ENOTCONN:
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
        return GSH_ERR_PEER;
    default:
        return GSH_ERR_SYSTEM;
    }
}

/* ---- connections ---- */

void gsh_socket_close(int *fd)
{
    gsh_private_fd_close(fd);
}

void gsh_socket_hang_up(int *fd)
{
    int saved = errno;
    if (*fd >= 0) {
        (void)shutdown(*fd, SHUT_RDWR);
    }
    errno = saved;
    gsh_socket_close(fd);
}

static int new_socket(const struct gsh_address *address)
{
    if (is_made_to_fail()) {
        return -1;
    }
    return socket(address->family == 6 ? AF_INET6 : AF_INET,
                  SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
}

/* Messages are small, and each waits for an answer. A failure only costs time. */
static void set_no_delay(int fd)
{
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

enum gsh_result gsh_socket_listen(const struct gsh_address *at, int *fd, struct gsh_address *bound)
{
    struct sockaddr_storage any;
    socklen_t bytes = to_sockaddr(at, &any);
    int s = new_socket(at);
    if (s < 0) {
        return GSH_ERR_SYSTEM;
    }
    const bool is_chosen = at->port[0] != 0 || at->port[1] != 0;
    int on = 1;
    if (is_chosen) { /* the last one's connections may still be ending there */
        (void)setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    }
    if (is_made_to_fail() || bind(s, (struct sockaddr *)&any, bytes) != 0 || is_made_to_fail() ||
        listen(s, SOMAXCONN) != 0 || gsh_socket_local_address(s, bound) != GSH_OK) {
        gsh_socket_close(&s);
        return GSH_ERR_SYSTEM;
    }
    *fd = s;
    return GSH_OK;
}

enum gsh_result gsh_socket_accept(int listen_fd, int *fd)
{
    *fd = -1;
    for (;;) {
        int s =
            is_made_to_fail() ? -1 : accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (s >= 0) {
            set_no_delay(s);
            *fd = s;
            return GSH_OK;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return GSH_OK;
        }
        /* A client that has left again, and faults of its network, are not our failures. */
        if (errno != EINTR && errno != EPROTO && connection_result() != GSH_ERR_PEER) {
            return GSH_ERR_SYSTEM;
        }
    }
}

enum gsh_result gsh_socket_connect(const struct gsh_address *to, uint64_t deadline_ns, int *fd)
{
    struct sockaddr_storage any;
    socklen_t bytes = to_sockaddr(to, &any);
    int s = new_socket(to);
    enum gsh_result r = GSH_OK;
    if (s < 0) {
        return GSH_ERR_SYSTEM;
    }
    set_no_delay(s);
    if (is_made_to_fail() || connect(s, (struct sockaddr *)&any, bytes) != 0) {
        /* An interrupted connect continues by itself, like one in progress. */
        if (errno == EINPROGRESS || errno == EINTR) {
            struct pollfd p = {.fd = s, .events = POLLOUT};
            int error = 0;
            socklen_t error_bytes = sizeof(error);
            r = wait_for(&p, 1, deadline_ns);
            if (r == GSH_OK && getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &error_bytes) != 0) {
                r = GSH_ERR_SYSTEM;
            }
            if (r == GSH_OK && error != 0) {
                errno = error;
                r = connection_result();
            }
        } else {
            r = connection_result();
        }
    }
    if (r != GSH_OK) {
        gsh_socket_close(&s);
    } else {
        *fd = s;
    }
    return r;
}

/* ---- data ---- */

enum gsh_result gsh_socket_send_some(int fd, const void *data, size_t bytes, size_t *moved)
{
    *moved = 0;
    while (*moved < bytes) {
        ssize_t n = is_made_to_fail() ? -1
                                      : send(fd, (const char *)data + *moved, bytes - *moved,
                                             MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) {
            *moved += (size_t)n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        } else if (errno != EINTR) {
            return connection_result();
        }
    }
    return GSH_OK;
}

enum gsh_result gsh_socket_recv_some(int fd, void *data, size_t bytes, size_t *moved)
{
    *moved = 0;
    while (*moved < bytes) {
        ssize_t n =
            is_made_to_fail() ? -1 : recv(fd, (char *)data + *moved, bytes - *moved, MSG_DONTWAIT);
        if (n > 0) {
            *moved += (size_t)n;
        } else if (n == 0) {
            errno = ECONNRESET;
            return GSH_ERR_PEER;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        } else if (errno != EINTR) {
            return connection_result();
        }
    }
    return GSH_OK;
}

static enum gsh_result advance(struct gsh_socket_part *part, bool is_out)
{
    size_t moved = 0;
    char *data = part->data;
    if (part->done == part->bytes) {
        return GSH_OK;
    }
    enum gsh_result r =
        is_out
            ? gsh_socket_send_some(part->fd, data + part->done, part->bytes - part->done, &moved)
            : gsh_socket_recv_some(part->fd, data + part->done, part->bytes - part->done, &moved);
    part->done += moved;
    part->is_broken = r != GSH_OK;
    return r;
}

enum gsh_result gsh_socket_exchange(struct gsh_socket_part *out, struct gsh_socket_part *in,
                                    uint64_t deadline_ns)
{
    for (;;) {
        enum gsh_result r = advance(out, true);
        if (r == GSH_OK) {
            r = advance(in, false);
        }
        if (r != GSH_OK) {
            return r;
        }
        struct pollfd fds[2];
        nfds_t n = 0;
        if (out->done < out->bytes) {
            fds[n++] = (struct pollfd){.fd = out->fd, .events = POLLOUT};
        }
        if (in->done < in->bytes) {
            fds[n++] = (struct pollfd){.fd = in->fd, .events = POLLIN};
        }
        if (n == 0 || (out->may_lag && in->done == in->bytes)) {
            return GSH_OK;
        }
        r = wait_for(fds, n, deadline_ns);
        if (r != GSH_OK) {
            return r;
        }
    }
}

enum gsh_result gsh_socket_send(int fd, const void *data, size_t bytes, uint64_t deadline_ns)
{
    struct gsh_socket_part out = {.fd = fd, .data = (void *)data, .bytes = bytes}, in = {0};
    return gsh_socket_exchange(&out, &in, deadline_ns);
}

enum gsh_result gsh_socket_recv(int fd, void *data, size_t bytes, uint64_t deadline_ns)
{
    struct gsh_socket_part out = {0}, in = {.fd = fd, .data = data, .bytes = bytes};
    return gsh_socket_exchange(&out, &in, deadline_ns);
}
