/* SPDX-License-Identifier: Apache-2.0
 * One datagram socket for each rank, at an abstract address that only holders of the job's random
 * bytes can compute. A message is a fixed struct and at most one descriptor. Messages of later
 * exchanges than the one a rank is in are kept until it gets there. */
#define _GNU_SOURCE 1
#include "bootstrap/fdpass.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "runtime/base/sha256.h"
#include "bootstrap/socket.h"
#include "runtime/base/util.h"

#define JOB_BYTES 16
/* How long to wait before the next try with a full or missing receiver. */
#define RETRY_MS 1
/* How often a rank checks whether those it waits for still exist. */
#define PROBE_MS 250

struct message {
    uint8_t job[JOB_BYTES];
    int32_t from;
    uint32_t has_fd;
    uint64_t tag;
};
_Static_assert(sizeof(struct message) == 32, "no padding");

struct kept {
    struct kept *next;
    struct message message;
    int fd; /* -1: none */
};

struct gsh_fdpass {
    uint8_t job[JOB_BYTES];
    int rank;
    uint64_t timeout_ns;
    int socket;
    struct kept *kept; /* arrived, not yet wanted */
    bool *has_met; /* [n_has_met]: that rank has existed, so if its address is gone it has died */
    int n_has_met;
};

/* The rest of one exchange. */
struct exchange {
    const int *ranks;
    int n;
    uint64_t tag;
    int my_fd;
    int *fds_out;
    bool *has_sent, *has_received; /* [n] */
    int n_to_send, n_to_receive;
};

/* The name reveals nothing about the job's bytes: anyone on the host can read it. */
static socklen_t address_of(const uint8_t job[JOB_BYTES], int rank, struct sockaddr_un *out)
{
    struct gsh_sha256 s;
    uint8_t digest[GSH_SHA256_BYTES];
    char name[48];
    gsh_sha256_init(&s);
    gsh_sha256_update(&s, "gshmem fdpass", 13);
    gsh_sha256_update(&s, job, JOB_BYTES);
    gsh_sha256_finish(&s, digest);
    int used = snprintf(name, sizeof(name), "gshmem-");
    for (int i = 0; i < 8; i++) {
        used += snprintf(name + used, sizeof(name) - (size_t)used, "%02x", digest[i]);
    }
    used += snprintf(name + used, sizeof(name) - (size_t)used, "-%d", rank);
    memset(out, 0, sizeof(*out));
    out->sun_family = AF_UNIX;
    memcpy(out->sun_path + 1, name, (size_t)used);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)used);
}

enum gsh_result gsh_fdpass_create(const uint8_t job[16], int rank, uint64_t timeout_ns,
                                  struct gsh_fdpass **out)
{
    struct sockaddr_un address;
    int on = 1;
    struct gsh_fdpass *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory to pass descriptors");
    }
    memcpy(f->job, job, JOB_BYTES);
    f->rank = rank;
    f->timeout_ns = timeout_ns;
    f->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t bytes = address_of(job, rank, &address);
    if (f->socket < 0 || setsockopt(f->socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0 ||
        bind(f->socket, (struct sockaddr *)&address, bytes) != 0) {
        enum gsh_result r = gsh_fail_errno(GSH_ERR_SYSTEM, "socket to pass descriptors");
        gsh_fdpass_destroy(&f);
        return r;
    }
    *out = f;
    return GSH_OK;
}

void gsh_fdpass_destroy(struct gsh_fdpass **fdpass)
{
    struct gsh_fdpass *f = *fdpass;
    *fdpass = NULL;
    if (f == NULL) {
        return;
    }
    gsh_socket_close(&f->socket);
    while (f->kept != NULL) {
        struct kept *k = f->kept;
        f->kept = k->next;
        gsh_socket_close(&k->fd);
        free(k);
    }
    free(f->has_met);
    explicit_bzero(f->job, sizeof(f->job));
    free(f);
}

/* If there is no memory for it, a death is only detected at the time limit. */
static void meet(struct gsh_fdpass *f, int rank)
{
    if (rank >= f->n_has_met) {
        int n = rank + 64;
        bool *grown = realloc(f->has_met, (size_t)n * sizeof(*grown));
        if (grown == NULL) {
            return;
        }
        memset(grown + f->n_has_met, 0, (size_t)(n - f->n_has_met) * sizeof(*grown));
        f->has_met = grown;
        f->n_has_met = n;
    }
    f->has_met[rank] = true;
}

/* ---- one message ---- */

/* GSH_ERR_PEER: no socket has that address (yet). *is_sent is false when the receiver is full. */
static enum gsh_result send_message(const struct gsh_fdpass *f, int to, uint64_t tag, int fd,
                                    bool *is_sent)
{
    struct message m = {.from = f->rank, .has_fd = fd >= 0, .tag = tag};
    struct sockaddr_un address;
    struct iovec data = {&m, sizeof(m)};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr header = {.msg_name = &address, .msg_iov = &data, .msg_iovlen = 1};
    memcpy(m.job, f->job, JOB_BYTES);
    header.msg_namelen = address_of(f->job, to, &address);
    if (fd >= 0) {
        header.msg_control = &control;
        header.msg_controllen = sizeof(control);
        struct cmsghdr *c = CMSG_FIRSTHDR(&header);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(fd));
        memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    }
    *is_sent = false;
    for (;;) {
        if (sendmsg(f->socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
            *is_sent = true;
            return GSH_OK;
        }
        if (errno == ECONNREFUSED) {
            return GSH_ERR_PEER;
        }
        /* ETOOMANYREFS: too many descriptors of this user are under way. Both are temporary. */
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ETOOMANYREFS) {
            return GSH_OK;
        }
        if (errno != EINTR) {
            return gsh_fail_errno(GSH_ERR_SYSTEM, "sending a descriptor to PE %d", to);
        }
    }
}

/* The message's descriptors and sender. Keeps the first descriptor, closes any other. */
static void take_control(struct msghdr *header, int *fd, bool *is_own_user)
{
    *fd = -1;
    *is_own_user = false;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level != SOL_SOCKET) {
            continue;
        }
        if (c->cmsg_type == SCM_CREDENTIALS) {
            struct ucred sender;
            memcpy(&sender, CMSG_DATA(c), sizeof(sender));
            *is_own_user = sender.uid == geteuid() || sender.uid == getuid();
        } else if (c->cmsg_type == SCM_RIGHTS) {
            size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (size_t i = 0; i < n; i++) {
                int received;
                memcpy(&received, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
                if (*fd < 0) {
                    *fd = received;
                } else {
                    close(received);
                }
            }
        }
    }
}

/* Receives one message of the job; *has_one is false if none waits. Drops all other messages. */
static enum gsh_result receive_message(const struct gsh_fdpass *f, struct message *m, int *fd,
                                       bool *has_one)
{
    *has_one = false;
    for (;;) {
        struct iovec data = {m, sizeof(*m)};
        union {
            struct cmsghdr align;
            char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(4 * sizeof(int))];
        } control;
        struct msghdr header = {.msg_iov = &data,
                                .msg_iovlen = 1,
                                .msg_control = &control,
                                .msg_controllen = sizeof(control)};
        bool is_own_user;
        ssize_t n = recvmsg(f->socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return GSH_OK;
        }
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return gsh_fail_errno(GSH_ERR_SYSTEM, "receiving a descriptor");
        }
        take_control(&header, fd, &is_own_user);
        if (n == sizeof(*m) && is_own_user && !(header.msg_flags & MSG_TRUNC) &&
            memcmp(m->job, f->job, JOB_BYTES) == 0) {
            *has_one = true;
            break;
        }
        gsh_socket_close(fd);
    }
    if (!m->has_fd) {
        gsh_socket_close(fd);
    }
    if (m->has_fd && *fd < 0) {
        return gsh_fail(GSH_ERR_SYSTEM,
                        "the descriptor PE %d sent did not arrive: too many open files? (ulimit "
                        "-n)",
                        m->from);
    }
    return GSH_OK;
}

/* ---- an exchange ---- */

/* Hands a message to the exchange if it belongs to it; otherwise false. */
static bool deliver(struct exchange *x, const struct message *m, int fd)
{
    for (int i = 0; i < x->n && m->tag == x->tag; i++) {
        if (x->ranks[i] == m->from && !x->has_received[i]) {
            x->fds_out[i] = fd;
            x->has_received[i] = true;
            x->n_to_receive--;
            return true;
        }
    }
    return false;
}

static void deliver_kept(struct gsh_fdpass *f, struct exchange *x)
{
    for (struct kept **p = &f->kept; *p != NULL;) {
        struct kept *k = *p;
        if (deliver(x, &k->message, k->fd)) {
            *p = k->next;
            free(k);
        } else {
            p = &k->next;
        }
    }
}

static enum gsh_result receive_all(struct gsh_fdpass *f, struct exchange *x, bool *has_moved)
{
    for (;;) {
        struct message m;
        int fd;
        bool has_one;
        enum gsh_result r = receive_message(f, &m, &fd, &has_one);
        if (r != GSH_OK || !has_one) {
            return r;
        }
        *has_moved = true;
        if (m.from >= 0) {
            meet(f, m.from);
        }
        if (deliver(x, &m, fd)) {
            continue;
        }
        struct kept *k = malloc(sizeof(*k));
        if (k == NULL) {
            gsh_socket_close(&fd);
            return gsh_fail(GSH_ERR_NOMEM, "no memory to keep a descriptor");
        }
        *k = (struct kept){f->kept, m, fd};
        f->kept = k;
    }
}

static enum gsh_result send_all(struct gsh_fdpass *f, struct exchange *x, bool *has_moved)
{
    for (int i = 0; i < x->n; i++) {
        bool is_sent;
        if (x->has_sent[i]) {
            continue;
        }
        enum gsh_result r = send_message(f, x->ranks[i], x->tag, x->my_fd, &is_sent);
        if (r == GSH_ERR_PEER && x->ranks[i] < f->n_has_met && f->has_met[x->ranks[i]]) {
            return gsh_fail(r, "passing descriptors: PE %d died or left", x->ranks[i]);
        }
        if (r != GSH_OK && r != GSH_ERR_PEER) {
            return r;
        }
        if (is_sent) {
            *has_moved = true;
            x->has_sent[i] = true;
            x->n_to_send--;
            meet(f, x->ranks[i]);
        }
    }
    return GSH_OK;
}

/* Whether ranks that got our message but sent none still exist: an empty datagram, which receivers
 * drop, finds no receiver at the address of a rank that has gone. */
static enum gsh_result probe_missing(const struct gsh_fdpass *f, const struct exchange *x)
{
    for (int i = 0; i < x->n; i++) {
        struct sockaddr_un address;
        if (!x->has_sent[i] || x->has_received[i]) {
            continue;
        }
        socklen_t bytes = address_of(f->job, x->ranks[i], &address);
        if (sendto(f->socket, NULL, 0, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&address,
                   bytes) < 0 &&
            errno == ECONNREFUSED) {
            return gsh_fail(GSH_ERR_PEER, "passing descriptors: PE %d died or left", x->ranks[i]);
        }
    }
    return GSH_OK;
}

static enum gsh_result fail_late(const struct gsh_fdpass *f, const struct exchange *x)
{
    int i = 0;
    while (i < x->n - 1 && x->has_received[i] && x->has_sent[i]) {
        i++;
    }
    return gsh_fail(GSH_ERR_TIMEOUT, "passing descriptors: PE %d did not %s within %g s",
                    x->ranks[i], x->has_received[i] ? "take one" : "send one",
                    (double)f->timeout_ns * 1e-9);
}

static enum gsh_result run(struct gsh_fdpass *f, struct exchange *x)
{
    uint64_t deadline_ns = gsh_deadline_in(f->timeout_ns);
    deliver_kept(f, x);
    while (x->n_to_send > 0 || x->n_to_receive > 0) {
        bool has_moved = false;
        enum gsh_result r = receive_all(f, x, &has_moved);
        if (r == GSH_OK) {
            r = send_all(f, x, &has_moved);
        }
        if (r != GSH_OK) {
            return r;
        }
        if (has_moved) {
            continue;
        }
        int wait_ms = gsh_deadline_poll_ms(deadline_ns);
        if (wait_ms == 0) {
            return fail_late(f, x);
        }
        /* An unconnected socket cannot poll for room at a receiver. */
        int most_ms = x->n_to_send > 0 ? RETRY_MS : PROBE_MS;
        if (wait_ms < 0 || wait_ms > most_ms) {
            wait_ms = most_ms;
        }
        struct pollfd p = {.fd = f->socket, .events = POLLIN};
        int n_ready = poll(&p, 1, wait_ms);
        if (n_ready < 0 && errno != EINTR) {
            return gsh_fail_errno(GSH_ERR_SYSTEM, "waiting for descriptors");
        }
        if (n_ready == 0 && (r = probe_missing(f, x)) != GSH_OK) {
            return r;
        }
    }
    return GSH_OK;
}

enum gsh_result gsh_fdpass_exchange(struct gsh_fdpass *f, const int *ranks, int n, uint64_t tag,
                                    int my_fd, int *fds_out)
{
    if (n < 1) {
        return GSH_OK;
    }
    bool *flags = calloc(2 * (size_t)n, sizeof(*flags));
    if (flags == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory to pass descriptors");
    }
    struct exchange x = {.ranks = ranks,
                         .n = n,
                         .tag = tag,
                         .my_fd = my_fd,
                         .fds_out = fds_out,
                         .has_sent = flags,
                         .has_received = flags + n};
    for (int i = 0; i < n; i++) {
        fds_out[i] = -1;
        flags[i] = flags[n + i] = ranks[i] == f->rank;
        x.n_to_send += ranks[i] != f->rank;
    }
    x.n_to_receive = x.n_to_send;
    enum gsh_result r = run(f, &x);
    for (int i = 0; i < n && r != GSH_OK; i++) {
        gsh_socket_close(&fds_out[i]);
    }
    free(flags);
    return r;
}
