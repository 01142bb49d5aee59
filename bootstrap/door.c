/* SPDX-License-Identifier: Apache-2.0
 * Doors: listeners over epoll with the visitors that have not yet said who they are. */
#define _GNU_SOURCE 1
#include "bootstrap/door.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/sha256.h"
#include "bootstrap/socket.h"

#define HELLO_MAGIC 0x67736431u
#define NAME_BYTES  16 /* of a derived key in a name */
/* Visitors of this user that have not proved themselves; and how many are taken from the kernel's
 * queue before the caller looks at its clock again. */
#define MAX_VISITORS 256
#define MAX_AT_ONCE  64
#define LISTENER     UINT32_MAX

struct gsh_door {
    struct gsh_door_of of;
    int rank;
    int listener, epoll_fd;
    int n_visitors;
    uint64_t n_come;
    struct visitor {
        int fd;         /* -1: free */
        uint64_t since; /* n_come then: the lowest is the oldest */
    } visitors[MAX_VISITORS];
};

void gsh_door_of(struct gsh_door_of *of, const uint8_t secret[GSH_SECRET_BYTES],
                 const char *purpose)
{
    memset(of, 0, sizeof(*of));
    of->purpose = purpose;
    memcpy(of->secret, secret, GSH_SECRET_BYTES);
    gsh_key_derive(secret, purpose, of->key);
}

/* Anyone on the host can read a name; it tells neither the secret nor another rank's name. */
static socklen_t address_of(const struct gsh_door_of *of, int rank, struct sockaddr_un *out)
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

/* Of the process that listens or has connected, as it was then. */
static bool is_own_user(int fd)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

/* ---- what travels ---- */

static void hello_mac(const struct gsh_door_of *of, const struct gsh_door_hello *hello,
                      uint8_t mac[GSH_DOOR_MAC_BYTES])
{
    struct gsh_hmac h;
    struct sockaddr_un name;
    socklen_t bytes = address_of(of, hello->to, &name);
    gsh_hmac_init(&h, of->key, sizeof(of->key));
    gsh_hmac_update(&h, "hello", 5);
    gsh_hmac_update(&h, &name, bytes);
    gsh_hmac_update(&h, hello, offsetof(struct gsh_door_hello, mac));
    gsh_hmac_finish(&h, mac);
}

static void answer_mac(const struct gsh_door_of *of, const struct gsh_door_hello *hello,
                       uint8_t mac[GSH_DOOR_MAC_BYTES])
{
    struct gsh_hmac h;
    gsh_hmac_init(&h, of->key, sizeof(of->key));
    gsh_hmac_update(&h, "answer", 6);
    gsh_hmac_update(&h, hello, sizeof(*hello));
    gsh_hmac_finish(&h, mac);
}

bool gsh_door_is_true_hello(const struct gsh_door_of *of, int to, const void *data, size_t bytes,
                            struct gsh_door_hello *out)
{
    uint8_t mac[GSH_DOOR_MAC_BYTES];
    struct gsh_door_hello hello;
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

bool gsh_door_is_true_answer(const struct gsh_door_of *of, const struct gsh_door_hello *hello,
                             const void *data, size_t bytes)
{
    uint8_t mac[GSH_DOOR_MAC_BYTES];
    struct gsh_door_answer answer;
    if (bytes != sizeof(answer)) {
        return false;
    }
    memcpy(&answer, data, sizeof(answer));
    answer_mac(of, hello, mac);
    return gsh_mac_equal(mac, answer.mac);
}

/* ---- the door ---- */

static bool watch(struct gsh_door *door, int fd, uint32_t tag)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = tag};
    return epoll_ctl(door->epoll_fd, EPOLL_CTL_ADD, fd, &e) == 0;
}

enum gsh_result gsh_door_open(const struct gsh_door_of *of, int rank, struct gsh_door **out)
{
    struct sockaddr_un address;
    struct gsh_door *door = calloc(1, sizeof(*door));
    if (door == NULL) {
        errno = ENOMEM;
        return GSH_ERR_SYSTEM;
    }
    door->of = *of;
    door->rank = rank;
    for (int i = 0; i < MAX_VISITORS; i++) {
        door->visitors[i].fd = -1;
    }
    socklen_t bytes = address_of(of, rank, &address);
    door->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    door->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (door->epoll_fd < 0 || door->listener < 0 ||
        bind(door->listener, (struct sockaddr *)&address, bytes) != 0 ||
        listen(door->listener, SOMAXCONN) != 0 || !watch(door, door->listener, LISTENER)) {
        int saved = errno;
        gsh_door_close(&door);
        errno = saved;
        return GSH_ERR_SYSTEM;
    }
    *out = door;
    return GSH_OK;
}

static void forget(struct gsh_door *door, struct visitor *v)
{
    (void)epoll_ctl(door->epoll_fd, EPOLL_CTL_DEL, v->fd, NULL);
    v->fd = -1;
    door->n_visitors--;
}

static void drop(struct gsh_door *door, struct visitor *v)
{
    int fd = v->fd;
    forget(door, v);
    gsh_socket_hang_up(&fd);
}

void gsh_door_close(struct gsh_door **door_p)
{
    struct gsh_door *door = *door_p;
    *door_p = NULL;
    if (door == NULL) {
        return;
    }
    for (int i = 0; i < MAX_VISITORS; i++) {
        gsh_socket_hang_up(&door->visitors[i].fd);
    }
    gsh_socket_close(&door->listener);
    gsh_socket_close(&door->epoll_fd);
    explicit_bzero(door, sizeof(*door));
    free(door);
}

int gsh_door_fd(const struct gsh_door *door)
{
    return door->epoll_fd;
}

/* False if there was none. */
static bool drop_oldest(struct gsh_door *door)
{
    struct visitor *oldest = NULL;
    for (int i = 0; i < MAX_VISITORS; i++) {
        struct visitor *v = &door->visitors[i];
        if (v->fd >= 0 && (oldest == NULL || v->since < oldest->since)) {
            oldest = v;
        }
    }
    if (oldest != NULL) {
        drop(door, oldest);
    }
    return oldest != NULL;
}

static bool enter(struct gsh_door *door, int fd)
{
    uint32_t i = 0;
    while (door->visitors[i].fd >= 0) {
        i++;
    }
    door->visitors[i] = (struct visitor){.fd = fd, .since = door->n_come++};
    door->n_visitors++;
    return watch(door, fd, i);
}

static enum gsh_result accept_visitors(struct gsh_door *door)
{
    for (int n = 0; n < MAX_AT_ONCE; n++) {
        if (door->n_visitors == MAX_VISITORS) {
            (void)drop_oldest(door);
        }
        int fd = accept4(door->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return GSH_OK;
        }
        if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
            /* the visitor stays in the queue, so the next look would find it again, for ever */
            if (!drop_oldest(door)) {
                errno = EMFILE;
                return GSH_ERR_SYSTEM;
            }
        } else if (fd < 0 && errno != EINTR && errno != ECONNABORTED) {
            return GSH_ERR_SYSTEM;
        } else if (fd >= 0 && !is_own_user(fd)) {
            gsh_socket_close(&fd);
        } else if (fd >= 0 && !enter(door, fd)) {
            return GSH_ERR_SYSTEM;
        }
    }
    return GSH_OK;
}

/* Whether the visitor has proved itself and been answered; *from is then its rank. */
static bool hear(const struct gsh_door *door, int fd, int *from)
{
    uint8_t data[sizeof(struct gsh_door_hello) + 1];
    struct gsh_door_hello hello;
    struct gsh_door_answer answer;
    /* without room for descriptors, the kernel closes any that came along */
    ssize_t n = recv(fd, data, sizeof(data), MSG_DONTWAIT);
    if (n < 0 || !gsh_door_is_true_hello(&door->of, door->rank, data, (size_t)n, &hello)) {
        return false;
    }
    answer_mac(&door->of, &hello, answer.mac);
    *from = hello.from;
    return send(fd, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           (ssize_t)sizeof(answer);
}

enum gsh_result gsh_door_admit(struct gsh_door *door, int *fd, int *from)
{
    struct epoll_event e;
    *fd = -1;
    for (int n = 0; n < MAX_AT_ONCE && epoll_wait(door->epoll_fd, &e, 1, 0) > 0; n++) {
        if (e.data.u32 == LISTENER) {
            enum gsh_result r = accept_visitors(door);
            if (r != GSH_OK) {
                return r;
            }
            continue;
        }
        struct visitor *v = &door->visitors[e.data.u32];
        if (hear(door, v->fd, from)) {
            *fd = v->fd;
            forget(door, v);
            return GSH_OK;
        }
        drop(door, v);
    }
    return GSH_OK;
}

/* ---- a visit ---- */

static enum gsh_result give_up(struct gsh_visit *visit, enum gsh_result r)
{
    gsh_socket_close(&visit->fd);
    visit->has_knocked = false;
    return r;
}

enum gsh_result gsh_visit_begin(struct gsh_visit *visit)
{
    if (visit->fd < 0) {
        visit->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }
    return visit->fd < 0 ? GSH_ERR_SYSTEM : GSH_OK;
}

enum gsh_result gsh_visit_knock(struct gsh_visit *visit, const struct gsh_door_of *of, int from,
                                int to)
{
    struct sockaddr_un address;
    struct gsh_door_hello *hello = &visit->hello;
    enum gsh_result r = gsh_visit_begin(visit);
    if (r != GSH_OK || visit->has_knocked) {
        return r;
    }
    socklen_t bytes = address_of(of, to, &address);
    while (connect(visit->fd, (struct sockaddr *)&address, bytes) != 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return GSH_OK;
        }
        if (errno != EINTR) {
            return give_up(visit, errno == ECONNREFUSED ? GSH_ERR_PEER : GSH_ERR_SYSTEM);
        }
    }
    if (!is_own_user(visit->fd)) {
        errno = EPERM;
        return give_up(visit, GSH_ERR_ARG);
    }
    *hello = (struct gsh_door_hello){.magic = HELLO_MAGIC, .from = from, .to = to};
    if (getrandom(hello->nonce, sizeof(hello->nonce), 0) != (ssize_t)sizeof(hello->nonce)) {
        return give_up(visit, GSH_ERR_SYSTEM);
    }
    hello_mac(of, hello, hello->mac);
    if (send(visit->fd, hello, sizeof(*hello), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        return give_up(visit, GSH_ERR_PEER);
    }
    visit->has_knocked = true;
    return GSH_OK;
}

enum gsh_result gsh_visit_hear(struct gsh_visit *visit, const struct gsh_door_of *of, bool *is_in)
{
    uint8_t data[sizeof(struct gsh_door_answer) + 1];
    *is_in = false;
    ssize_t n = recv(visit->fd, data, sizeof(data), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
        return GSH_OK;
    }
    if (n <= 0) {
        return give_up(visit, GSH_ERR_PEER);
    }
    if (!gsh_door_is_true_answer(of, &visit->hello, data, (size_t)n)) {
        errno = EPROTO;
        return give_up(visit, GSH_ERR_ARG);
    }
    *is_in = true;
    return GSH_OK;
}

enum gsh_result gsh_door_fail(enum gsh_result r, const char *what, int to)
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
